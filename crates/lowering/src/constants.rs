//! Constants. Constant expressions over one address come to that address, moved.

use crate::llvm::*;
use crate::module::Lowering;
use crate::types::class;
use deadheat_ir::{Class, Constant, ConstantId, SymbolId, TagId};

/// Expressions nested deeper than this are not followed.
const DEEPEST: u32 = 64;

impl Lowering {
    /// The id of a constant.
    pub fn constant(&mut self, value: Value) -> ConstantId {
        if let Some(known) = self.constants.get(&value) {
            return *known;
        }
        let constant = self.read_constant(value, 0);
        let id = self.builder.constant(constant);
        self.constants.insert(value, id);
        id
    }

    fn read_constant(&mut self, value: Value, depth: u32) -> Constant {
        if is(value, LLVMIsAConstantInt) {
            let bits = llvm!(LLVMGetIntTypeWidth(LLVMTypeOf(value))) as u16;
            return integer(value).map_or(Constant::Opaque, |value| Constant::Integer { bits, value });
        }
        if is(value, LLVMIsAConstantPointerNull) || is(value, LLVMIsAConstantAggregateZero) {
            return Constant::Null;
        }
        if is(value, LLVMIsAUndefValue) {
            return Constant::Undefined;
        }
        if let Some((symbol, offset, tag)) = self.address(value, depth) {
            return Constant::Address { symbol, offset, tag };
        }
        if let Some(number) = self.number(value, depth) {
            return match class(llvm!(LLVMTypeOf(value))) {
                Class::Integer(bits) => Constant::Integer { bits, value: number },
                _ => Constant::Opaque,
            };
        }
        if depth < DEEPEST && self.is_aggregate(value) {
            return Constant::Aggregate(self.members(value, depth));
        }
        Constant::Opaque
    }

    /// Is it a constant struct, array or vector with members of its own?
    pub fn is_aggregate(&self, value: Value) -> bool {
        [LLVMIsAConstantStruct, LLVMIsAConstantArray, LLVMIsAConstantVector]
            .iter()
            .any(|kind| is(value, *kind))
    }

    fn members(&mut self, value: Value, depth: u32) -> Box<[(u64, ConstantId)]> {
        let ty = llvm!(LLVMTypeOf(value));
        let mut members = Vec::new();
        for (n, member) in operands(value).enumerate() {
            let constant = self.read_constant(member, depth + 1);
            if matches!(
                constant,
                Constant::Null | Constant::Undefined | Constant::Integer { value: 0, .. }
            ) {
                continue;
            }
            members.push((self.types.member(ty, &[n as u32]), self.builder.constant(constant)));
        }
        members.into()
    }

    /// The symbol, distance and field that an address constant stands for.
    fn address(&mut self, value: Value, depth: u32) -> Option<(SymbolId, i64, Option<TagId>)> {
        if let Some(symbol) = self.symbols.get(&value) {
            return Some((*symbol, 0, None));
        }
        if !is(value, LLVMIsAConstantExpr) || depth >= DEEPEST {
            return None;
        }
        match llvm!(LLVMGetConstOpcode(value)) {
            LLVMOpcode::LLVMGetElementPtr => {
                let (symbol, offset, _) = self.address(operand(value, 0), depth + 1)?;
                let walk = self.types.walk(value);
                let tag = self.innermost(&walk.path);
                Some((symbol, offset.wrapping_add(walk.constant), tag))
            }
            LLVMOpcode::LLVMAdd => {
                let (left, right) = (operand(value, 0), operand(value, 1));
                let (address, by) = match (integer(left), integer(right)) {
                    (_, Some(by)) => (left, by),
                    (Some(by), _) => (right, by),
                    _ => return None,
                };
                let (symbol, offset, _) = self.address(address, depth + 1)?;
                Some((symbol, offset.wrapping_add(by), None))
            }
            LLVMOpcode::LLVMBitCast
            | LLVMOpcode::LLVMAddrSpaceCast
            | LLVMOpcode::LLVMPtrToInt
            | LLVMOpcode::LLVMPtrToAddr
            | LLVMOpcode::LLVMIntToPtr => self.address(operand(value, 0), depth + 1),
            _ => None,
        }
    }

    /// The number that an expression without an address comes to: `offsetof`, written out, and what is added to it.
    fn number(&self, value: Value, depth: u32) -> Option<i64> {
        if is(value, LLVMIsAConstantPointerNull) {
            return Some(0);
        }
        if !is(value, LLVMIsAConstantExpr) || depth >= DEEPEST {
            return integer(value);
        }
        let number = |n| self.number(operand(value, n), depth + 1);
        match llvm!(LLVMGetConstOpcode(value)) {
            LLVMOpcode::LLVMGetElementPtr => {
                let walk = self.types.walk(value);
                Some(number(0)?.wrapping_add(walk.constant)).filter(|_| walk.indices.is_empty())
            }
            LLVMOpcode::LLVMAdd => Some(number(0)?.wrapping_add(number(1)?)),
            LLVMOpcode::LLVMSub => Some(number(0)?.wrapping_sub(number(1)?)),
            LLVMOpcode::LLVMPtrToInt | LLVMOpcode::LLVMPtrToAddr | LLVMOpcode::LLVMIntToPtr => number(0),
            _ => None,
        }
    }

    /// The symbol behind a constant that moves it by nothing: for callees and accesses.
    pub fn plain_symbol(&mut self, value: Value) -> Option<SymbolId> {
        match self.address(value, 0)? {
            (symbol, 0, _) => Some(symbol),
            _ => None,
        }
    }

    /// The tag of the innermost named struct of a path.
    pub fn innermost(&mut self, path: &[(Type, u64)]) -> Option<TagId> {
        path.iter().rev().find_map(|(ty, offset)| self.field_tag(*ty, *offset))
    }

    /// The tag of a field of a named struct type.
    pub fn field_tag(&mut self, ty: Type, offset: u64) -> Option<TagId> {
        let structure = self.types.structure(&mut self.builder, ty)?;
        Some(self.types.tag(&mut self.builder, structure, offset))
    }

    /// Notes that the address of every symbol in a constant is taken.
    pub fn take_address(&mut self, constant: ConstantId) {
        let module = &mut self.builder.module;
        match &module.constants[constant.index()] {
            Constant::Address { symbol, .. } => module.symbols[symbol.index()].address_taken = true,
            Constant::Aggregate(members) => {
                for (_, member) in members.clone() {
                    self.take_address(member);
                }
            }
            _ => {}
        }
    }
}
