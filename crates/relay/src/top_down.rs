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
use crate::execution::{Entry, Execution};
use crate::guarded_access::{ClassKey, OCCURRENCES, Occurrence};
use crate::lent_lock::Lent;
use crate::models::RootKind;
use crate::observation::{Beside, Seen, Under, Watch, is_alone};
use crate::own_terms;
use crate::relative_lockset::{Mode, RelativeLockset};
use crate::state::{Disjunct, Threads};
use crate::subject::Subject;
use crate::thread_root::{self, RootKey, Start, ThreadRoot};
use deadheat_ir::{FunctionId, LocationId};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Contexts of a function below one root.
pub const CONTEXTS: usize = 24;
/// Times that the joined context of a function is executed again because it has grown.
const GROWTHS: u32 = 4;

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
    /// No call on the way from the root may lead elsewhere.
    pub certain: bool,
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
    /// Locks at which threads stop while somebody else holds them, with nothing to guard, and the roots that do.
    pub gates: BTreeMap<Path, BTreeSet<usize>>,
    /// What was cut.
    pub cut: Cut,
}

/// Finds all that runs, from these roots on.
///
/// `running`: threads that run when the first start begins.
pub fn run(subject: &Subject<'_>, summaries: &BottomUp, starts: &[RootKey], running: &Threads) -> TopDown {
    let mut work = Work {
        subject,
        summaries,
        single: single_functions(subject, starts),
        found: TopDown::default(),
        known: HashMap::new(),
        count: HashMap::new(),
        roots: HashMap::new(),
        shown: HashMap::new(),
        due: Vec::new(),
        lent: Lent::default(),
    };
    for (number, key) in starts.iter().enumerate() {
        let root = work.root(*key, RootKind::Thread, None);
        work.found.roots[root].many = key.start == Start::AnyTime;
        let parameters = subject.module[key.function].parameters as usize;
        let entry = Entry {
            formals: thread_root::known_formals(vec![], key.function, parameters),
            way: Disjunct {
                threads: if number == 0 {
                    running.clone()
                } else {
                    Threads::default()
                },
                ..Disjunct::entry()
            },
            creator: None,
        };
        work.enter(root, key.function, entry, None, true);
    }
    while !work.due.is_empty() {
        let due = std::mem::take(&mut work.due);
        for (context, seen) in work.wave(&due) {
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
    /// What executions showed.
    shown: HashMap<Likeness, Vec<Seen>>,
    due: Vec<u32>,
    lent: Lent,
}

/// What contexts have in common that differ in the root and in the threads that run only: the function, the entry
/// without the threads, and whether other code may run at all.
type Likeness = (FunctionId, Entry, bool);

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
                shared: BTreeSet::new(),
                barriers: 0,
                lent: BTreeSet::new(),
            });
            self.found.roots.len() - 1
        })
    }

    /// Enters a function, unless that has been done.
    fn enter(
        &mut self,
        root: usize,
        function: FunctionId,
        entry: Entry,
        caller: Option<(u32, Option<LocationId>)>,
        certain: bool,
    ) {
        let known = (root, function, entry);
        if let Some(number) = self.known.get(&known) {
            self.found.contexts[*number as usize].certain |= certain;
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
                certain,
            });
            self.due.push(next);
            return;
        }
        self.found.cut.contexts += 1;
        let entry = own_terms::of(&entry, function);
        match joined {
            None => {
                *joined = Some(next);
                self.known.insert(known, next);
                self.found.contexts.push(Context {
                    root,
                    function,
                    entry,
                    caller,
                    certain,
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

    fn likeness(&self, number: u32) -> Likeness {
        let context = &self.found.contexts[number as usize];
        let mut entry = context.entry.clone();
        let threads = std::mem::take(&mut entry.way.threads);
        let start = self.found.roots[context.root].key.start;
        (context.function, entry, is_alone(start, &threads))
    }

    /// What each of these contexts shows, in their order: of those that are alike as many are executed as threads that
    /// matter tell apart.
    fn wave(&mut self, due: &[u32]) -> Vec<(u32, Seen)> {
        let alike: Vec<Likeness> = due.iter().map(|number| self.likeness(*number)).collect();
        let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
        let mut left: Vec<usize> = (0..due.len()).collect();
        loop {
            left.retain(|at| match self.seen_before(due[*at], &alike[*at]) {
                Some(shown) => {
                    seen.insert(*at, shown);
                    false
                }
                None => true,
            });
            if left.is_empty() {
                break;
            }
            let mut known: HashSet<&Likeness> = HashSet::new();
            let first: Vec<usize> = left.iter().filter(|at| known.insert(&alike[**at])).copied().collect();
            let executed: Vec<Seen> = first.par_iter().map(|at| self.execute(due[*at])).collect();
            for (at, shown) in first.into_iter().zip(executed) {
                self.shown.entry(alike[at].clone()).or_default().push(shown);
            }
        }
        seen.into_iter().map(|(at, shown)| (due[at], shown)).collect()
    }

    /// What a context shows if one that is alike was executed.
    fn seen_before(&self, number: u32, alike: &Likeness) -> Option<Seen> {
        let context = &self.found.contexts[number as usize];
        let under = Under {
            context: number,
            root: context.root,
            program: self.found.roots[context.root].key.start == Start::Program,
            threads: &context.entry.way.threads,
        };
        let shown = self.shown.get(alike)?;
        shown.iter().find_map(|seen| seen.under(self.subject, &under))
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
            taken: None,
            seen: Seen::default(),
        };
        execution.observe(&mut watch);
        watch.seen.beside = Beside {
            threads: context.entry.way.threads.clone(),
            program: watch.start == Start::Program,
            matter: execution.threads_matter,
            named: execution.named,
            places: execution.places,
        };
        watch.seen.beside.named.extend(handles(&context.entry));
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
        for (callee, entry, location, certain) in seen.calls {
            let certain = certain && self.found.contexts[number as usize].certain;
            self.enter(root, callee, entry, Some((number, location)), certain);
        }
        for created in seen.creations {
            let new = self.root(created.key, created.kind, created.location);
            let started = &mut self.found.roots[new];
            started.many |= created.again;
            started.creators.insert(root);
            match created.given {
                Some((object, true)) => drop(started.own.insert(object)),
                Some((object, false)) => drop(started.shared.insert(object)),
                None => {}
            }
            self.lent.creation(root, new, created.held);
            self.enter(new, created.key.function, created.entry, None, true);
        }
        self.lent.releases(root, seen.releases);
        self.found.orders.extend(seen.orders);
        self.found.controls.extend(seen.controls);
        self.found.hand_made.extend(seen.hand_made);
        for gate in seen.gates {
            self.found.gates.entry(gate).or_default().insert(root);
        }
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
        for root in &mut self.found.roots {
            root.own.retain(|object| !root.shared.contains(object));
        }
        self.lent.settle(&mut self.found.roots);
        self.found
    }
}

/// Creations whose handles a function is entered with.
fn handles(entry: &Entry) -> impl Iterator<Item = Site> + '_ {
    let values = entry.formals.iter().flatten().chain(entry.way.memory.values());
    values.flat_map(|v| v.paths()).filter_map(|path| match path.root {
        Root::Thread(site) => Some(site),
        _ => None,
    })
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
