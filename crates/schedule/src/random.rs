//! `random`: at each scheduling point, with a given probability, a random enabled thread; the running thread
//! goes on otherwise. A low probability gives bursts, which find more than a walk that switches at every
//! operation (facts of LLVM's own experiments: about one in five).
//!
//! On its own the walk switches more readily where a lock is about to be given back, as long as that is rare: what
//! others do while it is held (a failed trylock, the other lock of a cycle) opens paths that it finds hardly otherwise.
//!
//! A thread that gives way loses the turn whenever another can run. Timed waits run out rarely while others
//! can run: a short time-out that fires first is a schedule that a loaded machine shows.

use crate::{Answer, Enabled, Policy, Question, Rng};
use deadheat_model::{ObjectKind, Operation, ThreadId};

/// Probabilities of switches are counted in this many parts.
const PARTS: u64 = 1024;
/// A timed wait is let run out in one of so many switches while another thread could run.
const TIMEOUT_ONE_IN: u64 = 64;
/// The same when nobody but a thread that gives way could run: it is likely to wait for the sleepers.
const IDLE_TIMEOUT_ONE_IN: u64 = 8;

/// The first so many times that a lock is about to be given back, half of the draws fall for a switch.
const HELD: u32 = 64;

/// Switches at random.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
    switch: u64,
    /// Switches that remain to be made more readily where a lock is held.
    held: u32,
    /// The draw of the next question fell already, for a switch.
    drawn: bool,
}

impl Random {
    /// Switches with probability `switch`/1024, at least 1/1024: a thread that polls would starve the others.
    pub fn new(seed: u64, switch: u32) -> Random {
        Random {
            rng: Rng::new(seed),
            switch: u64::from(switch).max(1),
            held: 0,
            drawn: false,
        }
    }

    /// The walk on its own, which looks for what happens while locks are held.
    pub fn alone(seed: u64, switch: u32) -> Random {
        Random {
            held: HELD,
            ..Random::new(seed, switch)
        }
    }

    /// The draw for a switch before this operation.
    #[inline]
    fn leaves(&mut self, next: &Operation) -> bool {
        let mut parts = self.switch;
        if self.held > 0
            && let Operation::Release(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock, _) = next
        {
            self.held -= 1;
            parts = parts.max(PARTS / 2);
        }
        self.rng.chance(parts, PARTS)
    }

    /// The policy's source of randomness.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// The walk's pick among the entries that pass the filter; none if no entry does.
    pub(crate) fn pick(&mut self, q: &Question<'_>, keep: impl Fn(&Enabled) -> bool) -> Option<ThreadId> {
        let gives_way = q.cause.gives_way();
        if !gives_way && let Some(entry) = q.entry(q.running).filter(|e| !e.timeout && keep(e)) {
            // The draw comes first, so that the number of draws does not depend on who else could run.
            if !core::mem::take(&mut self.drawn) && !self.leaves(&entry.next) {
                return Some(q.running);
            }
        }
        let other = |e: &&Enabled| keep(e) && !(gives_way && e.thread == q.running);
        let ready = q.enabled.iter().filter(other).filter(|e| !e.timeout);
        let asleep = q.enabled.iter().filter(other).filter(|e| e.timeout);
        let (n_ready, n_asleep) = (ready.clone().count() as u64, asleep.clone().count() as u64);
        let running = q.entry(q.running).filter(|e| gives_way && keep(e)).map(|e| e.thread);
        if n_asleep > 0 {
            let wake = match (n_ready, running) {
                (0, None) => true,
                (0, Some(_)) => self.rng.chance(1, IDLE_TIMEOUT_ONE_IN),
                _ => self.rng.chance(1, TIMEOUT_ONE_IN),
            };
            if wake {
                return asleep.map(|e| e.thread).nth(self.rng.below(n_asleep) as usize);
            }
        }
        if n_ready > 0 {
            ready.map(|e| e.thread).nth(self.rng.below(n_ready) as usize)
        } else {
            running
        }
    }
}

impl Policy for Random {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        Answer::run(self.pick(q, |_| true).unwrap_or_else(|| q.oldest_or_running()))
    }

    #[inline]
    fn stays(&mut self, _: u64, next: &Operation) -> bool {
        self.drawn = self.leaves(next);
        !self.drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use alloc::vec::Vec;

    fn entry(thread: u32, timeout: bool) -> Enabled {
        Enabled {
            place: 0,
            thread: ThreadId(thread),
            next: Operation::Continue,
            stamp: 0,
            timeout,
        }
    }

    fn walk(seed: u64, switch: u32, cause: Cause, enabled: &[Enabled], steps: u64) -> Vec<u32> {
        let mut policy = Random::new(seed, switch);
        let ask = |step| Question {
            step,
            running: ThreadId(0),
            cause,
            enabled,
        };
        (0..steps).map(|step| policy.choose(&ask(step)).run.0).collect()
    }

    #[test]
    fn same_seed_same_walk() {
        let enabled = [entry(0, false), entry(1, false), entry(2, true)];
        for seed in 0..20 {
            let one = walk(seed, 200, Cause::Point, &enabled, 200);
            assert_eq!(one, walk(seed, 200, Cause::Point, &enabled, 200));
            assert_ne!(one, walk(seed + 1, 200, Cause::Point, &enabled, 200));
        }
    }

    #[test]
    fn switches_about_as_often_as_asked() {
        let enabled = [entry(0, false), entry(1, false)];
        let away = walk(1, 512, Cause::Point, &enabled, 4000)
            .iter()
            .filter(|&&t| t == 1)
            .count();
        assert!((800..1200).contains(&away), "{away}");
    }

    #[test]
    fn a_spinner_never_keeps_the_turn_while_another_can_run() {
        let enabled = [entry(0, false), entry(1, false)];
        assert!(walk(3, 100, Cause::Spin, &enabled, 100).iter().all(|&t| t == 1));
    }

    #[test]
    fn timed_waits_run_out_rarely_but_do() {
        let enabled = [entry(0, false), entry(1, true)];
        let out = walk(4, 1024, Cause::Point, &enabled, 6400)
            .iter()
            .filter(|&&t| t == 1)
            .count();
        assert!((50..200).contains(&out), "{out}");
    }
}
