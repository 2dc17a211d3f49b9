//! The directory of one deadheat process for plans, records and outputs.
//!
//! It lies in `/dev/shm`, which is memory, or in the temporary directory where that is too small.
//! Names have constant length: they are in the program's environment, which shifts its stack.
//! A process that is killed leaves its directory; it holds a lock in it, so that the next one knows.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A record file is at least this large; the end of it is kept for how the run ended.
const LEAST_RECORD: u64 = 4 << 20;
/// Memory that is free in `/dev/shm` where it is used.
const AMPLE: u64 = 512 << 20;
/// With less than this free no run is begun.
const LEAST_FREE: u64 = 32 << 20;
/// With less than this free after a run, the run may have met a full disk.
const FULL: u64 = 1 << 20;
/// Name of the file that the owner of a directory holds a lock on.
const OWNER: &str = "owner";

/// A directory that is removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    next: AtomicU32,
    /// Locked as long as this process lives.
    _owner: File,
    /// Bytes for one record file.
    pub record_size: u64,
}

/// The directory of one run; removed when dropped.
#[derive(Debug)]
pub struct RunDirectory(PathBuf);

/// A file with the standard input of runs; removed when dropped.
#[derive(Debug)]
pub struct Input(PathBuf);

impl Scratch {
    /// A fresh directory.
    pub fn new() -> io::Result<Scratch> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (shm, temporary) = (PathBuf::from("/dev/shm"), std::env::temp_dir());
        clear(&shm);
        clear(&temporary);
        let (in_memory, on_disk) = (if writable(&shm) { free(&shm) } else { 0 }, free(&temporary));
        let (base, free) = if in_memory >= AMPLE || in_memory > on_disk {
            (shm, in_memory)
        } else {
            (temporary, on_disk)
        };
        if free < LEAST_FREE {
            return Err(io::Error::other(format!(
                "neither /dev/shm nor {} has {} MiB free; make some room, or name another place: TMPDIR=DIRECTORY",
                std::env::temp_dir().display(),
                LEAST_FREE >> 20
            )));
        }
        let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        let record_size = (free / 16).clamp(16 << 20, 256 << 20).min(most.unwrap_or(u64::MAX));
        if record_size < LEAST_RECORD {
            return Err(io::Error::other(format!(
                "a run's records need files of at least {} MiB; lift the limit on file sizes (ulimit -f)",
                LEAST_RECORD >> 20
            )));
        }
        let name = format!(
            "dh-{:08x}{:02x}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed) & 255
        );
        let root = base.join(name);
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir(&root)?;
        let owner = File::create(root.join("new"))?;
        owner.try_lock()?;
        // Under its name it is locked from the first.
        std::fs::rename(root.join("new"), root.join(OWNER))?;
        Ok(Scratch {
            root,
            _owner: owner,
            next: AtomicU32::new(0),
            record_size,
        })
    }

    /// A directory for one run.
    pub fn run(&self) -> io::Result<RunDirectory> {
        let made = |path: &Path| std::fs::create_dir(path);
        self.unused('r', made).map(|(path, ())| RunDirectory(path))
    }

    /// A file with this standard input.
    pub fn input(&self, bytes: &[u8]) -> io::Result<Input> {
        let (path, mut file) = self.unused('i', |path: &Path| File::create_new(path))?;
        let input = Input(path);
        file.write_all(bytes)?;
        Ok(input)
    }

    /// Makes something under a name of this kind that nothing has: numbers begin anew after a million.
    fn unused<T>(&self, kind: char, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed) % 1_000_000;
            let path = self.root.join(format!("{kind}{n:06}"));
            match make(&path) {
                Ok(made) => return Ok((path, made)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether what runs write finds no room any more.
    pub fn full(&self) -> bool {
        free(&self.root) < FULL
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file beside the runs.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Bytes free on the file system of this directory.
fn free(directory: &Path) -> u64 {
    rustix::fs::statvfs(directory).map_or(0, |s| s.f_bavail * s.f_frsize)
}

/// Removes the directories in `base` whose owner was killed.
fn clear(base: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("dh-"));
        let ours = number.is_some_and(|n| n.len() == 10 && n.bytes().all(|b| b.is_ascii_hexdigit()));
        if !ours || !entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == user) {
            continue;
        }
        // One that is only just being made has no such file yet.
        let owner = File::options().read(true).write(true).open(entry.path().join(OWNER));
        if owner.is_ok_and(|owner| owner.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl RunDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Path of something in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Input {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_keeps_its_name() {
        let scratch = Scratch::new().unwrap();
        let (run, input) = (scratch.run().unwrap(), scratch.input(b"first").unwrap());
        scratch.next.store(1_000_000, Ordering::Relaxed);
        assert_ne!(scratch.run().unwrap().path(), run.path());
        scratch.next.store(1_000_001, Ordering::Relaxed);
        assert_ne!(scratch.input(b"second").unwrap().path(), input.path());
        assert_eq!(std::fs::read(input.path()).unwrap(), b"first");
    }

    #[test]
    fn what_a_killed_process_left_is_cleared_and_nothing_else() {
        let base = std::env::temp_dir().join(format!("dh-clear-{}", std::process::id()));
        let make = |name: &str| {
            std::fs::create_dir_all(base.join(name).join("r000000")).unwrap();
            File::create(base.join(name).join(OWNER)).unwrap()
        };
        drop(make("dh-00000001aa"));
        let alive = make("dh-00000002aa");
        alive.try_lock().unwrap();
        drop(make("dh-mine"));
        clear(&base);
        let left = |name: &str| base.join(name).exists();
        assert!(!left("dh-00000001aa") && left("dh-00000002aa") && left("dh-mine"));
        std::fs::remove_dir_all(&base).unwrap();
    }
}
