//! How the token passes from one kernel thread to another: store, wake, wait on one's own word.
//!
//! A seam: user-space switching would stand behind the same three functions.

use crate::sys::sys;
use crate::thread::Thread;
use core::sync::atomic::{AtomicU32, Ordering::*};
use deadheat_model::ThreadId;

const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Gives the token to another thread.
pub fn give(to: &Thread) {
    to.turn.store(1, Release);
    // SAFETY: wakes waiters on a live word.
    unsafe { sys!(libc::SYS_futex, &raw const to.turn, WAKE, 1i32) };
}

/// Waits until the token is given to this thread.
pub fn await_turn(own: &Thread) {
    while own.turn.load(Acquire) == 0 {
        // SAFETY: waits on a live word.
        unsafe { sys!(libc::SYS_futex, &raw const own.turn, WAIT, 0i32, 0usize) };
    }
    own.turn.store(0, Relaxed);
}

/// Waits until the kernel thread of an ended thread is gone, so that what libc does at its end (stack,
/// malloc caches) has happened before anything else does.
pub fn await_gone(thread: &Thread) {
    let word: *const AtomicU32 = thread.gone_word;
    if word.is_null() && thread.id == ThreadId::MAIN {
        // The first kernel thread of a process stays until the last one ends.
        return;
    }
    if word.is_null() {
        // SAFETY: signal 0 only asks whether the thread exists.
        while unsafe { sys!(libc::SYS_tgkill, crate::sys::getpid(), thread.kernel_id, 0i32) } == 0 {
            // SAFETY: no arguments.
            unsafe { sys!(libc::SYS_sched_yield) };
        }
        return;
    }
    loop {
        // SAFETY: the word lies in the thread's descriptor, which lives until it is joined for real.
        let seen = unsafe { (*word).load(Acquire) };
        if seen == 0 {
            return;
        }
        // SAFETY: as above. The kernel wakes with a shared futex.
        unsafe { sys!(libc::SYS_futex, word, libc::FUTEX_WAIT, seen, 0usize) };
    }
}
