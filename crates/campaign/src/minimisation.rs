//! Findings minimised after they were shown, the harmful ones first, several at a time.
//!
//! With a budget, for at most half of what is left of it; what is not minimised keeps its execution as it was found.

use crate::confirmation::in_parallel;
use deadheat_confirm::candidate::{BadRun, Shown};
use deadheat_confirm::deadlock::CycleCase;
use deadheat_confirm::minimise::{self, Minimiser, Showing, Story};
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::{BadEnd, Case, RunError};
use deadheat_model::{Evidence, Harm, HarmKind};

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
            let pair = case.targets.clone();
            let showing = match (harms, shown.evidence) {
                (true, Evidence::Created) => Showing::MeetsAndEnds(pair, BadEnd::of(&shown.run)),
                (_, Evidence::Created) => Showing::Meets(pair),
                _ => Showing::Unordered(pair),
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

/// The bad end of all ordinary runs, and a run that ends well: the fewest switches by which it does, and with them the
/// story of the bad end. Tells the execution that ends well so.
pub fn averted(minimiser: Minimiser<'_>, bad: &mut BadRun, good: &Shown) -> Result<Option<Shown>, RunError> {
    let (fails, ends_well) = (Showing::Ends(bad.end()), BadEnd::of(&good.run));
    let other = |outcome: &Outcome| {
        (!outcome.alike(&bad.outcome)).then(|| Harm {
            kind: HarmKind::ExitStatus,
            detail: String::new(),
        })
    };
    let minimiser = Minimiser {
        runs: RUNS[0],
        harm: &other,
        ..minimiser
    };
    let Some(averting) = minimiser.minimise(&good.plan, &good.run, &Showing::Ends(ends_well))? else {
        return Ok(None);
    };
    if let Some(failing) = minimiser.minimise(&bad.shown.plan, &bad.shown.run, &fails)? {
        let swap = minimise::averted(&failing.story, &averting);
        bad.shown.story = Some(Story { swap, ..failing.story });
        (bad.shown.plan, bad.shown.run, bad.shown.hash) = (failing.plan, failing.run, failing.hash);
    }
    bad.shown.other = Some(averting.run.clone());
    Ok(Some(Shown {
        plan: averting.plan,
        run: averting.run,
        hash: averting.hash,
        ..good.clone()
    }))
}

fn of_bad(bad: &mut BadRun) -> Task<'_> {
    Task {
        showing: Showing::Ends(bad.end()),
        shown: &mut bad.shown,
        harms: true,
    }
}
