//! `sem_*`: the value in the low word, as glibc has it, so that `sem_init` and `sem_open` are its own.

use super::interpose;
use crate::clock;
use crate::lock_order;
use crate::observe;
use crate::sys::fail;
use crate::thread::{NEVER, Thread};
use crate::token::{point, progress, wait};
use crate::wait::{Outcome, Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{LockMode, ObjectKind, Operation};
use libc::{c_int, timespec};

/// glibc's mark of a semaphore that processes share.
const SHARED: u64 = 8;
const SIZE: u64 = 32;

fn acquire(a: u64) -> Operation {
    Operation::Acquire(ObjectKind::Semaphore, observe::object(a))
}

/// Takes one if there is one.
unsafe fn take(t: &mut Thread, a: u64) -> bool {
    // SAFETY: a live semaphore; another process may share it, hence the atomic update.
    let taken = unsafe { word(a) }
        .fetch_update(Relaxed, Relaxed, |v| (v > 0).then(|| v - 1))
        .is_ok();
    if taken {
        progress();
        t.idle_calls = 0;
        observe::acquire_edge(t.id, ObjectKind::Semaphore, a);
        // SAFETY: as above.
        if unsafe { word(a + SHARED) }.load(Relaxed) != 0 {
            super::shared::taken(t);
        }
    }
    taken
}

unsafe fn wait_for(t: &mut Thread, a: u64, deadline: Option<u64>) -> c_int {
    let Some(deadline) = deadline else {
        return fail(libc::EINVAL);
    };
    let next = |t: &Thread| {
        if deadline == NEVER {
            lock_order::coming(t, Wait::Semaphore(a), acquire(a))
        } else {
            acquire(a)
        }
    };
    point(next(t));
    super::cancel::test(t);
    // SAFETY: the caller's semaphore.
    while !unsafe { take(t, a) } {
        // SAFETY: as above.
        t.shared = unsafe { word(a + SHARED) }.load(Relaxed) != 0;
        let next = next(t);
        match wait(t, Wait::Semaphore(a), next, deadline) {
            Outcome::Ready => {}
            Outcome::TimedOut => return fail(libc::ETIMEDOUT),
            Outcome::Interrupted => {
                super::cancel::test(t);
                if !crate::signals::restarts(t) {
                    return fail(libc::EINTR);
                }
            }
        }
    }
    if deadline == NEVER {
        lock_order::waits(t, ObjectKind::Semaphore, a, LockMode::Write, None);
    }
    0
}

interpose! {
    fn sem_wait(t; sem: *mut c_void) -> c_int { wait_for(t, sem as u64, Some(NEVER)) }
    fn sem_timedwait(t; sem: *mut c_void, until: *const timespec) -> c_int {
        wait_for(t, sem as u64, clock::absolute(until, libc::CLOCK_REALTIME))
    }
    fn sem_clockwait(t; sem: *mut c_void, id: c_int, until: *const timespec) -> c_int {
        wait_for(t, sem as u64, clock::absolute(until, id))
    }
    fn sem_trywait(t; sem: *mut c_void) -> c_int {
        point(acquire(sem as u64));
        if take(t, sem as u64) {
            return 0;
        }
        super::mutex::failed_try(t);
        fail(libc::EAGAIN)
    }
    fn sem_post(t; sem: *mut c_void) -> c_int {
        let a = sem as u64;
        point(Operation::Release(ObjectKind::Semaphore, observe::object(a)));
        if word(a).load(Relaxed) == i32::MAX {
            return fail(libc::EOVERFLOW);
        }
        observe::release_edge(t.id, ObjectKind::Semaphore, a);
        lock_order::signals(t, ObjectKind::Semaphore, a);
        word(a).fetch_add(1, Relaxed);
        point(Operation::Continue);
        0
    }
    fn sem_getvalue(_t; sem: *mut c_void, value: *mut c_int) -> c_int {
        point(acquire(sem as u64));
        *value = word(sem as u64).load(Relaxed);
        0
    }
    fn sem_destroy(t; sem: *mut c_void) -> c_int {
        crate::misuse::destroys_semaphore(t, sem as u64, word(sem as u64).load(Relaxed));
        observe::destroyed(sem as u64, SIZE);
        0
    }
}
