//! The `deadheat` program. Called by a compiler's name it is a compiler driver; otherwise it is the command line.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use deadheat::cli;
use deadheat::driver::{self, Tool};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Compilers take any argument, so they are told apart before the command line is parsed.
    match driver::tool(&arguments) {
        Some((Tool::Compiler(language), rest)) => driver::compile(language, rest),
        Some((Tool::Rustc, rest)) => driver::rust::compile(rest),
        Some((Tool::RustLinker, rest)) => driver::rust::link(rest),
        Some((Tool::Cargo, rest)) => cli::cargo::main(rest),
        None => cli::main(),
    }
}
