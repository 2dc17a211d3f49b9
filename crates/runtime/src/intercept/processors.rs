//! The processors of threads, as the program asks for them and sets them: see `processor.rs`.

use super::interpose;
use crate::processor::{self, Mask};
use crate::real::real;
use crate::switching;
use core::ffi::{c_char, c_void};
use libc::{c_int, pid_t, pthread_t, size_t};

/// Puts what is to be told in the place of the kernel's answer about a thread, 0 for one of this process.
///
/// # Safety
/// The mask has this size.
pub unsafe fn tell(thread: pid_t, mask: *mut u8, size: size_t) {
    // SAFETY: as demanded.
    let answer = unsafe { core::slice::from_raw_parts_mut(mask, size) };
    if let Some(all) = processor::told(thread, answer) {
        let all = all.map(u64::to_le_bytes);
        let size = size.min(size_of::<Mask>());
        answer[..size].copy_from_slice(&all.as_flattened()[..size]);
    }
}

interpose! {
    fn sched_getaffinity(t; process: pid_t, size: size_t, mask: *mut u8) -> c_int {
        switching::go_home(t);
        let result = real!(sched_getaffinity: fn(pid_t, size_t, *mut u8) -> c_int)(process, size, mask);
        if result == 0 {
            tell(process, mask, size);
        }
        result
    }
    fn pthread_getaffinity_np(_t; thread: pthread_t, size: size_t, mask: *mut u8) -> c_int {
        let result = real!(pthread_getaffinity_np: fn(pthread_t, size_t, *mut u8) -> c_int)(thread, size, mask);
        if result == 0 {
            tell(0, mask, size);
        }
        result
    }
    fn sched_setaffinity(t; process: pid_t, size: size_t, mask: *const u8) -> c_int {
        processor::release();
        switching::stop();
        switching::go_home(t);
        real!(sched_setaffinity: fn(pid_t, size_t, *const u8) -> c_int)(process, size, mask)
    }
    fn pthread_setaffinity_np(_t; thread: pthread_t, size: size_t, mask: *const u8) -> c_int {
        processor::release();
        switching::stop();
        real!(pthread_setaffinity_np: fn(pthread_t, size_t, *const u8) -> c_int)(thread, size, mask)
    }
    // A thread that is made with it gets its processors by the library.
    fn pthread_attr_setaffinity_np(_t; attributes: *mut c_void, size: size_t, mask: *const u8) -> c_int {
        processor::release();
        switching::stop();
        real!(pthread_attr_setaffinity_np: fn(*mut c_void, size_t, *const u8) -> c_int)(attributes, size, mask)
    }
    fn pthread_getattr_np(_t; thread: pthread_t, attributes: *mut c_void) -> c_int {
        let result = real!(pthread_getattr_np: fn(pthread_t, *mut c_void) -> c_int)(thread, attributes);
        let mut mask = [0u8; size_of::<Mask>()];
        if result == 0
            && real!(pthread_attr_getaffinity_np: fn(*const c_void, size_t, *mut u8) -> c_int)(attributes, mask.len(), mask.as_mut_ptr()) == 0
            && let Some(all) = processor::told(0, &mask)
        {
            real!(pthread_attr_setaffinity_np: fn(*mut c_void, size_t, *const u8) -> c_int)(attributes, size_of::<Mask>(), all.as_ptr().cast());
        }
        result
    }
    fn wordexp(t; words: *const c_char, expanded: *mut c_void, flags: c_int) -> c_int {
        switching::go_home(t);
        let call = real!(wordexp: fn(*const c_char, *mut c_void, c_int) -> c_int);
        processor::lent(|| call(words, expanded, flags))
    }
}
