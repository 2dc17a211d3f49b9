//! Ways out of the process that pass `exit` by.

use super::frame;
use crate::ending::{self, Place};
use crate::real::real;
use crate::{stuck, token};
use deadheat_wire::record::EndKind;
use libc::c_int;

/// Ends the process at once, on our own account.
pub unsafe fn leave(status: c_int) -> ! {
    // SAFETY: the same function.
    unsafe { _exit(status) }
}

/// Ends the process at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    if token::active() {
        ending::finish(EndKind::Exit(status & 255), None);
    }
    crate::sys::exit_group(status)
}

/// Ends the process at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: the same function.
    unsafe { _exit(status) }
}

/// Runs the `at_quick_exit` handlers and ends the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quick_exit(status: c_int) {
    if token::active() {
        ending::finish(EndKind::Exit(status & 255), None);
    }
    // SAFETY: does not return.
    unsafe { real!(quick_exit: fn(c_int) -> ())(status) }
}

/// Ends the process by SIGABRT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn abort() {
    if let Some(t) = token::me() {
        t.frame = frame!();
        aborts(t);
    }
    // SAFETY: does not return.
    unsafe { real!(abort: fn() -> ())() }
}

/// Records that the thread aborts here, unless the program handles SIGABRT by itself.
pub fn aborts(t: &mut crate::thread::Thread) {
    if crate::intercept::signal_calls::kernel_handler(libc::SIGABRT).is_none_or(ending::is_ours) {
        let at = (t.id, stuck::stack(t));
        ending::finish(EndKind::Signal(libc::SIGABRT), Some(Place { at, fault: None }));
    }
}
