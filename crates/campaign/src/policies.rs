//! Policies of runs that are directed at no pair and no cycle, by turns.
//!
//! No one of them is best on all programs. Which come how often was measured on the small programs of
//! `docs/small-programs.md`: SURW shows most failures soonest, overtaking those that no other shows.

use deadheat_confirm::Records;
use deadheat_wire::plan::{Policy, Switch};

/// Ordered events that PCT looks for.
const DEPTH: u32 = 3;
/// Probability of a switch in a plain walk, in 1/1024.
const EVEN: u32 = 512;
/// Random schedules of phase 1 differ in how often they switch: by turns so many tenths as often as asked.
const SWITCHES: [u32; 4] = [10, 50, 25, 5];

/// What policies are made of.
#[derive(Clone, Debug)]
pub struct Policies {
    seed: u64,
    switch: u32,
    /// Scheduling points of an ordinary run.
    pub steps: u64,
    /// The same of each thread.
    counts: Vec<u64>,
}

impl Policies {
    /// For a program that does this in an ordinary run. `switch` is the usual probability of a switch, in 1/1024.
    pub fn new(seed: u64, switch: u32, ordinary: &Records) -> Policies {
        let steps = ordinary.ended.as_ref().map_or(1, |e| e.steps);
        Policies {
            seed,
            switch,
            steps,
            counts: counts(&ordinary.switches, steps),
        }
    }

    /// Of the undirected run with this number.
    pub fn undirected(&self, number: u32) -> Policy {
        match number % 8 {
            0 | 4 => self.surw(number),
            1 | 6 => self.overtaken(number, Vec::new()),
            2 => self.pos(number),
            3 => self.random(number, self.switch),
            5 => self.pct(number),
            _ => self.random(number, EVEN),
        }
    }

    /// Of the early undirected run with this number.
    pub fn early(&self, number: u32) -> Policy {
        // Numbers, and so seeds, that no other run has.
        let apart = !number;
        match number % 4 {
            0 | 2 => self.surw(apart),
            1 => self.overtaken(apart, Vec::new()),
            _ => self.pos(apart),
        }
    }

    /// Of the run of phase 1 with this number, from 0, after those under `fifo`. None that goes by places in the code:
    /// those of a detecting body are others, and a bad end is looked at again in plain bodies.
    pub fn detecting(&self, number: u32) -> Policy {
        let turn = number / 2;
        match (number % 2, turn % 2) {
            (0, _) => {
                let tenths = SWITCHES[turn as usize % SWITCHES.len()];
                self.random(number, (self.switch * tenths / 10).clamp(1, 1024))
            }
            (_, 0) => self.surw(number),
            _ => self.pos(number),
        }
    }

    /// Operations at these places, or at some if there are none, are overtaken.
    pub fn overtaken(&self, number: u32, places: Vec<u64>) -> Policy {
        Policy::Overtaken {
            seed: self.seed_of(number),
            switch: self.switch,
            places,
        }
    }

    fn random(&self, number: u32, switch: u32) -> Policy {
        let seed = self.seed_of(number);
        Policy::Random { seed, switch }
    }

    fn pct(&self, number: u32) -> Policy {
        Policy::Pct {
            seed: self.seed_of(number),
            depth: DEPTH,
            steps: self.steps,
        }
    }

    fn pos(&self, number: u32) -> Policy {
        let seed = self.seed_of(number);
        Policy::Pos { seed }
    }

    fn surw(&self, number: u32) -> Policy {
        Policy::Surw {
            seed: self.seed_of(number),
            counts: self.counts.clone(),
        }
    }

    fn seed_of(&self, number: u32) -> u64 {
        self.seed.wrapping_add(number.into())
    }
}

/// Scheduling points of each thread in a recorded run of so many.
fn counts(switches: &[Switch], steps: u64) -> Vec<u64> {
    let mut counts = vec![0];
    let (mut running, mut since) = (0, 0);
    for (step, to) in switches.iter().map(|s| (s.step, s.to.index())).chain([(steps, 0)]) {
        counts[running] += step.saturating_sub(since);
        (running, since) = (to, step);
        if counts.len() <= to {
            counts.resize(to + 1, 0);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_model::ThreadId;

    #[test]
    fn each_thread_has_the_points_between_its_switches() {
        let to = |step, thread| Switch {
            step,
            to: ThreadId(thread),
            timeout: false,
            preempts: false,
            point: 0,
            waits: false,
        };
        assert_eq!(counts(&[to(4, 2), to(9, 0), to(10, 1)], 16), [5, 6, 5]);
        assert_eq!(counts(&[], 7), [7]);
    }
}
