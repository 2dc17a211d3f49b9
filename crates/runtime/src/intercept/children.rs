//! Waiting for child processes: for one by a pidfd, for any by trying again now and then.

use super::interpose;
use crate::observe;
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{self, point, progress};
use crate::wait::{Outcome, Wait};
use core::ffi::c_void;
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, pid_t, siginfo_t};

/// Waits for children, see [`waits`]. What a child did may come from what any thread did before.
fn until(t: &mut Thread, pid: pid_t, returns: bool, attempt: impl Fn(c_int) -> Option<isize>) -> c_int {
    let result = waits(t, pid, returns, attempt);
    if result >= 0 {
        observe::told(t.id, ObjectKind::Descriptor, None);
    }
    result
}

/// Makes a call that waits for children. `attempt` gets further options and gives nothing if no child is
/// ready; `pid` is the child to wait for if it is one; `returns`: the caller does not want to wait.
///
/// A wait is one scheduling point whether the child has ended already or not: how fast it is must not show.
fn waits(t: &mut Thread, pid: pid_t, returns: bool, attempt: impl Fn(c_int) -> Option<isize>) -> c_int {
    point(Operation::External);
    super::cancel::test(t);
    if returns {
        let result = c_result(attempt(libc::WNOHANG).unwrap_or(0)) as c_int;
        if result == 0 {
            super::mutex::failed_try(t);
        }
        return result;
    }
    let alone = token::scheduler().threads.live.len() == 1;
    if alone && !crate::signals::may_come() && crate::timers::signal_deadline() == NEVER {
        return c_result(attempt(0).unwrap_or(0)) as c_int;
    }
    loop {
        let fd = if pid > 0 {
            // SAFETY: a plain call.
            unsafe { sys!(libc::SYS_pidfd_open, pid, 0i32) as c_int }
        } else {
            -1
        };
        t.descriptors.clear();
        if fd >= 0 {
            let events = libc::POLLIN;
            t.descriptors.push(libc::pollfd { fd, events, revents: 0 });
        }
        if fd < 0
            && let Some(result) = attempt(libc::WNOHANG)
        {
            progress();
            return c_result(result) as c_int;
        }
        let for_what = if fd >= 0 { Wait::Descriptors } else { Wait::Retry };
        let outcome = token::wait(t, for_what, Operation::External, NEVER);
        if fd >= 0 {
            // SAFETY: our own descriptor.
            unsafe { sys!(libc::SYS_close, fd) };
        }
        super::cancel::test(t);
        if let Some(result) = attempt(libc::WNOHANG) {
            progress();
            return c_result(result) as c_int;
        }
        if outcome == Outcome::Interrupted && !crate::signals::restarts(t) {
            return fail(libc::EINTR);
        }
    }
}

unsafe fn wait_for(t: &mut Thread, pid: pid_t, status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t {
    let attempt = |more: c_int| {
        // SAFETY: the caller's buffers.
        let result = unsafe { sys!(libc::SYS_wait4, pid, status, options | more, usage) };
        (result != 0).then_some(result)
    };
    let whole = options & (libc::WUNTRACED | libc::WCONTINUED) == 0;
    until(t, if whole { pid } else { 0 }, options & libc::WNOHANG != 0, attempt)
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
        let attempt = |more: c_int| {
            (*target).si_signo = 0;
            let result = sys!(libc::SYS_waitid, kind, id, target, options | more, 0usize);
            (result != 0 || (*target).si_signo != 0).then_some(result)
        };
        let one = kind == libc::P_PID as c_int && options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
        until(t, if one { id as pid_t } else { 0 }, options & libc::WNOHANG != 0, attempt)
    }
}
