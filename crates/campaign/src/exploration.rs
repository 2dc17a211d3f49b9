//! Schedules that are directed at nothing: what only some order of events shows, without a race or a cycle.
//!
//! A fixed number of runs, more of them in short programs that could lose a signal, by turns under bursts, PCT, POS,
//! SURW and a plain walk; no one of them is best on all programs. Each run's end is judged like any other: bad ends that
//! ordinary runs do not show, repeated once, are findings.

use crate::confirmation::in_parallel;
use deadheat_confirm::RunError;
use deadheat_confirm::candidate::BadRun;
use deadheat_confirm::judge::Judge;
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::records::Records;
use deadheat_wire::plan::{Mode, Plan, Policy, Switch, Targets};

/// Runs, unless a number is asked for.
const RUNS: u32 = 40;
/// Most runs in programs that wake those alone who wait already: what is lost by it, nothing else points at.
const MOST: u32 = 320;
/// Scheduling points of all those further runs together.
const POINTS: u64 = 60_000;
/// Ordered events that PCT looks for.
const DEPTH: u32 = 3;
/// Different bad ends kept.
const BAD_RUNS: usize = 4;

/// One run to be made, and the bad end that it came to.
struct Walk {
    number: u32,
    bad: Option<BadRun>,
}

/// What exploring came to.
#[derive(Debug, Default)]
pub struct Explored {
    /// Runs made.
    pub runs: u32,
    /// Bad ends, each once.
    pub bad: Vec<BadRun>,
}

/// How many runs are worth while, by what the ordinary run did.
pub fn runs(ordinary: &Records) -> u32 {
    match &ordinary.ended {
        Some(ended) if ended.wakes > 0 => {
            let short = POINTS / ended.steps.max(1);
            u32::try_from(short).unwrap_or(MOST).clamp(RUNS, MOST)
        }
        _ => RUNS,
    }
}

/// Makes so many runs.
pub fn explore(
    judge: Judge<'_>,
    runs: u32,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Explored, RunError> {
    let mut walks: Vec<Walk> = (0..runs).map(|number| Walk { number, bad: None }).collect();
    let made = std::sync::atomic::AtomicU32::new(0);
    in_parallel(walks.iter_mut().collect(), jobs, stop, &|walk, _| {
        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let plan = plan(&judge, walk.number);
        let run = match judge.stage.run(&plan) {
            Err(RunError::NoRuntime(_)) => return Ok(()),
            other => other?,
        };
        let outcome = Outcome::of(&run);
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
    })?;
    let mut bad: Vec<BadRun> = Vec::new();
    for end in walks.into_iter().filter_map(|w| w.bad) {
        if !end.is_among(&bad) && bad.len() < BAD_RUNS {
            bad.push(end);
        }
    }
    Ok(Explored {
        runs: made.into_inner(),
        bad,
    })
}

fn plan(judge: &Judge<'_>, number: u32) -> Plan {
    let seed = judge.rules.seed.wrapping_add(number.into());
    let ordinary = &judge.baseline.run.records;
    let steps = ordinary.ended.as_ref().map_or(1, |e| e.steps);
    let policy = match number % 5 {
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
        _ => Policy::Random { seed, switch: 512 },
    };
    let watched = Targets {
        atomics: true,
        ..Targets::default()
    };
    Plan {
        mode: Mode::Confirm(watched),
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
