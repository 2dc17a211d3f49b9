//! The statements of a function that are watched.
//!
//! Watched: every load and store that may touch memory of others, read-modify-writes as one, memory
//! intrinsics and the C library's memory and string functions as ranges, atomics (also as calls of
//! libatomic), fences, calls that free, memory operands of inline assembly, exits, and back edges of
//! loops whose trip count is not known at entry. Not watched: own and constant memory (`own_memory.cc`).

use crate::ir::{self, Ir, Value, llvm};
use crate::{inline_assembly, library_calls, made_loads, read_modify_write, segment_register, shim, used_lanes};
use deadheat_model::{MemoryOrder, SiteKind};
use deadheat_wire::object::*;
use llvm_sys::core::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};
use std::collections::HashMap;
use std::ffi::c_void;

/// How far a statement reaches from its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing: no operand, or a freed block.
    None,
    /// So many bytes.
    Bytes(u32),
    /// So many bytes as the value says.
    Dynamic(Value),
    /// The C string at the operand with its terminator.
    CString,
    /// As many bytes as the C string there has, with its terminator.
    CopyOf(Value),
    /// The same, behind the C string at the operand (over its terminator).
    Appended(Value),
}

/// One watched statement.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// The instruction that it is.
    pub owner: Value,
    /// The instruction before which its site stands (the owner, but for results).
    pub before: Value,
    pub kind: SiteKind,
    /// The address; null for statements that touch no memory.
    pub pointer: Value,
    pub extent: Extent,
    /// Known alignment of the address in bytes.
    pub align: u32,
    pub flags: u8,
    pub order: MemoryOrder,
    pub failure_order: MemoryOrder,
    /// For a compare-exchange's result: whether it succeeded (an integer).
    pub success: Value,
    /// Its row in the table of descriptors.
    pub desc: u32,
}

impl Statement {
    /// A statement before `owner` with nothing else known.
    pub fn new(owner: Value, kind: SiteKind) -> Statement {
        Statement {
            owner,
            before: owner,
            kind,
            pointer: std::ptr::null_mut(),
            extent: Extent::None,
            align: 1,
            flags: 0,
            order: MemoryOrder::Relaxed,
            failure_order: MemoryOrder::Relaxed,
            success: std::ptr::null_mut(),
            desc: 0,
        }
    }

    /// The same, touching memory.
    pub fn access(owner: Value, kind: SiteKind, pointer: Value, extent: Extent) -> Statement {
        Statement {
            pointer,
            extent,
            ..Statement::new(owner, kind)
        }
    }

    /// Whether it is an ordinary (not atomic) access of fixed size.
    pub fn fixed_access(&self) -> Option<u32> {
        match (self.kind, self.extent) {
            (SiteKind::Read | SiteKind::Write | SiteKind::ReadWrite, Extent::Bytes(n)) => Some(n),
            _ => None,
        }
    }
}

/// What was found in a function.
#[derive(Default)]
pub struct Watched {
    /// In the order of the code.
    pub statements: Vec<Statement>,
    /// Inline assembly with memory operands.
    pub assembly: u32,
    /// Some inline assembly may synchronise unseen.
    pub opaque_assembly: bool,
}

impl Watched {
    /// Whether the function needs sites at all: exits alone are no reason.
    pub fn is_empty(&self) -> bool {
        self.statements.iter().all(|s| s.kind == SiteKind::Exit)
    }
}

/// Finds the watched statements of a function.
pub fn find(ir: &Ir, function: Value) -> Watched {
    let mut found = Watched::default();
    let back_edges = uncounted_back_edges(function);
    let mut own = HashMap::new();
    for block in ir::blocks(function) {
        let start = found.statements.len();
        for instruction in ir::instructions(block) {
            if !ir.is_ours(instruction) {
                of_instruction(ir, instruction, &mut found);
            }
            if back_edges.contains(&instruction) {
                found.statements.push(Statement::new(instruction, SiteKind::BackEdge));
            }
        }
        read_modify_write::join(&mut found.statements, start);
    }
    found.statements.retain(|s| {
        s.pointer.is_null()
            || !*own
                .entry(s.pointer)
                .or_insert_with(|| llvm!(shim::dh_is_own(s.pointer)) != 0)
    });
    // The result of a compare-exchange on own memory goes with it.
    let kept: std::collections::HashSet<Value> = found
        .statements
        .iter()
        .filter(|s| s.kind == SiteKind::AtomicCompareExchange)
        .map(|s| s.owner)
        .collect();
    found
        .statements
        .retain(|s| s.kind != SiteKind::CompareExchangeResult || kept.contains(&s.owner));
    found
}

fn of_instruction(ir: &Ir, i: Value, found: &mut Watched) {
    match ir::opcode(i) {
        LLVMOpcode::LLVMLoad => load(ir, i, found),
        LLVMOpcode::LLVMStore => {
            let size = ir.store_size(ir::type_of(ir::operand(i, 0)));
            memory_instruction(
                i,
                ir::operand(i, 1),
                size,
                SiteKind::Write,
                SiteKind::AtomicStore,
                found,
            );
        }
        LLVMOpcode::LLVMAtomicRMW => {
            let size = ir.store_size(ir::type_of(ir::operand(i, 1)));
            memory_instruction(
                i,
                ir::operand(i, 0),
                size,
                SiteKind::AtomicUpdate,
                SiteKind::AtomicUpdate,
                found,
            );
        }
        LLVMOpcode::LLVMAtomicCmpXchg => {
            let size = ir.store_size(ir::type_of(ir::operand(i, 1)));
            if ir::is_plain_pointer(ir::operand(i, 0)) {
                compare_exchange(i, size as u32, found);
            }
        }
        LLVMOpcode::LLVMFence if llvm!(shim::dh_single_thread_scope(i)) == 0 => {
            let order = order(llvm!(LLVMGetOrdering(i)));
            found.statements.push(Statement {
                order,
                ..Statement::new(i, SiteKind::Fence)
            });
        }
        LLVMOpcode::LLVMRet => {
            // Nothing may come between a musttail call and its return.
            let block = llvm!(LLVMGetInstructionParent(i));
            let tail = ir::instructions(block).into_iter().rev().find(|c| {
                ir::opcode(*c) == LLVMOpcode::LLVMCall
                    && llvm!(LLVMGetTailCallKind(*c)) == llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail
            });
            let before = tail.unwrap_or(i);
            found.statements.push(Statement {
                before,
                ..Statement::new(i, SiteKind::Exit)
            });
        }
        LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr => {
            segment_register::of_call(ir, i);
            if inline_assembly::of_call(ir, i, found) {
                return;
            }
            library_calls::of_call(ir, i, &mut found.statements);
            copied_arguments(ir, i, &mut found.statements);
        }
        _ => {}
    }
}

fn load(ir: &Ir, i: Value, found: &mut Watched) {
    let from = found.statements.len();
    let pointer = ir::operand(i, 0);
    let parts = used_lanes::of_load(ir, i).unwrap_or_else(|| vec![(0, ir.store_size(ir::type_of(i)))]);
    for (at, size) in parts {
        let part = if at == 0 {
            pointer
        } else {
            ir.position(i, i);
            ir.offset(pointer, ir.int(at))
        };
        let first = found.statements.len();
        memory_instruction(i, part, size, SiteKind::Read, SiteKind::AtomicLoad, found);
        for statement in &mut found.statements[first..] {
            statement.align = 1 << (u64::from(statement.align) | at).trailing_zeros();
        }
    }
    let sure = made_loads::of_load(ir, i);
    for statement in &mut found.statements[from..] {
        if sure != made_loads::Sure::All {
            statement.flags |= FLAG_INEXACT;
        }
        if let (made_loads::Sure::FirstByte, Extent::Bytes(size)) = (sure, statement.extent) {
            statement.extent = Extent::Dynamic(ir.int(size.into()));
        }
    }
}

fn memory_instruction(i: Value, pointer: Value, size: u64, plain: SiteKind, atomic: SiteKind, found: &mut Watched) {
    if !ir::is_plain_pointer(pointer) || size == 0 || size > u32::MAX.into() {
        return;
    }
    let is_atomic = llvm!(LLVMIsAtomic(i)) != 0;
    let volatile = if llvm!(LLVMGetVolatile(i)) != 0 {
        FLAG_VOLATILE
    } else {
        0
    };
    let vtable = if !is_atomic && llvm!(shim::dh_is_vtable_access(i)) != 0 {
        FLAG_VPTR
    } else {
        0
    };
    let kind = if is_atomic { atomic } else { plain };
    found.statements.push(Statement {
        align: llvm!(LLVMGetAlignment(i)),
        flags: volatile | vtable,
        order: if is_atomic {
            order(llvm!(LLVMGetOrdering(i)))
        } else {
            MemoryOrder::Relaxed
        },
        ..Statement::access(i, kind, pointer, Extent::Bytes(size as u32))
    });
}

fn compare_exchange(i: Value, size: u32, found: &mut Watched) {
    let attempt = Statement {
        align: llvm!(LLVMGetAlignment(i)),
        flags: if llvm!(LLVMGetVolatile(i)) != 0 {
            FLAG_VOLATILE
        } else {
            0
        },
        order: order(llvm!(LLVMGetCmpXchgSuccessOrdering(i))),
        failure_order: order(llvm!(LLVMGetCmpXchgFailureOrdering(i))),
        ..Statement::access(
            i,
            SiteKind::AtomicCompareExchange,
            ir::operand(i, 0),
            Extent::Bytes(size),
        )
    };
    found.statements.push(attempt);
    found.statements.extend(result_of(&attempt));
}

/// The site after a compare-exchange (instruction or call) that tells whether it succeeded.
pub fn result_of(attempt: &Statement) -> Option<Statement> {
    let before = llvm!(shim::dh_result_point(attempt.owner));
    (!before.is_null()).then(|| Statement {
        before,
        success: attempt.owner,
        order: attempt.order,
        failure_order: attempt.failure_order,
        ..Statement::new(attempt.owner, SiteKind::CompareExchangeResult)
    })
}

/// By-value arguments in memory: the call copies them.
fn copied_arguments(ir: &Ir, call: Value, found: &mut Vec<Statement>) {
    for n in 0..ir::argument_count(call) {
        let ty = llvm!(shim::dh_byval_type(call, n));
        if !ty.is_null() {
            let size = ir.store_size(ty);
            if size > 0 && size <= u32::MAX.into() {
                let pointer = ir::operand(call, n);
                found.push(Statement {
                    align: llvm!(shim::dh_known_alignment(pointer, call)),
                    ..Statement::access(call, SiteKind::Read, pointer, Extent::Bytes(size as u32))
                });
            }
        }
    }
}

fn uncounted_back_edges(function: Value) -> Vec<Value> {
    unsafe extern "C" fn found(context: *mut c_void, terminator: Value) {
        // SAFETY: the context is the vector below, borrowed for the call.
        unsafe { (*context.cast::<Vec<Value>>()).push(terminator) }
    }
    let mut terminators: Vec<Value> = Vec::new();
    llvm!(shim::dh_uncounted_back_edges(
        function,
        found,
        (&raw mut terminators).cast()
    ));
    terminators
}

fn order(ordering: LLVMAtomicOrdering) -> MemoryOrder {
    match ordering {
        LLVMAtomicOrdering::LLVMAtomicOrderingAcquire => MemoryOrder::Acquire,
        LLVMAtomicOrdering::LLVMAtomicOrderingRelease => MemoryOrder::Release,
        LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease => MemoryOrder::AcquireRelease,
        LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent => MemoryOrder::SequentiallyConsistent,
        _ => MemoryOrder::Relaxed,
    }
}
