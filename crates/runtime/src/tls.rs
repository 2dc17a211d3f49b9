//! The one thread-local word of the runtime: the thread's record. Initial-exec, so reading it is two
//! instructions and never allocates.

use crate::thread::Thread;
use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".hidden dh_tls",
    ".globl dh_tls",
    ".type dh_tls,@object",
    "dh_tls:",
    ".zero 8",
    ".size dh_tls, 8",
    // The slots of the symbolic flavour (see the pass, `concolic::slots`): its code names them.
    ".balign 8",
    ".globl dh_sym_slots",
    ".type dh_sym_slots,@object",
    "dh_sym_slots:",
    ".zero 168",
    ".size dh_sym_slots, 168",
    ".popsection"
);

/// This thread's record; null in threads that the runtime did not see begin.
#[inline(always)]
pub fn thread() -> *mut Thread {
    let thread;
    // SAFETY: reads our own thread-local word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + dh_tls@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) thread,
             options(readonly, nostack, preserves_flags));
    }
    thread
}

/// Makes this the thread's record.
pub fn set_thread(thread: *mut Thread) {
    // SAFETY: writes our own thread-local word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + dh_tls@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}", out(reg) _, in(reg) thread,
             options(nostack, preserves_flags));
    }
}

/// This thread's slots of the symbolic flavour.
pub fn symbolic_slots() -> *mut u8 {
    let slots;
    // SAFETY: the address of our own thread-local block; the word at fs:0 is the thread pointer itself.
    unsafe {
        asm!("mov {0}, qword ptr [rip + dh_sym_slots@GOTTPOFF]", "add {0}, qword ptr fs:[0]", out(reg) slots,
             options(readonly, nostack));
    }
    slots
}
