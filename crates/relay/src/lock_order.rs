//! Lock orders: cycles in which threads may wait for each other, and locks that a thread leaves behind.
//!
//! An edge goes from a lock held to a lock taken. A cycle is a suspicion if its edges can be in different threads at the
//! same time and no lock is held at all of them (a gate lock). Cycles have at most [`LENGTH`] locks; within a
//! strongly connected part at most [`STEPS`] steps are made, and parts where more would be needed are counted.

use crate::access_path::Path;
use crate::parallelism::{Moment, Parallelism};
use crate::relative_lockset::Mode;
use crate::top_down::{LockOrder, TopDown};
use deadheat_ir::FunctionId;
use std::collections::{BTreeMap, BTreeSet};

/// Locks of a cycle at most.
const LENGTH: usize = 4;
/// Steps of the search from one lock.
const STEPS: usize = 20_000;
/// Edges between the same two locks that are looked at.
const ALIKE: usize = 16;

/// A cycle: each edge's taken lock is the next one's held lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockCycle {
    /// The edges, from the smallest lock on.
    pub edges: Vec<LockOrder>,
}

/// Cycles, and how many searches were cut short.
pub fn cycles(found: &TopDown, parallelism: &Parallelism<'_>) -> (Vec<LockCycle>, usize) {
    let mut edges: BTreeMap<&Path, BTreeMap<&Path, Vec<&LockOrder>>> = BTreeMap::new();
    for order in &found.orders {
        if order.held != order.taken {
            let alike = edges.entry(&order.held).or_default().entry(&order.taken).or_default();
            if alike.len() < ALIKE {
                alike.push(order);
            }
        }
    }
    let mut found_cycles = BTreeMap::new();
    let mut cut = 0;
    for start in edges.keys() {
        let mut search = Search {
            edges: &edges,
            parallelism,
            start,
            steps: 0,
            cycles: &mut found_cycles,
        };
        search.extend(&mut Vec::new(), start);
        cut += usize::from(search.steps > STEPS);
    }
    (found_cycles.into_values().collect(), cut)
}

struct Search<'a, 'b> {
    edges: &'a BTreeMap<&'a Path, BTreeMap<&'a Path, Vec<&'a LockOrder>>>,
    parallelism: &'a Parallelism<'a>,
    start: &'a Path,
    steps: usize,
    cycles: &'b mut BTreeMap<Vec<Path>, LockCycle>,
}

impl<'a> Search<'a, '_> {
    fn extend(&mut self, path: &mut Vec<&'a LockOrder>, at: &'a Path) {
        let Some(next) = self.edges.get(at) else { return };
        for (to, orders) in next {
            // Each cycle is found from its smallest lock.
            let known = |p: &&LockOrder| p.held == **to;
            if *to < self.start || path.iter().any(known) && *to != self.start {
                continue;
            }
            for order in orders {
                self.steps += 1;
                if self.steps > STEPS {
                    return;
                }
                if !path.iter().all(|other| self.compatible(other, order)) {
                    continue;
                }
                path.push(order);
                if *to == self.start {
                    let locks: Vec<Path> = path.iter().map(|o| o.held.clone()).collect();
                    let edges = path.iter().map(|o| (*o).clone()).collect();
                    self.cycles.entry(locks).or_insert(LockCycle { edges });
                } else if path.len() < LENGTH {
                    self.extend(path, to);
                }
                path.pop();
            }
        }
    }

    /// Whether two edges of a cycle can be at the same time in different threads.
    fn compatible(&self, a: &LockOrder, b: &LockOrder) -> bool {
        let gate = a.all.iter().any(|lock| b.all.contains(lock));
        let readers = a.taken == b.held && a.taken_mode == Mode::Shared && b.held_mode == Mode::Shared
            || b.taken == a.held && b.taken_mode == Mode::Shared && a.held_mode == Mode::Shared;
        !gate && !readers && self.parallelism.may_be(moment(a), moment(b))
    }
}

fn moment(order: &LockOrder) -> Moment<'_> {
    Moment {
        root: order.root,
        threads: &order.threads,
        barriers: None,
    }
}

/// A lock that a thread has not given back when it ends, or gives back without having it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftLock {
    /// The root's number.
    pub root: usize,
    /// The function that it starts with.
    pub start: FunctionId,
    /// The lock.
    pub lock: Path,
    /// It is held at the end; else it was given back too often.
    pub held: bool,
}

/// Locks that threads leave behind.
pub fn left(found: &TopDown) -> BTreeSet<LeftLock> {
    let mut left = BTreeSet::new();
    for (root, start, locks) in &found.exits {
        for (lock, change) in locks.changes() {
            let held = change.acquired;
            let constant = lock.is_constant() && !found.controls.contains(lock) && !found.hand_made.contains(lock);
            if constant && (held || change.level < 0) {
                left.insert(LeftLock {
                    root: *root,
                    start: *start,
                    lock: lock.clone(),
                    held,
                });
            }
        }
    }
    left
}
