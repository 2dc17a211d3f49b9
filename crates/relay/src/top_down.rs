//! From each thread root downwards: which functions are executed in which contexts, and what they access there.
//!
//! A context is a function with what it is entered with: what its formals stand for, what is known of memory behind
//! them, locks held, threads that run. That is RELAY's guarded-access summaries turned round: instead of the accesses of
//! callees going up, in callers' terms (56 million of them for redis), the terms go down.
//!
//! Callers are gone through before callees, as far as there is such an order, so that all that a function is entered with
//! is known before it is executed. It is executed for at most [`contexts::CONTEXTS`] different entries, fewer in a large function or
//! program ([`Work::most`]); where there are more, locks are put in the function's own terms ([`crate::own_terms`]), and entries
//! with the same locks are joined, then all, counted. What may be called at any time is one root, however many functions it
//! starts with: they know the same of other threads, and run beside each other as beside themselves. So is what is handed
//! over to be run later, of each kind, where the program's start is not known. Beyond [`ROOTS`] roots, further ones are
//! taken as one that may run at any time, counted.
//!
//! Functions of one height are executed in parallel; what they find is put together in order, so that results do not
//! depend on the number of threads.

mod contexts;
mod waiting;

use crate::access_path::{Path, Root, Site};
use crate::bottom_up::{self, BottomUp};
use crate::entering::Entering;
use crate::execution::{Entry, Execution};
use crate::guarded_access::{ClassKey, OCCURRENCES, Occurrence, Occurrences};
use crate::lent_lock::Lent;
use crate::memo::Memo;
use crate::models::RootKind;
use crate::observation::{Beside, Seen, Under, Watch, is_alone};
use crate::relative_lockset::{Mode, RelativeLockset};
use crate::relative_view::RelativeView;
use crate::state::{Disjunct, Threads};
use crate::subject::Subject;
use crate::thread_root::{self, RootKey, Start, ThreadRoot};
use deadheat_ir::{FunctionId, LocationId};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// Entries for which any function may be executed.
const LEAST_CONTEXTS: usize = 3;
/// Instructions of a program, times the entries of each function.
const ALL_INSTRUCTIONS: usize = 1_000_000;
/// Functions of a component from which on its recursion is gone through from top to bottom, again and again.
const ENTANGLED: usize = 1_000;
/// Roots that are told apart.
const ROOTS: usize = 64;
/// The same in any program.
const LEAST_ROOTS: usize = 3;
/// Instructions of a program, times the roots that are told apart.
const ALL_ROOTS: usize = 4_000_000;

/// A function and what it is entered with.
#[derive(Clone, Debug)]
pub struct Context {
    /// The root's number.
    pub root: usize,
    /// The function.
    pub function: FunctionId,
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
    /// Functions of which some were.
    pub functions: usize,
    /// Calls that are not followed.
    pub calls: usize,
    /// Roots that are not told apart.
    pub roots: usize,
    /// Blocks of contexts that were left before they came to rest.
    pub blocks: usize,
    /// Places of which a callee is not told what stands there.
    pub unsaid: usize,
    /// Occurrences that their class did not keep.
    pub occurrences: usize,
    /// Acquisitions or releases of a lock that has no name.
    pub nameless: usize,
    /// Creations of which it is not known what they start.
    pub unknown_starts: usize,
    /// Functions handed to code that is not seen that are left out.
    pub handed: usize,
}

/// All that runs, and what it accesses.
#[derive(Clone, Debug, Default)]
pub struct TopDown {
    /// The roots, the program's own first.
    pub roots: Vec<ThreadRoot>,
    /// The contexts.
    pub contexts: Vec<Context>,
    /// Where roots' functions are handed over to be started, by root and function.
    pub created: FxHashMap<(usize, FunctionId), Option<LocationId>>,
    /// The accesses.
    pub classes: BTreeMap<ClassKey, Occurrences>,
    /// Locks taken while others were held.
    pub orders: BTreeSet<LockOrder>,
    /// Roots, the functions that they start with, and locksets with which those end.
    pub exits: Vec<(usize, FunctionId, RelativeLockset)>,
    /// Locks that are a once-control.
    pub controls: BTreeSet<Path>,
    /// Words that are taken as a lock by an atomic operation.
    pub hand_made: BTreeSet<Path>,
    /// Locks at which threads stop while somebody else holds them, with nothing to guard, and the roots that do.
    pub gates: BTreeMap<Path, BTreeSet<usize>>,
    /// Functions in which ways were joined early.
    pub widened: BTreeSet<FunctionId>,
    /// What was cut.
    pub cut: Cut,
}

/// Finds all that runs, from these roots on.
///
/// `running`: threads that run when the first start begins.
pub(crate) fn run(
    subject: &Subject<'_>,
    summaries: &BottomUp,
    memo: Option<&Memo>,
    starts: &[RootKey],
    running: &Threads,
) -> TopDown {
    let graph = bottom_up::call_graph(subject);
    let mut entangled = vec![false; graph.len()];
    let large = |component: &Vec<usize>| component.len() > ENTANGLED;
    for component in bottom_up::components(&graph).into_iter().filter(large) {
        component.into_iter().for_each(|function| entangled[function] = true);
    }
    let mut work = Work {
        subject,
        summaries,
        memo,
        heights: bottom_up::heights(&graph),
        entangled,
        single: single_functions(subject, starts),
        found: TopDown::default(),
        classes: FxHashMap::default(),
        known: FxHashMap::default(),
        functions: FxHashMap::default(),
        roots: HashMap::new(),
        shared: BTreeMap::new(),
        rest: None,
        given: FxHashMap::default(),
        due: BTreeMap::new(),
        lent: Lent::default(),
        views: (0..graph.len()).map(|_| OnceLock::new()).collect(),
    };
    for (number, key) in starts.iter().enumerate() {
        let root = work.root(*key, RootKind::Thread, key.start != Start::AnyTime);
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
        work.enter(root, key.function, Entering::new(entry), None, true);
    }
    let mut below = usize::MAX;
    while let Some(due) = work.next(&mut below) {
        let mut contexts = Vec::new();
        for (function, calls) in due {
            work.choose(function, calls, &mut contexts);
        }
        for (context, seen) in work.wave(&contexts) {
            work.take(context, seen);
        }
    }
    work.finish()
}

impl TopDown {
    /// The contexts from one upwards to where its thread starts.
    pub fn upwards(&self, context: u32) -> impl Iterator<Item = &Context> {
        let mut seen = HashSet::from([context]);
        let above = move |below: &&Context| {
            let (caller, _) = below.caller?;
            seen.insert(caller).then(|| &self.contexts[caller as usize])
        };
        std::iter::successors(Some(&self.contexts[context as usize]), above)
    }

    /// The function that a context's thread starts with.
    pub fn start(&self, context: u32) -> FunctionId {
        let key = self.roots[self.contexts[context as usize].root].key;
        let first = self.upwards(context).find(|c| c.caller.is_none());
        first.map_or(key.function, |c| c.function)
    }
}

struct Work<'a> {
    subject: &'a Subject<'a>,
    summaries: &'a BottomUp,
    memo: Option<&'a Memo>,
    /// How high each function is above its callees.
    heights: Vec<usize>,
    /// Functions in recursion with many others.
    entangled: Vec<bool>,
    /// Functions that are executed once at most.
    single: Vec<bool>,
    found: TopDown,
    /// The accesses, in no order.
    classes: FxHashMap<ClassKey, Occurrences>,
    /// Contexts, by their roots, functions and the identities of what they are entered with.
    known: FxHashMap<(usize, FunctionId, u128), u32>,
    functions: FxHashMap<FunctionId, Entered>,
    roots: HashMap<RootKey, usize>,
    /// The roots of which it does not matter who creates them, by kind.
    shared: BTreeMap<Shared, usize>,
    /// The root that stands for all beyond [`ROOTS`].
    rest: Option<usize>,
    /// Calls of functions that have not been gone through yet, by their height.
    due: BTreeMap<usize, BTreeMap<FunctionId, Vec<Call>>>,
    lent: Lent,
    /// The start to which each object of a root was given first.
    given: FxHashMap<(usize, Root), RootKey>,
    /// In a large program: what each function shows relative to its entry.
    views: Vec<OnceLock<RelativeView>>,
}

/// What starts of one root have in common: that any thread may call them at any time, or else their kind.
type Shared = (bool, RootKind);

/// A call on its way.
struct Call {
    root: usize,
    entering: Entering,
    caller: Option<(u32, Option<LocationId>)>,
    certain: bool,
}

/// What a function has been entered with.
#[derive(Default)]
struct Entered {
    /// Entries for which it has been executed.
    count: usize,
    /// Joined entries, without threads.
    joined: Vec<Entry>,
    /// What has been joined into each, by its likeness.
    within: FxHashSet<(usize, u128)>,
    /// Their contexts, by root.
    contexts: BTreeMap<(usize, usize), (Threads, u32)>,
    /// How often they have grown.
    growths: u32,
    /// So many calls waited that some were joined before it was gone through.
    crowded: bool,
}

/// A context that is due.
struct Due {
    context: u32,
    entering: Entering,
}

/// What contexts have in common that differ in the root and in the threads that run only: the function, the entry's
/// likeness, and whether other code may run at all.
type Likeness = (FunctionId, u128, bool);

impl Work<'_> {
    /// The root of a start. `is_followed`: it is known beside whom it runs.
    fn root(&mut self, key: RootKey, kind: RootKind, is_followed: bool) -> usize {
        if let Some(known) = self.roots.get(&key) {
            return *known;
        }
        let shared = (key.start == Start::AnyTime, kind);
        if let Some(known) = self.shared.get(&shared).copied().filter(|_| !is_followed) {
            self.found.roots[known].others += 1;
            self.roots.insert(key, known);
            return known;
        }
        let full = self.found.roots.len() >= self.most_roots();
        let known = match self.rest.filter(|_| full) {
            Some(rest) => rest,
            None => {
                let start = if full { Start::AnyTime } else { key.start };
                self.found.roots.push(ThreadRoot {
                    key: RootKey { start, ..key },
                    kind,
                    many: start == Start::AnyTime,
                    others: 0,
                    creators: BTreeSet::new(),
                    own: BTreeSet::new(),
                    shared: BTreeSet::new(),
                    barriers: 0,
                    lent: BTreeSet::new(),
                });
                self.found.roots.len() - 1
            }
        };
        if full {
            self.found.roots[known].others += usize::from(self.rest.is_some());
            self.rest = Some(known);
            self.found.cut.roots += 1;
        } else if !is_followed {
            self.shared.insert(shared, known);
        }
        self.roots.insert(key, known);
        known
    }

    /// Roots that are told apart: fewer in a large program, since most functions run in each.
    fn most_roots(&self) -> usize {
        (ALL_ROOTS / self.subject.instructions.max(1)).clamp(LEAST_ROOTS, ROOTS)
    }

    /// What each of these contexts shows, in their order: of those that are alike as many are executed as threads that
    /// matter tell apart.
    fn wave(&self, due: &[Due]) -> Vec<(u32, Seen)> {
        let likeness = |due: &Due| {
            let context = &self.found.contexts[due.context as usize];
            let start = self.found.roots[context.root].key.start;
            let alone = is_alone(start, &due.entering.threads);
            (context.function, due.entering.likeness(), alone)
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut known: FxHashMap<Likeness, usize> = FxHashMap::default();
        for (at, each) in due.iter().enumerate() {
            let next = groups.len();
            let group = *known.entry(likeness(each)).or_insert(next);
            if group == next {
                groups.push(Vec::new());
            }
            groups[group].push(at);
        }
        let mut seen: Vec<(usize, Seen)> = groups
            .par_iter()
            .flat_map_iter(|group| {
                let mut shown: Vec<Seen> = Vec::new();
                let mut all = Vec::with_capacity(group.len());
                for at in group {
                    let known = shown
                        .iter()
                        .find_map(|seen| seen.under(self.subject, &self.under(&due[*at])));
                    all.push((
                        *at,
                        known.unwrap_or_else(|| {
                            shown.push(self.execute(&due[*at]));
                            shown[shown.len() - 1].clone()
                        }),
                    ));
                }
                all
            })
            .collect();
        seen.sort_unstable_by_key(|(at, _)| *at);
        seen.into_iter().map(|(at, seen)| (due[at].context, seen)).collect()
    }

    fn under<'d>(&self, due: &'d Due) -> Under<'d> {
        let context = &self.found.contexts[due.context as usize];
        Under {
            context: due.context,
            root: context.root,
            program: self.found.roots[context.root].key.start == Start::Program,
            threads: &due.entering.threads,
        }
    }

    fn execute(&self, due: &Due) -> Seen {
        let (number, entry) = (due.context, &due.entering.entry());
        let context = &self.found.contexts[number as usize];
        let mut watch = Watch {
            subject: self.subject,
            summaries: self.summaries,
            single: &self.single,
            context: number,
            root: context.root,
            start: self.found.roots[context.root].key.start,
            creator: entry.creator,
            function: context.function,
            taken: None,
            called: FxHashMap::default(),
            seen: Seen::default(),
        };
        let program = watch.start == Start::Program;
        if self.subject.is_large {
            let view = self.views[context.function.index()].get_or_init(|| match self.memo {
                Some(memo) => memo.view(self.subject, self.summaries, context.function),
                None => RelativeView::of(self.subject, self.summaries, context.function),
            });
            view.tell(self.subject, self.summaries, context.function, entry, &mut watch);
            watch.seen.widened = view.widened;
            watch.seen.left_out = view.left_out;
            watch.seen.unsettled = view.unsettled;
            watch.seen.beside = view.beside(entry, program);
        } else {
            let mut execution = Execution::run(self.subject, self.summaries, context.function, entry);
            execution.observe(&mut watch);
            watch.seen.widened = execution.overdone() > 0;
            watch.seen.left_out = execution.left_out.values().sum();
            watch.seen.unsettled = execution.unsettled as usize;
            watch.seen.beside = Beside {
                threads: entry.way.threads.clone(),
                program,
                matter: execution.threads_matter,
                named: Arc::new(execution.named),
                handles: BTreeSet::new(),
                places: Arc::new(execution.places),
            };
        }
        watch.seen.beside.handles.extend(handles(entry));
        watch.seen
    }

    fn take(&mut self, number: u32, seen: Seen) {
        let root = self.found.contexts[number as usize].root;
        for (class, occurrence) in seen.classes {
            let kept = self.classes.entry(class).or_default();
            let known = kept.iter().any(|o| o.site == occurrence.site);
            match (known, kept.len() < OCCURRENCES) {
                (true, _) => {}
                (false, true) => kept.push(occurrence),
                (false, false) => self.found.cut.occurrences += 1,
            }
        }
        for called in seen.calls {
            let certain = called.certain && self.found.contexts[number as usize].certain;
            let caller = Some((number, called.location));
            self.enter(root, called.callee, called.entering, caller, certain);
        }
        for created in seen.creations {
            let new = self.root(created.key, created.kind, created.is_followed);
            let started = &mut self.found.roots[new];
            started.many |= created.again;
            started.creators.insert(root);
            if let Some((object, private)) = created.given {
                let first = *self.given.entry((new, object)).or_insert(created.key);
                match private && first == created.key {
                    true => started.own.insert(object),
                    false => started.shared.insert(object),
                };
            }
            self.lent.creation(root, new, created.held);
            self.found
                .created
                .entry((new, created.key.function))
                .or_insert(created.location);
            self.enter(new, created.key.function, created.entering, None, true);
        }
        self.lent.releases(root, seen.releases);
        self.found.orders.extend(seen.orders);
        self.found.controls.extend(seen.controls);
        self.found.hand_made.extend(seen.hand_made);
        for gate in seen.gates {
            self.found.gates.entry(gate).or_default().insert(root);
        }
        let context = &self.found.contexts[number as usize];
        if context.caller.is_none() {
            let exits = seen.exits.into_iter().map(|locks| (root, context.function, locks));
            self.found.exits.extend(exits);
        }
        let barriers = &mut self.found.roots[root].barriers;
        *barriers = (*barriers).max(seen.barriers);
        if seen.widened {
            self.found.widened.insert(self.found.contexts[number as usize].function);
        }
        self.found.cut.blocks += seen.unsettled;
        self.found.cut.handed += seen.left_out;
        self.found.cut.unsaid += seen.unsaid;
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
        self.found.classes = std::mem::take(&mut self.classes).into_iter().collect();
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

#[cfg(test)]
#[path = "top_down_tests.rs"]
mod tests;
