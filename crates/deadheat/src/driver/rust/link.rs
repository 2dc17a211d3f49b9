//! The linker that rustc calls: `deadheat cc` with the standard library's objects that have sites.
//!
//! rustc names its own libraries by path. Where the linked code has sites, each is replaced by its objects
//! with sites; what has no bitcode to make them from stays as shipped.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::command_line::{TARGET, WITH_SITES};
use super::standard_library::Library;
use crate::driver::installation::{self, Parts};
use crate::driver::{DriverError, Language, invoke, response_file};

/// Becomes clang. Returns only if that fails.
pub fn run(arguments: &[OsString]) -> Result<Infallible, DriverError> {
    let mut words = response_file::expand(arguments);
    let before = words.len();
    words.retain(|word| word != WITH_SITES);
    if words.len() != before {
        words = with_sites(words, &Parts::find()?)?;
        if !words.iter().any(|word| word.as_bytes().starts_with(b"-fuse-ld")) && has_lld() {
            words.push("-fuse-ld=lld".into());
        }
    }
    invoke::run(Language::C, &words)
}

/// The command line with the standard library's objects that have sites in the place of its archives.
fn with_sites(words: Vec<OsString>, parts: &Parts) -> Result<Vec<OsString>, DriverError> {
    let mut all = Vec::with_capacity(words.len() + 8);
    for word in words {
        let library = Library::at(Path::new(&word)).filter(|library| library.is_watched());
        match library.map(|library| library.objects(parts)).transpose()? {
            Some(objects) if !objects.is_empty() => all.extend(objects.into_iter().map(PathBuf::into_os_string)),
            _ => all.push(word),
        }
    }
    Ok(all)
}

/// Whether clang finds lld; the system's linker takes several times as long for Rust programs.
fn has_lld() -> bool {
    let beside = installation::clang()
        .ok()
        .and_then(|clang| clang.canonicalize().ok())
        .is_some_and(|clang| clang.with_file_name("ld.lld").exists());
    beside || installation::which(OsStr::new("ld.lld")).is_some()
}

/// Whether a path is that of a library of a Rust toolchain.
pub fn is_toolchain_library(path: &Path) -> bool {
    let directory = Path::new("rustlib").join(TARGET).join("lib");
    path.extension().is_some_and(|e| e == "rlib") && path.parent().is_some_and(|p| p.ends_with(&directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchain_libraries_are_known_by_their_place() {
        let own = "/t/lib/rustlib/x86_64-unknown-linux-gnu/lib/libstd-d12.rlib";
        assert!(is_toolchain_library(Path::new(own)));
        assert!(!is_toolchain_library(Path::new("/w/target/debug/deps/libstd-d12.rlib")));
    }
}
