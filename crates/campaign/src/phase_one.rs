//! Phase 1: candidates from detection, under `fifo`, under `fifo` with short turns, and then under other schedules
//! while they add any.
//!
//! Each schedule takes one run to find the granules with a suspicious pair, and a second, the same
//! execution again, only if there are any, to record the statements.

use crate::candidate::Candidates;
use crate::limits::Limits;
use crate::policies::Policies;
use crate::site_index::SiteIndex;
use crate::waiting_cycle::{Seen, WaitingCycles};
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::{Run, RunError, Stage};
use deadheat_model::SiteId;
use deadheat_wire::plan::{Mode, Plan, Policy, Targets};
use std::sync::Arc;
use std::time::Duration;

/// Flagged granules per signature.
const PER_SIGNATURE: u32 = 256;
/// Schedules in a row that add nothing before phase 1 ends. A schedule can open paths that few others take (a
/// failed trylock, a time-out), and a short program's cost next to nothing.
const BARREN: u32 = 16;
/// Most schedules.
const SCHEDULES: u32 = 48;
/// Schedules that are looked at whatever they cost.
const LEAST: u32 = 3;
/// Scheduling points of a short turn: enough for the two parts of a compare-exchange loop, so that threads get into
/// critical sections together where they may.
const SHORT_TURN: u64 = 2;
/// Most short turns that a run should have: each is a change of thread.
const SHORT_TURNS: u64 = 10_000;

/// A run of phase 1 that ended in some way, for the judge of bad ends.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Its plan.
    pub plan: Plan,
    /// The run.
    pub run: Run,
    /// How it ended.
    pub outcome: Outcome,
}

/// What phase 1 has found.
#[derive(Debug, Default)]
pub struct PhaseOne {
    /// The candidates.
    pub candidates: Candidates,
    /// Cycles of waiting.
    pub cycles: WaitingCycles,
    /// Names of the sites; shared by those who look at one program again and again.
    pub sites: Arc<SiteIndex>,
    /// Schedules that were looked at.
    pub schedules: u32,
    /// Runs that say nothing.
    pub inconclusive: u32,
    /// Schedules whose first run came to its end, and the longest time that one took.
    pub whole: u32,
    /// See there.
    pub longest: Duration,
    /// How the run under `fifo` ended.
    pub ordinary: Option<Ending>,
    /// How the runs under other schedules than `fifo` ended.
    pub endings: Vec<Ending>,
    /// What limits the result.
    pub limits: Limits,
    /// Look into these functions only (entry sites, ascending); into all if none.
    pub functions: Option<Arc<[SiteId]>>,
    barren: u32,
    /// Cycles as they were seen in detecting bodies.
    seen: Seen,
}

impl PhaseOne {
    /// One that has found nothing, in a program with these sites.
    pub fn of(sites: Arc<SiteIndex>) -> PhaseOne {
        PhaseOne {
            sites,
            ..PhaseOne::default()
        }
    }

    /// Whether further schedules are worth while. `late`: phase 1 had its share of the budget.
    pub fn done(&self, late: bool) -> bool {
        self.schedules >= SCHEDULES || self.barren >= BARREN || late && self.schedules >= LEAST
    }

    /// Looks at the next schedule: `fifo` first, then with short turns, then others by turns. `hang_yields` is
    /// the bound of a hang.
    pub fn look(&mut self, stage: &Stage, seed: u64, switch: u32, hang_yields: u64) -> Result<(), RunError> {
        let policy = match (self.schedules, &self.ordinary) {
            (n @ 2.., Some(ordinary)) => Policies::new(seed, switch, &ordinary.run.records).detecting(n - 2),
            _ => Policy::Fifo,
        };
        let first = self.schedules == 0;
        let short = self.schedules == 1;
        self.schedules += 1;
        let mode = Mode::Granules {
            per_signature: PER_SIGNATURE,
        };
        let mut plan = Plan {
            hang_yields,
            functions: self.functions.as_ref().map(|f| f.to_vec()),
            ..Plan::new(mode, policy)
        };
        if short {
            plan.quantum = self.short_turn();
        }
        let run = stage.run(&plan)?;
        let found = run.records.granules.clone().unwrap_or_default();
        self.limits.add(&run);
        let mut added = self.waits(stage, &plan, &run)?;
        self.keep(&plan, run, first);
        if !found.addresses.is_empty() {
            let mode = Mode::Statements {
                granules: found.addresses,
                lock_words: found.lock_words,
            };
            let plan = Plan { mode, ..plan };
            let run = stage.run(&plan)?;
            self.limits.add(&run);
            self.know(&run);
            added += self.candidates.add(&run.records, &plan, &self.sites);
        }
        self.barren = if added > 0 || first { 0 } else { self.barren + 1 };
        Ok(())
    }

    /// Adds the cycles of waiting of a run. The code of detecting bodies lies elsewhere than that of a directed run, so
    /// the cycles are taken from a run in plain bodies under the same schedule; says how many are new.
    fn waits(&mut self, stage: &Stage, plan: &Plan, run: &Run) -> Result<usize, RunError> {
        if !self.seen.add(&run.records) {
            return Ok(0);
        }
        let watched = Targets {
            atomics: true,
            lock_order: true,
            ..Targets::default()
        };
        let mode = Mode::Confirm(watched);
        let run = stage.run(&Plan { mode, ..plan.clone() })?;
        self.limits.add(&run);
        self.know(&run);
        Ok(self.cycles.add(&run.records))
    }

    /// Points of a short turn, by the length of the run under `fifo`.
    fn short_turn(&self) -> u32 {
        let ended = self
            .ordinary
            .as_ref()
            .and_then(|ending| ending.run.records.ended.as_ref());
        let points = ended.map_or(0, |ended| ended.steps);
        u32::try_from((points / SHORT_TURNS).max(SHORT_TURN)).unwrap_or(u32::MAX)
    }

    fn know(&mut self, run: &Run) {
        // Another input may load other libraries.
        if self.schedules == 1 && !self.sites.agrees(&run.records.modules) {
            self.sites = Arc::default();
        }
        if !self.sites.is_of(&run.records.modules) {
            Arc::make_mut(&mut self.sites).extend(&run.records.modules);
        }
    }

    fn keep(&mut self, plan: &Plan, run: Run, first: bool) {
        let outcome = Outcome::of(&run);
        self.know(&run);
        self.inconclusive += u32::from(outcome.inconclusive());
        self.whole += u32::from(!outcome.inconclusive());
        self.longest = self.longest.max(run.elapsed);
        let harms = outcome.as_harm().is_some();
        let ending = Ending {
            plan: plan.clone(),
            run,
            outcome,
        };
        if first {
            self.ordinary = Some(ending);
        } else if harms {
            self.endings.push(ending);
        }
    }
}
