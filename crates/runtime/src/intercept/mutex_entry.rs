//! The first instructions of `pthread_mutex_lock` and `pthread_mutex_unlock`.
//!
//! Programs with short critical sections spend their time here, and what counts then is less how long a call
//! takes than whether the processor still sees the program's next load behind it: some two hundred instructions
//! ahead. So a free lock of the default kind that may be passed without a decision ([`crate::journal`]) and needs
//! nothing but a few words there is taken or given back in some twenty instructions, without a frame; a plain
//! run goes straight on to the C library. Everything else is a tail call of the long way. A mutex that is held says by
//! whom in its first word, so giving it back need not ask who calls.

use super::mutex::{locks, unlocks};
use crate::journal;
use crate::real::resolve;
use core::arch::global_asm;
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use libc::c_int;

unsafe extern "C" {
    /// Where calls go: at first what stands below.
    static dh_mutex_lock: AtomicUsize;
    static dh_mutex_unlock: AtomicUsize;
}

/// The run is a plain one: calls go on to the C library from now on.
pub fn forward() {
    // SAFETY: aligned words that only this function writes.
    unsafe {
        dh_mutex_lock.store(resolve(c"pthread_mutex_lock"), Relaxed);
        dh_mutex_unlock.store(resolve(c"pthread_mutex_unlock"), Relaxed);
    }
}

macro_rules! entry {
    ($name:literal, $way:literal, $long:path, [$($code:literal),*], $($operand:tt)*) => {
        global_asm!(
            concat!(".pushsection .data.", $way, ",\"aw\",@progbits"),
            ".balign 8",
            concat!(".globl ", $way),
            concat!(".hidden ", $way),
            concat!($way, ": .quad .L", $way),
            ".popsection",
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            ".balign 32",
            concat!($name, ":"),
            ".cfi_startproc",
            concat!("jmp [rip + ", $way, "]"),
            concat!(".L", $way, ":"),
            $($code,)*
            "mov [rip + {journal} + {next}], rcx",
            "ret",
            "2:",
            "jmp {long}",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            journal = sym journal::JOURNAL,
            next = const journal::NEXT_AT,
            limit = const journal::PLAIN_LIMIT_AT,
            held = const journal::HELD_AT,
            owned = const journal::OWNER,
            $($operand)*
            long = sym $long,
        );
    };
}

entry!(
    "pthread_mutex_lock",
    "dh_mutex_lock",
    locks,
    ["mov rax, [rip + dh_tls@GOTTPOFF]",
    "mov rax, fs:[rax]",
    "cmp rax, [rip + {journal} + {thread}]",
    "jne 2f",
    "mov rcx, [rip + {journal} + {next}]",
    "cmp rcx, [rip + {journal} + {limit}]",
    "jae 2f",
    "cmp dword ptr [rdi + {kind}], 0",
    "jne 2f",
    "cmp qword ptr [rdi], 0",
    "jne 2f",
    "mov rax, [rip + {journal} + {held}]",
    "mov [rdi], rax",
    "mov rax, [rip + {journal} + {owner}]",
    "mov [rdi + {owned}], rax",
    "mov rax, [rsp]",
    "mov [rcx], rdi",
    "mov [rcx + 8], rax",
    "add rcx, 16",
    "xor eax, eax"],
    thread = const journal::THREAD_AT,
    owner = const journal::OWNER_AT,
    kind = const journal::KIND,
);

entry!(
    "pthread_mutex_unlock",
    "dh_mutex_unlock",
    unlocks,
    [
        "mov rcx, [rip + {journal} + {next}]",
        "cmp rcx, [rip + {journal} + {limit}]",
        "jae 2f",
        "mov rax, [rip + {journal} + {held}]",
        "cmp [rdi], rax",
        "jne 2f",
        "xor eax, eax",
        "mov [rdi], rax",
        "mov [rdi + {owned}], rax",
        "not rdi",
        "mov [rcx], rdi",
        "add rcx, 8"
    ],
);

unsafe extern "C" {
    /// Takes a mutex.
    pub fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    /// Gives a mutex back.
    pub fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
}
