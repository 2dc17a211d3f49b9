//! One function: entry, blocks in reverse postorder, φ-nodes last.

use super::Concolic;
use super::branches::{self, Branches};
use super::slots::{self, ARGUMENTS, Slots};
use super::touches;
use crate::ir::{self, Ir, Value, llvm};
use crate::shim;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::collections::{HashMap, HashSet};

/// Instruments a function.
pub fn instrument(ir: &Ir, slots: &Slots, branches: &mut Branches, function: Value) {
    let name = ir::name(function);
    if is_naked(function) {
        return;
    }
    let order = reverse_postorder(function);
    let instructions: Vec<Value> = order.iter().flat_map(|block| ir::instructions(*block)).collect();
    let Some(first) = order.first().and_then(|entry| {
        ir::instructions(*entry)
            .into_iter()
            .find(|i| ir::opcode(*i) != LLVMAlloca)
    }) else {
        return;
    };
    let mut work = Concolic {
        ir,
        slots,
        ids: HashMap::new(),
        fields: HashMap::new(),
        at: first,
        site: ir.int(0),
        stack: None,
    };
    let touches = touches::wanted();
    if touches {
        work.take_calls(function, first);
    }
    work.position(first);
    if name == "main" {
        work.main(function, first);
    } else {
        work.parameters(function, first);
    }
    let covers = !name.starts_with("dh_model_");
    let mut phis = Vec::new();
    let (mut decisions, mut calls) = (0, 0);
    for i in instructions {
        work.at = i;
        work.position(i);
        let site = branches.site(&name, decisions);
        work.site = ir.int(site);
        match ir::opcode(i) {
            LLVMPHI => {
                if work.width_of(i) > 0 {
                    let phi = llvm!(LLVMBuildPhi(ir.builder, ir.i32, c"".as_ptr()));
                    work.ids.insert(i, phi);
                    phis.push((i, phi));
                }
            }
            LLVMCall | LLVMInvoke | LLVMCallBr => {
                work.call_site(i, &name);
                if touches {
                    work.calls(i, &name, branches, calls);
                    calls += 1;
                    // Intrinsics that access memory are told apart by it, as loads and stores are.
                    decisions += 1;
                }
            }
            LLVMRet => work.returns(i, function),
            LLVMBr if branches::is_conditional(i) => {
                work.branch(branches, i, &name, site, covers);
                decisions += 1;
            }
            LLVMIndirectBr => work.pin(ir::operand(i, 0), i),
            LLVMAlloca => work.pin(ir::operand(i, 0), i),
            _ => {
                let seen = work.access(i) || work.arithmetic(i);
                if seen
                    && matches!(
                        ir::opcode(i),
                        LLVMLoad | LLVMStore | LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem
                    )
                {
                    decisions += 1;
                }
                if touches {
                    work.touch(i);
                }
            }
        }
    }
    for (i, phi) in phis {
        for n in 0..llvm!(LLVMCountIncoming(i)) {
            let mut id = work.id_or_zero(llvm!(LLVMGetIncomingValue(i, n)));
            let mut block = llvm!(LLVMGetIncomingBlock(i, n));
            llvm!(LLVMAddIncoming(phi, &mut id, &mut block, 1));
        }
    }
    llvm!(shim::dh_forget_memory_attributes(function));
}

fn is_naked(function: Value) -> bool {
    llvm!({
        let kind = LLVMGetEnumAttributeKindForName(c"naked".as_ptr(), 5);
        !LLVMGetEnumAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, kind).is_null()
    })
}

/// Blocks that are reached from the entry, each after all that dominate it.
fn reverse_postorder(function: Value) -> Vec<LLVMBasicBlockRef> {
    let entry = llvm!(LLVMGetEntryBasicBlock(function));
    let mut seen = HashSet::from([entry]);
    let mut order = Vec::new();
    let mut pending = vec![(entry, 0)];
    while let Some((block, n)) = pending.pop() {
        let end = llvm!(LLVMGetBasicBlockTerminator(block));
        if n < llvm!(LLVMGetNumSuccessors(end)) {
            pending.push((block, n + 1));
            let next = llvm!(LLVMGetSuccessor(end, n));
            if seen.insert(next) {
                pending.push((next, 0));
            }
        } else {
            order.push(block);
        }
    }
    order.reverse();
    order
}

impl Concolic<'_> {
    /// The program's arguments: their copies, whose bytes are input.
    fn main(&mut self, function: Value, first: Value) {
        let count = llvm!(LLVMCountParams(function));
        if count < 2 {
            return;
        }
        let (argc, argv) = llvm!((LLVMGetParam(function, 0), LLVMGetParam(function, 1)));
        if self.width_of(argc) != 32 || !ir::is_plain_pointer(argv) {
            return;
        }
        let copied = self.replaced(argv, "dh_model_argv", &[argc, argv]);
        let counted = self.replaced(argc, "dh_model_argc", &[argc]);
        // The second replacement reached into the first call, which comes before it.
        llvm!(LLVMSetOperand(copied, 0, argc));
        // Not instrumented like the program's own calls yet: they were made just now.
        for call in [copied, counted] {
            self.position(first);
            self.take(call, first);
        }
    }

    fn replaced(&self, parameter: Value, model: &str, arguments: &[Value]) -> Value {
        let types: Vec<_> = arguments.iter().map(|a| ir::type_of(*a)).collect();
        let ty = self.ir.function_type(ir::type_of(parameter), &types);
        let callee = super::runtime_function(self.ir, model, ty);
        let mut words = arguments.to_vec();
        llvm!({
            let call = LLVMBuildCall2(
                self.ir.builder,
                ty,
                callee,
                words.as_mut_ptr(),
                words.len() as u32,
                c"".as_ptr(),
            );
            LLVMReplaceAllUsesWith(parameter, call);
            for (n, argument) in arguments.iter().enumerate() {
                LLVMSetOperand(call, n as u32, *argument);
            }
            call
        })
    }

    /// The number of the result of a call made at the entry.
    fn take(&mut self, call: Value, first: Value) {
        let callee = llvm!(LLVMGetCalledValue(call));
        let next = llvm!(LLVMGetNextInstruction(call));
        let point = if next.is_null() { first } else { next };
        self.position(point);
        let from = self.ir.load(self.ir.ptr, self.slots.at(self.ir, slots::RETURNED), 8);
        let own = self.ir.compare(LLVMIntPredicate::LLVMIntEQ, from, callee);
        let id = self.guarded_id(own, point, || {
            self.ir.load(self.ir.i32, self.slots.at(self.ir, slots::RESULT), 4)
        });
        self.ids.insert(call, id);
    }

    /// Takes the numbers of the parameters if the slots are for this function.
    fn parameters(&mut self, function: Value, first: Value) {
        let variadic = llvm!(LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function))) != 0;
        let count = llvm!(LLVMCountParams(function)).min(ARGUMENTS);
        let parameters: Vec<(u32, Value)> = (0..count)
            .map(|n| (n, llvm!(LLVMGetParam(function, n))))
            .filter(|(_, p)| self.width_of(*p) > 0)
            .collect();
        if parameters.is_empty() && !variadic {
            return;
        }
        let named = self.ir.load(self.ir.ptr, self.slots.at(self.ir, slots::CALLEE), 8);
        let own = self.ir.compare(LLVMIntPredicate::LLVMIntEQ, named, function);
        let saved = variadic.then(|| self.saved_arguments(function));
        self.position(first);
        let head = llvm!(LLVMGetInstructionParent(first));
        let end = llvm!(shim::dh_split_cold(own, first));
        self.position(end);
        self.ir
            .store(llvm!(LLVMConstNull(self.ir.ptr)), self.slots.at(self.ir, slots::CALLEE));
        let numbers: Vec<(Value, Value)> = parameters
            .iter()
            .map(|(n, p)| {
                (
                    *p,
                    self.ir
                        .load(self.ir.i32, self.slots.number(self.ir, slots::ARGUMENT, *n), 4),
                )
            })
            .collect();
        if let Some(saved) = saved {
            for n in 0..ARGUMENTS {
                let id = self
                    .ir
                    .load(self.ir.i32, self.slots.number(self.ir, slots::VARIABLE, n), 4);
                self.ir.store(id, self.ir.offset(saved, self.ir.int(4 * u64::from(n))));
            }
        }
        let from = llvm!(LLVMGetInstructionParent(end));
        self.position(first);
        for (parameter, number) in numbers {
            let id = self.merge(first, self.ir.i32, &[(self.c32(0), head), (number, from)]);
            self.ids.insert(parameter, id);
        }
    }

    /// Room for the numbers of variable arguments, zeroed; `va_start` finds it under the null value.
    fn saved_arguments(&mut self, function: Value) -> Value {
        let entry = llvm!(LLVMGetEntryBasicBlock(function));
        llvm!({
            LLVMPositionBuilderBefore(self.ir.builder, LLVMGetFirstInstruction(entry));
            let ty = LLVMArrayType2(self.ir.i32, ARGUMENTS.into());
            let room = LLVMBuildAlloca(self.ir.builder, ty, c"".as_ptr());
            self.position(self.at);
            self.ir.store(LLVMConstNull(ty), room);
            self.ids.insert(std::ptr::null_mut(), room);
            room
        })
    }
}
