//! Detection and hunting over many inputs: under the chosen inputs only, and in their chosen functions only.
//!
//! The cheapest input comes first, so that what several reach is confirmed under the cheapest; what was shown under one
//! is not tried again under another. What is found names its input, and the others that reach it.

use crate::explored_input::told;
use crate::hunt::{Hunt, HuntError, Options, hunt};
use crate::inputs;
use crate::left_out::{self, Reading};
use crate::measuring::{Inputs, measure};
use crate::selecting::{self, Granularity};
use crate::store::{self, Store};
use deadheat_confirm::Program;
use deadheat_model::{SiteId, Verdict};
use deadheat_pairs::{Chosen, PairSet};
use deadheat_report::finding::{self, Finding, Report, Stats};
use deadheat_report::selection::SelectionReport;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Measuring may take so many of ten parts of a budget.
const MEASURING: u32 = 3;

/// The store that these options name.
fn directory(program: &Program, options: &Options) -> PathBuf {
    let beside = || {
        program
            .file
            .parent()
            .unwrap_or(&program.directory)
            .join(store::DIRECTORY)
    };
    options.store.clone().unwrap_or_else(beside)
}

/// How inputs are measured.
#[derive(Clone, Debug)]
pub struct Measuring {
    /// How the program's bitcode is read to leave functions out; none: every function is measured.
    pub leaving_out: Option<Reading>,
    /// What the chosen inputs must cover.
    pub granularity: Granularity,
}

/// Measures the inputs and chooses among them.
pub fn select(
    program: &Program,
    from: &Path,
    options: &Options,
    measuring: &Measuring,
) -> Result<(Inputs, Vec<Chosen>, SelectionReport), HuntError> {
    let list = inputs::read(from, program).map_err(|e| HuntError::Label(e.to_string()))?;
    let directory = directory(program, options);
    let store = Store::open(&directory)?;
    let left_out = measuring.leaving_out.as_ref().map(|reading| {
        let cache = reading.cache.clone().or(Some(directory.join("modules")));
        left_out::decide(
            &program.file,
            &Reading {
                cache,
                ..reading.clone()
            },
        )
    });
    let inputs = measure(list.programs, program, options, &store, left_out.unwrap_or_default())?;
    let selection = selecting::select(&inputs, measuring.granularity);
    let mut report = selecting::report(program, &inputs, &selection);
    report.notices.extend(list.notices);
    report.notices.extend(store.warnings.iter().cloned());
    Ok((inputs, selection.chosen, report))
}

/// What the whole list would be without a selection: every input, all functions.
fn everything(inputs: &Inputs) -> Vec<Chosen> {
    let one = |input: usize| Chosen {
        input,
        pairs: PairSet::default(),
        parts: 0,
        functions: Vec::new(),
    };
    (0..inputs.inputs.len()).map(one).collect()
}

/// Hunts (or detects, as the options say) with the inputs that `from` names. Without `measuring`: under all of them, in
/// all functions.
pub fn over_inputs(
    program: &Program,
    from: &Path,
    options: &Options,
    measuring: Option<&Measuring>,
) -> Result<Hunt, HuntError> {
    let begun = Instant::now();
    let clocked = options.budget.filter(|_| options.runs.is_none());
    let full = measuring.is_none();
    let mut notices = Vec::new();
    let (inputs, mut chosen, selected) = if let Some(measuring) = measuring {
        let share = Options {
            budget: clocked.map(|b| b * MEASURING / 10),
            ..options.clone()
        };
        select(program, from, &share, measuring)?
    } else {
        let list = inputs::read(from, program).map_err(|e| HuntError::Label(e.to_string()))?;
        notices.extend(list.notices);
        let unmeasured = Inputs::unmeasured(list.programs, options)?;
        (unmeasured, Vec::new(), SelectionReport::default())
    };
    if full {
        chosen = everything(&inputs);
    } else {
        let (ran, watched) = selected.functions_in_all();
        notices.push(format!(
            "{} concurrent function pairs: detection under {} of {} inputs, in {watched} of {ran} functions of all inputs together",
            selected.pairs.len(),
            chosen.len(),
            inputs.inputs.len(),
        ));
        notices.extend(selected.notices);
        let steps = |c: &Chosen| inputs.inputs[c.input].measured.as_ref().map_or(0, |m| m.steps);
        chosen.sort_by_key(|c| (steps(c), c.input));
    }
    let mut findings: Vec<Finding> = Vec::new();
    let mut stats = Stats::default();
    let mut trouble = None;
    let mut proven: Vec<String> = Vec::new();
    let mut interrupted = false;
    for (n, one) in chosen.iter().enumerate() {
        let input = &inputs.inputs[one.input];
        let rest = (chosen.len() - n) as u32;
        let left = clocked.map(|b| b.saturating_sub(begun.elapsed()) / rest);
        if left.is_some_and(|left| left.is_zero()) {
            stats.stopped = Some(format!(
                "the budget is used up: {rest} of {} inputs were left out",
                chosen.len()
            ));
            break;
        }
        let functions: Option<Arc<[SiteId]>> = (!full).then(|| inputs.entries(input, &one.functions).into());
        let options = Options {
            budget: left.or(options.budget),
            functions,
            proven: proven.as_slice().into(),
            ..options.clone()
        };
        match hunt(input.program.clone(), &options) {
            Ok(hunt) => {
                trouble = trouble.or(hunt.trouble);
                interrupted |= hunt.interrupted;
                stats.take_in(&hunt.report.stats);
                for notice in hunt.report.notices {
                    if !notices.contains(&notice) {
                        notices.push(notice);
                    }
                }
                let id = input.input.id();
                for finding in hunt.report.findings {
                    if finding.verdict > Verdict::Suspected {
                        proven.push(finding.fingerprint.clone());
                    }
                    let own = told(id.clone(), program, &input.program);
                    merge(
                        &mut findings,
                        Finding {
                            input: finding.input.or(Some(own)),
                            ..finding
                        },
                    );
                }
                // Candidates that were left out, being shown already, are reached here too.
                for fingerprint in hunt.reached {
                    if let Some(known) = findings.iter_mut().find(|f| f.fingerprint == fingerprint) {
                        reach(known, &id);
                    }
                }
            }
            Err(HuntError::Interrupted) => {
                interrupted = true;
                break;
            }
            Err(error) => notices.push(format!("input {}: {error}", input.input.id())),
        }
        if interrupted {
            break;
        }
    }
    stats.runs += inputs.runs;
    stats.seconds = begun.elapsed().as_secs_f64();
    let own = options.input(program)?;
    let mut report = Report {
        version: finding::VERSION,
        program: finding::Program {
            file: program.file.to_string_lossy().into_owned(),
            args: program.args.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            hash: format!("{:016x}", own.program),
        },
        findings,
        stats,
        notices,
    };
    report.sort();
    Ok(Hunt {
        report,
        interrupted,
        trouble,
        store: Some(directory(program, options)),
        reached: Vec::new(),
    })
}

/// Notes that a finding's statements are reached under this input too.
fn reach(finding: &mut Finding, id: &str) {
    if finding.input.as_ref().is_some_and(|own| own.id != id) && !finding.inputs.iter().any(|i| i == id) {
        finding.inputs.push(id.into());
    }
}

/// The stronger verdict stands, of equal ones the first; the other input is noted.
fn merge(all: &mut Vec<Finding>, finding: Finding) {
    let Some(known) = all.iter_mut().find(|f| f.fingerprint == finding.fingerprint) else {
        return all.push(finding);
    };
    let (mut better, other) = if known.verdict >= finding.verdict {
        (known.clone(), finding)
    } else {
        (finding, known.clone())
    };
    for id in other.input.iter().map(|i| &i.id).chain(&other.inputs) {
        reach(&mut better, id);
    }
    *known = better;
}
