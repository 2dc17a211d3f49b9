//! May-happen-in-parallel: whether two accesses of different threads can be unordered by creation, join and barriers.
//!
//! Each class of accesses carries what its thread knows of the threads that run: those it created or inherited from its
//! creator as created, and those that have been joined since. A thread that is an ancestor of another knows all about it:
//! what it has not created does not run yet. What was joined before a thread was created does not run beside it; and of two
//! threads that one creator makes, neither beside the other, one is over when the other begins.
//! Barriers: two threads that both pass them are in different phases where they have passed different numbers of them.

use crate::guarded_access::ClassKey;
use crate::models::RootKind;
use crate::state::{Status, Threads};
use crate::thread_root::{Start, ThreadRoot};

/// Who is an ancestor of whom.
#[derive(Debug)]
pub struct Parallelism<'a> {
    roots: &'a [ThreadRoot],
    /// For each root: the roots through one of which each of its creations goes.
    known_to: Vec<Vec<bool>>,
    /// Whether creation, join and barriers are looked at; without, all threads run beside each other.
    enabled: bool,
}

impl<'a> Parallelism<'a> {
    /// Of these roots.
    pub fn new(roots: &'a [ThreadRoot], enabled: bool) -> Parallelism<'a> {
        let count = roots.len();
        let mut known_to = vec![vec![false; count]; count];
        for (ancestor, _) in roots.iter().enumerate() {
            // Roots that can come about without this ancestor: not known to it.
            let mut without = vec![false; count];
            let mut due: Vec<usize> = (0..count)
                .filter(|r| *r != ancestor && roots[*r].creators.is_empty())
                .collect();
            while let Some(root) = due.pop() {
                if !std::mem::replace(&mut without[root], true) {
                    due.extend((0..count).filter(|r| *r != ancestor && roots[*r].creators.contains(&root)));
                }
            }
            for root in 0..count {
                known_to[root][ancestor] = root != ancestor && !without[root];
            }
        }
        Parallelism {
            roots,
            known_to,
            enabled,
        }
    }

    /// Whether two accesses, or locks taken, may happen at the same time in different threads.
    pub fn may_be(&self, a: Moment<'_>, b: Moment<'_>) -> bool {
        if a.root == b.root && !self.roots[a.root].many {
            return false;
        }
        let program = |m: Moment<'_>| self.roots[m.root].key.start == Start::Program;
        if program(a) && program(b) {
            return false;
        }
        let apart = || self.excludes(a, b) || self.excludes(b, a) || self.one_after_the_other(a, b);
        !self.enabled || !(apart() || self.in_other_phase(a, b))
    }

    /// Whether two threads of one creator are over before the other one is created: neither runs where the other begins.
    fn one_after_the_other(&self, a: Moment<'_>, b: Moment<'_>) -> bool {
        let (x, y) = (&self.roots[a.root], &self.roots[b.root]);
        let (Start::Creation(first), Start::Creation(second)) = (x.key.start, y.key.start) else {
            return false;
        };
        let is_thread = |root: &ThreadRoot| root.kind == RootKind::Thread;
        let mut creators = x.creators.iter();
        let one_creator = x.creators == y.creators && creators.len() == 1 && creators.all(|c| !self.roots[*c].many);
        let runs = |m: Moment<'_>, other| matches!(m.threads.get(other), Some(Status::Live | Status::Many));
        first != second && is_thread(x) && is_thread(y) && one_creator && !runs(a, &second) && !runs(b, &first)
    }

    /// Whether what `a` knows rules out that `b`'s thread runs.
    fn excludes(&self, a: Moment<'_>, b: Moment<'_>) -> bool {
        if a.root == b.root {
            return false;
        }
        let Start::Creation(name) = self.roots[b.root].key.start else {
            return false;
        };
        match a.threads.get(&name) {
            Some(Status::Joined) => !self.roots[a.root].many || self.known_to[b.root][a.root],
            Some(Status::Live | Status::Many) => false,
            None => self.known_to[b.root][a.root] && !self.roots[a.root].many,
        }
    }

    fn in_other_phase(&self, a: Moment<'_>, b: Moment<'_>) -> bool {
        let takes_part = |m: Moment<'_>| self.roots[m.root].barriers > 0;
        matches!((a.barriers, b.barriers), (Some(x), Some(y)) if x != y) && takes_part(a) && takes_part(b)
    }
}

/// A point of a root's run.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The root's number.
    pub root: usize,
    /// Threads that run, as its thread knows.
    pub threads: &'a Threads,
    /// Barriers passed.
    pub barriers: Option<u8>,
}

impl ClassKey {
    /// When it happens.
    pub fn moment(&self) -> Moment<'_> {
        Moment {
            root: self.root,
            threads: &self.threads,
            barriers: self.barriers,
        }
    }
}
