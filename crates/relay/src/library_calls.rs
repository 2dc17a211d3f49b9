//! What calls of modelled functions do to a state.

use crate::access_path::{Path, Root, Site};
use crate::evaluation::{known, load};
use crate::execution::{AccessKind, CreationEvent, Execution, Observer};
use crate::fact::Fact;
use crate::models::{Acquisition, Creation, Model, Outcome, Returned, RootKind};
use crate::observation::counters;
use crate::relative_lockset::{Change, Mode};
use crate::shape;
use crate::state::{Disjunct, State, Status};
use crate::subject::{Cell, Subject};
use crate::symbolic_value::SymbolicValue::{self, Integer, Named, Top};
use crate::transfer::{Place, UNKNOWN_LENGTH, any_byte, copy_memory, together};
use crate::waited::Waited;
use deadheat_ir::{FunctionId, Operation, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Functions that a creation may start by points-to alone; beyond that it is not known what it starts.
const STARTED: usize = 8;
/// In place of an instruction, in the name of a function that was handed to unseen code.
const HANDED: u32 = u32::MAX - 64;

impl Execution<'_> {
    /// A call of a modelled function.
    pub(crate) fn library_call(
        &mut self,
        at: usize,
        model: &Model,
        arguments: &[Value],
        actuals: &[SymbolicValue],
        mut ways: Vec<Disjunct>,
        observer: &mut dyn Observer,
    ) -> State {
        let site = self.site(at);
        let actual = |n: u16| actuals.get(usize::from(n)).cloned().unwrap_or(Top);
        self.touch(at, model, arguments, actuals, &ways, observer);
        for way in &mut ways {
            let result = match model.returns {
                Returned::Unknown => Top,
                Returned::Fresh => SymbolicValue::of(Root::Fresh(site)),
                Returned::Argument(n) => actual(n),
            };
            way.forget(&[Root::Fresh(site), Root::Opaque(site)]);
            let fact = known(way, &result);
            self.define(at, result, fact, way);
            model.publishes.iter().for_each(|n| way.publish(&actual(*n)));
            for n in written(model, actuals.len()) {
                self.store(way, &actual(n), UNKNOWN_LENGTH, Top);
            }
            if let Some((from, to)) = model.copies {
                let length = match actuals.get(2) {
                    Some(Integer(n)) => u64::try_from(*n).unwrap_or(UNKNOWN_LENGTH),
                    _ => UNKNOWN_LENGTH,
                };
                copy_memory(way, &actual(to), &actual(from), length);
            }
            if let Some(n) = model.fresh_at {
                self.store(way, &actual(n), 8, SymbolicValue::of(Root::Fresh(site)));
            }
            if model.sleeps || model.runs_registered || model.joins.is_some() {
                way.settled = Waited::Surely;
            }
            if model.waits.is_some() || model.barrier.is_some() || way.settled == Waited::Surely {
                way.waited = Waited::Surely;
            }
            if model.waits.is_some() {
                observer.release(None, way);
                self.forget_shared(way);
            }
            if model.barrier.is_some() {
                way.barriers = way.barriers.map(|n| n.saturating_add(1));
                self.forget_shared(way);
            }
            if let Some(handle) = &model.joins {
                let value = match (handle.argument, handle.behind) {
                    (Some(n), _) => actual(n),
                    (None, Some(n)) => actual(n)
                        .name()
                        .map_or(Top, |p| load(self.subject, self.function, way, p, 8)),
                    (None, None) => Top,
                };
                let one_of_several = arguments.first().is_some_and(|a| self.is_element(*a));
                self.join_handle(way, &value, false, at, one_of_several);
            }
        }
        if let Some(creation) = &model.creates {
            self.create(at, creation, actuals, &mut ways, observer);
        }
        if let Some(operand) = &model.releases {
            let lock = self.lock(operand.argument, operand.name.as_deref(), arguments, actuals);
            let given = operand.argument.and_then(|n| arguments.get(usize::from(n)));
            let cell = given.and_then(|value| self.subject.aliasing.pointee(self.function, *value));
            ways.iter_mut()
                .for_each(|way| self.release(way, site, lock.as_ref(), cell, observer));
        }
        let mut state = match &model.acquires {
            Some(acquisition) => self.acquire(at, acquisition, arguments, actuals, ways, observer),
            None => together(ways),
        };
        for callback in &model.calls {
            let given = |n: &i16| u16::try_from(*n).map_or(Top, actual);
            let passed: Vec<SymbolicValue> = callback.arguments.iter().map(given).collect();
            let before = state.clone();
            for target in self.functions(&actual(callback.function)) {
                self.call_function(at, target, &passed, None, true, before.ways(), observer, &mut state);
            }
        }
        for n in model.registers.iter().flat_map(|c| &c.arguments) {
            let given = u16::try_from(*n).map_or(Top, actual);
            state = together(
                state
                    .into_ways()
                    .into_iter()
                    .map(|mut way| {
                        way.publish(&given);
                        way
                    })
                    .collect(),
            );
        }
        if model.runs_registered {
            let before = state.clone();
            for target in &self.subject.registered {
                self.call_function(at, *target, &[], None, true, before.ways(), observer, &mut state);
            }
        }
        if let Some(once) = &model.once {
            state = self.once(at, &actual(once.control), &actual(once.function), &state, observer);
        }
        if model.no_return { State::default() } else { state }
    }

    /// Functions with a body that a value may be.
    fn functions(&self, value: &SymbolicValue) -> Vec<FunctionId> {
        value.paths().iter().filter_map(|p| self.subject.function(p)).collect()
    }

    /// Accesses behind arguments.
    fn touch(
        &mut self,
        at: usize,
        model: &Model,
        arguments: &[Value],
        actuals: &[SymbolicValue],
        ways: &[Disjunct],
        observer: &mut dyn Observer,
    ) {
        let reads = model.reads.iter().map(|n| (*n, AccessKind::Read));
        let writes = written(model, actuals.len()).map(|n| (n, AccessKind::Write));
        let frees = model.frees.iter().map(|n| (*n, AccessKind::Free));
        for (n, kind) in reads.chain(writes).chain(frees) {
            let (Some(operand), Some(address)) = (arguments.get(usize::from(n)), actuals.get(usize::from(n))) else {
                continue;
            };
            let place = Place {
                instruction: at,
                operand: *operand,
                size: UNKNOWN_LENGTH,
            };
            // The whole block ends.
            let address = match (kind, address) {
                (AccessKind::Free, Named(path)) => Named(any_byte(path)),
                (_, address) => address.clone(),
            };
            for way in ways {
                self.tell(place, &address, kind, None, way, observer);
            }
        }
    }

    /// The name of a lock.
    fn lock(
        &self,
        argument: Option<u16>,
        name: Option<&str>,
        arguments: &[Value],
        actuals: &[SymbolicValue],
    ) -> Option<Path> {
        if let Some(name) = name {
            return self.subject.named_lock(name).map(|n| Path::of(Root::Global(n)));
        }
        let argument = usize::from(argument?);
        Some(self.by_place(actuals.get(argument)?.name()?.clone(), arguments.get(argument)))
    }

    /// A lock that is an object of its own goes by the place where the pointer to it was read, so that it has one name
    /// wherever it is read anew. One that has data beside it keeps the name by which they are accessed.
    pub(crate) fn by_place(&self, lock: Path, operand: Option<&Value>) -> Path {
        let Root::Opaque(site) = lock.root else { return lock };
        let cell = operand.and_then(|value| self.subject.aliasing.pointee(self.function, *value));
        let alone = cell.is_some_and(|cell| !self.subject.accessed.contains(&cell.class));
        if !alone || site.function != self.function.number() || lock != Path::of(lock.root) {
            return lock;
        }
        let read = self.body.instructions.get(site.instruction as usize);
        let Some(Operation::Load { address, access }) = read.map(|i| &i.operation) else {
            return lock;
        };
        if access.volatile || access.is_atomic() {
            return lock;
        }
        let address = self.value(*address);
        let place = address.name().filter(|a| a.is_definite()).and_then(Path::load);
        place.unwrap_or(lock)
    }

    fn acquire(
        &mut self,
        at: usize,
        acquisition: &Acquisition,
        arguments: &[Value],
        actuals: &[SymbolicValue],
        ways: Vec<Disjunct>,
        observer: &mut dyn Observer,
    ) -> State {
        let site = self.site(at);
        let lock = self.lock(acquisition.argument, acquisition.name.as_deref(), arguments, actuals);
        if lock.is_none() {
            self.nameless += 1;
            observer.nameless_lock(site);
        }
        let key = Path::of(Root::Opaque(site));
        let (success, failure) = match acquisition.when {
            None => (Fact::ANY, Fact::ANY),
            Some(Outcome::Zero) => (Fact::ZERO, Fact::NON_ZERO),
            Some(Outcome::NonZero) => (Fact::NON_ZERO, Fact::ZERO),
            Some(Outcome::Negative) => (Fact::NEGATIVE, Fact::NOT_NEGATIVE),
            Some(Outcome::NotNegative) => (Fact::NOT_NEGATIVE, Fact::NEGATIVE),
        };
        let mut state = State::default();
        for way in ways {
            if let Some(lock) = &lock {
                let location = self.body.instructions[at].location;
                let tried = acquisition.may_fail;
                if !tried {
                    observer.acquisition(site, location, lock, acquisition.mode(), &way);
                }
            }
            if let Some(mut taken) = way.clone().learn(&key, success) {
                if let Some(lock) = &lock {
                    taken.locks.apply(lock, Change::acquire(acquisition.mode()));
                }
                state.add(taken);
            }
            // Where failing is not usual, a path on which the lock was not taken is an error's.
            if acquisition.may_fail {
                way.learn(&key, failure).into_iter().for_each(|way| state.add(way));
            }
        }
        state
    }

    fn release(
        &mut self,
        way: &mut Disjunct,
        site: Site,
        lock: Option<&Path>,
        cell: Option<Cell>,
        observer: &mut dyn Observer,
    ) {
        observer.release(lock, way);
        let Some(lock) = lock else {
            self.nameless += 1;
            observer.nameless_lock(site);
            return way.locks.forget(|held| !held.is_constant());
        };
        let held = way.locks.get(lock).is_some_and(|c| c.acquired || c.level > 0);
        if !held {
            // It may be another name for one that is held.
            let subject = self.subject;
            way.locks
                .forget(|held| may_be_one(held, lock) && !is_apart(subject, held, cell));
        }
        way.locks.apply(lock, Change::RELEASE);
    }

    /// Code that runs once: under its control exclusively, and before all that comes after.
    fn once(
        &mut self,
        at: usize,
        control: &SymbolicValue,
        function: &SymbolicValue,
        state: &State,
        observer: &mut dyn Observer,
    ) -> State {
        let mut after = State::default();
        let control = control.name().cloned();
        // Who has come past the control before finds the work done.
        let past = |way: &Disjunct| {
            let held = control.as_ref().and_then(|c| way.locks.get(c));
            held.is_some_and(|change| change.acquired)
        };
        let (done, mut inside): (Vec<Disjunct>, Vec<Disjunct>) = state.ways().iter().cloned().partition(past);
        if inside.is_empty() {
            return together(done);
        }
        if let Some(control) = &control {
            inside
                .iter_mut()
                .for_each(|way| way.locks.apply(control, Change::acquire(Mode::Exclusive)));
        }
        for target in self.functions(function) {
            self.call_function(at, target, &[], control.as_ref(), true, &inside, observer, &mut after);
        }
        if after.is_unreached() {
            inside.into_iter().for_each(|way| after.add(way));
        }
        let mut over = State::default();
        for mut way in after.into_ways() {
            if let Some(control) = &control {
                way.locks.apply(control, Change::RELEASE);
                way.locks.apply(control, Change::acquire(Mode::Shared));
            }
            over.add(way);
        }
        done.into_iter().for_each(|way| over.add(way));
        over
    }

    fn create(
        &mut self,
        at: usize,
        creation: &Creation,
        actuals: &[SymbolicValue],
        ways: &mut [Disjunct],
        observer: &mut dyn Observer,
    ) {
        let actual = |n: u16| actuals.get(usize::from(n)).cloned().unwrap_or(Top);
        for way in ways {
            let behind = |value: &SymbolicValue| {
                value
                    .name()
                    .map_or(Top, |p| load(self.subject, self.function, way, p, 8))
            };
            let function = match &creation.function_at {
                Some((n, offsets)) => offsets
                    .iter()
                    .fold(actual(*n), |value, offset| behind(&value.plus(*offset))),
                None => creation.function.map_or(Top, actual),
            };
            let argument = match creation.argument_at {
                Some(n) => behind(&actual(n)),
                None => creation.argument.map_or(Top, actual),
            };
            let mut functions = self.functions(&function);
            if functions.is_empty() && !matches!(function, Integer(_)) {
                let targets = self.subject.aliasing.targets(self.function, at);
                functions = Some(targets)
                    .filter(|t| t.len() <= STARTED)
                    .unwrap_or_default()
                    .to_vec();
            }
            let given = |v: &SymbolicValue| v.paths().iter().any(|p| matches!(p.root, Root::Formal(_)));
            let handle = creation.handle_at.map_or(Top, actual);
            let decided_by_caller = [&function, &argument, &handle].into_iter().any(given);
            let name = self.begin(
                at,
                creation,
                &functions,
                &function,
                &argument,
                decided_by_caller,
                way,
                observer,
            );
            if let Some(n) = creation.handle_at {
                self.store(way, &actual(n), 8, SymbolicValue::of(Root::Thread(name)));
            }
            if let Some(n) = creation.argument_at {
                // It is moved from there.
                self.store(way, &actual(n), 8, Integer(0));
            }
            if creation.handle_returned {
                self.define(at, SymbolicValue::of(Root::Thread(name)), Fact::NON_ZERO, way);
            }
        }
    }

    /// Code runs beside this from here on. Gives the creation's name.
    #[expect(clippy::too_many_arguments, reason = "one creation, seen from all sides")]
    pub(crate) fn begin(
        &mut self,
        at: usize,
        creation: &Creation,
        functions: &[FunctionId],
        through: &SymbolicValue,
        argument: &SymbolicValue,
        decided_by_caller: bool,
        way: &mut Disjunct,
        observer: &mut dyn Observer,
    ) -> Site {
        let site = self.site(at);
        // Who is handed to unseen code again and again is one and the same.
        let name = match (creation.kind, functions) {
            (RootKind::Handed, [function]) => Site {
                function: function.number(),
                instruction: HANDED,
            },
            _ => self.creation_name(site),
        };
        let counters = counters(self.subject, name);
        observer.creation(CreationEvent {
            name,
            site,
            location: self.body.instructions[at].location,
            functions,
            through,
            argument,
            model: creation,
            counters: &counters,
            way,
        });
        if self.subject.is_followed(creation) {
            self.threads_matter = true;
            let known = self.creations.entry(name).or_default();
            let before = known.len();
            known.extend(functions.iter().map(|f| self.subject.module[*f].symbol));
            if known.len() != before {
                self.news();
            }
            if decided_by_caller && self.decided_by_caller.insert(name) {
                self.news();
            }
            self.note_started(name, functions.iter().copied());
            self.start(way, name, functions, creation.many);
        } else {
            self.forget_shared(way);
        }
        way.publish(argument);
        name
    }

    /// Notes which creations the threads of one may name in a way: itself, and those below.
    pub(crate) fn note_started(&mut self, name: Site, functions: impl Iterator<Item = FunctionId>) {
        self.named.insert(name);
        for function in functions {
            if self.noted.insert(function)
                && let Some(summary) = self.summaries.summary(function)
            {
                self.named.extend(&summary.started);
            }
        }
    }

    /// The name of a creation: the outermost call at which it is known what is started.
    fn creation_name(&self, site: Site) -> Site {
        let decided = self
            .summaries
            .summary(self.function)
            .is_some_and(|s| s.is_named_by_caller(&site));
        self.entry.creator.filter(|_| decided).unwrap_or(site)
    }

    /// A creation's threads, and theirs, run from here on.
    fn start(&self, way: &mut Disjunct, name: Site, functions: &[FunctionId], many: bool) {
        let known = way.threads.get(&name).copied();
        let again = many || name.instruction != HANDED && matches!(known, Some(Status::Live | Status::Many));
        let now = if again { Status::Many } else { Status::Live };
        let threads = Arc::make_mut(&mut way.threads);
        threads.insert(name, now);
        for summary in functions.iter().filter_map(|f| self.summaries.summary(*f)) {
            for site in &summary.started {
                let status = threads.entry(*site).or_insert(Status::Live);
                *status = (*status).max(now);
            }
        }
        self.forget_shared(way);
    }

    /// Whether a value is read from an element that a variable chooses.
    fn is_element(&self, value: Value) -> bool {
        match value
            .local()
            .and_then(|l| self.body.definition(l))
            .map(|d| &d.operation)
        {
            Some(Operation::Load { address, .. }) => self.value(*address).name().is_some_and(Path::is_indexed),
            _ => self.value(value).name().is_some_and(Path::is_indexed),
        }
    }

    /// The end of a thread is waited for, at an instruction; `element`: it is one of several in an array.
    pub(crate) fn join_handle(
        &mut self,
        way: &mut Disjunct,
        handle: &SymbolicValue,
        in_loop: bool,
        at: usize,
        element: bool,
    ) {
        self.threads_matter = true;
        let shape = &self.subject.shapes[self.function.index()];
        let around = shape.innermost[self.block_of(at)];
        let sites: BTreeSet<Site> = handle
            .paths()
            .iter()
            .filter_map(|p| match p.root {
                Root::Thread(site) => Some(site),
                _ => None,
            })
            .collect();
        let sites = match sites.is_empty() {
            true => self.created_in_place(at, way),
            false => sites,
        };
        if sites.is_empty() {
            if let Some(path) = handle
                .name()
                .filter(|p| matches!(p.root, Root::Formal(_) | Root::Global(_)))
            {
                let in_loop = in_loop || around.is_some();
                let handle = path.clone();
                if self.joined.insert(crate::summary::JoinedHandle { handle, in_loop }) {
                    self.news();
                }
            }
            match around {
                Some(each) => {
                    if self.joins_unknown.insert(each) {
                        self.news();
                    }
                }
                None => self.join_unknown(way, in_loop),
            }
            return;
        }
        self.named.extend(&sites);
        // Of several that one variable may hold, the one that runs on this way.
        let runs = |site: &&Site| matches!(way.threads.get(*site), Some(Status::Live | Status::Many));
        let one_of_several = element || sites.iter().filter(runs).count() > 1;
        for site in sites {
            match (way.threads.get(&site), around) {
                (Some(status), Some(each)) if one_of_several || *status == Status::Many => {
                    if self.joins_in_loop.entry(each).or_default().insert(site) {
                        self.news();
                    }
                }
                (Some(Status::Many), None) if !in_loop => {}
                (Some(_), _) => self.joined(way, site),
                (None, _) => {}
            }
        }
    }

    /// Creations that leave their handles where this join reads one, by points-to: the array of handles is behind a
    /// pointer that others may write, so that what stands there is not known.
    fn created_in_place(&mut self, at: usize, way: &Disjunct) -> BTreeSet<Site> {
        let body = self.body;
        let Operation::Call { arguments, .. } = &body.instructions[at].operation else {
            return BTreeSet::new();
        };
        let read = arguments.first().and_then(|a| body.definition(a.local()?));
        let Some(Operation::Load { address, .. }) = read.map(|d| &d.operation) else {
            return BTreeSet::new();
        };
        let Some(place) = self.subject.aliasing.pointee(self.function, *address) else {
            return BTreeSet::new();
        };
        self.places.insert(place);
        let live = way.threads.iter().filter(|(_, status)| **status != Status::Joined);
        let mut there = live
            .map(|(site, _)| *site)
            .filter(|site| self.subject.handle_place(*site) == Some(place));
        // Of several it is not known whose handle it is.
        match (there.next(), there.next()) {
            (Some(site), None) => BTreeSet::from([site]),
            _ => BTreeSet::new(),
        }
    }

    /// A creation's threads are over, and what they waited for themselves.
    fn joined(&self, way: &mut Disjunct, site: Site) {
        Arc::make_mut(&mut way.threads).insert(site, Status::Joined);
        let started = self.creations.get(&site).into_iter().flatten();
        let bodies = started.filter_map(|s| self.subject.module[*s].body());
        for summary in bodies.filter_map(|body| self.summaries.summary(body)) {
            let over = summary.over.iter().map(|site| (*site, Status::Joined));
            Arc::make_mut(&mut way.threads).extend(over);
        }
    }

    /// A thread whose handle is not known: the only one, or, one after the other, all whose handles are not known.
    fn join_unknown(&self, way: &mut Disjunct, in_loop: bool) {
        let handles: BTreeSet<Root> = way
            .memory
            .values()
            .flat_map(|v| v.paths().iter().map(|p| p.root))
            .collect();
        let lost: Vec<Site> = way
            .threads
            .iter()
            .filter(|(site, status)| **status != Status::Joined && !handles.contains(&Root::Thread(**site)))
            .map(|(site, _)| *site)
            .collect();
        let alone = lost.len() == 1 && way.threads.get(&lost[0]) == Some(&Status::Live);
        if in_loop || alone {
            lost.into_iter().for_each(|site| self.joined(way, site));
        }
    }

    /// A loop is left in which threads were joined.
    pub(crate) fn join_loop(&self, each: usize, ways: &mut [Disjunct]) {
        let sites: Vec<Site> = self.joins_in_loop.get(&each).into_iter().flatten().copied().collect();
        let unknown = self.joins_unknown.contains(&each);
        if sites.is_empty() && !unknown {
            return;
        }
        let joins = self.rounds(each);
        for way in ways {
            for site in &sites {
                if way.threads.contains_key(site) && self.covers(joins, *site) {
                    self.joined(way, *site);
                }
            }
            if unknown {
                self.join_unknown(way, true);
            }
        }
    }

    /// The rounds of a counted loop: first value and bound.
    fn rounds(&self, each: usize) -> Option<(i64, i64)> {
        let shape = &self.subject.shapes[self.function.index()];
        let header = &self.body.blocks[shape.loops[each].header];
        header.range().find_map(|n| {
            let counted = shape::induction(self.subject.module, self.body, shape, self.body.local_of(n))?;
            counted.start.zip(counted.bound)
        })
    }

    /// Whether a loop that joins makes as many rounds as the one that created; where that is not known, it does.
    fn covers(&self, joins: Option<(i64, i64)>, creation: Site) -> bool {
        if creation.function != self.function.number() {
            return true;
        }
        let shape = &self.subject.shapes[self.function.index()];
        let created = shape.innermost[self.block_of(creation.instruction as usize)].and_then(|l| self.rounds(l));
        match (joins, created) {
            (Some((from, to)), Some((first, last))) => from <= first && last <= to,
            _ => true,
        }
    }
}

/// The arguments, of so many, behind which a function writes.
fn written(model: &Model, count: usize) -> impl Iterator<Item = u16> + '_ {
    let rest = model.writes_from.map_or(0..0, |n| n..count as u16);
    model.writes.iter().copied().chain(rest)
}

/// Whether a variable that is a lock is none of those that points-to takes an address for.
fn is_apart(subject: &Subject<'_>, held: &Path, cell: Option<Cell>) -> bool {
    let Root::Global(number) = held.root else { return false };
    let variable = subject.symbol(number).filter(|_| !held.loads());
    let object = variable.and_then(|symbol| subject.aliasing.object(symbol));
    matches!((object, cell), (Some(object), Some(cell)) if object.class != cell.class)
}

/// Whether two names may stand for one lock.
fn may_be_one(a: &Path, b: &Path) -> bool {
    if a.is_constant() && b.is_constant() || a.root.is_object() && b.root.is_object() && !a.loads() && !b.loads() {
        return a.root == b.root && crate::access_path::may_overlap(a.last(), 1, b.last(), 1);
    }
    a.last().offset == b.last().offset
}
