//! Instructions other than calls.

use crate::function::Body;
use crate::llvm::*;
use crate::module::{Lowering, class_of};
use crate::preparation::marked_field;
use crate::types::class;
use crate::unread::is_kept;
use deadheat_ir::{
    Access, BinaryOperator, CastKind, Instruction, MemoryOrder, Operation, Predicate, RmwOperator, TagId,
};

impl Lowering {
    /// Lowers an instruction that has a local.
    pub fn instruction(&mut self, body: &Body, instruction: Value) -> Instruction {
        let class = class_of(instruction);
        let location = self.location(instruction);
        let operation = self.operation(body, instruction);
        Instruction {
            operation,
            class,
            location,
        }
    }

    fn operation(&mut self, body: &Body, instruction: Value) -> Operation {
        use LLVMOpcode::*;
        match llvm!(LLVMGetInstructionOpcode(instruction)) {
            LLVMAlloca => self.alloca(body, instruction),
            LLVMLoad => {
                let access = self.access(instruction, operand(instruction, 0), llvm!(LLVMTypeOf(instruction)));
                Operation::Load {
                    address: self.address_operand(body, operand(instruction, 0)),
                    access,
                }
            }
            LLVMStore => {
                let (value, address) = (operand(instruction, 0), operand(instruction, 1));
                let access = self.access(instruction, address, llvm!(LLVMTypeOf(value)));
                let value = self.value(body, value);
                Operation::Store {
                    address: self.address_operand(body, address),
                    value,
                    access,
                }
            }
            LLVMGetElementPtr => self.address_computation(body, instruction),
            LLVMPHI => {
                let incoming = |n| {
                    (
                        llvm!(LLVMGetIncomingBlock(instruction, n)),
                        llvm!(LLVMGetIncomingValue(instruction, n)),
                    )
                };
                let pairs = (0..llvm!(LLVMCountIncoming(instruction))).map(incoming);
                Operation::Phi {
                    incoming: pairs
                        .map(|(block, value)| (body.block(block), self.value(body, value)))
                        .collect(),
                }
            }
            LLVMCall | LLVMInvoke | LLVMCallBr => self.call(body, instruction),
            LLVMSelect if matches!(class_of(operand(instruction, 0)), deadheat_ir::Class::Integer(_)) => {
                let [condition, yes, no] = [0, 1, 2].map(|n| self.value(body, operand(instruction, n)));
                Operation::Select { condition, yes, no }
            }
            LLVMICmp => {
                let predicate = predicate(llvm!(LLVMGetICmpPredicate(instruction)));
                let [left, right] = [0, 1].map(|n| self.address_operand(body, operand(instruction, n)));
                Operation::Compare { predicate, left, right }
            }
            LLVMFCmp => {
                let [left, right] = [0, 1].map(|n| self.value(body, operand(instruction, n)));
                Operation::Compare {
                    predicate: Predicate::Float,
                    left,
                    right,
                }
            }
            LLVMExtractValue => {
                let from = operand(instruction, 0);
                let offset = self.member_offset(instruction, from);
                Operation::Extract {
                    from: self.value(body, from),
                    offset,
                }
            }
            LLVMInsertValue => {
                let (into, value) = (operand(instruction, 0), operand(instruction, 1));
                let offset = self.member_offset(instruction, into);
                let (into, value) = (self.value(body, into), self.value(body, value));
                Operation::Insert { into, value, offset }
            }
            LLVMAtomicRMW => {
                let (address, value) = (operand(instruction, 0), operand(instruction, 1));
                let access = self.access(instruction, address, llvm!(LLVMTypeOf(value)));
                let operator = rmw_operator(llvm!(LLVMGetAtomicRMWBinOp(instruction)));
                let value = self.value(body, value);
                Operation::ReadModifyWrite {
                    address: self.address_operand(body, address),
                    operator,
                    value,
                    access,
                }
            }
            LLVMAtomicCmpXchg => {
                let [address, expected, new] = [0, 1, 2].map(|n| operand(instruction, n));
                let mut access = self.access(instruction, address, llvm!(LLVMTypeOf(new)));
                access.order = order(llvm!(LLVMGetCmpXchgSuccessOrdering(instruction)));
                let failure = order(llvm!(LLVMGetCmpXchgFailureOrdering(instruction))).unwrap_or(MemoryOrder::Relaxed);
                let (expected, new) = (self.value(body, expected), self.value(body, new));
                Operation::CompareExchange {
                    address: self.address_operand(body, address),
                    expected,
                    new,
                    access,
                    failure,
                }
            }
            LLVMFence => Operation::Fence {
                order: order(llvm!(LLVMGetOrdering(instruction))).unwrap_or(MemoryOrder::SequentiallyConsistent),
                single_thread: llvm!(LLVMIsAtomicSingleThread(instruction)) != 0,
            },
            LLVMVAArg => Operation::VariableArgument {
                list: self.value(body, operand(instruction, 0)),
            },
            LLVMLandingPad => Operation::LandingPad,
            opcode => self.computation(body, instruction, opcode),
        }
    }

    /// Casts and arithmetic.
    fn computation(&mut self, body: &Body, instruction: Value, opcode: LLVMOpcode) -> Operation {
        use LLVMOpcode::*;
        let cast = match opcode {
            LLVMTrunc => Some(CastKind::Truncate),
            LLVMZExt => Some(CastKind::ZeroExtend),
            LLVMSExt => Some(CastKind::SignExtend),
            LLVMPtrToInt | LLVMPtrToAddr => Some(CastKind::PointerToInteger),
            LLVMIntToPtr => Some(CastKind::IntegerToPointer),
            LLVMBitCast | LLVMAddrSpaceCast | LLVMFreeze => Some(CastKind::Same),
            LLVMFPToUI | LLVMFPToSI | LLVMUIToFP | LLVMSIToFP | LLVMFPTrunc | LLVMFPExt => Some(CastKind::Convert),
            _ => None,
        };
        if let Some(kind) = cast {
            return Operation::Cast {
                kind,
                value: self.value(body, operand(instruction, 0)),
            };
        }
        let binary = match opcode {
            LLVMAdd => Some(BinaryOperator::Add),
            LLVMSub => Some(BinaryOperator::Sub),
            LLVMMul => Some(BinaryOperator::Mul),
            LLVMUDiv => Some(BinaryOperator::UDiv),
            LLVMSDiv => Some(BinaryOperator::SDiv),
            LLVMURem => Some(BinaryOperator::URem),
            LLVMSRem => Some(BinaryOperator::SRem),
            LLVMShl => Some(BinaryOperator::Shl),
            LLVMLShr => Some(BinaryOperator::LShr),
            LLVMAShr => Some(BinaryOperator::AShr),
            LLVMAnd => Some(BinaryOperator::And),
            LLVMOr => Some(BinaryOperator::Or),
            LLVMXor => Some(BinaryOperator::Xor),
            _ => None,
        };
        if let Some(operator) = binary {
            let [left, right] = [0, 1].map(|n| self.value(body, operand(instruction, n)));
            return Operation::Binary { operator, left, right };
        }
        Operation::Mix {
            operands: operands(instruction).map(|value| self.value(body, value)).collect(),
        }
    }

    fn alloca(&mut self, body: &Body, instruction: Value) -> Operation {
        let ty = llvm!(LLVMGetAllocatedType(instruction));
        let count = operand(instruction, 0);
        let count = (integer(count) != Some(1)).then(|| self.value(body, count));
        let structure = self.types.structure_in(&mut self.builder, ty);
        Operation::Alloca {
            size: self.types.size(ty),
            count,
            structure,
        }
    }

    fn address_computation(&mut self, body: &Body, instruction: Value) -> Operation {
        let walk = self.types.walk(instruction);
        let path: Vec<TagId> = walk
            .path
            .iter()
            .filter_map(|(ty, offset)| self.field_tag(*ty, *offset))
            .collect();
        let indices = walk
            .indices
            .iter()
            .map(|(index, stride)| (self.value(body, *index), *stride))
            .collect();
        let base = self.value(body, operand(instruction, 0));
        Operation::Offset {
            base,
            constant: walk.constant,
            indices,
            path: path.into(),
        }
    }

    fn member_offset(&mut self, instruction: Value, aggregate: Value) -> u64 {
        let count = llvm!(LLVMGetNumIndices(instruction)) as usize;
        // SAFETY: the instruction has so many indices, which live as long as it does.
        let indices = unsafe { std::slice::from_raw_parts(LLVMGetIndices(instruction), count) };
        self.types.member(llvm!(LLVMTypeOf(aggregate)), indices)
    }

    /// How an instruction accesses memory of this type.
    pub fn access(&mut self, instruction: Value, address: Value, ty: Type) -> Access {
        Access {
            size: self.types.store_size(ty).try_into().unwrap_or(u32::MAX),
            class: class(ty),
            tag: self.access_tag(instruction, address),
            order: match llvm!(LLVMGetInstructionOpcode(instruction)) {
                LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore | LLVMOpcode::LLVMAtomicRMW => {
                    order(llvm!(LLVMGetOrdering(instruction)))
                }
                _ => None,
            },
            volatile: llvm!(LLVMGetVolatile(instruction)) != 0 && !is_kept(self.module, instruction),
        }
    }

    /// The field that an access is to: by the mark set before simplification, else by the address's own computation.
    fn access_tag(&mut self, instruction: Value, address: Value) -> Option<TagId> {
        let computed = is(address, LLVMIsAGetElementPtrInst)
            || (is(address, LLVMIsAConstantExpr)
                && llvm!(LLVMGetConstOpcode(address)) == LLVMOpcode::LLVMGetElementPtr);
        if let Some(full) = marked_field(self.module, instruction) {
            return self.types.first_field_tag(&mut self.builder, &full);
        }
        if !computed {
            return None;
        }
        let walk = self.types.walk(address);
        self.innermost(&walk.path)
    }
}

/// The order of an atomic operation; none if it is not atomic.
fn order(order: LLVMAtomicOrdering) -> Option<MemoryOrder> {
    use LLVMAtomicOrdering::*;
    match order {
        LLVMAtomicOrderingNotAtomic => None,
        LLVMAtomicOrderingUnordered | LLVMAtomicOrderingMonotonic => Some(MemoryOrder::Relaxed),
        LLVMAtomicOrderingAcquire => Some(MemoryOrder::Acquire),
        LLVMAtomicOrderingRelease => Some(MemoryOrder::Release),
        LLVMAtomicOrderingAcquireRelease => Some(MemoryOrder::AcquireRelease),
        LLVMAtomicOrderingSequentiallyConsistent => Some(MemoryOrder::SequentiallyConsistent),
    }
}

fn predicate(predicate: LLVMIntPredicate) -> Predicate {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => Predicate::Eq,
        LLVMIntNE => Predicate::Ne,
        LLVMIntUGT => Predicate::Ugt,
        LLVMIntUGE => Predicate::Uge,
        LLVMIntULT => Predicate::Ult,
        LLVMIntULE => Predicate::Ule,
        LLVMIntSGT => Predicate::Sgt,
        LLVMIntSGE => Predicate::Sge,
        LLVMIntSLT => Predicate::Slt,
        LLVMIntSLE => Predicate::Sle,
    }
}

fn rmw_operator(operator: LLVMAtomicRMWBinOp) -> RmwOperator {
    use LLVMAtomicRMWBinOp::*;
    match operator {
        LLVMAtomicRMWBinOpXchg => RmwOperator::Exchange,
        LLVMAtomicRMWBinOpAdd => RmwOperator::Add,
        LLVMAtomicRMWBinOpSub => RmwOperator::Sub,
        LLVMAtomicRMWBinOpAnd => RmwOperator::And,
        LLVMAtomicRMWBinOpOr => RmwOperator::Or,
        LLVMAtomicRMWBinOpXor => RmwOperator::Xor,
        _ => RmwOperator::Other,
    }
}
