//! Our own `memcpy` and kin. The compiler calls these names on its own account; the program's belong
//! to the program and use vector registers that our slow paths must not touch. They are made local
//! when the runtime is linked into one object. String instructions keep the compiler from turning a
//! loop here into a call of itself.

use core::arch::asm;
use core::ffi::c_void;

/// Copies `n` bytes forwards.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
    // SAFETY: the caller's promise is memcpy's.
    unsafe {
        asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
    }
    to
}

/// Copies `n` bytes that may overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
    if (to as usize).wrapping_sub(from as usize) >= n {
        // SAFETY: copying forwards reads each byte before it is overwritten.
        return unsafe { memcpy(to, from, n) };
    }
    // SAFETY: backwards from the last byte; n > 0 here.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rcx") n => _, inout("rdi") to.byte_add(n - 1) => _,
             inout("rsi") from.byte_add(n - 1) => _, options(nostack));
    }
    to
}

/// Fills `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, byte: i32, n: usize) -> *mut c_void {
    // SAFETY: the caller's promise is memset's.
    unsafe {
        asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8, options(nostack, preserves_flags));
    }
    to
}

/// Compares `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const c_void, b: *const c_void, n: usize) -> i32 {
    let (a, b) = (a as *const u8, b as *const u8);
    for i in 0..n {
        // SAFETY: i < n; volatile keeps this loop from becoming a call of itself.
        let (x, y) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
        if x != y {
            return x as i32 - y as i32;
        }
    }
    0
}

/// Compares `n` bytes for equality.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const c_void, b: *const c_void, n: usize) -> i32 {
    // SAFETY: as memcmp.
    unsafe { memcmp(a, b, n) }
}

/// Length of a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut n = 0;
    // SAFETY: up to and including the terminator; volatile as above.
    while unsafe { text.add(n).read_volatile() } != 0 {
        n += 1;
    }
    n
}

/// The bytes of a C string without the terminator; empty for null.
///
/// # Safety
/// `text` is null or a C string that lives long enough.
pub unsafe fn c_string<'a>(text: *const libc::c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(text as *const u8, strlen(text as *const u8)) }
}
