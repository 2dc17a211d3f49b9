//! Debug locations of instructions.

use crate::ir::{self, Ir, Value, llvm};
use crate::shim::{RawLocation, dh_debug_location};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
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

/// Gives an instruction without a line the nearest sensible place, so that all that is built for it has one:
/// that of what its value comes from or goes to, else of the instructions around it in its block, of the
/// blocks before and behind, and last its function's line. The optimiser leaves moved and merged accesses
/// without a line; without debug information nothing is done. What is known of the inlined scope is kept.
pub fn complete(ir: &Ir, function: Value, instruction: Value) {
    let own = read(node(instruction));
    if own.is_some_and(|l| l.line != 0 && !l.file.is_empty()) {
        return;
    }
    let subprogram = llvm!(LLVMGetSubprogram(function));
    if subprogram.is_null() {
        return;
    }
    let found = nearest(instruction, |l| {
        own.is_none_or(|o| o.inlined_at == l.inlined_at && o.function == l.function)
    })
    .unwrap_or_else(|| {
        let (scope, inlined_at) = own.map_or((subprogram, std::ptr::null_mut()), |o| (o.scope, o.inlined_at));
        llvm!(LLVMDIBuilderCreateDebugLocation(
            ir.context,
            line_of(scope, subprogram),
            0,
            scope,
            inlined_at
        ))
    });
    llvm!(LLVMInstructionSetDebugLoc(instruction, found));
}

/// The line at which the scope's function is declared.
fn line_of(scope: LLVMMetadataRef, function: LLVMMetadataRef) -> u32 {
    let subprogram = |m| {
        matches!(
            llvm!(LLVMGetMetadataKind(m)),
            LLVMMetadataKind::LLVMDISubprogramMetadataKind
        )
    };
    let of = if subprogram(scope) { scope } else { function };
    llvm!(LLVMDISubprogramGetLine(of)).max(1)
}

/// The place of the nearest instruction that has one which will do.
fn nearest(instruction: Value, fits: impl Fn(&DebugLocation<'_>) -> bool) -> Option<LLVMMetadataRef> {
    let place = |i: Value| {
        let at = node(i);
        read(at)
            .filter(|l| l.line != 0 && !l.file.is_empty() && fits(l))
            .map(|_| at)
    };
    let block = llvm!(LLVMGetInstructionParent(instruction));
    let inside = ir::instructions(block);
    let at = inside.iter().position(|i| *i == instruction)?;
    let around = inside[at + 1..].iter().chain(inside[..at].iter().rev()).copied();
    // A block's uses are the branches to it.
    let before = users(llvm!(LLVMBasicBlockAsValue(block)));
    let last = llvm!(LLVMGetBasicBlockTerminator(block));
    let behind = (0..successors(last)).flat_map(|n| ir::instructions(llvm!(LLVMGetSuccessor(last, n))));
    related(instruction)
        .into_iter()
        .chain(around)
        .chain(before)
        .chain(behind)
        .find_map(place)
}

fn successors(terminator: Value) -> u32 {
    if terminator.is_null() {
        return 0;
    }
    llvm!(LLVMGetNumSuccessors(terminator))
}

/// What a loaded value goes to, or a stored one comes from; through one phi.
fn related(instruction: Value) -> Vec<Value> {
    let is_phi = |v: &Value| ir::opcode(*v) == LLVMOpcode::LLVMPHI;
    match ir::opcode(instruction) {
        LLVMOpcode::LLVMLoad => {
            let direct = users(instruction);
            let through: Vec<Value> = direct.iter().copied().filter(is_phi).flat_map(users).collect();
            direct.into_iter().filter(|v| !is_phi(v)).chain(through).collect()
        }
        LLVMOpcode::LLVMStore => {
            let value = ir::operand(instruction, 0);
            if llvm!(LLVMIsAInstruction(value)).is_null() {
                return Vec::new();
            }
            if !is_phi(&value) {
                return vec![value];
            }
            let incoming = (0..llvm!(LLVMCountIncoming(value))).map(|n| llvm!(LLVMGetIncomingValue(value, n)));
            incoming.filter(|v| !llvm!(LLVMIsAInstruction(*v)).is_null()).collect()
        }
        _ => Vec::new(),
    }
}

/// The instructions that use a value.
pub fn users(value: Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut at = llvm!(LLVMGetFirstUse(value));
    while !at.is_null() {
        let user = llvm!(LLVMGetUser(at));
        if !llvm!(LLVMIsAInstruction(user)).is_null() {
            all.push(user);
        }
        at = llvm!(LLVMGetNextUse(at));
    }
    all
}
