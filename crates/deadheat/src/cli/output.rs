//! Writes a report where the user wants it.

use super::arguments::Output;
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
    let options = format::Options {
        suspected: output.suspected,
        store: store.map(hint).unwrap_or_default(),
        unstored: store.is_none(),
    };
    let text = format::write(report, output.format, &options);
    let written = match &output.output {
        Some(path) => {
            let plain = if output.format == Format::Human {
                anstream::adapter::strip_str(&text).to_string()
            } else {
                text
            };
            std::fs::write(path, plain).map_err(|e| format!("{}: {e}", path.display()))
        }
        None if output.format == Format::Human => print(&mut anstream::stdout(), &text),
        None => print(&mut std::io::stdout(), &text),
    };
    if let Some(why) = trouble {
        anstream::eprintln!("deadheat: error: {why}");
    }
    match written {
        Err(error) => {
            anstream::eprintln!("deadheat: error: the report could not be written: {error}");
            ExitCode::from(exit::FAILED)
        }
        Ok(()) if trouble.is_some() => ExitCode::from(exit::FAILED),
        Ok(()) => ExitCode::from(exit::status(report, output.fail_on.0, interrupted)),
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
