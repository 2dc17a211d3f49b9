//! Vector clocks (Fidge 1988, Mattern 1989): for each thread the latest epoch known to have happened.
//!
//! A thread's own component is its current epoch; it advances after each release, so that what a
//! thread does later is not covered by what it gave away before. Missing components are 0, and epochs
//! start at 1. Cost: all operations but `get` are linear in the number of threads.

use alloc::vec::Vec;
use deadheat_model::ThreadId;

/// A thread's time: counts its releases, from 1. It stops at the maximum, which orders too much (a
/// pair may be missed) and never too little.
pub type Epoch = u32;

/// The latest epoch of each thread that happened before.
#[derive(Clone, Debug, Default)]
pub struct VectorClock {
    epochs: Vec<Epoch>,
}

impl VectorClock {
    /// A clock that knows nothing.
    pub const fn new() -> VectorClock {
        VectorClock { epochs: Vec::new() }
    }

    /// The component of one thread.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> Epoch {
        self.epochs.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets the component of one thread.
    pub fn set(&mut self, thread: ThreadId, epoch: Epoch) {
        if self.epochs.len() <= thread.index() {
            self.epochs.resize(thread.index() + 1, 0);
        }
        self.epochs[thread.index()] = epoch;
    }

    /// Begins the thread's next epoch.
    pub fn advance(&mut self, thread: ThreadId) {
        self.set(thread, self.get(thread).saturating_add(1));
    }

    /// Learns all that `other` knows; tells whether anything was new.
    pub fn join(&mut self, other: &VectorClock) -> bool {
        if self.epochs.len() < other.epochs.len() {
            self.epochs.resize(other.epochs.len(), 0);
        }
        let mut changed = false;
        for (mine, theirs) in self.epochs.iter_mut().zip(&other.epochs) {
            if *theirs > *mine {
                *mine = *theirs;
                changed = true;
            }
        }
        changed
    }

    /// Whether all that `other` knows is known here.
    pub fn covers(&self, other: &VectorClock) -> bool {
        other
            .epochs
            .iter()
            .enumerate()
            .all(|(i, e)| *e <= self.epochs.get(i).copied().unwrap_or(0))
    }

    /// Becomes a copy of `other`, keeping its memory.
    pub fn copy_from(&mut self, other: &VectorClock) {
        self.epochs.clone_from(&other.epochs);
    }

    /// Forgets everything, keeping its memory.
    pub fn clear(&mut self) {
        self.epochs.clear();
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.epochs.iter().all(|e| *e == 0)
    }
}

/// The two clocks that everything here carries: *hybrid* without lock edges, *full* with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    pub hybrid: VectorClock,
    pub full: VectorClock,
}

impl Clocks {
    pub fn copy_from(&mut self, other: &Clocks) {
        self.hybrid.copy_from(&other.hybrid);
        self.full.copy_from(&other.full);
    }

    pub fn join(&mut self, other: &Clocks) -> bool {
        self.full.join(&other.full);
        self.hybrid.join(&other.hybrid)
    }
}
