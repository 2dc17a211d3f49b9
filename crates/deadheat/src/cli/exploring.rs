//! `explore`, and `hunt --explore`.

use super::arguments::{Explore, Output, Runs, Searching};
use super::hunting::{Refusal, prepare, store_of};
use super::{failed, misused, output};
use crate::driver::flavour;
use deadheat_campaign::confirm::Program;
use deadheat_campaign::explore::{Bounds, Exploration, Prune, explore as run};
use deadheat_campaign::input::{Input, hash_file};
use deadheat_campaign::{Extent, Store};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// `deadheat explore`.
pub fn explore(explore: Explore) -> ExitCode {
    let output = Output {
        suspected: true,
        ..explore.output
    };
    go(
        explore.budget,
        false,
        &explore.search,
        &explore.runs,
        &output,
        explore.program,
    )
}

/// Explores; `confirm` says whether to prove what the inputs make suspicious.
pub fn go(
    budget: Duration,
    confirm: bool,
    search: &Searching,
    runs: &Runs,
    output: &Output,
    program: Vec<OsString>,
) -> ExitCode {
    let (program, options) = match prepare(Extent::Hunt, Some(budget), runs, output, program) {
        Ok(ready) => ready,
        Err(Refusal::Usage(text)) => return misused(&text),
        Err(Refusal::Failed(text)) => return failed(&text),
    };
    if let Err(error) = program.check() {
        return failed(&error);
    }
    let store = store_of(&program, options.store.as_deref());
    let flavour = match flavour::symbolic(&program.file, &store, options.jobs, search.prune == Prune::RaceSafe) {
        Ok(flavour) => flavour,
        Err(error) => return failed(&error),
    };
    let how = Exploration {
        order: search.search,
        prune: search.prune,
        bounds: Bounds {
            per_side: search.per_side,
            ..Bounds::default()
        },
        inputs: search.most_inputs,
        room: search.room,
        confirm,
        anew: search.anew,
        mutate: !search.no_mutation,
        ..Exploration::new(flavour)
    };
    match run(program.clone(), &options, &how) {
        Ok((hunt, coverage)) => {
            if search.coverage {
                anstream::eprint!("{}", coverage.table());
            }
            if let Some(path) = &search.lcov
                && let Err(error) = std::fs::write(path, coverage.lcov())
            {
                return failed(&format!("{}: {error}", path.display()));
            }
            if let Some(directory) = &search.export
                && let Err(error) = export(&program, &store, directory, output.quiet)
            {
                return failed(&error);
            }
            output::finish_covered(
                &hunt.report,
                output,
                hunt.store.as_deref(),
                hunt.interrupted,
                hunt.trouble.as_deref(),
                Some(coverage),
            )
        }
        Err(error) => failed(&error),
    }
}

/// Writes the inputs of the program that are stored.
fn export(program: &Program, store: &Path, directory: &Path, quiet: bool) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let inputs = Store::read(store).and_then(|s| s.inputs()).map_err(|e| told(&e))?;
    let hash = hash_file(&program.file).map_err(|e| told(&e))?;
    // The oldest first; the given one was stored last.
    let own: Vec<Input> = inputs.into_iter().filter(|i| i.program == hash).rev().collect();
    deadheat_campaign::export::export(&own, program, directory).map_err(|e| told(&e))?;
    if !quiet {
        let (count, list) = (own.len(), directory.join("inputs.txt"));
        anstream::eprintln!(
            "deadheat: {count} inputs are in {}, listed in {}",
            directory.display(),
            list.display()
        );
    }
    Ok(())
}
