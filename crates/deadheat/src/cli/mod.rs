//! The command line: what the user asks for, handed to the crates that do it.
//!
//! Exit status everywhere: 0 nothing real, 1 a real finding, 2 wrong usage, 3 the job could not be done.

mod arguments;
pub mod cargo;
mod doctor;
mod duration;
mod each_test;
mod exploring;
mod hunting;
mod output;
mod replay;
mod report;
mod scan;
mod selecting;
mod stdin;
mod table;

use crate::driver;
use arguments::{Command, Deadheat};
use clap::Parser;
use deadheat_campaign::report::exit;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // A build command takes any argument, so it is told apart before the command line is parsed.
    if arguments.get(1).is_some_and(|a| a == "build") && !arguments.get(2).is_some_and(|a| a == "--help" || a == "-h") {
        return driver::build(&arguments[2..]);
    }
    match Deadheat::parse_from(arguments).command {
        Command::Hunt(hunt) => hunting::hunt(hunt),
        Command::Explore(explore) => exploring::explore(explore),
        Command::Detect(detect) => hunting::detect(detect),
        Command::Select(select) => selecting::select(select),
        Command::Confirm(confirm) => hunting::confirm(confirm),
        Command::Replay(replay) => replay::replay(replay),
        Command::Report(report) => report::report(report),
        Command::Table(table) => table::table(table),
        Command::Scan(scan) => scan::scan(scan),
        Command::Doctor => doctor::doctor(),
        Command::Cc { arguments } => driver::compile(driver::Language::C, &arguments),
        Command::Cxx { arguments } => driver::compile(driver::Language::Cxx, &arguments),
        Command::Rustc { arguments } => driver::rust::compile(&arguments),
        Command::Cargo { arguments } => cargo::main(&arguments),
        Command::Build { arguments } => driver::build(&arguments),
    }
}

/// Tells an error and what it means for the exit status.
fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    anstream::eprintln!("deadheat: error: {error}");
    ExitCode::from(exit::FAILED)
}

/// Tells that the command was used wrongly.
fn misused(error: &dyn std::fmt::Display) -> ExitCode {
    anstream::eprintln!("deadheat: error: {error}\n\nFor more information, try '--help'.");
    ExitCode::from(exit::USAGE)
}
