//! The names of all functions that went through the pass, kept in the object until it is linked for good.
//!
//! By them the driver knows code without sites in objects that several compilers had a part in (`ld -r`), or the
//! assembler. The section is excluded from programs; it names functions by text, since a reference would keep them alive.

use crate::ir::{self, llvm};
use crate::kept_bitcode::escaped;
use crate::watched_functions;
use deadheat_wire::object::SEEN;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Writes the section; nothing makes functions after this.
pub fn write(module: LLVMModuleRef) {
    let mut names = Vec::new();
    for function in ir::functions(module) {
        if watched_functions::is_defined(function) {
            names.extend(ir::name(function).bytes().chain([0]));
        }
    }
    let text = format!(
        ".pushsection {SEEN},\"e\",@progbits\n.ascii \"{}\"\n.popsection\n",
        escaped(&names)
    );
    llvm!(LLVMAppendModuleInlineAsm(module, text.as_ptr().cast(), text.len()));
}
