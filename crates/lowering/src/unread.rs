//! What simplification would take away though threads can meet there, or though a decision hangs on it.
//!
//! A read whose value goes nowhere is dead to an optimiser and a race all the same: it is made volatile for the time of
//! the passes, and marked. A variable that is read before it was written is undefined to an optimiser, which then takes one side of each branch on it for granted: it begins with a frozen
//! value, some one number, which the IR still knows as undefined where control flow merges it with others.

use crate::llvm::*;
use llvm_sys::prelude::LLVMModuleRef;

/// The metadata kind of reads that are volatile for the passes only.
const KEPT: &str = "dh.kept";

fn kind(module: LLVMModuleRef) -> u32 {
    llvm!(LLVMGetMDKindIDInContext(
        LLVMGetModuleContext(module),
        KEPT.as_ptr().cast(),
        KEPT.len() as u32
    ))
}

/// Keeps a read that is dead to an optimiser, or may become so: of a variable that is not a function's own, or into a
/// variable that nobody reads. (Not every read behind a pointer: once a function is inlined, the pointer may lead to the
/// caller's own variable, and that is to become a register.)
pub fn keep_read(module: LLVMModuleRef, instruction: Value) {
    let plain = is(instruction, LLVMIsALoadInst)
        && llvm!(LLVMGetVolatile(instruction)) == 0
        && llvm!(LLVMGetOrdering(instruction)) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
        && !is(operand(instruction, 0), LLVMIsAAllocaInst);
    let goes_nowhere =
        |user: Value| is(user, LLVMIsAStoreInst) && operand(user, 0) == instruction && is_never_read(operand(user, 1));
    if plain && (is_shared(operand(instruction, 0)) || users(instruction).all(goes_nowhere)) {
        llvm!({
            let node = LLVMMDNodeInContext2(LLVMGetModuleContext(module), std::ptr::null_mut(), 0);
            LLVMSetMetadata(
                instruction,
                kind(module),
                LLVMMetadataAsValue(LLVMGetModuleContext(module), node),
            );
            LLVMSetVolatile(instruction, 1);
        });
    }
}

/// Whether a volatile read is one only because [`keep_read`] made it so.
pub fn is_kept(module: LLVMModuleRef, instruction: Value) -> bool {
    !llvm!(LLVMGetMetadata(instruction, kind(module))).is_null()
}

/// Whether an address is a global variable's, or behind a pointer that stands in one.
fn is_shared(mut address: Value) -> bool {
    loop {
        if is(address, LLVMIsAGlobalVariable) {
            return true;
        }
        let derived = is(address, LLVMIsAGetElementPtrInst)
            || is(address, LLVMIsAConstantExpr)
            || is(address, LLVMIsALoadInst)
            || is(address, LLVMIsACastInst);
        if !derived {
            return false;
        }
        address = operand(address, 0);
    }
}

/// A variable to which values are written, and that is all, or from which they are read for nothing.
fn is_never_read(variable: Value) -> bool {
    let harmless = |user: Value| {
        let written = is(user, LLVMIsAStoreInst) && operand(user, 1) == variable && operand(user, 0) != variable;
        let read = is(user, LLVMIsALoadInst) && users(user).next().is_none();
        written || read || is(user, LLVMIsAIntrinsicInst)
    };
    is(variable, LLVMIsAAllocaInst) && users(variable).all(harmless)
}

/// Lets a variable that becomes a register begin with some one value.
pub fn begin_with_some_value(module: LLVMModuleRef, instruction: Value) {
    let accesses = |user: Value| {
        let written = is(user, LLVMIsAStoreInst) && operand(user, 0) != instruction;
        written || is(user, LLVMIsALoadInst) || is(user, LLVMIsAIntrinsicInst)
    };
    if !is(instruction, LLVMIsAAllocaInst) || !users(instruction).all(accesses) {
        return;
    }
    llvm!({
        let class = LLVMGetAllocatedType(instruction);
        let scalar = matches!(
            LLVMGetTypeKind(class),
            LLVMTypeKind::LLVMIntegerTypeKind | LLVMTypeKind::LLVMPointerTypeKind
        );
        let next = LLVMGetNextInstruction(instruction);
        if !scalar || next.is_null() || !is(operand(instruction, 0), LLVMIsAConstantInt) {
            return;
        }
        let builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
        LLVMPositionBuilderBefore(builder, next);
        let value = LLVMBuildFreeze(builder, LLVMGetUndef(class), c"".as_ptr());
        LLVMBuildStore(builder, value, instruction);
        LLVMDisposeBuilder(builder);
    });
}

fn users(value: Value) -> impl Iterator<Item = Value> {
    let next = |at: &llvm_sys::prelude::LLVMUseRef| Some(llvm!(LLVMGetNextUse(*at))).filter(|u| !u.is_null());
    let first = Some(llvm!(LLVMGetFirstUse(value))).filter(|u| !u.is_null());
    std::iter::successors(first, next).map(|each| llvm!(LLVMGetUser(each)))
}
