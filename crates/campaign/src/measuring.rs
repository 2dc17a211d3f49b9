//! Measuring inputs: which functions can run at the same time under each; few runs, each nearly as fast as the
//! program. What was measured is kept by program and input, so that only what is new is run.

use crate::hunt::{HuntError, Options};
use crate::input::Input;
use crate::inputs;
use crate::left_out::LeftOut;
use crate::parts::Parts;
use crate::progress::Progress;
use crate::site_index::SiteIndex;
use crate::store::{MeasuredInput, Store};
use deadheat_confirm::candidate::Rules;
use deadheat_confirm::{Isolation, Oracle, Outcome, Program, Run, Stage, StageOptions};
use deadheat_model::SiteId;
use deadheat_pairs::PairSet;
use deadheat_wire::plan::{Mode, Plan, Policy};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A run of measuring may take this long.
const LIMIT: Duration = Duration::from_secs(60);

/// A function across inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name, demangled.
    pub name: String,
    /// Source file, if known.
    pub file: String,
    /// Line, 0 unknown.
    pub line: u32,
}

/// One input, measured.
#[derive(Clone, Debug)]
pub struct One {
    /// The program with it.
    pub program: Program,
    /// As it is stored.
    pub input: Input,
    /// What was measured; none if it could not be.
    pub measured: Option<MeasuredInput>,
    /// Whether that came from the store.
    pub known: bool,
    /// Why nothing was measured, or what limits it.
    pub notices: Vec<String>,
    /// Pairs of functions in the numbers of [`Inputs::functions`].
    pub pairs: PairSet,
    /// The functions that ran, in those numbers, ascending.
    pub functions: Vec<u32>,
    /// What of the program ran beside other threads, see `parts.rs`, in numbers of all inputs, each with its function.
    pub parts: Vec<(u32, u32)>,
}

/// All inputs, measured.
#[derive(Debug, Default)]
pub struct Inputs {
    /// In the order of the list.
    pub inputs: Vec<One>,
    /// All functions that ran.
    pub functions: Vec<Function>,
    /// Their places in files: module and entry.
    places: Vec<(String, u32)>,
    /// Runs made.
    pub runs: u64,
    /// Seconds of the whole.
    pub seconds: f64,
    /// Functions of the program's file that are not measured, and why.
    pub left_out: LeftOut,
}

impl Inputs {
    /// Inputs that nothing is measured of.
    pub fn unmeasured(programs: Vec<Program>, options: &Options) -> Result<Inputs, HuntError> {
        let mut inputs = Inputs::default();
        for program in programs {
            inputs.inputs.push(One {
                input: options.input(&program)?,
                program,
                measured: None,
                known: false,
                notices: Vec::new(),
                pairs: PairSet::default(),
                functions: Vec::new(),
                parts: Vec::new(),
            });
        }
        Ok(inputs)
    }

    /// Entry sites of these functions as the runs of an input number them, ascending: a library that is loaded again
    /// has another number each time.
    pub fn entries(&self, one: &One, functions: &[u32]) -> Vec<SiteId> {
        let modules = one.measured.as_ref().map_or(&[][..], |m| &m.modules);
        let mut numbers: HashMap<&str, Vec<u16>> = HashMap::new();
        for (module, number) in modules.iter().zip(0..) {
            numbers.entry(module).or_default().push(number);
        }
        let places = functions.iter().filter_map(|f| self.places.get(*f as usize));
        let mut entries: Vec<_> = places
            .flat_map(|(module, index)| {
                let numbers = numbers.get(module.as_str()).into_iter().flatten();
                numbers.map(|module| SiteId {
                    module: *module,
                    index: *index,
                })
            })
            .collect();
        entries.sort_unstable();
        entries
    }
}

/// Measures the inputs that the store does not know; the functions in `left_out` are not looked at.
pub fn measure(
    programs: Vec<Program>,
    base: &Program,
    options: &Options,
    store: &Store,
    left_out: LeftOut,
) -> Result<Inputs, HuntError> {
    let begun = Instant::now();
    base.check()?;
    let stage_options = StageOptions {
        isolate: options.isolate,
        setup: options.setup.clone(),
        client: options.client.clone(),
        oracle: Oracle::default(),
        follow: options.follow,
        limit: options.limit.unwrap_or(LIMIT),
        deadline: options.budget.filter(|_| options.runs.is_none()).map(|b| begun + b),
        interrupted: options.interrupted.clone(),
    };
    let stage = Stage::new(base.clone(), stage_options)?;
    let mut inputs: Vec<(One, u64)> = Vec::new();
    for program in programs {
        let input = options.input(&program)?;
        let name = left_out.salt(inputs::name(&input, base));
        let measured = store.measured(input.program, name)?;
        let one = One {
            known: measured.is_some(),
            program,
            input,
            measured,
            notices: Vec::new(),
            pairs: PairSet::default(),
            functions: Vec::new(),
            parts: Vec::new(),
        };
        inputs.push((one, name));
    }
    let alone =
        matches!(stage.isolation, Isolation::Shared(_)) || !stage.isolation.own_network() && stage.program.listens();
    let jobs = if alone { 1 } else { options.jobs.max(1) };
    let progress = Progress::new(options.quiet);
    let total = inputs.len();
    let next = AtomicUsize::new(0);
    let runs = AtomicUsize::new(0);
    let measuring = Measuring {
        stage: &stage,
        options,
        left_out: &left_out,
        module: AtomicU32::new(0),
    };
    let slots: Vec<Mutex<&mut One>> = inputs.iter_mut().map(|(one, _)| Mutex::new(one)).collect();
    let work = || {
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Ok(mut one) = slot.lock() else { continue };
            if one.measured.is_none() && !stage.stopped() {
                let made = measuring.one(&mut one);
                let done = runs.fetch_add(made, Ordering::Relaxed) + made;
                progress.phase(&format!("measuring {total} inputs"), done as u64);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(total) {
            // Where the machine gives no more threads, there are fewer at work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    drop(slots);
    progress.finish();
    store.together(|| {
        for (one, name) in inputs.iter().filter(|(one, _)| !one.known) {
            store.save_input(&one.input)?;
            if let Some(measured) = &one.measured {
                store.save_measured(one.input.program, *name, measured)?;
            }
        }
        Ok(())
    })?;
    if stage.interrupted() {
        return Err(HuntError::Interrupted);
    }
    let mut all = Inputs {
        inputs: inputs.into_iter().map(|(one, _)| one).collect(),
        runs: runs.into_inner() as u64,
        left_out,
        ..Inputs::default()
    };
    number(&mut all);
    all.seconds = begun.elapsed().as_secs_f64();
    Ok(all)
}

/// The program's file is a module whose number is not known.
const NO_MODULE: u32 = u32::MAX;

/// What runs of measuring share.
struct Measuring<'a> {
    stage: &'a Stage,
    options: &'a Options,
    left_out: &'a LeftOut,
    /// The number of the program's file among the modules of a run, or [`NO_MODULE`]: known for sure only afterwards.
    module: AtomicU32,
}

impl Measuring<'_> {
    /// Measures an input; the runs made.
    fn one(&self, one: &mut One) -> usize {
        let own = match self.stage.with(one.program.clone()) {
            Ok(own) => own,
            Err(error) => {
                one.notices.push(error.to_string());
                return 0;
            }
        };
        let mut runs = 0;
        let mut module = self.module.load(Ordering::Relaxed);
        loop {
            let run = match own.run(&self.plan(module)) {
                Ok(run) => run,
                Err(error) => {
                    one.notices.push(error.to_string());
                    return runs;
                }
            };
            runs += 1;
            let really = self.module_of(&run);
            if module == NO_MODULE || module == really || self.left_out.functions.is_empty() {
                take_in(one, &run, self.left_out, module);
                return runs;
            }
            // Functions were left out that should not have been.
            module = really;
            self.module.store(really, Ordering::Relaxed);
        }
    }

    fn plan(&self, module: u32) -> Plan {
        let left_out = u16::try_from(module).map(|module| self.left_out.sites(module));
        Plan {
            hang_yields: Rules::new(self.options.seed).plan.hang_yields,
            functions: left_out.ok().filter(|sites| !sites.is_empty()),
            ..Plan::new(Mode::Functions, Policy::Fifo)
        }
    }

    /// The number of the program's file in a run.
    fn module_of(&self, run: &Run) -> u32 {
        let file = self.stage.program.file.to_string_lossy();
        let mut modules = run.records.modules.iter();
        match modules.position(|m| m.path == file && !m.calls) {
            Some(number) => number as u32,
            _ => NO_MODULE,
        }
    }
}

/// The pairs of all processes of a run.
fn take_in(one: &mut One, run: &Run, left_out: &LeftOut, module: u32) {
    let records = &run.records;
    if Outcome::of(run).inconclusive() || records.functions.is_empty() {
        let why = format!("it was stopped after {:.1?}", run.elapsed);
        return one.notices.push(why);
    }
    let mut numbers: HashMap<_, u32> = HashMap::new();
    let mut measured = MeasuredInput {
        modules: records.modules.iter().map(|m| m.path.clone()).collect(),
        seconds: run.elapsed.as_secs_f64(),
        steps: records.steps,
        ..MeasuredInput::default()
    };
    for process in &records.functions {
        let mut local = vec![None; process.entries.len()];
        for (function, _) in &process.spans.members {
            let Some(entry) = process.entries.get(*function as usize) else {
                continue;
            };
            let number = *numbers.entry(*entry).or_insert_with(|| {
                measured.functions.push(*entry);
                measured.functions.len() as u32 - 1
            });
            local[*function as usize] = Some(number);
        }
        for (a, b) in deadheat_pairs::pairs(&process.spans).iter() {
            if let (Some(Some(a)), Some(Some(b))) = (local.get(a as usize), local.get(b as usize)) {
                measured.pairs.insert(*a, *b);
            }
        }
        measured.widened += process.spans.widened;
        measured.dropped += process.spans.dropped;
    }
    if let Ok(module) = u16::try_from(module) {
        measured.left_out = left_out.inherit(module, records, &mut measured);
    }
    let places: HashMap<SiteId, u32> = measured.functions.iter().copied().zip(0..).collect();
    for reached in &records.reached {
        let site = |index| SiteId {
            module: reached.module,
            index,
        };
        let known = reached.sites.iter();
        let known =
            known.filter_map(|(entry, index, threads)| Some((*places.get(&site(*entry))?, site(*index), *threads)));
        measured.statements.extend(known);
    }
    measured.statements.sort_unstable();
    // One for all processes.
    measured.statements.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        kept.2 |= if same { next.2 } else { 0 };
        same
    });
    for notice in &records.notices {
        one.notices.push(crate::describe::notice(notice));
    }
    one.measured = Some(measured);
}

/// Gives the functions of all inputs common numbers and names.
fn number(all: &mut Inputs) {
    let mut numbers: HashMap<(String, u32), u32> = HashMap::new();
    let mut parts = Parts::default();
    let mut indexes: HashMap<Vec<String>, SiteIndex> = HashMap::new();
    for one in &mut all.inputs {
        let Some(measured) = &one.measured else { continue };
        let index = indexes
            .entry(measured.modules.clone())
            .or_insert_with(|| SiteIndex::of_paths(&measured.modules));
        let mut local = Vec::new();
        for entry in &measured.functions {
            let Some(module) = measured.modules.get(usize::from(entry.module)) else {
                local.push(u32::MAX);
                continue;
            };
            let place = (module.clone(), entry.index);
            let functions = &mut all.functions;
            let places = &mut all.places;
            local.push(*numbers.entry(place).or_insert_with_key(|place| {
                places.push(place.clone());
                functions.push(index.function(*entry));
                functions.len() as u32 - 1
            }));
        }
        let number = |n: u32| local.get(n as usize).copied().filter(|n| *n != u32::MAX);
        let pairs = measured
            .pairs
            .iter()
            .filter_map(|(a, b)| Some((number(a)?, number(b)?)));
        one.pairs = pairs.collect();
        one.functions = local.iter().copied().filter(|n| *n != u32::MAX).collect();
        one.functions.sort_unstable();
        one.functions.dedup();
        let ran = measured.statements.iter().filter_map(|(function, site, threads)| {
            let function = number(*function)?;
            let module = measured.modules.get(usize::from(site.module))?;
            Some(parts.ran(module, *site, function, *threads, index))
        });
        let ran: Vec<_> = ran.collect();
        let (found, cut) = parts.of_input(&ran, &one.pairs);
        one.parts = found;
        if cut > 0 {
            one.notices.push(format!(
                "{cut} pairs of inlined functions are not looked at: there are too many"
            ));
        }
        if measured.widened > 0 {
            one.notices.push(format!("{} function instances were joined with others for want of room: pairs may be claimed that are not concurrent", measured.widened));
        }
        if measured.dropped > 0 {
            one.notices.push(format!(
                "{} function instances found no room: pairs may be missing",
                measured.dropped
            ));
        }
    }
}
