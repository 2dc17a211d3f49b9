//! `timerfd_create` and `timer_create`: timers on the virtual clock, see `crate::timers`. Those that make a thread
//! (`SIGEV_THREAD`) or go by a clock that is not virtual are the C library's own.

use super::{interpose, unmodelled};
use crate::clock;
use crate::observe;
use crate::real::real;
use crate::sys::{c_result, fail, sys};
use crate::thread::Thread;
use crate::timers::{self, Tells, Timer};
use crate::token::{point, scheduler};
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, itimerspec, sigevent};

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
            clock::absolute(&(*new).it_value, timer.clock)
        } else {
            clock::relative(&(*new).it_value)
        };
        show(timer, old);
        timer.set(first.filter(|_| value != 0), interval);
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
    fn timer_delete(_t; timer: usize) -> c_int {
        let Some(tells) = timers::numbered(timer).map(|timer| timer.tells) else {
            return real!(timer_delete: fn(usize) -> c_int)(timer);
        };
        timers::remove(tells);
        0
    }
    fn timer_settime(t; timer: usize, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
        learns(t);
        let Some(own) = timers::numbered(timer) else {
            return real!(timer_settime: fn(usize, c_int, *const itimerspec, *mut itimerspec) -> c_int)(timer, flags, new, old);
        };
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
