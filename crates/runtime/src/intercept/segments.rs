//! The segment registers: GS holds the offset of the shadow, so a program that sets it cannot be watched.

use super::interpose;
use crate::real::real;
use crate::switching;
use crate::thread::Thread;
use libc::c_int;

/// `arch_prctl`'s code for setting GS (`asm/prctl.h`).
const ARCH_SET_GS: c_int = 0x1001;

/// A thread is about to make the call, by which also FS is set, and the use of more registers asked for.
pub fn comes(t: &mut Thread, code: c_int) {
    refuse_gs(code);
    switching::stop();
    switching::bind(t);
}

/// Gives up before the program sets GS.
pub fn refuse_gs(code: c_int) {
    if code == ARCH_SET_GS {
        refuse("arch_prctl");
    }
}

fn refuse(by: &str) -> ! {
    crate::start::refuse(&alloc::format!(
        "the program sets the register GS ({by}), which deadheat needs itself: it can be run, but not hunted in"
    ))
}

/// Instrumented code is about to set GS by an instruction.
#[unsafe(no_mangle)]
extern "C" fn dh_sets_gs() {
    if crate::token::active() {
        refuse("wrgsbase");
    }
}

interpose! {
    fn arch_prctl(t; code: c_int, address: usize) -> c_int {
        comes(t, code);
        real!(arch_prctl: fn(c_int, usize) -> c_int)(code, address)
    }
}
