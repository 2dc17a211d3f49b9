//! `fifo`: the running thread goes on until it blocks, ends, gives way or has used its quantum of scheduling
//! points; then the first in the queue runs. Deterministic, and close to what a program does by itself on one
//! core. Without a quantum a thread that polls under a lock would starve the thread that it polls for.
//!
//! What a thread does after its own operation ([`Operation::Continue`]) counts nothing. Whoever arrives at a target
//! uses up its quantum as any other, or a loop that polls there would starve the others; it has twice the quantum.
//!
//! A timed wait runs out only when nothing else can run.

use crate::{Answer, Cause, Policy, Question};
use deadheat_model::Operation;

/// Runs a thread for as long as it can.
#[derive(Clone, Debug)]
pub struct Fifo {
    quantum: u32,
    used: u32,
}

impl Fifo {
    /// A thread loses the turn after `quantum` scheduling points in a row; 0: never for that reason.
    pub fn new(quantum: u32) -> Fifo {
        Fifo { quantum, used: 0 }
    }

    /// Another decided that a thread gets the turn.
    pub(crate) fn switched(&mut self) {
        self.used = 0;
    }

    /// Whether a thread that comes to `next` has turns left; counts this one if so.
    #[inline]
    fn counts(&mut self, next: Option<&Operation>) -> bool {
        if next == Some(&Operation::Continue) {
            return true;
        }
        // A thread that stands before a target makes every other's arrival a question, so the turn is rather
        // taken elsewhere, if the thread comes elsewhere.
        let before_target = matches!(next, Some(Operation::Access(_)));
        let quantum = self.quantum.saturating_mul(1 + u32::from(before_target));
        let left = quantum == 0 || self.used + 1 < quantum;
        self.used += u32::from(left && quantum != 0);
        left
    }
}

impl Policy for Fifo {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let goes_on = q.cause == Cause::Point && q.can_go_on();
        let run = if goes_on && self.counts(q.entry(q.running).map(|e| &e.next)) {
            q.running
        } else {
            self.used = 0;
            let other = q.oldest(|e| e.thread != q.running && !e.timeout);
            other.unwrap_or_else(|| q.oldest_or_running())
        };
        Answer::run(run)
    }

    #[inline]
    fn stays(&mut self, _: u64, next: &Operation) -> bool {
        self.counts(Some(next))
    }

    fn spare(&self) -> [u32; 2] {
        let left = |quantum: u32| quantum.saturating_sub(self.used + 1);
        match self.quantum {
            0 => [u32::MAX; 2],
            quantum => [left(quantum), left(quantum.saturating_mul(2))],
        }
    }

    fn passed(&mut self, points: u32) {
        if self.quantum != 0 {
            self.used += points;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Enabled;
    use deadheat_model::ThreadId;

    fn entry(thread: u32, stamp: u64, timeout: bool) -> Enabled {
        Enabled {
            place: 0,
            thread: ThreadId(thread),
            next: Operation::Yield,
            stamp,
            timeout,
        }
    }

    fn ask(policy: &mut Fifo, running: u32, cause: Cause, enabled: &[Enabled]) -> u32 {
        policy
            .choose(&Question {
                step: 0,
                running: ThreadId(running),
                cause,
                enabled,
            })
            .run
            .0
    }

    #[test]
    fn goes_on_until_the_quantum_is_used() {
        let enabled = [entry(0, 1, false), entry(1, 2, false)];
        let mut policy = Fifo::new(3);
        let runs: alloc::vec::Vec<u32> = (0..4).map(|_| ask(&mut policy, 0, Cause::Point, &enabled)).collect();
        assert_eq!(runs, [0, 0, 1, 0]);
    }

    #[test]
    fn continuing_uses_nothing_up() {
        let mut policy = Fifo::new(2);
        assert!((0..5).all(|_| policy.stays(0, &Operation::Continue)));
        assert!(policy.stays(0, &Operation::Yield) && !policy.stays(0, &Operation::Yield));
    }

    #[test]
    fn what_is_passed_unasked_counts_as_what_is_asked() {
        for quantum in [0, 1, 2, 7] {
            for asked in 0..quantum {
                let (mut one, mut other) = (Fifo::new(quantum), Fifo::new(quantum));
                for _ in 0..asked {
                    one.stays(0, &Operation::Yield);
                    other.stays(0, &Operation::Yield);
                }
                let [spare, _] = one.spare();
                assert!((0..spare).all(|_| one.stays(0, &Operation::Yield)));
                other.passed(spare);
                assert!(!one.stays(0, &Operation::Yield) && !other.stays(0, &Operation::Yield));
            }
        }
        assert_eq!(Fifo::new(0).spare(), [u32::MAX; 2]);
    }

    #[test]
    fn lowest_stamp_when_blocked() {
        let enabled = [entry(1, 7, false), entry(2, 5, false), entry(3, 1, true)];
        assert_eq!(ask(&mut Fifo::new(0), 0, Cause::Blocked, &enabled), 2);
    }

    #[test]
    fn a_spinner_loses_the_turn_though_it_is_first() {
        let enabled = [entry(0, 1, false), entry(1, 9, false)];
        assert_eq!(ask(&mut Fifo::new(0), 0, Cause::Spin, &enabled), 1);
    }

    #[test]
    fn time_runs_out_only_when_nothing_else_can_run() {
        let spinner = [entry(0, 9, false), entry(1, 1, true)];
        assert_eq!(ask(&mut Fifo::new(0), 0, Cause::Yield, &spinner), 0);
        let sleepers = [entry(1, 8, true), entry(2, 3, true)];
        assert_eq!(ask(&mut Fifo::new(0), 0, Cause::Blocked, &sleepers), 2);
    }
}
