//! `pct`: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010). Every
//! thread has a random priority, the highest that can run does, and at `depth - 1` random points of the run the thread
//! that has the turn falls below all others. A bug that needs `depth` ordered events among n threads and k points is
//! hit with probability at least 1 / (n k^(depth - 1)).
//!
//! What differs: a thread that gives way falls below all others too, or a spin loop would never end; k is the
//! caller's estimate, later points have no change.

use crate::{Answer, Policy, Question, Rng};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use deadheat_model::ThreadId;

/// Priorities drawn at first lie above all that threads fall to.
const FIRST: u64 = 1 << 40;
/// A timed wait is let run out in one of so many points at which another thread could run.
const TIMEOUT_ONE_IN: u64 = 256;

/// Runs by priorities.
#[derive(Clone, Debug)]
pub struct Pct {
    rng: Rng,
    priorities: BTreeMap<ThreadId, u64>,
    /// Points at which the running thread falls, ascending; passed ones are taken out.
    changes: Vec<u64>,
    /// What the next thread that falls gets.
    lowest: u64,
}

impl Pct {
    /// With `depth - 1` changes among the first `steps` points.
    pub fn new(seed: u64, depth: u32, steps: u64) -> Pct {
        let mut rng = Rng::new(seed);
        let mut changes: Vec<u64> = (1..depth).map(|_| 1 + rng.below(steps.max(1))).collect();
        changes.sort_unstable();
        Pct {
            rng,
            priorities: BTreeMap::new(),
            changes,
            lowest: FIRST - 1,
        }
    }

    fn fall(&mut self, thread: ThreadId) {
        self.priorities.insert(thread, self.lowest);
        self.lowest = self.lowest.saturating_sub(1);
    }
}

impl Policy for Pct {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        for e in q.enabled {
            let rng = &mut self.rng;
            self.priorities
                .entry(e.thread)
                .or_insert_with(|| FIRST + (rng.bits() >> 8));
        }
        let due = self.changes.iter().take_while(|at| **at <= q.step).count();
        if due > 0 {
            self.changes.drain(..due);
            self.fall(q.running);
        } else if q.cause.gives_way() {
            self.fall(q.running);
        }
        let asleep = q.enabled.iter().filter(|e| e.timeout).count() as u64;
        if asleep > 0 && self.rng.chance(1, TIMEOUT_ONE_IN) {
            let at = self.rng.below(asleep) as usize;
            if let Some(e) = q.enabled.iter().filter(|e| e.timeout).nth(at) {
                return Answer::run(e.thread);
            }
        }
        let ready = q.enabled.iter().filter(|e| !e.timeout);
        let first = ready.max_by_key(|e| self.priorities.get(&e.thread));
        Answer::run(first.map_or_else(|| q.oldest_or_running(), |e| e.thread))
    }
}
