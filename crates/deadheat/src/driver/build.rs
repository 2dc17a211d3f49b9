//! `deadheat build -- CMD`: a build with the compiler drivers in the compiler's place.
//!
//! `CC` and `CXX` name the drivers, which configure, CMake, Meson and most makefiles follow. For makefiles
//! that name `gcc` or `clang` outright, a directory of links to the drivers goes in front of `PATH`. What is
//! built to run during the build (`CC_FOR_BUILD` and its like) stays with the native compiler.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use super::installation::{self, Parts};
use super::{build_summary, log};

/// Runs a build command and says what the drivers did in it. The exit status is the command's.
pub fn build(command: &[OsString]) -> ExitCode {
    let (only_bitcode, command) = match command.split_first() {
        Some((first, rest)) if first == "--bitcode-only" => (true, rest),
        _ => (false, command),
    };
    let command = match command.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => command,
    };
    let Some((program, arguments)) = command.split_first() else {
        eprintln!(
            "usage: deadheat build [--bitcode-only] -- COMMAND [ARGUMENT…]     for example: deadheat build -- make -j4"
        );
        return ExitCode::from(2);
    };
    if let Err(error) = installation::clang().and_then(|_| Parts::find()) {
        eprintln!("deadheat: error: {error}");
        return ExitCode::from(3);
    }
    let log = tempfile::NamedTempFile::with_prefix("deadheat-build-").ok();
    let mut build = Command::new(program);
    build.args(arguments);
    for (name, value) in environment(&installation::directory()) {
        // PATH is our own business; the rest is worth a line.
        if name != "PATH" {
            eprintln!("deadheat build: {name}={}", value.display());
        }
        build.env(name, value);
    }
    if let Some(log) = &log {
        build.env(log::VARIABLE, log.path());
    }
    if only_bitcode {
        build.env(super::plan::BITCODE_ONLY, "1");
    }
    match build.status() {
        Ok(status) => {
            if let Some(log) = &log {
                let told = build_summary::told(&log::read(log.path()), program, status, only_bitcode);
                told.iter().for_each(|line| eprintln!("deadheat build: {line}"));
            }
            exit_code(status)
        }
        Err(error) => {
            eprintln!("deadheat: error: cannot run {}: {error}", program.display());
            ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound {
                127
            } else {
                126
            })
        }
    }
}

/// The variables that a build is given.
fn environment(parts: &Path) -> Vec<(&'static str, OsString)> {
    let bin = std::env::current_exe()
        .ok()
        .and_then(|p| p.parent().map(Path::to_owned))
        .unwrap_or_default();
    let compilers = parts.join("compilers");
    let mut variables = Vec::new();
    for (name, driver) in [("CC", "deadheat-cc"), ("CXX", "deadheat-c++")] {
        let path = bin.join(driver);
        // Makefiles use $(CC) unquoted: a path with blanks must be found by name.
        let blank = path.as_os_str().as_encoded_bytes().iter().any(u8::is_ascii_whitespace);
        variables.push((name, if blank { driver.into() } else { path.into_os_string() }));
    }
    for (name, native) in [
        ("CC_FOR_BUILD", "cc"),
        ("BUILD_CC", "cc"),
        ("CXX_FOR_BUILD", "c++"),
        ("BUILD_CXX", "c++"),
    ] {
        if std::env::var_os(name).is_none()
            && let Some(path) = installation::which(OsStr::new(native))
        {
            variables.push((name, path.into_os_string()));
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = [compilers, bin]
        .into_iter()
        .chain(std::env::split_paths(&path))
        .collect();
    if let Ok(path) = std::env::join_paths(directories) {
        variables.push(("PATH", path));
    }
    variables
}

/// A command that a signal ended is told as shells tell it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}
