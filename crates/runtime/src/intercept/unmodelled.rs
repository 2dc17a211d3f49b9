//! Calls that run, but whose effects come from outside the schedule: kernel timers and asynchronous I/O.
//! They are counted, so that the record says what a replay may not repeat. Their completion may be told by a thread of
//! the C library's own, which wakes others unseen: from the first such call on, threads that wait may be woken from
//! outside.

use super::{interpose, not_modelled};
use crate::real::real;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use libc::c_int;

static MAY_WAKE: AtomicBool = AtomicBool::new(false);

/// Whether a thread that nobody sees may wake those that wait.
pub fn may_wake() -> bool {
    MAY_WAKE.load(Relaxed)
}

macro_rules! counted {
    ($(fn $name:ident($($p:ident: $ty:ty),*) -> $r:ty;)*) => { interpose! { $(
        fn $name(_t; $($p: $ty),*) -> $r {
            not_modelled(stringify!($name));
            MAY_WAKE.store(true, Relaxed);
            real!($name: fn($($ty),*) -> $r)($($p),*)
        }
    )* } };
}

counted! {
    fn timer_create(clock: c_int, event: *mut c_void, timer: *mut c_void) -> c_int;
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
    fn aio_read(control: *mut c_void) -> c_int;
    fn aio_write(control: *mut c_void) -> c_int;
    fn aio_fsync(operation: c_int, control: *mut c_void) -> c_int;
    fn lio_listio(mode: c_int, list: *mut c_void, count: c_int, event: *mut c_void) -> c_int;
    fn mq_notify(queue: c_int, event: *const c_void) -> c_int;
    fn getaddrinfo_a(mode: c_int, list: *mut c_void, count: c_int, event: *mut c_void) -> c_int;
}
