//! Instructions that set GS, which holds the shadow's offset: the runtime is asked first, and refuses under control.

use crate::inline_assembly;
use crate::ir::{self, C_CONVENTION, Ir, Value, llvm};
use llvm_sys::core::*;

/// Puts the question before a call that sets GS: inline assembly or the compiler's own function.
pub fn of_call(ir: &Ir, call: Value) {
    let callee = llvm!(LLVMGetCalledValue(call));
    let sets = if llvm!(LLVMIsAInlineAsm(callee)).is_null() {
        !llvm!(LLVMIsAFunction(callee)).is_null() && ir::name(callee).starts_with("llvm.x86.wrgsbase")
    } else {
        inline_assembly::text(callee).contains("wrgsbase")
    };
    if sets {
        let ty = ir.function_type(llvm!(LLVMVoidTypeInContext(ir.context)), &[]);
        ir.position(call, call);
        ir.call(ty, ir.weak_function("dh_sets_gs", ty, C_CONVENTION), &[]);
    }
}
