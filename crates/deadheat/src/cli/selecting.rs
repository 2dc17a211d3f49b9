//! `select`, and `hunt` and `detect` over many inputs.

use super::arguments::{Many, Measuring, Output, Runs, Select};
use super::hunting::{Refusal, interrupts, prepare};
use super::{failed, misused, output};
use crate::driver::installation;
use deadheat_campaign::confirm::{Oracle, Program};
use deadheat_campaign::left_out::{Assumptions, Reading};
use deadheat_campaign::report::selection::SelectionReport;
use deadheat_campaign::scan::worker_in;
use deadheat_campaign::selecting::Granularity;
use deadheat_campaign::{Extent, Options, guided};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// `deadheat select`.
pub fn select(select: Select) -> ExitCode {
    let earlier = match select.against.as_deref().map(earlier).transpose() {
        Ok(earlier) => earlier,
        Err(error) => return misused(&error),
    };
    let Some((name, arguments)) = select.program.split_first() else {
        return misused(&"name the program to run");
    };
    let program = match Program::find(name, arguments.to_vec()) {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        extent: Extent::Detect,
        budget: None,
        runs: None,
        walks: None,
        plain: 0,
        jobs: select.jobs.map_or(cores, |j| j as usize),
        seed: 1,
        switch: 0,
        isolate: !select.no_isolation,
        setup: select.setup.clone(),
        oracle: Oracle::default(),
        client: select.serving.client(),
        follow: !select.serving.no_follow,
        limit: select.timeout,
        quiet: select.quiet,
        store: select.store.clone(),
        suppressions: Arc::default(),
        interrupted: interrupts(),
        functions: None,
        proven: Arc::default(),
        warnings: Arc::default(),
    };
    let mut report = match guided::select(
        &program,
        &select.inputs,
        &options,
        &measuring(&select.measuring, options.jobs),
    ) {
        Ok((_, _, report)) => report,
        Err(error) => return failed(&error),
    };
    if let Some(earlier) = earlier {
        report.compare(&earlier);
    }
    let text = match select.format.as_str() {
        "json" => report.json(),
        "html" => report.html(),
        _ => report.text(select.all),
    };
    let written = match &select.output {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display())),
        None => match std::io::stdout().write_all(text.as_bytes()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.to_string()),
            _ => Ok(()),
        },
    };
    match written {
        Err(error) => failed(&error),
        Ok(()) if report.inputs.iter().any(|i| !i.measured) => failed(&"not every input could be measured"),
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn measuring(chosen: &Measuring, jobs: usize) -> guided::Measuring {
    let reading = Reading {
        worker: worker_in(&installation::directory()),
        jobs,
        cache: None,
        assumptions: Assumptions {
            loops: !chosen.no_loop_assumption,
        },
    };
    guided::Measuring {
        leaving_out: (!chosen.measure_all).then_some(reading),
        granularity: match chosen.pairs_only {
            true => Granularity::Functions,
            false => Granularity::Statements,
        },
    }
}

/// A selection written before.
fn earlier(path: &std::path::Path) -> Result<SelectionReport, String> {
    let told = |e: String| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| told(e.to_string()))?;
    SelectionReport::from_json(&text).map_err(told)
}

/// `hunt --inputs` and `detect --inputs`.
pub fn over_inputs(
    extent: Extent,
    budget: Option<Duration>,
    many: &Many,
    runs: &Runs,
    output: &Output,
    program: Vec<OsString>,
) -> ExitCode {
    let (program, options) = match prepare(extent, budget, runs, output, program) {
        Ok(ready) => ready,
        Err(Refusal::Usage(text)) => return misused(&text),
        Err(Refusal::Failed(text)) => return failed(&text),
    };
    let Some(inputs) = &many.inputs else {
        return misused(&"name the inputs: --inputs FILE");
    };
    let measuring = (!many.no_select).then(|| measuring(&many.measuring, options.jobs));
    match guided::over_inputs(&program, inputs, &options, measuring.as_ref()) {
        Ok(hunt) => output::finish(
            &hunt.report,
            output,
            hunt.store.as_deref(),
            hunt.interrupted,
            hunt.trouble.as_deref(),
        ),
        Err(error) => failed(&error),
    }
}
