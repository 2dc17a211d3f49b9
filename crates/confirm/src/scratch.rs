//! The directory of one deadheat process for plans, records and outputs.
//!
//! It lies in `/dev/shm`, which is memory, or in the temporary directory where that is too small.
//! Names have constant length: they are in the program's environment, which shifts its stack.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A record file is at least this large; the end of it is kept for how the run ended.
const LEAST_RECORD: u64 = 4 << 20;

/// A directory that is removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    next: AtomicU32,
    /// Bytes for one record file.
    pub record_size: u64,
}

/// The directory of one run; removed when dropped.
#[derive(Debug)]
pub struct RunDirectory(PathBuf);

impl Scratch {
    /// A fresh directory.
    pub fn new() -> io::Result<Scratch> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let shm = Path::new("/dev/shm");
        let free = rustix::fs::statvfs(shm).map(|s| s.f_bavail * s.f_frsize).unwrap_or(0);
        let (base, free) = match free {
            n if n >= 512 << 20 && writable(shm) => (shm.to_path_buf(), n),
            _ => (std::env::temp_dir(), 4 << 30),
        };
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
        Ok(Scratch {
            root,
            next: AtomicU32::new(0),
            record_size,
        })
    }

    /// A directory for one run.
    pub fn run(&self) -> io::Result<RunDirectory> {
        let n = self.next.fetch_add(1, Ordering::Relaxed) % 1_000_000;
        let path = self.root.join(format!("r{n:06}"));
        std::fs::create_dir(&path)?;
        Ok(RunDirectory(path))
    }

    /// A file beside the runs.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl RunDirectory {
    /// Path of something in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
