//! Findings minimised after they were shown, the harmful ones first, several at a time.
//!
//! With a budget, for at most half of what is left of it; what is not minimised keeps its execution as it was found.

use crate::confirmation::in_parallel;
use deadheat_confirm::candidate::{BadRun, Shown};
use deadheat_confirm::deadlock::CycleCase;
use deadheat_confirm::minimise::{Minimiser, Showing};
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::{Case, RunError};
use deadheat_model::Evidence;

/// Most runs for a finding that harms, and for another.
const RUNS: [u32; 2] = [64, 16];

/// A finding to be minimised.
struct Task<'a> {
    shown: &'a mut Shown,
    showing: Showing,
    harms: bool,
}

/// Minimises what the cases and bad runs have shown.
pub fn minimise(
    minimiser: Minimiser<'_>,
    cases: &mut [Case],
    rings: &mut [CycleCase],
    bad: &mut [BadRun],
    jobs: usize,
) -> Result<(), RunError> {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ring in rings {
        if let Some(shown) = &mut ring.shown {
            tasks.push(Task {
                shown,
                showing: Showing::Cycle(ring.places.clone()),
                harms: true,
            });
        }
        tasks.extend(ring.bad.iter_mut().map(of_bad));
    }
    tasks.extend(bad.iter_mut().map(of_bad));
    for case in cases {
        if let Some(shown) = &mut case.shown {
            let harms = case.harm.is_some();
            let showing = match (harms, shown.evidence) {
                (true, Evidence::Created) => Showing::MeetsAndEnds(Outcome::of(&shown.run)),
                (_, Evidence::Created) => Showing::Meets,
                _ => Showing::Unordered,
            };
            tasks.push(Task { shown, showing, harms });
        }
        tasks.extend(case.bad.iter_mut().map(of_bad));
    }
    tasks.retain(|task| task.shown.story.is_none());
    tasks.sort_by_key(|task| !task.harms);
    in_parallel(tasks.iter_mut().collect(), jobs, minimiser.stop, &|task, _| {
        let minimiser = Minimiser {
            runs: RUNS[usize::from(!task.harms)],
            ..minimiser
        };
        let Some(minimal) = minimiser.minimise(&task.shown.plan, &task.shown.run, &task.showing)? else {
            return Ok(());
        };
        let shown = &mut *task.shown;
        if minimal.meeting.is_some() {
            (shown.meeting, shown.other) = (minimal.meeting, minimal.other);
        }
        (shown.plan, shown.run, shown.hash) = (minimal.plan, minimal.run, minimal.hash);
        shown.story = Some(minimal.story);
        Ok(())
    })
}

fn of_bad(bad: &mut BadRun) -> Task<'_> {
    Task {
        showing: Showing::Ends(bad.outcome.clone()),
        shown: &mut bad.shown,
        harms: true,
    }
}
