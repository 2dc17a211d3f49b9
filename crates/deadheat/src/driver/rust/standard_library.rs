//! Rust's standard library with sites, made from the bitcode that toolchains ship.
//!
//! The libraries of a toolchain keep the bitcode of each object (`.llvmbc`) for link-time optimisation. Here
//! it goes through clang with the pass plugin once more, so that what is not instantiated in the user's crates
//! (the slow paths of mutexes, condition variables, parking, once cells, channels' wakers) is watched like the
//! user's own code. No source, no nightly compiler, no change to the toolchain: the objects lie in a cache, by
//! the library's name (which holds a hash), its size, and the pass plugin that made them.
//!
//! A few libraries stay as shipped ([`UNSHARED`]).
//! Cost: about half a minute of one core, once per toolchain and version of deadheat.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use rustix::fs::{FlockOperation, flock};

use super::link::is_toolchain_library;
use super::pruning;
use super::toolchain::Toolchain;
use crate::driver::DriverError;
use crate::driver::installation::{self, Parts};

/// What nearly every program or test links, made ahead so that the wait is explained; others are made when a
/// link asks for them.
const USUAL: [&str; 9] = [
    "alloc",
    "core",
    "getopts",
    "hashbrown",
    "panic_abort",
    "panic_unwind",
    "std",
    "std_detect",
    "test",
];

/// What stays as shipped, since it shares nothing between threads by itself: arithmetic and memory functions, and
/// the reading of debug information for backtraces, which std does under a lock of its own and which would be
/// slow with checks.
const UNSHARED: [&str; 9] = [
    "addr2line",
    "adler2",
    "compiler_builtins",
    "gimli",
    "memchr",
    "miniz_oxide",
    "object",
    "profiler_builtins",
    "rustc_demangle",
];

/// One library of a toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    path: PathBuf,
    size: u64,
}

impl Library {
    /// The library at this path, if it is one of a toolchain.
    pub fn at(path: &Path) -> Option<Library> {
        let size = is_toolchain_library(path).then(|| fs::metadata(path).ok())??.len();
        Some(Library {
            path: path.to_owned(),
            size,
        })
    }

    fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The crate's name.
    fn name(&self) -> String {
        let stem = self.stem();
        let name = stem.strip_prefix("lib").unwrap_or(&stem);
        name.rsplit_once('-').map_or(name, |(name, _)| name).to_owned()
    }

    /// Whether its code is to have sites.
    pub fn is_watched(&self) -> bool {
        !UNSHARED.contains(&self.name().as_str())
    }

    /// Directory of its objects in the cache.
    fn place(&self) -> Result<PathBuf, DriverError> {
        Ok(cache()?.join(format!("{}-{}", self.stem(), self.size)))
    }

    /// Its objects with sites, in order, made now if they are not in the cache. Empty if it has no bitcode.
    pub fn objects(&self, parts: &Parts) -> Result<Vec<PathBuf>, DriverError> {
        let place = self.place()?;
        if !place.is_dir() {
            let lock = lock(&place)?;
            // Another process may have made it meanwhile.
            if !place.is_dir() {
                self.make(&place, parts)?;
            }
            drop(lock);
        }
        let entries = fs::read_dir(&place).map_err(|e| unusable(&place, &e))?;
        let mut objects: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        objects.sort();
        Ok(objects)
    }

    /// Makes the objects and puts them in place in one step.
    fn make(&self, place: &Path, parts: &Parts) -> Result<(), DriverError> {
        let parent = place.parent().unwrap_or(Path::new("/"));
        let near = tempfile::Builder::new().prefix(pruning::MAKING).tempdir_in(parent);
        let near = near.map_err(|e| unusable(parent, &e))?;
        let data = fs::read(&self.path).map_err(|e| unusable(&self.path, &e))?;
        let members = members(&data).ok_or_else(|| unusable(&self.path, &"not an archive of objects"))?;
        // Without any bitcode the archive itself is as good.
        if members.iter().any(|m| matches!(m, Member::Bitcode(_))) {
            for (n, member) in members.iter().enumerate() {
                let output = near.path().join(format!("{n:04}.o"));
                match member {
                    Member::Bitcode(bitcode) => compile(bitcode, &output, &self.path, parts)?,
                    Member::Object(object) => fs::write(&output, object).map_err(|e| unusable(&output, &e))?,
                }
            }
        }
        let made = near.keep();
        fs::rename(&made, place).map_err(|e| unusable(place, &e))?;
        pruning::prune(parent.parent().unwrap_or(parent), SystemTime::now());
        Ok(())
    }
}

/// A member of a library that goes into programs.
enum Member<'a> {
    Bitcode(&'a [u8]),
    Object(&'a [u8]),
}

/// The objects of an archive; metadata is none.
fn members(data: &[u8]) -> Option<Vec<Member<'_>>> {
    let archive = ArchiveFile::parse(data).ok()?;
    let mut found = Vec::new();
    for member in archive.members() {
        let bytes = member.ok()?.data(data).ok()?;
        let Ok(file) = object::File::parse(bytes) else { continue };
        let bitcode = file.section_by_name(".llvmbc").and_then(|s| s.data().ok());
        found.push(match bitcode.filter(|b| !b.is_empty()) {
            Some(bitcode) => Member::Bitcode(bitcode),
            None => Member::Object(bytes),
        });
    }
    Some(found)
}

/// One module, optimised already: the pass plugin at the end of a short pipeline.
fn compile(bitcode: &[u8], output: &Path, library: &Path, parts: &Parts) -> Result<(), DriverError> {
    let clang = installation::clang()?;
    let failed = |source| DriverError::Start {
        program: clang.clone(),
        source,
    };
    let mut input = tempfile::Builder::new().suffix(".bc").tempfile().map_err(failed)?;
    input.write_all(bitcode).map_err(failed)?;
    let mut plugin = std::ffi::OsString::from("-fpass-plugin=");
    plugin.push(&parts.pass);
    let mut command = Command::new(&clang);
    command.args([
        "--target=x86_64-unknown-linux-gnu",
        "-x",
        "ir",
        "-c",
        "-O1",
        "-g",
        "-fPIC",
    ]);
    command.args(["-fno-omit-frame-pointer", "-mllvm", "-enable-shrink-wrap=false"]);
    command.args(["-ffunction-sections", "-fdata-sections", "-Wno-override-module"]);
    command.arg(plugin).arg(input.path()).arg("-o").arg(output);
    let made = command.stdin(Stdio::null()).output().map_err(failed)?;
    match made.status.success() {
        true => Ok(()),
        false => Err(DriverError::Refused(format!(
            "{} cannot be given sites: {}",
            library.display(),
            String::from_utf8_lossy(&made.stderr).trim()
        ))),
    }
}

/// Makes what a program usually links, several libraries at once, and says so where it takes a while.
pub fn prepare(toolchain: &Toolchain, parts: &Parts) -> Result<(), DriverError> {
    let entries = fs::read_dir(&toolchain.libraries).map_err(|e| unusable(&toolchain.libraries, &e))?;
    let mut wanted: Vec<Library> = entries.flatten().filter_map(|e| Library::at(&e.path())).collect();
    wanted.retain(|library| USUAL.contains(&library.name().as_str()) && !library.place().is_ok_and(|p| p.is_dir()));
    if wanted.is_empty() {
        return Ok(());
    }
    eprintln!(
        "deadheat: giving the standard library of rustc {} its sites, once; this takes about half a minute",
        toolchain.release
    );
    // The largest first.
    wanted.sort_by_key(|library| std::cmp::Reverse(library.size));
    let (next, trouble) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        while let Some(library) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = library.objects(parts) {
                *trouble.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
            }
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    let trouble = trouble.into_inner().unwrap_or_else(|e| e.into_inner());
    trouble.map_or(Ok(()), Err)
}

/// The cache for this pass plugin: in `$DEADHEAT_CACHE`, else the user's cache directory.
fn cache() -> Result<PathBuf, DriverError> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = set("DEADHEAT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("deadheat")))
        .or_else(|| set("HOME").map(|d| d.join(".cache/deadheat")))
        .ok_or_else(|| DriverError::Refused("no directory for a cache: set DEADHEAT_CACHE".to_owned()))?;
    let directory = base.join("rust").join(installation::pass_stamp());
    fs::create_dir_all(&directory).map_err(|e| unusable(&directory, &e))?;
    pruning::note_use(&directory);
    Ok(directory)
}

/// Waits until no other process makes this entry.
fn lock(place: &Path) -> Result<File, DriverError> {
    let mut name = place.as_os_str().as_bytes().to_vec();
    name.extend(b".lock");
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(&name));
    let file = File::create(&path).map_err(|e| unusable(&path, &e))?;
    flock(&file, FlockOperation::LockExclusive).map_err(|e| unusable(&path, &std::io::Error::from(e)))?;
    Ok(file)
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> DriverError {
    DriverError::Refused(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_named_by_their_files() {
        let library = |file: &str| Library {
            path: PathBuf::from(file),
            size: 0,
        };
        assert_eq!(library("/l/libpanic_unwind-4be5972b.rlib").name(), "panic_unwind");
        assert!(!library("/l/libcompiler_builtins-27cfc16b.rlib").is_watched());
    }

    #[test]
    fn what_is_no_archive_is_told() {
        assert!(members(b"noise").is_none());
        assert!(members(b"!<arch>\n").unwrap().is_empty());
    }
}
