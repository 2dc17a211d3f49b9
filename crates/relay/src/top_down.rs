//! From each thread root downwards: which functions are executed in which contexts, and what they access there.
//!
//! A context is a function with what it is entered with: what its formals stand for, what is known of memory behind
//! them, locks held, threads that run. That is RELAY's guarded-access summaries turned round: instead of the accesses of
//! callees going up, in callers' terms (56 million of them for redis), the terms go down. A function has at most
//! [`CONTEXTS`] contexts for each root; further ones are joined into one, counted.
//!
//! Waves of contexts are executed in parallel; what they find is put together in order, so that results do not depend on
//! the number of threads.

use crate::access_path::{Path, Root, Site};
use crate::bottom_up::BottomUp;
use crate::execution::{AccessEvent, CallEvent, CreationEvent, Entry, Execution, Observer};
use crate::guarded_access::{self, ClassKey, OCCURRENCES, Occurrence};
use crate::models::RootKind;
use crate::relative_lockset::{Change, Mode, RelativeLockset};
use crate::state::{Disjunct, Status, Threads};
use crate::subject::Subject;
use crate::symbolic_value::SymbolicValue;
use crate::thread_root::{self, RootKey, Start, ThreadRoot};
use deadheat_ir::{FunctionId, LocationId};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Contexts of a function below one root.
pub const CONTEXTS: usize = 24;
/// Times that the joined context of a function is executed again because it has grown.
const GROWTHS: u32 = 4;
/// Locations that a callee is entered with.
const LOCATIONS: usize = 48;

/// A function and what it is entered with.
#[derive(Clone, Debug)]
pub struct Context {
    /// The root's number.
    pub root: usize,
    /// The function.
    pub function: FunctionId,
    /// What it is entered with.
    pub entry: Entry,
    /// The context that calls it, and the call; none for the root's own.
    pub caller: Option<(u32, Option<LocationId>)>,
}

/// A lock taken while others were held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockOrder {
    /// The root's number.
    pub root: usize,
    /// The lock held.
    pub held: Path,
    /// How.
    pub held_mode: Mode,
    /// The lock taken.
    pub taken: Path,
    /// How.
    pub taken_mode: Mode,
    /// All locks held.
    pub all: Vec<Path>,
    /// Threads that run, as its thread knows.
    pub threads: Threads,
    /// Where it is taken.
    pub at: Occurrence,
}

/// What was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Contexts that were joined with others.
    pub contexts: usize,
    /// Occurrences that their class did not keep.
    pub occurrences: usize,
    /// Acquisitions or releases of a lock that has no name.
    pub nameless: usize,
    /// Creations of which it is not known what they start.
    pub unknown_starts: usize,
}

/// All that runs, and what it accesses.
#[derive(Clone, Debug, Default)]
pub struct TopDown {
    /// The roots, the program's own first.
    pub roots: Vec<ThreadRoot>,
    /// The contexts.
    pub contexts: Vec<Context>,
    /// The accesses.
    pub classes: BTreeMap<ClassKey, Vec<Occurrence>>,
    /// Locks taken while others were held.
    pub orders: BTreeSet<LockOrder>,
    /// Locksets with which roots end.
    pub exits: Vec<(usize, RelativeLockset)>,
    /// Locks that are a once-control.
    pub controls: BTreeSet<Path>,
    /// Words that are taken as a lock by an atomic operation.
    pub hand_made: BTreeSet<Path>,
    /// What was cut.
    pub cut: Cut,
}

/// Finds all that runs, from these roots on.
///
/// `running`: threads that run when the first start begins.
pub fn run(
    subject: &Subject<'_>,
    summaries: &BottomUp,
    starts: &[RootKey],
    running: &Threads,
) -> TopDown {
    let mut work = Work {
        subject,
        summaries,
        single: single_functions(subject, starts),
        found: TopDown::default(),
        known: HashMap::new(),
        count: HashMap::new(),
        roots: HashMap::new(),
        due: Vec::new(),
    };
    for (number, key) in starts.iter().enumerate() {
        let root = work.root(*key, RootKind::Thread, None);
        work.found.roots[root].many = key.start == Start::AnyTime;
        let parameters = subject.module[key.function].parameters as usize;
        let entry = Entry {
            formals: thread_root::known_formals(vec![], key.function, parameters),
            way: Disjunct {
                threads: if number == 0 { running.clone() } else { Threads::default() },
                ..Disjunct::entry()
            },
            creator: None,
        };
        work.enter(root, key.function, entry, None);
    }
    while !work.due.is_empty() {
        let due = std::mem::take(&mut work.due);
        let seen: Vec<Seen> = due.par_iter().map(|context| work.execute(*context)).collect();
        for (context, seen) in due.into_iter().zip(seen) {
            work.take(context, seen);
        }
    }
    work.finish()
}

struct Work<'a> {
    subject: &'a Subject<'a>,
    summaries: &'a BottomUp,
    /// Functions that are executed once at most.
    single: Vec<bool>,
    found: TopDown,
    known: HashMap<(usize, FunctionId, Entry), u32>,
    /// Contexts of a function below a root: how many, the joined one, how often it has grown.
    count: HashMap<(usize, FunctionId), (usize, Option<u32>, u32)>,
    roots: HashMap<RootKey, usize>,
    due: Vec<u32>,
}

/// What one execution showed.
#[derive(Default)]
struct Seen {
    classes: Vec<(ClassKey, Occurrence)>,
    calls: Vec<(FunctionId, Entry, Option<LocationId>)>,
    creations: Vec<Created>,
    orders: Vec<LockOrder>,
    exits: Vec<RelativeLockset>,
    controls: Vec<Path>,
    hand_made: Vec<Path>,
    barriers: u8,
    nameless: usize,
    unknown_starts: usize,
}

/// A root's start that an execution showed.
struct Created {
    key: RootKey,
    kind: RootKind,
    location: Option<LocationId>,
    entry: Entry,
    own: Option<Root>,
    again: bool,
}

struct Watch<'a> {
    subject: &'a Subject<'a>,
    summaries: &'a BottomUp,
    single: &'a [bool],
    context: u32,
    root: usize,
    start: Start,
    creator: Option<Site>,
    function: FunctionId,
    seen: Seen,
}

impl Watch<'_> {
    /// Whether other code may run at the same time.
    fn is_alone(&self, way: &Disjunct) -> bool {
        self.start == Start::Program && way.threads.values().all(|s| *s == Status::Joined)
    }

    /// Whether the lock's name stands for one lock in the whole run.
    fn is_single(&self, path: &Path) -> bool {
        if path.is_indexed() {
            return false;
        }
        match path.root {
            Root::Global(_) => true,
            Root::Local(site) | Root::Fresh(site) => {
                let function = site.function as usize;
                let shape = &self.subject.shapes[function];
                let body = &self.subject.module.functions[function];
                let block = body.blocks.partition_point(|b| b.end <= site.instruction);
                let looped = shape.innermost.get(block).is_none_or(Option::is_some);
                self.single[function] && (!looped || matches!(path.root, Root::Local(_)))
            }
            _ => false,
        }
    }

    fn occurrence(&self, site: Site, location: Option<LocationId>) -> Occurrence {
        Occurrence {
            site,
            location,
            context: self.context,
            volatile: false,
        }
    }
}

impl Observer for Watch<'_> {
    fn access(&mut self, event: AccessEvent<'_>) {
        if self.is_alone(event.way) {
            return;
        }
        self.seen.barriers = self.seen.barriers.max(event.way.barriers.unwrap_or(1));
        for class in guarded_access::classes(self.subject, &event, self.root, &|p| self.is_single(p)) {
            let occurrence = Occurrence {
                volatile: event.volatile,
                ..self.occurrence(event.site, event.location)
            };
            self.seen.classes.push((class, occurrence));
        }
    }

    fn call(&mut self, event: CallEvent<'_>) {
        self.seen.controls.extend(event.once.cloned());
        let creates = self.summaries_create(event.callee);
        // Before the first thread, and after the last, nothing can race.
        if self.is_alone(event.way) && !creates {
            return;
        }
        let entry = callee_entry(self.subject, &event, self.creator_for(&event));
        self.seen.calls.push((event.callee, entry, event.location));
    }

    fn creation(&mut self, event: CreationEvent<'_>) {
        self.seen.unknown_starts += usize::from(event.functions.is_empty());
        let again = event.model.many || matches!(event.way.threads.get(&event.name), Some(Status::Live | Status::Many));
        for function in event.functions {
            let (mut entry, own) = thread_root::entry_of(&event, *function);
            let parameters = self.subject.module[*function].parameters as usize;
            entry.formals = thread_root::known_formals(entry.formals, *function, parameters);
            self.seen.creations.push(Created {
                key: RootKey {
                    start: Start::Creation(event.name),
                    function: *function,
                },
                kind: event.model.kind,
                location: event.location,
                entry,
                own,
                again,
            });
        }
    }

    fn acquisition(&mut self, site: Site, location: Option<LocationId>, lock: &Path, mode: Mode, way: &Disjunct) {
        let held: Vec<(&Path, Change)> = way.locks.changes().filter(|(_, c)| c.acquired || c.level > 0).collect();
        if held.is_empty() || !self.is_single(lock) {
            return;
        }
        let held: Vec<(&Path, Change)> = held.into_iter().filter(|(p, _)| self.is_single(p)).collect();
        let all: Vec<Path> = held.iter().map(|(p, _)| (*p).clone()).collect();
        for (path, change) in held {
            self.seen.orders.push(LockOrder {
                root: self.root,
                held: path.clone(),
                held_mode: change.mode,
                taken: lock.clone(),
                taken_mode: mode,
                all: all.clone(),
                threads: way.threads.clone(),
                at: self.occurrence(site, location),
            });
        }
    }

    fn hand_made_lock(&mut self, word: &Path) {
        self.seen.hand_made.push(word.clone());
    }

    fn nameless_lock(&mut self, _: Site) {
        self.seen.nameless += 1;
    }

    fn exit(&mut self, way: &Disjunct) {
        self.seen.barriers = self.seen.barriers.max(way.barriers.unwrap_or(1));
        self.seen.exits.push(way.locks.clone());
    }
}

impl Watch<'_> {
    fn summaries_create(&self, callee: FunctionId) -> bool {
        use crate::execution::Summaries;
        self.summaries.summary(callee).is_none_or(|s| !s.creations.is_empty())
    }

    /// The name of creations below a call that this function, or one of its callers, decides on.
    fn creator_for(&self, event: &CallEvent<'_>) -> Option<Site> {
        use crate::execution::Summaries;
        let decides = |f| {
            self.summaries
                .summary(f)
                .is_some_and(|s| !s.decided_by_caller.is_empty())
        };
        if !decides(event.callee) {
            return None;
        }
        let own = self
            .summaries
            .summary(self.function)
            .is_some_and(|s| s.decided_by_caller.contains(&event.site));
        self.creator.filter(|_| own).or(Some(event.site))
    }
}

/// What a callee is entered with.
fn callee_entry(subject: &Subject<'_>, event: &CallEvent<'_>, creator: Option<Site>) -> Entry {
    let parameters = subject.module[event.callee].parameters as usize;
    let formals: Vec<_> = event.actuals.iter().take(parameters).map(|v| Some(v.clone())).collect();
    let mut way = Disjunct {
        threads: event.way.threads.clone(),
        barriers: event.way.barriers,
        ..Disjunct::default()
    };
    for (lock, change) in event.way.locks.changes().filter(|(_, c)| c.acquired || c.level > 0) {
        for _ in 0..change.level.max(1) {
            way.locks.apply(lock, Change::acquire(change.mode));
        }
    }
    let mut seen: BTreeSet<Root> = event.actuals.iter().flat_map(|v| v.paths()).map(|p| p.root).collect();
    let mut due: Vec<Root> = seen.iter().copied().collect();
    while let Some(root) = due.pop() {
        for (path, value) in event.way.with_root(root).filter(|(_, v)| **v != SymbolicValue::Top) {
            if way.memory.len() >= LOCATIONS {
                break;
            }
            way.memory.insert(path.clone(), value.clone());
            due.extend(value.paths().iter().map(|p| p.root).filter(|r| seen.insert(*r)));
        }
    }
    // Handles of threads, for whoever joins them.
    let memory = event.way.memory.iter();
    let handles = memory.filter(|(_, v)| v.paths().iter().any(|p| matches!(p.root, Root::Thread(_))));
    way.memory.extend(handles.map(|(p, v)| (p.clone(), v.clone())));
    way.published = event
        .way
        .published
        .keys()
        .filter(|p| seen.contains(&p.root))
        .map(|p| (p.clone(), ()))
        .collect();
    let bases: Vec<Path> = event
        .actuals
        .iter()
        .filter_map(|v| v.key().cloned())
        .map(|p| p.split().0)
        .collect();
    way.facts = event
        .way
        .facts
        .iter()
        .filter(|(k, _)| bases.contains(k))
        .map(|(k, f)| (k.clone(), *f))
        .collect();
    Entry {
        formals: thread_root::known_formals(formals, event.callee, parameters),
        way,
        creator,
    }
}

impl Work<'_> {
    fn root(&mut self, key: RootKey, kind: RootKind, location: Option<LocationId>) -> usize {
        *self.roots.entry(key).or_insert_with(|| {
            self.found.roots.push(ThreadRoot {
                key,
                kind,
                many: false,
                location,
                creators: BTreeSet::new(),
                own: BTreeSet::new(),
                barriers: 0,
            });
            self.found.roots.len() - 1
        })
    }

    /// Enters a function, unless that has been done.
    fn enter(&mut self, root: usize, function: FunctionId, entry: Entry, caller: Option<(u32, Option<LocationId>)>) {
        let known = (root, function, entry);
        if self.known.contains_key(&known) {
            return;
        }
        let entry = known.2.clone();
        let next = self.found.contexts.len() as u32;
        let (count, joined, growths) = self.count.entry((root, function)).or_default();
        if *count < CONTEXTS {
            *count += 1;
            self.known.insert(known, next);
            self.found.contexts.push(Context {
                root,
                function,
                entry,
                caller,
            });
            self.due.push(next);
            return;
        }
        self.found.cut.contexts += 1;
        match joined {
            None => {
                *joined = Some(next);
                self.known.insert(known, next);
                self.found.contexts.push(Context {
                    root,
                    function,
                    entry,
                    caller,
                });
                self.due.push(next);
            }
            Some(number) => {
                let number = *number;
                let context = &mut self.found.contexts[number as usize];
                let grown = join_entries(&context.entry, &entry, function);
                self.known.insert(known, number);
                if grown != context.entry && *growths < GROWTHS {
                    *growths += 1;
                    context.entry = grown;
                    if !self.due.contains(&number) {
                        self.due.push(number);
                    }
                }
            }
        }
    }

    fn execute(&self, number: u32) -> Seen {
        let context = &self.found.contexts[number as usize];
        let mut execution = Execution::run(self.subject, self.summaries, context.function, &context.entry);
        let mut watch = Watch {
            subject: self.subject,
            summaries: self.summaries,
            single: &self.single,
            context: number,
            root: context.root,
            start: self.found.roots[context.root].key.start,
            creator: context.entry.creator,
            function: context.function,
            seen: Seen::default(),
        };
        execution.observe(&mut watch);
        watch.seen
    }

    fn take(&mut self, number: u32, seen: Seen) {
        let root = self.found.contexts[number as usize].root;
        for (class, occurrence) in seen.classes {
            let kept = self.found.classes.entry(class).or_default();
            let known = kept.iter().any(|o| o.site == occurrence.site);
            match (known, kept.len() < OCCURRENCES) {
                (true, _) => {}
                (false, true) => kept.push(occurrence),
                (false, false) => self.found.cut.occurrences += 1,
            }
        }
        for (callee, entry, location) in seen.calls {
            self.enter(root, callee, entry, Some((number, location)));
        }
        for created in seen.creations {
            let new = self.root(created.key, created.kind, created.location);
            let started = &mut self.found.roots[new];
            started.many |= created.again;
            started.creators.insert(root);
            started.own.extend(created.own);
            self.enter(new, created.key.function, created.entry, None);
        }
        self.found.orders.extend(seen.orders);
        self.found.controls.extend(seen.controls);
        self.found.hand_made.extend(seen.hand_made);
        if self.found.contexts[number as usize].caller.is_none() {
            self.found
                .exits
                .extend(seen.exits.into_iter().map(|locks| (root, locks)));
        }
        let barriers = &mut self.found.roots[root].barriers;
        *barriers = (*barriers).max(seen.barriers);
        self.found.cut.nameless += seen.nameless;
        self.found.cut.unknown_starts += seen.unknown_starts;
    }

    fn finish(mut self) -> TopDown {
        // What several instances create has several instances.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for n in 0..self.found.roots.len() {
                let root = &self.found.roots[n];
                if !root.many && root.creators.iter().any(|c| self.found.roots[*c].many) {
                    self.found.roots[n].many = true;
                    changed = true;
                }
            }
        }
        self.found
    }
}

/// An entry that stands for both.
fn join_entries(a: &Entry, b: &Entry, function: FunctionId) -> Entry {
    let formals = a
        .formals
        .iter()
        .zip(&b.formals)
        .map(|(x, y)| if x == y { x.clone() } else { None })
        .collect();
    Entry {
        formals: thread_root::known_formals(formals, function, a.formals.len()),
        way: a.way.join(&b.way),
        creator: a.creator.filter(|c| b.creator == Some(*c)),
    }
}

/// Functions that are executed once at most: the program's start, and those that are called from one place, not in a
/// loop, of such a function.
fn single_functions(subject: &Subject<'_>, starts: &[RootKey]) -> Vec<bool> {
    let module = subject.module;
    let mut callers: Vec<Vec<(usize, usize)>> = vec![Vec::new(); module.functions.len()];
    for (id, function) in module.functions() {
        for (at, instruction) in function.instructions.iter().enumerate() {
            if let deadheat_ir::Operation::Call {
                callee: deadheat_ir::Callee::Direct(symbol),
                ..
            } = instruction.operation
                && let Some(body) = module[symbol].body()
            {
                callers[body.index()].push((id.index(), at));
            }
        }
    }
    let mut called: Vec<Vec<usize>> = vec![Vec::new(); module.functions.len()];
    for (callee, from) in callers.iter().enumerate() {
        let [(caller, at)] = from[..] else { continue };
        let block = module.functions[caller]
            .blocks
            .partition_point(|b| b.end as usize <= at);
        let once = subject.shapes[caller].innermost.get(block).is_some_and(Option::is_none);
        if once && !module[module.functions[callee].symbol].address_taken {
            called[caller].push(callee);
        }
    }
    let mut single = vec![false; module.functions.len()];
    let program = starts
        .iter()
        .filter(|k| k.start == Start::Program)
        .map(|k| k.function.index());
    let mut due: Vec<usize> = program.filter(|f| callers[*f].is_empty()).collect();
    while let Some(function) = due.pop() {
        if !std::mem::replace(&mut single[function], true) {
            due.extend(&called[function]);
        }
    }
    single
}
