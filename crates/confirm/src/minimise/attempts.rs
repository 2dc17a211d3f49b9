//! Attempts of a minimisation: runs with some of the recorded switches alone.

use super::Showing;
use crate::stage::{Run, RunError, Stage};
use deadheat_model::ThreadId;
use deadheat_wire::plan::{Deviation, Mode, Plan, Policy, Switch};
use std::cmp::Reverse;
use std::collections::HashMap;

/// A finding that takes more preemptions is given as many runs again, so often.
const FEW: u32 = 3;
const AGAIN: u32 = 3;

/// Makes the attempts, up to a bound.
pub(super) struct Attempts<'a> {
    stage: &'a Stage,
    /// What each attempt's schedule is but for the switches.
    pub plan: Plan,
    pub showing: &'a Showing,
    /// Attempts to be made yet.
    pub left: u32,
    /// As many again, and how often.
    more: u32,
    again: u32,
    /// Attempts made.
    pub made: u32,
    /// Preemptions of the last attempt that showed it.
    preemptions: u32,
}

impl<'a> Attempts<'a> {
    /// At most so many, before [`longer`](Self::longer). Turns are long: where the recorded ones were short, that is
    /// among the switches, and other policies than `fifo` have none that end by themselves.
    pub fn new(stage: &'a Stage, plan: &Plan, showing: &'a Showing, runs: u32) -> Attempts<'a> {
        let long = Plan::new(Mode::Confirm(Default::default()), Policy::Fifo).quantum;
        Attempts {
            stage,
            plan: Plan {
                quantum: plan.quantum.max(long),
                ..plan.clone()
            },
            showing,
            left: runs,
            more: runs,
            again: AGAIN,
            made: 0,
            preemptions: 0,
        }
    }

    /// The run with these switches alone, if it shows what it must.
    pub fn run(&mut self, kept: &[Deviation]) -> Result<Option<Run>, RunError> {
        self.left = self.left.saturating_sub(1);
        self.made += 1;
        let run = match self.stage.run(&with(&self.plan, kept)) {
            Err(RunError::NoRuntime(_)) => return Ok(None),
            other => Some(other?).filter(|run| self.showing.by(run)),
        };
        if let Some(run) = &run {
            self.preemptions = run.records.switches.iter().filter(|s| s.preempts).count() as u32;
        }
        Ok(run)
    }

    /// Whether there are attempts left; they are more where many preemptions remain.
    pub fn longer(&mut self) -> bool {
        if self.left == 0 && self.preemptions > FEW && self.again > 0 {
            self.again -= 1;
            self.left = self.more;
        }
        self.left > 0
    }
}

/// The plan with these switches.
pub(crate) fn with(plan: &Plan, kept: &[Deviation]) -> Plan {
    Plan {
        policy: Policy::Deviations {
            switches: kept.to_vec(),
        },
        ..plan.clone()
    }
}

/// Recorded switches, named by the thread that loses the turn and its own count of points. The main thread runs first.
pub(crate) fn deviations(switches: &[Switch]) -> Vec<Deviation> {
    let losers = std::iter::once(ThreadId::MAIN).chain(switches.iter().map(|s| s.to));
    let named = losers.zip(switches).map(|(of, s)| Deviation {
        of,
        point: s.point,
        waits: s.waits,
        to: s.to,
        timeout: s.timeout,
    });
    named.collect()
}

/// The indices of preemptions, those first after which the thread that lost the turn was longest without it.
pub(super) fn by_length(switches: &[Switch]) -> Vec<usize> {
    let mut lost: HashMap<ThreadId, (usize, u64)> = HashMap::new();
    let mut lengths = vec![u64::MAX; switches.len()];
    let mut running = ThreadId::MAIN;
    for (n, switch) in switches.iter().enumerate() {
        lost.insert(running, (n, switch.step));
        running = switch.to;
        if let Some((n, since)) = lost.remove(&running) {
            lengths[n] = switch.step - since;
        }
    }
    let mut ranked: Vec<usize> = (0..switches.len()).filter(|n| switches[*n].preempts).collect();
    ranked.sort_by_key(|n| Reverse(lengths[*n]));
    ranked
}

/// Threads to which a switch is tried instead: first the one that comes to a bad end, then those that the switches
/// name.
pub(super) fn targets(run: &Run, kept: &[Deviation], most: usize) -> Vec<ThreadId> {
    let ended = run.records.worst_end().and_then(|ended| ended.at.as_ref());
    let mut named: Vec<ThreadId> = kept.iter().flat_map(|d| [d.of, d.to]).collect();
    named.sort_unstable();
    named.dedup();
    let first = ended.map(|at| at.0);
    named.retain(|t| Some(*t) != first);
    first.into_iter().chain(named).take(most).collect()
}
