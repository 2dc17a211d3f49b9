//! A load and a store of the same bytes in one source statement (`x++`, `x |= y`), taken as one site.
//!
//! The site stands at the load, so the pair is joined only if nothing that calls or synchronises lies
//! between them and the stored value is computed from the loaded one on the same source line.

use crate::debug_location::same_line;
use crate::ir::{self, llvm};
use crate::shim;
use crate::watched_statements::Statement;
use deadheat_model::SiteKind;
use deadheat_wire::object::{FLAG_BITFIELD, FLAG_INEXACT};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::LLVMGetNextInstruction;

/// How many instructions a read-modify-write may span.
const LONGEST: usize = 64;
/// How many watched statements it may span.
const MOST_STATEMENTS: usize = 12;

/// Joins pairs among the statements of one block: those from `start` on.
pub fn join(statements: &mut Vec<Statement>, start: usize) {
    let mut at = start;
    while at < statements.len() {
        let store = statements[at];
        if let Some(load) = (start.max(at.saturating_sub(MOST_STATEMENTS))..at)
            .rev()
            .find(|n| is_pair(&statements[*n], &store))
        {
            let mut masked = 0;
            let value = ir::operand(store.owner, 0);
            if llvm!(shim::dh_depends_on(value, statements[load].owner, &mut masked)) != 0 {
                let joined = &mut statements[load];
                joined.kind = SiteKind::ReadWrite;
                joined.align = joined.align.max(store.align);
                joined.flags |= store.flags | if masked != 0 { FLAG_BITFIELD } else { 0 };
                statements.remove(at);
                continue;
            }
        }
        at += 1;
    }
}

fn is_pair(load: &Statement, store: &Statement) -> bool {
    load.kind == SiteKind::Read
        && load.flags & FLAG_INEXACT == 0
        && store.kind == SiteKind::Write
        && load.pointer == store.pointer
        && load.extent == store.extent
        && ir::opcode(load.owner) == LLVMOpcode::LLVMLoad
        && ir::opcode(store.owner) == LLVMOpcode::LLVMStore
        && same_line(load.owner, store.owner)
        && nothing_between(load, store)
}

fn nothing_between(load: &Statement, store: &Statement) -> bool {
    let mut at = load.owner;
    for _ in 0..LONGEST {
        at = llvm!(LLVMGetNextInstruction(at));
        if at.is_null() || llvm!(shim::dh_may_synchronise(at)) != 0 {
            return false;
        }
        if at == store.owner {
            return true;
        }
    }
    false
}
