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
use super::log::{self, Entry};

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
                summary(&log::read(log.path()), program, only_bitcode)
                    .iter()
                    .for_each(|line| eprintln!("deadheat build: {line}"));
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

/// What the drivers did, for a person.
fn summary(entries: &[Entry], program: &OsStr, only_bitcode: bool) -> Vec<String> {
    let watched: usize = entries.iter().map(|e| e.watched.len()).sum();
    let mut unwatched: Vec<&str> = entries.iter().flat_map(|e| &e.unwatched).map(String::as_str).collect();
    unwatched.dedup();
    let mut linked: Vec<(&str, bool)> = entries
        .iter()
        .filter_map(|e| Some((e.linked.as_deref()?, e.runtime)))
        .collect();
    linked.sort_unstable();
    linked.dedup();
    linked.retain(|(path, _)| Path::new(path).exists());
    let programs: Vec<&str> = linked
        .iter()
        .filter(|(_, runtime)| *runtime)
        .map(|(path, _)| *path)
        .collect();
    let mut lines = Vec::new();
    if watched == 0 && programs.is_empty() {
        lines.push(format!(
            "nothing was compiled: everything is up to date (then clean first), or {} names its own compiler: \
             pass CC=\"$CC\" CXX=\"$CXX\" on its command line",
            Path::new(program).display()
        ));
        return lines;
    }
    lines.push(match only_bitcode {
        true => format!("{watched} source files compiled with their bitcode kept, without sites"),
        false => format!(
            "{watched} source files compiled with sites, {} programs linked with the runtime",
            programs.len()
        ),
    });
    lines.extend(some("program", &programs));
    if !unwatched.is_empty() {
        lines.push(format!(
            "{} files without sites (assembly and the like): their accesses are not seen",
            unwatched.len()
        ));
        lines.extend(some("without sites", &unwatched));
    }
    let mut notes: Vec<&str> = entries
        .iter()
        .flat_map(|e| e.notes.iter().chain(&e.refused))
        .map(String::as_str)
        .collect();
    notes.sort_unstable();
    for same in notes.chunk_by(|a, b| a == b) {
        lines.push(format!("{} ({} times)", same[0], same.len()));
    }
    lines
}

/// The first few of a list, one a line.
fn some(what: &str, names: &[&str]) -> Vec<String> {
    const SHOWN: usize = 12;
    let mut lines: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("  {what}: {name}"))
        .collect();
    if names.len() > SHOWN {
        lines.push(format!("  and {} more", names.len() - SHOWN));
    }
    lines
}

/// A command that a signal ended is told as shells tell it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_tells_when_nothing_was_compiled() {
        assert!(summary(&[], OsStr::new("make"), false)[0].starts_with("nothing was compiled"));
    }

    #[test]
    fn the_summary_counts_and_names() {
        let entry = Entry {
            watched: vec!["a.c".into(), "b.c".into()],
            unwatched: vec!["c.S".into()],
            notes: vec!["-flto left out".into()],
            ..Entry::default()
        };
        let lines = summary(&[entry.clone(), entry], OsStr::new("make"), false);
        assert!(lines[0].starts_with("4 source files"), "{lines:?}");
        assert!(lines.iter().any(|l| l == "  without sites: c.S"), "{lines:?}");
        assert!(lines.iter().any(|l| l == "-flto left out (2 times)"), "{lines:?}");
    }
}
