//! `pthread_cond_*`. Waiters are known by the variable's address; nothing is kept in the variable itself
//! but its clock (glibc's flag word at 36), and, if processes share it, a count of signals ([`shared`]).

use super::{interpose, mutex, shared};
use crate::clock;
use crate::lock_order;
use crate::misuse;
use crate::observe;
use crate::thread::{NEVER, Thread};
use crate::token::{first_waiting, point, scheduler, wait, wake};
use crate::wait::{Outcome, Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{LockMode, ObjectKind, Operation};
use libc::{c_int, timespec};

const FLAGS: u64 = 36;
const MONOTONIC: i32 = 2;
const SHARED: i32 = 1;
const SIZE: u64 = 48;

/// Clock that a condition variable's time-outs are on.
unsafe fn clock_of(c: u64) -> c_int {
    // SAFETY: a live condition variable.
    let monotonic = unsafe { word(c + FLAGS) }.load(Relaxed) & MONOTONIC != 0;
    if monotonic {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

unsafe fn is_shared(c: u64) -> bool {
    // SAFETY: a live condition variable.
    unsafe { word(c + FLAGS).load(Relaxed) & SHARED != 0 }
}

/// Waits on `c` with `m` given back meanwhile.
pub unsafe fn wait_on(t: &mut Thread, c: u64, m: u64, deadline: Option<u64>) -> c_int {
    let Some(deadline) = deadline else { return libc::EINVAL };
    // SAFETY: the caller's condition variable and mutex.
    unsafe {
        if !mutex::may_wait_with(t, m) {
            return libc::EPERM;
        }
        let usual = Operation::Acquire(ObjectKind::Condition, observe::object(c));
        if deadline == NEVER {
            lock_order::waits(t, ObjectKind::Condition, c, LockMode::Write, Some(m));
            point(lock_order::coming(t, Wait::Condition(c), usual));
        } else {
            point(usual);
        }
        super::cancel::test(t);
        misuse::waits_with(t, c, m);
        t.with_mutex = m;
        let is_shared = is_shared(c);
        // Before the mutex is given back, or a signal could come between.
        t.signals_seen = if is_shared { shared::signals(c) } else { 0 };
        let count = match mutex::unlock(t, m, Some(c)) {
            Ok(count) => count,
            Err(error) => return error,
        };
        t.shared = is_shared;
        let next = mutex::coming(t, m);
        let outcome = wait(t, Wait::Condition(c), next, deadline);
        if outcome == Outcome::Ready {
            observe::acquire_edge(t.id, ObjectKind::Condition, c);
            if is_shared {
                shared::taken(t);
            }
        }
        let relocked = mutex::lock(t, m, NEVER, count.max(1));
        super::cancel::test(t);
        match (relocked, outcome) {
            (0, Outcome::TimedOut) => libc::ETIMEDOUT,
            (error, _) => error,
        }
    }
}

/// Wakes one waiter or all.
pub fn signal(t: &mut Thread, c: u64, all: bool) {
    point(Operation::Release(ObjectKind::Condition, observe::object(c)));
    scheduler().wakes += 1;
    lock_order::signals(t, ObjectKind::Condition, c);
    let mut edge = false;
    // SAFETY: the caller's condition variable.
    let is_shared = unsafe { is_shared(c) };
    while let Some(waiter) = first_waiting(|w| w.wait == Wait::Condition(c)) {
        if !edge {
            observe::release_edge(t.id, ObjectKind::Condition, c);
            edge = true;
        }
        wake(waiter);
        if !all {
            break;
        }
    }
    // A thread of ours that was woken is enough for one signal.
    if is_shared && (all || !edge) {
        shared::signal(c);
    }
    point(Operation::Continue);
}

interpose! {
    fn pthread_cond_wait(t; cond: *mut c_void, mutex: *mut c_void) -> c_int {
        wait_on(t, cond as u64, mutex as u64, Some(NEVER))
    }
    fn pthread_cond_timedwait(t; cond: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int {
        wait_on(t, cond as u64, mutex as u64, clock::absolute(until, clock_of(cond as u64)))
    }
    fn pthread_cond_clockwait(t; cond: *mut c_void, mutex: *mut c_void, id: c_int, until: *const timespec) -> c_int {
        wait_on(t, cond as u64, mutex as u64, clock::absolute(until, id))
    }
    fn pthread_cond_signal(t; cond: *mut c_void) -> c_int {
        signal(t, cond as u64, false);
        0
    }
    fn pthread_cond_broadcast(t; cond: *mut c_void) -> c_int {
        signal(t, cond as u64, true);
        0
    }
    fn pthread_cond_destroy(t; cond: *mut c_void) -> c_int {
        misuse::destroys_condition(t, cond as u64);
        observe::destroyed(cond as u64, SIZE);
        0
    }
}
