//! Signal masks and pending signals.

use super::interpose;
use crate::signals;
use crate::sys::fail;
use crate::thread::Thread;
use libc::c_int;

unsafe fn change(t: &mut Thread, how: c_int, new: *const u64, old: *mut u64) -> c_int {
    let before = t.mask;
    // SAFETY: the caller's sets; the kernel's set is the first word of libc's.
    unsafe {
        if !new.is_null() {
            let mask = match how {
                libc::SIG_BLOCK => before | *new,
                libc::SIG_UNBLOCK => before & !*new,
                libc::SIG_SETMASK => *new,
                _ => return libc::EINVAL,
            };
            signals::set_mask(t, mask);
        }
        if !old.is_null() {
            *old = before;
        }
    }
    0
}

interpose! {
    fn pthread_sigmask(t; how: c_int, new: *const u64, old: *mut u64) -> c_int { change(t, how, new, old) }
    fn sigprocmask(t; how: c_int, new: *const u64, old: *mut u64) -> c_int {
        match change(t, how, new, old) {
            0 => 0,
            error => fail(error),
        }
    }
    fn sigpending(t; set: *mut u64) -> c_int {
        crate::switching::go_home(t);
        let status = crate::real::real!(sigpending: fn(*mut u64) -> c_int)(set);
        if status == 0 {
            *set |= signals::pending(t) & t.mask;
        }
        status
    }
}
