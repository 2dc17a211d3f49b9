//! Memory operands of inline assembly and what its text does with them.
//!
//! The constraints say what is read and what is written (`m`, `=m`; `+m` is both); the text says whether an
//! instruction names the operand at all, and whether it surely gets there. An operand that no instruction names
//! stands for memory that the text reaches by other ways, more or less of it.

use crate::ir::{self, Ir, Value, llvm};
use crate::shim;

/// A memory operand.
#[derive(Debug)]
pub struct Operand {
    pub pointer: Value,
    pub size: u32,
    pub read: bool,
    pub written: bool,
    /// What it is called in the text: numbers of constraints.
    numbers: Vec<u32>,
}

/// What a text does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// No access.
    None,
    /// An access, as the constraints say.
    Sure,
    /// A locked instruction or an exchange: reads and writes, whatever the constraints say.
    Update,
    /// A compare-exchange.
    Exchange,
    /// Perhaps an access of these bytes.
    Perhaps,
}

impl Use {
    /// Whether it reads and writes at once.
    pub fn is_update(self) -> bool {
        matches!(self, Use::Update | Use::Exchange)
    }

    /// Whether all bytes are surely accessed.
    pub fn is_sure(self) -> bool {
        matches!(self, Use::Sure | Use::Update)
    }
}

/// Instructions that take an address and access nothing there.
const NO_ACCESS: [&str; 5] = ["prefetch", "lea", "nop", "clflush", "clwb"];

/// The memory operands of a call, each pointer once.
pub fn of_call(ir: &Ir, call: Value, constraints: &str) -> Vec<Operand> {
    let mut operands: Vec<Operand> = Vec::new();
    let mut argument = 0;
    for (number, constraint) in (0..).zip(split(constraints)) {
        let output = constraint.starts_with('=');
        if constraint.starts_with(['~', '!']) || output && !constraint.contains('*') {
            continue;
        }
        let n = argument;
        argument += 1;
        if n >= ir::argument_count(call) {
            break;
        }
        let class = llvm!(shim::dh_element_type(call, n));
        if class.is_null() {
            continue;
        }
        let (pointer, size) = (ir::operand(call, n), ir.store_size(class));
        if !ir::is_plain_pointer(pointer) || size == 0 || size > u32::MAX.into() {
            continue;
        }
        let size = size as u32;
        match operands.iter_mut().find(|o| o.pointer == pointer && o.size == size) {
            Some(known) => {
                known.read |= !output;
                known.written |= output;
                known.numbers.push(number);
            }
            None => operands.push(Operand {
                pointer,
                size,
                read: !output,
                written: output,
                numbers: vec![number],
            }),
        }
    }
    operands
}

/// Constraints, one for each operand or clobber.
fn split(constraints: &str) -> impl Iterator<Item = &str> {
    constraints.split(',').filter(|c| !c.is_empty())
}

/// What a text does with an operand.
pub fn used(text: &str, operand: &Operand) -> Use {
    let mut locked = false;
    let mut jumped = false;
    let mut named = false;
    let mut found = Use::None;
    for line in text.split(['\n', ';']).map(without_comment) {
        let mut words = instruction(line).split_whitespace().peekable();
        while words
            .next_if(|w| matches!(*w, "lock" | "rep" | "repz" | "repe" | "repne" | "repnz"))
            .is_some()
        {
            locked |= line.contains("lock");
        }
        let Some(name) = words.next() else { continue };
        if operand.numbers.iter().any(|n| names(line, *n)) {
            named = true;
            let here = match name {
                _ if NO_ACCESS.iter().any(|n| name.starts_with(n)) => Use::None,
                _ if jumped => Use::Perhaps,
                _ if name.starts_with("cmpxchg") => Use::Exchange,
                // A bit's number may lead beyond the operand.
                _ if name.starts_with("bt") => Use::Perhaps,
                _ if locked || name.starts_with("xchg") || name.starts_with("xadd") => Use::Update,
                _ => Use::Sure,
            };
            found = match (found, here) {
                (Use::None, here) | (here, Use::None) => here,
                (Use::Sure, Use::Exchange) | (Use::Exchange, Use::Sure) => Use::Exchange,
                (Use::Update, _) | (_, Use::Update) => Use::Update,
                (Use::Sure, _) | (_, Use::Sure) => Use::Sure,
                (one, _) => one,
            };
        }
        jumped |= name.starts_with('j') || name.starts_with("loop");
        locked = false;
    }
    if named { found } else { Use::Perhaps }
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(code, _)| code)
}

/// A line without its label.
fn instruction(line: &str) -> &str {
    let line = line.trim();
    match line.split_once(':') {
        Some((label, rest))
            if label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) =>
        {
            rest.trim()
        }
        _ => line,
    }
}

/// Whether a line names the operand with this number: `$1` or `${1:b}`.
fn names(line: &str, number: u32) -> bool {
    // Two stand for the sign itself.
    let line = line.replace("$$", "");
    line.match_indices('$').any(|(at, _)| {
        let rest = &line[at + 1..];
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse() == Ok(number)
    })
}
