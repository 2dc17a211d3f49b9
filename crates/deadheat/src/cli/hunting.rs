//! `hunt`, `detect` and `confirm`.

use super::arguments::{Confirm, Deadheat, Detect, Hunt, Output, Runs};
use super::{exploring, failed, misused, output, scan, selecting, stdin};
use clap::CommandFactory;
use deadheat_campaign::confirm::{Oracle, Program};
use deadheat_campaign::hunt::Hunt as Hunted;
use deadheat_campaign::report::Suppressions;
use deadheat_campaign::store::DIRECTORY;
use deadheat_campaign::{Extent, Options, Store};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// `deadheat hunt`.
pub fn hunt(hunt: Hunt) -> ExitCode {
    if hunt.explore {
        return exploring::go(hunt.budget, true, &hunt.search, &hunt.runs, &hunt.output, hunt.program);
    }
    if hunt.many.inputs.is_some() {
        let budget = Some(hunt.budget);
        return selecting::over_inputs(Extent::Hunt, budget, &hunt.many, &hunt.runs, &hunt.output, hunt.program);
    }
    let oracle = Oracle {
        check: hunt.oracles.check,
        same_output: hunt.oracles.expect_output.is_some(),
    };
    swallowed(hunt.program.get(1..).unwrap_or_default());
    let prepared = prepare(Extent::Hunt, Some(hunt.budget), &hunt.runs, &hunt.output, hunt.program);
    let hunted = prepared.and_then(|(program, options)| {
        let warnings = match hunt.scan {
            true => scan::warnings(&program.file, &store_of(&program, hunt.runs.store.as_deref()), &options),
            false => Ok(Arc::default()),
        };
        let warnings = warnings.map_err(Refusal::Failed)?;
        let options = Options {
            oracle,
            warnings,
            ..options
        };
        begin(program, &options)
    });
    finish(hunted, &hunt.output)
}

/// `deadheat detect`.
pub fn detect(detect: Detect) -> ExitCode {
    let output = Output {
        suspected: true,
        ..detect.output
    };
    if detect.many.inputs.is_some() {
        return selecting::over_inputs(
            Extent::Detect,
            None,
            &detect.many,
            &detect.runs,
            &output,
            detect.program,
        );
    }
    go(Extent::Detect, None, detect.runs, &output, detect.program)
}

/// `deadheat confirm`.
pub fn confirm(confirm: Confirm) -> ExitCode {
    let ids = confirm.ids.iter().map(|id| id.to_uppercase()).collect();
    go(
        Extent::Confirm(ids),
        Some(confirm.budget),
        confirm.runs,
        &confirm.output,
        confirm.program,
    )
}

/// Set by the first interrupt; a second one ends deadheat at once.
pub fn interrupts() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let again = signal_hook::flag::register_conditional_shutdown(signal, 3, flag.clone());
        let first = signal_hook::flag::register(signal, flag.clone());
        if again.and(first).is_err() {
            anstream::eprintln!("deadheat: interrupts cannot be caught here");
        }
    }
    // Writing beyond the limit on file sizes (`ulimit -f`) is then an error like a full disk.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    flag
}

/// Notes options of deadheat's own that went to the program, where no `--` says that they should.
fn swallowed(arguments: &[OsString]) {
    if std::env::args_os().any(|a| a == "--") {
        return;
    }
    let own = Deadheat::command();
    let known: Vec<String> = own
        .get_subcommands()
        .filter(|c| c.get_name() == "hunt")
        .flat_map(|c| c.get_arguments())
        .filter_map(|a| a.get_long().map(|name| format!("--{name}")))
        .collect();
    for argument in arguments.iter().filter_map(|a| a.to_str()) {
        let name = argument.split('=').next().unwrap_or_default();
        if known.iter().any(|k| k == name) {
            anstream::eprintln!(
                "deadheat: note: {name} comes after the program and is given to it; deadheat's own options come first: deadheat hunt {name} … -- PROGRAM"
            );
        }
    }
}

fn go(extent: Extent, budget: Option<Duration>, runs: Runs, output: &Output, program: Vec<OsString>) -> ExitCode {
    swallowed(program.get(1..).unwrap_or_default());
    finish(started(extent, budget, &runs, output, program), output)
}

fn finish(hunted: Result<Hunted, Refusal>, output: &Output) -> ExitCode {
    match hunted {
        Ok(hunt) => output::finish(
            &hunt.report,
            output,
            hunt.store.as_deref(),
            hunt.interrupted,
            hunt.trouble.as_deref(),
        ),
        Err(Refusal::Usage(text)) => misused(&text),
        Err(Refusal::Failed(text)) => failed(&text),
    }
}

/// Why a hunt did not begin.
pub enum Refusal {
    /// The command was used wrongly.
    Usage(String),
    /// It could not be done.
    Failed(String),
}

/// A hunt whose outcome the caller tells; the error says why there was none.
pub fn hunted(
    budget: Option<Duration>,
    runs: &Runs,
    output: &Output,
    program: Vec<OsString>,
) -> Result<Hunted, String> {
    started(Extent::Hunt, budget, runs, output, program).map_err(|refusal| match refusal {
        Refusal::Usage(text) | Refusal::Failed(text) => text,
    })
}

fn started(
    extent: Extent,
    budget: Option<Duration>,
    runs: &Runs,
    output: &Output,
    program: Vec<OsString>,
) -> Result<Hunted, Refusal> {
    let (program, options) = prepare(extent, budget, runs, output, program)?;
    begin(program, &options)
}

fn begin(program: Program, options: &Options) -> Result<Hunted, Refusal> {
    deadheat_campaign::hunt::hunt(program, options).map_err(|e| Refusal::Failed(e.to_string()))
}

/// The program as it is to be run, and how.
pub fn prepare(
    extent: Extent,
    budget: Option<Duration>,
    runs: &Runs,
    output: &Output,
    program: Vec<OsString>,
) -> Result<(Program, Options), Refusal> {
    let options = options(extent, budget, runs, output.quiet)?;
    output::check(output).map_err(Refusal::Usage)?;
    let failed = |error: &dyn std::fmt::Display| Refusal::Failed(error.to_string());
    let Some((name, arguments)) = program.split_first() else {
        return Err(Refusal::Usage("name the program to run".into()));
    };
    let mut program = Program::find(name, arguments.to_vec()).map_err(|e| failed(&e))?;
    match &runs.input {
        Some(id) => program = stored(&program, runs.store.as_deref(), id).map_err(Refusal::Failed)?,
        None => program.stdin = stdin::capture(runs.stdin.as_deref()).map_err(|e| failed(&e))?,
    }
    Ok((program, options))
}

/// How programs are to be run.
pub fn options(extent: Extent, budget: Option<Duration>, runs: &Runs, quiet: bool) -> Result<Options, Refusal> {
    if budget.is_some_and(|b| b.is_zero()) && runs.runs.is_none() {
        return Err(Refusal::Usage(
            "a budget of 0 leaves no time for a single run; give some, for example --budget 10s, or --runs N".into(),
        ));
    }
    if runs.timeout.is_some_and(|t| t.is_zero()) {
        return Err(Refusal::Usage(
            "with a limit of 0 no run ends; give some, for example --timeout 10s".into(),
        ));
    }
    let suppressions = match &runs.suppressions {
        Some(file) => Suppressions::read(file).map_err(|e| Refusal::Usage(e.to_string()))?,
        None => Suppressions::default(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Options {
        extent,
        budget,
        runs: runs.runs,
        walks: runs.walks,
        plain: 0,
        jobs: runs.jobs.map_or(cores, |j| j as usize),
        seed: runs.seed,
        switch: (runs.switch * 1024.0).round() as u32,
        isolate: !runs.no_isolation,
        setup: runs.setup.clone(),
        client: runs.serving.client(),
        oracle: Oracle::default(),
        follow: !runs.serving.no_follow,
        limit: runs.timeout,
        quiet,
        store: runs.store.clone(),
        suppressions: Arc::new(suppressions),
        interrupted: interrupts(),
        functions: None,
        warnings: Arc::default(),
        proven: Arc::default(),
    })
}

/// The store of a program.
pub fn store_of(program: &Program, named: Option<&Path>) -> PathBuf {
    let beside = || program.file.parent().unwrap_or(&program.directory).join(DIRECTORY);
    named.map_or_else(beside, Path::to_path_buf)
}

/// The program with an input that an exploration stored.
fn stored(program: &Program, store: Option<&Path>, id: &str) -> Result<Program, String> {
    let directory = store_of(program, store);
    let store = Store::read(&directory).map_err(|e| e.to_string())?;
    let all = store.inputs().map_err(|e| e.to_string())?;
    let mut of_program = all.iter().filter(|i| i.program().file == program.file);
    let found = of_program.find(|i| i.id() == id.to_lowercase());
    let input = found.ok_or_else(|| format!("there is no input {id} of {} in this store", program.file.display()))?;
    Ok(input.program())
}
