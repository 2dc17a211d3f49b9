//! `__cxa_guard_*`: initialisation of function-local statics in C++. First byte: done; second: in progress.

use super::frame;
use crate::observe;
use crate::real::find as find_real;
use crate::thread::NEVER;
use crate::token::{me, point, progress, wait};
use crate::wait::Wait;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::*};
use deadheat_model::{ObjectKind, Operation};
use libc::c_int;

type Guard = *mut [AtomicU8; 8];

/// The C++ library's function, if the program has that library as a shared one.
fn real_guard(cached: &AtomicUsize, name: &core::ffi::CStr) -> usize {
    match cached.load(Relaxed) {
        0 => {
            let found = find_real(name);
            cached.store(if found == 0 { 1 } else { found }, Relaxed);
            found
        }
        1 => 0,
        found => found,
    }
}

/// Whether the caller is to initialise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_guard_acquire(guard: Guard) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the compiler's guard variable.
    let bytes = unsafe { &*guard };
    let Some(t) = me() else {
        let found = real_guard(&REAL, c"__cxa_guard_acquire");
        if found != 0 {
            // SAFETY: the function of this name.
            return unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(Guard) -> c_int>(found)(guard) };
        }
        // Statically linked C++ library: the same protocol without waiting in the kernel.
        loop {
            if bytes[0].load(Acquire) != 0 {
                return 0;
            }
            if bytes[1].compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
                return 1;
            }
            // SAFETY: no arguments.
            unsafe { crate::sys::sys!(libc::SYS_sched_yield) };
        }
    };
    t.frame = frame!();
    let a = guard as u64;
    let acquire = Operation::Acquire(ObjectKind::Once, observe::object(a));
    point(acquire);
    loop {
        if bytes[0].load(Relaxed) != 0 {
            observe::acquire_edge(t.id, ObjectKind::Once, a);
            return 0;
        }
        if bytes[1].swap(1, Relaxed) == 0 {
            // After whoever gave it up, if somebody did.
            observe::acquire_edge(t.id, ObjectKind::Once, a);
            return 1;
        }
        wait(t, Wait::Guard(a), acquire, NEVER);
    }
}

/// The initialiser is through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_guard_release(guard: Guard) {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let t = me();
    let found = if t.is_none() {
        real_guard(&REAL, c"__cxa_guard_release")
    } else {
        0
    };
    if found != 0 {
        // SAFETY: the function of this name.
        return unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(Guard)>(found)(guard) };
    }
    if let Some(t) = &t {
        progress();
        observe::release_edge(t.id, ObjectKind::Once, guard as u64);
        // Compiled code loads the first byte inline and calls nobody when it is set.
        observe::library_store(t.id, guard as u64, 1);
    }
    // SAFETY: the compiler's guard variable.
    let bytes = unsafe { &*guard };
    bytes[0].store(1, Release);
    bytes[1].store(0, Release);
    if t.is_some() {
        point(Operation::Continue);
    }
}

/// The initialiser threw.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_guard_abort(guard: Guard) {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let found = if me().is_none() {
        real_guard(&REAL, c"__cxa_guard_abort")
    } else {
        0
    };
    if found != 0 {
        // SAFETY: the function of this name.
        return unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(Guard)>(found)(guard) };
    }
    if let Some(t) = me() {
        observe::release_edge(t.id, ObjectKind::Once, guard as u64);
    }
    // SAFETY: the compiler's guard variable.
    let bytes = unsafe { &*guard };
    bytes[1].store(0, Release);
}
