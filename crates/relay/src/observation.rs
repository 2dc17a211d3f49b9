//! What one execution of a function in one context shows: accesses, calls, threads created, locks taken.
//!
//! A function that neither creates threads nor waits for any does the same whoever runs beside it, and one that does goes
//! by the names of its own threads. What its execution shows is then taken over for every context that differs in nothing
//! but the root and the names of other threads that run ([`Seen::under`]): most functions of a server are reached from each
//! of its threads.

use crate::access_path::{Path, Root, Site};
use crate::bottom_up::BottomUp;
use crate::entering::Entering;
use crate::execution::{AccessEvent, CallEvent, CreationEvent, Entry, Observer};
use crate::guarded_access::{self, ClassKey, Occurrence};
use crate::models::RootKind;
use crate::own_terms;
use crate::relative_lockset::{Change, Mode, RelativeLockset};
use crate::shape;
use crate::state::{Disjunct, Status, Threads};
use crate::subject::{Cell, Subject};
use crate::symbolic_value::SymbolicValue;
use crate::thread_root::{self, RootKey, Start};
use crate::top_down::LockOrder;
use deadheat_ir::{FunctionId, LocalId, LocationId, Operation};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Locations that a callee is entered with.
const LOCATIONS: usize = 48;

/// What one execution showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) beside: Beside,
    pub(crate) classes: Vec<(ClassKey, Occurrence)>,
    /// Functions called, those that are entered alike once.
    pub(crate) calls: Vec<Called>,
    pub(crate) creations: Vec<Created>,
    pub(crate) orders: Vec<LockOrder>,
    pub(crate) exits: Vec<RelativeLockset>,
    pub(crate) controls: Vec<Path>,
    pub(crate) hand_made: Vec<Path>,
    /// Locks given back (none: any), and the threads that run then.
    pub(crate) releases: BTreeSet<(Option<Path>, Threads)>,
    /// Locks taken and given back at once, with nothing between: whoever comes waits while somebody else holds them.
    pub(crate) gates: BTreeSet<Path>,
    pub(crate) barriers: u8,
    /// Ways were joined early.
    pub(crate) widened: bool,
    /// Blocks that did not come to rest.
    pub(crate) unsettled: usize,
    /// Places of which callees are not told what stands there.
    pub(crate) unsaid: usize,
    pub(crate) nameless: usize,
    pub(crate) unknown_starts: usize,
    /// Functions handed to code that is not seen that are left out.
    pub(crate) left_out: usize,
}

/// A function called.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) callee: FunctionId,
    pub(crate) entering: Entering,
    pub(crate) location: Option<LocationId>,
    /// Nothing else can be called there.
    pub(crate) certain: bool,
}

/// What an execution has to do with the threads that run beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    /// Those with which it was entered.
    pub(crate) threads: Threads,
    /// It was the program's start.
    pub(crate) program: bool,
    /// Threads were created or waited for: in another context all this may be otherwise.
    pub(crate) matter: bool,
    /// Creations that it goes by the names of.
    pub(crate) named: Arc<BTreeSet<Site>>,
    /// And by whose the entry goes.
    pub(crate) handles: BTreeSet<Site>,
    /// Where it reads handles of threads that it joins.
    pub(crate) places: Arc<BTreeSet<Cell>>,
}

impl Beside {
    /// Whether a thread is none that the execution knows by name or place.
    fn is_foreign(&self, subject: &Subject<'_>, site: Site) -> bool {
        let known = || {
            subject
                .handle_place(site)
                .is_some_and(|place| self.places.contains(&place))
        };
        !self.named.contains(&site) && !self.handles.contains(&site) && (self.places.is_empty() || !known())
    }

    /// Other threads under which the execution does the same, by the names of those under which it was done: as many foreign
    /// ones in the same state, and the others alike. None if they are not such.
    pub(crate) fn renaming(
        &self,
        subject: &Subject<'_>,
        program: bool,
        threads: &Threads,
    ) -> Option<BTreeMap<Site, Site>> {
        if self.program != program || self.threads.len() != threads.len() {
            return None;
        }
        let split = |all: &Threads| {
            let all = all.iter().map(|(site, status)| (*status, *site));
            let (mut foreign, own): (Vec<_>, Vec<_>) = all.partition(|(_, site)| self.is_foreign(subject, *site));
            foreign.sort_unstable();
            (foreign, own)
        };
        let ((from, own), (to, same)) = (split(&self.threads), split(threads));
        let alike = own == same && from.iter().map(|f| f.0).eq(to.iter().map(|t| t.0));
        alike.then(|| from.iter().zip(&to).map(|(f, t)| (f.1, t.1)).collect())
    }
}

/// A root's start that an execution showed.
#[derive(Clone, Debug)]
pub(crate) struct Created {
    pub(crate) key: RootKey,
    pub(crate) kind: RootKind,
    pub(crate) location: Option<LocationId>,
    /// It is known beside whom it runs.
    pub(crate) is_followed: bool,
    pub(crate) entering: Entering,
    /// The object that the thread is given, and whether it has that for itself.
    pub(crate) given: Option<(Root, bool)>,
    pub(crate) again: bool,
    /// Locks that its creator holds.
    pub(crate) held: BTreeSet<Path>,
}

/// Looks on in one context.
pub(crate) struct Watch<'a> {
    pub(crate) subject: &'a Subject<'a>,
    pub(crate) summaries: &'a BottomUp,
    pub(crate) single: &'a [bool],
    pub(crate) context: u32,
    pub(crate) root: usize,
    pub(crate) start: Start,
    pub(crate) creator: Option<Site>,
    pub(crate) function: FunctionId,
    /// The lock that was taken just now.
    pub(crate) taken: Option<Path>,
    /// Functions called and what with, by their place among the calls seen.
    pub(crate) called: FxHashMap<(FunctionId, u128), usize>,
    pub(crate) seen: Seen,
}

impl Watch<'_> {
    fn is_alone(&self, way: &Disjunct) -> bool {
        is_alone(self.start, &way.threads)
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

/// Whether no other code may run at the same time.
pub(crate) fn is_alone(start: Start, threads: &Threads) -> bool {
    start == Start::Program && threads.values().all(|s| *s == Status::Joined)
}

impl Seen {
    /// What is seen where another root's code runs the function, beside other threads; none if that may be something else.
    pub(crate) fn under(&self, subject: &Subject<'_>, other: &Under<'_>) -> Option<Seen> {
        let renaming = match self.beside.matter {
            true => Some(self.beside.renaming(subject, other.program, other.threads)?),
            false => None,
        };
        // Few sets of threads, many times.
        let mut known: Vec<(Threads, Threads)> = Vec::new();
        let mut beside = |threads: &mut Threads| {
            let Some(renaming) = &renaming else {
                *threads = other.threads.clone();
                return;
            };
            *threads = match known
                .iter()
                .find(|(from, _)| Arc::ptr_eq(from, threads) || from == threads)
            {
                Some((_, to)) => to.clone(),
                None => {
                    let named = |(site, status): (&Site, &Status)| (*renaming.get(site).unwrap_or(site), *status);
                    let to = Arc::new(threads.iter().map(named).collect());
                    known.push((threads.clone(), Arc::clone(&to)));
                    to
                }
            };
        };
        let mut seen = self.clone();
        for (class, occurrence) in &mut seen.classes {
            (class.root, occurrence.context) = (other.root, other.context);
            beside(&mut class.threads);
        }
        for called in &mut seen.calls {
            beside(&mut called.entering.threads);
        }
        for created in &mut seen.creations {
            // Of who is handed on it is not known beside whom it runs.
            if created.kind != RootKind::Handed {
                beside(&mut created.entering.threads);
            }
        }
        for order in &mut seen.orders {
            (order.root, order.at.context) = (other.root, other.context);
            beside(&mut order.threads);
        }
        let releases = std::mem::take(&mut seen.releases).into_iter();
        let releases = releases.map(|(lock, mut threads)| {
            beside(&mut threads);
            (lock, threads)
        });
        seen.releases = releases.collect();
        Some(seen)
    }
}

/// A context that is like one that was executed.
pub(crate) struct Under<'a> {
    pub(crate) context: u32,
    pub(crate) root: usize,
    /// Its thread is the program's start.
    pub(crate) program: bool,
    pub(crate) threads: &'a Threads,
}

impl Observer for Watch<'_> {
    fn access(&mut self, event: AccessEvent<'_>) {
        self.taken = None;
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
        self.taken = None;
        self.seen.controls.extend(event.once.cloned());
        let creates = self.summaries_create(event.callee);
        // Before the first thread, and after the last, nothing can race.
        if self.is_alone(event.way) && !creates {
            return;
        }
        use crate::execution::Summaries;
        let threads = self.summaries.summary(event.callee).is_none_or(|s| s.threads_matter);
        let (entry, unsaid) = callee_entry(self.subject, &event, self.creator_for(&event), threads);
        self.seen.unsaid += unsaid;
        let entering = Entering::new(entry);
        let calls = &mut self.seen.calls;
        let known = *self
            .called
            .entry((event.callee, entering.identity()))
            .or_insert(calls.len());
        match calls.get_mut(known) {
            Some(known) => known.certain |= event.certain,
            None => calls.push(Called {
                callee: event.callee,
                entering,
                location: event.location,
                certain: event.certain,
            }),
        }
    }

    fn creation(&mut self, event: CreationEvent<'_>) {
        self.seen.unknown_starts += usize::from(event.functions.is_empty());
        let running = matches!(event.way.threads.get(&event.name), Some(Status::Live | Status::Many));
        let again = event.model.many || running && event.model.kind != RootKind::Handed;
        let held = event.way.locks.changes();
        let held = held.filter(|(p, c)| (c.acquired || c.level > 0) && c.mode == Mode::Exclusive && p.is_constant());
        let held: BTreeSet<Path> = held.map(|(p, _)| p.clone()).collect();
        let is_followed = self.subject.is_followed(event.model);
        for function in event.functions {
            let (mut entry, given) = thread_root::entry_of(&event, *function, is_followed);
            let parameters = self.subject.module[*function].parameters as usize;
            entry.formals = thread_root::known_formals(entry.formals, *function, parameters);
            self.seen.creations.push(Created {
                key: RootKey {
                    start: Start::Creation(event.name),
                    function: *function,
                },
                kind: event.model.kind,
                location: event.location,
                is_followed,
                entering: Entering::new(entry),
                given,
                again,
                held: held.clone(),
            });
        }
    }

    fn acquisition(&mut self, site: Site, location: Option<LocationId>, lock: &Path, mode: Mode, way: &Disjunct) {
        self.taken = Some(lock.clone());
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

    fn release(&mut self, lock: Option<&Path>, way: &Disjunct) {
        // Under a name that is not held it may be any.
        let lock = lock.filter(|l| way.locks.get(l).is_some_and(|c| c.acquired || c.level > 0));
        let gate = self
            .taken
            .take()
            .filter(|taken| Some(taken) == lock && self.is_single(taken));
        self.seen.gates.extend(gate);
        self.seen.releases.insert((lock.cloned(), way.threads.clone()));
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
                .is_some_and(|s| s.decided_by_caller.iter().any(|site| s.is_named_by_caller(site)))
        };
        if !decides(event.callee) {
            return None;
        }
        let own = self
            .summaries
            .summary(self.function)
            .is_some_and(|s| s.is_named_by_caller(&event.site));
        self.creator.filter(|_| own).or(Some(event.site))
    }
}

/// Phis of the loops around an instruction, here or in a caller, that have another value in each round.
pub(crate) fn counters(subject: &Subject<'_>, name: Site) -> BTreeSet<Site> {
    let function = name.function as usize;
    let (shape, body) = (&subject.shapes[function], &subject.module.functions[function]);
    let block = body.blocks.partition_point(|b| b.end <= name.instruction);
    let around = shape.loops.iter().filter(|l| l.blocks.binary_search(&block).is_ok());
    let mut counters = BTreeSet::new();
    for each in around {
        for n in body.blocks[each.header].range() {
            let is_phi = matches!(body.instructions[n].operation, Operation::Phi { .. });
            let counts = |l: LocalId| shape::induction(subject.module, body, shape, l).is_some();
            if is_phi && counts(body.local_of(n)) {
                let instruction = n as u32;
                counters.insert(Site { instruction, ..name });
            }
        }
    }
    counters
}

/// What a callee is entered with, and of how many places beyond [`LOCATIONS`] it is not told what stands there. `threads`: it
/// creates some, or waits for some.
fn callee_entry(subject: &Subject<'_>, event: &CallEvent<'_>, creator: Option<Site>, threads: bool) -> (Entry, usize) {
    let parameters = subject.module[event.callee].parameters as usize;
    let formals: Vec<_> = event.actuals.iter().take(parameters).map(|v| Some(v.clone())).collect();
    let mut way = Disjunct {
        threads: event.way.threads.clone(),
        barriers: event.way.barriers,
        waited: event.way.waited,
        settled: event.way.settled,
        ..Disjunct::default()
    };
    for (lock, change) in event.way.locks.changes().filter(|(_, c)| c.acquired || c.level > 0) {
        for _ in 0..change.level.max(1) {
            way.locks.apply(lock, Change::acquire(change.mode));
        }
    }
    // What a merged pointer leads to is known by the merge's name.
    let led_to = event.actuals.iter().flat_map(|v| v.paths().iter().chain(v.key()));
    let mut seen: BTreeSet<Root> = led_to.map(|p| p.root).collect();
    let mut due: Vec<Root> = seen.iter().copied().collect();
    let mut unsaid = 0;
    while let Some(root) = due.pop() {
        for (path, value) in event.way.with_root(root).filter(|(_, v)| **v != SymbolicValue::Top) {
            if way.memory.len() >= LOCATIONS {
                unsaid += 1;
                continue;
            }
            way.memory.insert(path.clone(), value.clone());
            due.extend(value.paths().iter().map(|p| p.root).filter(|r| seen.insert(*r)));
        }
    }
    // Handles of threads, for whoever joins them.
    if threads {
        let memory = event.way.memory.iter();
        let handles = memory.filter(|(_, v)| v.paths().iter().any(|p| matches!(p.root, Root::Thread(_))));
        way.memory.extend(handles.map(|(p, v)| (p.clone(), v.clone())));
    }
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
    let entry = Entry {
        formals: thread_root::known_formals(formals, event.callee, parameters),
        way,
        creator,
    };
    (own_terms::renamed_entry(entry, event.callee), unsaid)
}
