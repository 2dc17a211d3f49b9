//! Ways out of the process that pass `exit` by, and what runs at `exit`.
//!
//! Whoever registers a function (static destructors are such) does so before it runs: the list has a lock in libc. So
//! beside each function one of ours is registered, which runs just before it.

use super::{frame, interpose};
use crate::ending::{self, Place};
use crate::real::real;
use crate::{observe, stuck, token};
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use deadheat_model::ObjectKind;
use deadheat_wire::record::EndKind;
use libc::c_int;

/// Stands for libc's list of functions; only its address is used.
static REGISTERED: AtomicU32 = AtomicU32::new(0);

type Destructor = extern "C" fn(*mut c_void);

/// Runs before a function of the program's does.
extern "C" fn before(_: *mut c_void) {
    if let Some(t) = token::me() {
        observe::acquire_edge(t.id, ObjectKind::Once, &raw const REGISTERED as u64);
    }
}

/// The running thread registered a function for the end of this module.
fn registered(t: &crate::thread::Thread, module: *mut c_void) {
    observe::release_edge(t.id, ObjectKind::Once, &raw const REGISTERED as u64);
    // SAFETY: a function that lives as long as the process.
    unsafe {
        real!(__cxa_atexit: fn(Destructor, *mut c_void, *mut c_void) -> c_int)(before, core::ptr::null_mut(), module)
    };
}

interpose! {
    fn __cxa_atexit(t; function: Destructor, argument: *mut c_void, module: *mut c_void) -> c_int {
        let result = real!(__cxa_atexit: fn(Destructor, *mut c_void, *mut c_void) -> c_int)(function, argument, module);
        registered(t, module);
        result
    }
    fn on_exit(t; function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int {
        let result = real!(on_exit: fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int)(function, argument);
        registered(t, core::ptr::null_mut());
        result
    }
}

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
        let mut stack = stuck::stack(t);
        // A place in the call: what follows one that does not return may be another function.
        if let Some(first) = stack.first_mut() {
            *first -= 1;
        }
        let at = (t.id, stack);
        ending::finish(EndKind::Signal(libc::SIGABRT), Some(Place { at, fault: None }));
    }
}
