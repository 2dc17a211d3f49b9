//! `report`: what the store knows. For a person all its programs, each under a heading; the other
//! formats tell of one program, the latest or the one that is named, and of which others there are. An input whose
//! program was built anew and hunted again is left out.

use super::arguments::Report as Arguments;
use super::{failed, output};
use deadheat_campaign::Store;
use deadheat_campaign::input::Input;
use deadheat_campaign::report::Format;
use deadheat_campaign::report::finding::{Program, Report, Stats, VERSION};
use deadheat_campaign::store::StoreError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
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
        if !latest.iter().any(again) && arguments.program.as_ref().is_none_or(|wanted| is(&input, wanted)) {
            latest.push(input);
        }
    }
    if latest.is_empty() {
        return Err(match &arguments.program {
            Some(program) => StoreError::NoProgram(arguments.store.clone(), program.clone()),
            None => StoreError::Empty(arguments.store.clone()),
        });
    }
    let others = match arguments.output.format {
        Format::Human => Vec::new(),
        _ => latest.split_off(1),
    };
    let mut reports = Vec::new();
    for input in &latest {
        let mut report = of(&store, input)?;
        report.notices.extend(also(&others));
        reports.push((input.told(), report));
    }
    Ok(reports)
}

/// Whether the input is of this program, by path or by name.
fn is(input: &Input, wanted: &Path) -> bool {
    let file = Path::new(OsStr::from_bytes(&input.file));
    let same = wanted.canonicalize().is_ok_and(|path| path == file);
    same || file.file_name() == Some(wanted.as_os_str())
}

/// What this report does not tell of.
fn also(others: &[Input]) -> Option<String> {
    let told: Vec<String> = others.iter().map(Input::told).collect();
    (!told.is_empty()).then(|| {
        format!(
            "this format has one program in a file; the store also knows of {} (--program FILE chooses)",
            told.join("; ")
        )
    })
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
    if input.is_outdated() {
        report.notices.push(format!(
            "{} has changed since: what its lines say now may not be what they said. Hunt again.",
            report.program.file
        ));
    }
    deadheat_campaign::bad_end::leave_out_laid(&mut report.findings, |f| f);
    report.sort();
    Ok(report)
}
