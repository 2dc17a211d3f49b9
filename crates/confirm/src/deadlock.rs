//! Phase 2 for a predicted cycle of waiting: real exactly if a run ended in it, and ended so again with the same
//! schedule hash (evidence *happened*).
//!
//! Each try is a run under the cycle-directed policy with the next seed; every fourth holds nobody back, as for races.
//! A run that ends badly in another way is a finding of its own. Tries depend only on the cycle and the seed.

use crate::bad_end::BadEnd;
use crate::candidate::{BAD_RUNS, BadRun, Rules, Settled, Shown, WALK};
use crate::judge::Judge;
use crate::outcome::Outcome;
use crate::stage::RunError;
use deadheat_wire::plan::{CyclePlace, Mode, Plan, Policy, Targets};
use deadheat_wire::record::Deadlock;

/// A predicted cycle and what its runs have shown.
#[derive(Clone, Debug, Default)]
pub struct CycleCase {
    /// Its places, each waiting for what the next one holds.
    pub places: Vec<CyclePlace>,
    /// Tries so far.
    pub tries: u32,
    /// Tries that ended in it.
    pub hits: u32,
    /// Tries of which nothing can be said: stopped by a limit.
    pub inconclusive: u32,
    /// Hits whose repetition had another schedule.
    pub unrepeated: u32,
    /// The execution that ends in it.
    pub shown: Option<Shown>,
    /// Bad runs that end otherwise.
    pub bad: Vec<BadRun>,
    /// Set when the candidate is settled.
    pub settled: Option<Settled>,
}

impl CycleCase {
    /// A case for these places.
    pub fn new(places: Vec<CyclePlace>) -> CycleCase {
        CycleCase {
            places,
            ..CycleCase::default()
        }
    }

    fn settle(&mut self, rules: &Rules) {
        self.settled = if self.tries >= rules.tries {
            Some(Settled::Tried)
        } else if rules.early && self.shown.is_some() && self.tries * 2 >= rules.tries {
            Some(Settled::Harmful)
        } else {
            None
        };
    }
}

/// Whether a deadlock is this cycle: at each of its places a thread waits.
pub fn is_at(places: &[CyclePlace], deadlock: &Deadlock) -> bool {
    let waits = |place: &CyclePlace| {
        let mut stacks = deadlock.threads.iter().map(|w| &w.stack);
        stacks.any(|stack| {
            let at = |n: usize| stack.get(n).copied().unwrap_or_default();
            place
                .wants
                .iter()
                .any(|s| s.call == at(0) && (s.caller == 0 || s.caller == at(1)))
        })
    };
    !places.is_empty() && places.iter().all(waits)
}

impl Judge<'_> {
    /// Tries the cycle until it had `until` tries or is settled, or `stop` says so.
    pub fn advance_cycle(&self, case: &mut CycleCase, until: u32, stop: &dyn Fn() -> bool) -> Result<(), RunError> {
        while case.settled.is_none() && case.tries < until && !stop() {
            self.attempt_cycle(case)?;
            case.settle(self.rules);
        }
        Ok(())
    }

    fn attempt_cycle(&self, case: &mut CycleCase) -> Result<(), RunError> {
        let plan = self.rules.cycle_plan(&case.places, case.tries);
        let run = match self.stage.run(&plan) {
            Err(RunError::NoRuntime(_)) => None,
            other => Some(other?),
        };
        case.tries += 1;
        let Some(run) = run else {
            case.inconclusive += 1;
            return Ok(());
        };
        let outcome = Outcome::of(&run);
        if outcome.inconclusive() {
            case.inconclusive += 1;
            return Ok(());
        }
        let hit = run.records.deadlock.as_ref().is_some_and(|d| is_at(&case.places, d));
        if hit && outcome == Outcome::Deadlock {
            case.hits += 1;
            if case.shown.is_none() {
                case.shown = self.happened(&plan, &run)?;
                case.unrepeated += u32::from(case.shown.is_none());
            }
            return Ok(());
        }
        let end = BadEnd::of(&run);
        let known = outcome != Outcome::Deadlock && case.bad.iter().any(|b| b.end().same(&end));
        if case.bad.len() < BAD_RUNS
            && !known
            && let Some(harm) = self.baseline.harm(&outcome)
            && let Some(shown) = self.happened(&plan, &run)?
        {
            case.bad.push(BadRun {
                outcome,
                harm,
                shown,
                met: false,
            });
        }
        Ok(())
    }

    /// The deadlock in which the ordinary runs end, if they do: it is one whoever shows it.
    pub fn ordinary_deadlock(&self) -> Result<Option<BadRun>, RunError> {
        let run = &self.baseline.run;
        let outcome = Outcome::of(run);
        if outcome != Outcome::Deadlock || self.stage.freed_uses.blocks(&run.records) {
            return Ok(None);
        }
        let Some(harm) = outcome.as_harm() else {
            return Ok(None);
        };
        let plan = Plan {
            poison: self.baseline.poison,
            ..crate::Baseline::plan()
        };
        let shown = self.happened(&plan, run)?;
        Ok(shown.map(|shown| BadRun {
            outcome,
            harm,
            shown,
            met: false,
        }))
    }
}

impl Rules {
    /// The plan of a cycle's try with this number.
    pub fn cycle_plan(&self, places: &[CyclePlace], number: u32) -> Plan {
        let walks = number % WALK == WALK - 1;
        let targets = Targets {
            atomics: true,
            cycle: places.to_vec(),
            ..Targets::default()
        };
        Plan {
            mode: Mode::Confirm(targets),
            policy: Policy::CycleDirected {
                seed: self.seed.wrapping_add(number.into()),
                switch: self.switch,
                postponements: if walks { 0 } else { self.postponements },
            },
            ..self.plan.clone()
        }
    }
}
