//! `pos`: partial order sampling (Yuan, Yang and Gu, CAV 2018). Every operation that a thread is about to make has a
//! random priority; the highest is made, and then those that race with it draw anew. So orders of dependent
//! operations are sampled far more evenly than by a random walk, whatever the threads' lengths.
//!
//! Operations race if they are on the same object, or on a common byte with one of them writing. A thread that gives
//! way has its draw halved, so that spin loops end.

use crate::{Answer, Policy, Question, Rng};
use alloc::collections::BTreeMap;
use deadheat_model::{Operation, ThreadId};

/// A timed wait is let run out in one of so many points at which another thread could run.
const TIMEOUT_ONE_IN: u64 = 256;

/// Samples partial orders.
#[derive(Clone, Debug)]
pub struct Pos {
    rng: Rng,
    /// Priorities of what threads are about to do.
    pending: BTreeMap<ThreadId, u64>,
}

impl Pos {
    /// With this seed.
    pub fn new(seed: u64) -> Pos {
        Pos {
            rng: Rng::new(seed),
            pending: BTreeMap::new(),
        }
    }
}

/// Whether the order of two operations may matter.
pub(crate) fn dependent(a: &Operation, b: &Operation) -> bool {
    use Operation::{Access, Acquire, Atomic, Part, Release};
    let object = |o: &Operation| match *o {
        Acquire(kind, object) | Release(kind, object) => Some((kind, object)),
        Part(part) => Some((part.kind, part.object)),
        _ => None,
    };
    match (a, b) {
        (Access(x) | Atomic(x), Access(y) | Atomic(y)) => {
            x.bytes.overlaps(y.bytes) && (x.kind.writes() || y.kind.writes())
        }
        _ => object(a).is_some() && object(a) == object(b),
    }
}

impl Policy for Pos {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        // What the running thread had drawn for is done; what it comes to now is another operation.
        let fresh = self.rng.bits() >> u32::from(q.cause.gives_way());
        self.pending.insert(q.running, fresh);
        for e in q.enabled {
            let rng = &mut self.rng;
            self.pending.entry(e.thread).or_insert_with(|| rng.bits());
        }
        let asleep = q.enabled.iter().filter(|e| e.timeout).count() as u64;
        if asleep > 0 && self.rng.chance(1, TIMEOUT_ONE_IN) {
            let at = self.rng.below(asleep) as usize;
            if let Some(e) = q.enabled.iter().filter(|e| e.timeout).nth(at) {
                return Answer::run(e.thread);
            }
        }
        let ready = || q.enabled.iter().filter(|e| !e.timeout);
        let Some(first) = ready().max_by_key(|e| self.pending.get(&e.thread)) else {
            return Answer::run(q.oldest_or_running());
        };
        for other in ready().filter(|e| e.thread != first.thread && dependent(&e.next, &first.next)) {
            let again = self.rng.bits();
            self.pending.insert(other.thread, again);
        }
        Answer::run(first.thread)
    }
}
