//! `surw`: uniform random walk by remaining work (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). The next thread
//! is drawn with the number of points that it still has ahead as weight, by the counts of an earlier run; then each
//! interleaving of threads that do not wait for each other is as likely as any other, where a plain walk all but
//! never lets a short thread come late.
//!
//! What differs: all scheduling points count, not a chosen subset of events. A thread without a count, or past it, has
//! weight one.

use crate::{Answer, Policy, Question, Rng};
use alloc::vec::Vec;
use deadheat_model::ThreadId;

/// A timed wait is let run out in one of so many points at which another thread could run.
const TIMEOUT_ONE_IN: u64 = 256;

/// Draws threads by what they have ahead.
#[derive(Clone, Debug)]
pub struct Surw {
    rng: Rng,
    /// Points that each thread has ahead.
    ahead: Vec<u64>,
}

impl Surw {
    /// By the points that each thread had in an earlier run.
    pub fn new(seed: u64, counts: Vec<u64>) -> Surw {
        Surw {
            rng: Rng::new(seed),
            ahead: counts,
        }
    }

    fn weight(&self, thread: ThreadId) -> u64 {
        self.ahead.get(thread.index()).copied().unwrap_or(1).max(1)
    }
}

impl Policy for Surw {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let asleep = q.enabled.iter().filter(|e| e.timeout).count() as u64;
        if asleep > 0 && self.rng.chance(1, TIMEOUT_ONE_IN) {
            let at = self.rng.below(asleep) as usize;
            if let Some(e) = q.enabled.iter().filter(|e| e.timeout).nth(at) {
                return Answer::run(e.thread);
            }
        }
        let gave_way = |t: ThreadId| q.cause.gives_way() && t == q.running;
        let ready = || q.enabled.iter().filter(|e| !e.timeout && !gave_way(e.thread));
        let all: u64 = ready().map(|e| self.weight(e.thread)).sum();
        let mut left = self.rng.below(all);
        let drawn = ready().find(|e| {
            let weight = self.weight(e.thread);
            let hit = left < weight;
            left = left.saturating_sub(weight);
            hit
        });
        let Some(thread) = drawn.map(|e| e.thread) else {
            return Answer::run(q.oldest_or_running());
        };
        if let Some(ahead) = self.ahead.get_mut(thread.index()) {
            *ahead = ahead.saturating_sub(1);
        }
        Answer::run(thread)
    }
}
