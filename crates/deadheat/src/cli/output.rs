//! Writes a report where the user wants it.

use super::arguments::Output;
use deadheat_campaign::report::coverage::Coverage;
use deadheat_campaign::report::format::{self, Format};
use deadheat_campaign::report::{Report, exit};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Writes the report and gives the exit status. `trouble` is what kept the work from being whole.
pub fn finish(
    report: &Report,
    output: &Output,
    store: Option<&Path>,
    interrupted: bool,
    trouble: Option<&str>,
) -> ExitCode {
    finish_covered(report, output, store, interrupted, trouble, None)
}

/// Refuses a file that could not be written later, before any work is done.
pub fn check(output: &Output) -> Result<(), String> {
    let directory = output.output.as_deref().and_then(Path::parent);
    match directory.filter(|d| !d.as_os_str().is_empty() && !d.is_dir()) {
        Some(missing) => Err(format!(
            "there is no directory {} for the report; make it, or name another file: --output FILE",
            missing.display()
        )),
        None => Ok(()),
    }
}

/// The same with what an exploration covered.
pub fn finish_covered(
    report: &Report,
    output: &Output,
    store: Option<&Path>,
    interrupted: bool,
    trouble: Option<&str>,
    coverage: Option<Coverage>,
) -> ExitCode {
    let options = format::Options {
        coverage,
        ..options(output, store)
    };
    let written = deliver(format::write(report, output.format, &options), output);
    if let Some(why) = trouble {
        anstream::eprintln!("deadheat: error: {why}");
    }
    match written {
        Ok(()) if trouble.is_none() => ExitCode::from(status(report, output, interrupted)),
        written => failed(written),
    }
}

/// Writes the reports of several programs, each under its heading; the gravest exit status counts.
pub fn several(reports: &[(String, Report)], output: &Output, store: &Path) -> ExitCode {
    let options = options(output, Some(store));
    let one = |(heading, report): &(String, Report)| {
        let text = format::write(report, output.format, &options);
        match output.format {
            Format::Human => format!("== {heading}\n\n{text}"),
            _ => text,
        }
    };
    let text = reports.iter().map(one).collect::<Vec<_>>().join("\n");
    let statuses = reports.iter().map(|(_, r)| status(r, output, false));
    match deliver(text, output) {
        Ok(()) => ExitCode::from(statuses.max().unwrap_or(exit::NOTHING)),
        written => failed(written),
    }
}

/// The exit status, with the user's own for what was found.
fn status(report: &Report, output: &Output, interrupted: bool) -> u8 {
    match exit::status(report, output.fail_on.0, interrupted) {
        exit::FOUND => output.exit_code,
        other => other,
    }
}

fn failed(written: Result<(), String>) -> ExitCode {
    if let Err(error) = written {
        anstream::eprintln!("deadheat: error: the report could not be written: {error}");
    }
    ExitCode::from(exit::FAILED)
}

fn options(output: &Output, store: Option<&Path>) -> format::Options {
    format::Options {
        suspected: output.suspected,
        store: store.map(hint).unwrap_or_default(),
        unstored: store.is_none(),
        coverage: None,
    }
}

fn deliver(text: String, output: &Output) -> Result<(), String> {
    match &output.output {
        Some(path) => {
            let plain = if output.format == Format::Human {
                anstream::adapter::strip_str(&text).to_string()
            } else {
                text
            };
            let written = std::fs::write(path, plain).map_err(|e| format!("{}: {e}", path.display()));
            if written.is_ok() && !output.quiet {
                anstream::eprintln!("deadheat: the report is in {}", path.display());
            }
            written
        }
        None if output.format == Format::Human => print(&mut anstream::stdout(), &text),
        None => print(&mut std::io::stdout(), &text),
    }
}

/// A reader that has gone away is no error.
fn print(to: &mut dyn Write, text: &str) -> Result<(), String> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.to_string()),
        _ => Ok(()),
    }
}

/// The option that names the store, unless it is found without.
pub fn hint(store: &Path) -> String {
    let here = std::env::current_dir().and_then(|d| d.join(".deadheat").canonicalize());
    match (here, store.canonicalize()) {
        (Ok(here), Ok(store)) if here == store => String::new(),
        _ => format!("--store {} ", store.display()),
    }
}
