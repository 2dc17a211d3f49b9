//! `timerfd_create` and `timer_create`: timers on the virtual clock, see `crate::timers`. Those that go by a clock that is
//! not virtual are the kernel's.

use super::{interpose, threads, unmodelled};
use crate::clock;
use crate::observe;
use crate::real::real;
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, StartRoutine, Thread};
use crate::timers::{self, Tells, Timer};
use crate::token::{me, point, scheduler, wait};
use crate::wait::{Wait, word};
use alloc::boxed::Box;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, itimerspec, pthread_attr_t, pthread_t, sigevent};

/// Of `timer_create` and `timerfd_settime`.
const ABSOLUTE: c_int = 1;

/// Winds a timer up and shows what was before; an error if a time is none.
unsafe fn set(timer: &mut Timer, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> Result<(), c_int> {
    // SAFETY: the caller's times.
    unsafe {
        if new.is_null() {
            return Err(libc::EFAULT);
        }
        let value = clock::nanoseconds(&(*new).it_value).ok_or(libc::EINVAL)?;
        let interval = clock::nanoseconds(&(*new).it_interval).ok_or(libc::EINVAL)?;
        let first = if flags & ABSOLUTE != 0 {
            clock::absolute(&(*new).it_value, timer.clock).filter(|_| value != 0)
        } else {
            timer.after(value)
        };
        show(timer, old);
        timer.set(first, interval);
    }
    Ok(())
}

/// Writes what is left and the interval.
unsafe fn show(timer: &Timer, to: *mut itimerspec) {
    if !to.is_null() {
        let (left, interval) = timer.left();
        // SAFETY: the caller's buffer.
        unsafe {
            (*to).it_value = clock::timespec(left);
            (*to).it_interval = clock::timespec(interval);
        }
    }
}

/// What a call of the program's is told by; none if it is not for us.
unsafe fn tells(event: *const sigevent, timer: usize) -> Option<Tells> {
    // SAFETY: null or the caller's.
    let (how, signal, value, thread) = match unsafe { event.as_ref() } {
        None => (libc::SIGEV_SIGNAL, libc::SIGALRM, timer as u64, 0),
        Some(e) => (
            e.sigev_notify,
            e.sigev_signo,
            e.sigev_value.sival_ptr as u64,
            e.sigev_notify_thread_id,
        ),
    };
    let (to, signal) = match how {
        libc::SIGEV_NONE => (None, 0),
        libc::SIGEV_SIGNAL => (None, signal),
        libc::SIGEV_THREAD_ID => (
            Some(scheduler().threads.iter().find(|t| t.kernel_id == thread)?.id),
            signal,
        ),
        _ => return None,
    };
    let known = signal == 0 || !crate::signals::synchronous(signal);
    known.then_some(Tells::Signal {
        timer,
        to,
        signal,
        value,
    })
}

/// A thread that is made when a timer has run out, as the end of a `sigevent` says.
#[repr(C)]
struct Notified {
    /// How often the timer has run out and was not told.
    count: AtomicI32,
    over: bool,
    function: StartRoutine,
    value: *mut c_void,
    attributes: *mut pthread_attr_t,
}

/// A timer that makes threads: begins the one that waits for it. Its memory stays, since that one may wait there.
unsafe fn notifying(event: *const sigevent, timer: usize) -> Result<Tells, c_int> {
    // SAFETY: the caller's event, which holds function and attributes behind what `libc` has of it.
    unsafe {
        let rest = event.byte_add(16);
        let notified = Box::leak(Box::new(Notified {
            count: AtomicI32::new(0),
            over: false,
            function: *rest.cast(),
            value: (*event).sigev_value.sival_ptr,
            attributes: *rest.byte_add(8).cast(),
        }));
        let mut waits: pthread_t = 0;
        let argument = (&raw mut *notified).cast();
        match threads::pthread_create(&mut waits, core::ptr::null_mut(), makes_threads, argument) {
            0 => threads::pthread_detach(waits),
            error => return Err(error),
        };
        let count = &raw const notified.count as u64;
        Ok(Tells::Thread { timer, count })
    }
}

/// The thread that waits for a timer.
extern "C" fn makes_threads(notified: *mut c_void) -> *mut c_void {
    let count = notified as u64;
    // SAFETY: made above; function, value and attributes are the program's for this purpose.
    unsafe {
        let notified = &*notified.cast::<Notified>();
        while let Some(t) = me() {
            if word(count).load(Relaxed) == 0 {
                wait(t, Wait::Futex(count, u32::MAX), Operation::External, NEVER);
                continue;
            }
            word(count).fetch_sub(1, Relaxed);
            observe::acquire_edge(t.id, ObjectKind::Futex, count);
            if (&raw const notified.over).read_volatile() {
                break;
            }
            let mut made: pthread_t = 0;
            let mut state = libc::PTHREAD_CREATE_JOINABLE;
            if !notified.attributes.is_null() {
                pthread_attr_getdetachstate(notified.attributes, &mut state);
            }
            let failed =
                threads::pthread_create(&mut made, notified.attributes, notified.function, notified.value) != 0;
            if !failed && state == libc::PTHREAD_CREATE_JOINABLE {
                threads::pthread_detach(made);
            }
        }
    }
    core::ptr::null_mut()
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

fn learns(t: &Thread) {
    observe::told(t.id, ObjectKind::Descriptor, None);
}

interpose! {
    fn timerfd_create(_t; id: c_int, flags: c_int) -> c_int {
        let fd = c_result(sys!(libc::SYS_timerfd_create, id, flags)) as c_int;
        if fd >= 0 && clock::base(id).is_some() {
            timers::remove(Tells::Descriptor(fd));
            timers::add(Tells::Descriptor(fd), id);
        }
        fd
    }
    fn timerfd_settime(t; fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
        point(Operation::External);
        timers::settle();
        learns(t);
        let Some(timer) = timers::of_descriptor(fd) else {
            return c_result(sys!(libc::SYS_timerfd_settime, fd, flags, new, old)) as c_int;
        };
        if let Err(error) = set(timer, flags, new, old) {
            return fail(error);
        }
        let none: itimerspec = core::mem::zeroed();
        sys!(libc::SYS_timerfd_settime, fd, 0i32, &raw const none, 0usize);
        scheduler().told = true;
        0
    }
    fn timerfd_gettime(t; fd: c_int, value: *mut itimerspec) -> c_int {
        learns(t);
        timers::settle();
        let Some(timer) = timers::of_descriptor(fd) else {
            return c_result(sys!(libc::SYS_timerfd_gettime, fd, value)) as c_int;
        };
        show(timer, value);
        0
    }
    fn timer_create(_t; id: c_int, event: *mut sigevent, timer: *mut usize) -> c_int {
        let number = timers::free_number();
        if event.as_ref().is_some_and(|e| e.sigev_notify == libc::SIGEV_THREAD) && clock::base(id).is_some() {
            match notifying(event, number) {
                Ok(tells) => timers::add(tells, id),
                Err(error) => return fail(error),
            }
            *timer = number;
            return 0;
        }
        match tells(event, number).filter(|_| clock::base(id).is_some()) {
            Some(tells) => {
                timers::add(tells, id);
                *timer = number;
                0
            }
            None => {
                unmodelled::timer(event);
                real!(timer_create: fn(c_int, *mut sigevent, *mut usize) -> c_int)(id, event, timer)
            }
        }
    }
    fn timer_delete(t; timer: usize) -> c_int {
        let Some(tells) = timers::numbered(timer).map(|timer| timer.tells) else {
            return real!(timer_delete: fn(usize) -> c_int)(timer);
        };
        timers::remove(tells);
        if let Tells::Thread { count, .. } = tells {
            (*(count as *mut Notified)).over = true;
            observe::release_edge(t.id, ObjectKind::Futex, count);
            timers::wake(count);
        }
        0
    }
    fn timer_settime(t; timer: usize, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
        learns(t);
        let Some(own) = timers::numbered(timer) else {
            return real!(timer_settime: fn(usize, c_int, *const itimerspec, *mut itimerspec) -> c_int)(timer, flags, new, old);
        };
        if let Tells::Thread { count, .. } = own.tells {
            observe::release_edge(t.id, ObjectKind::Futex, count);
        }
        set(own, flags, new, old).map_or_else(fail, |()| 0)
    }
    fn timer_gettime(t; timer: usize, value: *mut itimerspec) -> c_int {
        learns(t);
        let Some(own) = timers::numbered(timer) else {
            return real!(timer_gettime: fn(usize, *mut itimerspec) -> c_int)(timer, value);
        };
        show(own, value);
        0
    }
    fn timer_getoverrun(_t; timer: usize) -> c_int {
        match timers::numbered(timer) {
            Some(own) => own.count.min(c_int::MAX as u64) as c_int,
            None => real!(timer_getoverrun: fn(usize) -> c_int)(timer),
        }
    }
}
