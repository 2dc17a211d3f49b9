//! C11 threads: `thrd_*`, `mtx_*`, `cnd_*`, `call_once`. glibc's types are the POSIX ones.

use super::{condition, interpose, mutex, threads};
use crate::clock;
use crate::real::real;
use crate::thread::{NEVER, StartRoutine};
use crate::token;
use core::ffi::c_void;
use libc::{c_int, pthread_t, timespec};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn status(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM | libc::EAGAIN => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

interpose! {
    fn thrd_create(t; thread: *mut pthread_t, start: StartRoutine, argument: *mut c_void) -> c_int {
        status(threads::create(t, thread, core::ptr::null_mut(), start, argument))
    }
    fn thrd_join(t; thread: pthread_t, result: *mut c_int) -> c_int {
        let mut value: *mut c_void = core::ptr::null_mut();
        let error = threads::join(t, thread, &mut value, NEVER);
        if error == 0 && !result.is_null() {
            *result = value as usize as c_int;
        }
        status(error)
    }
    fn thrd_detach(_t; thread: pthread_t) -> c_int { status(threads::pthread_detach(thread)) }
    fn thrd_sleep(t; time: *const timespec, left: *mut timespec) -> c_int {
        match super::sleep::relative(t, time, left) {
            0 => 0,
            libc::EINTR => -1,
            _ => -2,
        }
    }
    fn mtx_lock(_t; lock: *mut c_void) -> c_int { status(mutex::pthread_mutex_lock(lock)) }
    fn mtx_trylock(_t; lock: *mut c_void) -> c_int { status(mutex::pthread_mutex_trylock(lock)) }
    fn mtx_timedlock(_t; lock: *mut c_void, until: *const timespec) -> c_int {
        status(mutex::pthread_mutex_timedlock(lock, until))
    }
    fn mtx_unlock(_t; lock: *mut c_void) -> c_int { status(mutex::pthread_mutex_unlock(lock)) }
    fn cnd_wait(t; cond: *mut c_void, lock: *mut c_void) -> c_int {
        status(condition::wait_on(t, cond as u64, lock as u64, Some(NEVER)))
    }
    fn cnd_timedwait(t; cond: *mut c_void, lock: *mut c_void, until: *const timespec) -> c_int {
        status(condition::wait_on(t, cond as u64, lock as u64, clock::absolute(until, libc::CLOCK_REALTIME)))
    }
    fn cnd_signal(t; cond: *mut c_void) -> c_int {
        condition::signal(t, cond as u64, false);
        SUCCESS
    }
    fn cnd_broadcast(t; cond: *mut c_void) -> c_int {
        condition::signal(t, cond as u64, true);
        SUCCESS
    }
}

/// Ends the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_exit(result: c_int) {
    if token::running() {
        // SAFETY: does not return.
        unsafe { threads::pthread_exit(result as usize as *mut c_void) }
    }
    // SAFETY: does not return.
    unsafe { real!(thrd_exit: fn(c_int) -> ())(result) }
}

/// Gives the processor up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_yield() {
    match token::me() {
        Some(t) => {
            t.frame = super::frame!();
            token::give_way(t);
        }
        // SAFETY: the real function.
        None => unsafe { real!(thrd_yield: fn() -> ())() },
    }
}

/// Destroys a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_destroy(lock: *mut c_void) {
    // SAFETY: the caller's mutex.
    unsafe { mutex::pthread_mutex_destroy(lock) };
}

/// Destroys a condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_destroy(cond: *mut c_void) {
    // SAFETY: the caller's condition variable.
    unsafe { condition::pthread_cond_destroy(cond) };
}

/// Does it once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(control: *mut c_void, routine: extern "C" fn()) {
    match token::me() {
        Some(t) => {
            t.frame = super::frame!();
            // SAFETY: the caller's control.
            unsafe { super::once::once(t, control as u64, routine) };
        }
        // SAFETY: the real function.
        None => unsafe { real!(call_once: fn(*mut c_void, extern "C" fn()) -> ())(control, routine) },
    }
}
