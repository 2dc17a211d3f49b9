//! `deviations`: an ordinary schedule but for a few named switches, the form in which a schedule is minimised.
//!
//! A recorded schedule says *at the n-th scheduling point of the run*; take one switch out, and all later numbers
//! mean other points. Here a switch is named by *the n-th scheduling point of the thread that runs*, which stays the
//! same as long as that thread does the same. Where nothing is named, `fifo` decides (the running thread goes on until
//! it waits, gives way or has used its quantum). With all switches of a recorded run named, the run is that run.
//!
//! A switch that cannot be made where it is named (its thread cannot run there) is passed over. Cost of a scheduling
//! point: constant on the short way.

use crate::{Answer, Fifo, Policy, Question, Turn};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use deadheat_model::{Operation, ThreadId};

/// One switch, named by the thread that loses the turn and its own count of scheduling points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deviation {
    /// Who has the turn.
    pub of: ThreadId,
    /// How many scheduling points that thread had by then.
    pub point: u64,
    /// Who gets it.
    pub to: ThreadId,
    /// Whether its timed wait is let run out.
    pub timeout: bool,
}

impl Deviation {
    /// The switches of a recorded run in this form. The main thread runs first.
    pub fn of_turns(turns: &[Turn]) -> Vec<Deviation> {
        let mut count = Count::default();
        let mut deviations = Vec::new();
        for turn in turns {
            deviations.push(Deviation {
                of: count.running,
                point: count.at(turn.step),
                to: turn.thread,
                timeout: turn.timeout,
            });
            count.switch(turn.step, turn.thread);
        }
        deviations
    }
}

/// Scheduling points of each thread: the run's, as long as the thread has the turn.
#[derive(Clone, Debug, Default)]
struct Count {
    running: ThreadId,
    /// Of the running thread, when it got the turn.
    before: u64,
    /// The run's, when it got the turn.
    since: u64,
    others: BTreeMap<ThreadId, u64>,
}

impl Count {
    fn at(&self, step: u64) -> u64 {
        self.before + step.saturating_sub(self.since)
    }

    fn switch(&mut self, step: u64, to: ThreadId) {
        self.others.insert(self.running, self.at(step));
        self.running = to;
        self.before = self.others.get(&to).copied().unwrap_or(0);
        self.since = step;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Deviations {
    fifo: Fifo,
    /// Switches by the thread that loses the turn and its point; several at one point are taken in turn.
    named: BTreeMap<(ThreadId, u64), Vec<(ThreadId, bool)>>,
    count: Count,
    /// The run's point at which the running thread has its next named switch.
    next: u64,
}

impl Deviations {
    /// `fifo` with this quantum, but for these switches.
    pub fn new(quantum: u32, all: &[Deviation]) -> Deviations {
        let mut named: BTreeMap<(ThreadId, u64), Vec<(ThreadId, bool)>> = BTreeMap::new();
        for d in all {
            named.entry((d.of, d.point)).or_default().push((d.to, d.timeout));
        }
        named.values_mut().for_each(|list| list.reverse());
        let mut policy = Deviations {
            fifo: Fifo::new(quantum),
            named,
            count: Count::default(),
            next: 0,
        };
        policy.look_ahead();
        policy
    }

    fn look_ahead(&mut self) {
        let (running, before) = (self.count.running, self.count.before);
        let mut ahead = self.named.range((running, before)..=(running, u64::MAX));
        self.next = ahead
            .next()
            .map_or(u64::MAX, |((_, point), _)| self.count.since + (point - before));
    }
}

impl Policy for Deviations {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let own = (self.count.running, self.count.at(q.step));
        let named = self.named.get_mut(&own).and_then(Vec::pop);
        if named.is_some() && self.named.get(&own).is_some_and(Vec::is_empty) {
            self.named.remove(&own);
        }
        let possible = |&(to, timeout): &(ThreadId, bool)| q.entry(to).is_some_and(|e| e.timeout == timeout);
        let run = match named.filter(possible) {
            Some((to, _)) => {
                self.fifo.switched();
                to
            }
            None => self.fifo.choose(q).run,
        };
        if run != self.count.running {
            self.count.switch(q.step, run);
        }
        self.look_ahead();
        Answer::run(run)
    }

    #[inline]
    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        step < self.next && self.fifo.stays(step, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Enabled, Random};

    /// Threads that make so many steps each, without waiting; who ran at each.
    fn run(lengths: &[u64], policy: &mut dyn Policy) -> (Vec<u32>, Vec<Turn>) {
        let mut left = lengths.to_vec();
        let (mut running, mut ran, mut turns) = (0, Vec::new(), Vec::new());
        for step in 1.. {
            let entry = |thread: usize| Enabled {
                place: 0,
                thread: ThreadId(thread as u32),
                next: Operation::Yield,
                stamp: step,
                timeout: false,
            };
            let enabled: Vec<Enabled> = (0..left.len()).filter(|t| left[*t] > 0).map(entry).collect();
            if enabled.is_empty() {
                break;
            }
            let cause = if left[running] > 0 { Cause::Point } else { Cause::Ended };
            let to = policy
                .choose(&Question {
                    step,
                    running: ThreadId(running as u32),
                    cause,
                    enabled: &enabled,
                })
                .run;
            if to.index() != running {
                let (thread, timeout) = (to, false);
                turns.push(Turn { step, thread, timeout });
            }
            running = to.index();
            left[running] -= 1;
            ran.push(to.0);
        }
        (ran, turns)
    }

    #[test]
    fn all_switches_give_the_recorded_run() {
        for seed in 0..50 {
            let (ran, turns) = run(&[9, 7, 12], &mut Random::new(seed, 400));
            let all = Deviation::of_turns(&turns);
            let (again, same) = run(&[9, 7, 12], &mut Deviations::new(0, &all));
            assert_eq!((again, same), (ran, turns));
        }
    }

    #[test]
    fn a_switch_keeps_its_place_without_the_others() {
        let named = |of, point, to| Deviation {
            of: ThreadId(of),
            point,
            to: ThreadId(to),
            timeout: false,
        };
        // Thread 1 is interrupted after its second step, wherever that comes in the run.
        let late = named(1, 2, 2);
        let (ran, _) = run(&[3, 4, 2], &mut Deviations::new(0, &[late]));
        assert_eq!(ran, [0, 0, 0, 1, 1, 2, 2, 1, 1]);
        let (ran, _) = run(&[3, 4, 2], &mut Deviations::new(0, &[named(0, 2, 1), late]));
        assert_eq!(ran, [0, 1, 1, 2, 2, 0, 0, 1, 1]);
    }

    #[test]
    fn what_cannot_be_done_is_passed_over() {
        let gone = Deviation {
            of: ThreadId(0),
            point: 1,
            to: ThreadId(7),
            timeout: false,
        };
        assert_eq!(run(&[2, 1], &mut Deviations::new(0, &[gone])).0, [0, 0, 1]);
    }
}
