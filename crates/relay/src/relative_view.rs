//! What one execution of a function relative to its entry shows, and the same in a context's terms.
//!
//! In a large program a function is executed once, with nothing known of its entry but names ([`RelativeView::of`]): that is
//! RELAY's guarded accesses before they go up. For each context the names are replaced by what they stand for there
//! ([`RelativeView::tell`], RELAY's `rebind`), the locks held there are changed as the function changes them, and what
//! cannot happen there, by what is known of the entry's values, is left out. What is lost against an execution in the
//! context: values that only the context knows decide no branches but those on which they are tested themselves.
//!
//! Cost: linear in what is seen, whatever it took to see it.

use crate::access_path::{Path, Root, Site};
use crate::calls::note_thread;
use crate::evaluation::{follow, known};
use crate::execution::{AccessEvent, AccessKind, CallEvent, CreationEvent, Entry, Execution, Observer, Summaries};
use crate::models::Creation;
use crate::observation::{Beside, counters};
use crate::path_map::PathMap;
use crate::relative_lockset::Mode;
use crate::state::Disjunct;
use crate::subject::{Cell, Subject};
use crate::symbolic_value::SymbolicValue::{self, Named, Top};
use crate::transfer::place;
use deadheat_ir::{Function, FunctionId, LocationId, Operation, TagId, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that one execution shows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RelativeView {
    /// The ways on which something happens, as far as that matters to whoever looks on.
    ways: Vec<Disjunct>,
    /// What happens, in order, and on which way.
    events: Vec<(Event, u32)>,
    /// Ways were joined early.
    pub(crate) widened: bool,
    /// Blocks that did not come to rest.
    pub(crate) unsettled: usize,
    /// Functions handed to code that is not seen that are left out.
    pub(crate) left_out: usize,
    /// Threads were created or waited for.
    matter: bool,
    /// Creations that it goes by the names of.
    named: Arc<BTreeSet<Site>>,
    /// Where it reads handles of threads that it joins.
    #[serde(skip)]
    places: Arc<BTreeSet<Cell>>,
}

/// What happens, by the number of its instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Event {
    Access {
        at: u32,
        /// Which of the instruction's operands is the address.
        operand: u8,
        address: SymbolicValue,
        size: u64,
        kind: AccessKind,
        atomic: bool,
        volatile: bool,
    },
    Call {
        at: u32,
        callees: Vec<Callee>,
        through: Option<SymbolicValue>,
        actuals: Vec<SymbolicValue>,
        once: Option<Path>,
        certain: bool,
    },
    Creation {
        at: u32,
        functions: Vec<Callee>,
        through: SymbolicValue,
        argument: SymbolicValue,
        /// The name that the execution gave it.
        name: Site,
        model: Creation,
    },
    Acquisition(u32, Path, Mode),
    Release(Option<Path>),
    HandMade(Path),
    Nameless(u32),
    Exit,
}

/// A function by number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Callee(#[serde(with = "crate::memo::identity::function_number")] u32);

impl From<FunctionId> for Callee {
    fn from(function: FunctionId) -> Callee {
        Callee(function.number())
    }
}

impl RelativeView {
    /// Executes a function and looks on.
    pub(crate) fn of(subject: &Subject<'_>, summaries: &dyn Summaries, function: FunctionId) -> RelativeView {
        let entry = Entry::relative();
        let mut execution = Execution::run(subject, summaries, function, &entry);
        let mut recorder = Recorder {
            summaries,
            body: &subject.module[function],
            view: RelativeView::default(),
            numbers: FxHashMap::default(),
            at: (None, 0),
        };
        execution.observe(&mut recorder);
        RelativeView {
            widened: execution.overdone() > 0,
            unsettled: execution.unsettled as usize,
            left_out: execution.left_out.values().sum(),
            matter: execution.threads_matter,
            named: Arc::new(execution.named),
            places: Arc::new(execution.places),
            ..recorder.view
        }
    }

    /// Has ways share what they have in common, as they did when they were made.
    pub(crate) fn share(&mut self) {
        for at in 1..self.ways.len() {
            let (before, rest) = self.ways.split_at_mut(at);
            rest[0].share(&before[at - 1]);
        }
    }

    /// Whether it holds nothing that another program may not have.
    pub(crate) fn is_portable(&self) -> bool {
        self.places.is_empty()
    }

    /// What it has to do with threads beside it in a context.
    pub(crate) fn beside(&self, entry: &Entry, program: bool) -> Beside {
        Beside {
            threads: entry.way.threads.clone(),
            program,
            matter: self.matter,
            named: self.named.clone(),
            handles: entry.creator.into_iter().collect(),
            places: self.places.clone(),
        }
    }

    /// Tells an observer what happens in a context.
    pub(crate) fn tell(
        &self,
        subject: &Subject<'_>,
        summaries: &dyn Summaries,
        function: FunctionId,
        entry: &Entry,
        observer: &mut dyn Observer,
    ) {
        let terms = Terms::new(subject, summaries, function, entry);
        let mut ways: Vec<Option<Option<Disjunct>>> = vec![None; self.ways.len()];
        for (event, number) in &self.events {
            let at = *number as usize;
            let way = ways[at].get_or_insert_with(|| terms.way(&self.ways[at]));
            if let Some(way) = way {
                terms.tell(event, way, observer);
            }
        }
    }
}

/// Notes what happens.
struct Recorder<'a> {
    summaries: &'a dyn Summaries,
    body: &'a Function,
    view: RelativeView,
    numbers: FxHashMap<Disjunct, u32>,
    /// The instruction that was executed last, and where its events begin.
    at: (Option<Site>, usize),
}

impl Recorder<'_> {
    fn way(&mut self, way: Disjunct) -> u32 {
        let ways = &mut self.view.ways;
        *self.numbers.entry(way).or_insert_with_key(|way| {
            ways.push(way.clone());
            ways.len() as u32 - 1
        })
    }

    /// Notes an event of an instruction, unless the same was noted on another way that differs in nothing that matters.
    fn note(&mut self, site: Option<Site>, event: Event, way: u32) {
        if site.is_none() || self.at.0 != site {
            self.at = (site, self.view.events.len());
        }
        let event = (event, way);
        if !self.view.events[self.at.1..].contains(&event) {
            self.view.events.push(event);
        }
    }
}

/// A way without its memory, with what it requires of the entry.
fn outline(way: &Disjunct) -> Disjunct {
    let mut outline = Disjunct {
        memory: PathMap::default(),
        decided: 0,
        ..way.clone()
    };
    outline.facts.retain(|key, _| is_on_entry(key.root));
    // What was taken and given back leaves the context's locks as they are.
    outline.locks.drop_given_back(|_| true);
    outline
}

fn is_on_entry(root: Root) -> bool {
    matches!(root, Root::Formal(_) | Root::Global(_))
}

/// A way with the memory that can be reached from values, and what is known of these.
fn reached(way: &Disjunct, values: &[&SymbolicValue], handles: bool) -> Disjunct {
    let mut reached = outline(way);
    let led_to = values.iter().flat_map(|v| v.paths().iter().chain(v.key()));
    let mut seen: BTreeSet<Root> = led_to.map(|p| p.root).collect();
    let mut due: Vec<Root> = seen.iter().copied().collect();
    while let Some(root) = due.pop() {
        for (path, value) in way.with_root(root) {
            reached.memory.insert(path.clone(), value.clone());
            due.extend(value.paths().iter().map(|p| p.root).filter(|r| seen.insert(*r)));
        }
    }
    if handles {
        let handle = |v: &SymbolicValue| v.paths().iter().any(|p| matches!(p.root, Root::Thread(_)));
        let all = way.memory.iter().filter(|(_, v)| handle(v));
        reached.memory.extend(all.map(|(p, v)| (p.clone(), v.clone())));
    }
    let bases: Vec<Path> = values.iter().filter_map(|v| Some(v.key()?.clone().split().0)).collect();
    let facts = way.facts.iter().filter(|(key, _)| bases.contains(key));
    reached.facts.extend(facts.map(|(key, fact)| (key.clone(), *fact)));
    reached
}

impl Observer for Recorder<'_> {
    fn access(&mut self, event: AccessEvent<'_>) {
        let private = |p: &Path| event.way.is_private(p.root) && !p.loads();
        let paths = event.address.paths();
        if !paths.is_empty() && paths.iter().all(private) {
            return;
        }
        let way = self.way(outline(event.way));
        let operation = &self.body.instructions[event.site.instruction as usize].operation;
        let operand = operands(operation).iter().position(|o| *o == event.operand);
        let noted = Event::Access {
            at: event.site.instruction,
            operand: operand.map_or(u8::MAX, |n| n as u8),
            address: event.address.clone(),
            size: event.size,
            kind: event.kind,
            atomic: event.atomic,
            volatile: event.volatile,
        };
        self.note(Some(event.site), noted, way);
    }

    fn call(&mut self, event: CallEvent<'_>) {
        let handles = self.summaries.summary(event.callee).is_none_or(|s| s.threads_matter);
        let actuals: Vec<&SymbolicValue> = event.actuals.iter().collect();
        let way = self.way(reached(event.way, &actuals, handles));
        // Those that one call may call, on one way, are one event.
        if let Some((
            Event::Call {
                at, through, callees, ..
            },
            last,
        )) = self.view.events.last_mut()
            && event.through.is_some()
            && (*at, through.as_ref(), *last) == (event.site.instruction, event.through, way)
        {
            if !callees.contains(&event.callee.into()) {
                callees.push(event.callee.into());
            }
            return;
        }
        let noted = Event::Call {
            at: event.site.instruction,
            callees: vec![event.callee.into()],
            through: event.through.cloned(),
            actuals: event.actuals.to_vec(),
            once: event.once.cloned(),
            certain: event.certain,
        };
        self.note(Some(event.site), noted, way);
    }

    fn creation(&mut self, event: CreationEvent<'_>) {
        let way = self.way(reached(event.way, &[event.argument], false));
        let noted = Event::Creation {
            at: event.site.instruction,
            functions: event.functions.iter().map(|f| (*f).into()).collect(),
            through: event.through.clone(),
            argument: event.argument.clone(),
            name: event.name,
            model: event.model.clone(),
        };
        self.note(Some(event.site), noted, way);
    }

    fn acquisition(&mut self, site: Site, _: Option<LocationId>, lock: &Path, mode: Mode, way: &Disjunct) {
        let way = self.way(outline(way));
        self.note(
            Some(site),
            Event::Acquisition(site.instruction, lock.clone(), mode),
            way,
        );
    }

    fn release(&mut self, lock: Option<&Path>, way: &Disjunct) {
        let way = self.way(outline(way));
        self.note(None, Event::Release(lock.cloned()), way);
    }

    fn hand_made_lock(&mut self, word: &Path) {
        let way = self.way(Disjunct::entry());
        self.note(None, Event::HandMade(word.clone()), way);
    }

    fn nameless_lock(&mut self, site: Site) {
        let way = self.way(Disjunct::entry());
        self.note(Some(site), Event::Nameless(site.instruction), way);
    }

    fn exit(&mut self, way: &Disjunct) {
        let way = self.way(outline(way));
        self.note(None, Event::Exit, way);
    }
}

/// A context's terms.
struct Terms<'a> {
    subject: &'a Subject<'a>,
    function: FunctionId,
    entry: &'a Entry,
    /// The entry's way, as far as its names are not the function's own: those stand for something new.
    before: Disjunct,
    /// The creation that goes by a name of the caller's, and that name.
    creation: Option<(Site, Site)>,
}

impl<'a> Terms<'a> {
    fn new(subject: &'a Subject<'a>, summaries: &dyn Summaries, function: FunctionId, entry: &'a Entry) -> Terms<'a> {
        let count = subject.module[function].instructions.len() as u32;
        let own = |root: Root| match root {
            Root::Opaque(site) | Root::Fresh(site) | Root::Local(site) => {
                site.function == function.number() && site.instruction < count
            }
            _ => false,
        };
        let mut before = entry.way.clone();
        if before.locks.changes().any(|(lock, _)| lock.mentions(own)) {
            before.locks.forget(|lock| lock.mentions(own));
        }
        let decided = summaries.summary(function).map(|s| &s.decided_by_caller);
        let one = decided.filter(|d| d.len() == 1).and_then(|d| d.first());
        Terms {
            subject,
            function,
            entry,
            before,
            creation: one.copied().zip(entry.creator),
        }
    }

    /// The name of a creation.
    fn name(&self, site: Site) -> Site {
        self.creation
            .filter(|(own, _)| *own == site)
            .map_or(site, |(_, name)| name)
    }

    fn root(&self, root: Root) -> SymbolicValue {
        match root {
            Root::Formal(n) => {
                let given = self.entry.formals.get(usize::from(n)).cloned().flatten();
                given.unwrap_or_else(|| SymbolicValue::of(root))
            }
            Root::Thread(site) => SymbolicValue::of(Root::Thread(self.name(site))),
            root => SymbolicValue::of(root),
        }
    }

    fn path(&self, path: &Path) -> SymbolicValue {
        let same = |root: Root| match root {
            Root::Formal(_) | Root::Thread(_) => false,
            root => !self.before.memory.may_mention(root),
        };
        if same(path.root) && path.indices().all(|index| same(index.root)) {
            return Named(path.clone());
        }
        follow(self.subject, self.function, &self.before, path, &|root| self.root(root))
    }

    fn value(&self, value: &SymbolicValue) -> SymbolicValue {
        match value {
            Named(path) => self.path(path),
            SymbolicValue::May(name, paths) => {
                let all: Option<Vec<Path>> = paths.iter().map(|p| self.path(p).name().cloned()).collect();
                let name = match self.path(name) {
                    Named(name) => name,
                    _ => name.clone(),
                };
                all.map_or(Top, |paths| SymbolicValue::May(name, paths))
            }
            value => value.clone(),
        }
    }

    fn lock(&self, lock: &Path) -> Option<Path> {
        match lock.is_constant() && !lock.loads() {
            true => Some(lock.clone()),
            false => self.path(lock).name().cloned(),
        }
    }

    /// A way; none if it cannot be gone here.
    fn way(&self, way: &Disjunct) -> Option<Disjunct> {
        let required = way.facts.iter().filter(|(key, _)| is_on_entry(key.root));
        for (key, fact) in required {
            known(&self.before, &self.path(key)).and(*fact)?;
        }
        let mut new = self.before.clone();
        for (path, value) in way.memory.iter() {
            let (to, value) = (self.path(path), self.value(value));
            if let Some(location) = to.name() {
                new.store(location, 8, value);
                for other in to.paths().iter().filter(|p| *p != location) {
                    new.store(other, 8, Top);
                }
            }
        }
        for (key, fact) in way.facts.iter() {
            if let Some((base, 0)) = self.path(key).key().map(|key| key.clone().split()) {
                new = new.learn(&base, *fact)?;
            }
        }
        let (locks, lost) = way.locks.rebind(|lock| self.lock(lock));
        new.locks.update(&locks);
        if lost > 0 {
            new.locks.forget(|held| !held.is_constant());
        }
        for path in way.published.keys() {
            new.publish(&self.path(path));
        }
        if !way.threads.is_empty() {
            for (site, status) in way.threads.iter() {
                note_thread(&mut new, self.name(*site), *status);
            }
            new.threads = self.subject.threads(&new.threads);
        }
        new.waited = new.waited.then(way.waited);
        new.settled = new.settled.then(way.settled);
        new.barriers = new.barriers.zip(way.barriers).map(|(a, b)| a.saturating_add(b));
        Some(new)
    }

    /// The functions that a value is the address of, if it is surely one of them.
    fn named(&self, value: &SymbolicValue) -> Option<Vec<FunctionId>> {
        let value = self.value(value);
        let named: Vec<FunctionId> = value.paths().iter().filter_map(|p| self.subject.function(p)).collect();
        (!named.is_empty() && named.len() == value.paths().len()).then_some(named)
    }

    fn site(&self, at: u32) -> Site {
        Site {
            function: self.function.number(),
            instruction: at,
        }
    }

    fn tell(&self, event: &Event, way: &Disjunct, observer: &mut dyn Observer) {
        let module = self.subject.module;
        let body = &module[self.function];
        let location = |at: u32| body.instructions[at as usize].location;
        let functions = |callees: &[Callee]| callees.iter().map(|c| FunctionId::new(c.0)).collect::<Vec<_>>();
        match event {
            Event::Access {
                at,
                operand,
                address,
                size,
                kind,
                atomic,
                volatile,
            } => {
                let operation = &body.instructions[*at as usize].operation;
                let Some(operand) = operands(operation).get(usize::from(*operand)).copied() else {
                    return;
                };
                observer.access(AccessEvent {
                    site: self.site(*at),
                    location: place(module, body, *at as usize),
                    operand,
                    address: &self.value(address),
                    size: *size,
                    kind: *kind,
                    atomic: *atomic,
                    volatile: *volatile,
                    tag: tag(operation),
                    way,
                });
            }
            Event::Call {
                at,
                callees,
                through,
                actuals,
                once,
                certain,
            } => {
                let actuals: Vec<SymbolicValue> = actuals.iter().map(|v| self.value(v)).collect();
                let named = through.as_ref().and_then(|value| self.named(value));
                let certain = *certain || named.as_ref().is_some_and(|n| n.len() == 1);
                let once = once.as_ref().and_then(|control| self.lock(control));
                for callee in named.unwrap_or_else(|| functions(callees)) {
                    observer.call(CallEvent {
                        site: self.site(*at),
                        location: location(*at),
                        callee,
                        through: through.as_ref(),
                        actuals: &actuals,
                        once: once.as_ref(),
                        certain,
                        way,
                    });
                }
            }
            Event::Creation {
                at,
                functions: started,
                through,
                argument,
                name,
                model,
            } => {
                let named = self.named(through);
                let name = self.name(*name);
                observer.creation(CreationEvent {
                    name,
                    site: self.site(*at),
                    location: location(*at),
                    functions: &named.unwrap_or_else(|| functions(started)),
                    through,
                    argument: &self.value(argument),
                    model,
                    counters: &counters(self.subject, name),
                    way,
                });
            }
            Event::Acquisition(at, lock, mode) => {
                if let Some(lock) = self.lock(lock) {
                    observer.acquisition(self.site(*at), location(*at), &lock, *mode, way);
                }
            }
            Event::Release(lock) => observer.release(lock.as_ref().and_then(|l| self.lock(l)).as_ref(), way),
            Event::HandMade(word) => {
                if let Some(word) = self.lock(word) {
                    observer.hand_made_lock(&word);
                }
            }
            Event::Nameless(at) => observer.nameless_lock(self.site(*at)),
            Event::Exit => observer.exit(way),
        }
    }
}

/// The operands of an instruction that may be addresses of what it accesses.
fn operands(operation: &Operation) -> SmallVec<[Value; 4]> {
    match operation {
        Operation::Load { address, .. }
        | Operation::Store { address, .. }
        | Operation::ReadModifyWrite { address, .. }
        | Operation::CompareExchange { address, .. }
        | Operation::MemoryFill { to: address, .. } => SmallVec::from_slice(&[*address]),
        Operation::MemoryCopy { to, from, .. } => SmallVec::from_slice(&[*to, *from]),
        Operation::Call { arguments, .. } => arguments.iter().copied().collect(),
        Operation::Assembly { operands, .. } => operands.iter().map(|o| o.value).collect(),
        _ => SmallVec::new(),
    }
}

/// The field that an instruction accesses.
fn tag(operation: &Operation) -> Option<TagId> {
    match operation {
        Operation::Load { access, .. }
        | Operation::Store { access, .. }
        | Operation::ReadModifyWrite { access, .. }
        | Operation::CompareExchange { access, .. } => access.tag,
        _ => None,
    }
}
