//! What touches its own stack only: every access goes to a variable of the function itself, whose address no other
//! thread comes to know.
//!
//! Of most such functions the pass has no sites, since it sees that an address never leaves the function. Here it may
//! leave for callees whose code is known and that do not let it out, by the points-to analysis in its sound form.

use super::{Code, LinkedFunction};
use deadheat_ir::{CastKind, Function, FunctionId, Module, Operation, Program, Value};
use deadheat_points_to::{Limits, Nothing, PointsTo, Precision};

/// Which bodies touch their own stack only.
pub struct OwnStack(Vec<bool>);

impl OwnStack {
    /// Of all bodies.
    pub fn of(program: &Program) -> OwnStack {
        let limits = Limits {
            precision: Precision::Sound,
            ..Limits::default()
        };
        // Of a library of which nothing is known, every call lets out what it is given.
        let points_to = PointsTo::analyse(program, &Nothing, &limits);
        let complete = !points_to.statistics().unfinished;
        let module = &program.module;
        let holds = |(id, function): (FunctionId, &Function)| {
            let walk = Walk {
                module,
                points_to: &points_to,
                id,
                function,
            };
            complete && function.instructions.iter().all(|i| walk.keeps_to_itself(&i.operation))
        };
        OwnStack(module.functions().map(holds).collect())
    }

    /// Whether it holds of all that is watched in a linked function.
    pub fn holds(&self, code: &Code<'_>, body: FunctionId, function: &LinkedFunction) -> bool {
        if !self.0[body.index()] {
            return false;
        }
        let own = |name: &String| matches!(code.named.get(name.as_str()), Some(Some(f)) if self.0[f.index()]);
        function.sources.as_ref().is_some_and(|names| names.iter().all(own))
    }
}

struct Walk<'a> {
    module: &'a Module,
    points_to: &'a PointsTo,
    id: FunctionId,
    function: &'a Function,
}

impl Walk<'_> {
    fn keeps_to_itself(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Load { address, access } | Operation::Store { address, access, .. } => {
                !access.is_atomic() && self.own(*address)
            }
            Operation::MemoryCopy { to, from, .. } => self.own(*to) && self.own(*from),
            Operation::MemoryFill { to, .. } => self.own(*to),
            Operation::ReadModifyWrite { .. }
            | Operation::CompareExchange { .. }
            | Operation::VariableArgument { .. }
            | Operation::Assembly { .. } => false,
            // What a callee with a body touches is its own affair; one without may touch what it is given.
            Operation::Call { .. } => match super::effects::callee(self.module, operation) {
                Some(_) => true,
                None => self.describes(operation),
            },
            _ => true,
        }
    }

    /// An intrinsic that does nothing at run time.
    fn describes(&self, operation: &Operation) -> bool {
        let Operation::Call {
            callee: deadheat_ir::Callee::Direct(symbol),
            ..
        } = operation
        else {
            return false;
        };
        let name = self.module.name(*symbol);
        ["llvm.lifetime.", "llvm.assume", "llvm.dbg.", "llvm.expect."]
            .iter()
            .any(|start| name.starts_with(start))
    }

    /// Whether an address can only be one of the function's own variables that no other thread knows.
    fn own(&self, address: Value) -> bool {
        let cell = self.points_to.pointee(self.id, address);
        let known = cell.is_some_and(|cell| !self.points_to.escapes(cell) && !self.points_to.may_be_thread_local(cell));
        known && self.derived(address)
    }

    /// Whether an address is computed from allocas alone.
    fn derived(&self, address: Value) -> bool {
        let mut seen = Vec::new();
        let mut work = vec![address];
        while let Some(value) = work.pop() {
            let Value::Local(local) = value else { return false };
            if seen.contains(&local) {
                continue;
            }
            seen.push(local);
            match self.function.definition(local).map(|i| &i.operation) {
                Some(Operation::Alloca { .. }) => {}
                Some(Operation::Offset { base, .. }) => work.push(*base),
                Some(Operation::Cast {
                    kind: CastKind::Same,
                    value,
                }) => work.push(*value),
                Some(Operation::Phi { incoming }) => work.extend(incoming.iter().map(|(_, v)| *v)),
                Some(Operation::Select { yes, no, .. }) => work.extend([*yes, *no]),
                _ => return false,
            }
        }
        true
    }
}
