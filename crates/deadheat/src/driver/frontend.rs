//! Which compiler makes the code, and how it is watched.
//!
//! By default clang compiles with the pass. `--frontend=gcc` and `--frontend=clang`, or the variable `DEADHEAT_FRONTEND`
//! for a whole build, have the compiler instrument the code for ThreadSanitizer instead, and the runtime stands behind
//! the `__tsan_*` interface. The compiler's own driver must not know, or it would link its runtime: clang's compiler
//! proper is told by `-Xclang`, gcc's by a specs file. gcc calls the C library's `memcpy` and its like where clang calls
//! `__tsan_memcpy`; a header of ours gives these names to gcc, too.

use super::command_line::Argument;
use super::installation::{self, Parts};
use super::{DriverError, Language};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The variable that chooses for a whole build.
pub const VARIABLE: &str = "DEADHEAT_FRONTEND";
const OPTION: &[u8] = b"--frontend=";

/// Who makes the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frontend {
    /// clang with the pass.
    #[default]
    Pass,
    /// clang, instrumenting for ThreadSanitizer.
    Clang,
    /// gcc, instrumenting for ThreadSanitizer.
    Gcc,
}

/// What makes gcc's compiler proper instrument without its driver knowing.
pub const SPECS: &str = "%rename cc1_options deadheat_cc1_options\n\n\
                         *cc1_options:\n-fsanitize=thread %(deadheat_cc1_options)\n\n";

impl Frontend {
    /// The front end that the words name, which they no longer do then; else that of the environment.
    pub fn take(words: &mut Vec<OsString>) -> Result<Frontend, DriverError> {
        let mut named = std::env::var_os(VARIABLE).unwrap_or_default();
        words.retain(|word| match word.as_bytes().strip_prefix(OPTION) {
            Some(name) => {
                named = OsStr::from_bytes(name).to_owned();
                false
            }
            None => true,
        });
        match named.to_str() {
            Some("" | "pass") => Ok(Frontend::Pass),
            Some("clang") => Ok(Frontend::Clang),
            Some("gcc") => Ok(Frontend::Gcc),
            _ => Err(DriverError::Refused(format!(
                "there is no front end `{}`: pass, clang or gcc",
                named.display()
            ))),
        }
    }

    /// What it adds where code is compiled.
    pub fn options(self, parts: &Parts) -> Vec<OsString> {
        match self {
            Frontend::Pass => Vec::new(),
            // Of `x++` both the load and the store are told, as gcc does, so that it can come apart between them.
            Frontend::Clang => [
                "-Xclang",
                "-fsanitize=thread",
                "-mllvm",
                "-tsan-instrument-read-before-write",
            ]
            .map(OsString::from)
            .to_vec(),
            Frontend::Gcc => vec!["-include".into(), parts.include.join("deadheat_gcc.h").into()],
        }
    }

    /// Whether the program takes gcc's options.
    pub fn is_gcc(self) -> bool {
        self == Frontend::Gcc
    }

    /// The compiler to run.
    pub fn compiler(self, language: Language) -> Result<PathBuf, DriverError> {
        if self != Frontend::Gcc {
            return installation::clang();
        }
        let (variable, name) = match language {
            Language::C => ("DEADHEAT_GCC", "gcc"),
            Language::Cxx => ("DEADHEAT_GXX", "g++"),
        };
        let named = std::env::var_os(variable).filter(|n| !n.is_empty());
        installation::which_other(named.as_deref().unwrap_or(name.as_ref())).ok_or_else(|| {
            DriverError::NoClang(format!(
                "{name} is not installed. On Debian: apt-get install {name}; or name it by {variable}"
            ))
        })
    }
}

/// Whether the argument is what links ThreadSanitizer's own runtime: the option, where nothing else of its list is
/// lost with it, and the library.
pub fn asks_for_libtsan(argument: &Argument) -> bool {
    matches!(
        argument.option(),
        Some("-fsanitize=thread" | "-static-libtsan" | "-shared-libtsan" | "-ltsan")
    )
}
