//! `replay`: a recorded schedule again. At the recorded scheduling points the turn goes to the recorded
//! thread; at all others the running thread goes on, even if it gives way: had it lost the turn, that would
//! be on record.
//!
//! A schedule that cannot be followed (another program, another input, a schedule cut short by
//! minimisation) is flagged where it fails; from there on `fifo` decides what the record does not, so that
//! the run still ends.

use crate::{Answer, Fifo, Policy, Question};
use alloc::vec::Vec;
use deadheat_model::{Operation, ThreadId};

/// The quantum of the substitute.
const QUANTUM: u32 = 50;

/// One recorded switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Number of the scheduling point.
    pub step: u64,
    /// Who ran next.
    pub thread: ThreadId,
    /// Whether its timed wait was let run out.
    pub timeout: bool,
}

/// Follows a record.
#[derive(Clone, Debug)]
pub struct Replay {
    turns: Vec<Turn>,
    next: usize,
    substitute: Option<Fifo>,
}

impl Replay {
    /// Follows these switches, in ascending order of their steps.
    pub fn new(turns: Vec<Turn>) -> Replay {
        Replay {
            turns,
            next: 0,
            substitute: None,
        }
    }

    /// The recorded turn of this step, and whether earlier ones were never asked for.
    fn turn(&mut self, step: u64) -> (Option<Turn>, bool) {
        let mut skipped = false;
        while let Some(&turn) = self.turns.get(self.next).filter(|t| t.step <= step) {
            self.next += 1;
            if turn.step == step {
                return (Some(turn), skipped);
            }
            skipped = true;
        }
        (None, skipped)
    }
}

impl Policy for Replay {
    #[inline]
    fn stays(&mut self, step: u64, _: &Operation) -> bool {
        self.substitute.is_none() && self.turns.get(self.next).is_none_or(|turn| turn.step > step)
    }

    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let (turn, skipped) = self.turn(q.step);
        let possible = |t: &Turn| q.entry(t.thread).is_some_and(|e| e.timeout == t.timeout);
        let recorded = match turn {
            Some(turn) => Some(turn.thread).filter(|_| possible(&turn)),
            None if self.substitute.is_none() && !skipped && q.can_go_on() => Some(q.running),
            None => None,
        };
        // Once off the record, a point that it does not name is not another divergence.
        let diverged = skipped || (recorded.is_none() && (turn.is_some() || self.substitute.is_none()));
        match recorded {
            Some(run) => Answer {
                run,
                met: None,
                diverged,
            },
            None => {
                let substitute = self.substitute.get_or_insert_with(|| Fifo::new(QUANTUM));
                Answer {
                    diverged,
                    ..substitute.choose(q)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Enabled};
    use alloc::vec;

    fn ask(policy: &mut Replay, step: u64, running: u32, cause: Cause, enabled: &[(u32, bool)]) -> (u32, bool) {
        let entry = |&(t, timeout): &(u32, bool)| Enabled {
            place: 0,
            thread: ThreadId(t),
            next: Operation::Continue,
            stamp: 0,
            timeout,
        };
        let enabled: Vec<Enabled> = enabled.iter().map(entry).collect();
        let answer = policy.choose(&Question {
            step,
            running: ThreadId(running),
            cause,
            enabled: &enabled,
        });
        (answer.run.0, answer.diverged)
    }

    fn turn(step: u64, thread: u32, timeout: bool) -> Turn {
        Turn {
            step,
            thread: ThreadId(thread),
            timeout,
        }
    }

    const BOTH: [(u32, bool); 2] = [(0, false), (1, false)];

    #[test]
    fn follows_the_record_and_goes_on_between() {
        let mut policy = Replay::new(vec![turn(2, 1, false), turn(4, 0, true)]);
        assert_eq!(ask(&mut policy, 1, 0, Cause::Yield, &BOTH), (0, false));
        assert_eq!(ask(&mut policy, 2, 0, Cause::Point, &BOTH), (1, false));
        assert_eq!(ask(&mut policy, 3, 1, Cause::Point, &BOTH), (1, false));
        assert_eq!(
            ask(&mut policy, 4, 1, Cause::Point, &[(0, true), (1, false)]),
            (0, false)
        );
    }

    #[test]
    fn flags_a_thread_that_cannot_run_once() {
        let mut policy = Replay::new(vec![turn(1, 2, false)]);
        assert_eq!(ask(&mut policy, 1, 0, Cause::Point, &BOTH), (0, true));
        assert_eq!(ask(&mut policy, 2, 0, Cause::Blocked, &BOTH[1..]), (1, false));
    }

    #[test]
    fn flags_a_wait_that_the_record_does_not_know() {
        let mut policy = Replay::new(vec![]);
        assert_eq!(ask(&mut policy, 1, 0, Cause::Blocked, &BOTH[1..]), (1, true));
    }

    #[test]
    fn flags_a_step_that_never_came_and_a_wait_that_need_not_run_out() {
        let mut policy = Replay::new(vec![turn(1, 1, false), turn(3, 1, true)]);
        assert_eq!(ask(&mut policy, 2, 0, Cause::Point, &BOTH), (0, true));
        assert_eq!(ask(&mut policy, 3, 0, Cause::Point, &BOTH), (0, true));
    }
}
