//! Sleeping and yielding, in virtual time.

use super::interpose;
use crate::clock;
use crate::sys::{fail, set_errno};
use crate::thread::Thread;
use crate::token::{self, wait};
use crate::wait::{Outcome, Wait};
use deadheat_model::Operation;
use libc::{c_int, c_uint, timespec};

/// Sleeps until a moment; nanoseconds left if interrupted.
fn until(t: &mut Thread, deadline: u64) -> Option<u64> {
    super::cancel::test(t);
    let outcome = wait(t, Wait::Sleep, Operation::Yield, deadline);
    if outcome != Outcome::Interrupted {
        return None;
    }
    super::cancel::test(t);
    Some(deadline.saturating_sub(clock::now()))
}

/// `nanosleep` with the error as result.
pub unsafe fn relative(t: &mut Thread, time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller's time.
    let Some(deadline) = (unsafe { clock::relative(time) }) else {
        return libc::EINVAL;
    };
    let Some(rest) = until(t, deadline) else { return 0 };
    if !left.is_null() {
        // SAFETY: the caller's buffer.
        unsafe { *left = clock::timespec(rest) };
    }
    libc::EINTR
}

interpose! {
    fn sched_yield(t;) -> c_int {
        token::give_way(t);
        0
    }
    fn pthread_yield(t;) -> c_int {
        token::give_way(t);
        0
    }
    fn nanosleep(t; time: *const timespec, left: *mut timespec) -> c_int {
        match relative(t, time, left) {
            0 => 0,
            error => fail(error),
        }
    }
    fn clock_nanosleep(t; id: c_int, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int {
        if flags & libc::TIMER_ABSTIME == 0 {
            return relative(t, time, left);
        }
        match clock::absolute(time, id) {
            Some(deadline) => until(t, deadline).map_or(0, |_| libc::EINTR),
            None => libc::EINVAL,
        }
    }
    fn usleep(t; microseconds: c_uint) -> c_int {
        match until(t, clock::after(u64::from(microseconds) * 1_000)) {
            None => 0,
            Some(_) => fail(libc::EINTR),
        }
    }
    fn sleep(t; seconds: c_uint) -> c_uint {
        let left = until(t, clock::after(u64::from(seconds) * 1_000_000_000));
        if left.is_some() {
            set_errno(libc::EINTR);
        }
        left.map_or(0, |l| l.div_ceil(1_000_000_000) as c_uint)
    }
}
