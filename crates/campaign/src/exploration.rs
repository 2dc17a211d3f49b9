//! Schedules that are directed at nothing: what only some order of events shows, without a race or a cycle.
//!
//! By turns under bursts, PCT, POS, SURW, overtaking and a plain walk; no one of them is best on all programs. Each run's end is
//! judged like any other: bad ends that ordinary runs do not show, repeated once, are findings.
//!
//! How many runs: as long as they show orders of events that are new (`Ended::order`). By Good and Turing the share of
//! the orders seen once among all runs made is about the chance that the next run shows one that was not seen. With
//! those seen twice counted too, to be on the safe side: when it falls below one in [`UNSEEN`] it ends. A program that
//! wakes those alone who wait already gets all its runs: what loses a signal may be rare. Bounds: [`MOST`] runs and
//! [`POINTS`] scheduling points, unless the budget is longer than usual: who gives more time wants it used.
//!
//! The statements of all candidates are scheduling points too: a failure may need an order of accesses that race, and
//! of more than two of them.

use crate::confirmation::in_parallel;
use deadheat_confirm::candidate::{BadRun, Shown};
use deadheat_confirm::judge::Judge;
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::records::Records;
use deadheat_confirm::{Case, RunError};
use deadheat_model::SiteId;
use deadheat_wire::plan::{Mode, Plan, Policy, Switch, Targets};
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

/// Least runs, unless a number is asked for.
const RUNS: u32 = 40;
/// Most runs.
const MOST: u32 = 320;
/// Scheduling points of all those further runs together.
const POINTS: u64 = 200_000;
/// The budget for which these bounds are made.
const USUAL_BUDGET: Duration = Duration::from_secs(60);
/// Runs between two looks at what they showed: the same whatever runs at the same time.
const BATCH: usize = 40;
/// Chance that a further run shows an order of events that none showed, below which there are no further ones: one in
/// so many.
const UNSEEN: usize = 50;
/// Ordered events that PCT looks for.
const DEPTH: u32 = 3;
/// Different bad ends kept.
const BAD_RUNS: usize = 4;

/// One run to be made, the order of events in it, and the bad end that it came to.
#[derive(Default)]
struct Walk {
    number: u32,
    order: u64,
    bad: Option<BadRun>,
    /// Where the ordinary runs always fail: this one if it ended well.
    good: Option<Shown>,
}

/// What exploring came to.
#[derive(Debug, Default)]
pub struct Explored {
    /// Runs made.
    pub runs: u32,
    /// Bad ends, each once.
    pub bad: Vec<BadRun>,
    /// Where the ordinary runs always fail: the first run that ended well, twice.
    pub good: Option<Shown>,
}

/// Most statements of candidates that are scheduling points.
const STATEMENTS: usize = 256;

/// The statements of these candidates, as far as there is room for them.
pub fn watched(cases: &[Case]) -> Targets {
    let mut sites: Vec<SiteId> = Vec::new();
    for case in cases {
        let own = case.targets.first.iter().chain(&case.targets.second);
        let before = sites.len();
        sites.extend(own);
        if sites.len() > STATEMENTS {
            sites.truncate(before);
            break;
        }
    }
    sites.sort_unstable();
    sites.dedup();
    Targets {
        first: sites.clone(),
        second: sites,
        atomics: true,
        ..Targets::default()
    }
}

/// How many runs are worth while at most, by what the ordinary run did.
pub fn runs(ordinary: &Records, budget: Option<Duration>) -> u32 {
    if budget.is_some_and(|budget| budget > USUAL_BUDGET) {
        return u32::MAX;
    }
    let steps = ordinary.ended.as_ref().map_or(POINTS, |ended| ended.steps.max(1));
    u32::try_from(POINTS / steps).unwrap_or(MOST).clamp(RUNS, MOST)
}

/// How often each order of events was shown.
#[derive(Default)]
struct Orders {
    times: HashMap<u64, usize>,
    /// Runs.
    all: usize,
    /// Orders shown once or twice.
    rare: usize,
}

impl Orders {
    fn add(&mut self, order: u64) {
        let times = self.times.entry(order).or_default();
        *times += 1;
        self.all += 1;
        match *times {
            1 => self.rare += 1,
            3 => self.rare -= 1,
            _ => {}
        }
    }

    /// Whether it is likely that a further run shows an order that is new.
    fn promise(&self) -> bool {
        self.rare * UNSEEN > self.all
    }
}

/// Makes at most so many runs.
pub fn explore(
    judge: Judge<'_>,
    watched: &Targets,
    runs: u32,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Explored, RunError> {
    let ordinary = ordinary(&judge, watched)?;
    let ended = ordinary.ended.as_ref();
    let policies = Policies {
        seed: judge.rules.seed,
        switch: judge.rules.switch,
        steps: ended.map_or(1, |e| e.steps),
        counts: counts(&ordinary.switches, ended.map_or(1, |e| e.steps)),
    };
    let plan = |number| Plan {
        mode: Mode::Confirm(watched.clone()),
        policy: policies.of(number),
        ..judge.rules.plan.clone()
    };
    let (fails, wakes) = (
        judge.baseline.always_fails().is_some(),
        ended.is_some_and(|e| e.wakes > 0),
    );
    let made = std::sync::atomic::AtomicU32::new(0);
    let make = |walk: &mut Walk| {
        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let plan = plan(walk.number);
        let run = match judge.stage.run(&plan) {
            Err(RunError::NoRuntime(_)) => return Ok(()),
            other => other?,
        };
        walk.order = run.records.ended.as_ref().map_or(0, |e| e.order);
        let outcome = Outcome::of(&run);
        if fails && outcome == Outcome::Exit(0) {
            walk.good = judge.happened(&plan, &run)?;
        }
        if let Some(harm) = judge.baseline.harm(&outcome)
            && let Some(shown) = judge.happened(&plan, &run)?
        {
            walk.bad = Some(BadRun {
                outcome,
                harm,
                shown,
                met: false,
            });
        }
        Ok(())
    };
    let mut orders = Orders::default();
    let mut explored = Explored::default();
    for from in (0..runs).step_by(BATCH) {
        let walk = |number| Walk {
            number,
            ..Walk::default()
        };
        let mut batch: Vec<Walk> = (from..runs.min(from.saturating_add(BATCH as u32))).map(walk).collect();
        in_parallel(batch.iter_mut().collect(), jobs, stop, &|walk, _| make(walk))?;
        for walk in batch {
            orders.add(walk.order);
            explored.good = explored.good.or(walk.good);
            let new = walk
                .bad
                .filter(|bad| !bad.is_among(&explored.bad) && explored.bad.len() < BAD_RUNS);
            explored.bad.extend(new);
        }
        let enough = !explored.bad.is_empty() || explored.good.is_some();
        if enough || stop() || !wakes && !orders.promise() {
            break;
        }
    }
    explored.runs = made.into_inner();
    Ok(explored)
}

/// What an ordinary run does that stops at these statements too.
fn ordinary<'a>(judge: &'a Judge<'_>, watched: &Targets) -> Result<Cow<'a, Records>, RunError> {
    if watched.first.is_empty() {
        return Ok(Cow::Borrowed(&judge.baseline.run.records));
    }
    let plan = Plan {
        mode: Mode::Confirm(watched.clone()),
        policy: Policy::Fifo,
        ..judge.rules.plan.clone()
    };
    match judge.stage.run(&plan) {
        Err(RunError::NoRuntime(_)) => Ok(Cow::Borrowed(&judge.baseline.run.records)),
        run => Ok(Cow::Owned(run?.records)),
    }
}

/// The policies of undirected runs, by turns.
struct Policies {
    seed: u64,
    switch: u32,
    /// Scheduling points of an ordinary run.
    steps: u64,
    /// The same of each thread.
    counts: Vec<u64>,
}

impl Policies {
    fn of(&self, number: u32) -> Policy {
        let seed = self.seed.wrapping_add(number.into());
        let switch = self.switch;
        match number % 6 {
            0 => Policy::Random { seed, switch },
            1 => Policy::Pct {
                seed,
                depth: DEPTH,
                steps: self.steps,
            },
            2 => Policy::Pos { seed },
            3 => Policy::Surw {
                seed,
                counts: self.counts.clone(),
            },
            4 => Policy::Overtaken { seed, switch },
            _ => Policy::Random { seed, switch: 512 },
        }
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
    fn an_order_that_comes_again_promises_nothing_new() {
        let promises = |orders: &mut dyn Iterator<Item = u64>| {
            let mut all = Orders::default();
            orders.for_each(|order| all.add(order));
            all.promise()
        };
        assert!(!promises(&mut [1; 40].into_iter()));
        assert!(promises(&mut (0..40).map(|run| run / 39)));
        assert!(promises(&mut (0..40).map(|run| run / 38)));
        assert!(!promises(&mut (0..100).map(|run| run / 97)));
        assert!(promises(&mut (0..320)));
    }

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
