//! The barrier of ThreadSanitizer's own test programs (`__tsan_testonly_barrier_wait`): it holds threads together and
//! orders nothing, so that a test can fix a schedule without hiding its race.
//!
//! One word: the low bits hold how many threads meet, the others how many came. A round is over when the number of
//! those that came, divided by the number that meet, has grown.

use crate::sys::sys;
use crate::token;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

const BITS: u32 = 10;
const ONE: u32 = 1 << BITS;

fn round(word: u32) -> u32 {
    (word >> BITS).checked_div(word & (ONE - 1)).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_testonly_barrier_init(barrier: *mut u32, count: u32) {
    // SAFETY: the program's barrier.
    unsafe { &*barrier.cast::<AtomicU32>() }.store(count & (ONE - 1), Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_testonly_barrier_wait(barrier: *mut u32) {
    // SAFETY: the program's barrier.
    let word = unsafe { &*barrier.cast::<AtomicU32>() };
    let mine = round(word.fetch_add(ONE, Relaxed));
    let mut seen = word.load(Relaxed);
    let last = round(seen) != mine;
    if token::running() {
        // The last to come lets the others go on, too: they have waited longer.
        if last {
            return token::yield_spin(None);
        }
        while round(word.load(Relaxed)) == mine {
            token::yield_spin(Some(barrier as u64));
        }
        return;
    }
    if last {
        // SAFETY: wakes those that wait on the program's word.
        unsafe { sys!(libc::SYS_futex, barrier, libc::FUTEX_WAKE, i32::MAX) };
        return;
    }
    while round(seen) == mine {
        // SAFETY: waits on the program's word.
        unsafe { sys!(libc::SYS_futex, barrier, libc::FUTEX_WAIT, seen, 0usize) };
        seen = word.load(Relaxed);
    }
}
