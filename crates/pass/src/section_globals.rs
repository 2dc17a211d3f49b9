//! Globals that readers of sections find, not code: private, constant, position-independent.

use crate::ir::{self, Ir, Value, c_string, llvm};
use deadheat_wire::object::META;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;

/// `target - here`, to which distances of fields are added.
pub struct Distance(Value);

impl Distance {
    /// From `here` to `target`.
    pub fn new(ir: &Ir, target: Value, here: Value) -> Distance {
        llvm!(Distance(LLVMConstSub(
            LLVMConstPtrToInt(target, ir.i64),
            LLVMConstPtrToInt(here, ir.i64)
        )))
    }

    /// The distance and so many bytes more, in 32 bits.
    pub fn plus(&self, ir: &Ir, offset: i64) -> Value {
        llvm!(LLVMConstTrunc(
            LLVMConstAdd(self.0, LLVMConstInt(ir.i64, offset as u64, 1)),
            ir.i32
        ))
    }
}

/// One such distance.
pub fn difference(ir: &Ir, target: Value, here: Value, offset: i64) -> Value {
    Distance::new(ir, target, here).plus(ir, offset)
}

/// A name for this very definition: the function's own may be preempted or replaced at link time.
pub fn local_alias(ir: &Ir, function: Value) -> Value {
    llvm!({
        if matches!(
            LLVMGetLinkage(function),
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        ) {
            return function;
        }
        let name = c_string(&format!("{}.dh.plain", ir::name(function)));
        let alias = LLVMAddAlias2(ir.module, LLVMGlobalGetValueType(function), 0, function, name.as_ptr());
        LLVMSetLinkage(alias, LLVMLinkage::LLVMPrivateLinkage);
        alias
    })
}

fn private_global(ir: &Ir, name: &str, section: &str, ty: ir::Type, align: u32) -> Value {
    llvm!({
        let global = LLVMAddGlobal(ir.module, ty, c_string(name).as_ptr());
        LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
        LLVMSetGlobalConstant(global, 1);
        LLVMSetSection(global, c_string(section).as_ptr());
        LLVMSetAlignment(global, align);
        global
    })
}

/// A table of 32-bit words.
pub fn private_array(ir: &Ir, name: &str, section: &str, words: usize) -> Value {
    private_global(ir, name, section, llvm!(LLVMArrayType2(ir.i32, words as u64)), 4)
}

/// A table of bytes.
pub fn private_bytes(ir: &Ir, bytes: &[u8]) -> Value {
    llvm!({
        let data = LLVMConstStringInContext2(ir.context, bytes.as_ptr().cast(), bytes.len(), 1);
        let global = private_global(ir, "dh_meta", META, LLVMTypeOf(data), 8);
        LLVMSetInitializer(global, data);
        global
    })
}

/// Adds globals to one of LLVM's lists of what must stay.
pub fn append_used(ir: &Ir, list: &str, more: &[Value]) {
    if more.is_empty() {
        return;
    }
    let name = c_string(list);
    llvm!({
        let old = LLVMGetNamedGlobal(ir.module, name.as_ptr());
        let mut all = Vec::new();
        if !old.is_null() {
            let initializer = LLVMGetInitializer(old);
            all.extend((0..LLVMGetNumOperands(initializer) as u32).map(|n| LLVMGetOperand(initializer, n)));
            LLVMDeleteGlobal(old);
        }
        all.extend(more);
        let ty = LLVMArrayType2(ir.ptr, all.len() as u64);
        let used = LLVMAddGlobal(ir.module, ty, name.as_ptr());
        LLVMSetLinkage(used, LLVMLinkage::LLVMAppendingLinkage);
        LLVMSetSection(used, c"llvm.metadata".as_ptr());
        LLVMSetInitializer(used, LLVMConstArray2(ir.ptr, all.as_mut_ptr(), all.len() as u64));
    })
}
