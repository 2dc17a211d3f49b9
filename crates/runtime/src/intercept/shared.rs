//! Synchronisation objects that processes share (`PTHREAD_PROCESS_SHARED`, `sem_init` with 1, `sem_open`).
//!
//! Each process of a run has a schedule of its own, so their state lies in the objects' own words and changes in one
//! step, and whoever waits for another process looks again every millisecond of real time. Threads of two processes have
//! the same numbers, so owners are named by process and thread. What another process orders in between is not seen: in
//! runs that look for pairs that nothing orders, whoever takes such an object is ordered after all that was done so far.

use crate::thread::Thread;
use crate::wait::word;
use crate::{observe, sys};
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{ObjectKind, ThreadId};

/// Bits of an owner's word that hold the thread's number plus one; the process's id lies above, below the sign.
const THREAD_BITS: u32 = 10;
/// What does not fit: as it is, two owners could be taken for one.
const MOST_THREADS: i32 = (1 << THREAD_BITS) - 1;
const MOST_PROCESSES: i32 = (1 << (31 - THREAD_BITS)) - 1;

/// `t` took what another process may have given.
pub fn taken(t: &Thread) {
    observe::told(t.id, ObjectKind::Descriptor, None);
}

/// The word by which `t` owns a lock.
pub fn owner_word(t: &Thread, shared: bool) -> i32 {
    word_of(t.id, shared)
}

/// The word by which a thread of this process owns a lock; unlike that of any of another process if the lock is shared.
pub fn word_of(thread: ThreadId, shared: bool) -> i32 {
    let own = thread.0 as i32 + 1;
    if !shared {
        return own;
    }
    let process = sys::getpid();
    if own >= MOST_THREADS || process >= MOST_PROCESSES {
        super::not_modelled("a lock that processes share, in a thread or process of too high a number");
    }
    (process & MOST_PROCESSES) << THREAD_BITS | own & MOST_THREADS
}

/// Whether the process that this word of a shared lock names has ended.
pub fn owner_is_gone(owner: i32) -> bool {
    let pid = owner >> THREAD_BITS;
    if pid <= 0 || pid == sys::getpid() || sys::getpid() > MOST_PROCESSES {
        return false;
    }
    // Until its parent waits for it, a process that has ended is a zombie.
    let path = alloc::format!("/proc/{pid}/stat\0");
    let mut text = [0u8; 256];
    // SAFETY: a path with its end and a buffer of ours.
    let got = unsafe {
        let fd = sys::sys!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0i32) as i32;
        if fd < 0 {
            return sys::sys!(libc::SYS_kill, pid, 0i32) == -(libc::ESRCH as isize);
        }
        let got = sys::sys!(libc::SYS_read, fd, text.as_mut_ptr(), text.len());
        sys::sys!(libc::SYS_close, fd);
        got
    };
    // The state follows the name, which stands in brackets.
    let text = &text[..got.max(0) as usize];
    let state = text.iter().rposition(|b| *b == b')').and_then(|at| text.get(at + 2));
    matches!(state, Some(b'Z' | b'X'))
}

/// The two words of a read-write lock, readers and writer, as one.
fn words(a: u64) -> &'static core::sync::atomic::AtomicU64 {
    // SAFETY: a live lock of the program, aligned as such.
    unsafe { &*(a as *const core::sync::atomic::AtomicU64) }
}

/// Enters a read-write lock as a reader, if no writer holds it.
pub fn enter_as_reader(a: u64) -> bool {
    words(a)
        .fetch_update(Relaxed, Relaxed, |now| (now >> 32 == 0).then_some(now + 1))
        .is_ok()
}

/// Enters a read-write lock as its writer, if nobody holds it.
pub fn enter_as_writer(a: u64, owner: i32) -> bool {
    let own = u64::from(owner as u32) << 32;
    words(a).compare_exchange(0, own, Relaxed, Relaxed).is_ok()
}

/// The number of signals that a shared condition variable got while no thread of the signalling process waited. Those of
/// other processes wake when it changes, all of them: they may, and nobody is forgotten.
pub fn signals(condition: u64) -> i32 {
    // SAFETY: a live condition variable; the C library's own counter lies there.
    unsafe { word(condition) }.load(Relaxed)
}

/// Tells other processes of a signal.
pub fn signal(condition: u64) {
    // SAFETY: as above.
    unsafe { word(condition) }.fetch_add(1, Relaxed);
}
