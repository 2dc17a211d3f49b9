//! Schedules that are directed at no pair and no cycle: what only some order of events shows.
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
//! If the first [`BATCH`] of those show nothing, runs come next that are each directed at the objects of one group: who comes to one of them again
//! is held back until others were there ([`Policy::Overtaken`] with places), so that what a thread does to an object in
//! two steps is interrupted between them, however rarely the other comes there. Two objects are of a group if threads
//! come to both from one place; the first undirected run tells which there are. [`TRIES`] runs for each group, in turns,
//! and at most [`DIRECTED_POINTS`] scheduling points; what groups were left out is told.
//!
//! A few such runs come early, when phase 1 has looked under one schedule ([`early`]): most failures that some schedule
//! shows are shown by one of the first, and phase 1 takes longest. Every other one is directed at pairs that were
//! predicted by then, if there are any.
//!
//! The statements of all candidates are scheduling points too: a failure may need an order of accesses that race, and
//! of more than two of them.

use crate::confirmation::in_parallel;
use crate::policies::Policies;
use deadheat_confirm::RunError;
use deadheat_confirm::candidate::{BadRun, Shown};
use deadheat_confirm::judge::Judge;
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::records::Records;
use deadheat_model::SiteId;
use deadheat_wire::plan::{Mode, Plan, Policy, Targets};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Least runs, unless a number is asked for.
const RUNS: u32 = 40;
/// Most runs.
const MOST: u32 = 320;
/// Scheduling points of all those further runs together.
const POINTS: u64 = 200_000;
/// Runs directed at each group of objects.
const TRIES: u32 = 8;
/// Scheduling points of all those together, and least and most of them. Where there are many groups or the runs are long,
/// each group is tried less often, twice at least.
const DIRECTED_POINTS: u64 = 2_000_000;
const LEAST_DIRECTED: u64 = 16;
const MOST_DIRECTED: u64 = 800;
/// The budget for which these bounds are made.
const USUAL_BUDGET: Duration = Duration::from_secs(60);
/// Runs that come early.
const EARLY: u32 = 10;
/// Runs between two looks at what they showed: the same whatever runs at the same time.
const BATCH: usize = 40;
/// Chance that a further run shows an order of events that none showed, below which there are no further ones: one in
/// so many.
const UNSEEN: usize = 50;
/// Different bad ends kept.
const BAD_RUNS: usize = 4;

/// One run to be made, the order of events in it, and the bad end that it came to.
struct Walk {
    plan: Plan,
    /// From which places objects were come to, if it was to tell.
    places: Vec<Vec<u64>>,
    order: u64,
    bad: Option<BadRun>,
    /// Where the ordinary runs always fail: this one if it ended well.
    good: Option<Shown>,
}

impl Walk {
    fn new(plan: Plan) -> Walk {
        Walk {
            plan,
            places: Vec::new(),
            order: 0,
            bad: None,
            good: None,
        }
    }
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
    /// Groups of objects at which no run was directed, for want of room.
    pub left_out: usize,
}

impl Explored {
    /// Adds what later runs came to.
    pub fn take_in(&mut self, later: Explored) {
        self.runs += later.runs;
        self.left_out += later.left_out;
        self.good = self.good.take().or(later.good);
        let new = later.bad.into_iter().filter(|bad| !bad.is_among(&self.bad));
        let new: Vec<BadRun> = new.collect();
        self.bad.extend(new);
    }
}

/// Most statements of candidates that are scheduling points.
const STATEMENTS: usize = 256;

/// The statements of candidates, as far as there is room for them.
pub fn watched<'a>(candidates: impl IntoIterator<Item = &'a Targets>) -> Targets {
    let mut sites: Vec<SiteId> = Vec::new();
    for targets in candidates {
        let own = targets.first.iter().chain(&targets.second);
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

/// Makes at most so many undirected runs, and those that are directed at groups of objects.
pub fn explore(
    judge: Judge<'_>,
    watched: &Targets,
    runs: u32,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Explored, RunError> {
    let ordinary = ordinary(&judge, watched)?;
    let mut explorer = Explorer::new(judge, watched, &ordinary, jobs, stop);
    let first = runs.min(BATCH as u32);
    if !explorer.undirected(0..first)? && !explorer.directed(first)? {
        explorer.undirected(first..runs)?;
    }
    Ok(explorer.done())
}

/// Makes the few runs that come early, half of them directed: at all these pairs at once, then at each.
pub fn early(
    judge: Judge<'_>,
    pairs: &[&Targets],
    watched: &Targets,
    runs: u32,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Explored, RunError> {
    let mut explorer = Explorer::new(judge, watched, &judge.baseline.run.records, jobs, stop);
    let all = Some(watched).filter(|_| pairs.len() > 1);
    let mut directed = all.into_iter().chain(pairs.iter().copied()).peekable();
    let mut undirected = 0;
    let walk = |number: u32| {
        Walk::new(match directed.next_if(|_| number.is_multiple_of(2)) {
            Some(targets) => judge.rules.directed(targets, !number),
            None => {
                undirected += 1;
                explorer.plan(explorer.policies.early(undirected - 1))
            }
        })
    };
    let walks = (0..EARLY.min(runs)).map(walk).collect();
    explorer.batch(walks)?;
    Ok(explorer.done())
}

struct Explorer<'a> {
    judge: Judge<'a>,
    watched: &'a Targets,
    policies: Policies,
    jobs: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    /// Whether the ordinary runs always fail.
    fails: bool,
    /// Whether they wake those who wait.
    wakes: bool,
    made: AtomicU32,
    orders: Orders,
    places: Vec<Vec<u64>>,
    explored: Explored,
}

impl<'a> Explorer<'a> {
    fn new(
        judge: Judge<'a>,
        watched: &'a Targets,
        ordinary: &Records,
        jobs: usize,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Explorer<'a> {
        Explorer {
            policies: Policies::new(judge.rules.seed, judge.rules.switch, ordinary),
            fails: judge.baseline.always_fails().is_some(),
            wakes: ordinary.ended.as_ref().is_some_and(|e| e.wakes > 0),
            judge,
            watched,
            jobs,
            stop,
            made: AtomicU32::new(0),
            orders: Orders::default(),
            places: Vec::new(),
            explored: Explored::default(),
        }
    }

    fn done(mut self) -> Explored {
        self.explored.runs = self.made.into_inner();
        self.explored
    }

    /// Whether there is nothing more to look for.
    fn undirected(&mut self, numbers: Range<u32>) -> Result<bool, RunError> {
        for from in numbers.clone().step_by(BATCH) {
            if from > 0 && !self.wakes && !self.orders.promise() {
                return Ok(true);
            }
            let to = numbers.end.min(from.saturating_add(BATCH as u32));
            let walk = |number| {
                let mut plan = self.plan(self.policies.undirected(number));
                plan.places = number == 0;
                Walk::new(plan)
            };
            if self.batch((from..to).map(walk).collect())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same of runs that are directed at groups of objects.
    fn directed(&mut self, undirected: u32) -> Result<bool, RunError> {
        let mut groups = groups(&self.places);
        let room = (DIRECTED_POINTS / self.policies.steps.max(1)).clamp(LEAST_DIRECTED, MOST_DIRECTED);
        let tried = groups.len().min(room as usize / 2);
        let tries = TRIES.min(room as u32 / tried.max(1) as u32).min(undirected);
        self.explored.left_out = groups.len() - tried;
        groups.truncate(tried);
        let each = |number| groups.iter().map(move |places| (number, places));
        let walks: Vec<_> = (0..tries).flat_map(each).collect();
        for batch in walks.chunks(BATCH) {
            let walk = |(number, places): &(u32, &'_ Vec<u64>)| {
                Walk::new(self.plan(self.policies.overtaken(*number, places.to_vec())))
            };
            if self.batch(batch.iter().map(walk).collect())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether that was enough: after a bad end, as soon as a batch shows no other.
    fn batch(&mut self, mut walks: Vec<Walk>) -> Result<bool, RunError> {
        let mut new = false;
        let this = &*self;
        in_parallel(walks.iter_mut().collect(), self.jobs, self.stop, &|walk, _| {
            this.walk(walk)
        })?;
        for walk in walks {
            let explored = &mut self.explored;
            explored.good = explored.good.take().or(walk.good);
            let bad = walk.bad.filter(|bad| !bad.is_among(&explored.bad));
            if explored.bad.len() < BAD_RUNS {
                new |= bad.is_some();
                explored.bad.extend(bad);
            }
            if !is_directed(&walk.plan.policy) {
                self.orders.add(walk.order);
                self.places.extend(walk.places);
            }
        }
        Ok(!self.explored.bad.is_empty() && !new || self.explored.good.is_some() || (self.stop)())
    }

    fn plan(&self, policy: Policy) -> Plan {
        Plan {
            mode: Mode::Confirm(self.watched.clone()),
            policy,
            ..self.judge.rules.plan.clone()
        }
    }

    fn walk(&self, walk: &mut Walk) -> Result<(), RunError> {
        self.made.fetch_add(1, Relaxed);
        let judge = &self.judge;
        let mut run = match judge.stage.run(&walk.plan) {
            Err(RunError::NoRuntime(_)) => return Ok(()),
            other => other?,
        };
        walk.order = run.records.ended.as_ref().map_or(0, |e| e.order);
        walk.places = std::mem::take(&mut run.records.places);
        let outcome = Outcome::of(&run);
        if self.fails && outcome == Outcome::Exit(0) {
            walk.good = judge.happened(&walk.plan, &run)?;
        }
        if let Some(harm) = judge.baseline.harm(&outcome)
            && let Some(shown) = judge.happened(&walk.plan, &run)?
        {
            walk.bad = Some(BadRun {
                outcome,
                harm,
                shown,
                met: false,
            });
        }
        Ok(())
    }
}

/// Whether a policy has some objects or statements in view: what it shows is no sample of all orders.
fn is_directed(policy: &Policy) -> bool {
    match policy {
        Policy::Overtaken { places, .. } => !places.is_empty(),
        Policy::RaceDirected { .. } => true,
        _ => false,
    }
}

/// Places at which objects of one group are come to: those of one object are together.
fn groups(objects: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut group_of: BTreeMap<u64, usize> = BTreeMap::new();
    let mut groups: Vec<BTreeSet<u64>> = Vec::new();
    for places in objects {
        let mut known: Vec<usize> = places.iter().filter_map(|p| group_of.get(p).copied()).collect();
        known.sort_unstable();
        known.dedup();
        let into = known.first().copied().unwrap_or_else(|| {
            groups.push(BTreeSet::new());
            groups.len() - 1
        });
        let joined = known
            .iter()
            .skip(1)
            .flat_map(|other| std::mem::take(&mut groups[*other]));
        let all: Vec<u64> = joined.chain(places.iter().copied()).collect();
        for place in all {
            group_of.insert(place, into);
            groups[into].insert(place);
        }
    }
    groups.retain(|places| !places.is_empty());
    let mut groups: Vec<Vec<u64>> = groups.into_iter().map(|places| places.into_iter().collect()).collect();
    groups.sort();
    groups
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn objects_that_are_come_to_from_one_place_are_of_a_group() {
        let of = |objects: &[&[u64]]| groups(&objects.iter().map(|o| o.to_vec()).collect::<Vec<_>>());
        assert_eq!(of(&[]), [[0; 0]; 0]);
        assert_eq!(of(&[&[7, 8], &[1, 2], &[2]]), [[1, 2], [7, 8]]);
        assert_eq!(
            of(&[&[1, 2], &[5, 6], &[3, 4], &[2, 6]]),
            [vec![1, 2, 5, 6], vec![3, 4]]
        );
    }
}
