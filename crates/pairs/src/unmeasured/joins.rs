//! Where all threads that a function made have been joined, for what runs after the last join.
//!
//! Followed are threads whose handles stand in a local variable or array that is used for nothing else: made by
//! `pthread_create` with default attributes, running a known function that makes no threads, and joined by
//! `pthread_join` of the same variable, or in a loop over the same indices as that in which they were made. All else that
//! may create threads is taken to leave one for good, and so is a handle that is written again before its thread was
//! joined. In programs that detach threads nothing is followed.
//!
//! Cost: linear in the blocks, times the loops.

use super::always_calls::{Loop, goes_through_a_stop, loops_inside_out};
use super::effects::Effects;
use deadheat_ir::{
    BinaryOperator, BlockId, Callee, CastKind, Constant, Function, LocalId, Module, Operation, Predicate, Terminator,
    Value,
};

/// Bits of creations; the last stands for threads that are never joined.
type Live = u64;
const FOREVER: Live = 1 << 63;

/// The variable or the elements in which handles stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handles {
    variable: LocalId,
    offset: i64,
    range: Option<Range>,
}

/// The indices that a loop goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    stride: u64,
    from: Value,
    step: i64,
    predicate: Predicate,
    bound: Value,
}

struct Creation {
    instruction: usize,
    handles: Handles,
    /// Header of its loop, if its handles are several.
    header: Option<usize>,
}

/// Of each instruction, whether no thread that the function made can run before it. `creates`: whether an instruction may
/// create threads.
pub fn alone(module: &Module, effects: &Effects, function: &Function, creates: &[bool]) -> Vec<bool> {
    let walk = Walk::new(module, effects, function, creates);
    walk.alone(creates)
}

struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    loops: Vec<Loop>,
    creations: Vec<Creation>,
    /// Joins of one thread, by instruction.
    joins: Vec<(usize, Handles)>,
    /// Loops that join several, by header.
    joining: Vec<(usize, Handles)>,
}

impl<'a> Walk<'a> {
    fn new(module: &'a Module, effects: &Effects, function: &'a Function, creates: &[bool]) -> Walk<'a> {
        let mut walk = Walk {
            module,
            function,
            loops: Vec::new(),
            creations: Vec::new(),
            joins: Vec::new(),
            joining: Vec::new(),
        };
        let detaches = |name: &str| matches!(name, "pthread_detach" | "pthread_exit" | "pthread_cancel");
        let called = module.functions.iter().flat_map(|f| &f.instructions);
        let mut names = called.filter_map(|i| direct(module, &i.operation).map(|(name, _)| name));
        if !creates.contains(&true) || names.any(detaches) {
            return walk;
        }
        walk.loops = loops_inside_out(function);
        for block in 0..function.blocks.len() {
            for n in function.blocks[block].range() {
                let Some((name, arguments)) = direct(module, &function.instructions[n].operation) else {
                    continue;
                };
                match (name, arguments) {
                    ("pthread_create", [handle, attributes, start, _]) if walk.known(effects, *attributes, *start) => {
                        if let Some((handles, header)) = walk.handles(*handle, block) {
                            walk.creations.push(Creation {
                                instruction: n,
                                handles,
                                header,
                            });
                        }
                    }
                    ("pthread_join", [handle, _]) => walk.join(n, block, *handle),
                    _ => {}
                }
            }
        }
        walk.creations.truncate(62);
        walk
    }

    /// Default attributes, and a thread that makes none itself.
    fn known(&self, effects: &Effects, attributes: Value, start: Value) -> bool {
        let root = match self.module.constant(start) {
            Some(Constant::Address { symbol, offset: 0, .. }) => self.module[*symbol].body(),
            _ => None,
        };
        let default = matches!(self.module.constant(attributes), Some(Constant::Null));
        default && root.is_some_and(|root| !effects.creates[root.index()])
    }

    fn join(&mut self, instruction: usize, block: usize, handle: Value) {
        let loaded = handle
            .local()
            .and_then(|local| self.function.definition(local))
            .map(|i| &i.operation);
        let Some(Operation::Load { address, .. }) = loaded else {
            return;
        };
        match self.handles(*address, block) {
            Some((handles, None)) => self.joins.push((instruction, handles)),
            Some((handles, Some(header))) => {
                let mut stops = vec![false; self.function.blocks.len()];
                stops[block] = true;
                let natural = self.loops.iter().find(|l| l.header == header);
                if natural.is_some_and(|l| goes_through_a_stop(self.function, l, &stops)) {
                    self.joining.push((header, handles));
                }
            }
            None => {}
        }
    }

    /// What an address in this block stands for, and the header of the loop that goes through its range.
    fn handles(&self, address: Value, block: usize) -> Option<(Handles, Option<usize>)> {
        let local = address.local()?;
        let (variable, offset, index) = match &self.function.definition(local)?.operation {
            Operation::Alloca { .. } => (local, 0, None),
            Operation::Offset {
                base,
                constant,
                indices,
                ..
            } => match indices[..] {
                [] => (base.local()?, *constant, None),
                [index] => (base.local()?, *constant, Some(index)),
                _ => return None,
            },
            _ => return None,
        };
        let operation = &self.function.definition(variable)?.operation;
        if !matches!(operation, Operation::Alloca { .. }) || !self.holds_handles_only(variable) {
            return None;
        }
        let inside = self.loops.iter().find(|l| l.contains(block));
        let (range, header) = match (index, inside) {
            (None, None) => (None, None),
            (Some((index, stride)), Some(inside)) => (Some(self.range(index, stride, inside)?), Some(inside.header)),
            _ => return None,
        };
        let handles = Handles {
            variable,
            offset,
            range,
        };
        Some((handles, header))
    }

    /// Whether a variable is only given to `pthread_create` and read.
    fn holds_handles_only(&self, variable: LocalId) -> bool {
        let mut derived = vec![variable];
        loop {
            let before = derived.len();
            for (n, instruction) in self.function.instructions.iter().enumerate() {
                let own = self.function.local_of(n);
                if let Operation::Offset { base, .. } = &instruction.operation
                    && base.local().is_some_and(|local| derived.contains(&local))
                    && !derived.contains(&own)
                {
                    derived.push(own);
                }
            }
            if derived.len() == before {
                break;
            }
        }
        let is = |value: &Value| value.local().is_some_and(|local| derived.contains(&local));
        let none = |values: &[Value]| !values.iter().any(is);
        let harmless = |operation: &Operation| match operation {
            Operation::Load { .. } | Operation::Alloca { .. } | Operation::Fence { .. } | Operation::LandingPad => true,
            Operation::Offset { indices, .. } => !indices.iter().any(|(value, _)| is(value)),
            Operation::Call { callee, arguments, .. } => match direct(self.module, operation) {
                Some(("pthread_create", _)) => none(arguments.get(1..).unwrap_or_default()),
                Some((name, _)) if name.starts_with("llvm.lifetime.") => true,
                _ => none(arguments) && !matches!(callee, Callee::Indirect(value) if is(value)),
            },
            Operation::Store { address, value, .. } => none(&[*address, *value]),
            Operation::Binary { left, right, .. } | Operation::Compare { left, right, .. } => none(&[*left, *right]),
            Operation::Phi { incoming } => !incoming.iter().any(|(_, value)| is(value)),
            Operation::Cast { value, .. } | Operation::Extract { from: value, .. } => !is(value),
            Operation::Select { yes, no, .. } => none(&[*yes, *no]),
            Operation::Insert { into, value, .. } => none(&[*into, *value]),
            Operation::MemoryCopy { to, from, .. } => none(&[*to, *from]),
            Operation::MemoryFill { to, .. } => !is(to),
            Operation::ReadModifyWrite { address, value, .. } => none(&[*address, *value]),
            Operation::CompareExchange {
                address, expected, new, ..
            } => none(&[*address, *expected, *new]),
            Operation::Assembly { operands, .. } => !operands.iter().any(|o| is(&o.value)),
            Operation::VariableArgument { list } => !is(list),
            Operation::Mix { operands } => none(operands),
        };
        let terminators = self.function.blocks.iter().map(|b| &b.terminator);
        let returned = terminators.filter_map(|t| match t {
            Terminator::Return(value) => *value,
            _ => None,
        });
        self.function.instructions.iter().all(|i| harmless(&i.operation)) && !returned.into_iter().any(|v| is(&v))
    }

    /// The indices of a loop whose header alone leaves it, by a comparison with what does not change in the function.
    fn range(&self, index: Value, stride: u64, inside: &Loop) -> Option<Range> {
        let mut counter = index.local()?;
        while let Operation::Cast {
            kind: CastKind::SignExtend | CastKind::ZeroExtend | CastKind::Same,
            value,
        } = &self.function.definition(counter)?.operation
        {
            counter = value.local()?;
        }
        let header = &self.function.blocks[inside.header];
        if !header.range().contains(&self.function.instruction_of(counter)?) {
            return None;
        }
        let Operation::Phi { incoming } = &self.function.definition(counter)?.operation else {
            return None;
        };
        let (mut from, mut step) = (None, None);
        for (block, value) in incoming {
            if inside.contains(block.index()) {
                let next = &self.function.definition(value.local()?)?.operation;
                let Operation::Binary {
                    operator: BinaryOperator::Add,
                    left,
                    right,
                } = next
                else {
                    return None;
                };
                let by = self.module.integer(*right).filter(|_| left.local() == Some(counter))?;
                if step.replace(by).is_some_and(|known| known != by) {
                    return None;
                }
            } else if from.replace(*value).is_some_and(|known| known != *value) {
                return None;
            }
        }
        let Terminator::Branch { condition, yes, no } = &header.terminator else {
            return None;
        };
        let Operation::Compare { predicate, left, right } = &self.function.definition(condition.local()?)?.operation
        else {
            return None;
        };
        let leaves = inside.contains(yes.index()) && !inside.contains(no.index());
        let range = Range {
            stride,
            from: from?,
            step: step?,
            predicate: *predicate,
            bound: *right,
        };
        let alike = [range.from, range.bound].into_iter().all(|value| self.fixed(value));
        let counts = left.local() == Some(counter);
        (leaves && alike && counts && inside.left_at_header(self.function)).then_some(range)
    }

    /// A constant, a parameter, or what is computed outside of all loops.
    fn fixed(&self, value: Value) -> bool {
        let Value::Local(local) = value else { return true };
        let Some(instruction) = self.function.instruction_of(local) else {
            return true;
        };
        let block = self
            .function
            .blocks
            .iter()
            .position(|b| b.range().contains(&instruction));
        block.is_some_and(|block| !self.loops.iter().any(|l| l.contains(block)))
    }

    fn alone(&self, creates: &[bool]) -> Vec<bool> {
        let count = self.function.blocks.len();
        let mut before: Vec<Option<Live>> = vec![None; count];
        let mut alone = vec![false; self.function.instructions.len()];
        let mut work = vec![0usize];
        if count > 0 {
            before[0] = Some(0);
        }
        while let Some(block) = work.pop() {
            let mut live = before[block].unwrap_or(0);
            for n in self.function.blocks[block].range() {
                alone[n] = live == 0;
                live = self.after(n, live, creates[n]);
            }
            for to in self.function.blocks[block].terminator.successors().map(BlockId::index) {
                let arriving = self.along(block, to, live);
                let known = before[to];
                let joined = known.unwrap_or(0) | arriving;
                if known != Some(joined) {
                    before[to] = Some(joined);
                    work.push(to);
                }
            }
        }
        alone
    }

    /// Who runs after an instruction.
    fn after(&self, n: usize, live: Live, creates: bool) -> Live {
        if let Some((_, joined)) = self.joins.iter().find(|(at, _)| *at == n) {
            return live & !self.of(joined);
        }
        match self.creations.iter().position(|c| c.instruction == n) {
            // Its handle is written over another's.
            Some(at) if self.creations[at].header.is_none() && live & self.sharing(at) != 0 => live | FOREVER,
            Some(at) => live | 1 << at,
            None if creates => live | FOREVER,
            None => live,
        }
    }

    /// Who runs after a change of blocks.
    fn along(&self, from: usize, to: usize, mut live: Live) -> Live {
        for natural in &self.loops {
            let (leaves, enters) = match (natural.contains(from), natural.contains(to)) {
                (true, false) => (from == natural.header, false),
                (false, true) => (false, true),
                _ => continue,
            };
            for (at, creation) in self.creations.iter().enumerate() {
                if enters && creation.header == Some(natural.header) && live & self.sharing(at) != 0 {
                    live |= FOREVER;
                }
            }
            for (header, handles) in &self.joining {
                if leaves && *header == natural.header {
                    live &= !self.of(handles);
                }
            }
        }
        live
    }

    /// Creations with exactly these handles.
    fn of(&self, handles: &Handles) -> Live {
        let same = self.creations.iter().enumerate().filter(|(_, c)| c.handles == *handles);
        same.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Creations whose handles may stand where those of this one do.
    fn sharing(&self, at: usize) -> Live {
        let own = self.creations[at].handles;
        let apart = |other: &Handles| {
            other.variable != own.variable || other.range.is_none() && own.range.is_none() && other.offset != own.offset
        };
        let sharing = self.creations.iter().enumerate().filter(|(_, c)| !apart(&c.handles));
        sharing.fold(0, |bits, (at, _)| bits | 1 << at)
    }
}

/// The name and the arguments of a direct call of what has no body.
fn direct<'a>(module: &'a Module, operation: &'a Operation) -> Option<(&'a str, &'a [Value])> {
    match operation {
        Operation::Call {
            callee: Callee::Direct(symbol),
            arguments,
            ..
        } if module[*symbol].body().is_none() => Some((module.name(*symbol), arguments)),
        _ => None,
    }
}
