//! POSIX message queues. Their descriptors can be polled like any other on Linux.

use super::interpose;
use crate::clock;
use crate::descriptors::{QUEUES, ready, tells_by, told_by};
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{point, progress, wait};
use crate::wait::{Outcome, Wait};
use core::ffi::c_void;
use deadheat_model::Operation;
use libc::{c_int, c_uint, timespec};

/// Waits for the queue, then makes the call, which has no time to wait itself.
fn until(
    t: &mut Thread,
    queue: c_int,
    events: i16,
    time: *const timespec,
    call: impl Fn(*const timespec) -> isize,
) -> isize {
    point(Operation::External);
    super::cancel::test(t);
    let past = clock::timespec(0);
    let deadline = if time.is_null() {
        Some(NEVER)
    } else {
        // SAFETY: the caller's time.
        unsafe { clock::absolute(time, libc::CLOCK_REALTIME) }
    };
    let Some(deadline) = deadline else {
        return fail(libc::EINVAL) as isize;
    };
    while !ready(queue, events) {
        if crate::descriptors::nonblocking(queue) {
            break;
        }
        t.descriptors.clear();
        t.descriptors.push(libc::pollfd {
            fd: queue,
            events,
            revents: 0,
        });
        match wait(t, Wait::Descriptors, Operation::External, deadline) {
            Outcome::TimedOut => return fail(libc::ETIMEDOUT) as isize,
            Outcome::Interrupted if !crate::signals::restarts(t) => return fail(libc::EINTR) as isize,
            _ => {}
        }
        super::cancel::test(t);
    }
    progress();
    if events == libc::POLLOUT {
        tells_by(t, QUEUES);
    }
    let result = call(&past);
    told_by(t, QUEUES);
    c_result(result)
}

interpose! {
    fn mq_receive(t; queue: c_int, message: *mut c_void, len: usize, priority: *mut c_uint) -> isize {
        until(t, queue, libc::POLLIN, core::ptr::null(), |past| {
            sys!(libc::SYS_mq_timedreceive, queue, message, len, priority, past)
        })
    }
    fn mq_timedreceive(t; queue: c_int, message: *mut c_void, len: usize, priority: *mut c_uint, time: *const timespec) -> isize {
        until(t, queue, libc::POLLIN, time, |past| {
            sys!(libc::SYS_mq_timedreceive, queue, message, len, priority, past)
        })
    }
    fn mq_send(t; queue: c_int, message: *const c_void, len: usize, priority: c_uint) -> c_int {
        until(t, queue, libc::POLLOUT, core::ptr::null(), |past| {
            sys!(libc::SYS_mq_timedsend, queue, message, len, priority, past)
        }) as c_int
    }
    fn mq_timedsend(t; queue: c_int, message: *const c_void, len: usize, priority: c_uint, time: *const timespec) -> c_int {
        until(t, queue, libc::POLLOUT, time, |past| {
            sys!(libc::SYS_mq_timedsend, queue, message, len, priority, past)
        }) as c_int
    }
}
