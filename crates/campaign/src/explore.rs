//! Exploration: inputs by symbolic execution, detection on each, and the hunt with those that bring something.
//!
//! Each input runs twice or more: once in the symbolic flavour, for its path, and in the program itself, for
//! detection under the same `fifo` schedule. Which input comes next is decided by `deadheat-explore`; this
//! module runs, keeps and tells. An input on whose run no new pair of statements is suspected and that ends
//! like others is not hunted with.
//!
//! Ends when no branch is left to turn within the bounds, when what is left only repeats, or by budget, runs or
//! interrupt. With `runs` set
//! there is no clock in it.

use crate::bad_end;
use crate::coverage::{self, Coverage};
use crate::describe::Names;
use crate::explored_input::{changed, told};
use crate::hunt::{Extent, Hunt, HuntError, Options, hunt};
use crate::input::Input;
use crate::phase_one::{Ending, PhaseOne};
use crate::progress::Progress;
use crate::store::{self, Execution, Store};
use crate::token::Token;
use deadheat_confirm::candidate::{BadRun, Rules};
use deadheat_confirm::{Oracle, Outcome, Program, RunError, Stage, StageOptions};
use deadheat_explore::search::{BARREN, Tally};
pub use deadheat_explore::{Bounds, Order};
use deadheat_explore::{Next, Own, Path, Prover, Search, Side, sat_solver::SatSolver};
use deadheat_model::FindingKind;
use deadheat_report::finding::{self, Finding, Report, Stats};
use deadheat_wire::plan::{Mode, Plan, Policy, Symbolic};
use deadheat_wire::trace::Trace;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What an exploration may do.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The program's symbolic flavour.
    pub flavour: PathBuf,
    /// How branches are chosen.
    pub order: Order,
    /// Wishes per branch side and path.
    pub bounds: Bounds,
    /// Most inputs; no limit if none.
    pub inputs: Option<u64>,
    /// Conflicts of the solver per query.
    pub conflicts: u64,
    /// Bytes by which texts and files may grow.
    pub room: u32,
    /// Hunt with the inputs that bring something; else only detect.
    pub confirm: bool,
}

impl Exploration {
    /// The usual bounds.
    pub fn new(flavour: PathBuf) -> Exploration {
        Exploration {
            flavour,
            order: Order::default(),
            bounds: Bounds::default(),
            inputs: None,
            conflicts: 20_000,
            room: 12,
            confirm: false,
        }
    }
}

/// Exploring may take so many of four parts of a hunt's budget.
const SHARE: u32 = 2;
/// A run of the flavour may take this long.
const LIMIT: Duration = Duration::from_secs(10);
/// The usual bound of a hang is many seconds of looping; so many times less to call it one, and to suspect it.
const HANG: u64 = 4;
const SUSPECTED_HANG: u64 = 40;
/// Arguments that may be added.
const MORE_ARGUMENTS: u32 = 4;
/// Inputs that are hunted with; what is beyond is counted.
const MOST_HUNTED: usize = 64;

/// One input and what its runs brought.
struct Explored {
    program: Program,
    /// Its path, as far as further inputs need it.
    path: Path,
}

struct Explorer<'a> {
    options: &'a Options,
    how: &'a Exploration,
    begun: Instant,
    deadline: Option<Instant>,
    symbolic: Stage,
    plain: Stage,
    search: Search,
    inputs: Vec<Explored>,
    /// Pairs of statements that some input made suspicious.
    suspected: BTreeSet<String>,
    /// Inputs that took a branch side that none before had taken: they are stored.
    kept: Vec<usize>,
    /// Inputs with new suspicions.
    hunted: Vec<usize>,
    /// Bad ends, each kind once, with its input.
    bad: Vec<(usize, Ending, PhaseOne)>,
    /// Sides of the program's branches.
    coverage: Coverage,
    longest: u32,
    most_arguments: u32,
    failures: u64,
    runs: u64,
    progress: Progress,
    notices: Vec<String>,
}

/// Explores a program's inputs, beginning with the given one; the coverage is that of all of them.
pub fn explore(program: Program, options: &Options, how: &Exploration) -> Result<(Hunt, Coverage), HuntError> {
    let begun = Instant::now();
    program.check()?;
    let budget = options.budget.filter(|_| options.runs.is_none());
    let share = if how.confirm {
        budget.map(|b| b * SHARE / 4)
    } else {
        budget
    };
    let stage_options = StageOptions {
        isolate: options.isolate,
        setup: options.setup.clone(),
        client: options.client.clone(),
        oracle: Oracle::default(),
        follow: options.follow,
        limit: options.limit.unwrap_or(LIMIT),
        deadline: budget.map(|b| begun + b),
        interrupted: options.interrupted.clone(),
    };
    let plain = Stage::new(program.clone(), stage_options)?;
    let flavour = Program {
        file: how.flavour.clone(),
        ..program.clone()
    };
    let symbolic = plain.with(flavour)?;
    let prover = Prover::new(Box::<SatSolver>::default(), how.conflicts);
    let coverage = coverage::of(&how.flavour);
    let own = Own::Sites(coverage.branches.iter().map(|b| b.site).collect());
    let mut explorer = Explorer {
        options,
        how,
        begun,
        deadline: share.map(|s| begun + s),
        notices: plain.isolation.limits().into_iter().collect(),
        symbolic,
        plain,
        search: Search::new(prover, how.order, how.bounds, own),
        inputs: Vec::new(),
        suspected: BTreeSet::new(),
        kept: Vec::new(),
        hunted: Vec::new(),
        bad: Vec::new(),
        coverage,
        longest: (program.stdin.len() as u32).saturating_add(how.room),
        most_arguments: program.args.len() as u32 + 1 + MORE_ARGUMENTS,
        failures: 0,
        runs: 0,
        progress: Progress::new(options.quiet),
    };
    explorer.run(program.clone(), None)?;
    explorer.go();
    let mut coverage = explorer.coverage.clone();
    for branch in &mut coverage.branches {
        for (side, infeasible) in branch.infeasible.iter_mut().enumerate() {
            *infeasible = explorer.search.is_infeasible(Side {
                site: branch.site,
                taken: side == 1,
            });
        }
    }
    Ok((explorer.report(&program)?, coverage))
}

impl Explorer<'_> {
    fn stop(&self) -> bool {
        let late = self.deadline.is_some_and(|d| Instant::now() >= d);
        let enough = self.how.inputs.is_some_and(|most| self.search.tally.runs >= most);
        late || enough || self.plain.interrupted()
    }

    fn go(&mut self) {
        while !self.stop() {
            let (deadline, interrupted) = (self.deadline, self.options.interrupted.clone());
            let stop = || {
                deadline.is_some_and(|d| Instant::now() >= d) || interrupted.load(std::sync::atomic::Ordering::Relaxed)
            };
            let Some(next) = self.search.next(stop) else { break };
            let parent = &self.inputs[next.parent as usize];
            let program = changed(&parent.program, &parent.path, &next.changes);
            if self.run(program, Some(next)).is_err() {
                self.failures += 1;
            }
            let text = format!(
                "exploring: {} inputs, {} paths, {} branch sides, {} waiting, {} suspicions",
                self.search.tally.runs,
                self.search.tally.paths,
                self.search.sides(),
                self.search.waiting(),
                self.suspected.len(),
            );
            self.progress.phase(&text, self.runs);
        }
    }

    /// Runs one input: its path, then detection if the path is new.
    fn run(&mut self, program: Program, made_for: Option<Next>) -> Result<(), RunError> {
        let plan = Plan {
            symbolic: Some(Symbolic {
                trace: String::new(),
                room: self.how.room,
                longest: self.longest,
                most_arguments: self.most_arguments,
                files: Vec::new(),
            }),
            ..Plan::new(Mode::Schedule, Policy::Fifo)
        };
        let flavour = Program {
            file: self.how.flavour.clone(),
            ..program.clone()
        };
        let stage = self
            .symbolic
            .with(flavour)
            .map_err(|e| RunError::Refused(e.to_string()))?;
        let run = stage.run(&plan)?;
        self.runs += 1;
        let bytes = run.trace.unwrap_or_default();
        let path = Path::import(&mut self.search.store, &bytes).map_err(|e| RunError::Refused(e.to_string()))?;
        let covers = Trace::new(&bytes).is_some_and(|trace| self.coverage.see(trace.hits()));
        let number = self.inputs.len();
        let kept = Path {
            values: path.values.clone(),
            names: path.names.clone(),
            ..Path::default()
        };
        let new = self.search.add(number as u32, path, made_for.as_ref());
        if covers {
            self.search.discovered();
            if number > 0 {
                self.kept.push(number);
            }
        }
        self.inputs.push(Explored { program, path: kept });
        if new || covers {
            self.detect(number)?;
        }
        Ok(())
    }

    /// Phase 1 under `fifo` on the program itself.
    fn detect(&mut self, number: usize) -> Result<(), RunError> {
        let program = self.inputs[number].program.clone();
        let stage = self.plain.with(program).map_err(|e| RunError::Refused(e.to_string()))?;
        let mut phase = PhaseOne::default();
        let rules = Rules::new(self.options.seed);
        let yields = rules.plan.hang_yields / SUSPECTED_HANG;
        let looked = phase.look(&stage, self.options.seed, self.options.switch, yields);
        self.runs += stage.runs();
        looked?;
        let mut new = false;
        for candidate in std::mem::take(&mut phase.candidates).in_order() {
            new |= self.suspected.insert(candidate.fingerprint());
        }
        if new {
            self.search.discovered();
            self.hunted.push(number);
        }
        if let Some(ending) = phase.ordinary.take()
            && !matches!(ending.outcome, Outcome::Exit(_))
            && ending.outcome.as_harm().is_some()
            && !self
                .bad
                .iter()
                .any(|(_, known, _)| known.outcome.alike(&ending.outcome) && same_place(known, &ending))
        {
            self.search.discovered();
            self.bad.push((number, ending, phase));
        }
        Ok(())
    }

    /// The findings of bad ends that repeat.
    fn bad_findings(&mut self, store: &Store, given: &Program) -> Vec<Finding> {
        let mut found = Vec::new();
        for (number, ending, phase) in std::mem::take(&mut self.bad) {
            let program = &self.inputs[number].program.clone();
            let (Ok(stage), Ok(input)) = (self.plain.with(program.clone()), self.options.input(program)) else {
                continue;
            };
            let Some(ending) = self.patient(&stage, ending) else {
                continue;
            };
            let Ok(again) = stage.run(&ending.plan) else { continue };
            self.runs += 1;
            let (Some(hash), Some(harm)) = (ending.run.records.schedule_hash(), ending.outcome.as_harm()) else {
                continue;
            };
            if again.records.schedule_hash() != Some(hash) || !Outcome::of(&again).alike(&ending.outcome) {
                continue;
            }
            let shown = deadheat_confirm::candidate::Shown {
                evidence: deadheat_model::Evidence::Happened,
                plan: ending.plan.clone(),
                run: ending.run.clone(),
                hash,
                meeting: None,
                other: None,
                story: None,
            };
            let bad = BadRun {
                outcome: ending.outcome.clone(),
                harm,
                shown,
                met: false,
            };
            let mut finding = bad_end::finding(&mut Names::new(&phase.sites), &bad);
            // Whatever the order of threads: the input does it.
            if finding.kind == FindingKind::OrderViolation {
                finding.kind = FindingKind::Crash;
            }
            finding.input = (number > 0).then(|| told(input.id(), given, program));
            let execution = Execution {
                program: input.program,
                input: input.hash(),
                plan: ending.plan.clone(),
                switches: ending.run.records.switches.clone(),
                schedule_hash: hash,
                meeting: None,
            };
            finding.replay = Some(Token::new(input.program, input.hash(), &ending.plan, hash).encode());
            let kept = store.together(|| {
                store.save_input(&input)?;
                finding.id = store.label(&finding.fingerprint)?;
                store.save(&finding, input.program, input.hash(), Some(&execution))
            });
            if let Err(error) = kept {
                self.notices.push(format!("a finding could not be stored: {error}"));
            }
            found.push(finding);
        }
        found
    }

    /// A hang once more, with a bound that a long computation does not reach; other ends as they are.
    fn patient(&mut self, stage: &Stage, ending: Ending) -> Option<Ending> {
        if ending.outcome != Outcome::Hang {
            return Some(ending);
        }
        let plan = Plan {
            hang_yields: Rules::new(self.options.seed).plan.hang_yields / HANG,
            ..ending.plan
        };
        let run = stage.run(&plan).ok()?;
        self.runs += 1;
        let outcome = Outcome::of(&run);
        (outcome == Outcome::Hang).then_some(Ending { plan, run, outcome })
    }

    /// Stores the inputs that cover something; the given one last, since the latest is what `report` is about.
    fn keep(&mut self, store: &Store, given: &Program) -> Result<(), HuntError> {
        let mut inputs = Vec::new();
        for number in std::mem::take(&mut self.kept) {
            inputs.push(self.options.input(&self.inputs[number].program)?);
        }
        inputs.push(self.options.input(given)?);
        store.together(|| inputs.iter().try_for_each(|input| store.save_input(input)))?;
        if inputs.len() > 1 {
            let told = format!(
                "{} inputs that took new branch sides are stored: {}",
                inputs.len() - 1,
                ids(&inputs[..inputs.len() - 1])
            );
            self.notices.push(told);
        }
        Ok(())
    }

    fn report(mut self, given: &Program) -> Result<Hunt, HuntError> {
        let beside = || given.file.parent().unwrap_or(&given.directory).join(store::DIRECTORY);
        let directory = self.options.store.clone().unwrap_or_else(beside);
        let store = Store::open(&directory)?;
        let mut findings = self.bad_findings(&store, given);
        self.keep(&store, given)?;
        let mut trouble = None;
        let mut stats = Stats::default();
        let hunted = std::mem::take(&mut self.hunted);
        if hunted.len() > MOST_HUNTED {
            self.notices.push(format!(
                "{} inputs brought suspicions; {MOST_HUNTED} of them were hunted with",
                hunted.len()
            ));
        }
        let all = hunted.len().min(MOST_HUNTED);
        drop(store);
        for (n, number) in hunted.iter().take(all).enumerate() {
            let program = self.inputs[*number].program.clone();
            let left = self
                .options
                .budget
                .map(|b| b.saturating_sub(self.begun.elapsed()) / (all - n) as u32);
            if left.is_some_and(|l| l.is_zero()) && self.options.runs.is_none() || self.plain.interrupted() {
                stats.stopped = Some("the budget is used up".into());
                break;
            }
            let options = Options {
                extent: if self.how.confirm { Extent::Hunt } else { Extent::Detect },
                budget: left,
                ..self.options.clone()
            };
            let input = options.input(&program)?;
            let input_told = (*number > 0).then(|| told(input.id(), given, &program));
            match hunt(program, &options) {
                Ok(hunt) => {
                    trouble = trouble.or(hunt.trouble);
                    add(&mut stats, &hunt.report.stats);
                    for notice in hunt.report.notices {
                        if !self.notices.contains(&notice) {
                            self.notices.push(notice);
                        }
                    }
                    for finding in hunt.report.findings {
                        merge(
                            &mut findings,
                            Finding {
                                input: finding.input.or(input_told.clone()),
                                ..finding
                            },
                        );
                    }
                }
                Err(HuntError::Interrupted) => break,
                Err(error) => self.notices.push(format!("input {}: {error}", input.id())),
            }
        }
        self.progress.finish();
        stats.runs += self.runs;
        stats.seconds = self.begun.elapsed().as_secs_f64();
        let told = self.told();
        self.notices.splice(0..0, told);
        let input = self.options.input(given)?;
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut report = Report {
            version: finding::VERSION,
            program: finding::Program {
                file: lossy(&input.file),
                args: input.args.iter().map(|a| lossy(a)).collect(),
                hash: format!("{:016x}", input.program),
            },
            findings,
            stats,
            notices: self.notices,
        };
        report.sort();
        Ok(Hunt {
            report,
            interrupted: self.plain.interrupted(),
            trouble,
            store: Some(directory),
            reached: Vec::new(),
        })
    }

    /// What the exploration came to, in words.
    fn told(&self) -> Vec<String> {
        let Tally {
            runs,
            paths,
            diverged,
            cut,
            infeasible,
            losses,
            ..
        } = self.search.tally;
        let asked = self.search.prover.asked;
        let (covered, sides) = self.coverage.sides();
        let waiting = match (self.search.waiting(), self.search.only_repeats()) {
            (0, _) => "nothing waits".into(),
            (n, true) => {
                format!("{n} wait, which repeat what is known: the last {BARREN} of their kind brought nothing")
            }
            (n, false) => format!("{n} waiting"),
        };
        let mut told = vec![format!(
            "explored {runs} inputs on {paths} paths: {covered} of {} branch sides taken, {} of them decided by input; {infeasible} turns infeasible, {} undecided, {waiting}",
            sides,
            self.search.sides(),
            asked.unknown,
        )];
        let mut count = |n: u64, what: &str| {
            if n > 0 {
                told.push(format!("{n} {what}"));
            }
        };
        count(diverged, "runs left the path that they were made for");
        count(cut, "turns left out: their branch side or path had its share");
        count(losses.pinned, "symbolic addresses or lengths were fixed to their value");
        count(
            losses.concretised,
            "values became concrete in operations that are not modelled",
        );
        count(
            losses.stale,
            "expressions were dropped: code without instrumentation had changed the value",
        );
        count(
            losses.cut_nodes + losses.cut_constraints,
            "expressions and constraints did not fit the trace",
        );
        count(losses.wrong, "expressions did not have the value that they claimed");
        count(asked.wrong_models, "models of the solver did not hold");
        count(self.failures, "inputs could not be run");
        told
    }
}

/// Names of inputs, cut.
fn ids(inputs: &[Input]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = inputs.iter().take(MOST).map(Input::id).collect();
    if inputs.len() > MOST {
        names.push("…".into());
    }
    names.join(" ")
}

/// Whether two bad runs ended at the same place.
fn same_place(a: &Ending, b: &Ending) -> bool {
    let place = |e: &Ending| {
        let at = e.run.records.ended.as_ref().and_then(|r| r.at.as_ref());
        at.map(|at| format!("{at:?}"))
    };
    place(a) == place(b)
}

fn add(total: &mut Stats, one: &Stats) {
    total.runs += one.runs;
    total.schedules += one.schedules;
    total.candidates += one.candidates;
    total.settled += one.settled;
    total.inconclusive += one.inconclusive;
    total.stopped = total.stopped.take().or_else(|| one.stopped.clone());
}

/// The stronger verdict stands.
fn merge(all: &mut Vec<Finding>, finding: Finding) {
    match all.iter_mut().find(|f| f.fingerprint == finding.fingerprint) {
        Some(known) if known.verdict >= finding.verdict => {}
        Some(known) => *known = finding,
        None => all.push(finding),
    }
}
