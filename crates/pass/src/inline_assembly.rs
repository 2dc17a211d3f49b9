//! Inline assembly: its memory operands are watched as atomic operations; text that may synchronise
//! unseen marks the unit.

use crate::assembly_operands::{self, Operand, Use};
use crate::ir::{Ir, Value, llvm};
use crate::shim;
use crate::watched_statements::{Extent, Statement, Watched};
use deadheat_model::{MemoryOrder, SiteKind};
use deadheat_wire::object::FLAG_INEXACT;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMModuleRef;

/// Instructions that touch no shared memory; fences among them are waited for by no one.
const HARMLESS: [&str; 13] = [
    "pause", "nop", "mfence", "lfence", "sfence", "cpuid", "rdtsc", "rdtscp", "xgetbv", "bswap", "bsf", "bsr", "cld",
];

/// Instructions that touch memory only where they have a memory operand in the text; operands that stand for
/// the call's arguments are in registers, unless a constraint says otherwise ([`passes_memory`]).
const MOVES: [&str; 4] = ["mov", "movq", "xchg", "xchgq"];

/// Larger operands stand for memory of which the text may touch a part.
const LARGEST_SURE: u32 = 16;

/// The text of inline assembly.
pub fn text(callee: Value) -> String {
    string(callee, LLVMGetInlineAsmAsmString)
}

/// Takes a call of inline assembly; false if the call is none.
pub fn of_call(ir: &Ir, call: Value, found: &mut Watched) -> bool {
    let callee = llvm!(LLVMGetCalledValue(call));
    if llvm!(LLVMIsAInlineAsm(callee)).is_null() {
        return false;
    }
    let text = text(callee);
    let constraints = string(callee, LLVMGetInlineAsmConstraintString);
    if is_harmless(&text, passes_memory(&constraints)) {
        return true;
    }
    found.opaque_assembly |= constraints.contains("~{memory}") || reaches_further(&text);
    let operands = assembly_operands::of_call(ir, call, &constraints);
    let taken = operands.iter().filter(|o| operand(ir, call, &text, o, found)).count();
    found.assembly += u32::from(taken > 0);
    true
}

/// Takes a memory operand; false if it is not accessed.
fn operand(ir: &Ir, call: Value, text: &str, operand: &Operand, found: &mut Watched) -> bool {
    let use_ = assembly_operands::used(text, operand);
    let kind = match use_ {
        Use::None => return false,
        Use::Exchange if exchange(ir, call, operand, found) => return true,
        _ if use_.is_update() || operand.read && operand.written => SiteKind::Assembly,
        _ if operand.written => SiteKind::AtomicStore,
        _ => SiteKind::AtomicLoad,
    };
    let sure = use_.is_sure() && operand.size <= LARGEST_SURE;
    found.statements.push(Statement {
        order: MemoryOrder::SequentiallyConsistent,
        flags: if sure { 0 } else { FLAG_INEXACT },
        ..Statement::access(call, kind, operand.pointer, Extent::Bytes(operand.size))
    });
    true
}

/// A compare-exchange, which does not write if it fails: whether the memory changed is found by reading it before and
/// after. (One that wrote what was there counts as failed.) False if there is no place after it.
fn exchange(ir: &Ir, call: Value, operand: &Operand, found: &mut Watched) -> bool {
    let after = llvm!(shim::dh_result_point(call));
    if !matches!(operand.size, 1 | 2 | 4 | 8 | 16) || after.is_null() {
        return false;
    }
    let read = |at: Value| {
        ir.position(at, call);
        let class = llvm!(LLVMIntTypeInContext(ir.context, operand.size * 8));
        let value = ir.load(class, operand.pointer, 1);
        llvm!(LLVMSetVolatile(value, 1));
        value
    };
    let (before, behind) = (read(call), read(after));
    let changed = ir.compare(LLVMIntPredicate::LLVMIntNE, before, behind);
    // A place of its own for the result's site: more may come before the instruction that follows.
    let place = ir.ours(llvm!(LLVMBuildFreeze(ir.builder, changed, c"".as_ptr())));
    let attempt = Statement {
        // Other threads may run at the site, so it stands before the first reading.
        before,
        order: MemoryOrder::SequentiallyConsistent,
        failure_order: MemoryOrder::SequentiallyConsistent,
        ..Statement::access(
            call,
            SiteKind::AtomicCompareExchange,
            operand.pointer,
            Extent::Bytes(operand.size),
        )
    };
    found.statements.push(attempt);
    found.statements.push(Statement {
        before: place,
        success: changed,
        order: attempt.order,
        failure_order: attempt.failure_order,
        ..Statement::new(call, SiteKind::CompareExchangeResult)
    });
    true
}

/// Whether the text touches memory that is no operand: by an address in a register, in code that it calls, or in what
/// cannot be read here (directives).
fn reaches_further(text: &str) -> bool {
    const ELSEWHERE: [&str; 8] = ["call", "callq", "jmp", "jmpq", "syscall", "sysenter", "int", "int3"];
    text.contains(['(', '['])
        || text.split(['\n', ';']).map(str::trim).any(|line| {
            let first = line.split_whitespace().next().unwrap_or_default();
            first.starts_with('.') || ELSEWHERE.contains(&first)
        })
}

/// Whether the module has assembly at file level that may synchronise unseen: instructions and what is included from
/// elsewhere, not other directives.
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
        .filter(|line| !line.starts_with('.') || line.starts_with(".inc"))
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
