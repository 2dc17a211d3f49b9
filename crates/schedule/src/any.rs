//! The policy that a plan asks for. This crate does not know the plan's layout: the runtime hands its
//! values over one by one.
//!
//! Whatever the policy, a thread that arrives at one statement of the pair while another stands before the
//! other is reported as a meeting: a replayed schedule shows its meetings again under their old numbers, and
//! an ordinary schedule may happen to make one.

use crate::racing::Meetings;
use crate::{
    Answer, Cause, CycleDirected, CycleParameters, Deviation, Deviations, Enabled, Fifo, Overtaken, Parameters, Pct,
    Policy, Pos, Question, RaceDirected, RacingPair, Random, Replay, Surw, Turn,
};
use alloc::vec::Vec;
use deadheat_model::{Operation, ThreadId};

/// A policy by its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Fifo`].
    Fifo {
        /// A thread loses the turn after so many scheduling points in a row; 0: never for that reason.
        quantum: u32,
    },
    /// [`Random`].
    Random {
        /// Seed.
        seed: u64,
        /// Probability of a switch, in 1/1024.
        switch: u32,
    },
    /// [`RaceDirected`].
    RaceDirected(Parameters),
    /// [`CycleDirected`].
    CycleDirected(CycleParameters),
    /// [`Pct`].
    Pct {
        /// Seed.
        seed: u64,
        /// Ordered events that the bug needs.
        depth: u32,
        /// Points of a run, about.
        steps: u64,
    },
    /// [`Pos`].
    Pos {
        /// Seed.
        seed: u64,
    },
    /// [`Surw`].
    Surw {
        /// Seed.
        seed: u64,
        /// Points of each thread in an earlier run.
        counts: Vec<u64>,
    },
    /// [`Overtaken`].
    Overtaken {
        /// Seed.
        seed: u64,
        /// Probability of a switch, in 1/1024.
        switch: u32,
        /// Places, ascending.
        places: Vec<u64>,
    },
    /// [`Deviations`].
    Deviations {
        /// Of the schedule in between, see [`Fifo`].
        quantum: u32,
        /// The switches.
        switches: Vec<Deviation>,
    },
    /// [`Replay`].
    Replay {
        /// The recorded switches, ascending.
        turns: Vec<Turn>,
    },
}

#[derive(Clone, Debug)]
enum One {
    Fifo(Fifo),
    Random(Random),
    RaceDirected(RaceDirected),
    CycleDirected(CycleDirected),
    Pct(Pct),
    Pos(Pos),
    Surw(Surw),
    Overtaken(Overtaken),
    Deviations(Deviations),
    Replay(Replay),
}

/// One of the policies.
#[derive(Clone, Debug)]
pub struct AnyPolicy {
    one: One,
    pair: RacingPair,
    meetings: Meetings,
}

impl AnyPolicy {
    /// The policy of this kind, in a run that watches this pair (the default one if it watches none).
    pub fn from_plan(kind: Kind, pair: RacingPair) -> AnyPolicy {
        let one = match kind {
            Kind::Fifo { quantum } => One::Fifo(Fifo::new(quantum)),
            Kind::Random { seed, switch } => One::Random(Random::alone(seed, switch)),
            Kind::RaceDirected(parameters) => One::RaceDirected(RaceDirected::new(pair.clone(), parameters)),
            Kind::CycleDirected(parameters) => One::CycleDirected(CycleDirected::new(parameters)),
            Kind::Pct { seed, depth, steps } => One::Pct(Pct::new(seed, depth, steps)),
            Kind::Pos { seed } => One::Pos(Pos::new(seed)),
            Kind::Surw { seed, counts } => One::Surw(Surw::new(seed, counts)),
            Kind::Overtaken { seed, switch, places } => One::Overtaken(Overtaken::new(seed, switch, places)),
            Kind::Deviations { quantum, switches } => One::Deviations(Deviations::new(quantum, &switches)),
            Kind::Replay { turns } => One::Replay(Replay::new(turns)),
        };
        AnyPolicy {
            one,
            pair,
            meetings: Meetings::default(),
        }
    }

    /// Who was held back and let go since nobody else worked, under a race-directed policy.
    pub fn let_go(&self) -> Option<ThreadId> {
        match &self.one {
            One::RaceDirected(policy) => policy.let_go(),
            _ => None,
        }
    }

    /// Whether the policy may let a timed wait run out while another thread can run. If not, entries with
    /// `timeout` need be listed only when there are no others.
    pub fn wants_timeouts(&self) -> bool {
        !matches!(self.one, One::Fifo(_))
    }
}

impl Policy for AnyPolicy {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let mut answer = match &mut self.one {
            One::RaceDirected(policy) => return policy.choose(q),
            One::Fifo(policy) => policy.choose(q),
            One::Random(policy) => policy.choose(q),
            One::CycleDirected(policy) => policy.choose(q),
            One::Pct(policy) => policy.choose(q),
            One::Pos(policy) => policy.choose(q),
            One::Surw(policy) => policy.choose(q),
            One::Overtaken(policy) => policy.choose(q),
            One::Deviations(policy) => policy.choose(q),
            One::Replay(policy) => policy.choose(q),
        };
        // Mostly nobody stands anywhere: a look at the list is all that an arrival costs then.
        let stands = |e: &Enabled| e.thread != q.running && e.access().is_some();
        if q.cause == Cause::Point
            && q.enabled.iter().any(stands)
            && let Some(arriving) = self.pair.arrival(q)
        {
            let stood = self.pair.racing(&arriving, q.enabled).next();
            let first = answer.run == arriving.thread;
            match stood {
                Some(postponed) if self.meetings.tells() => {
                    answer.met = Some(self.meetings.meet(arriving.thread, postponed, first));
                }
                Some(_) => self.meetings.pass(),
                None => {}
            }
        }
        answer
    }

    #[inline]
    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        match &mut self.one {
            One::Fifo(policy) => policy.stays(step, next),
            One::Random(policy) => policy.stays(step, next),
            One::RaceDirected(policy) => policy.stays(step, next),
            One::CycleDirected(policy) => policy.stays(step, next),
            One::Pct(policy) => policy.stays(step, next),
            One::Pos(policy) => policy.stays(step, next),
            One::Surw(policy) => policy.stays(step, next),
            One::Overtaken(policy) => policy.stays(step, next),
            One::Deviations(policy) => policy.stays(step, next),
            One::Replay(policy) => policy.stays(step, next),
        }
    }

    fn spare(&self) -> [u32; 2] {
        match &self.one {
            One::Fifo(policy) => policy.spare(),
            _ => [0; 2],
        }
    }

    fn passed(&mut self, points: u32) {
        if let One::Fifo(policy) = &mut self.one {
            policy.passed(points);
        }
    }
}
