//! Waiting for signals: the model's pending set, then what the kernel holds, then a signalfd.

use super::interpose;
use crate::clock;
use crate::signals;
use crate::sys::{fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{point, wait};
use crate::wait::{Outcome, Wait};
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, siginfo_t, timespec};

/// Waits for one of the signals in the set; the signal or an error.
unsafe fn wait_in(t: &mut Thread, set: u64, info: *mut siginfo_t, deadline: Option<u64>) -> Result<c_int, c_int> {
    let Some(deadline) = deadline else {
        return Err(libc::EINVAL);
    };
    point(Operation::External);
    super::cancel::test(t);
    let zero = clock::timespec(0);
    loop {
        if let Some((signal, with)) = signals::take(t, set) {
            if !info.is_null() {
                // SAFETY: the caller's buffer, of as many bytes.
                unsafe { info.cast::<[u64; 16]>().write_unaligned(with) };
            }
            return Ok(signal);
        }
        crate::switching::go_home(t);
        // SAFETY: the caller's buffer, our set.
        let signal = unsafe { sys!(libc::SYS_rt_sigtimedwait, &raw const set, info, &raw const zero, 8usize) };
        if signal > 0 {
            crate::observe::told(t.id, ObjectKind::Descriptor, None);
            return Ok(signal as c_int);
        }
        if deadline <= clock::now() {
            return Err(libc::EAGAIN);
        }
        // SAFETY: plain descriptor calls.
        let fd = unsafe { sys!(libc::SYS_signalfd4, -1i32, &raw const set, 8usize, libc::SFD_CLOEXEC) as c_int };
        t.descriptors.clear();
        t.descriptors.push(libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        let outcome = wait(t, Wait::SignalSet(set), Operation::External, deadline);
        // SAFETY: our own descriptor.
        unsafe { sys!(libc::SYS_close, fd) };
        super::cancel::test(t);
        if outcome == Outcome::Interrupted {
            return Err(libc::EINTR);
        }
    }
}

fn pauses(t: &mut Thread) -> c_int {
    wait(t, Wait::Signal, Operation::External, NEVER);
    super::cancel::test(t);
    fail(libc::EINTR)
}

unsafe fn deadline(time: *const timespec) -> Option<u64> {
    if time.is_null() {
        Some(NEVER)
    } else {
        // SAFETY: the caller's time.
        unsafe { clock::relative(time) }
    }
}

interpose! {
    fn signalfd(_t; fd: c_int, set: *const u64, flags: c_int) -> c_int {
        let result = crate::sys::c_result(sys!(libc::SYS_signalfd4, fd, set, 8usize, flags)) as c_int;
        if result >= 0 {
            signals::watch(*set);
        }
        result
    }
    fn sigwait(t; set: *const u64, signal: *mut c_int) -> c_int {
        loop {
            match wait_in(t, *set, core::ptr::null_mut(), Some(NEVER)) {
                Ok(came) => {
                    *signal = came;
                    return 0;
                }
                Err(libc::EINTR) => {}
                Err(error) => return error,
            }
        }
    }
    fn sigwaitinfo(t; set: *const u64, info: *mut siginfo_t) -> c_int {
        wait_in(t, *set, info, Some(NEVER)).unwrap_or_else(fail)
    }
    fn sigtimedwait(t; set: *const u64, info: *mut siginfo_t, time: *const timespec) -> c_int {
        wait_in(t, *set, info, deadline(time)).unwrap_or_else(fail)
    }
    fn sigsuspend(t; mask: *const u64) -> c_int {
        point(Operation::External);
        crate::switching::go_home(t);
        let old = t.mask;
        t.mask = *mask;
        signals::collect();
        let mut held = 0u64;
        sys!(libc::SYS_rt_sigpending, &raw mut held, 8usize);
        sys!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, mask, 0usize, 8usize);
        // Those whose handlers are the kernel's to call have been handled by now.
        let result = if (t.pending | held) & !t.mask != 0 { fail(libc::EINTR) } else { pauses(t) };
        signals::deliver(t);
        signals::set_mask(t, old);
        crate::sys::set_errno(libc::EINTR);
        result
    }
    fn pause(t;) -> c_int {
        point(Operation::External);
        pauses(t)
    }
}
