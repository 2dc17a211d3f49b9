//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::driver;

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|a| a.to_str()) {
        Some("build") => driver::build(&arguments[2..]),
        _ => {
            eprintln!("usage: deadheat cc|c++ ARGS… | deadheat build -- COMMAND…");
            ExitCode::from(2)
        }
    }
}
