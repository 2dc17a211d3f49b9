//! `longjmp` and `siglongjmp`: the kernel's signal mask comes back with the jump, so the model's must too. A jump out of
//! a handler is a plain return to the program as far as the model goes: nothing of the interrupted wait is left.

use super::interpose;
use crate::real::real;
use crate::thread::{NEVER, Thread};
use crate::wait::Wait;
use core::ffi::c_void;
use libc::c_int;

/// Offset of the flag that the buffer holds a mask, and of the mask, in glibc's buffer.
const MASK_SAVED_AT: usize = 64;
const MASK_AT: usize = 72;

/// What changes for the thread by a jump.
unsafe fn jumps(t: &mut Thread, buffer: *const c_void) {
    // SAFETY: the caller's buffer, filled by `setjmp` or `sigsetjmp`.
    unsafe {
        if *buffer.byte_add(MASK_SAVED_AT).cast::<c_int>() != 0 {
            crate::switching::go_home(t);
            t.mask = *buffer.byte_add(MASK_AT).cast::<u64>();
        }
    }
    (t.wait, t.deadline) = (Wait::None, NEVER);
}

macro_rules! jump {
    ($($name:ident),*) => { interpose! { $(
        fn $name(t; buffer: *const c_void, value: c_int) -> () {
            jumps(t, buffer);
            real!($name: fn(*const c_void, c_int) -> ())(buffer, value)
        }
    )* } };
}

jump!(longjmp, _longjmp, siglongjmp, __longjmp_chk);
