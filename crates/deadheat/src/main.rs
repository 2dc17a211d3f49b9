//! The `deadheat` program. Called by a compiler's name it is a compiler driver; otherwise it is the command line.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use deadheat::{cli, driver};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Compilers take any argument, so they are told apart before the command line is parsed.
    match driver::called_as(&arguments) {
        Some((language, rest)) => driver::compile(language, rest),
        None => cli::main(),
    }
}
