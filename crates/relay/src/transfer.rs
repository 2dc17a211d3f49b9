//! What each instruction does to a state: the flow functions of section 3.1, and accesses.

use crate::access_path::{Path, Root, add_value_index};
use crate::evaluation::{known, load};
use crate::execution::{AccessEvent, AccessKind, Execution, Observer};
use crate::fact::Fact;
use crate::relative_lockset::{Change, Mode};
use crate::state::{Disjunct, State};
use crate::symbolic_value::SymbolicValue::{self, Integer, Named, Top};
use deadheat_ir::instruction::Access;
use deadheat_ir::{AssemblyRole, Class, Function, LocationId, Module, Operation, RmwOperator, SymbolKind, Value};

/// Bytes of an access whose length is not known.
pub(crate) const UNKNOWN_LENGTH: u64 = 1;

/// Where an instruction accesses memory.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The instruction.
    pub instruction: usize,
    /// The operand.
    pub operand: Value,
    /// Bytes.
    pub size: u64,
}

impl Execution<'_> {
    /// The state after an instruction.
    pub(crate) fn step(&mut self, at: usize, state: State, observer: &mut dyn Observer) -> State {
        let body = self.body;
        let instruction = &body.instructions[at];
        let mut ways = state.into_ways();
        match &instruction.operation {
            Operation::Phi { .. } | Operation::Fence { .. } => {}
            Operation::Alloca { .. } => {
                let value = SymbolicValue::of(Root::Local(self.site(at)));
                self.define_all(at, &value, &mut ways);
            }
            Operation::Load { address, access } => {
                let from = self.value(*address);
                let place = Place {
                    instruction: at,
                    operand: *address,
                    size: access.size.into(),
                };
                let read = ways.iter().map(|way| {
                    self.tell(place, &from, AccessKind::Read, Some(access), way, observer);
                    let value = match &from {
                        _ if !is_tracked(access.class) => Top,
                        // A value that is read anew each time has no lasting name.
                        _ if access.volatile || access.is_atomic() => self.load_once(way, &from, place.size),
                        from => from
                            .name()
                            .map_or(Top, |path| load(self.subject, self.function, way, path, place.size)),
                    };
                    let fact = known(way, &value);
                    (value, fact)
                });
                let read: Vec<(SymbolicValue, Fact)> = read.collect();
                self.define_each(at, read.clone(), &mut ways);
                // What it gave when it was executed last is called by its name no longer.
                let named = Root::Opaque(self.site(at));
                // What a branch learns of the value goes for the place, too, where nobody else writes.
                let own = |p: &Path| !p.loads() && self.subject.start_only.writes(self.function, p.root);
                let merged = self.environment[at] == Some(SymbolicValue::of(named)) && from.name().is_some_and(own);
                // The same is read there again, as far as this function knows.
                let lasting = is_tracked(access.class) && !access.volatile && !access.is_atomic();
                let place = from.name().filter(|p| lasting && p.is_definite());
                for (way, (value, _)) in ways.iter_mut().zip(&read) {
                    let unknown = *value == Top || value.key().is_some_and(|k| k.mentions(|r| r == named));
                    if let Some(place) = place.filter(|_| unknown || merged) {
                        way.note(place, SymbolicValue::of(named));
                    }
                }
            }
            Operation::Store { address, value, access } => {
                let (to, stored) = (self.value(*address), self.value(*value));
                let stored = if is_tracked(access.class) { stored } else { Top };
                let place = Place {
                    instruction: at,
                    operand: *address,
                    size: access.size.into(),
                };
                for way in &mut ways {
                    self.tell(place, &to, AccessKind::Write, Some(access), way, observer);
                    if access.is_atomic()
                        && stored == Integer(0)
                        && let Some(lock) = to.name().filter(|p| !way.is_private(p.root))
                    {
                        observer.hand_made_lock(lock);
                        way.locks.apply(lock, Change::RELEASE);
                    }
                    self.store(way, &to, place.size, stored.clone());
                }
            }
            Operation::Offset {
                base,
                constant,
                indices,
                ..
            } => {
                let value = self.offset(&self.value(*base), *constant, indices);
                self.define_all(at, &value, &mut ways);
            }
            Operation::Call { callee, arguments, .. } => return self.call(at, *callee, arguments, ways, observer),
            Operation::Assembly { operands, atomic, .. } => {
                for operand in operands {
                    let (kind, size) = match operand.role {
                        AssemblyRole::Input => continue,
                        AssemblyRole::Reads(size) => (AccessKind::Read, size),
                        AssemblyRole::Writes(size) => (AccessKind::Write, size),
                    };
                    let access = Access {
                        order: atomic.then_some(deadheat_ir::MemoryOrder::SequentiallyConsistent),
                        ..Access::plain(size, Class::Void)
                    };
                    let address = self.value(operand.value);
                    let place = Place {
                        instruction: at,
                        operand: operand.value,
                        size: u64::from(size).max(UNKNOWN_LENGTH),
                    };
                    for way in &mut ways {
                        self.tell(place, &address, kind, Some(&access), way, observer);
                        if kind == AccessKind::Write {
                            self.store(way, &address, place.size, Top);
                        }
                    }
                }
                self.define_all(at, &Top, &mut ways);
            }
            Operation::Select { condition, yes, no } => {
                let (y, n) = (self.value(*yes), self.value(*no));
                let chosen = |way: &Disjunct| {
                    let taken = |holds| self.assume(way.clone(), *condition, holds).is_some();
                    let (f, g) = (self.knowledge(way, *yes), self.knowledge(way, *no));
                    match (taken(true), taken(false)) {
                        (true, false) => (y.clone(), f),
                        (false, true) => (n.clone(), g),
                        _ => (y.join(&n, self.site(at)), f.or(g)),
                    }
                };
                let chosen = ways.iter().map(chosen).collect();
                self.define_each(at, chosen, &mut ways);
            }
            Operation::Binary { operator, left, right } => {
                let value = self.arithmetic(*operator, *left, *right);
                self.define_all(at, &value, &mut ways);
            }
            // Looked through where it decides a branch.
            Operation::Compare { .. } => self.define_all(at, &Top, &mut ways),
            Operation::Cast { kind, value } => {
                let value = self.cast(*kind, *value, instruction.class);
                self.define_all(at, &value, &mut ways);
            }
            Operation::Extract { from, offset } => {
                let member = self.value(*from).plus(*offset as i64);
                let value = member.key().and_then(Path::load).map_or(Top, Named);
                self.define_all(at, &value, &mut ways);
            }
            Operation::MemoryCopy { to, from, length, .. } => {
                self.copy(at, *to, *from, *length, &mut ways, observer);
            }
            Operation::MemoryFill { to, length, .. } => {
                let (address, size) = (self.value(*to), self.length(*length));
                let reached = self.reached(&address, *length);
                let place = Place {
                    instruction: at,
                    operand: *to,
                    size,
                };
                for way in &mut ways {
                    self.tell(place, &reached, AccessKind::Write, None, way, observer);
                    self.store(way, &address, size, Top);
                }
            }
            Operation::ReadModifyWrite {
                address,
                operator,
                value,
                access,
            } => {
                let (to, operand) = (self.value(*address), self.value(*value));
                let place = Place {
                    instruction: at,
                    operand: *address,
                    size: access.size.into(),
                };
                self.tell_all(place, &to, access, &ways, observer);
                ways.iter_mut().for_each(|way| self.store(way, &to, place.size, Top));
                if *operator == RmwOperator::Exchange && operand == Integer(0) {
                    for way in &mut ways {
                        if let Some(lock) = to.name() {
                            observer.hand_made_lock(lock);
                            way.locks.apply(lock, Change::RELEASE);
                        }
                    }
                }
                let takes = *operator == RmwOperator::Exchange && matches!(operand, Integer(n) if n != 0);
                self.define_all(at, &Top, &mut ways);
                if takes {
                    let old = Path::of(Root::Opaque(self.site(at)));
                    return self.hand_made(at, &to, [(&old, Fact::ZERO)], [(&old, Fact::NON_ZERO)], ways, observer);
                }
            }
            Operation::CompareExchange {
                address,
                expected,
                new,
                access,
                ..
            } => {
                let (to, expected, new) = (self.value(*address), self.value(*expected), self.value(*new));
                let place = Place {
                    instruction: at,
                    operand: *address,
                    size: access.size.into(),
                };
                self.tell_all(place, &to, access, &ways, observer);
                ways.iter_mut().for_each(|way| self.store(way, &to, place.size, Top));
                self.define_all(at, &Top, &mut ways);
                let base = Path::of(Root::Opaque(self.site(at)));
                let members = base.load().zip(base.plus(place.size as i64).load());
                if let (Integer(0), Some((old, done)), true) = (expected, members, new != Integer(0)) {
                    let taken = [(&old, Fact::ZERO), (&done, Fact::NON_ZERO)];
                    return self.hand_made(at, &to, taken, [(&old, Fact::ANY), (&done, Fact::ZERO)], ways, observer);
                }
            }
            Operation::Insert { .. }
            | Operation::VariableArgument { .. }
            | Operation::LandingPad
            | Operation::Mix { .. } => self.define_all(at, &Top, &mut ways),
        }
        together(ways)
    }

    /// A hand-made lock: a word that was 0 and is not any more is taken, else it is not.
    fn hand_made<const N: usize>(
        &mut self,
        at: usize,
        word: &SymbolicValue,
        taken: [(&Path, Fact); N],
        failed: [(&Path, Fact); N],
        ways: Vec<Disjunct>,
        observer: &mut dyn Observer,
    ) -> State {
        let mut state = State::default();
        let learn = |way: &Disjunct, facts: &[(&Path, Fact)]| {
            facts
                .iter()
                .try_fold(way.clone(), |way, (key, fact)| way.learn(key, *fact))
        };
        for way in ways {
            let lock = word.name().filter(|p| !way.is_private(p.root));
            let Some(lock) = lock else {
                state.add(way);
                continue;
            };
            observer.hand_made_lock(lock);
            if let Some(mut won) = learn(&way, &taken) {
                observer.acquisition(
                    self.site(at),
                    self.body.instructions[at].location,
                    lock,
                    Mode::Exclusive,
                    &way,
                );
                won.locks.apply(lock, Change::acquire(Mode::Exclusive));
                state.add(won);
            }
            learn(&way, &failed).into_iter().for_each(|lost| state.add(lost));
        }
        state
    }

    pub(crate) fn define_all(&mut self, at: usize, value: &SymbolicValue, ways: &mut [Disjunct]) {
        for way in ways {
            let fact = known(way, value);
            self.define(at, value.clone(), fact, way);
        }
    }

    /// A value that may differ at the next read: a thread's own memory holds still.
    fn load_once(&self, way: &Disjunct, from: &SymbolicValue, size: u64) -> SymbolicValue {
        let private = from.name().filter(|p| way.is_private(p.root) && !p.loads());
        private.map_or(Top, |path| load(self.subject, self.function, way, path, size))
    }

    /// The length of a copy or fill.
    fn length(&self, length: Value) -> u64 {
        match self.value(length) {
            Integer(n) => u64::try_from(n).unwrap_or(UNKNOWN_LENGTH),
            _ => UNKNOWN_LENGTH,
        }
    }

    /// What a copy or fill of this length touches: of a length that is not known, anything in an array.
    fn reached(&self, address: &SymbolicValue, length: Value) -> SymbolicValue {
        let is_array = |path: &Path| match path.root {
            Root::Global(number) if !path.loads() => self.subject.symbol(number).is_some_and(|s| {
                matches!(
                    self.subject.module[s].kind,
                    SymbolKind::Variable { structure: None, .. }
                )
            }),
            _ => false,
        };
        match (address, self.value(length)) {
            (Named(path), value) if !matches!(value, Integer(_)) && is_array(path) => Named(any_byte(path)),
            (address, _) => address.clone(),
        }
    }

    fn copy(
        &mut self,
        at: usize,
        to: Value,
        from: Value,
        length: Value,
        ways: &mut [Disjunct],
        observer: &mut dyn Observer,
    ) {
        let (target, source, size) = (self.value(to), self.value(from), self.length(length));
        let (written, read) = (self.reached(&target, length), self.reached(&source, length));
        let place = |operand| Place {
            instruction: at,
            operand,
            size,
        };
        for way in ways {
            self.tell(place(from), &read, AccessKind::Read, None, way, observer);
            self.tell(place(to), &written, AccessKind::Write, None, way, observer);
            copy_memory(way, &target, &source, size);
        }
    }

    /// Stores a value, and makes known what may be found from there on.
    pub(crate) fn store(&self, way: &mut Disjunct, to: &SymbolicValue, size: u64, value: SymbolicValue) {
        let Some(location) = to.name() else {
            way.publish(&value);
            return;
        };
        let seen_by_others = to.paths().iter().any(|p| !way.is_private(p.root) || p.loads());
        // A formal's object may be private to the caller: what is stored there is no secret of this function any more.
        let handed_back = matches!(location.root, Root::Formal(_)) && !location.loads();
        if seen_by_others && !handed_back {
            way.publish(&value);
        }
        if way.store(location, size, value.clone()) {
            way.publish(&value);
        }
        for other in to.paths().iter().filter(|p| *p != location) {
            way.store(other, size, Top);
        }
    }

    fn tell_all(
        &self,
        place: Place,
        address: &SymbolicValue,
        access: &Access,
        ways: &[Disjunct],
        observer: &mut dyn Observer,
    ) {
        for way in ways {
            self.tell(place, address, AccessKind::Write, Some(access), way, observer);
        }
    }

    /// Tells the observer of an access.
    pub(crate) fn tell(
        &self,
        place: Place,
        address: &SymbolicValue,
        kind: AccessKind,
        access: Option<&Access>,
        way: &Disjunct,
        observer: &mut dyn Observer,
    ) {
        observer.access(AccessEvent {
            site: self.site(place.instruction),
            location: crate::transfer::place(self.subject.module, self.body, place.instruction),
            operand: place.operand,
            address,
            size: place.size,
            kind,
            atomic: access.is_some_and(Access::is_atomic),
            volatile: access.is_some_and(|a| a.volatile),
            tag: access.and_then(|a| a.tag),
            way,
        });
    }
}

/// Where an instruction stands in the source: one that the compiler gave no line, where the next one stands.
pub(crate) fn place(module: &Module, body: &Function, at: usize) -> Option<LocationId> {
    let number = body.blocks.partition_point(|b| b.end as usize <= at);
    let block = &body.blocks[number];
    let from_here = body.instructions[at..block.end as usize]
        .iter()
        .map(|i| i.location)
        .chain([block.location]);
    let has_line = |l: &LocationId| module[*l].line > 0;
    from_here.flatten().find(has_line).or(body.instructions[at].location)
}

/// Whether values of the class are followed.
fn is_tracked(class: Class) -> bool {
    matches!(class, Class::Pointer | Class::Integer(_))
}

/// The ways as a state.
pub(crate) fn together(ways: Vec<Disjunct>) -> State {
    let mut state = State::default();
    ways.into_iter().for_each(|way| state.add(way));
    state
}

/// Copies what is known of `size` bytes.
pub(crate) fn copy_memory(way: &mut Disjunct, target: &SymbolicValue, source: &SymbolicValue, size: u64) {
    let (Some(to), Some(from)) = (target.name().cloned(), source.name().cloned()) else {
        return;
    };
    let within = |p: &Path| {
        let depth = from.steps.len();
        let (same, last) = (
            p.steps.len() >= depth && p.steps[..depth - 1] == from.steps[..depth - 1],
            from.last(),
        );
        let step = p.steps.get(depth - 1)?;
        let distance = step.offset.wrapping_sub(last.offset);
        (same && step.index == last.index && (0..size as i64).contains(&distance)).then_some(distance)
    };
    let copied: Vec<(Path, SymbolicValue)> = way
        .with_root(from.root)
        .filter_map(|(p, v)| {
            let distance = within(p)?;
            let mut path = to.clone().plus(distance);
            path.steps.extend(p.steps[from.steps.len()..].iter().cloned());
            Some((path, v.clone()))
        })
        .collect();
    way.store(&to, size, Top);
    let private = way.is_private(to.root) && !to.loads();
    for (path, value) in copied {
        if !private {
            way.publish(&value);
        }
        if path.steps.len() <= crate::access_path::DEPTH {
            way.store(&path, 8, value);
        }
    }
}

/// An element of what a path leads to that is not known.
pub(crate) fn any_byte(path: &Path) -> Path {
    let mut path = path.clone();
    add_value_index(path.last_mut(), None, 0);
    path
}
