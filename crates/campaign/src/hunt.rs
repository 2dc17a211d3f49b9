//! The pipeline: ordinary runs, phase 1, confirmation, report; within a budget, with a store.
//!
//! It ends when every candidate is settled and no further schedule adds any; the budget is a maximum.
//! With `runs` set there is no clock in it: the same program and seed give the same findings at any
//! number of jobs. Whatever stops it (budget, interrupt, a full disk), what was found is reported.

mod always;
mod early;
mod options;
mod ordinary;
mod results;
mod stored;
mod suppressed;
mod suspects;

pub use options::{Extent, Hunt, HuntError, Options};

use crate::candidate::Candidate;
use crate::cause;
use crate::confirmation;
use crate::describe::Names;
use crate::exploration::{self, Explored};
use crate::input::Input;
use crate::known_code;
use crate::minimisation;
use crate::phase_one::PhaseOne;
use crate::progress::Progress;
use crate::store::{self, Store, Tried};
use crate::waiting_cycle::{self, WaitingCycle};
use always::AlwaysBad;
use deadheat_confirm::baseline::FIFO_RUNS;
use deadheat_confirm::candidate::{BadRun, Rules};
use deadheat_confirm::deadlock::CycleCase;
use deadheat_confirm::judge::Judge;
use deadheat_confirm::minimise::Minimiser;
use deadheat_confirm::misuse::SeenMisuse;
use deadheat_confirm::{BadEnd, Baseline, Case, Isolation, Program, Stage, StageOptions};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A wall-clock limit for the first run, before anything is known.
const FIRST_LIMIT: Duration = Duration::from_secs(60);
/// Later runs may take this many times an ordinary run.
const PATIENCE: u32 = 20;
/// A run may take at most the so-manieth part of the budget.
const ORDINARY: u32 = 4;
/// Phase 1 looks for further schedules in the first so-manieth part of the budget.
const PHASE_ONE: u32 = 5;
/// But no less than this.
const LEAST_LIMIT: Duration = Duration::from_secs(10);

struct Work<'a> {
    options: &'a Options,
    begun: Instant,
    stage: &'a Stage,
    store: &'a Store,
    input: &'a Input,
    baseline: &'a Baseline,
    judge: Judge<'a>,
    progress: Progress,
    notices: Vec<String>,
    /// Runs without deadheat that failed.
    failures: u32,
    /// Time of phase 1.
    detecting: Duration,
    /// Time of what follows it.
    confirming: Duration,
    trouble: Option<String>,
    /// Different causes that the candidates have.
    causes: usize,
    /// Candidates that were shown with another input.
    reached: Vec<String>,
    /// What was tried before phase 1 was done.
    early: early::Early,
    /// What the user does not want to hear of.
    suppressed: suppressed::Suppressed,
}

/// Hunts in a program.
pub fn hunt(program: Program, options: &Options) -> Result<Hunt, HuntError> {
    let begun = Instant::now();
    let build = program.check()?;
    let input = options.input(&program)?;
    let beside = || {
        program
            .file
            .parent()
            .unwrap_or(&program.directory)
            .join(store::DIRECTORY)
    };
    let directory = options.store.clone().unwrap_or_else(beside);
    if let Extent::Confirm(labels) = &options.extent {
        stored::known(&Store::read(&directory)?, &input, labels)?;
    }
    let store = Store::open(&directory)?;
    let budget = options.budget.filter(|_| options.runs.is_none());
    let deadline = budget.map(|b| begun + b);
    // A single run that does not end leaves time for the others.
    let most = budget.map_or(FIRST_LIMIT, |b| (b / ORDINARY).min(FIRST_LIMIT));
    let mut stage = Stage::new(
        program,
        StageOptions {
            isolate: options.isolate,
            setup: options.setup.clone(),
            client: options.client.clone(),
            oracle: options.oracle.clone(),
            follow: options.follow,
            limit: options.limit.unwrap_or(most),
            deadline,
            interrupted: options.interrupted.clone(),
        },
    )?;
    let progress = Progress::new(options.quiet);
    progress.phase("ordinary runs", 0);
    let mut rules = rules(options);
    let proves = options.extent != Extent::Detect;
    let baseline = Baseline::take(&stage, if proves { FIFO_RUNS } else { 1 })?;
    rules.plan.hang_yields = baseline.hang_yields(&rules.plan);
    rules.plan.poison = baseline.poison;
    if stage.interrupted() {
        return Err(HuntError::Interrupted);
    }
    let (endless, all) = baseline.endless();
    if endless > 0 && deadline.is_some_and(|d| Instant::now() >= d) {
        return Err(HuntError::Spent);
    }
    if endless == all {
        return Err(HuntError::Endless(stage.limit()));
    }
    if options.limit.is_none() {
        let patient = (baseline.elapsed * PATIENCE).max(LEAST_LIMIT);
        stage.set_limit(patient.min(most.max(baseline.elapsed * 2)));
    }
    let mut notices = store.warnings.clone();
    notices.extend(stage.isolation.limits());
    stage.leave_network(&baseline.run.records);
    known_code::exchange_threads(&mut stage, &baseline.run.records);
    stage.serve(&baseline.run.records);
    // Those that tell how often the program fails by itself are no part of the hunt.
    let started = Instant::now();
    stage.set_deadline(None);
    let failures = plain_failures(&stage, &baseline, options.plain)?;
    let begun = begun + started.elapsed();
    stage.set_deadline(budget.map(|b| begun + b));
    notices.extend(ordinary::notices(&baseline));
    if !build.debug {
        notices.push("the program has no debug information (stripped?): stacks and variables have no names".into());
    }
    let (stage, store, input, baseline, rules) = (&stage, &store, &input, &baseline, &rules);
    let work = Work {
        options,
        begun,
        stage,
        store,
        input,
        baseline,
        judge: Judge { stage, baseline, rules },
        progress,
        notices,
        trouble: None,
        failures,
        detecting: Duration::ZERO,
        confirming: Duration::ZERO,
        causes: 0,
        reached: Vec::new(),
        early: early::Early::default(),
        suppressed: suppressed::Suppressed::default(),
    };
    Ok(work.go())
}

/// How many of so many runs without deadheat fail.
fn plain_failures(stage: &Stage, baseline: &Baseline, runs: u32) -> Result<u32, HuntError> {
    let mut failures = 0;
    for _ in 0..runs {
        if stage.interrupted() {
            break;
        }
        let outcome = deadheat_confirm::Outcome::of(&stage.run_natively()?);
        failures += u32::from(baseline.is_failure(&outcome));
    }
    Ok(failures)
}

fn rules(options: &Options) -> Rules {
    let mut rules = Rules::new(options.seed);
    rules.switch = options.switch;
    if let Some(runs) = options.runs {
        (rules.tries, rules.early) = (runs.max(1), false);
    }
    rules
}

impl Work<'_> {
    fn stop(&self) -> bool {
        self.stage.stopped()
    }

    fn go(mut self) -> Hunt {
        let mut phase = PhaseOne::default();
        phase.functions.clone_from(&self.options.functions);
        let started = Instant::now();
        let (mut candidates, mut cycles) = match &self.options.extent {
            Extent::Confirm(labels) => self.stored_candidates(labels, &mut phase),
            _ => self.predict(&mut phase),
        };
        self.suppress(&mut candidates, &mut cycles, &phase);
        self.detecting = started.elapsed();
        let started = Instant::now();
        self.notices.extend(std::mem::take(&mut phase.limits).told());
        let foreign: std::collections::BTreeSet<&str> = phase.sites.foreign().collect();
        if !foreign.is_empty() {
            let names = foreign.into_iter().collect::<Vec<_>>().join(", ");
            let told = format!("code without sites ({names}): it is not watched, races in it are not seen");
            self.notices.push(told);
        }
        if phase.sites.has_calls() {
            let told = "code that was instrumented for ThreadSanitizer: what its inline assembly orders is not seen, so \
                        a pair is real only if it was brought about";
            self.notices.push(told.into());
        }
        self.progress.candidates(candidates.len());
        let mut order = cause::order(&candidates, &phase.sites);
        self.causes = order.different;
        if self.options.runs.is_some() {
            // Exactly so many tries for each: none is shared.
            order.alone.extend(order.together.drain(..).flatten());
        }
        let mut cases: Vec<Case> = candidates.iter().map(|c| self.case_so_far(c, &phase)).collect();
        let mut rings: Vec<CycleCase> = cycles.iter().map(|c| self.cycle_case(c)).collect();
        let mut bad: Vec<BadRun> = Vec::new();
        // Those of the ordinary runs and of phase 1, before the budget is used up.
        self.judge_misuses();
        let mut explored = std::mem::take(&mut self.early.explored);
        let mut suspects = self.suspects(&candidates, &phase);
        if self.options.extent != Extent::Detect {
            bad = self.bad_endings(&phase);
            self.confirm_cycles(&cycles, &mut rings, &phase);
            self.confirm(&candidates, &mut cases, &order, &phase, !suspects.cases.is_empty());
            self.confirm_suspects(&mut suspects, &mut candidates, &mut cases, &mut bad, &phase);
            explored.take_in(self.explore(&cases));
            explored.bad.retain(|e| !e.is_among(&bad));
            bad.append(&mut explored.bad);
            self.minimise(&mut cases, &mut rings, &mut bad);
        }
        let misuses = self.judge_misuses();
        let mut crash = None;
        match self.fails_always(explored, &cases, &phase) {
            Some(AlwaysBad::Schedule(always)) => bad.push(always),
            Some(AlwaysBad::Crash(always)) => crash = Some(always),
            None => {}
        }
        self.confirming = started.elapsed();
        self.progress.finish();
        let judged = results::Judged {
            candidates,
            cases,
            cycles,
            rings,
            bad,
            crash,
            misuses,
            suspects,
        };
        self.report(judged, &phase)
    }

    /// Phase 1.
    fn predict(&mut self, phase: &mut PhaseOne) -> (Vec<Candidate>, Vec<WaitingCycle>) {
        let share = self
            .options
            .budget
            .filter(|_| self.options.runs.is_none())
            .map(|b| b / PHASE_ONE);
        let begun = self.begun;
        while !phase.done(share.is_some_and(|share| begun.elapsed() > share)) && !self.stop() {
            self.progress.phase("detecting", self.stage.runs());
            if let Err(error) = phase.look(
                self.stage,
                self.options.seed,
                self.options.switch,
                self.judge.rules.plan.hang_yields,
            ) {
                self.trouble = Some(error.to_string());
                break;
            }
            self.progress.candidates(phase.candidates.len());
            if self.options.extent == Extent::Detect {
                break;
            }
            self.try_early(phase);
        }
        if phase.whole == 0 && self.trouble.is_none() && !self.interrupted() {
            self.trouble = Some(match phase.schedules {
                0 => "the budget was used up before detection began; give more: --budget DURATION".into(),
                _ => format!(
                    "no run of detection came to its end (the longest was stopped after {:.0?}), so nothing can be said; give the program less to do, or more time: --budget DURATION, --timeout DURATION",
                    phase.longest
                ),
            });
        }
        let cycles = std::mem::take(&mut phase.cycles);
        let (cycles, left_out) = cycles.in_order(&mut Names::new(&phase.sites));
        if left_out > 0 {
            phase.limits.say(format!(
                "{left_out} predicted deadlocks were not tried: there are too many"
            ));
        }
        let proven = |fingerprint: &String| self.options.proven.contains(fingerprint);
        let mut reached = Vec::new();
        let mut candidates = std::mem::take(&mut phase.candidates).in_order();
        candidates.retain(|c| {
            let known = Some(c.fingerprint()).filter(proven);
            reached.extend(known.clone());
            known.is_none()
        });
        let mut cycles = cycles;
        cycles.retain(|c| !proven(&c.fingerprint));
        self.reached = reached;
        (candidates, cycles)
    }

    /// Bad ends of phase 1's runs, repeated.
    fn bad_endings(&mut self, phase: &PhaseOne) -> Vec<BadRun> {
        let judge = self.judge;
        let mut found: Vec<BadRun> = Vec::new();
        // A deadlock is one though the ordinary runs show it too.
        match judge.ordinary_deadlock() {
            Ok(ordinary) => found.extend(ordinary),
            Err(error) => self.trouble = self.trouble.take().or(Some(error.to_string())),
        }
        for ending in &phase.endings {
            let Some(harm) = self.baseline.harm(&ending.outcome) else {
                continue;
            };
            let end = BadEnd::of(&ending.run);
            if self.stop() || found.iter().any(|b| b.end().same(&end)) {
                continue;
            }
            match judge.as_freed_use(&ending.plan, &harm) {
                Ok(Some(bad)) => {
                    if !bad.is_among(&found) {
                        found.push(bad);
                    }
                    continue;
                }
                Ok(None) => {}
                Err(error) => self.trouble = self.trouble.take().or(Some(error.to_string())),
            }
            if let Ok(Some(shown)) = judge.happened(&ending.plan, &ending.run) {
                found.push(BadRun {
                    outcome: ending.outcome.clone(),
                    harm,
                    shown,
                    met: false,
                });
            }
        }
        found
    }

    /// The misuses of synchronisation that all runs so far showed, each repeated.
    fn judge_misuses(&mut self) -> Vec<SeenMisuse> {
        let judge = self.judge;
        let stage = self.stage;
        judge.misuses(&|| stage.stopped()).unwrap_or_else(|error| {
            self.trouble = self.trouble.take().or(Some(error.to_string()));
            Vec::new()
        })
    }

    /// Phase 2 for cycles of waiting; with a budget, for at most a third of what is left of it.
    fn confirm_cycles(&mut self, cycles: &[WaitingCycle], cases: &mut [CycleCase], phase: &PhaseOne) {
        let judge = self.judge;
        let budget = self.options.budget.filter(|_| self.options.runs.is_none());
        let until = budget.map(|b| self.begun + (self.begun.elapsed() + b.saturating_sub(self.begun.elapsed()) / 3));
        let stage = self.stage;
        let stop = || stage.stopped() || until.is_some_and(|until| Instant::now() >= until);
        let result = waiting_cycle::settle(judge, cases, self.jobs(), &stop);
        let tried = |case: &CycleCase| Tried {
            tries: case.tries,
            met: case.hits,
            hits: case.hits,
            settled: case.settled.is_some(),
            allowed: self.judge.rules.tries,
        };
        let saved = self.store.together(|| {
            for (cycle, case) in cycles.iter().zip(cases.iter()) {
                let (program, input) = (self.input.program, self.input.hash());
                self.store
                    .save_tried(&cycle.fingerprint, program, input, &tried(case))?;
            }
            self.save_shown(self.shown_cycles(cycles, cases, phase))
        });
        let trouble = result
            .err()
            .map(|e| e.to_string())
            .or(saved.err().map(|e| e.to_string()));
        self.trouble = self.trouble.take().or(trouble);
    }

    /// Phase 2. With a budget, and if warnings of the static stage wait, for at most half of what is left of it.
    fn confirm(
        &mut self,
        candidates: &[Candidate],
        cases: &mut [Case],
        order: &cause::Order,
        phase: &PhaseOne,
        others: bool,
    ) {
        let judge = self.judge;
        let jobs = self.jobs();
        let stage = self.stage;
        let budget = self.options.budget.filter(|_| others && self.options.runs.is_none());
        let until = budget.map(|b| self.begun + (self.begun.elapsed() + b) / 2);
        let stop = || stage.stopped() || until.is_some_and(|until| Instant::now() >= until);
        let mut unsaved = None;
        let mut saved = HashSet::new();
        let mut keep = |cases: &[Case]| {
            let shown = self.newly_shown(candidates, cases, phase, &mut saved);
            unsaved = self.save_round(candidates, cases, shown).err().map(|e| e.to_string());
        };
        let result = confirmation::settle(judge, cases, order, jobs, &stop, &self.progress, &mut keep);
        let trouble = result.err().map(|e| e.to_string()).or(unsaved);
        self.trouble = self.trouble.take().or(trouble);
    }

    /// How many undirected runs are wanted at most, if so many are usual.
    fn walks(&self, usual: u32) -> u32 {
        let asked = [self.options.runs, self.options.walks].into_iter().flatten();
        asked.fold(usual, u32::min)
    }

    /// Undirected schedules, where no race is real: what is left then is what only an order of events shows. With a
    /// budget, for at most a third of what is left of it.
    fn explore(&mut self, cases: &[Case]) -> Explored {
        if self.options.extent != Extent::Hunt || self.is_harmed(cases) {
            return Explored::default();
        }
        self.progress.phase("exploring", self.stage.runs());
        let judge = self.judge;
        let budget = self.options.budget.filter(|_| self.options.runs.is_none());
        let until = budget.map(|b| self.begun + (self.begun.elapsed() * 2 + b) / 3);
        let stage = self.stage;
        let stop = || stage.stopped() || until.is_some_and(|until| Instant::now() >= until);
        let runs = self.walks(exploration::runs(&self.baseline.run.records, budget));
        match exploration::explore(
            judge,
            &exploration::watched(cases.iter().map(|c| &c.targets)),
            runs,
            self.jobs(),
            &stop,
        ) {
            Ok(explored) => {
                if explored.left_out > 0 {
                    self.notices.push(format!(
                        "no runs were directed at {} further groups of locks and atomics: there are too many for runs as long \
                         as these",
                        explored.left_out
                    ));
                }
                explored
            }
            Err(error) => {
                self.trouble = self.trouble.take().or(Some(error.to_string()));
                Explored::default()
            }
        }
    }

    /// Whether some pair harms, as this hunt showed or an earlier one.
    fn is_harmed(&self, cases: &[Case]) -> bool {
        let known = self.store.findings(self.input.program, self.input.hash());
        let harms =
            |f: &deadheat_report::Finding| f.verdict == deadheat_report::Verdict::Harmful && !f.accesses.is_empty();
        cases.iter().any(|c| c.harm.is_some()) || known.unwrap_or_default().iter().any(harms)
    }

    /// With a budget, half of what is left.
    fn minimising_until(&self) -> Option<Instant> {
        let budget = self.options.budget.filter(|_| self.options.runs.is_none());
        budget.map(|b| self.begun + (self.begun.elapsed() + b) / 2)
    }

    /// Shrinks the schedules that show something.
    fn minimise(&mut self, cases: &mut [Case], rings: &mut [CycleCase], bad: &mut [BadRun]) {
        self.progress.phase("minimising", self.stage.runs());
        let (stage, baseline) = (self.stage, self.baseline);
        let until = self.minimising_until();
        let minimiser = Minimiser {
            stage,
            runs: 0,
            stop: &|| stage.stopped() || until.is_some_and(|until| Instant::now() >= until),
            harm: &|outcome| baseline.harm(outcome),
        };
        let result = minimisation::minimise(minimiser, cases, rings, bad, self.jobs());
        self.trouble = self.trouble.take().or(result.err().map(|e| e.to_string()));
    }

    fn jobs(&self) -> usize {
        let alone = matches!(self.stage.isolation, Isolation::Shared(_))
            || !self.stage.isolation.own_network() && self.stage.program.listens();
        if alone { 1 } else { self.options.jobs.max(1) }
    }

    /// Whether the user stopped the work.
    fn interrupted(&self) -> bool {
        self.options.interrupted.load(Ordering::Relaxed)
    }
}
