//! Installing handlers, changing masks' owners, sending signals within the process. See `crate::signals`.

use super::{crash_handlers, interpose};
use crate::clock;
use crate::ending;
use crate::observe;
use crate::outside;
use crate::real::real;
use crate::signals::{self, Handler, bit};
use crate::switching;
use crate::sys::{c_result, fail, getpid, sys};
use crate::thread::Thread;
use crate::timers;
use crate::token::{self, point, scheduler};
use core::ffi::c_void;
use deadheat_model::{ObjectKind, Operation, ThreadId};
use libc::{c_int, c_uint, itimerval, pthread_t, timeval};

/// The handler that the kernel has for a signal; `None` for the default.
pub fn kernel_handler(signal: c_int) -> Option<usize> {
    // SAFETY: zeroed actions are valid.
    let address = unsafe {
        let mut old: libc::sigaction = core::mem::zeroed();
        real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int)(
            signal,
            core::ptr::null(),
            &mut old,
        );
        old.sa_sigaction
    };
    (address != libc::SIG_DFL).then_some(address)
}

/// Handlers of crashes go straight to the kernel; ours stands in for the default.
unsafe fn set_crash(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if signal == libc::SIGSEGV && outside::active() {
        // SAFETY: the caller's actions.
        unsafe { outside::set_handler(new, old) };
        return 0;
    }
    // SAFETY: the caller's actions.
    unsafe {
        let result = crash_handlers::set(signal, new, old);
        if result == 0 && !old.is_null() && ending::is_ours((*old).sa_sigaction) {
            *old = core::mem::zeroed();
        }
        if result == 0 && !new.is_null() && (*new).sa_sigaction == libc::SIG_DFL && ending::is_crash(signal) {
            ending::restore(signal);
        }
        result
    }
}

unsafe fn mask_of(action: *const libc::sigaction) -> u64 {
    // SAFETY: the kernel's set is the first word of libc's.
    unsafe { *(&raw const (*action).sa_mask).cast::<u64>() }
}

unsafe fn show(handler: Handler, old: *mut libc::sigaction) {
    if !old.is_null() {
        // SAFETY: the caller's buffer; zeroed is valid.
        unsafe {
            *old = core::mem::zeroed();
            (*old).sa_sigaction = handler.address;
            (*old).sa_flags = handler.flags;
            *(&raw mut (*old).sa_mask).cast::<u64>() = handler.mask;
        }
    }
}

/// `signal` with these flags.
unsafe fn simple(signal: c_int, address: usize, flags: c_int) -> usize {
    // SAFETY: zeroed actions are valid.
    unsafe {
        let mut new: libc::sigaction = core::mem::zeroed();
        let mut old: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = address;
        new.sa_flags = flags;
        if sigaction(signal, &new, &mut old) < 0 {
            libc::SIG_ERR
        } else {
            old.sa_sigaction
        }
    }
}

/// Sends a signal to a thread of this process.
fn to_thread(t: &mut Thread, pthread: pthread_t, signal: c_int, code: c_int, value: u64) -> c_int {
    let Some(target) = scheduler().threads.find(pthread) else {
        return libc::ESRCH;
    };
    if target.ended || signal == 0 {
        return 0;
    }
    if !(0..=64).contains(&signal) {
        return libc::EINVAL;
    }
    if signals::synchronous(signal) {
        comes_itself(t, target);
        // SAFETY: a signal to a thread of ours.
        return unsafe { -(sys!(libc::SYS_tgkill, getpid(), target.kernel_id, signal) as c_int) };
    }
    signals::tells(t, signal);
    signals::send(target, signal, code, value);
    point(Operation::Continue);
    signals::deliver(t);
    0
}

/// The kernel is about to call a handler in a thread.
fn comes_itself(t: &mut Thread, target: &mut Thread) {
    if t.id == target.id {
        switching::go_home(t);
    } else {
        switching::recall(target);
    }
}

interpose! {
    fn sigaction(_t; signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
        if signals::synchronous(signal) {
            if !new.is_null() {
                crate::unordered::publishes_handler();
            }
            return set_crash(signal, new, old);
        }
        let before = signals::handler(signal);
        let mut result = 0;
        if !new.is_null() {
            let handler = Handler { address: (*new).sa_sigaction, mask: mask_of(new), flags: (*new).sa_flags };
            result = signals::install(signal, handler);
        }
        if result == 0 {
            show(before, old);
        }
        result
    }
    fn signal(_t; signal: c_int, address: usize) -> usize { simple(signal, address, libc::SA_RESTART) }
    fn bsd_signal(_t; signal: c_int, address: usize) -> usize { simple(signal, address, libc::SA_RESTART) }
    fn sysv_signal(_t; signal: c_int, address: usize) -> usize {
        simple(signal, address, libc::SA_RESETHAND | libc::SA_NODEFER)
    }
    fn siginterrupt(_t; signal: c_int, interrupts: c_int) -> c_int {
        let mut handler = signals::handler(signal);
        handler.flags = if interrupts != 0 { handler.flags & !libc::SA_RESTART } else { handler.flags | libc::SA_RESTART };
        signals::install(signal, handler)
    }
    fn raise(t; signal: c_int) -> c_int {
        if signals::synchronous(signal) {
            switching::go_home(t);
            return c_result(sys!(libc::SYS_tgkill, getpid(), t.kernel_id, signal)) as c_int;
        }
        signals::tells(t, signal);
        signals::send(t, signal, libc::SI_TKILL, 0);
        signals::deliver(t);
        point(Operation::Continue);
        0
    }
    fn pthread_kill(t; pthread: pthread_t, signal: c_int) -> c_int { to_thread(t, pthread, signal, libc::SI_TKILL, 0) }
    fn pthread_sigqueue(t; pthread: pthread_t, signal: c_int, value: *mut c_void) -> c_int {
        to_thread(t, pthread, signal, libc::SI_QUEUE, value as u64)
    }
    fn kill(t; pid: libc::pid_t, signal: c_int) -> c_int {
        let inside = pid == getpid() && signal > 0 && !signals::synchronous(signal);
        let unhandled = signals::handler(signal).address == libc::SIG_DFL
            && scheduler().threads.iter().any(|o| o.mask & bit(signal) == 0);
        if !inside || unhandled {
            if signals::synchronous(signal) {
                // The kernel takes the process's first thread, if that does not block it.
                switching::go_home(t);
                if let Some(main) = token::thread(ThreadId::MAIN) {
                    switching::recall(main);
                }
            }
            let result = c_result(sys!(libc::SYS_kill, pid, signal)) as c_int;
            point(Operation::External);
            // Whether the process is still there, say.
            observe::told(t.id, ObjectKind::Descriptor, None);
            return result;
        }
        signals::tells(t, signal);
        signals::post_from_within(signal, libc::SI_USER, 0);
        point(Operation::Continue);
        signals::deliver(t);
        0
    }
    fn sigqueue(t; pid: libc::pid_t, signal: c_int, value: *mut c_void) -> c_int {
        if pid == getpid() && signals::handled(signal) {
            signals::tells(t, signal);
            signals::post_from_within(signal, libc::SI_QUEUE, value as u64);
            point(Operation::Continue);
            signals::deliver(t);
            return 0;
        }
        real!(sigqueue: fn(libc::pid_t, c_int, *mut c_void) -> c_int)(pid, signal, value)
    }
    fn tgkill(t; pid: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int {
        let target = scheduler().threads.iter().find(|o| o.kernel_id == thread);
        match target {
            Some(target) if pid == getpid() && signal > 0 && !signals::synchronous(signal) => {
                signals::tells(t, signal);
                signals::send(target, signal, libc::SI_TKILL, 0);
                point(Operation::Continue);
                signals::deliver(t);
                0
            }
            target => {
                if let Some(target) = target {
                    comes_itself(t, target);
                }
                c_result(sys!(libc::SYS_tgkill, pid, thread, signal)) as c_int
            }
        }
    }
    fn alarm(t; seconds: c_uint) -> c_uint {
        observe::told(t.id, ObjectKind::Descriptor, None);
        let (left, _) = clock::set_timer(u64::from(seconds) * 1_000_000_000, 0);
        left.div_ceil(1_000_000_000) as c_uint
    }
    fn ualarm(_t; first: c_uint, interval: c_uint) -> c_uint {
        let (left, _) = clock::set_timer(u64::from(first) * 1_000, u64::from(interval) * 1_000);
        (left / 1_000) as c_uint
    }
    fn getitimer(t; which: c_int, value: *mut itimerval) -> c_int {
        observe::told(t.id, ObjectKind::Descriptor, None);
        *value = interval(match which {
            libc::ITIMER_REAL => clock::timer(),
            _ => of_work(which).map_or((0, 0), |timer| timer.left()),
        });
        0
    }
    fn setitimer(_t; which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int {
        if new.is_null() {
            return fail(libc::EFAULT);
        }
        let nanoseconds = |t: &timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
        let (first, next) = (nanoseconds(&(*new).it_value), nanoseconds(&(*new).it_interval));
        let before = match which {
            libc::ITIMER_REAL => clock::set_timer(first, next),
            _ => match of_work(which) {
                Some(timer) => {
                    let before = timer.left();
                    let coarse = |span: u64| if span == 0 { 0 } else { span.max(JIFFY) };
                    timer.set(timer.after(coarse(first)), coarse(next));
                    before
                }
                None => return fail(libc::EINVAL),
            },
        };
        if !old.is_null() {
            *old = interval(before);
        }
        0
    }
}

/// The finest that the kernel measures a program's work by, nanoseconds.
const JIFFY: u64 = 4_000_000;

/// An interval timer that goes by work; none if there is no such.
fn of_work(which: c_int) -> Option<&'static mut timers::Timer> {
    let signal = match which {
        libc::ITIMER_VIRTUAL => libc::SIGVTALRM,
        libc::ITIMER_PROF => libc::SIGPROF,
        _ => return None,
    };
    let timer = timers::INTERVAL_TIMERS + which as usize;
    if timers::numbered(timer).is_none() {
        let (to, value) = (None, 0);
        timers::add(
            timers::Tells::Signal {
                timer,
                to,
                signal,
                value,
            },
            libc::CLOCK_PROCESS_CPUTIME_ID,
        );
    }
    timers::numbered(timer)
}

fn interval((left, interval): (u64, u64)) -> itimerval {
    let value = |n: u64| timeval {
        tv_sec: (n / 1_000_000_000) as i64,
        tv_usec: (n % 1_000_000_000 / 1_000) as i64,
    };
    itimerval {
        it_value: value(left),
        it_interval: value(interval),
    }
}
