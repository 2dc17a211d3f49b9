//! The program's standard input, read once so that every run gets the same.

use rustix::fs::{FileType, fstat};
use std::fs::File;
use std::io::{IsTerminal, Read, stdin};
use std::os::fd::AsFd;
use std::path::Path;

/// A pipe that stays silent this long is taken to be empty.
const SILENCE_MS: i64 = 1000;
/// Most bytes.
const MOST: u64 = 1 << 30;

/// Reads the file, or deadheat's own standard input: nothing from a terminal or a silent pipe.
pub fn capture(file: Option<&Path>) -> Result<Vec<u8>, String> {
    let read = |mut from: Box<dyn Read>, name: &str| {
        let mut bytes = Vec::new();
        let n = from
            .by_ref()
            .take(MOST + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| format!("{name}: {e}"))?;
        if n as u64 > MOST {
            Err(format!("{name} is larger than 1 GiB"))
        } else {
            Ok(bytes)
        }
    };
    if let Some(path) = file {
        let opened = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
        return read(Box::new(opened), &path.display().to_string());
    }
    let own = stdin();
    if own.is_terminal() {
        return Ok(Vec::new());
    }
    let Ok(stat) = fstat(own.as_fd()) else {
        return Ok(Vec::new());
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => read(Box::new(own), "standard input"),
        FileType::Fifo | FileType::Socket if !silent(own.as_fd()) => read(Box::new(own), "standard input"),
        FileType::Fifo | FileType::Socket => {
            anstream::eprintln!(
                "deadheat: standard input is silent: the program gets an empty one (or use --stdin FILE)"
            );
            Ok(Vec::new())
        }
        _ => Ok(Vec::new()),
    }
}

fn silent(fd: std::os::fd::BorrowedFd<'_>) -> bool {
    let mut polled = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
    let timeout = rustix::event::Timespec {
        tv_sec: SILENCE_MS / 1000,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut polled, Some(&timeout)) == Ok(0)
}
