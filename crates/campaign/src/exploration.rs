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
use std::collections::HashMap;
use std::time::Duration;

/// Least runs, unless a number is asked for.
const RUNS: u32 = 40;
/// Most runs.
const MOST: u32 = 320;
/// Scheduling points of all those further runs together.
const POINTS: u64 = 60_000;
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
struct Walk {
    number: u32,
    order: u64,
    bad: Option<BadRun>,
    /// Where the ordinary runs always fail: whether this one ended well.
    good: bool,
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

/// Whether what these orders' runs showed makes it likely that a further run shows an order that is new.
fn promises(orders: impl Iterator<Item = u64>) -> bool {
    let mut times: HashMap<u64, usize> = HashMap::new();
    orders.for_each(|order| *times.entry(order).or_default() += 1);
    let rare = times.values().filter(|times| **times <= 2).count();
    let all: usize = times.values().sum();
    rare * UNSEEN > all
}

/// Makes at most so many runs.
pub fn explore(
    judge: Judge<'_>,
    watched: &Targets,
    runs: u32,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Explored, RunError> {
    let walk = |number| Walk {
        number,
        order: 0,
        bad: None,
        good: false,
    };
    let fails = judge.baseline.always_fails().is_some();
    let mut walks: Vec<Walk> = Vec::new();
    let wakes = judge.baseline.run.records.ended.as_ref().is_some_and(|e| e.wakes > 0);
    let made = std::sync::atomic::AtomicU32::new(0);
    let make = |walk: &mut Walk| {
        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let plan = plan(&judge, watched, walk.number);
        let run = match judge.stage.run(&plan) {
            Err(RunError::NoRuntime(_)) => return Ok(()),
            other => other?,
        };
        walk.order = run.records.ended.as_ref().map_or(0, |e| e.order);
        let outcome = Outcome::of(&run);
        walk.good = fails && outcome == Outcome::Exit(0);
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
    for from in (0..runs).step_by(BATCH) {
        let mut batch: Vec<Walk> = (from..runs.min(from.saturating_add(BATCH as u32))).map(walk).collect();
        in_parallel(batch.iter_mut().collect(), jobs, stop, &|walk, _| make(walk))?;
        walks.extend(batch);
        let enough = walks.iter().any(|w| w.bad.is_some() || w.good);
        if enough || stop() || !wakes && !promises(walks.iter().map(|w| w.order)) {
            break;
        }
    }
    let mut good = None;
    if let Some(first) = walks.iter().find(|w| w.good) {
        let plan = plan(&judge, watched, first.number);
        let run = judge.stage.run(&plan)?;
        if Outcome::of(&run) == Outcome::Exit(0) {
            good = judge.happened(&plan, &run)?;
        }
    }
    let mut bad: Vec<BadRun> = Vec::new();
    for end in walks.into_iter().filter_map(|w| w.bad) {
        if !end.is_among(&bad) && bad.len() < BAD_RUNS {
            bad.push(end);
        }
    }
    Ok(Explored {
        runs: made.into_inner(),
        bad,
        good,
    })
}

fn plan(judge: &Judge<'_>, watched: &Targets, number: u32) -> Plan {
    let seed = judge.rules.seed.wrapping_add(number.into());
    let ordinary = &judge.baseline.run.records;
    let steps = ordinary.ended.as_ref().map_or(1, |e| e.steps);
    let policy = match number % 6 {
        0 => Policy::Random {
            seed,
            switch: judge.rules.switch,
        },
        1 => Policy::Pct {
            seed,
            depth: DEPTH,
            steps,
        },
        2 => Policy::Pos { seed },
        3 => Policy::Surw {
            seed,
            counts: counts(&ordinary.switches, steps),
        },
        4 => Policy::Overtaken {
            seed,
            switch: judge.rules.switch,
        },
        _ => Policy::Random { seed, switch: 512 },
    };
    Plan {
        mode: Mode::Confirm(watched.clone()),
        policy,
        ..judge.rules.plan.clone()
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
        assert!(!promises([1; 40].into_iter()));
        assert!(promises((0..40).map(|run| run / 39)));
        assert!(promises((0..40).map(|run| run / 38)));
        assert!(!promises((0..100).map(|run| run / 98)));
        assert!(promises(0..320));
    }

    #[test]
    fn each_thread_has_the_points_between_its_switches() {
        let to = |step, thread| Switch {
            step,
            to: ThreadId(thread),
            timeout: false,
            preempts: false,
        };
        assert_eq!(counts(&[to(4, 2), to(9, 0), to(10, 1)], 16), [5, 6, 5]);
        assert_eq!(counts(&[], 7), [7]);
    }
}
