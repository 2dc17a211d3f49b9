//! Randomness that the program asks the system for: from the plan's seed.

use super::interpose;
use crate::held::Held;
use core::ffi::c_void;
use libc::{c_int, c_uint};

static STATE: Held<u64> = Held::new(1);

/// Seeds the run.
pub fn start(seed: u64) {
    *STATE.get() = seed;
}

/// SplitMix64.
fn next() -> u64 {
    let state = STATE.get();
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Fills a buffer.
///
/// # Safety
/// `len` writable bytes.
pub unsafe fn fill(buffer: *mut c_void, len: usize) {
    let bytes = buffer as *mut u8;
    for at in (0..len).step_by(8) {
        let word = next().to_le_bytes();
        // SAFETY: the caller's buffer, up to its end.
        unsafe { core::ptr::copy_nonoverlapping(word.as_ptr(), bytes.add(at), 8.min(len - at)) };
    }
    // SAFETY: the caller's buffer, filled.
    unsafe { crate::concolic::sources::random(bytes, len) };
}

interpose! {
    fn getrandom(_t; buffer: *mut c_void, len: usize, _flags: c_uint) -> isize {
        fill(buffer, len);
        len as isize
    }
    fn getentropy(_t; buffer: *mut c_void, len: usize) -> c_int {
        if len > 256 {
            return crate::sys::fail(libc::EIO);
        }
        fill(buffer, len);
        0
    }
    fn arc4random(_t;) -> c_uint { next() as c_uint }
    fn arc4random_uniform(_t; bound: c_uint) -> c_uint {
        if bound < 2 { 0 } else { (next() % u64::from(bound)) as c_uint }
    }
}

/// Fills a buffer with random bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arc4random_buf(buffer: *mut c_void, len: usize) {
    if crate::token::running() {
        // SAFETY: the caller's buffer.
        unsafe { fill(buffer, len) }
    } else {
        // SAFETY: as above.
        unsafe { crate::real::real!(arc4random_buf: fn(*mut c_void, usize) -> ())(buffer, len) }
    }
}
