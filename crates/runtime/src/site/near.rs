//! Executable memory for stubs within reach of a module's text.
//!
//! A jump reaches ±2 GiB. The place is tried at fixed distances from the module, below a position
//! independent executable (its heap grows above) and above a library (the program's own mappings grow
//! below), with `MAP_FIXED_NOREPLACE`: so it is the same in every run, and the kernel's choice for the
//! program's own mappings stays what it would have been.

use crate::sys::sys;

/// Distance between two tries.
const STEP: u64 = 32 << 20;
/// How far a stub may be from the text.
const REACH: u64 = (2 << 30) - (64 << 20);
/// Above this address libraries live; below it the executable and its heap.
const LIBRARIES: u64 = 0x7000_0000_0000;
const PAGE: u64 = 4096;

/// Pages for code: writable until [`Pages::seal`].
pub struct Pages {
    start: u64,
    len: u64,
    used: u64,
}

impl Pages {
    /// At least `size` bytes within reach of all of `low..high`.
    pub fn reserve(low: u64, high: u64, size: u64) -> Option<Pages> {
        let len = size.div_ceil(PAGE) * PAGE;
        let below = |n: u64| (low & !(PAGE - 1)).checked_sub(n * STEP + len);
        let above = |n: u64| (high.div_ceil(PAGE) * PAGE).checked_add(n * STEP);
        (1..REACH / STEP)
            .flat_map(|n| {
                if low < LIBRARIES {
                    [below(n), above(n)]
                } else {
                    [above(n), below(n)]
                }
            })
            .flatten()
            .filter(|&at| at >= PAGE && high.saturating_sub(at) < REACH && (at + len).saturating_sub(low) < REACH)
            .find_map(|at| Pages::map(at, len))
    }

    fn map(at: u64, len: u64) -> Option<Pages> {
        // SAFETY: a new private mapping that replaces nothing.
        let got = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            sys!(
                libc::SYS_mmap,
                at,
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1i32,
                0usize
            )
        };
        let got = got as u64;
        if got == at {
            return Some(Pages {
                start: at,
                len,
                used: 0,
            });
        }
        if got < u64::MAX - 4095 {
            // An old kernel took the address for a hint.
            // SAFETY: the mapping was just made and nobody knows of it.
            unsafe { sys!(libc::SYS_munmap, got, len) };
        }
        None
    }

    /// Address of the next byte written.
    pub fn next(&self) -> u64 {
        self.start + self.used
    }

    /// Appends code or data and gives its address; `None` when full.
    pub fn put(&mut self, bytes: &[u8]) -> Option<u64> {
        let at = self.next();
        if bytes.len() as u64 > self.len - self.used {
            return None;
        }
        // SAFETY: `at..at + bytes.len()` lies in our own writable mapping.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.used += bytes.len() as u64;
        Some(at)
    }

    /// Makes the pages executable and no longer writable.
    pub fn seal(self) -> bool {
        protect(self.start, self.len, libc::PROT_READ | libc::PROT_EXEC)
    }
}

/// Changes the protection of the pages that hold `start..start + len`.
pub fn protect(start: u64, len: u64, protection: i32) -> bool {
    let first = start & !(PAGE - 1);
    let bytes = (start + len).div_ceil(PAGE) * PAGE - first;
    // SAFETY: changes no contents; callers name pages of a module's text or of their own.
    unsafe { sys!(libc::SYS_mprotect, first, bytes, protection) == 0 }
}
