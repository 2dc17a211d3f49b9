//! The compiler drivers: clang's command line in, clang's work out, with sites and the runtime added.
//!
//! A driver reads the command line as clang does ([`command_line`]), decides what to add, drop or refuse
//! ([`plan`], a pure function), and replaces itself by clang, so that exit status, signals, standard
//! streams and process ids are clang's own. Where there is nothing to add clang gets what it was given.
//!
//! `deadheat build -- CMD` ([`build`]) runs a build with these drivers in the place of the compiler. Rust has
//! drivers of its own ([`rust`]).

mod build;
mod build_summary;
pub mod command_line;
pub mod flavour;
pub mod frontend;
mod gcc_only;
pub mod installation;
mod invoke;
pub mod link_record;
pub mod linker;
mod log;
mod option_table;
pub mod plan;
mod response_file;
pub mod rust;
mod sanitizers;
mod target;
mod unseen_code;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use build::build;

/// What the driver was called to compile by default; file names and `-x` override it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `cc`: C, linked against the C library.
    C,
    /// `c++`: `.c` too is C++, linked against the C++ library.
    Cxx,
}

/// Why a driver could not do its work; the text tells the user what to do.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// No compiler to call.
    #[error("{0}")]
    NoClang(String),
    /// No Rust compiler to call, or not one that the plugin fits.
    #[error("{0}")]
    NoRustc(String),
    /// A part of deadheat itself is missing.
    #[error("{name} is not in {directory}: install deadheat (make install), or name its lib/deadheat by DEADHEAT_LIB", directory = directory.display())]
    PartMissing {
        /// File name of the part.
        name: &'static str,
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The command line asks for what cannot be combined with deadheat.
    #[error("{0}")]
    Refused(String),
    /// The compiler could not be started.
    #[error("cannot run {program}: {source}", program = program.display())]
    Start {
        /// The program that was to be run.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The names by which a driver may be called, as the last part of `argv[0]`.
fn language_of_name(name: &str) -> Option<Language> {
    // clang-22 and gcc-12 are names of compilers too.
    let stem = match name.rsplit_once('-') {
        Some((stem, version)) if version.chars().all(|c| c.is_ascii_digit() || c == '.') => stem,
        _ => name,
    };
    match stem {
        "deadheat-cc" | "cc" | "gcc" | "clang" | "c99" | "c89" => Some(Language::C),
        "deadheat-c++" | "c++" | "g++" | "clang++" => Some(Language::Cxx),
        _ => None,
    }
}

/// If the program was called as a compiler, by its own name or as `deadheat cc`, the language and the
/// compiler's arguments.
pub fn called_as(arguments: &[OsString]) -> Option<(Language, &[OsString])> {
    let name = Path::new(arguments.first()?).file_name()?.to_str()?;
    if let Some(language) = language_of_name(name) {
        return Some((language, &arguments[1..]));
    }
    match arguments.get(1)?.to_str()? {
        "cc" => Some((Language::C, &arguments[2..])),
        "c++" | "cxx" => Some((Language::Cxx, &arguments[2..])),
        _ => None,
    }
}

/// A program of this installation that is told by its name, not by its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A C or C++ compiler.
    Compiler(Language),
    /// The Rust compiler.
    Rustc,
    /// The linker that the Rust compiler calls.
    RustLinker,
    /// The linker that clang calls.
    Linker,
    /// `cargo deadheat`.
    Cargo,
}

/// If the program was called as another tool than `deadheat` itself: which, and that tool's arguments.
pub fn tool(arguments: &[OsString]) -> Option<(Tool, &[OsString])> {
    if let Some((language, rest)) = called_as(arguments) {
        return Some((Tool::Compiler(language), rest));
    }
    match Path::new(arguments.first()?).file_name()?.to_str()? {
        "deadheat-rustc" => return Some((Tool::Rustc, &arguments[1..])),
        "deadheat-rust-linker" => return Some((Tool::RustLinker, &arguments[1..])),
        "ld" => return Some((Tool::Linker, &arguments[1..])),
        "cargo-deadheat" => {
            // Cargo repeats its subcommand's name.
            let repeated = arguments.get(1).is_some_and(|a| a == "deadheat");
            return Some((Tool::Cargo, &arguments[1 + usize::from(repeated)..]));
        }
        _ => {}
    }
    match arguments.get(1)?.to_str()? {
        "rustc" => Some((Tool::Rustc, &arguments[2..])),
        "cargo" => Some((Tool::Cargo, &arguments[2..])),
        _ => None,
    }
}

/// Compiles: replaces this process by clang, or says why not. Compilers fail with status 1.
pub fn compile(language: Language, arguments: &[OsString]) -> ExitCode {
    let error = match invoke::run(language, arguments) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    eprintln!("deadheat: error: {error}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> Option<(Language, usize)> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        called_as(&words).map(|(language, rest)| (language, rest.len()))
    }

    #[test]
    fn the_name_decides() {
        assert_eq!(called(&["/opt/bin/deadheat-cc", "-c"]), Some((Language::C, 1)));
        assert_eq!(called(&["deadheat-c++"]), Some((Language::Cxx, 0)));
        assert_eq!(called(&["deadheat", "cc", "a.c"]), Some((Language::C, 1)));
        assert_eq!(called(&["deadheat", "c++", "a.c"]), Some((Language::Cxx, 1)));
        assert_eq!(called(&["/shims/gcc-12", "a.c"]), Some((Language::C, 1)));
        assert_eq!(called(&["g++"]), Some((Language::Cxx, 0)));
        assert_eq!(called(&["deadheat", "hunt"]), None);
        assert_eq!(called(&["deadheat"]), None);
        assert_eq!(called(&[]), None);
    }

    #[test]
    fn rusts_tools_have_their_names() {
        let tool_of = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            tool(&words).map(|(tool, rest)| (tool, rest.len()))
        };
        assert_eq!(
            tool_of(&["/opt/bin/deadheat-rustc", "rustc", "-vV"]),
            Some((Tool::Rustc, 2))
        );
        assert_eq!(tool_of(&["deadheat", "rustc", "a.rs"]), Some((Tool::Rustc, 1)));
        assert_eq!(tool_of(&["cargo-deadheat", "deadheat", "test"]), Some((Tool::Cargo, 1)));
        assert_eq!(tool_of(&["/opt/lib/deadheat/linker/ld", "-r"]), Some((Tool::Linker, 1)));
        assert_eq!(tool_of(&["cargo-deadheat", "test"]), Some((Tool::Cargo, 1)));
        assert_eq!(tool_of(&["deadheat", "cc"]), Some((Tool::Compiler(Language::C), 0)));
        assert_eq!(tool_of(&["deadheat", "hunt"]), None);
    }
}
