//! Timers that the kernel keeps (`timerfd_create`, `timer_create`), on the virtual clock.
//!
//! The kernel's own are never wound up. When virtual time has come, a descriptor gets the expirations that it would
//! have counted, so that reads, polls, copies and epoll sets find what they would; a signal is sent within the process;
//! a thread that is to be told by (`SIGEV_THREAD`) is made by one that waits for it from the timer's making on.
//! Descriptors are seen to before anybody looks at the world outside, signals whenever signals are collected. For a
//! program that sees to it that time passes, a timer that nobody waits for is no reason to go on. Timers of the processor's
//! time stand still while nobody works.

use crate::clock;
use crate::held::Held;
use crate::signals;
use crate::sys::sys;
use crate::thread::NEVER;
use crate::token::{first_waiting, scheduler};
use crate::wait::{Wait, word};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use deadheat_model::ThreadId;

/// Sets the count of a timer descriptor: `TFD_IOC_SET_TICKS`.
const SET_TICKS: u64 = 0x4008_5400;

/// Numbers from here on are those of the interval timers that go by work (`ITIMER_VIRTUAL`, `ITIMER_PROF`).
pub const INTERVAL_TIMERS: usize = usize::MAX - 3;

/// How a timer tells that it ran out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tells {
    /// This descriptor can be read.
    Descriptor(i32),
    /// This signal is sent to a thread or the process, with a value.
    Signal {
        /// The timer's number.
        timer: usize,
        /// None: to the process.
        to: Option<ThreadId>,
        /// 0: nothing is sent.
        signal: i32,
        /// What goes with it.
        value: u64,
    },
    /// The thread that waits on the futex here makes another.
    Thread {
        /// The timer's number.
        timer: usize,
        /// Address of a count.
        count: u64,
    },
}

/// A timer.
pub struct Timer {
    /// How it tells that it ran out.
    pub tells: Tells,
    /// Whose time it goes by.
    pub clock: i32,
    at: u64,
    interval: u64,
    /// Of a descriptor: expirations that nobody read. Of others: those beyond the last that was told.
    pub count: u64,
}

static TIMERS: Held<Vec<Timer>> = Held::new(Vec::new());
/// When the first of those that send signals runs out.
static NEXT_SIGNAL: AtomicU64 = AtomicU64::new(NEVER);
/// When the first of those that go by work runs out if the program works until then.
static NEXT_OF_WORK: AtomicU64 = AtomicU64::new(NEVER);

/// Adds a timer that is not wound up.
pub fn add(tells: Tells, clock: i32) {
    let fresh = Timer {
        tells,
        clock,
        at: NEVER,
        interval: 0,
        count: 0,
    };
    TIMERS.get().push(fresh);
}

/// The timer of a descriptor.
pub fn of_descriptor(fd: i32) -> Option<&'static mut Timer> {
    TIMERS.get().iter_mut().find(|t| t.tells == Tells::Descriptor(fd))
}

/// The timer of this number.
pub fn numbered(number: usize) -> Option<&'static mut Timer> {
    let is = |t: &Tells| matches!(t, Tells::Signal { timer, .. } | Tells::Thread { timer, .. } if *timer == number);
    TIMERS.get().iter_mut().find(|t| is(&t.tells))
}

/// The lowest number that is free.
pub fn free_number() -> usize {
    (0..).find(|number| numbered(*number).is_none()).unwrap_or(0)
}

/// Forgets the timer that tells so.
pub fn remove(tells: Tells) {
    TIMERS.get().retain(|t| t.tells != tells);
    wound_up();
}

/// In a child process: the kernel's timers that send signals are the parent's.
pub fn forked() {
    TIMERS.get().retain(|t| matches!(t.tells, Tells::Descriptor(_)));
    wound_up();
}

/// Whether a clock goes on only while the program works.
fn is_of_work(clock: i32) -> bool {
    matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID)
}

impl Timer {
    /// The time that it goes by.
    fn time(&self) -> u64 {
        if is_of_work(self.clock) {
            clock::worked()
        } else {
            clock::now()
        }
    }

    /// The moment after so much time; none for a time of zero.
    pub fn after(&self, nanoseconds: u64) -> Option<u64> {
        (nanoseconds != 0).then(|| self.time().saturating_add(nanoseconds).min(NEVER - 1))
    }

    /// What is left, 0 if it is not wound up, and the interval.
    pub fn left(&self) -> (u64, u64) {
        let left = if self.at == NEVER {
            0
        } else {
            self.at.saturating_sub(self.time()).max(1)
        };
        (left, self.interval)
    }

    /// Winds it up: the first moment by its time, never if there is none.
    pub fn set(&mut self, first: Option<u64>, interval: u64) {
        (self.at, self.interval, self.count) = (first.unwrap_or(NEVER), interval, 0);
        wound_up();
    }

    /// How often it ran out since it was asked last.
    fn expired(&mut self) -> u64 {
        let now = self.time();
        if self.at > now {
            return 0;
        }
        if self.interval == 0 {
            self.at = NEVER;
            return 1;
        }
        let times = 1 + (now - self.at) / self.interval;
        self.at = self.at.saturating_add(times * self.interval);
        times
    }
}

fn earliest(is_meant: impl Fn(&Timer) -> bool) -> u64 {
    let meant = TIMERS.get().iter().filter(|t| is_meant(t));
    meant.map(|t| t.at).min().unwrap_or(NEVER)
}

fn is_descriptor(timer: &Timer) -> bool {
    matches!(timer.tells, Tells::Descriptor(_))
}

fn wound_up() {
    NEXT_SIGNAL.store(earliest(|t| !is_descriptor(t) && !is_of_work(t.clock)), Relaxed);
    let work = earliest(|t| is_of_work(t.clock));
    let slept = clock::now() - clock::worked();
    NEXT_OF_WORK.store(work.saturating_add(slept), Relaxed);
}

/// When the first timer runs out that sends a signal, the interval timer included, whether the program works or not.
#[inline]
pub fn signal_deadline() -> u64 {
    clock::timer_deadline().min(NEXT_SIGNAL.load(Relaxed))
}

/// When the first timer that goes by work runs out at the earliest.
#[inline]
pub fn work_deadline() -> u64 {
    NEXT_OF_WORK.load(Relaxed)
}

/// When the first descriptor's timer runs out.
pub fn descriptor_deadline() -> u64 {
    earliest(is_descriptor)
}

/// Whether these are descriptors of timers alone, and nothing of the world outside.
pub fn only(polled: &[libc::pollfd]) -> bool {
    !polled.is_empty() && polled.iter().all(|p| of_descriptor(p.fd).is_some())
}

/// Before anybody looks at descriptors: those whose time has come can be read.
pub fn settle() {
    for timer in TIMERS.get().iter_mut() {
        if let Tells::Descriptor(fd) = timer.tells
            && let times @ 1.. = timer.expired()
        {
            timer.count += times;
            count(fd, timer.count);
        }
    }
}

/// Gives a descriptor this count of expirations.
fn count(fd: i32, times: u64) {
    // SAFETY: plain calls with values of our own.
    unsafe {
        if sys!(libc::SYS_ioctl, fd, SET_TICKS, &raw const times) == 0 {
            return;
        }
        // A kernel that cannot be told: at least it can be read.
        let soon = [clock::timespec(0), clock::timespec(1)];
        sys!(libc::SYS_timerfd_settime, fd, 0i32, soon.as_ptr(), 0usize);
        let mut one = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        sys!(libc::SYS_poll, &raw mut one, 1usize, 1i32);
    }
}

/// A descriptor was read: its count begins anew.
pub fn was_read(fd: i32) {
    if let Some(timer) = of_descriptor(fd) {
        timer.count = 0;
    }
}

/// A descriptor is about to be closed; a copy of it goes by the kernel's time from now on.
pub fn closes(fd: i32) {
    let Some(timer) = of_descriptor(fd) else { return };
    let (left, interval) = timer.left();
    if left != 0 {
        let new = [clock::timespec(interval), clock::timespec(left)];
        // SAFETY: our own times.
        unsafe { sys!(libc::SYS_timerfd_settime, fd, 0i32, new.as_ptr(), 0usize) };
    }
    remove(Tells::Descriptor(fd));
}

/// Sends the signals whose time has come.
pub fn send_signals() {
    if NEXT_SIGNAL.load(Relaxed).min(work_deadline()) > clock::now() {
        return;
    }
    for timer in TIMERS.get().iter_mut() {
        if is_descriptor(timer) {
            continue;
        }
        let times @ 1.. = timer.expired() else { continue };
        timer.count = times - 1;
        match timer.tells {
            Tells::Descriptor(_) | Tells::Signal { signal: 0, .. } => {}
            Tells::Signal { timer, signal, .. } if timer >= INTERVAL_TIMERS => signals::post(signal),
            Tells::Signal { to, signal, value, .. } => match to.and_then(|to| scheduler().threads.get(to)) {
                Some(thread) => signals::send(thread, signal, libc::SI_TIMER, value),
                None => signals::post_from_within(signal, libc::SI_TIMER, value),
            },
            Tells::Thread { count, .. } => wake(count),
        }
    }
    wound_up();
}

/// Counts one more, and wakes the thread that waits there.
pub fn wake(count: u64) {
    // SAFETY: the count of a timer, which is never freed.
    unsafe { word(count) }.fetch_add(1, Relaxed);
    if let Some(thread) = first_waiting(|t| t.wait == Wait::Futex(count, u32::MAX)) {
        crate::token::wake(thread);
    }
}
