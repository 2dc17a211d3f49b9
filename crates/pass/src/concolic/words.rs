//! The words of a module: its short constant strings as they stand in the source, before calls with them are folded. They
//! are copied into the section `dh_words`, each ended by a zero byte; inputs that are made by chance are made of them.

use crate::ir::{self, Ir, c_string, llvm};
use crate::shim;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use std::collections::BTreeSet;

/// Bytes of a word without its end.
const LENGTHS: std::ops::RangeInclusive<usize> = 1..=24;

/// Writes the section.
pub fn list(ir: &Ir) {
    let functions = ir::functions(ir.module);
    if functions
        .iter()
        .any(|f| ir::name(*f).starts_with("dh_model_") && llvm!(LLVMIsDeclaration(*f)) == 0)
    {
        // The models of library functions, not the program.
        return;
    }
    let mut words = BTreeSet::new();
    let mut global = llvm!(LLVMGetFirstGlobal(ir.module));
    while !global.is_null() {
        words.extend(word(global));
        global = llvm!(LLVMGetNextGlobal(global));
    }
    if words.is_empty() {
        return;
    }
    let mut bytes = words.into_iter().collect::<Vec<_>>().join(&0);
    bytes.push(0);
    llvm!({
        let value = LLVMConstStringInContext2(ir.context, bytes.as_ptr().cast(), bytes.len(), 1);
        let global = LLVMAddGlobal(ir.module, LLVMTypeOf(value), c"dh.words".as_ptr());
        LLVMSetInitializer(global, value);
        LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
        LLVMSetGlobalConstant(global, 1);
        LLVMSetSection(global, c_string("dh_words").as_ptr());
        LLVMSetAlignment(global, 1);
        shim::dh_retain_global(ir.module, global);
    });
}

/// The word that a global holds, if it is one.
fn word(global: LLVMValueRef) -> Option<Vec<u8>> {
    if llvm!(LLVMIsGlobalConstant(global)) == 0 {
        return None;
    }
    let mut bytes = ir::initial_string(global)?;
    let end = bytes.pop()?;
    let is_word = end == 0 && LENGTHS.contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    is_word.then_some(bytes)
}
