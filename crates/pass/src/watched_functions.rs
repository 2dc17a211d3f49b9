//! Which functions get sites, which get a detecting body too, and what is only counted.

use crate::ir::{self, Value, llvm};
use crate::shim;
use llvm_sys::core::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage};

/// What is done with a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Sites in the plain body, and a detecting body.
    Both,
    /// Sites only: its entry cannot be patched or nobody could be sent to a second body in time.
    PlainOnly,
    /// `naked`: nothing can be inserted.
    Naked,
    /// The program asked to leave it alone (`disable_sanitizer_instrumentation`; of
    /// `no_sanitize("thread")` the front end leaves no trace unless that sanitizer is on).
    NoSanitize,
    /// No code of this module's own.
    Nothing,
}

/// Whether this module has the function's code.
pub fn is_defined(function: Value) -> bool {
    llvm!(LLVMIsDeclaration(function) == 0 && LLVMGetLinkage(function) != LLVMLinkage::LLVMAvailableExternallyLinkage)
}

/// Whether the function takes the place of one of the runtime's, which are weak: what it orders is unseen then.
pub fn stands_before_runtime(function: Value) -> bool {
    const FAMILIES: [&str; 6] = ["pthread_", "sem_", "mtx_", "cnd_", "thrd_", "call_once"];
    const EXPORTS: &str = include_str!("../../runtime/exports.txt");
    let local = llvm!(matches!(
        LLVMGetLinkage(function),
        LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
    ));
    let name = ir::name(function);
    is_defined(function)
        && !local
        && FAMILIES.iter().any(|f| name.starts_with(f))
        && EXPORTS.lines().any(|line| line == name)
}

/// Decides for a function.
pub fn treatment(function: Value) -> Treatment {
    let name = ir::name(function);
    if !is_defined(function) || name.starts_with("llvm.") || name.starts_with("dh_") || name.starts_with("__llvm_") {
        Treatment::Nothing
    } else if has_attribute(function, "naked") {
        Treatment::Naked
    } else if has_attribute(function, "disable_sanitizer_instrumentation") {
        Treatment::NoSanitize
    } else if has_attribute(function, "presplitcoroutine") {
        Treatment::Nothing
    } else if llvm!(LLVMHasPrologueData(function) != 0 || shim::dh_is_ifunc_resolver(function) != 0) {
        Treatment::PlainOnly
    } else {
        Treatment::Both
    }
}

fn has_attribute(function: Value, attribute: &str) -> bool {
    llvm!({
        let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
        kind != 0 && !LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind).is_null()
    })
}
