//! A candidate before the judge: what is asked, and what its runs have shown so far.

use crate::bad_end::BadEnd;
use crate::hang;
use crate::minimise::Story;
use crate::outcome::Outcome;
use crate::records::Of;
use crate::stage::Run;
use deadheat_model::{Evidence, Harm, ThreadId};
use deadheat_wire::plan::{Mode, Plan, Policy, Scheduling, Targets};
use deadheat_wire::record::{Meeting, Unordered};

/// How candidates are tried.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Tries per candidate.
    pub tries: u32,
    /// Stop early by the stated rules: after half the tries once harm is shown; after
    /// [`UNREACHED`] tries in which no target statement was executed.
    pub early: bool,
    /// Seed of a candidate's first try; the others follow.
    pub seed: u64,
    /// Probability of a switch at scheduling points that are not targets, in 1/1024.
    pub switch: u32,
    /// Postponements per thread and statement.
    pub postponements: u32,
    /// Everything else of the plan.
    pub plan: Plan,
}

/// Different bad ends kept per candidate.
pub(crate) const BAD_RUNS: usize = 4;

/// Tries after which a candidate is given up if none of its statements was ever executed.
pub const UNREACHED: u32 = 5;

/// One try in so many is an undirected walk: the algorithm holds a thread back at its statement, and what only
/// happens when it runs through (a lost wake-up between test and wait, say) never does.
pub(crate) const WALK: u32 = 4;

impl Rules {
    /// The usual rules.
    pub fn new(seed: u64) -> Rules {
        let plan = Plan::new(Mode::Schedule, Policy::Fifo);
        Rules {
            tries: 20,
            early: true,
            seed,
            switch: 205,
            postponements: 200,
            plan,
        }
    }

    /// The tries in which either order of a meeting is continued without directing: the first third.
    pub fn ordered(&self) -> u32 {
        self.tries.div_ceil(3)
    }

    /// The plan of a case's next try. First comes the schedule in which the pair was seen, if there is one. Every
    /// [`WALK`]th try directs nothing: it postpones nobody, and still sees a meeting when there is one.
    pub fn try_plan(&self, case: &Case) -> Plan {
        let plan = self.usual_plan(case);
        match case.hang_lasts {
            Some(false) => hang::patient(plan),
            _ => plan,
        }
    }

    fn usual_plan(&self, case: &Case) -> Plan {
        let number = case.tries;
        if let (0, Some(seen)) = (number, case.seen.clone()) {
            return Plan {
                mode: Mode::Confirm(case.targets.clone()),
                policy: seen.policy,
                quantum: seen.quantum,
                back_edges: seen.back_edges,
                ..self.plan.clone()
            };
        }
        let mut plan = self.directed_or_walk(&case.targets, number);
        if let Policy::RaceDirected { last, .. } = &mut plan.policy {
            *last = case.last;
        }
        plan
    }

    /// A try directed at these statements, or the walk of that number.
    pub(crate) fn directed_or_walk(&self, targets: &Targets, number: u32) -> Plan {
        let mut plan = self.directed(targets, number);
        if let (Policy::RaceDirected { postponements, .. }, true) = (&mut plan.policy, number % WALK == WALK - 1) {
            *postponements = 0;
        }
        plan
    }

    /// A run directed at these statements, with the seed of this number.
    pub fn directed(&self, targets: &Targets, number: u32) -> Plan {
        let policy = Policy::RaceDirected {
            seed: self.seed.wrapping_add(number.into()),
            switch: self.switch,
            postponements: self.postponements,
            flip: None,
            last: None,
        };
        Plan {
            mode: Mode::Confirm(targets.clone()),
            policy,
            ..self.plan.clone()
        }
    }
}

/// The same plan with one meeting resolved the other way.
pub fn flipped(plan: &Plan, meeting: u32) -> Plan {
    let mut plan = plan.clone();
    if let Policy::RaceDirected { flip, .. } = &mut plan.policy {
        *flip = Some(meeting);
    }
    plan
}

/// An execution that shows something, repeated once with the same schedule hash.
#[derive(Clone, Debug)]
pub struct Shown {
    /// On what ground.
    pub evidence: Evidence,
    /// Its plan.
    pub plan: Plan,
    /// The execution.
    pub run: Run,
    /// Hash of its schedule.
    pub hash: u64,
    /// Number of the meeting (for `created`).
    pub meeting: Option<u32>,
    /// The execution with that meeting resolved the other way.
    pub other: Option<Run>,
    /// What happens in it, if it is minimised.
    pub story: Option<Story>,
}

/// A run that ended badly, of which no pair is the cause: a finding of its own.
#[derive(Clone, Debug)]
pub struct BadRun {
    /// How it ended.
    pub outcome: Outcome,
    /// As a harm.
    pub harm: Harm,
    /// The execution.
    pub shown: Shown,
    /// Whether the candidate's statements met in it.
    pub met: bool,
}

impl BadRun {
    /// How and where it ended.
    pub fn end(&self) -> BadEnd {
        BadEnd::of(&self.shown.run)
    }

    /// Whether this is told by one of the others. Deadlocks at different places are told apart by their finding's name.
    pub fn is_among(&self, others: &[BadRun]) -> bool {
        let end = self.end();
        self.outcome != Outcome::Deadlock && others.iter().any(|other| other.end().same_cause(&end))
    }
}

/// Why a candidate is not tried any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// All tries were made.
    Tried,
    /// Harm is shown.
    Harmful,
    /// Its statements are never executed.
    Unreached,
}

/// The meetings of a run that are this pair's.
pub fn meetings<'r>(pair: &Targets, run: &'r Run) -> impl Iterator<Item = &'r Of<Meeting>> {
    let own = |m: &&Of<Meeting>| pair.is_pair(m.arriving.access.site, m.postponed.access.site);
    run.records.meetings.iter().filter(own)
}

/// Two accesses of this pair that a run left unordered.
pub fn unordered<'r>(pair: &Targets, run: &'r Run) -> Option<&'r Of<Unordered>> {
    let mut all = run.records.unordered.iter();
    all.find(|u| pair.is_pair(u.first.access.site, u.second.access.site))
}

/// A candidate pair and what its runs have shown.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The statements, all copies.
    pub targets: Targets,
    /// What decided a run that left the pair unordered, locks counted: the first try.
    pub seen: Option<Scheduling>,
    /// Tries so far.
    pub tries: u32,
    /// Tries in which the pair met.
    pub met: u32,
    /// Tries that showed the pair (met or unordered).
    pub hits: u32,
    /// Tries that held threads back at these statements alone, as against those that repeat the schedule in which the pair
    /// was seen and those that direct nothing.
    pub directed: u32,
    /// Those of them that showed it.
    pub directed_hits: u32,
    /// A thread that comes to its statement in the way of the others, as the last try that missed showed: it comes last in
    /// the next one.
    pub(crate) last: Option<ThreadId>,
    /// Tries that were directed at others too.
    pub together: u32,
    /// Tries of which nothing can be said: stopped by a limit.
    pub inconclusive: u32,
    /// Tries that ended badly.
    pub harms: u32,
    /// Hits whose repetition had another schedule.
    pub unrepeated: u32,
    /// Whether the first hang of a try was one; if not, further tries have a larger bound.
    pub hang_lasts: Option<bool>,
    /// Whether a target statement was executed in some try.
    pub reached: bool,
    /// The execution that shows the pair.
    pub shown: Option<Shown>,
    /// The harm that is laid to the pair; `shown` is then an execution that ends in it.
    pub harm: Option<Harm>,
    /// Bad runs that are not laid to the pair.
    pub bad: Vec<BadRun>,
    /// Set when the candidate is settled.
    pub settled: Option<Settled>,
}

impl Case {
    /// A case for these statements.
    pub fn new(targets: Targets) -> Case {
        Case {
            targets,
            ..Case::default()
        }
    }

    /// Counts a directed try. If it missed the pair, and did not end early, it tells who comes last in the next one.
    pub(crate) fn note_directed(&mut self, plan: &Plan, run: &Run, hit: bool, tells_nothing: bool) {
        let Policy::RaceDirected {
            postponements: 1..,
            last,
            ..
        } = plan.policy
        else {
            return;
        };
        self.directed += 1;
        self.directed_hits += u32::from(hit);
        if !tells_nothing {
            let let_go = run.records.ended.as_ref().and_then(|ended| ended.let_go);
            self.last = let_go.filter(|thread| Some(*thread) != last);
        }
    }

    /// Two accesses of this pair that a run left unordered.
    pub fn unordered<'r>(&self, run: &'r Run) -> Option<&'r Of<Unordered>> {
        unordered(&self.targets, run)
    }

    pub(crate) fn settle(&mut self, rules: &Rules) {
        self.settled = if self.tries >= rules.tries {
            Some(Settled::Tried)
        } else if rules.early && self.harm.is_some() && self.tries * 2 >= rules.tries {
            Some(Settled::Harmful)
        } else if rules.early && !self.reached && self.tries >= UNREACHED && self.inconclusive == 0 {
            Some(Settled::Unreached)
        } else {
            None
        };
    }
}
