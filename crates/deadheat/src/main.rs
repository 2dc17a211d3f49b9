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
        Some((Tool::Linker, rest)) => driver::linker::run(rest),
        Some((Tool::Cargo, rest)) => cli::cargo::main(rest),
        None => on_own_stack(cli::main),
    }
}

/// Bytes of stack that the command line gets, whatever `ulimit -s` leaves the main thread.
const STACK: usize = 8 << 20;

/// Runs the function on a thread of its own. The limits of the user are meant for the program that is hunted in,
/// which inherits them, and must not fell the hunter.
fn on_own_stack(main: fn() -> ExitCode) -> ExitCode {
    let thread = std::thread::Builder::new().name("deadheat".into()).stack_size(STACK);
    match thread.spawn(main).map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // A panic has already said what it is.
        Ok(Err(_)) => ExitCode::from(3),
        Err(_) => main(),
    }
}
