//! Waiting for child processes: for one by a pidfd, for any by trying again now and then.

use super::interpose;
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{self, point, progress};
use crate::wait::{Outcome, Wait};
use core::ffi::c_void;
use deadheat_model::Operation;
use libc::{c_int, pid_t, siginfo_t};

/// Tries until `attempt` gives something; `pid` is the child to wait for if it is one.
fn until(t: &mut Thread, pid: pid_t, attempt: impl Fn() -> Option<isize>) -> c_int {
    point(Operation::External);
    super::cancel::test(t);
    loop {
        if let Some(result) = attempt() {
            progress();
            return c_result(result) as c_int;
        }
        // SAFETY: plain calls.
        let fd = if pid > 0 {
            // SAFETY: a plain call.
            unsafe { sys!(libc::SYS_pidfd_open, pid, 0i32) as c_int }
        } else {
            -1
        };
        t.descriptors.clear();
        let mut for_what = Wait::Retry;
        if fd >= 0 {
            t.descriptors.push(libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            });
            for_what = Wait::Descriptors;
        }
        let outcome = token::wait(t, for_what, Operation::External, NEVER);
        if fd >= 0 {
            // SAFETY: our own descriptor.
            unsafe { sys!(libc::SYS_close, fd) };
        }
        super::cancel::test(t);
        if outcome == Outcome::Interrupted && !crate::signals::restarts(t) {
            return fail(libc::EINTR);
        }
    }
}

unsafe fn wait_for(t: &mut Thread, pid: pid_t, status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t {
    let attempt = || {
        // SAFETY: the caller's buffers.
        let result = unsafe { sys!(libc::SYS_wait4, pid, status, options | libc::WNOHANG, usage) };
        (result != 0 || options & libc::WNOHANG != 0).then_some(result)
    };
    let child = if options & (libc::WUNTRACED | libc::WCONTINUED) == 0 {
        pid
    } else {
        0
    };
    until(t, child, attempt)
}

interpose! {
    fn wait4(t; pid: pid_t, status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t {
        wait_for(t, pid, status, options, usage)
    }
    fn wait3(t; status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t {
        wait_for(t, -1, status, options, usage)
    }
    fn waitpid(t; pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
        wait_for(t, pid, status, options, core::ptr::null_mut())
    }
    fn wait(t; status: *mut c_int) -> pid_t { wait_for(t, -1, status, 0, core::ptr::null_mut()) }
    fn waitid(t; kind: c_int, id: u32, info: *mut siginfo_t, options: c_int) -> c_int {
        let mut own: siginfo_t = core::mem::zeroed();
        let target = if info.is_null() { &raw mut own } else { info };
        let attempt = || {
            (*target).si_signo = 0;
            let result = sys!(libc::SYS_waitid, kind, id, target, options | libc::WNOHANG, 0usize);
            (result != 0 || (*target).si_signo != 0 || options & libc::WNOHANG != 0).then_some(result)
        };
        let one = kind == libc::P_PID as c_int && options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
        until(t, if one { id as pid_t } else { 0 }, attempt)
    }
}
