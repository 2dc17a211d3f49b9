//! From each thread root downwards: which functions are executed in which contexts, and what they access there.
//!
//! A context is a function with what it is entered with: what its formals stand for, what is known of memory behind
//! them, locks held, threads that run. That is RELAY's guarded-access summaries turned round: instead of the accesses of
//! callees going up, in callers' terms (56 million of them for redis), the terms go down.
//!
//! Callers are gone through before callees, as far as there is such an order, so that all that a function is entered with
//! is known before it is executed. It is executed for at most [`CONTEXTS`] different entries, fewer in a large function or
//! program ([`Work::most`]); where there are more, locks are put in the function's own terms ([`own_terms`]), and entries
//! with the same locks are joined, then all, counted. What may be called at any time is one root, however many functions it
//! starts with: they know the same of other threads, and run beside each other as beside themselves. So is what is handed
//! over to be run later, of each kind, where the program's start is not known. Beyond [`ROOTS`] roots, further ones are
//! taken as one that may run at any time, counted.
//!
//! Functions of one height are executed in parallel; what they find is put together in order, so that results do not
//! depend on the number of threads.

use crate::access_path::{Path, Root, Site};
use crate::bottom_up::{self, BottomUp};
use crate::execution::{Entry, Execution, Summaries};
use crate::guarded_access::{ClassKey, OCCURRENCES, Occurrence};
use crate::joined_entry::{join_entries, join_neighbours, join_threads, loss, widen};
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
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, btree_map, hash_map};
use std::sync::Arc;

/// Entries for which a function is executed at most.
const CONTEXTS: usize = 32;
/// Entries for which any function may be executed.
const LEAST_CONTEXTS: usize = 3;
/// Instructions of a function, times its entries.
const INSTRUCTIONS: usize = 12_000;
/// Instructions of a program, times the entries of each function.
const ALL_INSTRUCTIONS: usize = 1_000_000;
/// Times that the joined contexts of a function are executed again because they have grown, before nothing more is known in
/// them but locks, threads and what is known to others.
const GROWTHS: u32 = 4;
/// Functions of a component from which on its recursion is gone through from top to bottom, again and again.
const ENTANGLED: usize = 1_000;
/// Calls of a function that wait for it from which on it is seen whether they will be joined, in a large program.
const CROWD: usize = 64;
/// Instructions of a program, times those of each function.
const ALL_GROWTHS: usize = 2_000_000;
/// Times that they are executed again at most.
const MOST_GROWTHS: u32 = 32;
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
    pub classes: BTreeMap<ClassKey, Vec<Occurrence>>,
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
pub fn run(subject: &Subject<'_>, summaries: &BottomUp, starts: &[RootKey], running: &Threads) -> TopDown {
    let graph = bottom_up::call_graph(subject);
    let mut entangled = vec![false; graph.len()];
    let large = |component: &Vec<usize>| component.len() > ENTANGLED;
    for component in bottom_up::components(&graph).into_iter().filter(large) {
        component.into_iter().for_each(|function| entangled[function] = true);
    }
    let mut work = Work {
        subject,
        summaries,
        heights: bottom_up::heights(&graph),
        entangled,
        single: single_functions(subject, starts),
        found: TopDown::default(),
        known: HashMap::new(),
        functions: FxHashMap::default(),
        roots: HashMap::new(),
        shared: BTreeMap::new(),
        rest: None,
        given: FxHashMap::default(),
        due: BTreeMap::new(),
        lent: Lent::default(),
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
        work.enter(root, key.function, entry, None, true);
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
    /// How high each function is above its callees.
    heights: Vec<usize>,
    /// Functions in recursion with many others.
    entangled: Vec<bool>,
    /// Functions that are executed once at most.
    single: Vec<bool>,
    found: TopDown,
    known: HashMap<(usize, FunctionId, Arc<Entry>), u32>,
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
}

/// What starts of one root have in common: that any thread may call them at any time, or else their kind.
type Shared = (bool, RootKind);

/// A call on its way.
struct Call {
    root: usize,
    entry: Entry,
    caller: Option<(u32, Option<LocationId>)>,
    certain: bool,
}

/// What a function has been entered with.
#[derive(Default)]
struct Entered {
    /// Entries for which it has been executed.
    count: usize,
    /// Joined entries.
    joined: Vec<Entry>,
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
    entry: Arc<Entry>,
}

/// What contexts have in common that differ in the root and in the threads that run only: the function, the entry
/// without the threads, and whether other code may run at all.
type Likeness = (FunctionId, Entry, bool);

impl Work<'_> {
    /// What is gone through next, the highest first. Recursion among many functions leads back up: what it brings waits until
    /// all that is below has been gone through.
    fn next(&mut self, below: &mut usize) -> Option<BTreeMap<FunctionId, Vec<Call>>> {
        let waits = |function: &FunctionId| self.entangled[function.index()];
        let above = self.due.range(*below..).rev();
        let above = above
            .filter(|(_, calls)| !calls.keys().all(waits))
            .map(|(at, _)| *at)
            .next();
        if let Some(height) = above {
            let all = self.due.remove(&height)?;
            let (waiting, next): (BTreeMap<_, _>, BTreeMap<_, _>) = all.into_iter().partition(|(f, _)| waits(f));
            if !waiting.is_empty() {
                self.due.insert(height, waiting);
            }
            return Some(next);
        }
        let next = self.due.range(..*below).next_back().or(self.due.last_key_value());
        *below = *next?.0;
        self.due.remove(below)
    }

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

    /// Enters a function, once all that calls it has been gone through.
    fn enter(
        &mut self,
        root: usize,
        function: FunctionId,
        mut entry: Entry,
        caller: Option<(u32, Option<LocationId>)>,
        certain: bool,
    ) {
        if self.rest == Some(root) {
            entry.way.threads = Threads::default();
        }
        let is_large = ALL_INSTRUCTIONS / self.subject.instructions.max(1) <= LEAST_CONTEXTS;
        let due = self.due.entry(self.heights[function.index()]).or_default();
        let calls = due.entry(function).or_default();
        calls.push(Call {
            root,
            entry,
            caller,
            certain,
        });
        if is_large && calls.len() >= CROWD && calls.len().is_power_of_two() {
            let all = std::mem::take(calls);
            let fewer = self.crowd(function, all);
            let due = self.due.entry(self.heights[function.index()]).or_default();
            due.insert(function, fewer);
        }
    }

    /// Joins waiting calls that will be joined in any case, those of one root with the same locks, so that few wait.
    fn crowd(&mut self, function: FunctionId, calls: Vec<Call>) -> Vec<Call> {
        if !self.functions.entry(function).or_default().crowded {
            let is_known = |call: &Call| {
                let key = (call.root, function, Arc::new(call.entry.clone()));
                self.known.contains_key(&key)
            };
            let new = calls.iter().filter(|call| !is_known(call));
            let different: HashSet<Likeness> = new.map(|call| self.likeness(function, call)).collect();
            if different.len() <= CONTEXTS {
                return calls;
            }
            self.functions.entry(function).or_default().crowded = true;
        }
        let mut joined: BTreeMap<(usize, RelativeLockset), Call> = BTreeMap::new();
        for mut call in calls {
            call.entry = own_terms::of(&call.entry, function);
            match joined.entry((call.root, call.entry.way.locks.clone())) {
                btree_map::Entry::Vacant(at) => drop(at.insert(call)),
                btree_map::Entry::Occupied(mut at) => {
                    let known = at.get_mut();
                    known.entry = join_entries(&known.entry, &call.entry, function);
                    known.certain |= call.certain;
                    self.found.cut.contexts += 1;
                }
            }
        }
        joined.into_values().collect()
    }

    /// Roots that are told apart: fewer in a large program, since most functions run in each.
    fn most_roots(&self) -> usize {
        (ALL_ROOTS / self.subject.instructions.max(1)).clamp(LEAST_ROOTS, ROOTS)
    }

    /// Entries for which a function is executed at most: in a large program the least where one execution takes long.
    fn most(&self, function: FunctionId) -> usize {
        let own = self.subject.module[function].instructions.len().max(1);
        let each = ALL_INSTRUCTIONS / self.subject.instructions.max(1);
        let long = self.summaries.summary(function).is_some_and(|s| s.widened);
        match each < CONTEXTS && long {
            true => LEAST_CONTEXTS,
            false => (INSTRUCTIONS / own).min(each).clamp(LEAST_CONTEXTS, CONTEXTS),
        }
    }

    /// Times that joined contexts are executed again with all that is known in them.
    fn growths(&self) -> u32 {
        ((ALL_GROWTHS / self.subject.instructions.max(1)) as u32).clamp(1, GROWTHS)
    }

    /// Makes contexts of calls of a function.
    fn choose(&mut self, function: FunctionId, calls: Vec<Call>, due: &mut Vec<Due>) {
        // Whatever is known already has been executed.
        let mut new: Vec<(Likeness, Call)> = Vec::new();
        let mut seen: HashMap<(usize, Entry), usize> = HashMap::new();
        for call in calls {
            let key = (call.root, function, Arc::new(call.entry));
            if let Some(number) = self.known.get(&key) {
                self.found.contexts[*number as usize].certain |= call.certain;
                continue;
            }
            let entry = Arc::unwrap_or_clone(key.2);
            match seen.entry((call.root, entry.clone())) {
                hash_map::Entry::Occupied(at) => new[*at.get()].1.certain |= call.certain,
                hash_map::Entry::Vacant(at) => {
                    at.insert(new.len());
                    let call = Call { entry, ..call };
                    new.push((self.likeness(function, &call), call));
                }
            }
        }
        let different = |new: &[(Likeness, Call)]| new.iter().map(|(l, _)| l).collect::<HashSet<_>>().len();
        let most = self.most(function);
        let left = most.saturating_sub(self.functions.entry(function).or_default().count);
        let fits = different(&new);
        if fits <= left && !self.functions.entry(function).or_default().crowded {
            self.functions.entry(function).or_default().count += fits;
            for (_, call) in new {
                let entry = Arc::new(call.entry.clone());
                self.context(function, call, entry, due);
            }
            return;
        }
        self.join(function, new, left, due);
    }

    /// A context of its own for a call.
    fn context(&mut self, function: FunctionId, call: Call, entry: Arc<Entry>, due: &mut Vec<Due>) -> u32 {
        let number = self.found.contexts.len() as u32;
        self.found.contexts.push(Context {
            root: call.root,
            function,
            caller: call.caller,
            certain: call.certain,
        });
        self.known.insert((call.root, function, Arc::new(call.entry)), number);
        due.push(Due { context: number, entry });
        number
    }

    /// Joins calls of a function into `left` more entries: those with the same locks, then those that lose least.
    fn join(&mut self, function: FunctionId, new: Vec<(Likeness, Call)>, left: usize, due: &mut Vec<Due>) {
        let mut entered = std::mem::take(self.functions.entry(function).or_default());
        self.found.cut.functions += usize::from(entered.joined.is_empty());
        self.found.cut.contexts += new.len();
        let mut by_locks: BTreeMap<RelativeLockset, Vec<(Entry, Call)>> = BTreeMap::new();
        for (_, call) in new {
            let entry = own_terms::of(&call.entry, function);
            by_locks.entry(entry.way.locks.clone()).or_default().push((entry, call));
        }
        let left = if entered.joined.is_empty() { left.max(1) } else { left };
        let is_known = |locks: &RelativeLockset| entered.joined.iter().any(|e| e.way.locks == *locks);
        let (known, mut others): (Vec<_>, Vec<_>) = by_locks.into_iter().partition(|(locks, _)| is_known(locks));
        // Where there is room for none, each goes to the entry that is most like it.
        if left > 0 {
            others = join_neighbours(others, left);
        }
        let mut grown: BTreeSet<usize> = BTreeSet::new();
        let mut roots: BTreeMap<(usize, usize), (Threads, Call)> = BTreeMap::new();
        for (locks, calls) in known.into_iter().chain(others) {
            let nearest = (0..entered.joined.len()).min_by_key(|n| loss(&entered.joined[*n].way.locks, &locks));
            let fits = |n: &usize| entered.joined[*n].way.locks == locks || entered.count >= self.most(function);
            let group = nearest.filter(fits).unwrap_or(entered.joined.len());
            for (mut entry, mut call) in calls {
                let threads = std::mem::take(&mut entry.way.threads);
                match entered.joined.get_mut(group) {
                    None => {
                        entered.joined.push(entry);
                        entered.count += 1;
                        grown.insert(group);
                    }
                    Some(known) => {
                        let mut both = join_entries(known, &entry, function);
                        let is_new = both != *known;
                        if is_new && entered.growths >= MOST_GROWTHS && !grown.contains(&group) {
                            self.found.cut.calls += 1;
                        } else if is_new {
                            if entered.growths >= self.growths() {
                                widen(&mut both);
                            }
                            *known = both;
                            grown.insert(group);
                        }
                    }
                }
                match roots.entry((group, call.root)) {
                    btree_map::Entry::Vacant(at) => drop(at.insert((threads, call))),
                    btree_map::Entry::Occupied(mut at) => {
                        let (known, first) = at.get_mut();
                        *known = join_threads(known, &threads);
                        first.certain |= call.certain;
                        call.certain = first.certain;
                    }
                }
            }
        }
        entered.growths += u32::from(!grown.is_empty());
        for ((group, root), (threads, call)) in roots {
            let known = entered.contexts.get(&(group, root)).cloned();
            let all = known
                .as_ref()
                .map_or(threads.clone(), |(t, _)| join_threads(t, &threads));
            let mut entry = entered.joined[group].clone();
            entry.way.threads = all.clone();
            let entry = Arc::new(entry);
            let number = match known {
                None => {
                    let number = self.context(function, call, entry, due);
                    entered.contexts.insert((group, root), (all, number));
                    continue;
                }
                Some((before, number)) => {
                    self.found.contexts[number as usize].certain |= call.certain;
                    self.known.insert((root, function, Arc::new(call.entry)), number);
                    if !grown.contains(&group) && before == all {
                        continue;
                    }
                    number
                }
            };
            entered.contexts.insert((group, root), (all, number));
            due.push(Due { context: number, entry });
        }
        // What has grown has done so for all that enter it.
        let again: HashSet<u32> = due.iter().map(|d| d.context).collect();
        for ((group, root), (threads, number)) in &entered.contexts {
            if grown.contains(group) && !again.contains(number) {
                let mut entry = entered.joined[*group].clone();
                entry.way.threads = threads.clone();
                debug_assert_eq!(self.found.contexts[*number as usize].root, *root);
                let entry = Arc::new(entry);
                due.push(Due {
                    context: *number,
                    entry,
                });
            }
        }
        self.functions.insert(function, entered);
    }

    fn likeness(&self, function: FunctionId, call: &Call) -> Likeness {
        let mut entry = call.entry.clone();
        let threads = std::mem::take(&mut entry.way.threads);
        let start = self.found.roots[call.root].key.start;
        (function, entry, is_alone(start, &threads))
    }

    /// What each of these contexts shows, in their order: of those that are alike as many are executed as threads that
    /// matter tell apart.
    fn wave(&self, due: &[Due]) -> Vec<(u32, Seen)> {
        let likeness = |due: &Due| {
            let context = &self.found.contexts[due.context as usize];
            let mut entry = (*due.entry).clone();
            let threads = std::mem::take(&mut entry.way.threads);
            let start = self.found.roots[context.root].key.start;
            (context.function, entry, is_alone(start, &threads))
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<Likeness, usize> = HashMap::new();
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
            threads: &due.entry.way.threads,
        }
    }

    fn execute(&self, due: &Due) -> Seen {
        let (number, entry) = (due.context, &*due.entry);
        let context = &self.found.contexts[number as usize];
        let mut execution = Execution::run(self.subject, self.summaries, context.function, entry);
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
            seen: Seen::default(),
        };
        execution.observe(&mut watch);
        watch.seen.widened = execution.overdone() > 0;
        watch.seen.left_out = execution.left_out.values().sum();
        watch.seen.unsettled = execution.unsettled as usize;
        watch.seen.beside = Beside {
            threads: entry.way.threads.clone(),
            program: watch.start == Start::Program,
            matter: execution.threads_matter,
            named: execution.named,
            places: execution.places,
        };
        watch.seen.beside.named.extend(handles(entry));
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
            self.enter(new, created.key.function, created.entry, None, true);
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
