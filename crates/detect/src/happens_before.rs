//! Happens-before of one execution, as it runs.
//!
//! Each thread has two vector clocks. The *hybrid* clock (O'Callahan and Choi, PPoPP 2003) takes the
//! edges of create, join, condition variables, barriers, semaphores, once, and atomics, but none of
//! locks: what merely happened not to overlap stays unordered, and locksets say what could not overlap.
//! The *full* clock takes lock edges too: what it leaves unordered is a data race by C11/C++11.
//!
//! Invariants. An access in a thread's epoch `e` happened before what another thread does now exactly if
//! that thread's clock has at least `e` for the first. One epoch has at most one release, at its end. The
//! full clock covers the hybrid clock's order. A thread's `version` changes when its hybrid clock learns
//! of other threads, and only then: while it stands, which contexts are ordered before the thread is
//! fixed.
//!
//! Cost: releases and acquisitions copy or join a clock, linear in the threads of the run; an acquisition
//! of what is known already is constant. Lock operations touch only the full clock and the lockset.

use crate::atomics::{Atomics, Release};
use crate::context::{Context, Contexts, ThreadContexts};
use crate::locks::{Held, LockTable};
use crate::lockset::{Lockset, Locksets};
use crate::vector_clock::{Clocks, Epoch, VectorClock};
use alloc::vec::Vec;
use deadheat_model::ThreadId;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

/// Which clocks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The hybrid clock only: run 1.
    Hybrid,
    /// The full clock only: confirmation.
    Full,
    /// Both: run 2.
    Both,
}

impl Keep {
    fn hybrid(self) -> bool {
        self != Keep::Full
    }

    fn full(self) -> bool {
        self != Keep::Hybrid
    }
}

#[derive(Default)]
pub(crate) struct Thread {
    pub clocks: Clocks,
    pub version: u32,
    /// How often the full clock learned of others.
    pub learned: u32,
    pub held: Vec<Held>,
    /// Locks taken so far, the outermost of recursive holds.
    pub takings: u64,
    pub lockset: Lockset,
    /// Clocks at the last release fence: relaxed stores give these.
    pub release_fence: Option<Release>,
    /// What relaxed loads saw: the next acquire fence learns it.
    pub unfenced: Clocks,
    pub contexts: ThreadContexts,
    /// Addresses of tentative lock words held, oldest first.
    pub tentative: Vec<u64>,
}

/// The clocks, locksets and contexts of one run.
pub struct HappensBefore {
    pub(crate) keep: Keep,
    pub(crate) threads: Vec<Thread>,
    pub(crate) versions: u32,
    pub(crate) locks: LockTable,
    pub(crate) locksets: Locksets,
    pub(crate) contexts: Contexts,
    edges: HashMap<u64, Release, FxBuildHasher>,
    pub(crate) atomics: Atomics,
    pub(crate) known_words: HashSet<u64, FxBuildHasher>,
    pub(crate) freed_words: HashSet<u64, FxBuildHasher>,
    pub(crate) learned_late: u64,
}

impl HappensBefore {
    /// The start of a run, with its main thread.
    pub fn new(keep: Keep) -> HappensBefore {
        let mut hb = HappensBefore {
            keep,
            threads: Vec::new(),
            versions: 0,
            locks: LockTable::default(),
            locksets: Locksets::new(),
            contexts: Contexts::new(),
            edges: HashMap::default(),
            atomics: Atomics::new(),
            known_words: HashSet::default(),
            freed_words: HashSet::default(),
            learned_late: 0,
        };
        hb.ensure(ThreadId::MAIN);
        hb
    }

    /// A new thread begins knowing what its creator knows.
    pub fn created(&mut self, parent: ThreadId, child: ThreadId) {
        self.ensure(parent.max(child));
        if let Ok([from, to]) = self.threads.get_disjoint_mut([parent.index(), child.index()]) {
            to.clocks.join(&from.clocks);
            to.learned += 1;
        }
        self.new_version(child);
        self.advance(parent, true);
    }

    /// A thread ended; what it held it holds no more (robust mutexes are released by their own event).
    pub fn ended(&mut self, thread: ThreadId) {
        self.ensure(thread);
        let t = &mut self.threads[thread.index()];
        t.release_fence = None;
        t.unfenced = Clocks::default();
        t.contexts = ThreadContexts::default();
        self.advance(thread, true);
    }

    /// A thread joined one that ended.
    pub fn joined(&mut self, thread: ThreadId, child: ThreadId) {
        self.ensure(thread.max(child));
        if thread == child {
            return;
        }
        let clocks = core::mem::take(&mut self.threads[child.index()].clocks);
        self.learn(thread, &clocks, None, true);
        self.threads[child.index()].clocks = clocks;
    }

    /// What a thread did so far happens before what follows [`acquire_edge`](Self::acquire_edge) with
    /// this key. Call it only where someone may receive it: a signal that finds no waiter is no edge.
    pub fn release_edge(&mut self, thread: ThreadId, key: u64) {
        self.ensure(thread);
        let t = &self.threads[thread.index()];
        self.edges.entry(key).or_default().add(&t.clocks, thread, true);
        self.advance(thread, true);
    }

    /// See [`release_edge`](Self::release_edge).
    pub fn acquire_edge(&mut self, thread: ThreadId, key: u64) {
        self.ensure(thread);
        if let Some(release) = self.edges.remove(&key) {
            self.learn(thread, &release.clocks, release.owner, true);
            self.edges.insert(key, release);
        }
    }

    /// The thread was told something by a way that is not followed: all that any thread did so far happens before what
    /// it does next. More order than there is, never less.
    pub fn acquire_all(&mut self, thread: ThreadId) {
        self.ensure(thread);
        let mut all = Clocks::default();
        for (i, other) in self.threads.iter().enumerate() {
            let id = ThreadId(i as u32);
            all.hybrid.set(id, other.clocks.hybrid.get(id));
            all.full.set(id, other.clocks.full.get(id));
        }
        self.learn(thread, &all, None, true);
        for i in 0..self.threads.len() {
            self.advance(ThreadId(i as u32), true);
        }
    }

    /// Nobody will acquire by this key any more (a barrier's round is over, the object is destroyed).
    pub fn edge_forgotten(&mut self, key: u64) {
        self.edges.remove(&key);
    }

    /// The number of the running thread's present moment for shadow cells, at least 1. It changes with
    /// lock operations and releases; the same number comes again with the same lockset in the same epoch.
    #[inline]
    pub fn context(&mut self, thread: ThreadId, atomic: bool) -> u32 {
        self.ensure(thread);
        let t = &mut self.threads[thread.index()];
        let epoch = t.clocks.hybrid.get(thread);
        self.contexts.enter(&mut t.contexts, thread, epoch, t.lockset, atomic)
    }

    /// What a context's number stands for.
    pub fn context_of(&self, context: u32) -> Context {
        self.contexts.get(context)
    }

    /// All contexts: their number, their limit, what was cut.
    pub fn contexts(&mut self) -> &mut Contexts {
        &mut self.contexts
    }

    /// All locksets.
    pub fn locksets(&self) -> &Locksets {
        &self.locksets
    }

    /// The thread's present lockset.
    pub fn lockset(&self, thread: ThreadId) -> Lockset {
        self.threads.get(thread.index()).map_or(Lockset::EMPTY, |t| t.lockset)
    }

    /// Changes when what the thread knows of others by the hybrid clock changes, and never comes again:
    /// a memo of transitions is good for one (context, version).
    #[inline]
    pub fn version(&self, thread: ThreadId) -> u32 {
        self.threads.get(thread.index()).map_or(0, |t| t.version)
    }

    /// The thread's present epoch by the hybrid clock.
    #[inline]
    pub fn hybrid_epoch(&self, thread: ThreadId) -> Epoch {
        self.knows(thread, thread)
    }

    /// The thread's present epoch by the full clock.
    #[inline]
    pub fn full_epoch(&self, thread: ThreadId) -> Epoch {
        self.threads
            .get(thread.index())
            .map_or(0, |t| t.clocks.full.get(thread))
    }

    /// Whether what `other` did in its hybrid epoch `epoch` is ordered before `thread`'s present.
    #[inline]
    pub fn ordered(&self, thread: ThreadId, other: ThreadId, epoch: Epoch) -> bool {
        self.knows(thread, other) >= epoch
    }

    /// The same by the full clock.
    #[inline]
    pub fn fully_ordered(&self, thread: ThreadId, other: ThreadId, epoch: Epoch) -> bool {
        self.threads
            .get(thread.index())
            .is_some_and(|t| t.clocks.full.get(other) >= epoch)
    }

    /// Atomic operations on locations beyond the bound; their order is coarser than it was.
    pub fn atomics_cut(&self) -> u64 {
        self.atomics.overflowed
    }

    /// Bounds the number of 8-byte granules whose release sequences are told apart.
    pub fn limit_atomics(&mut self, granules: usize) {
        self.atomics.limit = granules;
    }

    /// Whether the full clock is kept.
    pub fn keeps_full(&self) -> bool {
        self.keep.full()
    }

    /// Keeps the context's number from standing for a later epoch, since someone remembers it.
    pub fn mark_used(&mut self, context: u32) {
        self.contexts.mark_used(context);
    }

    #[inline]
    fn knows(&self, thread: ThreadId, other: ThreadId) -> Epoch {
        self.threads
            .get(thread.index())
            .map_or(0, |t| t.clocks.hybrid.get(other))
    }

    /// Makes the thread known; it then knows nothing but its own first epoch.
    #[inline]
    pub(crate) fn ensure(&mut self, thread: ThreadId) {
        if thread.index() >= self.threads.len() {
            self.add_threads(thread);
        }
    }

    #[cold]
    fn add_threads(&mut self, last: ThreadId) {
        for i in self.threads.len()..=last.index() {
            let mut thread = Thread::default();
            let own = |keep: bool, clock: &mut VectorClock| {
                if keep {
                    clock.set(ThreadId(i as u32), 1)
                }
            };
            own(self.keep.hybrid(), &mut thread.clocks.hybrid);
            own(self.keep.full(), &mut thread.clocks.full);
            self.threads.push(thread);
            self.new_version(ThreadId(i as u32));
        }
    }

    fn new_version(&mut self, thread: ThreadId) {
        self.versions = self.versions.wrapping_add(1);
        self.threads[thread.index()].version = self.versions;
    }

    /// Begins the next epoch: always of the full clock, of the hybrid clock only after a hybrid edge.
    pub(crate) fn advance(&mut self, thread: ThreadId, hybrid: bool) {
        let clocks = &mut self.threads[thread.index()].clocks;
        if self.keep.full() {
            clocks.full.advance(thread);
        }
        if hybrid && self.keep.hybrid() {
            clocks.hybrid.advance(thread);
        }
    }

    /// The thread learns a release's clocks; tells whether the hybrid clock learned anything.
    pub(crate) fn learn(
        &mut self,
        thread: ThreadId,
        from: &Clocks,
        owner: Option<(ThreadId, Epoch, Epoch)>,
        hybrid: bool,
    ) -> bool {
        let t = &mut self.threads[thread.index()];
        let clocks = &mut t.clocks;
        if owner.is_some_and(|o| knows_owner(clocks, o, hybrid)) {
            return false;
        }
        if clocks.full.join(&from.full) {
            t.learned += 1;
        }
        if hybrid && clocks.hybrid.join(&from.hybrid) {
            self.new_version(thread);
            return true;
        }
        false
    }
}

/// Whether these clocks cover the release of this owner's epochs, and so all that it gave.
fn knows_owner(clocks: &Clocks, (owner, hybrid_epoch, full_epoch): (ThreadId, Epoch, Epoch), hybrid: bool) -> bool {
    clocks.full.get(owner) >= full_epoch && (!hybrid || clocks.hybrid.get(owner) >= hybrid_epoch)
}

impl Release {
    /// Adds a thread's clocks to what is given; without hybrid edge only the full clock.
    pub fn add(&mut self, from: &Clocks, thread: ThreadId, hybrid: bool) {
        let empty = self.clocks.hybrid.is_empty() && self.clocks.full.is_empty();
        if empty || self.owner.is_some_and(|o| knows_owner(from, o, true)) {
            self.clocks.full.copy_from(&from.full);
            if hybrid {
                self.clocks.hybrid.copy_from(&from.hybrid);
            }
            // Without hybrid edge an owner would vouch for a hybrid clock that may be older than it.
            let pure = hybrid || self.clocks.hybrid.is_empty();
            let hybrid_epoch = if hybrid { from.hybrid.get(thread) } else { 0 };
            self.owner = pure.then(|| (thread, hybrid_epoch, from.full.get(thread)));
        } else {
            self.clocks.full.join(&from.full);
            if hybrid {
                self.clocks.hybrid.join(&from.hybrid);
            }
            self.owner = None;
        }
    }

    /// Adds what a fence gave.
    pub fn add_release(&mut self, from: &Release, hybrid: bool) {
        if hybrid && self.clocks.hybrid.is_empty() && self.clocks.full.is_empty() {
            self.clocks.copy_from(&from.clocks);
            self.owner = from.owner;
        } else {
            self.clocks.full.join(&from.clocks.full);
            if hybrid {
                self.clocks.hybrid.join(&from.clocks.hybrid);
            }
            self.owner = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_told_by_anybody_comes_after_all_that_was_done_and_nothing_that_follows() {
        let (a, b) = (ThreadId(1), ThreadId(2));
        let mut hb = HappensBefore::new(Keep::Both);
        hb.created(ThreadId::MAIN, a);
        hb.created(ThreadId::MAIN, b);
        let done = hb.full_epoch(a);
        assert!(!hb.fully_ordered(b, a, done));
        hb.acquire_all(b);
        assert!(hb.fully_ordered(b, a, done) && hb.ordered(b, a, done));
        let next = hb.full_epoch(a);
        assert!(!hb.fully_ordered(b, a, next) && !hb.fully_ordered(a, b, hb.full_epoch(b)));
    }
}
