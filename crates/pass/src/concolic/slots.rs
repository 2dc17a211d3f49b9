//! The thread's slots: how numbers of expressions pass from callers to callees and back.
//!
//! | offset | what |
//! |---|---|
//! | 0 | the callee that the arguments are for |
//! | 8 | the function that the result is of |
//! | 16 | the result's number, or those of its first two fields |
//! | 24 | numbers of the first [`ARGUMENTS`] arguments |
//! | 88 | numbers of the first [`ARGUMENTS`] integer arguments in order, of calls with variable arguments |
//! | 152 | a hash of the calls that lead to the callee, where paths are to be pruned |
//! | 160 | the target of a call that may go anywhere, until instrumented code takes it |
//!
//! The block is defined by the runtime.

use crate::ir::{Ir, Value, llvm};
use llvm_sys::LLVMThreadLocalMode;
use llvm_sys::core::*;

/// Arguments that carry expressions.
pub const ARGUMENTS: u32 = 16;
/// Bytes of the block.
pub const SIZE: u64 = 168;

/// Offset of the callee.
pub const CALLEE: u64 = 0;
/// Offset of the returning function.
pub const RETURNED: u64 = 8;
/// Offset of the result's numbers.
pub const RESULT: u64 = 16;
/// Offset of the arguments' numbers.
pub const ARGUMENT: u64 = 24;
/// Offset of the variable arguments' numbers.
pub const VARIABLE: u64 = 88;
/// Offset of the hash of calls.
pub const CALLS: u64 = 152;
/// Offset of the target.
pub const TARGET: u64 = 160;

/// The block.
pub struct Slots(Value);

impl Slots {
    pub fn new(ir: &Ir) -> Slots {
        llvm!({
            let known = LLVMGetNamedGlobal(ir.module, c"dh_sym_slots".as_ptr());
            if !known.is_null() {
                return Slots(known);
            }
            let global = LLVMAddGlobal(ir.module, LLVMArrayType2(ir.i8, SIZE), c"dh_sym_slots".as_ptr());
            LLVMSetThreadLocalMode(global, LLVMThreadLocalMode::LLVMInitialExecTLSModel);
            LLVMSetAlignment(global, 8);
            Slots(global)
        })
    }

    /// The address of a slot in this thread.
    pub fn at(&self, ir: &Ir, offset: u64) -> Value {
        ir.offset(self.0, ir.int(offset))
    }

    /// The address of the n-th number from `offset` on.
    pub fn number(&self, ir: &Ir, offset: u64, n: u32) -> Value {
        self.at(ir, offset + 4 * u64::from(n))
    }
}
