//! Summaries of functions: which return a fresh object, which let a parameter's object be known to others.
//!
//! A function returns a fresh object if each value that it returns is null or derived from an allocation, its own or
//! that of another such function, and no address of that object was let out before. Bottom-up over direct calls;
//! within a cycle of calls nothing is assumed. Linear in the instructions.

use crate::call_graph::components;
use crate::library::{Library, Returns};
use deadheat_ir::{
    Callee, CastKind, Constant, Function, FunctionId, LocalId, Module, Operation, SymbolId, Terminator, Value,
};
use rustc_hash::FxHashMap;

/// Summaries of all functions.
#[derive(Clone, Debug, Default)]
pub struct Summaries {
    fresh: Vec<bool>,
    /// Parameters that are let out; those beyond the 64th are.
    captures: Vec<u64>,
}

impl Summaries {
    /// Summarises a program's functions.
    pub fn of(module: &Module, library: &dyn Library) -> Summaries {
        let mut summaries = Summaries {
            fresh: vec![false; module.functions.len()],
            captures: vec![u64::MAX; module.functions.len()],
        };
        let callees: Vec<Vec<FunctionId>> = module
            .functions
            .iter()
            .map(|function| direct(module, function))
            .collect();
        for function in components(&callees).into_iter().flatten() {
            let walk = Walk {
                module,
                library,
                summaries: &summaries,
                function: &module[function],
            };
            let (captures, fresh) = (walk.captures(), walk.fresh());
            summaries.captures[function.index()] = captures;
            summaries.fresh[function.index()] = fresh;
        }
        summaries
    }

    /// Does it return a fresh object (or null)?
    pub fn returns_fresh(&self, function: FunctionId) -> bool {
        self.fresh[function.index()]
    }

    /// May the address in this parameter be kept, or returned, or passed on to code that is not known?
    pub fn captures(&self, function: FunctionId, parameter: usize) -> bool {
        parameter >= 64 || self.captures[function.index()] >> parameter & 1 == 1
    }

    /// How many return a fresh object.
    pub fn fresh(&self) -> usize {
        self.fresh.iter().filter(|fresh| **fresh).count()
    }
}

/// The defined functions that a function calls directly.
fn direct(module: &Module, function: &Function) -> Vec<FunctionId> {
    let callee = |operation: &Operation| match operation {
        Operation::Call {
            callee: Callee::Direct(symbol),
            ..
        } => module[*symbol].body(),
        _ => None,
    };
    let mut callees: Vec<FunctionId> = function
        .instructions
        .iter()
        .filter_map(|i| callee(&i.operation))
        .collect();
    callees.sort_unstable();
    callees.dedup();
    callees
}

struct Walk<'a> {
    module: &'a Module,
    library: &'a dyn Library,
    summaries: &'a Summaries,
    function: &'a Function,
}

/// Where addresses derived from some locals go.
#[derive(Default)]
struct Fate {
    let_out: bool,
    returned: bool,
}

impl Walk<'_> {
    /// Is this a call that gives a fresh object?
    fn allocates(&self, operation: &Operation) -> bool {
        let Operation::Call {
            callee: Callee::Direct(symbol),
            ..
        } = operation
        else {
            return false;
        };
        gives_fresh(self.module, self.library, self.summaries, *symbol)
    }

    /// Goes back to what values are derived from; true if all of that is null or allocations, which are collected.
    fn sources(&self, values: Vec<Value>, found: &mut Vec<LocalId>) -> bool {
        let mut seen: FxHashMap<LocalId, ()> = FxHashMap::default();
        let mut work = values;
        while let Some(value) = work.pop() {
            let local = match value {
                Value::Constant(id) if matches!(self.module[id], Constant::Null | Constant::Undefined) => continue,
                Value::Constant(_) => return false,
                Value::Local(local) => local,
            };
            if seen.insert(local, ()).is_some() {
                continue;
            }
            let Some(instruction) = self.function.definition(local) else {
                return false;
            };
            match &instruction.operation {
                operation if self.allocates(operation) => found.push(local),
                Operation::Phi { incoming } => work.extend(incoming.iter().map(|(_, value)| *value)),
                Operation::Select { yes, no, .. } => work.extend([*yes, *no]),
                Operation::Offset { base, .. } => work.push(*base),
                Operation::Cast {
                    kind: CastKind::Same,
                    value,
                } => work.push(*value),
                _ => return false,
            }
        }
        true
    }

    fn fresh(&self) -> bool {
        let (mut found, mut returned) = (Vec::new(), Vec::new());
        for block in &self.function.blocks {
            match &block.terminator {
                Terminator::Return(Some(value)) => returned.push(*value),
                Terminator::Return(None) => return false,
                _ => {}
            }
        }
        self.sources(returned, &mut found) && !found.is_empty() && !self.fate(&found).let_out
    }

    fn captures(&self) -> u64 {
        let mut captures = 0;
        for parameter in 0..self.function.parameters.min(64) {
            let fate = self.fate(&[LocalId::new(parameter)]);
            captures |= u64::from(fate.let_out || fate.returned) << parameter;
        }
        captures
    }

    /// Follows the addresses derived from these locals.
    fn fate(&self, from: &[LocalId]) -> Fate {
        let mut derived: FxHashMap<LocalId, ()> = from.iter().map(|local| (*local, ())).collect();
        let mut fate = Fate::default();
        // Instructions come in an order in which most uses follow definitions; loops need another round.
        loop {
            let before = derived.len();
            for (n, instruction) in self.function.instructions.iter().enumerate() {
                let own = self.function.local_of(n);
                if self.use_of(&instruction.operation, &derived, &mut fate) {
                    derived.insert(own, ());
                }
                if fate.let_out {
                    return fate;
                }
            }
            if derived.len() == before {
                break;
            }
        }
        for block in &self.function.blocks {
            if let Terminator::Return(Some(Value::Local(local))) = &block.terminator {
                fate.returned |= derived.contains_key(local);
            }
        }
        fate
    }

    /// What an instruction does with derived addresses; true if its result is one.
    fn use_of(&self, operation: &Operation, derived: &FxHashMap<LocalId, ()>, fate: &mut Fate) -> bool {
        let is = |value: &Value| value.local().is_some_and(|local| derived.contains_key(&local));
        match operation {
            Operation::Offset { base, .. } => return is(base),
            Operation::Phi { incoming } => return incoming.iter().any(|(_, value)| is(value)),
            Operation::Select { yes, no, .. } => return is(yes) || is(no),
            Operation::Cast {
                kind: CastKind::Same,
                value,
            } => return is(value),
            Operation::Store { address, value, .. } | Operation::ReadModifyWrite { address, value, .. } => {
                // An object that holds its own address is no better known for it.
                fate.let_out |= is(value) && !is(address);
            }
            Operation::CompareExchange { address, new, .. } => fate.let_out |= is(new) && !is(address),
            Operation::Call { callee, arguments, .. } => fate.let_out |= self.call_lets_out(callee, arguments, derived),
            Operation::Cast { value, .. } => fate.let_out |= is(value),
            Operation::Insert { value, .. } => fate.let_out |= is(value),
            Operation::Binary { left, right, .. } => fate.let_out |= is(left) || is(right),
            Operation::Mix { operands } => fate.let_out |= operands.iter().any(is),
            Operation::Assembly { operands, .. } => {
                let input = |o: &&deadheat_ir::AssemblyOperand| o.role == deadheat_ir::AssemblyRole::Input;
                fate.let_out |= operands.iter().filter(input).any(|operand| is(&operand.value));
            }
            _ => {}
        }
        false
    }

    fn call_lets_out(&self, callee: &Callee, arguments: &[Value], derived: &FxHashMap<LocalId, ()>) -> bool {
        let is = |value: &Value| value.local().is_some_and(|local| derived.contains_key(&local));
        let Callee::Direct(symbol) = callee else {
            return arguments.iter().any(is);
        };
        let name = self.module.name(*symbol);
        let effect = self.library.effect(name);
        let body = self.module[*symbol].body();
        arguments
            .iter()
            .enumerate()
            .filter(|(_, value)| is(value))
            .any(|(n, _)| match (&effect, body) {
                (Some(effect), _) => {
                    let n = n as u16;
                    let passed = effect.calls.iter().any(|callback| {
                        let gets = |passed: &crate::Passed| *passed == crate::Passed::Argument(n);
                        callback.arguments.iter().any(gets) || callback.function.0 == n
                    });
                    passed || effect.publishes.contains(&n) || effect.returns == Returns::Argument(n)
                }
                (None, Some(body)) => self.summaries.captures(body, n),
                (None, None) => !name.starts_with("llvm."),
            })
    }
}

/// Does a call of this symbol give a fresh object?
pub fn gives_fresh(module: &Module, library: &dyn Library, summaries: &Summaries, symbol: SymbolId) -> bool {
    match (library.effect(module.name(symbol)), module[symbol].body()) {
        (Some(effect), _) => effect.returns == Returns::Fresh,
        (None, Some(body)) => summaries.returns_fresh(body),
        (None, None) => match module[symbol].kind {
            deadheat_ir::SymbolKind::Function { attributes, .. } => attributes.fresh_result,
            _ => false,
        },
    }
}
