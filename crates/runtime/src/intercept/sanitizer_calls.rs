//! The calls of ThreadSanitizer's instrumentation before plain accesses: `__tsan_read4` and its kin, as gcc, clang and
//! rustc emit them. What they mean is told in [`crate::call_sites`].
//!
//! A call that writes a virtual-table pointer that is there already counts as none, as in ThreadSanitizer: destructors
//! of every class on the way do that. The `mem` functions do their work, also in a plain run.

use super::{frame, frame_at};
use crate::call_sites::{self, Code, PURPOSE, accessed};
use crate::{annotations, token};
use core::arch::global_asm;
use core::ffi::{c_char, c_int, c_void};
use deadheat_model::SiteKind;
use deadheat_wire::calls::SECOND;
use deadheat_wire::object::{FLAG_VOLATILE, FLAG_VPTR};

/// `accesses! { NAME… : CODE; … }`: functions of one address; they are not entered in a plain run.
macro_rules! accesses {
    ($($($name:literal)* : $code:expr;)*) => { $($( global_asm!(
        ".pushsection .text.dh_accesses,\"ax\",@progbits",
        ".balign 16",
        concat!(".globl ", $name),
        concat!(".type ", $name, ",@function"),
        concat!($name, ":"),
        ".cfi_startproc",
        "cmp byte ptr [rip + {purpose}], 0",
        "jne 2f",
        "ret",
        "2:",
        "mov rsi, [rsp]",
        "mov edx, {code}",
        "mov rcx, rbp",
        "lea r8, [rsp + 8]",
        "jmp {accessed}",
        ".cfi_endproc",
        concat!(".size ", $name, ", . - ", $name),
        ".popsection",
        purpose = sym PURPOSE,
        code = const $code.0,
        accessed = sym accessed,
    ); )*)* };
}

const fn read(size: u32) -> Code {
    Code::new(SiteKind::Read, 0, size)
}

const fn write(size: u32) -> Code {
    Code::new(SiteKind::Write, 0, size)
}

const fn both(size: u32) -> Code {
    Code::new(SiteKind::ReadWrite, 0, size)
}

const fn volatile(kind: SiteKind, size: u32) -> Code {
    Code::new(kind, FLAG_VOLATILE, size)
}

accesses! {
    "__tsan_read1": read(1);
    "__tsan_read2" "__tsan_unaligned_read2": read(2);
    "__tsan_read4" "__tsan_unaligned_read4": read(4);
    "__tsan_read8" "__tsan_unaligned_read8": read(8);
    "__tsan_read16" "__tsan_unaligned_read16": read(16);
    "__tsan_write1": write(1);
    "__tsan_write2" "__tsan_unaligned_write2": write(2);
    "__tsan_write4" "__tsan_unaligned_write4": write(4);
    "__tsan_write8" "__tsan_unaligned_write8": write(8);
    "__tsan_write16" "__tsan_unaligned_write16": write(16);
    "__tsan_read_write1": both(1);
    "__tsan_read_write2" "__tsan_unaligned_read_write2": both(2);
    "__tsan_read_write4" "__tsan_unaligned_read_write4": both(4);
    "__tsan_read_write8" "__tsan_unaligned_read_write8": both(8);
    "__tsan_read_write16" "__tsan_unaligned_read_write16": both(16);
    "__tsan_volatile_read1": volatile(SiteKind::Read, 1);
    "__tsan_volatile_read2" "__tsan_unaligned_volatile_read2": volatile(SiteKind::Read, 2);
    "__tsan_volatile_read4" "__tsan_unaligned_volatile_read4": volatile(SiteKind::Read, 4);
    "__tsan_volatile_read8" "__tsan_unaligned_volatile_read8": volatile(SiteKind::Read, 8);
    "__tsan_volatile_read16" "__tsan_unaligned_volatile_read16": volatile(SiteKind::Read, 16);
    "__tsan_volatile_write1": volatile(SiteKind::Write, 1);
    "__tsan_volatile_write2" "__tsan_unaligned_volatile_write2": volatile(SiteKind::Write, 2);
    "__tsan_volatile_write4" "__tsan_unaligned_volatile_write4": volatile(SiteKind::Write, 4);
    "__tsan_volatile_write8" "__tsan_unaligned_volatile_write8": volatile(SiteKind::Write, 8);
    "__tsan_volatile_write16" "__tsan_unaligned_volatile_write16": volatile(SiteKind::Write, 16);
    "__tsan_vptr_read": Code::new(SiteKind::Read, FLAG_VPTR, 8);
    "dh_vptr_write": Code::new(SiteKind::Write, FLAG_VPTR, 8);
}

// `__tsan_vptr_update(address, new)`, and the functions that there is nothing to tell of.
global_asm!(
    ".pushsection .text.dh_accesses,\"ax\",@progbits",
    ".globl __tsan_vptr_update",
    ".type __tsan_vptr_update,@function",
    "__tsan_vptr_update:",
    ".cfi_startproc",
    "cmp [rdi], rsi",
    "jne dh_vptr_write",
    "ret",
    ".cfi_endproc",
    ".globl __tsan_func_entry",
    ".type __tsan_func_entry,@function",
    "__tsan_func_entry:",
    ".globl __tsan_func_exit",
    ".type __tsan_func_exit,@function",
    "__tsan_func_exit:",
    ".cfi_startproc",
    "ret",
    ".cfi_endproc",
    ".popsection",
);

/// A module that was compiled so announces itself; `libarcher`, too, looks for this name (`openmp.rs`).
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_init() {
    call_sites::announced(frame!().pc);
}

/// `ranges! { NAME(KIND); … }`: functions of an address and a length.
macro_rules! ranges {
    ($($name:ident($kind:ident);)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: u64, len: u64) {
            if call_sites::active() {
                let frame = frame!();
                call_sites::accessed_range(address, len, frame.pc - 1, SiteKind::$kind, frame);
            }
        }
    )* };
}

ranges! {
    __tsan_read_range(Read);
    __tsan_write_range(Write);
}

unsafe fn copied(to: *mut c_void, from: *const c_void, len: usize, base: u64) {
    let frame = frame_at(base);
    call_sites::accessed_range(from as u64, len as u64, frame.pc - 1 - SECOND, SiteKind::Read, frame);
    call_sites::accessed_range(to as u64, len as u64, frame.pc - 1, SiteKind::Write, frame);
}

/// `copies! { NAME… }`: functions that copy a block, which may overlap.
macro_rules! copies {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
            // SAFETY: the caller's blocks, as `memmove` demands.
            unsafe {
                if call_sites::active() {
                    copied(to, from, len, crate::stack::frame_pointer());
                }
                libc::memmove(to, from, len)
            }
        }
    )* };
}

copies! {
    __tsan_memcpy
    __tsan_memmove
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: c_int, len: usize) -> *mut c_void {
    if call_sites::active() {
        let frame = frame!();
        call_sites::accessed_range(to as u64, len as u64, frame.pc - 1, SiteKind::Write, frame);
    }
    // SAFETY: the caller's block, as `memset` demands.
    unsafe { libc::memset(to, byte, len) }
}

/// `told! { NAME(KIND); … }`: a library tells of an access of its own to an object of another module, as if it had been
/// made at the call (`sanitizer/tsan_interface.h`). Tags name the object for reports of ThreadSanitizer's own.
macro_rules! told {
    ($($name:ident($kind:ident);)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: u64, caller: u64, _tag: *const c_void) {
            if call_sites::active() {
                let frame = frame!();
                call_sites::accessed_range(address, 1, caller.max(1) - 1, SiteKind::$kind, frame);
            }
        }
    )* };
}

told! {
    __tsan_external_read(Read);
    __tsan_external_write(Write);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_external_register_tag(_name: *const c_char) -> *mut c_void {
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_external_register_header(_tag: *mut c_void, _header: *const c_char) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_external_assign_tag(_address: *mut c_void, _tag: *mut c_void) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_ignore_thread_begin() {
    if token::running() {
        annotations::ignore(1, 1);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_ignore_thread_end() {
    if token::running() {
        annotations::ignore(-1, -1);
    }
}

/// ThreadSanitizer's own housekeeping, for which there is no need here.
#[unsafe(no_mangle)]
extern "C" fn __tsan_flush_memory() {}

/// Frames of a stack that is kept beside the program's own: none is.
#[unsafe(no_mangle)]
extern "C" fn __tsan_testonly_shadow_stack_current_size() -> usize {
    0
}
