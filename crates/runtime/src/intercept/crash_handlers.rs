//! The program's handlers of crashes, which the kernel calls: ours stands before them, since such a handler has to
//! return in the kernel thread where it began (see `switching/faults.rs`).

use crate::held::Held;
use crate::real::real;
use crate::{ending, switching};
use core::ffi::c_void;
use libc::{c_int, siginfo_t};

/// The program's actions.
static ACTIONS: Held<[Option<libc::sigaction>; 65]> = Held::new([None; 65]);

/// Sets and tells the kernel's action for a signal.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn set(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let set = real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    // SAFETY: the caller's actions.
    unsafe {
        let known = ACTIONS.get().get_mut(signal as usize);
        let Some(known) = known.filter(|_| switching::exchanges()) else {
            return set(signal, new, old);
        };
        let before = *known;
        let result = match new.as_ref() {
            Some(action) if action.sa_sigaction > libc::SIG_IGN => {
                let ours = libc::sigaction {
                    sa_sigaction: handle as *const () as usize,
                    sa_flags: (action.sa_flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND,
                    ..*action
                };
                *known = Some(*action);
                let result = set(signal, &raw const ours, old);
                if result != 0 {
                    *known = before;
                }
                result
            }
            _ => set(signal, new, old),
        };
        if let Some(old) = old.as_mut()
            && old.sa_sigaction == handle as *const () as usize
            && let Some(before) = before
        {
            *old = before;
        }
        result
    }
}

extern "C" fn handle(signal: c_int, info: *const siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments.
    unsafe {
        if let Some(Some(action)) = ACTIONS.get().get(signal as usize).copied()
            && !switching::comes_again(signal, info, context)
        {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                ending::restore(signal);
            }
            run(action.sa_sigaction, signal, info, context);
        }
    }
}

/// Runs a handler of the program's, which need not return.
///
/// # Safety
/// The handler's address, and the kernel's arguments.
pub unsafe fn run(handler: usize, signal: c_int, info: *const siginfo_t, context: *mut c_void) {
    // SAFETY: as demanded; a handler that takes only the signal does not look at the rest.
    unsafe {
        let bound = switching::begins(context);
        let run: extern "C" fn(c_int, *const siginfo_t, *mut c_void) = core::mem::transmute(handler);
        run(signal, info, context);
        if bound {
            switching::ends();
        }
    }
}
