//! Opening: named pipes wait in the model; the kernel's random devices are noted, so that reads of them come
//! from the plan's seed.

use super::interpose;
use crate::bytes::c_string;
use crate::descriptors::{self, tells};
use crate::held::Held;
use crate::observe;
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{point, wait};
use crate::wait::{Outcome, Wait};
use deadheat_model::{ObjectKind, Operation};
use libc::{c_char, c_int, c_uint};

const WORDS: usize = 16;

/// Descriptors of random devices, as bits.
static RANDOM: Held<[u64; WORDS]> = Held::new([0; WORDS]);

/// Whether a descriptor is a random device's.
pub fn is_random(fd: c_int) -> bool {
    RANDOM
        .get()
        .get(fd as usize / 64)
        .is_some_and(|w| w >> (fd % 64) & 1 != 0)
}

fn note(fd: c_int, random: bool) {
    if let Some(word) = RANDOM.get().get_mut(fd as usize / 64) {
        let bit = 1 << (fd % 64);
        *word = if random { *word | bit } else { *word & !bit };
    }
}

/// Whether a path names a pipe.
unsafe fn is_fifo(directory: c_int, path: *const c_char) -> bool {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the caller's path; the kernel fills the buffer, and zeroed it is valid too.
    unsafe {
        sys!(libc::SYS_newfstatat, directory, path, stat.as_mut_ptr(), 0i32) == 0
            && stat.assume_init().st_mode & libc::S_IFMT == libc::S_IFIFO
    }
}

/// Whether somebody has opened a named pipe for writing since we opened it for reading.
fn has_writer(fd: c_int) -> bool {
    // Data, or an end of data.
    if descriptors::ready(fd, libc::POLLIN) {
        return true;
    }
    // A copy of nothing fails only where more may come.
    let mut scratch: [c_int; 2] = [-1; 2];
    // SAFETY: descriptors of our own.
    unsafe {
        if sys!(libc::SYS_pipe2, scratch.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return true;
        }
        let copied = sys!(libc::SYS_tee, fd, scratch[1], 1usize, libc::SPLICE_F_NONBLOCK);
        sys!(libc::SYS_close, scratch[0]);
        sys!(libc::SYS_close, scratch[1]);
        copied != 0
    }
}

unsafe fn open_at(t: &mut Thread, directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    super::thread_state::looks_at(t, path);
    // SAFETY: the caller's path.
    unsafe {
        let call = |flags: c_int| sys!(libc::SYS_openat, directory, path, flags, mode);
        if flags & libc::O_NONBLOCK != 0 || flags & libc::O_ACCMODE == libc::O_RDWR || !is_fifo(directory, path) {
            let fd = c_result(call(flags)) as c_int;
            // That the file is there, or is not, may be another thread's doing.
            observe::told(t.id, ObjectKind::Descriptor, None);
            note(fd, matches!(c_string(path), b"/dev/urandom" | b"/dev/random"));
            return fd;
        }
        point(Operation::External);
        let reads = flags & libc::O_ACCMODE == libc::O_RDONLY;
        let mut opened = -1;
        // Each side waits for the other: a writer cannot open before a reader has, a reader has and looks for a writer.
        loop {
            let fd = if opened >= 0 {
                opened
            } else {
                call(flags | libc::O_NONBLOCK)
            };
            if reads && fd >= 0 && !has_writer(fd as c_int) {
                opened = fd;
                if wait(t, Wait::Retry, Operation::External, NEVER) == Outcome::Interrupted
                    && !crate::signals::restarts(t)
                {
                    sys!(libc::SYS_close, opened);
                    return fail(libc::EINTR);
                }
                continue;
            }
            if fd >= 0 {
                sys!(
                    libc::SYS_fcntl,
                    fd,
                    libc::F_SETFL,
                    flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC)
                );
                observe::told(t.id, ObjectKind::Descriptor, None);
                return fd as c_int;
            }
            if fd != -(libc::ENXIO as isize) {
                return c_result(fd) as c_int;
            }
            if wait(t, Wait::Retry, Operation::External, NEVER) == Outcome::Interrupted && !crate::signals::restarts(t)
            {
                return fail(libc::EINTR);
            }
        }
    }
}

interpose! {
    fn open(t; path: *const c_char, flags: c_int, mode: c_uint) -> c_int { open_at(t, libc::AT_FDCWD, path, flags, mode) }
    fn open64(t; path: *const c_char, flags: c_int, mode: c_uint) -> c_int { open_at(t, libc::AT_FDCWD, path, flags, mode) }
    fn __open_2(t; path: *const c_char, flags: c_int) -> c_int { open_at(t, libc::AT_FDCWD, path, flags, 0) }
    fn __open64_2(t; path: *const c_char, flags: c_int) -> c_int { open_at(t, libc::AT_FDCWD, path, flags, 0) }
    fn openat(t; directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        open_at(t, directory, path, flags, mode)
    }
    fn openat64(t; directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        open_at(t, directory, path, flags, mode)
    }
    fn close(t; fd: c_int) -> c_int {
        note(fd, false);
        crate::timers::closes(fd);
        tells(t, fd);
        crate::peer::stirred();
        let result = c_result(sys!(libc::SYS_close, fd)) as c_int;
        descriptors::closed(fd);
        result
    }
}
