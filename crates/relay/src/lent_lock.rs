//! Lent locks: a thread creates another one while it holds a lock, and does not give the lock back before the other one has
//! been joined. As long as the other one runs, nobody but the creator can have the lock: it guards the created thread's
//! accesses as if that thread held it, against all but its lender.
//!
//! A lock is lent if every creation of the thread is under it, and no release by the creator happens while the thread may run.
//! What is lent to a thread is lent to those that it creates, as long as they have ended when the lock is given back.

use crate::access_path::{Path, Site};
use crate::state::{Status, Threads};
use crate::thread_root::{Start, ThreadRoot};
use std::collections::{BTreeMap, BTreeSet};

/// Creations under locks, and releases, as they are seen.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    /// By creator and created root: locks held at every creation.
    held: BTreeMap<(usize, usize), BTreeSet<Path>>,
    /// By root: threads that may run when it gives a lock (none: any) back.
    released: BTreeSet<(usize, Site, Option<Path>)>,
}

impl Lent {
    /// A creation, by a root, of another, under these locks.
    pub(crate) fn creation(&mut self, creator: usize, created: usize, held: BTreeSet<Path>) {
        let known = self.held.entry((creator, created)).or_insert_with(|| held.clone());
        known.retain(|lock| held.contains(lock));
    }

    /// Releases by a root, each with the threads that run then.
    pub(crate) fn releases(&mut self, root: usize, releases: BTreeSet<(Option<Path>, Threads)>) {
        for (lock, threads) in releases {
            let running = threads.iter().filter(|(_, status)| **status != Status::Joined);
            self.released
                .extend(running.map(|(thread, _)| (root, *thread, lock.clone())));
        }
    }

    /// Whether the root may give the lock back while the other one runs.
    fn gives_back(&self, root: usize, other: &ThreadRoot, lock: &Path) -> bool {
        let Start::Creation(name) = other.key.start else {
            return true;
        };
        self.released.contains(&(root, name, None)) || self.released.contains(&(root, name, Some(lock.clone())))
    }

    /// Writes down what is lent to each root. Of a root with several creators only what all of them lend would count,
    /// which is nothing, since they are different lenders.
    pub(crate) fn settle(&self, roots: &mut [ThreadRoot]) {
        for _ in 0..roots.len() {
            let mut changed = false;
            for number in 0..roots.len() {
                let Some(creator) = roots[number].creators.first().copied() else {
                    continue;
                };
                if roots[number].creators.len() > 1 || roots[creator].many {
                    continue;
                }
                let held = self.held.get(&(creator, number)).into_iter().flatten();
                let mut lent: BTreeSet<(Path, usize)> = held.map(|lock| (lock.clone(), creator)).collect();
                lent.extend(roots[creator].lent.iter().cloned());
                lent.retain(|(lock, lender)| !self.gives_back(*lender, &roots[number], lock));
                changed |= lent != roots[number].lent;
                roots[number].lent = lent;
            }
            if !changed {
                break;
            }
        }
    }
}
