//! `pthread_mutex_*`: all types; robust ones get their owner's death, priority protocols are ordinary.
//!
//! glibc's fields: lock at 0, count 4, owner 8, users 12, kind 16. The owner is a thread number plus one,
//! or one of the two marks of a robust mutex whose owner died.

pub use super::mutex_entry::{pthread_mutex_lock, pthread_mutex_unlock};
use super::{frame, interpose, shared};
use crate::clock;
use crate::journal;
use crate::lock_order;
use crate::misuse;
use crate::observe;
use crate::real::real;
use crate::thread::{Frame, NEVER, Thread};
use crate::token::{self, point, released, wait};
use crate::wait::{Outcome, Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::{Relaxed, Release};
use deadheat_model::{LockMode, ObjectKind, Operation, ThreadId};
use libc::{c_int, timespec};

const COUNT: u64 = 4;
const OWNER: u64 = 8;
const USERS: u64 = 12;
const KIND: u64 = 16;
const SIZE: u64 = 40;
const RECURSIVE: i32 = 1;
const ERRORCHECK: i32 = 2;
const ROBUST: i32 = 16;
const SHARED: i32 = 128;
/// Owner of a robust mutex whose owner died.
const INCONSISTENT: i32 = 0x7fff_ffff;
/// Owner of a robust mutex that was not made consistent.
const NOT_RECOVERABLE: i32 = 0x7fff_fffe;
/// Failed tries in a row after which a thread yields.
const TRIES: u32 = 16;

/// The operation of taking the mutex at `a`.
pub fn acquire(a: u64) -> Operation {
    Operation::Acquire(ObjectKind::Mutex, observe::object(a))
}

/// The word by which `t` owns a mutex of this kind.
fn own(t: &Thread, kind: i32) -> i32 {
    shared::owner_word(t, kind & SHARED != 0)
}

/// Whether the robust mutex at `a`, which processes share, is held by a process that has ended. Asks the kernel.
///
/// # Safety
/// A live mutex.
pub unsafe fn owner_died(a: u64) -> bool {
    const BOTH: i32 = ROBUST | SHARED;
    // SAFETY: fields of a live mutex.
    unsafe { word(a + KIND).load(Relaxed) & BOTH == BOTH && shared::owner_is_gone(word(a + OWNER).load(Relaxed)) }
}

/// The process ends: shared robust mutexes that its threads hold pass on with the mark.
pub fn process_ends() {
    for t in token::scheduler().threads.iter() {
        for (a, _) in &t.robust {
            // SAFETY: a robust mutex outlives its owner.
            unsafe {
                // A child has its parent's record, and not its locks.
                if word(a + OWNER).load(Relaxed) == shared::owner_word(t, true) {
                    word(a + OWNER).store(INCONSISTENT, Relaxed);
                    word(*a).store(0, Release);
                }
            }
        }
    }
}

/// Takes the mutex at `a`, waiting up to the deadline; `count` is the recursion count to set.
///
/// # Safety
/// A live mutex.
pub unsafe fn lock(t: &mut Thread, a: u64, deadline: u64, count: i32) -> c_int {
    // SAFETY: fields of a live mutex.
    unsafe {
        let kind = word(a + KIND).load(Relaxed);
        if kind < 0 {
            misuse::destroyed_mutex(t, a);
            return libc::EINVAL;
        }
        let owner = word(a + OWNER);
        if word(a).load(Relaxed) != 0 && owner.load(Relaxed) == own(t, kind) {
            match kind & 3 {
                RECURSIVE => {
                    word(a + COUNT).fetch_add(1, Relaxed);
                    return 0;
                }
                ERRORCHECK => return libc::EDEADLK,
                _ => {}
            }
        }
        if owner.load(Relaxed) == NOT_RECOVERABLE && kind & ROBUST != 0 {
            return libc::ENOTRECOVERABLE;
        }
        while word(a).compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
            t.shared = kind & SHARED != 0;
            let next = if deadline == NEVER { coming(t, a) } else { acquire(a) };
            let outcome = wait(t, Wait::Lock(ObjectKind::Mutex, a), next, deadline);
            if kind & SHARED != 0 && owner_died(a) {
                // Of those who see it one gets the lock, as it is, with the mark.
                let dead = owner.load(Relaxed);
                if shared::owner_is_gone(dead) && owner.compare_exchange(dead, INCONSISTENT, Relaxed, Relaxed).is_ok() {
                    break;
                }
            }
            if outcome == Outcome::TimedOut && word(a).load(Relaxed) != 0 {
                return libc::ETIMEDOUT;
            }
        }
        if deadline == NEVER {
            lock_order::waits(t, ObjectKind::Mutex, a, LockMode::Write, None);
        }
        take(t, a, kind, count)
    }
}

/// The operation of a thread that is about to wait for the mutex at `a` as long as it takes.
pub fn coming(t: &Thread, a: u64) -> Operation {
    lock_order::coming(t, Wait::Lock(ObjectKind::Mutex, a), acquire(a))
}

/// The lock word is ours: the rest of the fields.
unsafe fn take(t: &mut Thread, a: u64, kind: i32, count: i32) -> c_int {
    // The count of the default kind is free for us.
    let count = if kind == 0 { journal::mark(t) as i32 } else { count };
    // SAFETY: fields of a live mutex.
    let died = unsafe {
        let died = kind & ROBUST != 0 && word(a + OWNER).load(Relaxed) == INCONSISTENT;
        word(a + OWNER).store(own(t, kind), Relaxed);
        word(a + COUNT).store(count, Relaxed);
        word(a + USERS).store(1, Relaxed);
        died
    };
    if kind & ROBUST != 0 {
        t.robust.push((a, !died));
    }
    if kind & SHARED != 0 {
        shared::taken(t);
    }
    token::acquired(t, ObjectKind::Mutex, a, LockMode::Write);
    if died { libc::EOWNERDEAD } else { 0 }
}

/// Gives the mutex at `a` back; to wait for a condition variable, whatever its recursion count, which is returned.
///
/// # Safety
/// A live mutex.
pub unsafe fn unlock(t: &mut Thread, a: u64, waits: Option<u64>) -> Result<i32, c_int> {
    // SAFETY: fields of a live mutex.
    unsafe {
        let kind = word(a + KIND).load(Relaxed);
        if kind < 0 {
            misuse::destroyed_mutex(t, a);
            return Err(libc::EINVAL);
        }
        let owner = word(a + OWNER).load(Relaxed);
        if owner != own(t, kind) && (matches!(kind & 3, RECURSIVE | ERRORCHECK) || kind & ROBUST != 0) {
            misuse::refused(t, a, kind, waits);
            return Err(libc::EPERM);
        }
        let count = word(a + COUNT).load(Relaxed);
        if kind & 3 == RECURSIVE && count > 1 && waits.is_none() {
            word(a + COUNT).store(count - 1, Relaxed);
            return Ok(count);
        }
        if owner > 0 && owner != own(t, kind) && kind & SHARED == 0 {
            // Given back by a thread that did not take it: a misuse that glibc lets pass.
            misuse::mutex_of_another(t, a, kind, waits);
            crate::stuck::given_back_by_another();
            if let Some(taker) = token::thread(ThreadId(owner as u32 - 1)) {
                taker.locks.retain(|l| l.1 != a);
            }
        } else if word(a).load(Relaxed) == 0 {
            misuse::free_mutex(t, a, kind, waits);
        }
        released(t, ObjectKind::Mutex, a);
        let mut next = 0;
        if let Some(at) = t.robust.iter().position(|r| r.0 == a)
            && !t.robust.swap_remove(at).1
        {
            next = NOT_RECOVERABLE;
        }
        word(a + COUNT).store(0, Relaxed);
        word(a + OWNER).store(next, Relaxed);
        word(a + USERS).store(0, Relaxed);
        word(a).store(0, Release);
        Ok(count)
    }
}

/// Whether the thread holds the mutex, or its type does not ask.
///
/// # Safety
/// A live mutex.
pub unsafe fn may_wait_with(t: &Thread, a: u64) -> bool {
    // SAFETY: fields of a live mutex.
    unsafe {
        word(a + KIND).load(Relaxed) & 3 != ERRORCHECK
            || word(a + OWNER).load(Relaxed) == own(t, word(a + KIND).load(Relaxed))
    }
}

/// A thread ends: robust mutexes that it holds pass on with the mark.
pub fn abandon(t: &mut Thread) {
    for (a, _) in core::mem::take(&mut t.robust) {
        released(t, ObjectKind::Mutex, a);
        // SAFETY: a robust mutex outlives its owner.
        unsafe {
            word(a + OWNER).store(INCONSISTENT, Relaxed);
            word(a).store(0, Relaxed);
        }
    }
}

unsafe fn timed(t: &mut Thread, a: u64, deadline: Option<u64>) -> c_int {
    point(acquire(a));
    match deadline {
        // SAFETY: the caller's mutex.
        Some(deadline) => unsafe { lock(t, a, deadline, 1) },
        None => libc::EINVAL,
    }
}

/// Takes a mutex the entry code did not take. The long way is a function of its own, so that the short one saves no
/// registers.
///
/// # Safety
/// The caller's mutex; called as `pthread_mutex_lock`.
pub unsafe extern "C" fn locks(mutex: *mut c_void) -> c_int {
    let frame = frame!();
    // SAFETY: the caller's mutex.
    unsafe {
        if journal::lock(mutex as u64, &frame) {
            return 0;
        }
        takes(mutex, frame.pc, frame.frame, frame.stack)
    }
}

#[inline(never)]
unsafe fn takes(mutex: *mut c_void, pc: u64, frame: u64, stack: u64) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe {
        let Some(t) = token::me() else {
            return real!(pthread_mutex_lock: fn(*mut c_void) -> c_int)(mutex);
        };
        t.frame = Frame { pc, frame, stack };
        point(coming(t, mutex as u64));
        let before = journal::Before::now();
        let status = lock(t, mutex as u64, NEVER, 1);
        if status == 0 {
            journal::learn(t, mutex as u64, &before);
            journal::open(t);
        }
        status
    }
}

/// Gives a mutex back that the entry code did not; as [`locks`].
///
/// # Safety
/// The caller's mutex; called as `pthread_mutex_unlock`.
pub unsafe extern "C" fn unlocks(mutex: *mut c_void) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe {
        if journal::unlock(mutex as u64) {
            return 0;
        }
        gives(mutex, frame!())
    }
}

#[inline(never)]
unsafe fn gives(mutex: *mut c_void, frame: Frame) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe {
        let Some(t) = token::me() else {
            return real!(pthread_mutex_unlock: fn(*mut c_void) -> c_int)(mutex);
        };
        t.frame = frame;
        point(Operation::Release(ObjectKind::Mutex, observe::object(mutex as u64)));
        let result = unlock(t, mutex as u64, None);
        point(Operation::Continue);
        journal::open(t);
        result.err().unwrap_or(0)
    }
}

interpose! {
    fn pthread_mutex_timedlock(t; mutex: *mut c_void, until: *const timespec) -> c_int {
        timed(t, mutex as u64, clock::absolute(until, libc::CLOCK_REALTIME))
    }
    fn pthread_mutex_clocklock(t; mutex: *mut c_void, id: c_int, until: *const timespec) -> c_int {
        timed(t, mutex as u64, clock::absolute(until, id))
    }
    fn pthread_mutex_trylock(t; mutex: *mut c_void) -> c_int {
        let a = mutex as u64;
        point(acquire(a));
        let kind = word(a + KIND).load(Relaxed);
        if word(a).load(Relaxed) == 0 || (kind & 3 == RECURSIVE && word(a + OWNER).load(Relaxed) == own(t, kind)) {
            return lock(t, a, 0, 1);
        }
        failed_try(t);
        libc::EBUSY
    }
    fn pthread_mutex_destroy(t; mutex: *mut c_void) -> c_int {
        let a = mutex as u64;
        misuse::destroys_mutex(t, a);
        if word(a).load(Relaxed) != 0 {
            return libc::EBUSY;
        }
        word(a + KIND).store(-1, Relaxed);
        observe::destroyed(a, SIZE);
        0
    }
    fn pthread_mutex_consistent(t; mutex: *mut c_void) -> c_int {
        match t.robust.iter_mut().find(|r| r.0 == mutex as u64) {
            Some(held) if !held.1 => held.1 = true,
            _ => return libc::EINVAL,
        }
        0
    }
    fn pthread_mutex_consistent_np(_t; mutex: *mut c_void) -> c_int { pthread_mutex_consistent(mutex) }
    fn pthread_mutex_setprioceiling(_t; _mutex: *mut c_void, _ceiling: c_int, _old: *mut c_int) -> c_int {
        libc::EINVAL
    }
}

/// After many failed tries in a row the thread yields.
pub fn failed_try(t: &mut Thread) {
    t.idle_calls += 1;
    if t.idle_calls >= TRIES {
        t.idle_calls = 0;
        token::give_way(t);
    }
}
