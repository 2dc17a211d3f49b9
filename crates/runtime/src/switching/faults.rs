//! Handlers of the program's that the kernel calls: for faults, and other signals that are left to the kernel.
//!
//! When such a handler returns the kernel is asked to go on as before, in the kernel thread that asks. So a thread stays
//! in its own while it runs one ([`begins`], [`ends`]); and one that faults elsewhere first goes home, where
//! its instruction is run, and faults, once more: there is nothing of it then on another one's stack for signals.

use super::{EXCHANGE, go_home};
use crate::memory::peek;
use crate::sys::{gettid, sys};
use crate::thread::Thread;
use crate::token::me_unsettled;
use core::arch::global_asm;
use core::ffi::c_void;
use libc::{c_int, siginfo_t, ucontext_t};

/// Bytes below the stack pointer that belong to the function.
const RED_ZONE: u64 = 128;
/// Bytes of stack that going home takes, at most.
const ROOM: u64 = 2048;

unsafe extern "C" {
    fn dh_goes_home();
}

/// The thread that was interrupted, if it is the one that has the turn.
fn interrupted() -> Option<&'static mut Thread> {
    let exchange = EXCHANGE.get();
    // SAFETY: the record of a live thread.
    let carries = || unsafe { (*exchange.carrier).kernel_id == gettid() };
    me_unsettled().filter(|_| exchange.begun && carries())
}

fn is_home(t: &Thread) -> bool {
    core::ptr::eq(EXCHANGE.get().carrier, t)
}

/// A thread faulted. If it is not at home: has it go there and on with the same instruction once the handler returns.
/// Whether that is so, and the program's handler must not run now. Where the stack has no room the fault stands.
///
/// # Safety
/// The kernel's arguments of a handler.
pub unsafe fn comes_again(signal: c_int, info: *const siginfo_t, context: *mut c_void) -> bool {
    let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL);
    // SAFETY: the kernel's; the stack below the red zone is nobody's.
    unsafe {
        if !faults || (*info).si_code <= 0 || interrupted().is_none_or(|t| is_home(t)) {
            return false;
        }
        let registers = &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs;
        let [stack, code] = [libc::REG_RSP, libc::REG_RIP].map(|register| register as usize);
        let top = registers[stack] as u64 - RED_ZONE - 8;
        if peek(top - ROOM, 8).len() < 8 || peek(top, 8).len() < 8 {
            return false;
        }
        *(top as *mut i64) = registers[code];
        registers[stack] = top as i64;
        registers[code] = dh_goes_home as *const () as i64;
    }
    true
}

// At the stack's top lies where to go on, above it the red zone. All registers are kept: exchanging threads keeps
// those that are not saved here.
global_asm!(
    ".pushsection .text.dh_goes_home,\"ax\",@progbits",
    ".hidden dh_goes_home",
    ".globl dh_goes_home",
    ".type dh_goes_home,@function",
    "dh_goes_home:",
    "pushfq; cld",
    "push rax; push rcx; push rdx; push rsi; push rdi; push r8; push r9; push r10; push r11; push rbx",
    "mov rbx, rsp",
    "sub rsp, 512",
    "and rsp, -64",
    "fxsave64 [rsp]",
    "call {go}",
    "fxrstor64 [rsp]",
    "mov rsp, rbx",
    "pop rbx; pop r11; pop r10; pop r9; pop r8; pop rdi; pop rsi; pop rdx; pop rcx; pop rax",
    "popfq",
    "ret {red_zone}",
    ".popsection",
    go = sym go,
    red_zone = const RED_ZONE,
);

extern "C" fn go() {
    if let Some(t) = me_unsettled() {
        go_home(t);
    }
}

/// A handler of the program's begins that the kernel called; whether [`ends`] is to be called at its end. A thread that
/// is not at home takes what the kernel is to restore with it.
///
/// # Safety
/// `context` is the kernel's.
pub unsafe fn begins(context: *mut c_void) -> bool {
    let Some(t) = interrupted() else { return false };
    if !is_home(t) {
        // SAFETY: words of ours, the kernel's context.
        unsafe {
            let context = context.cast::<ucontext_t>();
            let (before, mut mask) = (&raw const (*context).uc_sigmask, 0u64);
            let set = libc::SIG_SETMASK;
            sys!(libc::SYS_rt_sigprocmask, set, before, &raw mut mask, 8usize);
            go_home(t);
            sys!(libc::SYS_rt_sigprocmask, set, &raw const mask, 0usize, 8usize);
            sys!(libc::SYS_sigaltstack, 0usize, &raw mut (*context).uc_stack);
        }
    }
    t.switching.bound += 1;
    true
}

/// See [`begins`]. Where a handler is left by a jump its thread stays bound.
pub fn ends() {
    if let Some(t) = me_unsettled() {
        t.switching.bound -= 1;
    }
}
