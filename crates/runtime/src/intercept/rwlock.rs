//! `pthread_rwlock_*`: number of readers at 0, writer at 4 ([`shared::owner_word`]), glibc's kind at 48.

use super::{interpose, shared};
use crate::clock;
use crate::lock_order;
use crate::misuse;
use crate::observe;
use crate::thread::{NEVER, Thread};
use crate::token::{self, point, released, scheduler, wait};
use crate::wait::{Outcome, Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{LockMode, ObjectKind, Operation};
use libc::{c_int, timespec};

const WRITER: u64 = 4;
/// Whether processes share it.
pub const SHARED: u64 = 28;
const KIND: u64 = 48;
const PREFERS_WRITERS: i32 = 2;
const SIZE: u64 = 56;

/// Whether a reader may enter.
pub unsafe fn readable(a: u64) -> bool {
    // SAFETY: a live lock.
    unsafe {
        let prefers_writers = word(a + KIND).load(Relaxed) & 0xff == PREFERS_WRITERS;
        word(a + WRITER).load(Relaxed) == 0
            && !(prefers_writers && scheduler().threads.iter().any(|t| t.wait == Wait::WriteLock(a)))
    }
}

/// Whether a writer may enter.
pub unsafe fn writable(a: u64) -> bool {
    // SAFETY: a live lock.
    unsafe { word(a).load(Relaxed) == 0 && word(a + WRITER).load(Relaxed) == 0 }
}

unsafe fn is_shared(a: u64) -> bool {
    // SAFETY: a live lock.
    unsafe { word(a + SHARED).load(Relaxed) != 0 }
}

/// The word of `t` as a writer.
unsafe fn own(t: &Thread, a: u64) -> i32 {
    // SAFETY: a live lock.
    shared::owner_word(t, unsafe { is_shared(a) })
}

/// `t` entered.
unsafe fn took(t: &Thread, a: u64) {
    // SAFETY: a live lock.
    if unsafe { is_shared(a) } {
        shared::taken(t);
    }
}

fn acquire(a: u64) -> Operation {
    Operation::Acquire(ObjectKind::RwLock, observe::object(a))
}

unsafe fn read_lock(t: &mut Thread, a: u64, deadline: Option<u64>) -> c_int {
    let Some(deadline) = deadline else { return libc::EINVAL };
    let next = |t: &Thread| {
        if deadline == NEVER {
            lock_order::coming(t, Wait::ReadLock(a), acquire(a))
        } else {
            acquire(a)
        }
    };
    point(next(t));
    // SAFETY: the caller's lock.
    unsafe {
        if word(a + WRITER).load(Relaxed) == own(t, a) {
            return libc::EDEADLK;
        }
        while !(readable(a) && shared::enter_as_reader(a)) {
            t.shared = word(a + SHARED).load(Relaxed) != 0;
            if wait(t, Wait::ReadLock(a), next(t), deadline) == Outcome::TimedOut && !readable(a) {
                return libc::ETIMEDOUT;
            }
        }
        took(t, a);
    }
    if deadline == NEVER {
        lock_order::waits(t, ObjectKind::RwLock, a, LockMode::Read, None);
    }
    token::acquired(t, ObjectKind::RwLock, a, LockMode::Read);
    0
}

unsafe fn write_lock(t: &mut Thread, a: u64, deadline: Option<u64>) -> c_int {
    let Some(deadline) = deadline else { return libc::EINVAL };
    let next = |t: &Thread| {
        if deadline == NEVER {
            lock_order::coming(t, Wait::WriteLock(a), acquire(a))
        } else {
            acquire(a)
        }
    };
    point(next(t));
    // SAFETY: the caller's lock.
    unsafe {
        if word(a + WRITER).load(Relaxed) == own(t, a) {
            return libc::EDEADLK;
        }
        while !shared::enter_as_writer(a, own(t, a)) {
            t.shared = word(a + SHARED).load(Relaxed) != 0;
            if wait(t, Wait::WriteLock(a), next(t), deadline) == Outcome::TimedOut && !writable(a) {
                return libc::ETIMEDOUT;
            }
        }
        took(t, a);
    }
    if deadline == NEVER {
        lock_order::waits(t, ObjectKind::RwLock, a, LockMode::Write, None);
    }
    token::acquired(t, ObjectKind::RwLock, a, LockMode::Write);
    0
}

interpose! {
    fn pthread_rwlock_rdlock(t; lock: *mut c_void) -> c_int { read_lock(t, lock as u64, Some(NEVER)) }
    fn pthread_rwlock_wrlock(t; lock: *mut c_void) -> c_int { write_lock(t, lock as u64, Some(NEVER)) }
    fn pthread_rwlock_timedrdlock(t; lock: *mut c_void, until: *const timespec) -> c_int {
        read_lock(t, lock as u64, clock::absolute(until, libc::CLOCK_REALTIME))
    }
    fn pthread_rwlock_timedwrlock(t; lock: *mut c_void, until: *const timespec) -> c_int {
        write_lock(t, lock as u64, clock::absolute(until, libc::CLOCK_REALTIME))
    }
    fn pthread_rwlock_clockrdlock(t; lock: *mut c_void, id: c_int, until: *const timespec) -> c_int {
        read_lock(t, lock as u64, clock::absolute(until, id))
    }
    fn pthread_rwlock_clockwrlock(t; lock: *mut c_void, id: c_int, until: *const timespec) -> c_int {
        write_lock(t, lock as u64, clock::absolute(until, id))
    }
    fn pthread_rwlock_tryrdlock(t; lock: *mut c_void) -> c_int {
        let a = lock as u64;
        point(acquire(a));
        if !(readable(a) && shared::enter_as_reader(a)) {
            super::mutex::failed_try(t);
            return libc::EBUSY;
        }
        took(t, a);
        token::acquired(t, ObjectKind::RwLock, a, LockMode::Read);
        0
    }
    fn pthread_rwlock_trywrlock(t; lock: *mut c_void) -> c_int {
        let a = lock as u64;
        point(acquire(a));
        if !shared::enter_as_writer(a, own(t, a)) {
            super::mutex::failed_try(t);
            return libc::EBUSY;
        }
        took(t, a);
        token::acquired(t, ObjectKind::RwLock, a, LockMode::Write);
        0
    }
    fn pthread_rwlock_unlock(t; lock: *mut c_void) -> c_int {
        let a = lock as u64;
        point(Operation::Release(ObjectKind::RwLock, observe::object(a)));
        if word(a + SHARED).load(Relaxed) == 0 {
            let (readers, writer) = (word(a).load(Relaxed), word(a + WRITER).load(Relaxed));
            misuse::gives_lock(t, ObjectKind::RwLock, a, readers, writer);
        }
        released(t, ObjectKind::RwLock, a);
        if word(a + WRITER).load(Relaxed) != 0 {
            word(a + WRITER).store(0, Relaxed);
        } else if word(a).load(Relaxed) > 0 {
            word(a).fetch_sub(1, Relaxed);
        }
        point(Operation::Continue);
        0
    }
    fn pthread_rwlock_destroy(t; lock: *mut c_void) -> c_int {
        if word(lock as u64 + SHARED).load(Relaxed) == 0 {
            misuse::destroys_lock(t, ObjectKind::RwLock, lock as u64);
        }
        observe::destroyed(lock as u64, SIZE);
        0
    }
}
