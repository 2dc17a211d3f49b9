//! Function instances of one execution, grouped as they end (Deng, Zhang, Lu, OOPSLA 2013, section 3.2.2).
//!
//! What the paper writes to a trace and groups afterwards is grouped here on the way, so memory does not grow with the
//! run: a *span* is (thread, lockset at entry, locks held without a break until exit, clock at entry, epoch at exit),
//! by the clock without lock edges, and what is kept is which functions have an instance in which span.
//!
//! Invariants. A thread's clock of others changes with its version only, so clocks are kept once per version. Beyond
//! [`Limits`] a span is joined with an earlier one of its thread and locks, and a clock is taken for an earlier one of
//! its thread: both order less, so a pair may be claimed that cannot be, none is lost; both are counted. What finds no
//! span to be joined with is dropped and counted apart.
//!
//! Cost: an instance whose thread did nothing between entry and exit is one probe of a table, and the caller may leave
//! out those of a function in a state that it came with before; another is some probes and the locks held.

use crate::happens_before::HappensBefore;
use crate::lockset::{LockId, Lockset};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use deadheat_model::{FunctionSpan, FunctionSpans, LockMode, ObjectKind, ThreadId};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Spans; up to twice as many where none can be joined.
    pub spans: usize,
    /// Components of clocks, all together.
    pub clocks: usize,
    /// Functions in spans.
    pub members: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            spans: 1 << 13,
            clocks: 1 << 20,
            members: 1 << 21,
        }
    }
}

/// A thread's state at a function's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Equal numbers mean an equal state; a state may come again under another number.
    pub state: u32,
    locks: Lockset,
    epoch: u32,
    clock: u32,
}

impl Entered {
    /// Not known; its number is never given.
    pub const UNKNOWN: Entered = Entered {
        state: 0,
        locks: Lockset::EMPTY,
        epoch: 0,
        clock: 0,
    };
}

/// A function instance that ends.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The thread.
    pub thread: ThreadId,
    /// The function's number.
    pub function: u32,
    /// The thread's state at its entry.
    pub entered: Entered,
    /// How many locks the thread had taken by then ([`HappensBefore::takings`]).
    pub takings: u64,
}

/// States told apart at once.
const STATES: usize = 1 << 14;
/// No clock yet.
const NONE: u32 = u32::MAX;

/// Groups of function instances.
#[derive(Default)]
pub struct FunctionInstances {
    limits: Limits,
    states: HashMap<(ThreadId, Lockset, u32, u32), u32, FxBuildHasher>,
    next_state: u32,
    /// Version and clock of each thread.
    known: Vec<(u32, u32)>,
    clocks: Vec<Vec<(ThreadId, u32)>>,
    components: usize,
    spans: Vec<FunctionSpan>,
    numbers: HashMap<FunctionSpan, u32, FxBuildHasher>,
    /// The span of a thread and its locks that others are joined with.
    widest: HashMap<(ThreadId, u32, u32), u32, FxBuildHasher>,
    members: HashSet<(u32, u32), FxBuildHasher>,
    widened: u64,
    dropped: u64,
}

impl FunctionInstances {
    /// None yet.
    pub fn new(limits: Limits) -> FunctionInstances {
        FunctionInstances {
            limits,
            ..FunctionInstances::default()
        }
    }

    /// The running thread's state, for the functions that it enters before anything changes.
    pub fn entered(&mut self, hb: &mut HappensBefore, thread: ThreadId) -> Entered {
        let (locks, epoch, clock) = (hb.lockset(thread), hb.hybrid_epoch(thread), self.clock(hb, thread));
        if self.states.len() >= STATES {
            self.states.clear();
        }
        let next = &mut self.next_state;
        let state = *self.states.entry((thread, locks, epoch, clock)).or_insert_with(|| {
            *next = next.wrapping_add(1).max(1);
            *next
        });
        Entered {
            state,
            locks,
            epoch,
            clock,
        }
    }

    fn clock(&mut self, hb: &mut HappensBefore, thread: ThreadId) -> u32 {
        hb.ensure(thread);
        if self.known.len() <= thread.index() {
            self.known.resize(thread.index() + 1, (0, NONE));
        }
        let version = hb.version(thread);
        let (seen, clock) = self.known[thread.index()];
        if clock != NONE && seen == version {
            return clock;
        }
        if clock != NONE && self.components >= self.limits.clocks {
            self.widened += 1;
            self.known[thread.index()].0 = version;
            return clock;
        }
        let others = hb.hybrid_clock(thread);
        let number = self.clocks.len() as u32;
        self.components += others.len() + 1;
        self.clocks.push(others);
        self.known[thread.index()] = (version, number);
        number
    }

    /// A function ends in the state in which it began, nothing having happened in between.
    pub fn ended_unchanged(&mut self, ended: Ended) {
        let Entered { locks, epoch, .. } = ended.entered;
        self.add(ended, locks, epoch);
    }

    /// A function ends.
    pub fn ended(&mut self, hb: &mut HappensBefore, ended: Ended) {
        let through = hb.held_since(ended.thread, ended.takings);
        let epoch = hb.hybrid_epoch(ended.thread);
        self.add(ended, through, epoch);
    }

    fn add(&mut self, ended: Ended, through: Lockset, exit: u32) {
        let span = FunctionSpan {
            thread: ended.thread,
            locks: ended.entered.locks.0,
            through: through.0,
            clock: ended.entered.clock,
            entry: ended.entered.epoch,
            exit,
            widened: false,
        };
        let number = match self.numbers.get(&span) {
            Some(number) => *number,
            None => match self.new_span(span) {
                Some(number) => number,
                None => {
                    self.dropped += 1;
                    return;
                }
            },
        };
        let member = (ended.function, number);
        if self.members.len() < self.limits.members {
            self.members.insert(member);
        } else if !self.members.contains(&member) {
            self.dropped += 1;
        }
    }

    fn new_span(&mut self, span: FunctionSpan) -> Option<u32> {
        let kind = (span.thread, span.locks, span.through);
        let full = self.spans.len() >= self.limits.spans;
        if full && let Some(number) = self.widest.get(&kind) {
            // An instance that ends later may have begun before the one that is stood for.
            let known = &mut self.spans[*number as usize];
            if (span.entry, span.clock) < (known.entry, known.clock) {
                (known.entry, known.clock) = (span.entry, span.clock);
            }
            known.exit = known.exit.max(span.exit);
            known.widened = true;
            self.widened += 1;
            return Some(*number);
        }
        if self.spans.len() >= self.limits.spans * 2 {
            return None;
        }
        let number = self.spans.len() as u32;
        self.spans.push(span);
        self.numbers.insert(span, number);
        self.widest.entry(kind).or_insert(number);
        Some(number)
    }

    /// What was grouped so far; of lock words only those that turned out to be locks protect.
    pub fn grouped(&self, hb: &HappensBefore) -> FunctionSpans {
        let words = hb.lock_words();
        let is_lock = |lock: LockId| match hb.lock_object(lock) {
            Some((ObjectKind::LockWord, object)) => words.binary_search(&object.address).is_ok(),
            _ => true,
        };
        let used: BTreeSet<u32> = self.spans.iter().flat_map(|s| [s.locks, s.through]).collect();
        let locksets = used.iter().map(|set| {
            let locks = hb.locksets().locks(Lockset(*set)).filter(|(lock, _)| is_lock(*lock));
            locks.map(|(lock, mode)| (lock.0, mode == LockMode::Read)).collect()
        });
        let mut members: Vec<(u32, u32)> = self.members.iter().copied().collect();
        members.sort_unstable();
        let places: HashMap<u32, u32, FxBuildHasher> = used.iter().copied().zip(0..).collect();
        let spans = self.spans.iter().map(|span| FunctionSpan {
            locks: places[&span.locks],
            through: places[&span.through],
            ..*span
        });
        FunctionSpans {
            clocks: self.clocks.clone(),
            locksets: locksets.collect(),
            spans: spans.collect(),
            members,
            widened: self.widened,
            dropped: self.dropped,
        }
    }
}

impl HappensBefore {
    /// Locks that the thread has taken so far, the outermost of recursive holds.
    pub fn takings(&self, thread: ThreadId) -> u64 {
        self.threads.get(thread.index()).map_or(0, |t| t.takings)
    }

    /// The locks that a thread has held without a break since it had taken so many.
    pub fn held_since(&mut self, thread: ThreadId, takings: u64) -> Lockset {
        let Some(t) = self.threads.get(thread.index()) else {
            return Lockset::EMPTY;
        };
        if t.held.last().is_none_or(|h| h.taken <= takings) {
            return t.lockset;
        }
        let held = t.held.iter().filter(|h| h.taken <= takings);
        held.fold(Lockset::EMPTY, |set, h| self.locksets.with(set, h.lock, h.mode))
    }

    /// What the thread knows of the others by the hybrid clock.
    fn hybrid_clock(&self, thread: ThreadId) -> Vec<(ThreadId, u32)> {
        let others = (0..self.threads.len() as u32).map(ThreadId).filter(|t| *t != thread);
        let known = |t: ThreadId| self.threads[thread.index()].clocks.hybrid.get(t);
        others.map(|t| (t, known(t))).filter(|(_, epoch)| *epoch > 0).collect()
    }
}
