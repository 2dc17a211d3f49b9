//! Clock reads, from the virtual clock. Many in a row are a wait for time: the thread yields.

use super::interpose;
use crate::clock;
use crate::concolic::sources;
use crate::sys::{c_result, sys};
use crate::thread::Thread;
use crate::token;
use core::ffi::c_void;
use libc::{c_int, c_long, time_t, timespec, timeval};

/// Reads in a row after which the thread yields.
const READS: u32 = 200;

/// Nanoseconds of the unit of `times`.
const TICK_OF_TIMES: u64 = 10_000_000;

/// The clock's value; one read costs time.
fn read(t: &mut Thread, id: c_int) -> u64 {
    clock::tick();
    t.idle_calls += 1;
    if t.idle_calls > READS {
        t.idle_calls = 0;
        token::give_way(t);
    }
    match id {
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => clock::worked(),
        _ => clock::base(id).unwrap_or(0).saturating_add(clock::now()),
    }
}

interpose! {
    fn clock_gettime(t; id: c_int, time: *mut timespec) -> c_int {
        if clock::base(id).is_none() {
            return c_result(sys!(libc::SYS_clock_gettime, id, time)) as c_int;
        }
        *time = clock::timespec(read(t, id));
        if matches!(id, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE) {
            sources::told_time(None, (*time).tv_sec as u64, &raw const (*time).tv_sec as u64);
        }
        0
    }
    fn gettimeofday(t; time: *mut timeval, _zone: *mut c_void) -> c_int {
        let now = read(t, libc::CLOCK_REALTIME);
        if !time.is_null() {
            (*time).tv_sec = (now / 1_000_000_000) as time_t;
            (*time).tv_usec = (now % 1_000_000_000 / 1_000) as i64;
            sources::told_time(None, (*time).tv_sec as u64, &raw const (*time).tv_sec as u64);
        }
        0
    }
    fn time(t; seconds: *mut time_t) -> time_t {
        let now = (read(t, libc::CLOCK_REALTIME) / 1_000_000_000) as time_t;
        if !seconds.is_null() {
            *seconds = now;
        }
        sources::told_time(Some(time as *const () as usize), now as u64, seconds as u64);
        now
    }
    fn timespec_get(t; time: *mut timespec, base: c_int) -> c_int {
        if base != 1 {
            return 0;
        }
        *time = clock::timespec(read(t, libc::CLOCK_REALTIME));
        base
    }
    fn clock(t;) -> c_long { (read(t, libc::CLOCK_PROCESS_CPUTIME_ID) / 1_000) as c_long }
    fn times(t; used: *mut libc::tms) -> libc::clock_t {
        let worked = read(t, libc::CLOCK_PROCESS_CPUTIME_ID) / TICK_OF_TIMES;
        if !used.is_null() {
            *used = core::mem::zeroed();
            (*used).tms_utime = worked as libc::clock_t;
        }
        (clock::uptime() / TICK_OF_TIMES) as libc::clock_t
    }
}
