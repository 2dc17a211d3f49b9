//! Developer commands: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod bench;
mod build;
mod cases;
mod dependencies;
#[cfg(test)]
mod edges;
mod figures;
mod install;
mod layout;
mod process;
mod real;

use std::process::ExitCode;

/// What a command comes to; the error is told to the user as it stands.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A command: its name, its arguments and purpose for the usage text, and what runs it.
type Command = (&'static str, &'static str, fn(&[String]) -> Outcome);

const COMMANDS: &[Command] = &[
    (
        "deps",
        "[--check]: says what this machine lacks and, as root on Debian, installs it",
        dependencies::run,
    ),
    (
        "build",
        "[--dist DIR]: builds the tool, the pass and the runtime into ./dist",
        build::run,
    ),
    (
        "install",
        "PREFIX: copies ./dist below PREFIX (DESTDIR is honoured)",
        install::run,
    ),
    (
        "bench",
        "[--runs N] [--kernels A,B]: measures the modes against native and ThreadSanitizer; \
         `bench select`: detection over many inputs with a selection against all",
        bench::run,
    ),
    (
        "cases",
        "[--full] [--filter S] [--level O1] [--seeds N] [-j N]: hunts the annotated programs",
        cases::run,
    ),
    (
        "real",
        "[PROGRAM...] [--budget D] [--keep]: builds, checks and hunts programs from Debian's sources",
        real::run,
    ),
    (
        "figures",
        "[--dist DIR]: the paper's figures 1 and 2 over 100 seeds",
        figures::run,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments
        .first()
        .and_then(|name| COMMANDS.iter().find(|(known, ..)| known == name));
    let Some((name, _, run)) = command else {
        eprintln!("usage: cargo xtask COMMAND\n");
        COMMANDS
            .iter()
            .for_each(|(name, text, _)| eprintln!("  {name:8} {text}"));
        return ExitCode::from(2);
    };
    match run(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::FAILURE
        }
    }
}
