//! Where clang and deadheat's own parts are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::DriverError;

/// The parts that compiled programs need, in `lib/deadheat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The pass plugin.
    pub pass: PathBuf,
    /// The runtime, one relocatable object, for executables.
    pub runtime: PathBuf,
    /// The object that each linked module gets.
    pub module: PathBuf,
    /// Directory of `deadheat.h`.
    pub include: PathBuf,
    /// This tool by a linker's name, which clang calls.
    pub linker: PathBuf,
    /// The linker's list of names that executables export.
    pub exports: PathBuf,
}

impl Parts {
    /// The parts in a directory, whether they are there or not.
    pub fn under(directory: &Path) -> Parts {
        Parts {
            pass: directory.join("libdeadheat_pass.so"),
            runtime: directory.join("deadheat_rt.o"),
            module: directory.join("deadheat_module.o"),
            linker: directory.join("linker/ld"),
            include: directory.ancestors().nth(2).unwrap_or(directory).join("include"),
            exports: directory.join("deadheat_rt.list"),
        }
    }

    /// Finds the parts and checks that all are there.
    pub fn find() -> Result<Parts, DriverError> {
        let directory = directory();
        for name in [
            "libdeadheat_pass.so",
            "deadheat_rt.o",
            "deadheat_module.o",
            "deadheat_rt.list",
            "linker/ld",
        ] {
            if !directory.join(name).is_file() {
                return Err(DriverError::PartMissing { name, directory });
            }
        }
        Ok(Parts::under(&directory))
    }
}

/// The directory `lib/deadheat`: `$DEADHEAT_LIB`, else beside this program's `bin`.
pub fn directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("DEADHEAT_LIB").filter(|d| !d.is_empty()) {
        return PathBuf::from(directory);
    }
    let program = std::env::current_exe().unwrap_or_default();
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    prefix.join("lib/deadheat")
}

/// Finds clang 22: `$DEADHEAT_CLANG`, else `clang-22` on the path, else LLVM's own directory.
pub fn clang() -> Result<PathBuf, DriverError> {
    if let Some(named) = std::env::var_os("DEADHEAT_CLANG").filter(|c| !c.is_empty()) {
        return which(&named).ok_or_else(|| {
            DriverError::NoClang(format!(
                "DEADHEAT_CLANG names {}, which is not a program",
                named.display()
            ))
        });
    }
    let beside_llvm = OsStr::new("/usr/lib/llvm-22/bin/clang");
    which(OsStr::new("clang-22"))
        .or_else(|| which(beside_llvm))
        .ok_or_else(|| {
            DriverError::NoClang(
                "clang 22 is not installed. On Debian: apt-get install clang-22 lld-22 llvm-22 \
             (see https://apt.llvm.org where the release has no such package); or name it by DEADHEAT_CLANG"
                    .to_owned(),
            )
        })
}

/// The program of this name on the path, or at this path.
pub fn which(name: &OsStr) -> Option<PathBuf> {
    let program = |path: PathBuf| is_program(&path).then_some(path);
    if name.as_encoded_bytes().contains(&b'/') {
        return program(PathBuf::from(name));
    }
    std::env::split_paths(&std::env::var_os("PATH")?).find_map(|directory| program(directory.join(name)))
}

/// As [`which`], but never this program under another name: a build has that in front of its path.
pub fn which_other(name: &OsStr) -> Option<PathBuf> {
    let own = std::env::current_exe().and_then(|p| p.canonicalize()).ok();
    let other = |path: &PathBuf| is_program(path) && path.canonicalize().ok() != own;
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(other);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(other)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// A word that changes with any of the parts that go into compiled programs.
pub fn stamp() -> String {
    let directory = directory();
    let parts = ["libdeadheat_pass.so", "deadheat_rt.o", "deadheat_module.o"];
    let hash = parts.iter().fold(0, |hash, name| contents(&directory.join(name), hash));
    format!("{hash:016x}")
}

/// A word that changes with the pass plugin.
pub fn pass_stamp() -> String {
    format!("{:016x}", contents(&directory().join("libdeadheat_pass.so"), 0))
}

/// Mixes a file's contents into a hash: FNV-1a over words of eight bytes.
fn contents(path: &Path, hash: u64) -> u64 {
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut mixed = hash ^ 0xcbf2_9ce4_8422_2325;
    for word in bytes.chunks(8) {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        mixed = (mixed ^ u64::from_le_bytes(padded))
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    }
    mixed
}
