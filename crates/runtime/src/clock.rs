//! Virtual time: one clock for all clock reads and time-outs.
//!
//! It counts nanoseconds since the start of the run, advances by a microsecond per scheduling point and
//! clock read, and jumps to the next deadline when every thread waits for time.

use crate::held::Held;
use crate::thread::NEVER;
use libc::timespec;

/// What an operation or a clock read costs.
const TICK: u64 = 1_000;
/// Monotonic clock at start: a machine that is up for a day.
const UPTIME: u64 = 86_400_000_000_000;

struct Clock {
    now: u64,
    /// Of that, what passed without anybody running.
    slept: u64,
    epoch: u64,
    timer: u64,
    interval: u64,
}

static CLOCK: Held<Clock> = Held::new(Clock {
    now: 0,
    slept: 0,
    epoch: 0,
    timer: NEVER,
    interval: 0,
});

/// Sets the real-time clock at start.
pub fn start(epoch: u64) {
    CLOCK.get().epoch = epoch;
}

/// Time passed.
pub fn now() -> u64 {
    CLOCK.get().now
}

/// One operation's worth of time passes.
pub fn tick() {
    CLOCK.get().now += TICK;
}

/// As [`tick`], so often.
pub fn ticks(count: u64) {
    CLOCK.get().now += count * TICK;
}

/// Time passes until at least this moment.
pub fn advance_to(moment: u64) {
    let clock = CLOCK.get();
    clock.slept += moment.saturating_sub(clock.now);
    clock.now = clock.now.max(moment);
}

/// Somebody works until at least this moment.
pub fn work_to(moment: u64) {
    let clock = CLOCK.get();
    clock.now = clock.now.max(moment);
}

/// Time for which somebody ran.
pub fn worked() -> u64 {
    let clock = CLOCK.get();
    clock.now - clock.slept
}

/// The machine's uptime.
pub fn uptime() -> u64 {
    UPTIME + now()
}

/// Time passes until this moment before its turn, which brings no end of the interval timer nearer that is farther away.
pub fn hurry(moment: u64, far: u64) {
    let clock = CLOCK.get();
    let passes = moment.saturating_sub(clock.now);
    if clock.timer != NEVER && clock.timer > clock.now.saturating_add(far) {
        clock.timer = clock.timer.saturating_add(passes).min(NEVER - 1);
    }
    advance_to(moment);
}

/// Value at start of a clock, `None` if the runtime leaves that clock alone.
pub fn base(id: i32) -> Option<u64> {
    match id {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(CLOCK.get().epoch),
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_MONOTONIC_COARSE | libc::CLOCK_BOOTTIME => {
            Some(UPTIME)
        }
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(0),
        _ => None,
    }
}

/// Nanoseconds of a `timespec`; `None` if it is not a valid one.
///
/// # Safety
/// `time` points to a `timespec`.
pub unsafe fn nanoseconds(time: *const timespec) -> Option<u64> {
    // SAFETY: the caller's promise.
    let (seconds, rest) = unsafe { ((*time).tv_sec, (*time).tv_nsec) };
    if !(0..1_000_000_000).contains(&rest) {
        return None;
    }
    Some(
        (seconds.max(0) as u64)
            .saturating_mul(1_000_000_000)
            .saturating_add(rest as u64),
    )
}

/// Deadline on the virtual clock of an absolute time on a clock.
///
/// # Safety
/// `time` points to a `timespec`.
pub unsafe fn absolute(time: *const timespec, id: i32) -> Option<u64> {
    // SAFETY: the caller's promise.
    let at = unsafe { nanoseconds(time) }?;
    Some(at.saturating_sub(base(id).unwrap_or(0)).min(NEVER - 1))
}

/// Deadline of a relative time.
///
/// # Safety
/// `time` points to a `timespec`.
pub unsafe fn relative(time: *const timespec) -> Option<u64> {
    // SAFETY: the caller's promise.
    Some(after(unsafe { nanoseconds(time) }?))
}

/// Deadline so many nanoseconds from now.
pub fn after(nanoseconds: u64) -> u64 {
    now().saturating_add(nanoseconds).min(NEVER - 1)
}

/// Nanoseconds as a `timespec`.
pub fn timespec(nanoseconds: u64) -> timespec {
    timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

/// Sets the interval timer of real time; returns what was left and the interval before.
pub fn set_timer(first: u64, interval: u64) -> (u64, u64) {
    let old = timer();
    let clock = CLOCK.get();
    clock.timer = if first == 0 {
        NEVER
    } else {
        clock.now.saturating_add(first)
    };
    clock.interval = interval;
    old
}

/// What is left on the interval timer, and its interval.
pub fn timer() -> (u64, u64) {
    let clock = CLOCK.get();
    let left = if clock.timer == NEVER {
        0
    } else {
        clock.timer.saturating_sub(clock.now).max(1_000)
    };
    (left, clock.interval)
}

/// When the interval timer goes off.
pub fn timer_deadline() -> u64 {
    CLOCK.get().timer
}

/// Whether the interval timer went off; winds it up again.
pub fn timer_fired() -> bool {
    let clock = CLOCK.get();
    if clock.timer > clock.now {
        return false;
    }
    clock.timer = if clock.interval == 0 {
        NEVER
    } else {
        clock.now.saturating_add(clock.interval)
    };
    true
}

/// The machine's monotonic clock.
pub fn real_time() -> u64 {
    let mut time = timespec(0);
    // SAFETY: the kernel fills the buffer.
    unsafe { crate::sys::sys!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
