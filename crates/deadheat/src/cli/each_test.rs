//! The runner of `cargo deadheat test`: hunts in each test of a test program as in a program of its own.
//!
//! A test program is asked for its tests (`--list`), as libtest and its imitations answer. What does not answer
//! is one test as a whole. A test runs as `PROGRAM --exact NAME --test-threads=1`: no other test is in the
//! process, so threads and findings are its own.
//!
//! What came of it goes to a log that the calling `cargo deadheat test` reads at the end.

use super::arguments::{Output, Runs};
use super::{duration, hunting, output};
use clap::Parser;
use deadheat_campaign::inputs::libtest::Choice;
use deadheat_campaign::report::{Verdict, exit};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// The runner's name as a command of `cargo deadheat`.
pub const NAME: &str = "each-test";
/// The variable that names the log.
pub const LOG: &str = "DEADHEAT_TEST_LOG";

/// Arguments of the runner.
#[derive(Debug, Parser)]
#[command(name = "cargo deadheat test")]
struct EachTest {
    /// Most time for each test
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    budget: Duration,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    output: Output,
    /// The test program and the arguments for it
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Hunts in the tests of one program. Ends well whatever it finds; the log tells.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let words = [OsString::from(NAME)].into_iter().chain(arguments.iter().cloned());
    let each = match EachTest::try_parse_from(words) {
        Ok(each) => each,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(exit::USAGE);
        }
    };
    let Some((program, arguments)) = each.program.split_first() else {
        return ExitCode::from(exit::USAGE);
    };
    let choice = Choice::of(arguments);
    match choice.tests(program) {
        Some(tests) => tests
            .iter()
            .for_each(|test| one(&each, program, test, &choice.of_one(test))),
        None => {
            let name = Path::new(program)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            one(&each, program, &name, arguments);
        }
    }
    ExitCode::SUCCESS
}

/// Hunts in one test and tells a line of it; of findings, the report.
fn one(each: &EachTest, program: &OsString, name: &str, arguments: &[OsString]) {
    let words: Vec<OsString> = [program.clone()].into_iter().chain(arguments.iter().cloned()).collect();
    let quiet = Output {
        quiet: true,
        ..each.output.clone()
    };
    let hunt = match hunting::hunted(Some(each.budget), &each.runs, &quiet, words) {
        Ok(hunt) => hunt,
        Err(why) => {
            anstream::println!("test {name} ... not hunted: {why}");
            return log(exit::FAILED);
        }
    };
    let (real, suspected) = (
        hunt.report.count(Verdict::Real),
        hunt.report.count(Verdict::Suspected) - hunt.report.count(Verdict::Real),
    );
    let stats = &hunt.report.stats;
    let cut = stats
        .stopped
        .as_ref()
        .map_or(String::new(), |why| format!("; stopped: {why}"));
    let told = match real {
        0 => format!("nothing real, {suspected} suspected; {} runs{cut}", stats.runs),
        n => format!("{n} REAL, {suspected} suspected; {} runs{cut}", stats.runs),
    };
    anstream::println!("test {name} ... {told}");
    let status = exit::status(&hunt.report, each.output.fail_on.0, hunt.interrupted);
    log(if hunt.trouble.is_some() { exit::FAILED } else { status });
    if real > 0 || each.output.suspected && suspected > 0 || hunt.trouble.is_some() {
        let _ = output::finish(
            &hunt.report,
            &quiet,
            hunt.store.as_deref(),
            hunt.interrupted,
            hunt.trouble.as_deref(),
        );
    }
}

fn log(status: u8) {
    let Some(path) = std::env::var_os(LOG) else { return };
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path) {
        // The exit status of the whole is told by it; a test's own line is written already.
        let _ = writeln!(file, "{status}");
    }
}

/// What came of all tests: one exit status a line.
pub struct Log(tempfile::NamedTempFile);

impl Log {
    /// An empty log.
    pub fn new() -> std::io::Result<Log> {
        tempfile::NamedTempFile::with_prefix("deadheat-test-").map(Log)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Tells the sum and gives the exit status of the whole: the gravest.
    pub fn conclude(&self) -> ExitCode {
        let statuses = statuses(&std::fs::read_to_string(self.path()).unwrap_or_default());
        let of = |status: u8| statuses.iter().filter(|s| **s == status).count();
        anstream::println!(
            "\ndeadheat: {} tests hunted in, {} with findings, {} that could not be hunted in",
            statuses.len(),
            of(exit::FOUND),
            of(exit::FAILED)
        );
        ExitCode::from(statuses.into_iter().max().unwrap_or(exit::NOTHING))
    }
}

fn statuses(text: &str) -> Vec<u8> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_status_counts() {
        assert_eq!(statuses("0\n1\n0\nnoise\n"), [0, 1, 0]);
    }
}
