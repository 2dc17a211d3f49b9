//! `deviations`: an ordinary schedule but for a few named switches, the form in which a schedule is minimised.
//!
//! A recorded schedule says *at the n-th scheduling point of the run*; take one switch out, and all later numbers
//! mean other points. Here a switch is named by *the n-th scheduling point of the thread that runs*, which stays the
//! same as long as that thread does the same. How often a thread waits is not its own doing (it finds a lock taken or
//! not), so a wait is no such point: a switch there is named by the point before. Where nothing is named, `fifo` decides (the running thread goes on until
//! it waits, gives way or has used its quantum). With all switches of a recorded run named, the run is that run.
//!
//! Where the thread that a switch names cannot run, another one gets the turn, if one can: without the rest, the one that is
//! named may have ended long before. Cost of a scheduling point: constant on the short way.

use crate::{Answer, Cause, Fifo, Policy, Question};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use deadheat_model::{Operation, ThreadId};

/// One switch, named by the thread that loses the turn and its own count of scheduling points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deviation {
    /// Who has the turn.
    pub of: ThreadId,
    /// How many scheduling points that thread had by then; waits are none.
    pub point: u64,
    /// Whether it waits there.
    pub waits: bool,
    /// Who gets it.
    pub to: ThreadId,
    /// Whether its timed wait is let run out.
    pub timeout: bool,
}

/// Scheduling points of each thread: the run's, as long as the thread has the turn and does not wait.
#[derive(Clone, Debug, Default)]
struct Count {
    running: ThreadId,
    /// Of the running thread, when it got the turn.
    before: u64,
    /// The run's, when it got the turn, and one for each wait since.
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

/// To whom the turn goes, and whether by a time-out, by who loses it at which point of its own.
type Named = BTreeMap<(ThreadId, u64), Vec<(ThreadId, bool)>>;

/// See the module.
#[derive(Clone, Debug)]
pub struct Deviations {
    fifo: Fifo,
    /// Switches where threads come to something, and where they wait, by the thread that loses the turn and its point;
    /// several at one point are taken in turn.
    named: [Named; 2],
    count: Count,
    /// The run's point at which the running thread has its next named switch.
    next: u64,
}

impl Deviations {
    /// `fifo` with this quantum, but for these switches.
    pub fn new(quantum: u32, all: &[Deviation]) -> Deviations {
        let mut named = [Named::new(), Named::new()];
        for d in all.iter().rev() {
            let there = named[usize::from(d.waits)].entry((d.of, d.point));
            there.or_default().push((d.to, d.timeout));
        }
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
        let mut ahead = self.named[0].range((running, before)..=(running, u64::MAX));
        self.next = ahead
            .next()
            .map_or(u64::MAX, |((_, point), _)| self.count.since + (point - before));
    }
}

/// The named thread, or the one that waits for its turn longest if that cannot run.
fn instead((to, timeout): (ThreadId, bool), q: &Question<'_>) -> Option<ThreadId> {
    match q.entry(to) {
        Some(entry) if entry.timeout == timeout => Some(to),
        _ if timeout => None,
        _ => q.oldest(|e| e.thread != q.running && !e.timeout),
    }
}

impl Policy for Deviations {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let waits = q.cause == Cause::Blocked;
        self.count.since += u64::from(waits);
        let own = (self.count.running, self.count.at(q.step));
        let here = &mut self.named[usize::from(waits)];
        let named = here.get_mut(&own).and_then(Vec::pop);
        if here.get(&own).is_some_and(Vec::is_empty) {
            here.remove(&own);
        }
        let run = match named.and_then(|named| instead(named, q)) {
            Some(to) => {
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

    /// Threads that make so many steps each; at the scheduling points whose bits are set the running one waits. Who ran,
    /// and the switches.
    fn run(lengths: &[u64], waits: u64, policy: &mut dyn Policy) -> (Vec<u32>, Vec<Deviation>) {
        let mut left = lengths.to_vec();
        let (mut running, mut ran, mut switches) = (0, Vec::new(), Vec::new());
        let mut points = alloc::vec![0; left.len()];
        let mut step = 0;
        while left.iter().any(|left| *left > 0) {
            step += 1;
            let blocks = left[running] > 0 && waits >> (step % 64) & 1 == 1;
            let cause = match left[running] {
                0 => Cause::Ended,
                _ if blocks => Cause::Blocked,
                _ => Cause::Point,
            };
            points[running] += u64::from(!blocks);
            let entry = |thread: usize| Enabled {
                place: 0,
                thread: ThreadId(thread as u32),
                next: Operation::Yield,
                stamp: step,
                timeout: false,
            };
            let enabled: Vec<Enabled> = (0..left.len()).filter(|t| left[*t] > 0).map(entry).collect();
            let to = policy
                .choose(&Question {
                    step,
                    running: ThreadId(running as u32),
                    cause,
                    enabled: &enabled,
                })
                .run;
            if to.index() != running || blocks {
                switches.push(Deviation {
                    of: ThreadId(running as u32),
                    point: points[running],
                    waits: blocks,
                    to,
                    timeout: false,
                });
            }
            running = to.index();
            left[running] -= 1;
            ran.push(to.0);
        }
        (ran, switches)
    }

    #[test]
    fn all_switches_give_the_recorded_run() {
        for seed in 0..50 {
            let waits = if seed % 2 == 0 { 0 } else { 0x9249_2512_4484_2121 };
            let (ran, switches) = run(&[9, 7, 12], waits, &mut Random::new(seed, 400));
            let again = run(&[9, 7, 12], waits, &mut Deviations::new(0, &switches));
            assert_eq!(again, (ran, switches));
        }
    }

    #[test]
    fn a_switch_keeps_its_place_without_the_others() {
        // Thread 1 is interrupted after its second step, wherever that comes in the run.
        let late = named(1, 2, 2);
        let (ran, _) = run(&[3, 4, 2], 0, &mut Deviations::new(0, &[late]));
        assert_eq!(ran, [0, 0, 0, 1, 1, 2, 2, 1, 1]);
        let (ran, _) = run(&[3, 4, 2], 0, &mut Deviations::new(0, &[named(0, 2, 1), late]));
        assert_eq!(ran, [0, 1, 1, 2, 2, 0, 0, 1, 1]);
    }

    #[test]
    fn waits_do_not_move_a_switch() {
        let switches = [named(0, 1, 1), named(1, 3, 2)];
        let (ran, _) = run(&[3, 5, 2], 0, &mut Deviations::new(0, &switches));
        assert_eq!(ran, [1, 1, 1, 2, 2, 0, 0, 0, 1, 1]);
        // Thread 1 waits after its first two steps, then goes on with what it waited for.
        let (ran, _) = run(&[3, 5, 2], 1 << 3, &mut Deviations::new(0, &switches));
        assert_eq!(ran, [1, 1, 0, 0, 0, 1, 1, 2, 2, 1]);
    }

    #[test]
    fn another_thread_gets_the_turn_where_the_named_one_cannot_run() {
        let ran = |lengths: &[u64]| run(lengths, 0, &mut Deviations::new(0, &[named(0, 1, 7)])).0;
        assert_eq!(ran(&[2, 1]), [1, 0, 0]);
        assert_eq!(ran(&[2]), [0, 0]);
    }

    fn named(of: u32, point: u64, to: u32) -> Deviation {
        Deviation {
            of: ThreadId(of),
            point,
            waits: false,
            to: ThreadId(to),
            timeout: false,
        }
    }
}
