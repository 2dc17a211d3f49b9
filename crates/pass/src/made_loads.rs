//! Loads that LLVM made, which the program may not make.
//!
//! - Memory that a loop updates on some paths only is promoted to a register, and read before the loop, whatever
//!   paths are taken. Such a load has neither a place in the source nor anything else from the front end (the front
//!   end's own loads are marked, `registration.cc`); one that stands for loads that are surely made has their type.
//! - A masked load of memory that can be read in any case becomes a load of all lanes (`registration.cc` marks it).
//! - A comparison of a string with a constant (`strcmp`, `strncmp`) becomes one load and a comparison of numbers; the
//!   function stops at the first character that differs.

use crate::ir::{self, Ir, Value, constant, llvm};
use crate::{debug_location, shim};
use llvm_sys::core::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

/// How much of a load the program surely reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    All,
    FirstByte,
    Nothing,
}

/// What of a load's bytes the program surely reads.
pub fn of_load(ir: &Ir, load: Value) -> Sure {
    if llvm!(shim::dh_was_masked(load)) != 0 {
        Sure::Nothing
    } else if llvm!(LLVMIsAtomic(load)) != 0 || llvm!(shim::dh_is_bare(load)) == 0 {
        Sure::All
    } else if debug_location::node(load).is_null() {
        Sure::Nothing
    } else if ir.store_size(ir::type_of(load)) > 1 && is_compared(load) {
        Sure::FirstByte
    } else {
        Sure::All
    }
}

/// How many operations lie between a load and a comparison of a part of it.
const FARTHEST: u32 = 3;

/// Whether an integer, or a part of it, is compared with a constant.
fn is_compared(load: Value) -> bool {
    let class = llvm!(LLVMGetTypeKind(ir::type_of(load)));
    class == LLVMTypeKind::LLVMIntegerTypeKind && leads_to_comparison(load, FARTHEST)
}

fn leads_to_comparison(value: Value, farthest: u32) -> bool {
    use LLVMOpcode::{LLVMAnd, LLVMFreeze, LLVMICmp, LLVMLShr, LLVMSwitch, LLVMTrunc, LLVMXor, LLVMZExt};
    debug_location::users(value)
        .into_iter()
        .any(|user| match ir::opcode(user) {
            LLVMSwitch => true,
            LLVMICmp => (0..2).any(|n| constant(ir::operand(user, n)).is_some()),
            LLVMAnd | LLVMFreeze | LLVMLShr | LLVMTrunc | LLVMXor | LLVMZExt => {
                farthest > 0 && leads_to_comparison(user, farthest - 1)
            }
            _ => false,
        })
}
