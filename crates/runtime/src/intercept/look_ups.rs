//! `dlsym`: a program that looks for the C library's own functions gets past ours.
//!
//! What `RTLD_NEXT` finds depends on who asks, which the C library reads from the return address. So ours only looks at
//! the question and jumps on. A synchronising function that is not ours orders threads unseen.

use crate::bytes::c_string;
use crate::{real, start, unordered};
use core::arch::global_asm;
use core::ffi::{CStr, c_char, c_void};

global_asm!(
    ".pushsection .text.dlsym,\"ax\",@progbits",
    ".globl dlsym",
    ".type dlsym,@function",
    ".balign 16",
    "dlsym:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    "push rdi",
    "push rsi",
    "call {asked}",
    "pop rsi",
    "pop rdi",
    "pop rbp",
    ".cfi_def_cfa_offset 8",
    "jmp rax",
    ".cfi_endproc",
    ".size dlsym, . - dlsym",
    ".popsection",
    asked = sym asked,
);

/// Notes what is asked for; returns the C library's `dlsym`.
unsafe extern "C" fn asked(handle: *mut c_void, name: *const c_char) -> usize {
    if !name.is_null() && start::plan().is_some() {
        // SAFETY: the caller's string.
        let (text, name) = unsafe { (c_string(name), CStr::from_ptr(name)) };
        let passes_us = || {
            let ours = real::look_up(libc::RTLD_DEFAULT, name);
            handle == libc::RTLD_NEXT || ours != 0 && real::look_up(handle, name) != ours
        };
        if core::str::from_utf8(text).is_ok_and(start::synchronises) && passes_us() {
            unordered::stop();
        }
    }
    real::dlsym()
}
