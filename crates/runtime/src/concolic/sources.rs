//! Which bytes are input, and which values the plan gives to those that have no file: results of `rand`,
//! random bytes, buffers that the program marks.
//!
//! Values are given in every build; symbols are made in the symbolic flavour alone.

use super::addresses::symbol;
use super::memory;
use super::nodes::{self, apply, constant, constrain, name, on};
use super::touches;
use crate::bytes::c_string;
use crate::held::Held;
use crate::sys::sys;
use alloc::vec::Vec;
use deadheat_wire::trace::{constraint, op, source};
use libc::{c_char, c_int};

/// Variables that the tool itself sets or that name places of the machine.
const NOT_INPUT: [&[u8]; 5] = [b"TMPDIR", b"HOME", b"PATH", b"PWD", b"LD_LIBRARY_PATH"];

struct Sources {
    /// How far each source was used.
    used: Vec<(u32, u32)>,
    /// Names that were told.
    named: Vec<(u32, Vec<u8>)>,
    /// The program's rows of branches.
    rows: (usize, usize),
}

static SOURCES: Held<Sources> = Held::new(Sources {
    used: Vec::new(),
    named: Vec::new(),
    rows: (0, 0),
});

/// The run ends: what the branches were.
pub fn finish() {
    let (from, to) = SOURCES.get().rows;
    if from != 0 {
        // SAFETY: the rows that the program's own start code named.
        unsafe { nodes::hits(from as *const u8, to as *const u8) };
    }
}

/// What the plan says of a symbolic run.
pub fn symbolic() -> Option<&'static deadheat_wire::plan::Symbolic> {
    crate::start::plan()?.symbolic.as_ref()
}

/// The next `len` bytes of a source: their first offset.
fn advance(source: u32, len: u32) -> u32 {
    let used = &mut SOURCES.get().used;
    if let Some(known) = used.iter_mut().find(|u| u.0 == source) {
        known.1 = known.1.saturating_add(len);
        return known.1 - len;
    }
    used.push((source, len));
    0
}

/// The plan's value of a byte.
fn given(source: u32, offset: u32) -> Option<u8> {
    let values = &crate::start::plan()?.values;
    let own = values.iter().find(|v| v.0 == source)?;
    own.1.get(offset as usize).copied().flatten()
}

/// Puts the plan's values over some bytes of a source, and makes them symbols.
///
/// # Safety
/// `len` writable bytes.
unsafe fn supply(at: *mut u8, len: usize, source: u32) {
    let offset = advance(source, len as u32);
    for n in 0..len as u32 {
        // SAFETY: the caller's bytes.
        unsafe {
            let to = at.add(n as usize);
            if let Some(value) = given(source, offset + n) {
                *to = value;
            }
            if on() {
                memory::set(to as u64, symbol(source, offset + n, *to));
            }
        }
    }
    touches::written(at as u64, len as u64, 0);
}

/// Random bytes that the program asked the system for.
///
/// # Safety
/// `len` writable bytes, filled.
pub unsafe fn random(at: *mut u8, len: usize) {
    // SAFETY: as the caller promises.
    unsafe { supply(at, len, source::number(source::RANDOM, 0)) };
}

/// Joins the bytes of a word, lowest first.
pub fn word(source: u32, offset: u32, bytes: &[u8]) -> u32 {
    let mut value = u64::from(bytes[0]);
    let mut made = symbol(source, offset, bytes[0]);
    for (n, byte) in bytes.iter().enumerate().skip(1) {
        let high = symbol(source, offset + n as u32, *byte);
        value |= u64::from(*byte) << (8 * n);
        made = apply(op::CONCAT, 8 * (n as u32 + 1), (high, made, 0), value);
    }
    made
}

/// A result of `rand` or `random`, which has 31 bits.
pub fn rand(function: usize, value: u32) -> u32 {
    const BITS: u32 = 0x7fff_ffff;
    let source = source::number(source::RAND, 0);
    let offset = advance(source, 4);
    let mut bytes = value.to_le_bytes();
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = given(source, offset + n as u32).unwrap_or(*byte);
    }
    let raw = u32::from_le_bytes(bytes);
    if on() {
        let whole = word(source, offset, &bytes);
        let kept = apply(op::AND, 32, (whole, constant(BITS.into(), 32), 0), (raw & BITS).into());
        returns(function, kept);
    }
    raw & BITS
}

/// The seconds at the start of the run that the plan gives, if it does.
pub fn epoch_seconds(values: &[(u32, Vec<Option<u8>>)]) -> Option<u64> {
    let source = source::number(source::TIME, 0);
    let (_, bytes) = values.iter().find(|v| v.0 == source)?;
    let digits = bytes.iter().take(4).enumerate();
    Some(digits.fold(0, |all, (n, b)| all | u64::from(b.unwrap_or(0)) << (8 * n)))
}

/// The expression of a time in seconds: the start, which is input, and what has passed.
fn seconds(now: u64) -> u32 {
    let start = crate::clock::base(libc::CLOCK_REALTIME).unwrap_or(0) / 1_000_000_000;
    if start > u64::from(u32::MAX) {
        return 0;
    }
    let source = source::number(source::TIME, 0);
    let whole = word(source, 0, &(start as u32).to_le_bytes());
    let wide = apply(op::ZERO_EXTEND, 64, (whole, 0, 0), start);
    match now - start {
        0 => wide,
        passed => apply(op::ADD, 64, (wide, constant(passed, 64), 0), now),
    }
}

/// `function` returns a time in seconds; it may also have been written somewhere.
pub fn told_time(function: Option<usize>, now: u64, at: u64) {
    if !on() {
        return;
    }
    let made = seconds(now);
    if let Some(function) = function {
        returns(function, made);
    }
    if at != 0 {
        memory::store(at, 64, made, now);
        touches::written(at, 8, 0);
    }
}

/// Offsets in the slots of a thread; the instrumentation knows them, too.
mod slot {
    pub const CALLEE: usize = 0;
    pub const RETURNED: usize = 8;
    pub const RESULT: usize = 16;
    pub const ARGUMENT: usize = 24;
}

/// `function` returns a value with this expression.
fn returns(function: usize, number: u32) {
    let slots = crate::tls::symbolic_slots();
    // SAFETY: this thread's own block.
    unsafe {
        (slots.add(slot::RETURNED) as *mut usize).write(if number == 0 { 0 } else { function });
        (slots.add(slot::RESULT) as *mut [u32; 2]).write([number, 0]);
    }
}

/// The expression of this function's n-th argument.
fn argument(function: usize, n: usize) -> u32 {
    let slots = crate::tls::symbolic_slots();
    // SAFETY: this thread's own block.
    unsafe {
        let callee = slots.add(slot::CALLEE) as *mut usize;
        if callee.read() != function {
            return 0;
        }
        callee.write(0);
        (slots.add(slot::ARGUMENT) as *const u32).add(n).read()
    }
}

/// Whether these bytes can be read.
pub fn readable(address: u64, len: u64) -> bool {
    const PAGE: u64 = 4096;
    if address < PAGE {
        return false;
    }
    let (first, last) = (address & !(PAGE - 1), address.saturating_add(len - 1) & !(PAGE - 1));
    [first, last].iter().all(|page| {
        let mut byte = 0u8;
        let to = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let from = libc::iovec {
            iov_base: *page as *mut _,
            iov_len: 1,
        };
        // SAFETY: the kernel reads this process's memory, and refuses what is not there.
        unsafe {
            sys!(
                libc::SYS_process_vm_readv,
                crate::sys::getpid(),
                &raw const to,
                1usize,
                &raw const from,
                1usize,
                0usize
            ) == 1
        }
    })
}

// ---- what models and programs call

#[unsafe(no_mangle)]
extern "C" fn dh_sym_active() -> c_int {
    on().into()
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_room() -> u32 {
    symbolic().map_or(0, |s| s.room)
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_most_arguments() -> c_int {
    let most = symbolic().map_or(0, |s| s.most_arguments);
    most.min(u8::MAX.into()) as c_int
}

/// Bytes at an address are input: `source` from `offset` on.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_mark(at: u64, len: usize, source: u32, offset: u32) {
    if !on() {
        return;
    }
    for n in 0..len as u64 {
        // SAFETY: the caller's bytes.
        let value = unsafe { *((at + n) as *const u8) };
        memory::set(at + n, symbol(source, offset + n as u32, value));
    }
    touches::written(at, len as u64, 0);
}

/// The source of an environment variable; `set` becomes whether it is input at all.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_variable(variable: *const c_char, set: *mut c_int) -> u32 {
    // SAFETY: the caller's name and flag.
    let own = unsafe { c_string(variable) };
    touches::read(variable as u64, own.len() as u64 + 1, 0);
    let number = source::number(source::VARIABLE, source::hash(own));
    let input = !NOT_INPUT.contains(&own) && !own.starts_with(b"DEADHEAT_") && tell(number, own);
    // SAFETY: as above.
    unsafe { *set = input.into() };
    number
}

/// Tells the name behind a hash; false if another name has it already.
pub fn tell(number: u32, own: &[u8]) -> bool {
    let named = &mut SOURCES.get().named;
    if let Some(known) = named.iter().find(|n| n.0 == number) {
        return known.1 == own;
    }
    named.push((number, own.to_vec()));
    name(number, own);
    true
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_branches(from: usize, to: usize) {
    SOURCES.get().rows = (from, to);
}

/// Models' own assumptions: the condition's expression is this call's argument.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_assume(holds: c_int) {
    assume(dh_sym_assume as *const () as usize, holds);
}

fn assume(function: usize, holds: c_int) {
    if !on() {
        return;
    }
    let number = nodes::valid(argument(function, 0), holds as u32 as u64, 32);
    let zero = constant(0, 32);
    let condition = apply(op::NE, 1, (number, zero, 0), (holds != 0).into());
    constrain(0, condition, holds != 0, constraint::ASSUMED);
}

/// The program's own inputs: bytes that the tool may choose.
#[unsafe(no_mangle)]
unsafe extern "C" fn deadheat_symbolic(at: *mut u8, len: usize, label: *const c_char) {
    if crate::token::me().is_none() {
        return;
    }
    // SAFETY: the caller's name.
    let own = unsafe { c_string(label) };
    touches::read(label as u64, own.len() as u64 + 1, 0);
    let number = source::number(source::MARKED, source::hash(own));
    if tell(number, own) {
        // SAFETY: the caller's bytes.
        unsafe { supply(at, len, number) };
    }
}

/// Inputs for which this does not hold are of no interest: the run ends.
#[unsafe(no_mangle)]
extern "C" fn deadheat_assume(holds: c_int) {
    if crate::token::me().is_none() {
        return;
    }
    assume(deadheat_assume as *const () as usize, holds);
    if holds == 0 {
        // SAFETY: ends the process.
        unsafe { crate::intercept::leave(0) };
    }
}
