//! Calls, and the intrinsics that mean something here.

use crate::function::Body;
use crate::llvm::*;
use crate::module::Lowering;
use deadheat_ir::{Callee, CastKind, Constant, Operation};

/// Intrinsics that describe and do nothing.
const DESCRIBING: [&str; 12] = [
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.experimental.noalias.scope.decl",
    "llvm.donothing",
    "llvm.invariant.",
    "llvm.sideeffect",
    "llvm.pseudoprobe",
    "llvm.var.annotation",
    "llvm.prefetch",
    "llvm.stackrestore",
    "llvm.va_end",
];

/// Intrinsics that give their first operand back.
const SAME: [&str; 9] = [
    "llvm.expect",
    "llvm.launder.",
    "llvm.strip.",
    "llvm.ptr.annotation",
    "llvm.annotation",
    "llvm.threadlocal.address",
    "llvm.ssa.copy",
    "llvm.ptrmask",
    "llvm.arithmetic.fence",
];

/// The name of the intrinsic that an instruction calls.
fn intrinsic(instruction: Value) -> Option<String> {
    let callee = llvm!(LLVMGetCalledValue(instruction));
    let named = is(callee, LLVMIsAFunction) && llvm!(LLVMGetIntrinsicID(callee)) != 0;
    named.then(|| name(callee))
}

/// Does this call only describe?
pub fn only_describes(instruction: Value) -> bool {
    intrinsic(instruction).is_some_and(|name| DESCRIBING.iter().any(|start| name.starts_with(start)))
}

impl Lowering {
    /// Lowers a call, invoke or `callbr`.
    pub fn call(&mut self, body: &Body, instruction: Value) -> Operation {
        let callee = llvm!(LLVMGetCalledValue(instruction));
        if is(callee, LLVMIsAInlineAsm) {
            return self.assembly(body, instruction, callee);
        }
        if let Some(operation) =
            intrinsic(instruction).and_then(|name| self.intrinsic(body, instruction, callee, &name))
        {
            return operation;
        }
        let count = llvm!(LLVMGetNumArgOperands(instruction));
        let arguments = (0..count).map(|n| self.value(body, operand(instruction, n))).collect();
        let direct = if llvm!(LLVMIsConstant(callee)) != 0 {
            self.plain_symbol(callee)
        } else {
            None
        };
        let callee = match direct {
            Some(symbol) => Callee::Direct(symbol),
            None => Callee::Indirect(self.value(body, callee)),
        };
        let signature = self
            .types
            .signature(&mut self.builder, llvm!(LLVMGetCalledFunctionType(instruction)));
        Operation::Call {
            callee,
            arguments,
            signature,
        }
    }

    /// The operation that an intrinsic is; none if it stays a call.
    fn intrinsic(&mut self, body: &Body, instruction: Value, callee: Value, name: &str) -> Option<Operation> {
        let starts = |start: &str| name.starts_with(start);
        if starts("llvm.memcpy.") || starts("llvm.memmove.") {
            let [to, from, length] = [0, 1, 2].map(|n| self.value(body, operand(instruction, n)));
            return Some(Operation::MemoryCopy {
                to,
                from,
                length,
                overlapping: starts("llvm.memmove."),
            });
        }
        if starts("llvm.memset.") {
            let [to, byte, length] = [0, 1, 2].map(|n| self.value(body, operand(instruction, n)));
            return Some(Operation::MemoryFill { to, byte, length });
        }
        if starts("llvm.va_copy") {
            let [to, from] = [0, 1].map(|n| self.value(body, operand(instruction, n)));
            // The list of the System V ABI.
            let length = self.builder.constant(Constant::Integer { bits: 64, value: 24 });
            let length = deadheat_ir::Value::Constant(length);
            return Some(Operation::MemoryCopy {
                to,
                from,
                length,
                overlapping: false,
            });
        }
        if SAME.iter().any(|same| starts(same)) {
            let value = operand(instruction, 0);
            // The address of a thread-local variable is no use of its address by others.
            let value = match starts("llvm.threadlocal.address") {
                true => self.address_operand(body, value),
                false => self.value(body, value),
            };
            return Some(Operation::Cast {
                kind: CastKind::Same,
                value,
            });
        }
        let memory = crate::preparation::attribute("memory");
        let promised = llvm!(LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, memory));
        let pure = !promised.is_null() && llvm!(LLVMGetEnumAttributeValue(promised)) == 0;
        if pure || starts("llvm.stacksave") {
            let count = llvm!(LLVMGetNumArgOperands(instruction));
            let operands = (0..count).map(|n| self.value(body, operand(instruction, n))).collect();
            return Some(Operation::Mix { operands });
        }
        None
    }
}
