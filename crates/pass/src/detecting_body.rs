//! The detecting body: the inlined check before each access, calls for everything rarer.
//!
//! A check loads the access's shadow cell, compares it with the running context and goes on if they
//! agree; the rest is a call in a cold block to a function that saves all registers. The cell is at the
//! access's own address, rounded down to 8 bytes, relative to the GS base (address space 256): word 0
//! holds the last writing context, word 1 the last reading one (a write sets both). 16 bytes are two
//! cells, compared at once.
//!
//! Invariant: the body is entered only after the runtime set the GS base, so nothing is tested for null.
//! Cost: 0.7 to 3.3 times native CPU for whole programs with hoisted ranges (facts of the prototype).

use crate::covered_checks::{self, Check, Step};
use crate::ir::{C_CONVENTION, Ir, PRESERVE_ALL, Value, c_string, llvm};
use crate::plain_body::{string_length, string_size, success};
use crate::range_checks::{self, Hoisted};
use crate::shim;
use crate::tables::Tables;
use crate::watched_statements::{Extent, Statement};
use deadheat_model::SiteKind;
use llvm_sys::core::*;
use llvm_sys::{LLVMIntPredicate, LLVMLinkage, LLVMVisibility};

/// Accesses up to this size are checked inline, larger ones by a call.
const LARGEST_INLINE: u32 = 64;
/// Where GS-relative addresses live.
const GS_SPACE: u32 = 256;

/// The runtime's interface as one module uses it; declared on first use.
pub struct Detector<'a> {
    ir: &'a Ir,
    tables: &'a mut Tables,
    context: Value,
    budget: Value,
}

impl<'a> Detector<'a> {
    /// Declares the module block's words.
    pub fn new(ir: &'a Ir, tables: &'a mut Tables) -> Detector<'a> {
        let context = hidden_word(ir, "dh_ctx", llvm!(LLVMArrayType2(ir.i32, 8)), 64);
        let budget = hidden_word(ir, "dh_budget", ir.i64, 8);
        Detector {
            ir,
            tables,
            context,
            budget,
        }
    }

    /// Puts checks into `function`, whose watched statements are `statements`.
    pub fn instrument(&mut self, function: Value, statements: &[Statement], hoist: bool) {
        let (mut checks, steps) = covered_checks::plan(function, statements);
        let hoisted = if hoist {
            range_checks::hoist(function, &mut checks)
        } else {
            Vec::new()
        };
        for check in &hoisted {
            self.hoisted(check, &checks[check.like]);
        }
        // From the end, so that splitting a block moves each instruction but once.
        for step in steps.iter().rev() {
            match step {
                Step::Check(n) if !checks[*n].hoisted => self.check(&checks[*n]),
                Step::Check(_) => {}
                Step::Other(statement) => self.other(statement),
            }
        }
    }

    fn check(&mut self, check: &Check) {
        let entries: Vec<_> = check.members.iter().map(|(desc, size)| (*desc, 0, *size, 0)).collect();
        let inexact = check.inexact && entries.len() > 1;
        let desc = self.tables.group(&entries, inexact);
        self.inline_check(check.before, check.owner, check.pointer, check, desc);
    }

    fn hoisted(&mut self, hoisted: &Hoisted, like: &Check) {
        let desc = self.tables.group(&hoisted.entries, hoisted.inexact);
        match hoisted.length {
            Some(length) => {
                self.ir.position(hoisted.before, like.owner);
                let start = self.ir.pointer(hoisted.start, 0);
                self.range_call(start, length, hoisted.write, desc);
            }
            None => self.inline_check(hoisted.before, like.owner, hoisted.start, like, desc),
        }
    }

    /// Checks `like.size` bytes at `pointer` before `before`.
    fn inline_check(&mut self, before: Value, owner: Value, pointer: Value, like: &Check, desc: u32) {
        let (ir, size, write) = (self.ir, like.size, like.write);
        ir.position(before, owner);
        if size > LARGEST_INLINE {
            self.range_call(pointer, ir.int(size.into()), write, desc);
            return;
        }
        let mismatch = self.mismatch(pointer, size, like.align, write);
        let cold = llvm!(shim::dh_split_cold(mismatch, before));
        ir.position(cold, owner);
        if matches!(size, 1 | 2 | 4 | 8 | 16) {
            let name = format!("dh_check_{}{size}", if write { 'w' } else { 'r' });
            let desc = self.tables.address(ir, desc);
            self.call(&name, PRESERVE_ALL, &[ir.ptr, ir.ptr], &[pointer, desc]);
        } else {
            self.range_call(pointer, ir.int(size.into()), write, desc);
        }
    }

    /// Whether a cell of the bytes holds another context (an `i1`).
    fn mismatch(&self, pointer: Value, size: u32, align: u32, write: bool) -> Value {
        let ir = self.ir;
        let address = ir.address(pointer);
        let within_one_cell = align >= 8 || size.is_power_of_two() && size <= 8 && align >= size;
        let cell_mask = ir.int(!7);
        let first = if align >= 8 {
            address
        } else {
            ir.rounded_down(pointer, cell_mask)
        };
        let cells = size.div_ceil(8);
        let pairs = (0..cells / 2).map(|n| self.pair_differs(first, n * 16));
        let single = (cells % 2 == 1).then(|| self.cell_differs(first, (cells - 1) * 8, write));
        // Bytes that do not start at a cell may reach into one cell more.
        let last = (!within_one_cell).then(|| {
            let last = ir.and(ir.add(address, ir.int(u64::from(size) - 1)), cell_mask);
            self.cell_differs(last, 0, write)
        });
        let singles = single.into_iter().chain(last).reduce(|a, b| ir.or(a, b));
        let singles = singles.map(|s| ir.compare(LLVMIntPredicate::LLVMIntNE, s, ir.int32(0)));
        let pairs = pairs
            .reduce(|a, b| ir.or(a, b))
            .map(|lanes| self.any_lane(lanes, write));
        match (pairs, singles) {
            (Some(a), Some(b)) => ir.or(a, b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => llvm!(LLVMConstInt(LLVMInt1TypeInContext(ir.context), 0, 0)),
        }
    }

    /// The cell's word xor the context.
    fn cell_differs(&self, address: Value, offset: u32, write: bool) -> Value {
        let ir = self.ir;
        let cell = ir.pointer(address, GS_SPACE);
        let offset = offset + if write { 0 } else { 4 };
        let word = ir.load(ir.i32, ir.offset(cell, ir.int(offset.into())), 4);
        ir.xor(word, ir.load(ir.i32, self.context, 4))
    }

    /// Two cells (four words) xor the context in all lanes.
    fn pair_differs(&self, address: Value, offset: u32) -> Value {
        let ir = self.ir;
        let four = llvm!(LLVMVectorType(ir.i32, 4));
        let cell = ir.pointer(address, GS_SPACE);
        let words = ir.load(four, ir.offset(cell, ir.int(offset.into())), 8);
        ir.xor(words, ir.load(four, self.context, 16))
    }

    fn any_lane(&self, lanes: Value, write: bool) -> Value {
        let ir = self.ir;
        llvm!({
            let four_bits = LLVMIntTypeInContext(ir.context, 4);
            let zero = LLVMConstNull(LLVMTypeOf(lanes));
            let differ = ir.compare(LLVMIntPredicate::LLVMIntNE, lanes, zero);
            let bits = ir.ours(LLVMBuildBitCast(ir.builder, differ, four_bits, c"".as_ptr()));
            let relevant = ir.and(bits, LLVMConstInt(four_bits, if write { 0b0101 } else { 0b1010 }, 0));
            ir.compare(LLVMIntPredicate::LLVMIntNE, relevant, LLVMConstInt(four_bits, 0, 0))
        })
    }

    fn other(&mut self, statement: &Statement) {
        let ir = self.ir;
        ir.position(statement.before, statement.owner);
        let desc = self.tables.address(ir, statement.desc);
        let pointer = statement.pointer;
        let writes = statement.kind.writes();
        match (statement.kind, statement.extent) {
            (SiteKind::Fence, _) => self.call("dh_fence", C_CONVENTION, &[ir.ptr], &[desc]),
            (SiteKind::Free, _) => self.call("dh_free", C_CONVENTION, &[ir.ptr, ir.ptr], &[pointer, desc]),
            (SiteKind::BackEdge, _) => self.back_edge(statement, desc),
            (SiteKind::CompareExchangeResult, _) => self.exchanged(statement),
            (kind, _) if kind.is_atomic() => self.call("dh_atomic", C_CONVENTION, &[ir.ptr, ir.ptr], &[pointer, desc]),
            (_, Extent::Dynamic(length)) => self.range_call(pointer, ir.widen(length), writes, statement.desc),
            (_, Extent::CString) => self.call("dh_cstring_r", C_CONVENTION, &[ir.ptr, ir.ptr], &[pointer, desc]),
            (_, Extent::CopyOf(source)) => self.range_call(pointer, string_size(ir, source), writes, statement.desc),
            (_, Extent::Appended(source)) => {
                let end = ir.offset(pointer, string_length(ir, pointer));
                self.range_call(end, string_size(ir, source), writes, statement.desc)
            }
            // Entry and exit matter to plain bodies only; fixed accesses are checks.
            _ => {}
        }
    }

    fn exchanged(&mut self, statement: &Statement) {
        let ir = self.ir;
        let success = success(ir, statement);
        let success = ir.ours(llvm!(LLVMBuildZExt(ir.builder, success, ir.i32, c"".as_ptr())));
        self.call("dh_exchanged", C_CONVENTION, &[ir.i32], &[success]);
    }

    /// Counts the budget down; a call when it is used up.
    fn back_edge(&mut self, statement: &Statement, desc: Value) {
        let ir = self.ir;
        let left = ir.add(ir.load(ir.i64, self.budget, 8), ir.int(u64::MAX));
        ir.store(left, self.budget);
        let used_up = ir.compare(LLVMIntPredicate::LLVMIntSLT, left, ir.int(0));
        let cold = llvm!(shim::dh_split_cold(used_up, statement.before));
        ir.position(cold, statement.owner);
        self.call("dh_back_edge", PRESERVE_ALL, &[ir.ptr], &[desc]);
    }

    fn range_call(&self, start: Value, length: Value, write: bool, desc: u32) {
        let ir = self.ir;
        let desc = self.tables.address(ir, desc);
        let name = if write { "dh_range_w" } else { "dh_range_r" };
        self.call(name, C_CONVENTION, &[ir.ptr, ir.i64, ir.ptr], &[start, length, desc]);
    }

    fn call(&self, name: &str, convention: u32, parameters: &[crate::ir::Type], arguments: &[Value]) {
        let ty = self.ir.function_type(self.ir.void, parameters);
        let function = self.ir.weak_function(name, ty, convention);
        let call = self.ir.call(ty, function, arguments);
        llvm!(LLVMSetInstructionCallConv(call, convention));
    }
}

/// A word of the linked module's own block; never preempted, so reached without a table.
fn hidden_word(ir: &Ir, name: &str, ty: crate::ir::Type, align: u32) -> Value {
    let name = c_string(name);
    llvm!({
        let known = LLVMGetNamedGlobal(ir.module, name.as_ptr());
        if !known.is_null() {
            return known;
        }
        let word = LLVMAddGlobal(ir.module, ty, name.as_ptr());
        LLVMSetLinkage(word, LLVMLinkage::LLVMExternalLinkage);
        LLVMSetVisibility(word, LLVMVisibility::LLVMHiddenVisibility);
        LLVMSetAlignment(word, align);
        word
    })
}
