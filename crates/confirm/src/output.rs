//! What a program wrote to stdout or stderr: a file (a pipe's reader would be an input of the schedule),
//! of which the beginning and the end are kept.
//!
//! While the program runs, the middle is given back to the file system by punching a hole: the file's
//! size stays the true count of bytes, and a program that writes gigabytes costs no gigabytes.

use rustix::fs::FallocateFlags;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes kept from the beginning.
const HEAD: u64 = 1 << 20;
/// Bytes kept from the end.
const TAIL: u64 = 64 << 10;
/// The hole is punched in steps of at least this size.
const STEP: u64 = 16 << 20;

/// Contents of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// What was kept: the beginning, then the end.
    pub kept: Vec<u8>,
    /// Bytes left out between the two.
    pub cut: u64,
}

impl Output {
    /// The kept bytes as text.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.kept)
    }
}

/// An output that is being written.
pub(crate) struct Growing {
    file: File,
    punched: u64,
}

impl Growing {
    pub(crate) fn new(file: File) -> Growing {
        Growing { file, punched: HEAD }
    }

    /// Gives the middle back, if enough has come.
    pub(crate) fn trim(&mut self) {
        let size = self.file.metadata().map_or(0, |m| m.len());
        let end = size.saturating_sub(TAIL);
        if end > self.punched + STEP {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(&self.file, hole, self.punched, end - self.punched);
            self.punched = end;
        }
    }

    /// What was written, once the program has ended.
    pub(crate) fn finish(self) -> Output {
        let size = self.file.metadata().map_or(0, |m| m.len());
        let read = |from: u64, len: u64| {
            let mut bytes = vec![0; len as usize];
            let n = self.file.read_at(&mut bytes, from).unwrap_or(0);
            bytes.truncate(n);
            bytes
        };
        if size <= HEAD + TAIL {
            return Output {
                kept: read(0, size),
                cut: 0,
            };
        }
        let mut kept = read(0, HEAD);
        kept.extend(read(size - TAIL, TAIL));
        Output {
            kept,
            cut: size - HEAD - TAIL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn beginning_and_end_are_kept_and_the_rest_is_counted() {
        let path = std::env::temp_dir().join(format!("dh-output-{}", std::process::id()));
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        let mut growing = Growing::new(file.try_clone().unwrap());
        for n in 0..40u8 {
            file.write_all(&vec![n; 1 << 20]).unwrap();
            growing.trim();
        }
        let output = growing.finish();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(output.kept.len() as u64 + output.cut, 40 << 20);
        assert_eq!((output.kept[0], *output.kept.last().unwrap()), (0, 39));
    }
}
