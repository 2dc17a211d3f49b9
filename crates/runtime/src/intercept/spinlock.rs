//! `pthread_spin_*`: one word, 0 when free.

use super::interpose;
use crate::lock_order;
use crate::misuse;
use crate::observe;
use crate::thread::NEVER;
use crate::token::{self, point, released, wait};
use crate::wait::{Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{LockMode, ObjectKind, Operation};
use libc::c_int;

fn acquire(a: u64) -> Operation {
    Operation::Acquire(ObjectKind::SpinLock, observe::object(a))
}

interpose! {
    fn pthread_spin_init(_t; lock: *mut c_void, _shared: c_int) -> c_int {
        word(lock as u64).store(0, Relaxed);
        0
    }
    fn pthread_spin_lock(t; lock: *mut c_void) -> c_int {
        let a = lock as u64;
        let own = Wait::Lock(ObjectKind::SpinLock, a);
        point(lock_order::coming(t, own, acquire(a)));
        while word(a).compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
            let next = lock_order::coming(t, own, acquire(a));
            wait(t, own, next, NEVER);
        }
        lock_order::waits(t, ObjectKind::SpinLock, a, LockMode::Write, None);
        token::acquired(t, ObjectKind::SpinLock, a, LockMode::Write);
        0
    }
    fn pthread_spin_trylock(t; lock: *mut c_void) -> c_int {
        let a = lock as u64;
        point(acquire(a));
        if word(a).compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
            super::mutex::failed_try(t);
            return libc::EBUSY;
        }
        token::acquired(t, ObjectKind::SpinLock, a, LockMode::Write);
        0
    }
    fn pthread_spin_unlock(t; lock: *mut c_void) -> c_int {
        let a = lock as u64;
        point(Operation::Release(ObjectKind::SpinLock, observe::object(a)));
        misuse::gives_lock(t, ObjectKind::SpinLock, a, word(a).load(Relaxed), 0);
        released(t, ObjectKind::SpinLock, a);
        word(a).store(0, Relaxed);
        point(Operation::Continue);
        0
    }
    fn pthread_spin_destroy(t; lock: *mut c_void) -> c_int {
        misuse::destroys_lock(t, ObjectKind::SpinLock, lock as u64);
        observe::destroyed(lock as u64, 4);
        0
    }
}
