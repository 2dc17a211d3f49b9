//! Minimisation: the fewest switches that still show a finding, and the two events whose swap makes it go away.
//!
//! Delta debugging (Zeller and Hildebrandt, TSE 2002) over the switches of the recorded run, each named by the thread
//! that loses the turn and its own count of points, so that the others keep their meaning when one is left out (policy
//! `deviations`); in between the schedule is ordinary. First the decisive ones are looked for: mostly there are few, and of
//! thousands of switches those take a dozen runs each. Then removals are tried, in halves, quarters and so on: what
//! stays is needed, each switch by itself, unless the bound of runs was reached; then each of these alone, to any of
//! their threads. Each attempt is a run, as bounded by
//! the caller. The result counts only if it repeats with the same schedule hash.
//!
//! A switch by which a thread that could go on loses the turn is a preemption; the others choose who goes on where one
//! waits.

mod attempts;

use crate::bad_end::BadEnd;
use crate::candidate::{meetings, unordered};
use crate::cause;
use crate::deadlock::is_at;
use crate::hang;
use crate::judge::with_torn;
use crate::orders;
use crate::outcome::Outcome;
use crate::stage::{Run, RunError, Stage};
use attempts::{Attempts, targets};
pub(crate) use attempts::{deviations, with};
use deadheat_model::{Harm, ThreadId};
use deadheat_wire::plan::{CyclePlace, Deviation, Plan, Switch, Targets};
use deadheat_wire::record::{Meeting, Step};

/// Threads to which a switch is tried instead.
const THREADS: usize = 4;

/// Long interruptions that are tried alone.
const LONGEST: usize = 24;
/// Decisive switches that are looked for one by one, before parts of all are left out.
const DECISIVE: usize = 8;

/// What a run must show.
#[derive(Clone, Debug)]
pub enum Showing {
    /// It ends like this.
    Ends(BadEnd),
    /// It ends in the deadlock of these places.
    Cycle(Vec<CyclePlace>),
    /// The pair meets.
    Meets(Targets),
    /// The pair meets, and the run ends like this.
    MeetsAndEnds(Targets, BadEnd),
    /// The pair's accesses are made in no order.
    Unordered(Targets),
}

impl Showing {
    /// Whether a run shows it.
    pub fn by(&self, run: &Run) -> bool {
        let outcome = Outcome::of(run);
        let meets = |pair: &Targets| meetings(pair, run).next().is_some();
        match self {
            Showing::Ends(end) => BadEnd::of(run).same(end),
            Showing::Cycle(places) => {
                let deadlock = run.records.deadlock.as_ref();
                outcome == Outcome::Deadlock && deadlock.is_some_and(|d| is_at(places, d))
            }
            Showing::Meets(pair) => meets(pair) && !outcome.inconclusive(),
            Showing::MeetsAndEnds(pair, end) => meets(pair) && BadEnd::of(run).same(end),
            Showing::Unordered(pair) => unordered(pair, run).is_some() && !outcome.inconclusive(),
        }
    }
}

/// A minimised execution and its story.
#[derive(Clone, Debug)]
pub struct Minimal {
    /// Its plan.
    pub plan: Plan,
    /// The execution.
    pub run: Run,
    /// Hash of its schedule.
    pub hash: u64,
    /// The meeting that shows the pair, if it is one that does.
    pub meeting: Option<u32>,
    /// The execution with that meeting resolved the other way.
    pub other: Option<Run>,
    /// Its events.
    pub story: Story,
}

/// What happens in a minimised execution.
#[derive(Clone, Debug)]
pub struct Story {
    /// Its events in order.
    pub steps: Vec<Step>,
    /// Its switches.
    pub switches: Vec<Switch>,
    /// The two events whose swap makes the finding go away.
    pub swap: Option<Swap>,
    /// Runs that the minimisation took.
    pub runs: u32,
}

impl Story {
    /// Switches by which a thread lost the turn that could have gone on.
    pub fn preemptions(&self) -> u32 {
        self.switches.iter().filter(|s| s.preempts).count() as u32
    }
}

/// Two events in the order of the finding, and what comes of it the other way round.
#[derive(Clone, Debug)]
pub struct Swap {
    /// Index of the event that comes first in the finding.
    pub first: usize,
    /// Index of the one that comes second, or would come.
    pub second: usize,
    /// How the run ends if the second comes first.
    pub outcome: Outcome,
}

/// Minimises runs of one program.
#[derive(Clone, Copy)]
pub struct Minimiser<'a> {
    /// Starts runs.
    pub stage: &'a Stage,
    /// Most runs for one finding.
    pub runs: u32,
    /// Says when to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// What harms.
    pub harm: &'a (dyn Fn(&Outcome) -> Option<Harm> + Sync),
}

impl Minimiser<'_> {
    /// The fewest switches of `run` that still show it; none if the run does not show it in this form.
    pub fn minimise(&self, plan: &Plan, run: &Run, showing: &Showing) -> Result<Option<Minimal>, RunError> {
        let mut attempts = Attempts::new(self.stage, plan, showing, self.runs);
        let mut kept = deviations(&run.records.switches);
        if attempts.run(&kept)?.is_none() {
            return Ok(None);
        }
        if attempts.run(&[])?.is_some() {
            kept.clear();
        }
        // A meeting needs nothing of what comes after it.
        let met = match showing {
            Showing::Meets(pair) => meetings(pair, run).next(),
            _ => None,
        };
        let before = |s: &&Switch| met.is_some_and(|m| s.step <= m.step);
        let early = run.records.switches.iter().take_while(before).count();
        if met.is_some()
            && early < kept.len()
            && let Some(fewer) = kept.get(..early)
            && attempts.run(fewer)?.is_some()
        {
            kept.truncate(early);
        }
        self.longest(&mut attempts, run, &mut kept)?;
        self.decisive(&mut attempts, &mut kept)?;
        let mut size = kept.len().div_ceil(2);
        while size > 0 && !(self.stop)() {
            let before = kept.len();
            // From the end: what follows the decisive switch is rarely needed.
            let mut end = kept.len();
            while end > 0 && attempts.longer() && !(self.stop)() {
                let start = end.saturating_sub(size);
                let fewer = [&kept[..start], &kept[end..]].concat();
                if attempts.run(&fewer)?.is_some() {
                    kept = fewer;
                }
                end = start;
            }
            size = match size {
                1 if kept.len() < before && attempts.left > 0 => 1,
                size => size.min(kept.len().max(1)) / 2,
            };
        }
        if kept.len() > 1
            && let Some(one) = self.single(&mut attempts, run, &kept)?
        {
            kept = vec![one];
        }
        self.told(&mut attempts, &kept)
    }

    /// Of many switches, the one that does alone, if it is among those after which a thread did not run for longest: a
    /// random walk interrupts a thread for a moment, directed runs hold it back for as long as it takes.
    fn longest(&self, attempts: &mut Attempts<'_>, run: &Run, kept: &mut Vec<Deviation>) -> Result<(), RunError> {
        let ranked = attempts::by_length(&run.records.switches[..kept.len()]);
        for one in ranked.into_iter().take(LONGEST.min(kept.len() / 2)) {
            if !attempts.longer() || (self.stop)() {
                break;
            }
            if attempts.run(&kept[one..=one])?.is_some() {
                *kept = vec![kept[one]];
                break;
            }
        }
        Ok(())
    }

    /// Of many switches, the shortest beginning that does, by halving: its last one is decisive, as what comes later is
    /// ordinary. Then, with that one, the shortest beginning of the rest, and so on.
    fn decisive(&self, attempts: &mut Attempts<'_>, kept: &mut Vec<Deviation>) -> Result<(), RunError> {
        let mut decisive: Vec<Deviation> = Vec::new();
        let mut rest = kept.len();
        while rest > 0 && decisive.len() < DECISIVE && attempts.longer() && !(self.stop)() {
            let mut too_few = 0;
            while rest - too_few > 1 && attempts.longer() && !(self.stop)() {
                let middle = usize::midpoint(rest, too_few);
                match attempts.run(&[&kept[..middle], &decisive].concat())? {
                    Some(_) => rest = middle,
                    None => too_few = middle,
                }
            }
            rest -= 1;
            decisive.insert(0, kept[rest]);
            if rest > 0 && attempts.run(&decisive)?.is_some() {
                rest = 0;
            }
        }
        kept.truncate(rest);
        kept.extend(decisive);
        Ok(())
    }

    /// One of the switches that does alone what all do, if the turn goes to another thread by it: a detour by a third
    /// thread takes several that are needed each. `run` is the one that is minimised.
    fn single(
        &self,
        attempts: &mut Attempts<'_>,
        run: &Run,
        kept: &[Deviation],
    ) -> Result<Option<Deviation>, RunError> {
        for to in targets(run, kept, THREADS) {
            for switch in kept.iter().rev().filter(|switch| switch.of != to) {
                if !attempts.longer() || (self.stop)() {
                    return Ok(None);
                }
                let one = Deviation { to, ..*switch };
                if attempts.run(&[one])?.is_some() {
                    return Ok(Some(one));
                }
            }
        }
        Ok(None)
    }

    /// The minimal run once more with its events, if it repeats, and with the decisive events swapped.
    fn told(&self, attempts: &mut Attempts<'_>, kept: &[Deviation]) -> Result<Option<Minimal>, RunError> {
        attempts.left = attempts.left.max(1);
        let Some(run) = attempts.run(kept)? else {
            return Ok(None);
        };
        let Some(hash) = run.records.schedule_hash() else {
            return Ok(None);
        };
        let plan = with(&attempts.plan, kept);
        if Outcome::of(&run) == Outcome::Hang && !hang::lasts(self.stage, &plan, &run)? {
            return Ok(None);
        }
        let traced = Plan {
            trace: true,
            ..plan.clone()
        };
        let again = self.stage.run(&traced)?;
        if again.records.schedule_hash() != Some(hash) || !attempts.showing.by(&again) {
            return Ok(None);
        }
        let mut minimal = Minimal {
            story: Story {
                steps: again.records.steps_taken.clone(),
                switches: run.records.switches.clone(),
                swap: None,
                runs: attempts.made + 1,
            },
            plan,
            run,
            hash,
            meeting: None,
            other: None,
        };
        let (pair, harms) = match attempts.showing {
            Showing::Meets(pair) => (pair, false),
            Showing::MeetsAndEnds(pair, _) => (pair, true),
            _ => {
                self.leave_out(attempts, kept, &mut minimal)?;
                return Ok(Some(minimal));
            }
        };
        self.turn(attempts, pair, harms, &mut minimal)?;
        // Harm is laid to an order only if the other one is clean.
        if harms && minimal.other.is_none() {
            return Ok(None);
        }
        Ok(Some(minimal))
    }

    /// How a run ends, if that is no harm.
    fn clean(&self, run: &Run) -> Option<Outcome> {
        let outcome = Outcome::of(run);
        let calm = !outcome.inconclusive() && (self.harm)(&outcome).is_none();
        (calm && !matches!(outcome, Outcome::Deadlock | Outcome::Hang)).then_some(outcome)
    }

    /// The meeting of the pair resolved the other way.
    fn turn(
        &self,
        attempts: &Attempts<'_>,
        pair: &Targets,
        harms: bool,
        minimal: &mut Minimal,
    ) -> Result<(), RunError> {
        minimal.meeting = meetings(pair, &minimal.run).next().map(|m| m.number);
        if let Some(torn) = meetings(pair, &minimal.run).find(|m| m.torn) {
            let other = self.stage.run(&with_torn(&minimal.plan, false))?;
            if let (Some(outcome), true) = (self.clean(&other), harms) {
                // The read of the one came before what the other did.
                let early = Meeting {
                    arriving_first: !torn.arriving_first,
                    ..torn.record.clone()
                };
                minimal.meeting = Some(early.number);
                minimal.other = Some(other);
                minimal.story.swap = of_meeting(&minimal.story.steps, &early, outcome);
            }
            return Ok(());
        }
        for meeting in orders::ends(pair, &minimal.run).into_iter().rev() {
            let (other, turned) = match cause::swapped(self.stage, &attempts.plan, pair, &minimal.run, meeting)? {
                Some(other) => (other, true),
                None => {
                    let plan = orders::plan(&attempts.plan, &minimal.run, meeting, !meeting.arriving_first, false);
                    let other = self.stage.run(&plan)?;
                    let resolved = orders::resolved(&other, meeting);
                    (other, resolved.is_some_and(|first| first != meeting.arriving_first))
                }
            };
            let clean = self.clean(&other);
            if turned && (clean.is_some() || !harms) {
                minimal.meeting = Some(meeting.number);
                minimal.other = Some(other);
                if let Some(outcome) = clean.filter(|_| harms) {
                    minimal.story.swap = of_meeting(&minimal.story.steps, meeting, outcome);
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// The run without the last of its switches that it needs.
    fn leave_out(&self, attempts: &Attempts<'_>, kept: &[Deviation], minimal: &mut Minimal) -> Result<(), RunError> {
        for (n, needed) in kept.iter().enumerate().rev() {
            let without = [&kept[..n], &kept[n + 1..]].concat();
            let other = self.stage.run(&with(&attempts.plan, &without))?;
            if let Some(outcome) = self.clean(&other) {
                minimal.story.swap = of_switch(&minimal.story, needed, outcome);
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The two events whose order in `averting`, a minimised run that ends well, keeps it from ending as `failing` does, in
/// the order that they have there.
pub fn averted(failing: &Story, averting: &Minimal) -> Option<Swap> {
    let story = &averting.story;
    let swap = story.swap.as_ref()?;
    let same = |a: &Step, b: &Step| {
        let site = |s: &Step| s.access.map(|access| access.site);
        (a.thread, a.kind, a.object, site(a)) == (b.thread, b.kind, b.object, site(b))
    };
    // The same event is the one that comes as often before.
    let there = |at: usize| {
        let event = &story.steps[at];
        let times = story.steps[..at].iter().filter(|s| same(s, event)).count();
        let mut all = failing.steps.iter().enumerate().filter(|(_, s)| same(s, event));
        all.nth(times).map(|(n, _)| n)
    };
    let (first, second) = (there(swap.second)?, there(swap.first)?);
    let outcome = Outcome::of(&averting.run);
    (first < second).then_some(Swap { first, second, outcome })
}

/// The two accesses of a meeting.
fn of_meeting(steps: &[Step], meeting: &Meeting, outcome: Outcome) -> Option<Swap> {
    let (a, p) = (&meeting.arriving.access, &meeting.postponed.access);
    let last = |thread: ThreadId| {
        let at = |s: &Step| s.thread == thread && s.step <= meeting.step && s.access.is_some();
        steps.iter().rposition(at)
    };
    let (arriving, postponed) = (last(a.thread)?, last(p.thread)?);
    let (first, second) = if meeting.arriving_first {
        (arriving, postponed)
    } else {
        (postponed, arriving)
    };
    Some(Swap { first, second, outcome })
}

/// What the thread that lost the turn was about to do, and what another did first.
fn of_switch(story: &Story, needed: &Deviation, outcome: Outcome) -> Option<Swap> {
    let turns: Vec<Deviation> = deviations(&story.switches);
    // The turn may have gone to another thread than the one that is named.
    let same = |d: &Deviation| (d.of, d.point, d.waits) == (needed.of, needed.point, needed.waits);
    let at = turns.iter().position(same)?;
    let step = story.switches[at].step;
    // Where the turn was lost behind an operation, what the thread was about to do comes later.
    let own = |s: &Step| s.thread == needed.of;
    let there = story.steps.iter().position(|s| own(s) && s.step == step);
    let later_own = || story.steps.iter().position(|s| own(s) && s.step > step);
    let second = match there.or_else(later_own) {
        Some(at) => at,
        None => story.steps.iter().rposition(own)?,
    };
    let pending = &story.steps[second];
    let later = || {
        story
            .steps
            .iter()
            .enumerate()
            .filter(|(_, s)| s.step > step && s.thread != needed.of)
    };
    let same = |s: &Step| match (&s.access, &pending.access) {
        (Some(a), Some(b)) => a.bytes.overlaps(b.bytes),
        _ => s.object.is_some() && s.object == pending.object,
    };
    let first = later().find(|(_, s)| same(s)).or_else(|| later().next())?.0;
    Some(Swap { first, second, outcome })
}
