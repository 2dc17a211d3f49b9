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

mod bad_ends;
mod growth;
mod input_files;
mod kept;
mod mutating;
mod running;
mod telling;

pub use kept::KeptExploration;

use crate::coverage::{self, Coverage};
use crate::explored_input::told;
use crate::hunt::{Extent, Hunt, HuntError, Options, hunt};
use crate::phase_one::{Ending, PhaseOne};
use crate::progress::Progress;
use crate::site_index::SiteIndex;
use crate::store::{self, Store, StoreError};
use deadheat_confirm::{Isolation, Oracle, Program, Stage, StageOptions};
pub use deadheat_explore::{Bounds, Order, Prune};
use deadheat_explore::{Next, Own, Path, Prover, Search, Side, sat_solver::SatSolver};
use deadheat_report::finding::{self, Finding, Report, Stats};
use input_files::InputFiles;
use mutating::Mutating;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use telling::ids;

/// What an exploration may do.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The program's symbolic flavour.
    pub flavour: PathBuf,
    /// How branches are chosen.
    pub order: Order,
    /// Wishes per branch side and path.
    pub bounds: Bounds,
    /// Which paths' turns are cancelled. [`Prune::RaceSafe`] needs a flavour that tells of accesses.
    pub prune: Prune,
    /// Most inputs; no limit if none.
    pub inputs: Option<u64>,
    /// Conflicts of the solver per query.
    pub conflicts: u64,
    /// Bytes by which texts and files may grow at first.
    pub room: u32,
    /// Hunt with the inputs that bring something; else only detect.
    pub confirm: bool,
    /// Do not go on from an earlier exploration.
    pub anew: bool,
    /// Change inputs by chance, too.
    pub mutate: bool,
}

impl Exploration {
    /// The usual bounds.
    pub fn new(flavour: PathBuf) -> Exploration {
        Exploration {
            flavour,
            order: Order::default(),
            bounds: Bounds::default(),
            prune: Prune::default(),
            inputs: None,
            conflicts: 20_000,
            room: 12,
            confirm: false,
            anew: false,
            mutate: true,
        }
    }
}

/// Exploring may take so many of eight parts of a hunt's budget, and of one that looks at suspicions but proves none.
const SHARE: (u32, u32) = (4, 7);
/// A run of the flavour may take this long.
const LIMIT: Duration = Duration::from_secs(10);
/// The usual bound of a hang is many seconds of looping; so many times less to suspect one.
const SUSPECTED_HANG: u64 = 40;
/// Arguments that may be added.
const MORE_ARGUMENTS: u32 = 4;
/// Inputs that are hunted with; what is beyond is counted.
const MOST_HUNTED: usize = 64;
/// Undirected runs with an input, unless a number is asked for or its run woke a waiting thread: what loses a signal may
/// be rare.
const WALKS: u32 = 40;

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
    /// How runs are kept apart that may use a network.
    apart: Isolation,
    /// Whether the program waits for others to connect.
    listens: bool,
    search: Search,
    inputs: Vec<Explored>,
    /// Pairs of statements that some input made suspicious.
    suspected: BTreeSet<String>,
    /// Inputs that took a branch side that none before had taken: they are stored.
    kept: Vec<usize>,
    /// Inputs with new suspicions.
    hunted: Vec<usize>,
    /// Those of them in whose run no waiting thread was woken.
    wakeless: BTreeSet<usize>,
    /// Bad ends, each kind once, with its input.
    bad: Vec<(usize, Ending, PhaseOne)>,
    /// Sides of the program's branches.
    coverage: Coverage,
    /// Bytes by which texts and files may grow now.
    room: u32,
    mutating: Mutating,
    /// Inputs since the last one that took a new side.
    stale: u32,
    most_arguments: u32,
    files: InputFiles,
    /// Of the program as the first run loaded it.
    sites: Arc<SiteIndex>,
    failures: u64,
    /// Inputs of the exploration that this one goes on from.
    before: u64,
    /// Inputs whose runs were cut by the end of the exploration.
    given_up: Vec<Next>,
    /// Inputs to whose detection it did not come.
    undetected: Vec<usize>,
    runs: u64,
    progress: Progress,
    notices: Vec<String>,
}

/// Explores a program's inputs, beginning with the given one; the coverage is that of all of them.
pub fn explore(program: Program, options: &Options, how: &Exploration) -> Result<(Hunt, Coverage), HuntError> {
    let begun = Instant::now();
    program.check()?;
    let budget = options.budget.filter(|_| options.runs.is_none());
    let parts = if how.confirm { SHARE.0 } else { SHARE.1 };
    let share = budget.map(|b| b * parts / 8);
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
        apart: plain.isolation.clone(),
        listens: program.listens(),
        plain,
        search: Search::new(prover, how.order, how.bounds, own).pruning(how.prune),
        inputs: Vec::new(),
        suspected: BTreeSet::new(),
        kept: Vec::new(),
        hunted: Vec::new(),
        wakeless: BTreeSet::new(),
        bad: Vec::new(),
        coverage,
        room: how.room,
        mutating: Mutating::new(&how.flavour, options.seed),
        stale: 0,
        most_arguments: program.args.len() as u32 + 1 + MORE_ARGUMENTS,
        files: InputFiles::default(),
        sites: Arc::default(),
        failures: 0,
        before: 0,
        given_up: Vec::new(),
        undetected: Vec::new(),
        runs: 0,
        progress: Progress::new(options.quiet),
    };
    explorer.files = InputFiles::of(&program, options.setup.is_some(), &explorer.plain.isolation);
    let kept = explorer.at_store(&program, |explorer, store| {
        explorer.notices.extend(store.warnings.iter().cloned());
        if how.anew {
            Ok(None)
        } else {
            explorer.kept(store, &program)
        }
    })?;
    match kept {
        Some(kept) => explorer.resume(kept, &program)?,
        None => explorer.run_first(program.clone())?,
    }
    explorer.go(&program);
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
        let made = self.search.tally.runs - self.before;
        let enough = self.how.inputs.is_some_and(|most| made >= most);
        enough || self.late()()
    }

    /// Asks whether the time of the exploration is over, or the user wants to stop.
    fn late(&self) -> impl Fn() -> bool + Sync + use<> {
        let (deadline, interrupted) = (self.deadline, self.options.interrupted.clone());
        move || deadline.is_some_and(|d| Instant::now() >= d) || interrupted.load(Ordering::Relaxed)
    }

    fn directory(&self, given: &Program) -> PathBuf {
        let beside = || given.file.parent().unwrap_or(&given.directory).join(store::DIRECTORY);
        self.options.store.clone().unwrap_or_else(beside)
    }

    /// Does something with the store, which is open that long only: hunts open it themselves.
    fn at_store<T>(
        &mut self,
        given: &Program,
        work: impl FnOnce(&mut Self, &Store) -> Result<T, StoreError>,
    ) -> Result<T, HuntError> {
        let store = Store::open(&self.directory(given))?;
        Ok(work(self, &store)?)
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
        let directory = self.directory(given);
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
                self.notices.push(format!(
                    "{} inputs that brought suspicions were not looked at further; the next exploration goes on with them",
                    all - n
                ));
                break;
            }
            let options = Options {
                extent: if self.how.confirm { Extent::Hunt } else { Extent::Detect },
                budget: left,
                walks: self.options.walks.or(self.wakeless.contains(number).then_some(WALKS)),
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
        stats.exploration = Some(self.figures());
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
