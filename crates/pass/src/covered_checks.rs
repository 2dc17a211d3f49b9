//! Checks that a detecting body can leave out: the same address again, in the same block, with no
//! synchronisation in between, runs in the same context and is covered by the earlier check.
//!
//! A read that a write of the same bytes follows is checked as a write at once. What a check stands
//! for is recorded, so that run 2 can name every statement. Volatile accesses keep their own checks.

use crate::ir::{self, Value, llvm};
use crate::shim;
use crate::watched_statements::Statement;
use deadheat_model::SiteKind;
use deadheat_wire::object::{FLAG_INEXACT, FLAG_VOLATILE};
use std::collections::HashMap;

/// A statement that a check stands for: its descriptor and size.
pub type Member = (u32, u32);

/// One inlined check.
#[derive(Debug)]
pub struct Check {
    pub before: Value,
    /// The instruction whose debug location the check carries.
    pub owner: Value,
    pub pointer: Value,
    pub size: u32,
    pub align: u32,
    pub write: bool,
    pub volatile: bool,
    /// The check may claim more than happens.
    pub inexact: bool,
    pub members: Vec<Member>,
    /// A check before a loop stands for it.
    pub hoisted: bool,
}

/// What is emitted in a detecting body, in the order of the code.
#[derive(Debug)]
pub enum Step {
    /// The check with this index.
    Check(usize),
    /// Everything that is not an access of fixed size.
    Other(Statement),
}

/// Turns statements into checks and other steps.
pub fn plan(function: Value, statements: &[Statement]) -> (Vec<Check>, Vec<Step>) {
    let mut checks: Vec<Check> = Vec::new();
    let mut steps = Vec::new();
    let mut rest = statements.iter().peekable();
    for block in ir::blocks(function) {
        let mut seen: HashMap<Value, Vec<usize>> = HashMap::new();
        for instruction in ir::instructions(block) {
            while let Some(statement) = rest.next_if(|s| s.owner == instruction) {
                match statement.fixed_access() {
                    Some(size) => access(statement, size, &mut seen, &mut checks, &mut steps),
                    None => steps.push(Step::Other(*statement)),
                }
            }
            if llvm!(shim::dh_may_synchronise(instruction)) != 0 {
                seen.clear();
            }
        }
    }
    (checks, steps)
}

fn access(
    statement: &Statement,
    size: u32,
    seen: &mut HashMap<Value, Vec<usize>>,
    checks: &mut Vec<Check>,
    steps: &mut Vec<Step>,
) {
    let write = statement.kind != SiteKind::Read;
    let special = statement.flags & (FLAG_VOLATILE | FLAG_INEXACT) != 0;
    let before = seen.entry(statement.pointer).or_default();
    if !special && let Some(n) = before.iter().find(|n| checks[**n].size >= size) {
        let check = &mut checks[*n];
        check.write |= write;
        check.members.push((statement.desc, size));
        return;
    }
    if !special {
        before.push(checks.len());
    }
    steps.push(Step::Check(checks.len()));
    checks.push(Check {
        before: statement.before,
        owner: statement.owner,
        pointer: statement.pointer,
        size,
        align: statement.align,
        write,
        volatile: statement.flags & FLAG_VOLATILE != 0,
        inexact: statement.flags & FLAG_INEXACT != 0,
        members: vec![(statement.desc, size)],
        hoisted: false,
    });
}
