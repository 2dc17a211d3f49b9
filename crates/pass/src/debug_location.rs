//! Debug locations of instructions.

use crate::ir::{Value, llvm};
use crate::shim::{RawLocation, dh_debug_location};
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use std::mem::MaybeUninit;

/// A source location, borrowed from the module's debug information.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DebugLocation<'m> {
    pub file: &'m str,
    pub directory: &'m str,
    /// Linkage name, else name, of the function whose source this is.
    pub function: &'m str,
    pub line: u32,
    pub column: u32,
    pub scope: LLVMMetadataRef,
    pub inlined_at: LLVMMetadataRef,
}

/// The location node of an instruction; null if it has none.
pub fn node(instruction: Value) -> LLVMMetadataRef {
    llvm!(LLVMInstructionGetDebugLoc(instruction))
}

/// Reads a location node.
pub fn read<'m>(node: LLVMMetadataRef) -> Option<DebugLocation<'m>> {
    let mut raw = MaybeUninit::<RawLocation>::uninit();
    let raw = llvm!({
        if dh_debug_location(node, raw.as_mut_ptr()) == 0 {
            return None;
        }
        raw.assume_init()
    });
    let text = |start: *const std::ffi::c_char, length: usize| -> &'m str {
        if length == 0 {
            return "";
        }
        let bytes = llvm!(std::slice::from_raw_parts(start.cast::<u8>(), length));
        std::str::from_utf8(bytes).unwrap_or("?")
    };
    Some(DebugLocation {
        file: text(raw.file, raw.file_length),
        directory: text(raw.directory, raw.directory_length),
        function: text(raw.function, raw.function_length),
        line: raw.line,
        column: raw.column,
        scope: raw.scope,
        inlined_at: raw.inlined_at,
    })
}

/// Whether two instructions come from the same line of the same scope, inlined at the same place.
pub fn same_line(a: Value, b: Value) -> bool {
    match (read(node(a)), read(node(b))) {
        (Some(a), Some(b)) => a.line == b.line && a.line != 0 && a.scope == b.scope && a.inlined_at == b.inlined_at,
        _ => false,
    }
}
