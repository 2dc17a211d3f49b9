//! `report`: what the store knows. For a person all its programs, each under a heading; the other
//! formats tell of one program, the latest. An input whose program was built anew and hunted again is left out.

use super::arguments::Report as Arguments;
use super::{failed, output};
use deadheat_campaign::Store;
use deadheat_campaign::input::Input;
use deadheat_campaign::report::Format;
use deadheat_campaign::report::finding::{Program, Report, Stats, VERSION};
use deadheat_campaign::store::StoreError;
use std::process::ExitCode;

/// `deadheat report`.
pub fn report(arguments: Arguments) -> ExitCode {
    match stored(&arguments) {
        Ok(reports) => output::several(&reports, &arguments.output, &arguments.store),
        Err(error) => failed(&error),
    }
}

fn stored(arguments: &Arguments) -> Result<Vec<(String, Report)>, StoreError> {
    let store = Store::read(&arguments.store)?;
    let mut latest: Vec<Input> = Vec::new();
    for input in store.inputs()? {
        let again = |i: &Input| i.file == input.file && i.hash() == input.hash();
        if !latest.iter().any(again) {
            latest.push(input);
        }
    }
    if latest.is_empty() {
        return Err(StoreError::Missing(arguments.store.clone()));
    }
    if arguments.output.format != Format::Human {
        latest.truncate(1);
    }
    latest
        .iter()
        .map(|input| Ok((input.told(), of(&store, input)?)))
        .collect()
}

fn of(store: &Store, input: &Input) -> Result<Report, StoreError> {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (runs, seconds) = store.spent(input.program, input.hash())?;
    let program = Program {
        file: lossy(&input.file),
        args: input.args.iter().map(|a| lossy(a)).collect(),
        hash: format!("{:016x}", input.program),
    };
    let mut report = Report {
        version: VERSION,
        program,
        findings: store.findings(input.program, input.hash())?,
        stats: Stats {
            runs,
            seconds,
            ..Stats::default()
        },
        notices: Vec::new(),
    };
    report.sort();
    Ok(report)
}
