//! Which functions may synchronise, and which may create threads, themselves or in what they call.

use super::library::{Does, does};
use deadheat_ir::{Callee, Function, FunctionId, Module, Operation};

/// What functions of a program may do.
pub struct Effects {
    /// By function.
    pub synchronises: Vec<bool>,
    /// By function.
    pub creates: Vec<bool>,
    /// The functions that call each, in order, each once.
    pub callers: Vec<Vec<FunctionId>>,
    /// Whether a function is in a cycle of calls.
    pub recursive: Vec<bool>,
}

impl Effects {
    /// Of all functions.
    pub fn of(module: &Module) -> Effects {
        let count = module.functions.len();
        let (mut synchronises, mut creates) = (vec![false; count], vec![false; count]);
        let mut callers: Vec<Vec<FunctionId>> = vec![Vec::new(); count];
        let mut callees: Vec<Vec<FunctionId>> = vec![Vec::new(); count];
        for (id, function) in module.functions() {
            for instruction in &function.instructions {
                let own = own(module, &instruction.operation);
                synchronises[id.index()] |= own >= Some(Does::Synchronises);
                creates[id.index()] |= own == Some(Does::Anything);
            }
            let mut called: Vec<FunctionId> = callees_of(module, function).collect();
            called.sort_unstable();
            called.dedup();
            for callee in &called {
                callers[callee.index()].push(id);
            }
            callees[id.index()] = called;
        }
        let mut recursive = vec![false; count];
        for component in deadheat_points_to::call_graph::components(&callees) {
            let cycle = component.len() > 1 || callees[component[0].index()].contains(&component[0]);
            component.iter().for_each(|f| recursive[f.index()] = cycle);
        }
        spread(&mut synchronises, &callers);
        spread(&mut creates, &callers);
        Effects {
            synchronises,
            creates,
            callers,
            recursive,
        }
    }

    /// Whether an instruction may synchronise; calls of the functions in `but` do not count.
    pub fn may_synchronise(&self, module: &Module, operation: &Operation, but: impl Fn(FunctionId) -> bool) -> bool {
        match callee(module, operation) {
            Some(callee) => !but(callee) && self.synchronises[callee.index()],
            None => own(module, operation) >= Some(Does::Synchronises),
        }
    }

    /// Whether an instruction may create threads.
    pub fn may_create(&self, module: &Module, operation: &Operation) -> bool {
        match callee(module, operation) {
            Some(callee) => self.creates[callee.index()],
            None => own(module, operation) == Some(Does::Anything),
        }
    }
}

/// The body that an instruction calls, if it is a direct call of one.
pub fn callee(module: &Module, operation: &Operation) -> Option<FunctionId> {
    match operation {
        Operation::Call {
            callee: Callee::Direct(symbol),
            ..
        } => module[*symbol].body(),
        _ => None,
    }
}

/// The bodies that a function calls directly, in order of instruction.
pub fn callees_of<'a>(module: &'a Module, function: &'a Function) -> impl Iterator<Item = FunctionId> + 'a {
    let operations = function.instructions.iter().map(|i| &i.operation);
    operations.filter_map(|operation| callee(module, operation))
}

/// What an instruction does itself; none for calls of bodies.
fn own(module: &Module, operation: &Operation) -> Option<Does> {
    let ordered = |atomic: bool| Some(if atomic { Does::Synchronises } else { Does::Nothing });
    match operation {
        Operation::Call {
            callee: Callee::Direct(symbol),
            ..
        } => match module[*symbol].body() {
            Some(_) => None,
            None => Some(does(module.name(*symbol))),
        },
        Operation::Call { .. } | Operation::Assembly { .. } => Some(Does::Anything),
        Operation::Load { access, .. } | Operation::Store { access, .. } => ordered(access.is_atomic()),
        Operation::ReadModifyWrite { .. } | Operation::CompareExchange { .. } => Some(Does::Synchronises),
        Operation::Fence { single_thread, .. } => ordered(!single_thread),
        _ => Some(Does::Nothing),
    }
}

/// What holds of a function holds of its callers.
fn spread(marks: &mut [bool], callers: &[Vec<FunctionId>]) {
    let mut work: Vec<usize> = (0..marks.len()).filter(|n| marks[*n]).collect();
    while let Some(n) = work.pop() {
        for caller in &callers[n] {
            if !std::mem::replace(&mut marks[caller.index()], true) {
                work.push(caller.index());
            }
        }
    }
}
