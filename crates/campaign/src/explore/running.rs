//! The runs of an exploration: inputs in batches, each traced in the symbolic flavour and, where its path is new, looked
//! at in the program itself.
//!
//! A batch is made before any of it runs, and taken in by number. Its size does not depend on how many runs are done
//! side by side, so neither does what an exploration comes to.

use super::input_files::InputFiles;
use super::{Exploration, Explored, Explorer, SUSPECTED_HANG};
use crate::explored_input::changed;
use crate::hunt::Options;
use crate::known_code;
use crate::phase_one::PhaseOne;
use crate::site_index::SiteIndex;
use deadheat_confirm::candidate::Rules;
use deadheat_confirm::records::Records;
use deadheat_confirm::{BadEnd, End, Isolation, Outcome, Program, Run, RunError, Stage};
use deadheat_explore::{Next, Path, Prune};
use deadheat_wire::plan::{Mode, Plan, Policy, Symbolic};
use deadheat_wire::trace::Trace;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Inputs that are made before the first of them runs.
const BATCH: u64 = 4;
/// So often the exploration is kept while it goes on.
const KEPT_EVERY: Duration = Duration::from_secs(20);

/// The trace of a run; none if the run was cut since no further one is wanted.
pub(super) type Traced = Result<Option<Vec<u8>>, RunError>;

/// What runs need, without what they are taken into.
pub(super) struct Runner<'a> {
    options: &'a Options,
    how: &'a Exploration,
    symbolic: &'a Stage,
    plain: &'a Stage,
    listens: bool,
    room: u32,
    longest: u32,
    most_arguments: u32,
    files: &'a InputFiles,
    sites: &'a Arc<SiteIndex>,
}

impl Runner<'_> {
    /// Runs at a time.
    pub(super) fn jobs(&self) -> usize {
        let isolation = &self.plain.isolation;
        let alone = matches!(isolation, Isolation::Shared(_)) || !isolation.own_network() && self.listens;
        if alone { 1 } else { self.options.jobs.max(1) }
    }

    /// Runs the symbolic flavour for its trace.
    pub(super) fn trace(&self, program: &Program) -> Traced {
        let run = self.flavoured(program, false, None)?;
        Ok(run.map(|run| run.trace.unwrap_or_default()))
    }

    /// Runs the symbolic flavour, for a trace or the hits of branches alone; none if the run was cut since no further one
    /// is wanted.
    pub(super) fn flavoured(
        &self,
        program: &Program,
        hits_alone: bool,
        limit: Option<Duration>,
    ) -> Result<Option<Run>, RunError> {
        let plan = Plan {
            symbolic: Some(Symbolic {
                trace: String::new(),
                room: self.room,
                longest: self.longest,
                most_arguments: self.most_arguments,
                touches: self.how.prune == Prune::RaceSafe,
                hits_alone,
                largest_file: self.files.largest(),
                files: self.files.longest(program, self.room),
            }),
            ..Plan::new(Mode::Schedule, Policy::Fifo)
        };
        let flavour = Program {
            file: self.how.flavour.clone(),
            ..program.clone()
        };
        let refused = |e: &dyn std::fmt::Display| RunError::Refused(e.to_string());
        let stage = self.symbolic.with(flavour).map_err(|e| refused(&e))?;
        if let Some(limit) = limit {
            stage.set_limit(limit);
        }
        let run = stage.run(&plan)?;
        Ok((!matches!(run.end, End::Stopped(_)) || !self.plain.stopped()).then_some(run))
    }

    /// Phase 1 under `fifo` on the program itself; with the number of runs that it took.
    fn look(&self, program: &Program) -> (u64, Result<PhaseOne, RunError>) {
        let stage = match self.plain.with(program.clone()) {
            Ok(stage) => stage,
            Err(error) => return (0, Err(RunError::Refused(error.to_string()))),
        };
        let mut phase = PhaseOne::of(self.sites.clone());
        let yields = Rules::new(self.options.seed).plan.hang_yields / SUSPECTED_HANG;
        let looked = phase.look(&stage, self.options.seed, self.options.switch, yields);
        (stage.runs(), looked.map(|()| phase))
    }
}

impl Explorer<'_> {
    pub(super) fn runner(&self) -> Runner<'_> {
        Runner {
            options: self.options,
            how: self.how,
            symbolic: &self.symbolic,
            plain: &self.plain,
            listens: self.listens,
            room: self.room,
            longest: (self.plain.program.stdin.len() as u32).saturating_add(self.room),
            most_arguments: self.most_arguments,
            files: &self.files,
            sites: &self.sites,
        }
    }

    /// Explores until nothing is left, or it is to stop.
    pub(super) fn go(&mut self, given: &Program) {
        let mut saved = Instant::now();
        while !self.stop() {
            let (programs, made_for) = self.batch();
            let left = !programs.is_empty();
            self.run_all(programs, made_for);
            let found = self.mutate(given, left);
            match self.let_grow(left) {
                Ok(grown) if left || grown || found => {}
                Ok(_) => break,
                Err(error) => {
                    self.notices.push(format!("inputs were not let grow further: {error}"));
                    break;
                }
            }
            let text = format!(
                "exploring: {} inputs and {} by chance, {} paths, {} branch sides, {} waiting, {} suspicions",
                self.search.tally.runs,
                self.mutating.made,
                self.search.tally.paths,
                self.search.sides(),
                self.search.waiting(),
                self.suspected.len(),
            );
            self.progress.phase(&text, self.runs);
            if saved.elapsed() > KEPT_EVERY {
                // Somebody else may be at work in the store: then a later time.
                let _ = self.at_store(given, |explorer, store| explorer.keep_exploration(store, given));
                saved = Instant::now();
            }
        }
        match self.at_store(given, |explorer, store| explorer.keep_exploration(store, given)) {
            Ok(true) => {}
            Ok(false) => {
                let told = "the exploration is too large to be kept: the next one begins anew";
                self.notices.push(told.into());
            }
            Err(error) => self.notices.push(format!("the exploration could not be kept: {error}")),
        }
    }

    /// The next inputs, each with what it was made for.
    fn batch(&mut self) -> (Vec<Program>, Vec<Next>) {
        let made = self.search.tally.runs - self.before;
        let most = self
            .how
            .inputs
            .map_or(BATCH, |most| most.saturating_sub(made).min(BATCH));
        let stop = self.late();
        let (mut programs, mut made_for) = (Vec::new(), Vec::new());
        self.search.begin_batch();
        while (programs.len() as u64) < most {
            let Some(next) = self.search.next(&stop) else { break };
            let parent = &self.inputs[next.parent as usize];
            programs.push(changed(&parent.program, &parent.path, &next.changes));
            made_for.push(next);
        }
        (programs, made_for)
    }

    /// The first input of an exploration that begins.
    pub(super) fn run_first(&mut self, program: Program) -> Result<(), RunError> {
        let traced = self.runner().trace(&program);
        self.runs += 1;
        if let Some(number) = self.add(program, traced, None)? {
            let (_, errors) = self.look_at(&[number]);
            return errors.into_iter().next().map_or(Ok(()), Err);
        }
        Ok(())
    }

    fn run_all(&mut self, programs: Vec<Program>, made_for: Vec<Next>) {
        let runner = self.runner();
        let traces = side_by_side(&programs, runner.jobs(), |program| runner.trace(program));
        self.runs += programs.len() as u64;
        let mut new = Vec::new();
        for ((program, made_for), traced) in programs.into_iter().zip(made_for).zip(traces) {
            match self.add(program, traced, Some(made_for)) {
                Ok(number) => new.extend(number),
                Err(_) => self.failures += 1,
            }
        }
        let (found, errors) = self.look_at(&new);
        self.failures += errors.len() as u64;
        if found {
            self.search.discovered();
        }
    }

    /// Detection on these inputs; whether it showed something new, and why it failed on some.
    pub(super) fn look_at(&mut self, numbers: &[usize]) -> (bool, Vec<RunError>) {
        let runner = self.runner();
        let programs: Vec<&Program> = numbers.iter().map(|n| &self.inputs[*n].program).collect();
        let looked = side_by_side(&programs, runner.jobs(), |program| runner.look(program));
        let (mut new, mut errors) = (false, Vec::new());
        for (number, (runs, looked)) in numbers.iter().zip(looked) {
            self.runs += runs;
            if self.plain.stopped() {
                self.undetected.push(*number);
            }
            match looked {
                Ok(phase) => {
                    if self.sites.is_empty() {
                        self.sites = phase.sites.clone();
                    }
                    new |= self.judge(*number, phase);
                }
                Err(error) => errors.push(error),
            }
        }
        (new, errors)
    }

    /// Takes a traced input in; its number if it is to be looked at, since its path or a branch side is new.
    pub(super) fn add(
        &mut self,
        program: Program,
        traced: Traced,
        made_for: Option<Next>,
    ) -> Result<Option<usize>, RunError> {
        let Some(bytes) = traced? else {
            self.given_up.extend(made_for);
            return Ok(None);
        };
        let path = self.import(&bytes)?;
        let hits = Trace::new(&bytes).map_or(&[][..], |trace| trace.hits());
        let covers = self.coverage.see(hits);
        self.mutating.solved(&program, &path, hits);
        let number = self.inputs.len();
        self.take(program, &path);
        let new = self.search.add(number as u32, path, made_for.as_ref());
        self.stale = if covers { 0 } else { self.stale + 1 };
        if covers {
            self.search.discovered();
            if number > 0 {
                self.kept.push(number);
            }
        }
        Ok((new || covers).then_some(number))
    }

    /// An input that was run, with its path.
    fn take(&mut self, program: Program, path: &Path) {
        let path = needed(path);
        self.inputs.push(Explored { program, path });
    }

    /// Inputs of the exploration that this one goes on from; `open`: not all its branches were turned.
    pub(super) fn again(&mut self, earlier: Vec<(Program, bool)>) -> Result<(), RunError> {
        let runner = self.runner();
        let trace = |(program, open): &(Program, bool)| if *open { runner.trace(program) } else { Ok(None) };
        let traces = side_by_side(&earlier, runner.jobs(), trace);
        for ((program, open), traced) in earlier.into_iter().zip(traces) {
            let number = self.inputs.len() as u32;
            if !open {
                self.take(program, &Path::default());
                continue;
            }
            self.runs += 1;
            let bytes = traced?.ok_or_else(|| {
                let told = "it was stopped before all earlier inputs were traced again; what is stored is as it was";
                RunError::Refused(told.into())
            })?;
            let path = self.import(&bytes)?;
            let hits = Trace::new(&bytes).map_or(&[][..], |trace| trace.hits());
            self.mutating.solved(&program, &path, hits);
            self.take(program, &path);
            self.search.again(number, path);
        }
        Ok(())
    }

    pub(super) fn import(&mut self, bytes: &[u8]) -> Result<Path, RunError> {
        Path::import(&mut self.search.store, bytes).map_err(|e| RunError::Refused(e.to_string()))
    }

    /// Runs need no network of their own, which takes long to make, if the given input's run, by its records and the
    /// program's files, has nothing to do with any, and until one starts another process; so long servers make the runs of
    /// inputs with the same arguments, variables and files.
    fn share_network(&mut self, number: usize, records: &Records) {
        let stages = [&mut self.plain, &mut self.symbolic];
        if number == 0 {
            for stage in stages {
                stage.leave_network(records);
                stage.serve(records);
            }
            known_code::exchange_threads(&mut self.plain, records);
        } else if records.processes.len() > 1 || records.ended.as_ref().is_some_and(|ended| ended.others) {
            for stage in stages {
                stage.isolation = self.apart.clone();
                stage.end_serving();
            }
        }
    }

    /// Takes in what detection showed; whether that was new.
    fn judge(&mut self, number: usize, mut phase: PhaseOne) -> bool {
        let (mut new, mut any) = (false, false);
        if let Some(ordinary) = &phase.ordinary {
            self.share_network(number, &ordinary.run.records);
        }
        for candidate in std::mem::take(&mut phase.candidates).in_order() {
            any = true;
            new |= self.suspected.insert(candidate.fingerprint());
        }
        if any {
            self.search.spare(number as u32);
        }
        if new {
            self.hunted.push(number);
            let ended = phase.ordinary.as_ref().and_then(|o| o.run.records.ended.as_ref());
            if ended.is_some_and(|ended| ended.wakes == 0) {
                self.wakeless.insert(number);
            }
        }
        if let Some(ending) = phase.ordinary.take()
            && !matches!(ending.outcome, Outcome::Exit(_))
            && ending.outcome.as_harm().is_some()
            && !self
                .bad
                .iter()
                .any(|(_, known, _)| BadEnd::of(&known.run).same(&BadEnd::of(&ending.run)))
        {
            new = true;
            self.bad.push((number, ending, phase));
        }
        new
    }
}

/// What further inputs need of a path.
pub(super) fn needed(path: &Path) -> Path {
    Path {
        values: path.values.clone(),
        names: path.names.clone(),
        ..Path::default()
    }
}

/// Does the work on each item, so many at a time; results in the items' order.
pub(super) fn side_by_side<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if jobs == 1 || items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(n) else { break done };
            done.push((n, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.min(items.len())).map(|_| scope.spawn(share)).collect();
        let results = threads.into_iter().map(|t| t.join());
        results
            .flat_map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, result)| result).collect()
}
