//! `report`: what the store knows of the latest hunt's program.

use super::arguments::Report as Arguments;
use super::{failed, output};
use deadheat_campaign::Store;
use deadheat_campaign::report::finding::{Program, Report, Stats, VERSION};
use deadheat_campaign::store::StoreError;
use std::process::ExitCode;

/// `deadheat report`.
pub fn report(arguments: Arguments) -> ExitCode {
    match stored(&arguments) {
        Ok(report) => output::finish(&report, &arguments.output, Some(&arguments.store), false, None),
        Err(error) => failed(&error),
    }
}

fn stored(arguments: &Arguments) -> Result<Report, StoreError> {
    let store = Store::read(&arguments.store)?;
    let input = store
        .latest_input()?
        .ok_or_else(|| StoreError::Missing(arguments.store.clone()))?;
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let findings = store.findings(input.program, input.hash())?;
    let stats = Stats {
        candidates: findings.len() as u32,
        ..Stats::default()
    };
    let program = Program {
        file: lossy(&input.file),
        args: input.args.iter().map(|a| lossy(a)).collect(),
        hash: format!("{:016x}", input.program),
    };
    let mut report = Report {
        version: VERSION,
        program,
        findings,
        stats,
        notices: Vec::new(),
    };
    report.sort();
    Ok(report)
}
