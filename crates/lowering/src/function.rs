//! Bodies: numbering, blocks, terminators.

use crate::calls;
use crate::llvm::*;
use crate::module::Lowering;
use deadheat_ir::{Block, BlockId, Constant, Function, LocalId, Terminator};
use rustc_hash::FxHashMap;

/// A function being lowered.
pub struct Body {
    pub locals: FxHashMap<Value, LocalId>,
    pub blocks: FxHashMap<LLVMBasicBlockRef, BlockId>,
}

type LLVMBasicBlockRef = llvm_sys::prelude::LLVMBasicBlockRef;

/// Lowers the body of a defined function.
pub fn lower_function(lowering: &mut Lowering, value: Value) -> Function {
    let parameters = llvm!(LLVMCountParams(value));
    let body = Body::number(value, parameters);
    let mut function = Function {
        symbol: lowering.symbols[&value],
        unit: 0,
        parameters,
        location: lowering.function_location(value),
        instructions: Vec::new(),
        blocks: Vec::with_capacity(body.blocks.len()),
    };
    for block in blocks(value) {
        let start = function.instructions.len() as u32;
        let mut terminator = (Terminator::Unreachable, None);
        for instruction in instructions(block) {
            if has_local(instruction) {
                let lowered = lowering.instruction(&body, instruction);
                function.instructions.push(lowered);
            }
            if is_terminator(instruction) {
                terminator = (lowering.terminator(&body, instruction), lowering.location(instruction));
            }
        }
        let (terminator, location) = terminator;
        function.blocks.push(Block {
            start,
            end: function.instructions.len() as u32,
            terminator,
            location,
        });
    }
    function
}

fn is_terminator(instruction: Value) -> bool {
    !llvm!(LLVMIsATerminatorInst(instruction)).is_null()
}

/// Does it become an instruction? Terminators do not, unless they call; nor does what only describes.
fn has_local(instruction: Value) -> bool {
    match llvm!(LLVMGetInstructionOpcode(instruction)) {
        LLVMOpcode::LLVMCall => !calls::only_describes(instruction),
        LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr => true,
        _ => !is_terminator(instruction),
    }
}

impl Body {
    /// Gives parameters, instructions and blocks their numbers.
    fn number(function: Value, parameters: u32) -> Body {
        let mut body = Body {
            locals: FxHashMap::default(),
            blocks: FxHashMap::default(),
        };
        for n in 0..parameters {
            body.locals.insert(llvm!(LLVMGetParam(function, n)), LocalId::new(n));
        }
        let mut next = parameters;
        for (n, block) in blocks(function).enumerate() {
            body.blocks.insert(block, BlockId::new(n as u32));
            for instruction in instructions(block).filter(|instruction| has_local(*instruction)) {
                body.locals.insert(instruction, LocalId::new(next));
                next += 1;
            }
        }
        body
    }

    /// The id of a block.
    pub fn block(&self, block: LLVMBasicBlockRef) -> BlockId {
        self.blocks[&block]
    }
}

impl Lowering {
    /// An operand whose value goes somewhere.
    pub fn value(&mut self, body: &Body, value: Value) -> deadheat_ir::Value {
        let operand = self.address_operand(body, value);
        if let deadheat_ir::Value::Constant(constant) = operand {
            self.take_address(constant);
        }
        operand
    }

    /// An operand that is only accessed: that does not take a symbol's address.
    pub fn address_operand(&mut self, body: &Body, value: Value) -> deadheat_ir::Value {
        if let Some(local) = body.locals.get(&value) {
            return deadheat_ir::Value::Local(*local);
        }
        // What is neither an instruction that was kept nor a constant is metadata and the like.
        let constant = match llvm!(LLVMIsConstant(value)) {
            0 => self.builder.constant(Constant::Undefined),
            _ => self.constant(value),
        };
        deadheat_ir::Value::Constant(constant)
    }

    fn terminator(&mut self, body: &Body, instruction: Value) -> Terminator {
        let successor = |n| body.block(llvm!(LLVMGetSuccessor(instruction, n)));
        let count = llvm!(LLVMGetNumSuccessors(instruction));
        match llvm!(LLVMGetInstructionOpcode(instruction)) {
            LLVMOpcode::LLVMRet => {
                let value = operands(instruction).next();
                Terminator::Return(value.map(|value| self.value(body, value)))
            }
            LLVMOpcode::LLVMBr if count == 2 => {
                let condition = self.value(body, llvm!(LLVMGetCondition(instruction)));
                Terminator::Branch {
                    condition,
                    yes: successor(0),
                    no: successor(1),
                }
            }
            LLVMOpcode::LLVMBr => Terminator::Jump(successor(0)),
            LLVMOpcode::LLVMSwitch => {
                let case = |n| {
                    let value = integer(llvm!(LLVMGetSwitchCaseValue(instruction, n)));
                    (value.unwrap_or(i64::MIN), successor(n))
                };
                Terminator::Switch {
                    value: Some(self.value(body, operand(instruction, 0))),
                    cases: (1..count).map(case).collect(),
                    default: successor(0),
                }
            }
            LLVMOpcode::LLVMInvoke => Terminator::Invoke {
                normal: body.block(llvm!(LLVMGetNormalDest(instruction))),
                unwind: body.block(llvm!(LLVMGetUnwindDest(instruction))),
            },
            LLVMOpcode::LLVMResume => Terminator::Resume,
            _ if count > 0 => Terminator::Switch {
                value: None,
                cases: (1..count).map(|n| (i64::from(n), successor(n))).collect(),
                default: successor(0),
            },
            _ => Terminator::Unreachable,
        }
    }
}
