//! The record channel: appends frames to the shared file that the tool reads.
//!
//! Layout in `deadheat_wire::channel`. Several processes of one run may write (fork): a lock word in the
//! header, which holds the writer's process id, keeps frames whole; a lock whose owner died is taken over.
//! A frame counts once the committed length says so, so a process may die at any point.

use crate::sys::{getpid, sys};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use deadheat_wire::channel::{self, COMMITTED_AT, HEADER_SIZE, LOST_AT, PROCESSES_AT, RESERVE, STEPS_AT};
use deadheat_wire::record::Record;

/// Offset of the lock word in the header.
const LOCK_AT: usize = 40;

/// Room is made in steps of so many bytes at first, since most runs need little, and of as many as there are then.
const FIRST_STEP: usize = 16 << 10;
/// But of no more than this.
const STEP: usize = 256 << 10;

static FILE: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the mapping for which the file system is known to have room.
static ROOM: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);

fn word64(at: usize) -> &'static AtomicU64 {
    // SAFETY: within the mapped header.
    unsafe { &*((FILE.load(Relaxed) + at) as *const AtomicU64) }
}

fn word32(at: usize) -> &'static AtomicU32 {
    // SAFETY: within the mapped header.
    unsafe { &*((FILE.load(Relaxed) + at) as *const AtomicU32) }
}

/// A word of the header; none without a record file.
pub fn header(at: usize) -> Option<&'static AtomicU32> {
    open().then(|| word32(at))
}

/// Two words of the header as one.
pub fn header_time(at: usize) -> Option<&'static AtomicU64> {
    open().then(|| word64(at))
}

fn open() -> bool {
    FILE.load(Relaxed) != 0
}

/// Maps the record file; whether that worked (its file system has room). `path` ends in NUL.
pub fn start(path: &[u8]) -> bool {
    // SAFETY: plain file calls; the mapping is ours.
    unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC, 0i32) as i32;
        if fd < 0 {
            return false;
        }
        let size = sys!(libc::SYS_lseek, fd, 0i64, libc::SEEK_END) as usize;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // Far from the program's own mappings, as the region is.
        let hint = 0x1100_0000_0000usize;
        let at = sys!(libc::SYS_mmap, hint, size, prot, libc::MAP_SHARED, fd, 0usize);
        sys!(libc::SYS_close, fd);
        if at < 0 && at > -4096 || size < HEADER_SIZE + RESERVE {
            return false;
        }
        sys!(libc::SYS_madvise, at, size, libc::MADV_DONTDUMP);
        FILE.store(at as usize, Relaxed);
        SIZE.store(size, Relaxed);
        if !room(HEADER_SIZE) {
            FILE.store(0, Relaxed);
            return false;
        }
        if core::slice::from_raw_parts(at as *const u8, 8) != channel::MAGIC {
            FILE.store(0, Relaxed);
            return false;
        }
    }
    word32(PROCESSES_AT).fetch_add(1, Relaxed);
    true
}

/// The number of a module by its key, the same in all processes of the run; none if there is no more room.
pub fn module_number(key: u64) -> Option<u16> {
    let numbers = 0..channel::MODULES;
    let taken = |n: &usize| {
        let word = word64(channel::MODULES_AT + n * 8);
        let seen = word.compare_exchange(0, key, AcqRel, Acquire);
        seen.is_ok() || seen == Err(key)
    };
    open()
        .then(|| numbers.into_iter().find(taken))
        .flatten()
        .map(|n| n as u16)
}

/// A child process writes here too.
pub fn forked() {
    if open() {
        word32(PROCESSES_AT).fetch_add(1, Relaxed);
    }
}

/// This process is about to end.
pub fn leave() {
    if open() {
        word32(PROCESSES_AT).fetch_sub(1, Relaxed);
    }
}

fn lock() {
    let own = getpid() as u32;
    let lock = word32(LOCK_AT);
    let mut tries = 0u32;
    loop {
        match lock.compare_exchange(0, own, Acquire, Relaxed) {
            Ok(_) => return,
            // A crash while this process was writing: the frame was not committed, write over it.
            Err(owner) if owner == own => return,
            Err(owner) => {
                tries += 1;
                // SAFETY: signal 0 only asks whether the process exists.
                let gone = tries & 63 == 0 && unsafe { sys!(libc::SYS_kill, owner, 0i32) } == -(libc::ESRCH as isize);
                if gone && lock.compare_exchange(owner, own, Acquire, Relaxed).is_ok() {
                    return;
                }
                // SAFETY: no arguments.
                unsafe { sys!(libc::SYS_sched_yield) };
            }
        }
    }
}

/// Whether the file system has room for the mapping's first bytes up to `end`: writing to a hole of a full one would
/// kill the program. Kernels that cannot tell are trusted.
fn room(end: usize) -> bool {
    let have = ROOM.load(Relaxed);
    if end <= have {
        return true;
    }
    let step = have.next_power_of_two().clamp(FIRST_STEP, STEP);
    let to = end.next_multiple_of(step).min(SIZE.load(Relaxed));
    // SAFETY: a part of our mapping; whole pages, since each step is a multiple of theirs.
    let made = unsafe {
        sys!(
            libc::SYS_madvise,
            FILE.load(Relaxed) + have,
            to - have,
            libc::MADV_POPULATE_WRITE
        )
    };
    if made != 0 && made != -(libc::EINVAL as isize) {
        return false;
    }
    ROOM.store(to, Relaxed);
    true
}

/// Appends a record; counts it as lost if it does not fit.
pub fn write(record: &Record) {
    if !open() {
        return;
    }
    let frame = channel::frame(getpid() as u32, record);
    let last = matches!(
        record,
        Record::Ended(_)
            | Record::Deadlock(_)
            | Record::Hang(_)
            | Record::Granules(_)
            | Record::Notice(_)
            | Record::LockWords(_)
    );
    lock();
    let committed = word64(COMMITTED_AT).load(Acquire) as usize;
    let end = HEADER_SIZE + committed + frame.len();
    if end + if last { 0 } else { RESERVE } > SIZE.load(Relaxed) || !room(end) {
        word64(LOST_AT).fetch_add(1, Relaxed);
    } else {
        // SAFETY: the range lies within the mapping; the lock makes it ours.
        unsafe {
            let to = (FILE.load(Relaxed) + HEADER_SIZE + committed) as *mut u8;
            core::ptr::copy_nonoverlapping(frame.as_ptr(), to, frame.len());
        }
        word64(COMMITTED_AT).store((committed + frame.len()) as u64, Release);
    }
    word32(LOCK_AT).store(0, Release);
}

/// Shows that the run goes on.
pub fn heartbeat(steps: u64) {
    if open() {
        word64(STEPS_AT).store(steps, Relaxed);
    }
}
