//! Conditional branches: the constraint where the condition is symbolic, and a row each for coverage.
//!
//! A row of `dh_branches` is [`ROW`] bytes: `site u64, file ptr, function ptr, line u32, column u32, hits [u8; 2]`
//! (not taken, taken), padded. The section is writable: a branch counts its side, up to 255.

use super::Concolic;
use crate::debug_location;
use crate::ir::{self, Ir, Value, c_string, llvm};
use crate::shim;
use llvm_sys::core::*;
use llvm_sys::{LLVMIntPredicate, LLVMLinkage};
use std::collections::HashMap;

/// Bytes of a row.
const ROW: u64 = 40;
/// Offset of the hits.
const HITS: u64 = 32;

/// The module's rows and the strings that they name.
pub struct Branches {
    module: String,
    texts: HashMap<String, Value>,
}

impl Branches {
    pub fn new(ir: &Ir) -> Branches {
        let mut length = 0;
        let bytes = llvm!({
            let start = LLVMGetSourceFileName(ir.module, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        });
        Branches {
            module: String::from_utf8_lossy(bytes).into_owned(),
            texts: HashMap::new(),
        }
    }

    /// The site of the n-th decision of a function.
    pub fn site(&self, function: &str, n: u32) -> u64 {
        let bytes = self.module.bytes().chain([0]).chain(function.bytes()).chain([0]);
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        (hash ^ u64::from(n)).wrapping_mul(0x100_0000_01b3)
    }

    fn text(&mut self, ir: &Ir, text: &str) -> Value {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let global = llvm!({
            let value = LLVMConstStringInContext2(ir.context, text.as_ptr().cast(), text.len(), 0);
            let global = LLVMAddGlobal(ir.module, LLVMTypeOf(value), c"dh.branch.text".as_ptr());
            LLVMSetInitializer(global, value);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetGlobalConstant(global, 1);
            global
        });
        self.texts.insert(text.to_owned(), global);
        global
    }

    /// The row of a branch.
    fn row(&mut self, ir: &Ir, branch: Value, function: &str, site: u64) -> Value {
        let location = debug_location::read(debug_location::node(branch));
        let (file, line, column) = location.map_or(("", 0, 0), |l| (l.file, l.line, l.column));
        let place = location.map_or(function.to_owned(), |l| l.function.to_owned());
        let (file, place) = (self.text(ir, file), self.text(ir, &place));
        llvm!({
            let hits = LLVMArrayType2(ir.i8, 8);
            let mut fields = [
                ir.int(site),
                file,
                place,
                LLVMConstInt(ir.i32, line.into(), 0),
                LLVMConstInt(ir.i32, column.into(), 0),
                LLVMConstNull(hits),
            ];
            debug_assert_eq!(HITS + 8, ROW);
            let value = LLVMConstStructInContext(ir.context, fields.as_mut_ptr(), fields.len() as u32, 0);
            let global = LLVMAddGlobal(ir.module, LLVMTypeOf(value), c"dh.branch".as_ptr());
            LLVMSetInitializer(global, value);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetSection(global, c_string("dh_branches").as_ptr());
            LLVMSetAlignment(global, 8);
            shim::dh_keep_global(ir.module, global);
            global
        })
    }
}

impl Concolic<'_> {
    /// Instruments a conditional branch.
    pub fn branch(&self, branches: &mut Branches, i: Value, function: &str, site: u64, covers: bool) {
        let condition = llvm!(LLVMGetCondition(i));
        if covers {
            let row = branches.row(self.ir, i, function, site);
            let wide = llvm!(LLVMBuildZExt(self.ir.builder, condition, self.ir.i64, c"".as_ptr()));
            let at = self.ir.offset(row, self.ir.add(wide, self.ir.int(HITS)));
            let (zero, one) = llvm!((LLVMConstNull(self.ir.i8), LLVMConstInt(self.ir.i8, 1, 0)));
            let before = self.ir.load(self.ir.i8, at, 1);
            let more = self.ir.add(before, one);
            let full = self.ir.compare(LLVMIntPredicate::LLVMIntEQ, more, zero);
            self.ir.store(self.ir.select(full, before, more), at);
        }
        if let Some(id) = self.id(condition) {
            let some = self.any(&[id]);
            self.guarded(some, i, || {
                self.stands();
                let taken = llvm!(LLVMBuildZExt(self.ir.builder, condition, self.ir.i32, c"".as_ptr()));
                self.call("dh_sym_branch", self.ir.void, &[id, taken, self.ir.int(site)]);
            });
        }
    }
}

/// Whether an instruction is a branch with two ways.
pub fn is_conditional(i: Value) -> bool {
    ir::opcode(i) == llvm_sys::LLVMOpcode::LLVMBr && llvm!(LLVMIsConditional(i)) != 0
}
