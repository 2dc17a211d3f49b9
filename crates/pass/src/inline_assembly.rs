//! Inline assembly: its memory operands are watched as atomic updates; text that may synchronise
//! unseen marks the unit.

use crate::ir::{self, Ir, Value, llvm};
use crate::shim;
use crate::watched_statements::{Extent, Statement, Watched};
use deadheat_model::{MemoryOrder, SiteKind};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMModuleRef;

/// Instructions that touch no shared memory; fences among them are waited for by no one.
const HARMLESS: [&str; 13] = [
    "pause", "nop", "mfence", "lfence", "sfence", "cpuid", "rdtsc", "rdtscp", "xgetbv", "bswap", "bsf", "bsr", "cld",
];

/// Instructions that touch memory only where they have a memory operand in the text; operands that stand for
/// the call's arguments are in registers, unless a constraint says otherwise ([`passes_memory`]).
const MOVES: [&str; 4] = ["mov", "movq", "xchg", "xchgq"];

/// Takes a call of inline assembly; false if the call is none.
pub fn of_call(ir: &Ir, call: Value, found: &mut Watched) -> bool {
    let callee = llvm!(LLVMGetCalledValue(call));
    if llvm!(LLVMIsAInlineAsm(callee)).is_null() {
        return false;
    }
    let text = string(callee, LLVMGetInlineAsmAsmString);
    let constraints = string(callee, LLVMGetInlineAsmConstraintString);
    if is_harmless(&text, passes_memory(&constraints)) {
        return true;
    }
    found.opaque_assembly |= constraints.contains("~{memory}");
    let mut operands = 0;
    for n in 0..ir::argument_count(call) {
        let ty = llvm!(shim::dh_element_type(call, n));
        if ty.is_null() {
            continue;
        }
        let pointer = ir::operand(call, n);
        let size = ir.store_size(ty);
        if ir::is_plain_pointer(pointer) && size > 0 && size <= u32::MAX.into() {
            operands += 1;
            found.statements.push(Statement {
                order: MemoryOrder::SequentiallyConsistent,
                ..Statement::access(call, SiteKind::Assembly, pointer, Extent::Bytes(size as u32))
            });
        }
    }
    found.assembly += u32::from(operands > 0);
    true
}

/// Whether the module has assembly at file level that may synchronise unseen: instructions, not directives.
pub fn in_module(module: LLVMModuleRef) -> bool {
    let mut length = 0;
    let text = llvm!(LLVMGetModuleInlineAsm(module, &mut length));
    if text.is_null() || length == 0 {
        return false;
    }
    // SAFETY: LLVM's text of this length.
    let text = String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) });
    let code: Vec<&str> = text
        .split(['\n', ';'])
        .map(|line| line.rsplit_once(':').map_or(line, |(_, behind)| behind).trim())
        .filter(|line| !line.starts_with('.'))
        .collect();
    !is_harmless(&code.join("\n"), true)
}

fn string(value: Value, of: unsafe extern "C" fn(Value, *mut usize) -> *const std::ffi::c_char) -> String {
    let mut length = 0;
    let bytes = llvm!({
        let start = of(value, &mut length);
        if start.is_null() {
            &[][..]
        } else {
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        }
    });
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether an operand may stand for memory.
fn passes_memory(constraints: &str) -> bool {
    let clobber = |c: &str| c.starts_with('~');
    let memory = |c: &str| c.starts_with(['*', 'm']) || c.starts_with("=*") || c.starts_with("=m") || c.contains("rm");
    constraints.split(',').any(|c| !clobber(c) && memory(c))
}

fn is_harmless(text: &str, memory: bool) -> bool {
    text.split(['\n', ';'])
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .all(|line| {
            let mut words = line.split_whitespace().skip_while(|w| matches!(*w, "lock" | "rep"));
            // A prefix alone belongs to the next line; a locked update of the stack's top is a fence.
            let Some(instruction) = words.next() else { return true };
            let own_stack = line.contains("(%rsp)") || line.contains("(%esp)");
            HARMLESS.contains(&instruction)
                || MOVES.contains(&instruction) && !memory && !line.contains(['(', '['])
                || own_stack && (instruction.starts_with("add") || instruction.starts_with("or"))
        })
}
