//! The segment registers: GS holds the offset of the shadow, so a program that sets it cannot be watched.

use super::interpose;
use crate::real::real;
use libc::c_int;

/// `arch_prctl`'s code for setting GS (`asm/prctl.h`).
const ARCH_SET_GS: c_int = 0x1001;

/// Gives up before the program sets GS.
pub fn refuse_gs(code: c_int) {
    if code == ARCH_SET_GS {
        crate::start::refuse(
            "the program sets the register GS (arch_prctl), which deadheat needs itself: it can be run, but not hunted in",
        );
    }
}

interpose! {
    fn arch_prctl(_t; code: c_int, address: usize) -> c_int {
        refuse_gs(code);
        real!(arch_prctl: fn(c_int, usize) -> c_int)(code, address)
    }
}
