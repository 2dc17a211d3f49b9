//! The processors of threads, as the program asks for them and sets them: see `processor.rs`.

use super::interpose;
use crate::processor;
use crate::real::real;
use libc::{c_int, pid_t, pthread_t, size_t};

interpose! {
    fn sched_getaffinity(_t; process: pid_t, size: size_t, mask: *mut u8) -> c_int {
        let result = real!(sched_getaffinity: fn(pid_t, size_t, *mut u8) -> c_int)(process, size, mask);
        if result == 0 {
            processor::show(mask, size);
        }
        result
    }
    fn pthread_getaffinity_np(_t; thread: pthread_t, size: size_t, mask: *mut u8) -> c_int {
        let result = real!(pthread_getaffinity_np: fn(pthread_t, size_t, *mut u8) -> c_int)(thread, size, mask);
        if result == 0 {
            processor::show(mask, size);
        }
        result
    }
    fn sched_setaffinity(_t; process: pid_t, size: size_t, mask: *const u8) -> c_int {
        let result = real!(sched_setaffinity: fn(pid_t, size_t, *const u8) -> c_int)(process, size, mask);
        if result == 0 {
            processor::given(mask, size);
        }
        result
    }
    fn pthread_setaffinity_np(_t; thread: pthread_t, size: size_t, mask: *const u8) -> c_int {
        let result = real!(pthread_setaffinity_np: fn(pthread_t, size_t, *const u8) -> c_int)(thread, size, mask);
        if result == 0 {
            processor::given(mask, size);
        }
        result
    }
}
