//! `cargo deadheat`: cargo's own commands with deadheat as the compiler, and hunts in what they build.
//!
//! Options of a hunt may stand among cargo's, before `--`; all others are cargo's, and what follows `--` is the
//! program's. Programs are started by cargo, through a runner, so that their working directory and environment
//! are the usual ones.

use super::each_test;
use crate::driver::DriverError;
use crate::driver::rust::cargo::{Cargo, before_dashes, chooses_tests, names, runner};
use deadheat_campaign::report::exit;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo deadheat: finds, proves and replays concurrency bugs in Rust programs

Usage: cargo deadheat COMMAND [HUNT OPTIONS] [CARGO OPTIONS] [-- ARGUMENTS]

  build   cargo build, with sites
  run     cargo run, with sites; an ordinary run of the program
  hunt    cargo run, as a hunt: detect, confirm, report
  test    cargo test, each test hunted in as a program of its own
  select  cargo test, each test an input: which functions run at the same time under which, and which tests
          together cover that: deadheat select
  report  what was found in this workspace: deadheat report
  replay  one finding again: deadheat replay

Examples:

  cargo deadheat hunt --bin server -- --threads 4
  cargo deadheat test                          all tests
  cargo deadheat test --budget 30s -p queue -- push
  cargo deadheat select --lib
  cargo deadheat replay F1
  cargo deadheat replay --gdb F1

Hunt options: --budget DURATION (of each test 10s if not given), --runs N, --walks N, --seed N, --switch P, --setup CMD,
--timeout DURATION, --stdin FILE, --store DIR, --no-isolation, --suspected, --fail-on VERDICT, --suppressions FILE;
for hunt also --format FORMAT, --output FILE, --exit-code N. See deadheat hunt --help. Those of select: --setup CMD,
--timeout DURATION, --store DIR, --no-isolation, --format FORMAT, --output FILE, --against FILE, --no-loop-assumption,
--measure-all, --pairs-only.

The build lies in target/deadheat and leaves the ordinary one alone. Exit status: 0 nothing real found,
1 at least one real finding, 2 wrong usage, 3 deadheat could not do the job, 101 cargo failed.";

/// Options of a hunt that take a value.
const VALUED: [&str; 11] = [
    "--budget",
    "--runs",
    "--walks",
    "--seed",
    "--switch",
    "--setup",
    "--timeout",
    "--stdin",
    "--store",
    "--fail-on",
    "--suppressions",
];
/// Those that only a hunt in one program has.
const OF_ONE: [&str; 3] = ["--format", "--output", "--exit-code"];
/// Those that only a selection has.
const OF_SELECTION: [&str; 3] = ["--format", "--output", "--against"];
/// Options of a hunt or a selection without a value.
const FLAGS: [&str; 5] = [
    "--suspected",
    "--no-isolation",
    "--no-loop-assumption",
    "--measure-all",
    "--pairs-only",
];

/// Runs `cargo deadheat`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let Some((command, rest)) = arguments.split_first() else {
        anstream::eprintln!("{HELP}");
        return ExitCode::from(exit::USAGE);
    };
    let done = match command.to_str().unwrap_or_default() {
        "build" | "b" => build("build", rest),
        "run" | "r" => build("run", rest),
        "hunt" => hunt(rest),
        "test" | "t" => test(rest),
        "select" => select(rest),
        "report" | "replay" => stored(command, rest),
        each_test::NAME => return each_test::main(rest),
        "--help" | "-h" | "help" => {
            anstream::println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => {
            return super::misused(&format!(
                "cargo deadheat has no command `{other}`; build, run, hunt, test, select, report and replay are there"
            ));
        }
    };
    done.unwrap_or_else(|error| super::failed(&error))
}

fn build(name: &str, arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    let cargo = Cargo::prepare(arguments)?;
    finished(cargo.command(name, arguments, None)?)
}

fn hunt(arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    let cargo = Cargo::prepare(arguments)?;
    let mut split = Split::of(arguments, &OF_ONE);
    split.keep_in(&cargo);
    let mut words = vec![runner("deadheat")?, "hunt".into()];
    words.append(&mut split.hunt);
    words.push("--".into());
    finished(cargo.command("run", &split.cargo, Some(&words))?)
}

fn test(arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    if names(before_dashes(arguments), "--doc") {
        return Err(DriverError::Refused(
            "--doc: rustdoc compiles documentation tests by itself; make one a test to hunt in it".to_owned(),
        ));
    }
    let cargo = Cargo::prepare(arguments)?;
    let mut split = Split::of(arguments, &[]);
    split.keep_in(&cargo);
    let mut words = vec![runner("cargo-deadheat")?, each_test::NAME.into()];
    words.append(&mut split.hunt);
    words.push("--".into());
    let mut ours: Vec<OsString> = vec!["--no-fail-fast".into()];
    if !chooses_tests(&split.cargo) {
        ours.push("--tests".into());
    }
    ours.append(&mut split.cargo);
    let log = each_test::Log::new().map_err(|e| DriverError::Refused(format!("no temporary file: {e}")))?;
    let mut command = cargo.command("test", &ours, Some(&words))?;
    command.env(each_test::LOG, log.path());
    let status = finished(command)?;
    // Runners end well whatever they find; another status is cargo's own.
    Ok(if status == ExitCode::SUCCESS {
        log.conclude()
    } else {
        status
    })
}

/// `deadheat select` in each test program, its tests being the inputs.
fn select(arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    let cargo = Cargo::prepare(arguments)?;
    let mut split = Split::of(arguments, &OF_SELECTION);
    split.keep_in(&cargo);
    let mut words: Vec<OsString> = vec![runner("deadheat")?, "select".into(), "--inputs".into(), "cargo".into()];
    words.append(&mut split.hunt);
    words.push("--".into());
    let mut ours: Vec<OsString> = vec!["--no-fail-fast".into()];
    if !chooses_tests(&split.cargo) {
        ours.push("--tests".into());
    }
    ours.append(&mut split.cargo);
    finished(cargo.command("test", &ours, Some(&words))?)
}

/// `deadheat report` and `deadheat replay` on this workspace's store.
fn stored(command: &OsString, arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    let cargo = Cargo::prepare(&[])?;
    let mut deadheat = Command::new(runner("deadheat")?);
    deadheat.arg(command);
    if !names(before_dashes(arguments), "--store") {
        deadheat.arg("--store").arg(cargo.store());
    }
    deadheat.args(arguments);
    finished(deadheat)
}

/// Runs a command to its end and gives its status.
fn finished(mut command: Command) -> Result<ExitCode, DriverError> {
    let status = command.status().map_err(|source| DriverError::Start {
        program: command.get_program().into(),
        source,
    })?;
    Ok(status
        .code()
        .map_or(ExitCode::from(exit::FAILED), |code| ExitCode::from(code as u8)))
}

/// A command line in its two parts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Split {
    hunt: Vec<OsString>,
    cargo: Vec<OsString>,
}

impl Split {
    fn of(arguments: &[OsString], more: &[&str]) -> Split {
        let mut split = Split::default();
        let own = before_dashes(arguments);
        let mut words = own.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let name = text.split('=').next().unwrap_or_default();
            let valued = VALUED.contains(&name) || more.contains(&name);
            if !valued && !FLAGS.contains(&name) {
                split.cargo.push(word.clone());
                continue;
            }
            split.hunt.push(word.clone());
            if valued && !text.contains('=') {
                split.hunt.extend(words.next().cloned());
            }
        }
        split.cargo.extend_from_slice(&arguments[own.len()..]);
        split
    }

    /// Findings of a workspace are kept together, unless the user says where.
    fn keep_in(&mut self, cargo: &Cargo) {
        if !names(&self.hunt, "--store") {
            self.hunt.extend(["--store".into(), cargo.store().into_os_string()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunts_options_are_told_from_cargos_and_the_programs() {
        let words = |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let split = Split::of(&words("--budget 5s --bin x --seed=3 --suspected -- --seed 9"), &OF_ONE);
        assert_eq!(split.hunt, words("--budget 5s --seed=3 --suspected"));
        assert_eq!(split.cargo, words("--bin x -- --seed 9"));
    }
}
