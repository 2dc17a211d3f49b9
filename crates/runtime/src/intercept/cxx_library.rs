//! What libstdc++ does by itself, in code that has no sites: it counts the holders of an exception object
//! and destroys it with the last, and it stores the state of a promise that is kept until its thread ends.
//!
//! Whoever gives an exception up does so before whoever destroys it. Which object it is the library alone
//! knows, so one lock stands for all of them: a lock's edges count for happens-before and leave phase 1's
//! suspicions alone.

use super::interpose;
use crate::real::real;
use crate::thread::Thread;
use crate::{observe, unordered};
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use deadheat_model::{LockMode, ObjectKind};

/// The lock that stands for the counters of exceptions; only its address is used.
static HOLDERS: AtomicU32 = AtomicU32::new(0);

/// Size of the word in which a future's state lies.
const STATUS_SIZE: u32 = 4;

/// Orders this thread after all who gave an exception up, and before all who will.
fn counted(t: &Thread) {
    let lock = &raw const HOLDERS as u64;
    observe::acquired(t.id, ObjectKind::Mutex, lock, LockMode::Write);
    observe::released(t.id, ObjectKind::Mutex, lock, LockMode::Write);
}

interpose! {
    fn __cxa_end_catch(t;) -> () {
        counted(t);
        real!(__cxa_end_catch: fn() -> ())()
    }
    // std::exception_ptr gives its object up.
    fn _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(t; pointer: *mut c_void) -> () {
        counted(t);
        real!(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv: fn(*mut c_void) -> ())(pointer)
    }
    // std::set_new_handler, std::set_terminate, std::set_unexpected.
    fn _ZSt15set_new_handlerPFvvE(_t; handler: *mut c_void) -> *mut c_void {
        unordered::publishes_handler();
        real!(_ZSt15set_new_handlerPFvvE: fn(*mut c_void) -> *mut c_void)(handler)
    }
    fn _ZSt13set_terminatePFvvE(_t; handler: *mut c_void) -> *mut c_void {
        unordered::publishes_handler();
        real!(_ZSt13set_terminatePFvvE: fn(*mut c_void) -> *mut c_void)(handler)
    }
    fn _ZSt14set_unexpectedPFvvE(_t; handler: *mut c_void) -> *mut c_void {
        unordered::publishes_handler();
        real!(_ZSt14set_unexpectedPFvvE: fn(*mut c_void) -> *mut c_void)(handler)
    }
    // set_value_at_thread_exit: the library stores the state when the thread's destructors run. Its record
    // is {next, callback, weak pointer to the state}; the state is {virtual table, result, status}.
    fn _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(t; record: *mut u64) -> () {
        // SAFETY: the library's record; its layout is part of the binary interface.
        let state = unsafe { *record.add(2) };
        observe::library_store(t.id, state + 16, STATUS_SIZE);
        // The library gives its share of the state up then, too, and destroys it if it is the last: unseen.
        unordered::stop();
        real!(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv: fn(*mut u64) -> ())(record)
    }
}
