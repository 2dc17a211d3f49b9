//! Rust: `deadheat rustc`, the linker that rustc calls, and `cargo deadheat`.
//!
//! Stable rustc loads the pass plugin as clang does ([`command_line`]); nothing of the user's toolchain is
//! changed. Three programs work together, all of them this one under different names:
//! - `deadheat-rustc` is rustc with the plugin, with deadheat's linker, and without what would hide code from
//!   the plugin (link-time optimisation);
//! - `deadheat-rust-linker` ([`link`]) stands where rustc expects a C compiler. It puts the standard library
//!   with sites ([`standard_library`]) in the place of the shipped one and goes on as `deadheat cc`, which puts
//!   the runtime in front of libc and writes the link record;
//! - `cargo-deadheat` ([`cargo`]) runs cargo with the first as its compiler wrapper.

pub mod cargo;
pub mod command_line;
pub mod link;
mod pruning;
pub mod standard_library;
pub mod toolchain;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::DriverError;
use super::installation::{self, Parts};
use command_line::RustcLine;
use toolchain::Toolchain;

/// Compiles Rust: replaces this process by rustc, or says why not.
pub fn compile(arguments: &[OsString]) -> ExitCode {
    match run(arguments) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("deadheat: error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Links for rustc: replaces this process by clang, or says why not.
pub fn link(arguments: &[OsString]) -> ExitCode {
    let error = match link::run(arguments) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    eprintln!("deadheat: error: {error}");
    ExitCode::FAILURE
}

fn run(arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    // Cargo calls a wrapper with the compiler's path in front.
    let (rustc, wrapped, rest) = match arguments.split_first() {
        Some((first, rest)) if is_rustc(first) => (PathBuf::from(first), true, rest),
        _ => (rustc()?, false, arguments),
    };
    let line = RustcLine::parse(rest);
    if wrapped && line.asks_for_all_of_version() {
        return version(&rustc, rest);
    }
    // What cargo builds for itself (build scripts, procedural macros) has no `--target` under `cargo deadheat`.
    let ours = line.makes_code() && !line.is_for_the_compiler() && (!wrapped || line.target().is_some());
    if !ours {
        return Err(become_program(Command::new(&rustc).args(rest), &rustc));
    }
    let parts = Parts::find()?;
    if !wrapped {
        let toolchain = Toolchain::of(&rustc)?;
        toolchain.check()?;
        if line.links() {
            standard_library::prepare(&toolchain, &parts)?;
        }
    }
    let words = command_line::plan(&line, rest, &parts, &linker()?)?;
    let mut command = Command::new(&rustc);
    command.args(&words);
    // The plugin's option is one of those that rustc keeps to itself; language features stay as they were.
    command.env("RUSTC_BOOTSTRAP", "1");
    if std::env::var_os("RUSTC_BOOTSTRAP").is_none() {
        command.arg("-Zallow-features=");
    }
    Err(become_program(&mut command, &rustc))
}

fn become_program(command: &mut Command, program: &Path) -> DriverError {
    let error = command.exec();
    DriverError::Start {
        program: program.to_owned(),
        source: error,
    }
}

/// rustc's version with a line of ours, by which cargo knows that another deadheat makes other code.
fn version(rustc: &Path, arguments: &[OsString]) -> Result<ExitCode, DriverError> {
    let failed = |error| DriverError::Start {
        program: rustc.to_owned(),
        source: error,
    };
    let mut command = Command::new(rustc);
    let output = command
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(failed)?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!("deadheat: {} {}", env!("CARGO_PKG_VERSION"), installation::stamp());
    Ok(ExitCode::from(output.status.code().map_or(1, |code| code as u8)))
}

/// Whether a wrapper's first argument is the compiler.
fn is_rustc(word: &OsStr) -> bool {
    let path = Path::new(word);
    path.extension().is_none_or(|e| e != "rs") && path.file_stem().is_some_and(|name| name == "rustc")
}

/// The user's rustc: `$RUSTC`, else the one on the path.
fn rustc() -> Result<PathBuf, DriverError> {
    let name = std::env::var_os("RUSTC").filter(|n| !n.is_empty());
    let name = name.unwrap_or_else(|| "rustc".into());
    installation::which(&name)
        .ok_or_else(|| DriverError::NoRustc(format!("{} is not on the path: install Rust 1.95", name.display())))
}

/// This program under the linker's name.
fn linker() -> Result<PathBuf, DriverError> {
    own_name("deadheat-rust-linker")
}

/// A name of this program, beside it.
fn own_name(name: &'static str) -> Result<PathBuf, DriverError> {
    let program = std::env::current_exe().unwrap_or_default();
    let directory = program.parent().unwrap_or(Path::new("/")).to_owned();
    let path = directory.join(name);
    match path.exists() {
        true => Ok(path),
        false => Err(DriverError::PartMissing { name, directory }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapper_is_told_by_the_compilers_name() {
        for (word, expected) in [
            ("rustc", true),
            ("/opt/bin/rustc", true),
            ("rustc.rs", false),
            ("-v", false),
        ] {
            assert_eq!(is_rustc(OsStr::new(word)), expected, "{word}");
        }
    }
}
