//! Calls that run, but whose effects come from outside the schedule: kernel timers and asynchronous I/O.
//! They are counted, so that the record says what a replay may not repeat; who learns of their completion is not seen, so
//! no pair is called unordered any more after an asynchronous operation. Where the program asks that a thread tells
//! of their completion (`SIGEV_THREAD`) it is one of the C library's own, which nobody sees: from the first such call
//! on, threads that all wait may be woken from outside.

use super::{interpose, not_modelled};
use crate::real::real;
use core::ffi::c_void;
use core::ptr::null;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use libc::{SIGEV_THREAD, aiocb, c_int, sigevent};

static MAY_WAKE: AtomicBool = AtomicBool::new(false);

/// A timer of the kernel's was made.
static TIMED: AtomicBool = AtomicBool::new(false);

/// Whether real time may bring what somebody polls for.
pub fn may_run_out() -> bool {
    TIMED.load(Relaxed) || may_wake()
}

/// Whether a thread that nobody sees may wake those that wait.
pub fn may_wake() -> bool {
    MAY_WAKE.load(Relaxed)
}

/// A call was made that tells of its completion like this (null: in the usual way, not by a thread).
///
/// # Safety
/// Null or the caller's.
unsafe fn tells(event: *const sigevent) {
    // SAFETY: as our caller promises.
    if unsafe { event.as_ref() }.is_some_and(|event| event.sigev_notify == SIGEV_THREAD) {
        MAY_WAKE.store(true, Relaxed);
        crate::unordered::stop();
    }
}

/// How the completion of an operation is told.
///
/// # Safety
/// Null or the caller's.
unsafe fn of(control: *const aiocb) -> *const sigevent {
    // SAFETY: as our caller promises.
    unsafe { control.as_ref() }.map_or(null(), |control| &raw const control.aio_sigevent)
}

/// The same of each operation of a list.
///
/// # Safety
/// The caller's list of so many.
unsafe fn each(list: *const *mut aiocb, count: c_int) {
    for n in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: as our caller promises.
        unsafe { tells(of(*list.add(n))) };
    }
}

/// A timer of the kernel's is made that tells so.
///
/// # Safety
/// Null or the caller's.
pub unsafe fn timer(event: *const sigevent) {
    not_modelled("timer_create");
    TIMED.store(true, Relaxed);
    // SAFETY: as our caller promises.
    unsafe { tells(event) };
}

macro_rules! counted {
    ($(fn $name:ident($($p:ident: $ty:ty),*) -> $r:ty { $how:expr })*) => { interpose! { $(
        fn $name(_t; $($p: $ty),*) -> $r {
            not_modelled(stringify!($name));
            $how;
            real!($name: fn($($ty),*) -> $r)($($p),*)
        }
    )* } };
}

counted! {
    fn aio_read(control: *mut aiocb) -> c_int { { crate::unordered::stop(); tells(of(control)) } }
    fn aio_write(control: *mut aiocb) -> c_int { { crate::unordered::stop(); tells(of(control)) } }
    fn aio_fsync(operation: c_int, control: *mut aiocb) -> c_int { { crate::unordered::stop(); tells(of(control)) } }
    fn lio_listio(mode: c_int, list: *const *mut aiocb, count: c_int, event: *mut sigevent) -> c_int {
        { crate::unordered::stop(); each(list, count); tells(event) }
    }
    fn mq_notify(queue: c_int, event: *const sigevent) -> c_int { tells(event) }
    fn getaddrinfo_a(mode: c_int, list: *mut c_void, count: c_int, event: *mut sigevent) -> c_int { tells(event) }
}
