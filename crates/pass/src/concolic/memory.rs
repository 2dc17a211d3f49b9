//! Loads, stores and atomics: tags are tested inline, the rest is the runtime's.

use super::Concolic;
use super::arithmetic::test;
use crate::ir::{self, Value, llvm};
use deadheat_wire::trace::op;
use llvm_sys::LLVMAtomicRMWBinOp::*;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::*;

/// Tags: one byte for each byte of the program's, at `address & MASK | BASE`. The runtime maps them.
const MASK: u64 = (1 << 43) - 1;
const BASE: u64 = 0x1800_0000_0000;

impl Concolic<'_> {
    /// Instruments an access, if this is one; whether it was.
    pub fn access(&mut self, i: Value) -> bool {
        match ir::opcode(i) {
            LLVMLoad => self.load(i),
            LLVMStore => self.store(i),
            LLVMAtomicRMW => self.read_modify_write(i),
            LLVMAtomicCmpXchg => self.compare_exchange(i),
            _ => return false,
        }
        true
    }

    /// Whether a tag of these bytes is set, as one bit.
    fn tagged(&self, pointer: Value, size: u64) -> Value {
        let address = self.ir.and(self.ir.address(pointer), self.ir.int(MASK));
        let at = self.ir.pointer(self.ir.or(address, self.ir.int(BASE)), 0);
        let ty = llvm!(LLVMIntTypeInContext(self.ir.context, size as u32 * 8));
        let tags = self.ir.load(ty, at, 1);
        self.ir
            .compare(LLVMIntPredicate::LLVMIntNE, tags, llvm!(LLVMConstInt(ty, 0, 0)))
    }

    fn load(&mut self, i: Value) {
        let pointer = ir::operand(i, 0);
        let width = self.width_of(i);
        let size = self.ir.store_size(ir::type_of(i));
        let address = self.id(pointer);
        if width == 0 || !matches!(size, 1 | 2 | 4 | 8) || width != 1 && !width.is_multiple_of(8) {
            self.pin(pointer, i);
            return;
        }
        if !ir::is_plain_pointer(pointer) {
            return;
        }
        let constant_global = llvm!(!LLVMIsAGlobalVariable(pointer).is_null() && LLVMIsGlobalConstant(pointer) != 0);
        if constant_global && address.is_none() {
            return;
        }
        let mut some = self.tagged(pointer, size);
        let bits = self.c32(width);
        let made = match address {
            Some(address) => {
                let symbolic = self.any(&[address]);
                some = self.ir.or(some, symbolic);
                self.guarded_id(some, i, || {
                    self.call("dh_sym_load_at", self.ir.i32, &[pointer, bits, address, self.site])
                })
            }
            None => self.guarded_id(some, i, || self.call("dh_sym_load", self.ir.i32, &[pointer, bits])),
        };
        self.ids.insert(i, made);
    }

    fn store(&mut self, i: Value) {
        let (value, pointer) = (ir::operand(i, 0), ir::operand(i, 1));
        self.pin(pointer, i);
        if !ir::is_plain_pointer(pointer) {
            return;
        }
        let size = self.ir.store_size(ir::type_of(value));
        if !matches!(size, 1 | 2 | 4 | 8) {
            self.call("dh_sym_clear", self.ir.void, &[pointer, self.ir.int(size)]);
            return;
        }
        let width = self.width_of(value);
        let id = self.id(value).filter(|_| width > 0);
        let mut some = self.tagged(pointer, size);
        if let Some(id) = id {
            let symbolic = self.any(&[id]);
            some = self.ir.or(some, symbolic);
        }
        self.guarded(some, i, || {
            let bits = self.c32(if width > 0 { width } else { size as u32 * 8 });
            let wide = if width > 0 { self.wide(value) } else { self.ir.int(0) };
            let id = id.unwrap_or_else(|| self.c32(0));
            self.call("dh_sym_store", self.ir.void, &[pointer, bits, id, wide]);
        });
    }

    fn read_modify_write(&mut self, i: Value) {
        let (pointer, value) = (ir::operand(i, 0), ir::operand(i, 1));
        self.pin(pointer, i);
        let size = self.ir.store_size(ir::type_of(i));
        let width = self.width_of(i);
        if width == 0 || !matches!(size, 1 | 2 | 4 | 8) || !width.is_multiple_of(8) || !ir::is_plain_pointer(pointer) {
            if ir::is_plain_pointer(pointer) {
                self.call("dh_sym_clear", self.ir.void, &[pointer, self.ir.int(size)]);
            }
            return;
        }
        const EXCHANGE: u32 = 255;
        const FORGET: u32 = 254;
        let code = match llvm!(LLVMGetAtomicRMWBinOp(i)) {
            LLVMAtomicRMWBinOpXchg => EXCHANGE,
            LLVMAtomicRMWBinOpAdd => op::ADD.into(),
            LLVMAtomicRMWBinOpSub => op::SUB.into(),
            LLVMAtomicRMWBinOpAnd => op::AND.into(),
            LLVMAtomicRMWBinOpOr => op::OR.into(),
            LLVMAtomicRMWBinOpXor => op::XOR.into(),
            _ => FORGET,
        };
        let mut some = self.tagged(pointer, size);
        let id = self.id_or_zero(value);
        if self.id(value).is_some() {
            let symbolic = self.any(&[id]);
            some = self.ir.or(some, symbolic);
        }
        let made = self.guarded_id(some, i, || {
            let head = self.c32(code << 8 | width);
            self.call("dh_sym_modify", self.ir.i32, &[head, pointer, id, self.wide(value)])
        });
        self.ids.insert(i, made);
    }

    fn compare_exchange(&mut self, i: Value) {
        let (pointer, expected, new) = (ir::operand(i, 0), ir::operand(i, 1), ir::operand(i, 2));
        self.pin(pointer, i);
        let size = self.ir.store_size(ir::type_of(expected));
        let width = self.width_of(expected);
        if width == 0 || !matches!(size, 1 | 2 | 4 | 8) || !width.is_multiple_of(8) || !ir::is_plain_pointer(pointer) {
            if ir::is_plain_pointer(pointer) {
                self.call("dh_sym_clear", self.ir.void, &[pointer, self.ir.int(size)]);
            }
            return;
        }
        let mut some = self.tagged(pointer, size);
        let known: Vec<Value> = [expected, new].iter().filter_map(|v| self.id(*v)).collect();
        if !known.is_empty() {
            let symbolic = self.any(&known);
            some = self.ir.or(some, symbolic);
        }
        // The old value's number in the low half, that of "was it equal" in the high one.
        let made = self.guarded_id(some, i, || {
            let words = [
                pointer,
                self.c32(width),
                self.id_or_zero(expected),
                self.wide(expected),
                self.id_or_zero(new),
                self.wide(new),
            ];
            self.call("dh_sym_compare_exchange", self.ir.i64, &words)
        });
        let half = |shift: u64| {
            llvm!({
                let moved = LLVMBuildLShr(self.ir.builder, made, self.ir.int(shift), c"".as_ptr());
                LLVMBuildTrunc(self.ir.builder, moved, self.ir.i32, c"".as_ptr())
            })
        };
        let (old, equal) = (half(0), half(32));
        self.fields.insert(i, vec![Some(old), Some(equal)]);
        debug_assert_eq!(test(LLVMIntPredicate::LLVMIntEQ), op::EQ);
    }
}
