//! Operations on values: the number of the result from those of the operands.

use super::Concolic;
use crate::ir::{self, Value, llvm};
use crate::shim;
use deadheat_wire::trace::op;
use llvm_sys::LLVMOpcode::{self, *};
use llvm_sys::core::*;
use llvm_sys::{LLVMIntPredicate, LLVMTypeKind};

/// The trace's code of an operation.
fn code(opcode: LLVMOpcode) -> Option<u8> {
    Some(match opcode {
        LLVMAdd => op::ADD,
        LLVMSub => op::SUB,
        LLVMMul => op::MUL,
        LLVMUDiv => op::UDIV,
        LLVMSDiv => op::SDIV,
        LLVMURem => op::UREM,
        LLVMSRem => op::SREM,
        LLVMShl => op::SHL,
        LLVMLShr => op::LSHR,
        LLVMAShr => op::ASHR,
        LLVMAnd => op::AND,
        LLVMOr => op::OR,
        LLVMXor => op::XOR,
        _ => return None,
    })
}

/// The trace's code of a comparison.
pub fn test(predicate: LLVMIntPredicate) -> u8 {
    // LLVM numbers them from 32 on in the trace's order.
    predicate as u8
}

impl Concolic<'_> {
    /// Numbers the result of an operation, if this is one; whether it was.
    pub fn arithmetic(&mut self, i: Value) -> bool {
        let opcode = ir::opcode(i);
        match opcode {
            LLVMICmp => {
                let predicate = llvm!(LLVMGetICmpPredicate(i));
                self.binary(i, test(predicate));
            }
            LLVMZExt | LLVMSExt | LLVMTrunc | LLVMPtrToInt | LLVMIntToPtr => self.cast(i, opcode == LLVMSExt),
            LLVMBitCast | LLVMFreeze => {
                if let (Some(id), true) = (self.id(ir::operand(i, 0)), self.width_of(i) > 0) {
                    self.ids.insert(i, id);
                }
            }
            LLVMSelect => self.select(i),
            LLVMGetElementPtr => self.address_of_element(i),
            LLVMExtractValue => self.extract_field(i),
            LLVMInsertValue => self.insert_field(i),
            LLVMSIToFP | LLVMUIToFP => self.lost(ir::operand(i, 0), i),
            _ => match code(opcode) {
                Some(code) => self.binary(i, code),
                None => return false,
            },
        }
        true
    }

    fn binary(&mut self, i: Value, code: u8) {
        let (a, b) = (ir::operand(i, 0), ir::operand(i, 1));
        let width = self.width_of(a);
        if width == 0 {
            return;
        }
        if let Some(id) = self.binary_id(i, code, a, b) {
            self.ids.insert(i, id);
        }
    }

    /// The number of `a code b`, made before `i`.
    pub fn binary_id(&self, i: Value, code: u8, a: Value, b: Value) -> Option<Value> {
        let known: Vec<Value> = [a, b].iter().filter_map(|v| self.id(*v)).collect();
        if known.is_empty() {
            return None;
        }
        let some = self.any(&known);
        let (x, y) = (self.id_or_zero(a), self.id_or_zero(b));
        let divides = matches!(code, op::UDIV | op::SDIV | op::UREM | op::SREM);
        Some(self.guarded_id(some, i, || {
            let head = self.c32(u32::from(code) << 8 | self.width_of(a));
            let site = if divides { self.site } else { self.ir.int(0) };
            self.call(
                "dh_sym_binary",
                self.ir.i32,
                &[head, x, self.wide(a), y, self.wide(b), site],
            )
        }))
    }

    fn cast(&mut self, i: Value, sign: bool) {
        let from = ir::operand(i, 0);
        let (narrow, wide) = (self.width_of(from), self.width_of(i));
        let Some(id) = self.id(from).filter(|_| narrow > 0 && wide > 0) else {
            return;
        };
        if narrow == wide {
            self.ids.insert(i, id);
            return;
        }
        let some = self.any(&[id]);
        let made = self.guarded_id(some, i, || self.resized(id, from, wide, sign));
        self.ids.insert(i, made);
    }

    /// The number of `value` at another width.
    pub fn resized(&self, id: Value, value: Value, width: u32, sign: bool) -> Value {
        let head = self.c32(u32::from(sign) << 16 | self.width_of(value) << 8 | width);
        self.call("dh_sym_cast", self.ir.i32, &[head, id, self.wide(value)])
    }

    fn select(&mut self, i: Value) {
        let (condition, a, b) = (ir::operand(i, 0), ir::operand(i, 1), ir::operand(i, 2));
        if self.width_of(condition) != 1 || self.width_of(i) == 0 {
            return;
        }
        if let Some(id) = self.chosen(i, condition, a, b) {
            self.ids.insert(i, id);
        }
    }

    /// The number of `condition ? a : b`.
    pub fn chosen(&self, i: Value, condition: Value, a: Value, b: Value) -> Option<Value> {
        let known: Vec<Value> = [condition, a, b].iter().filter_map(|v| self.id(*v)).collect();
        if known.is_empty() {
            return None;
        }
        let some = self.any(&known);
        let (c, x, y) = (self.id_or_zero(condition), self.id_or_zero(a), self.id_or_zero(b));
        Some(self.guarded_id(some, i, || {
            let width = self.c32(self.width_of(a));
            let words = [width, c, self.wide(condition), x, self.wide(a), y, self.wide(b)];
            self.call("dh_sym_choose", self.ir.i32, &words)
        }))
    }

    fn address_of_element(&mut self, i: Value) {
        const MOST: usize = 8;
        if self.width_of(i) == 0 {
            return;
        }
        let base = ir::operand(i, 0);
        let (mut variables, mut scales, mut constant) = ([std::ptr::null_mut(); MOST], [0i64; MOST], 0i64);
        let count = llvm!(shim::dh_address_parts(
            i,
            variables.as_mut_ptr(),
            scales.as_mut_ptr(),
            &mut constant,
            MOST as i32
        ));
        let Ok(count) = usize::try_from(count) else {
            self.lost(base, i);
            return;
        };
        let variables = &variables[..count];
        let known: Vec<Value> = variables.iter().chain([&base]).filter_map(|v| self.id(*v)).collect();
        if known.is_empty() {
            return;
        }
        let some = self.any(&known);
        let made = self.guarded_id(some, i, || {
            let (mut id, mut at) = (self.id_or_zero(base), self.wide(base));
            for (variable, scale) in variables.iter().zip(&scales) {
                let index = llvm!(LLVMBuildSExt(self.ir.builder, *variable, self.ir.i64, c"".as_ptr()));
                let width = self.c32(self.width_of(*variable));
                let scale = self.ir.int(*scale as u64);
                id = self.call(
                    "dh_sym_step",
                    self.ir.i32,
                    &[id, at, self.id_or_zero(*variable), index, width, scale],
                );
                let distance = llvm!(LLVMBuildMul(self.ir.builder, index, scale, c"".as_ptr()));
                at = self.ir.add(at, distance);
            }
            if constant == 0 {
                return id;
            }
            let head = self.c32(u32::from(op::ADD) << 8 | 64);
            let words = [head, id, at, self.c32(0), self.ir.int(constant as u64), self.ir.int(0)];
            self.call("dh_sym_binary", self.ir.i32, &words)
        });
        self.ids.insert(i, made);
    }

    fn extract_field(&mut self, i: Value) {
        let from = ir::operand(i, 0);
        let index = single_index(i);
        let id = index.and_then(|n| self.fields.get(&from).and_then(|f| f.get(n).copied().flatten()));
        if let (Some(id), true) = (id, self.width_of(i) > 0) {
            self.ids.insert(i, id);
        }
    }

    fn insert_field(&mut self, i: Value) {
        let (into, value) = (ir::operand(i, 0), ir::operand(i, 1));
        let Some(index) = single_index(i) else {
            self.lost(value, i);
            return;
        };
        let mut fields = self.fields.get(&into).cloned().unwrap_or_default();
        fields.resize(fields.len().max(index + 1), None);
        fields[index] = self.id(value).filter(|_| self.width_of(value) > 0);
        if fields.iter().any(Option::is_some) {
            self.fields.insert(i, fields);
        }
    }

    /// The widths of a structure's first two fields, if it is flat and of integers.
    pub fn flat_fields(&self, ty: ir::Type) -> Option<Vec<u32>> {
        llvm!({
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMStructTypeKind {
                return None;
            }
            let count = LLVMCountStructElementTypes(ty);
            (1..=2).contains(&count).then(|| {
                (0..count)
                    .map(|n| self.width(LLVMStructGetTypeAtIndex(ty, n)))
                    .collect()
            })
        })
    }
}

/// The index of an operation on a structure's direct field.
fn single_index(i: Value) -> Option<usize> {
    llvm!((LLVMGetNumIndices(i) == 1).then(|| *LLVMGetIndices(i) as usize))
}
