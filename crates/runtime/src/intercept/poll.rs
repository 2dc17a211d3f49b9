//! `poll`, `select`, `epoll_wait` and their variants: a call without time-out, else a wait on the
//! descriptors with the deadline. An epoll descriptor can itself be polled.

use super::interpose;
use crate::clock;
use crate::descriptors::{settle, told};
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{point, progress, wait};
use crate::wait::{Outcome, Wait};
use alloc::vec::Vec;
use deadheat_model::Operation;
use libc::{c_int, epoll_event, pollfd, timespec, timeval};

const SET_WORDS: usize = 1024 / 64;

/// Deadline of a time-out in milliseconds; negative: none.
fn milliseconds(timeout: c_int) -> u64 {
    if timeout < 0 {
        NEVER
    } else {
        clock::after(timeout as u64 * 1_000_000)
    }
}

/// Tries; while nothing is ready, waits for the descriptors that `fill` lists. Whoever finds one ready knows that
/// somebody wrote, closed or connected.
fn until(t: &mut Thread, deadline: u64, mut attempt: impl FnMut() -> isize, fill: impl Fn(&mut Vec<pollfd>)) -> c_int {
    point(Operation::External);
    super::cancel::test(t);
    loop {
        settle();
        let result = attempt();
        if result != 0 {
            if result > 0 {
                crate::peer::busy();
                progress();
                t.idle_calls = 0;
                all_told(t, &fill);
            }
            return c_result(result) as c_int;
        }
        if deadline <= clock::now() {
            super::mutex::failed_try(t);
            return 0;
        }
        t.descriptors.clear();
        fill(&mut t.descriptors);
        // Without descriptors it is a sleep.
        let for_what = if t.descriptors.is_empty() && deadline != NEVER {
            Wait::Sleep
        } else {
            Wait::Descriptors
        };
        let outcome = wait(t, for_what, Operation::External, deadline);
        super::cancel::test(t);
        match outcome {
            Outcome::Interrupted => return fail(libc::EINTR),
            Outcome::TimedOut => {
                settle();
                let result = attempt();
                if result > 0 {
                    all_told(t, &fill);
                }
                return c_result(result) as c_int;
            }
            Outcome::Ready => {}
        }
    }
}

/// Learns what these descriptors tell.
fn all_told(t: &mut Thread, fill: &impl Fn(&mut Vec<pollfd>)) {
    t.descriptors.clear();
    fill(&mut t.descriptors);
    for at in 0..t.descriptors.len() {
        told(t, t.descriptors[at].fd);
    }
}

/// Runs `call` under another signal mask, if one is given.
unsafe fn masked(t: &mut Thread, mask: *const u64, call: impl FnOnce(&mut Thread) -> c_int) -> c_int {
    if mask.is_null() {
        return call(t);
    }
    // SAFETY: the caller's mask.
    let old = crate::signals::set_mask(t, unsafe { *mask });
    let result = call(t);
    let error = crate::sys::errno();
    crate::signals::set_mask(t, old);
    crate::sys::set_errno(error);
    result
}

unsafe fn poll_until(t: &mut Thread, entries: *mut pollfd, count: u64, deadline: u64) -> c_int {
    // SAFETY: the caller's array.
    let fill = |list: &mut Vec<pollfd>| unsafe {
        list.extend_from_slice(core::slice::from_raw_parts(
            entries,
            if entries.is_null() { 0 } else { count as usize },
        ));
    };
    // SAFETY: the caller's array.
    until(
        t,
        deadline,
        || unsafe { sys!(libc::SYS_poll, entries, count, 0i32) },
        fill,
    )
}

/// A copy of a descriptor set, up to the number of descriptors.
unsafe fn copy_set(set: *const u64, count: c_int) -> [u64; SET_WORDS] {
    let mut copy = [0; SET_WORDS];
    if !set.is_null() {
        for (at, word) in copy.iter_mut().enumerate().take((count.max(0) as usize).div_ceil(64)) {
            // SAFETY: the kernel reads whole words up to the count.
            *word = unsafe { *set.add(at) };
        }
    }
    copy
}

unsafe fn select_until(t: &mut Thread, count: c_int, sets: [*mut u64; 3], deadline: u64) -> c_int {
    let wanted = sets.map(|s| {
        // SAFETY: the caller's sets.
        unsafe { copy_set(s, count) }
    });
    let attempt = || {
        for (set, wanted) in sets.iter().zip(&wanted).filter(|(s, _)| !s.is_null()) {
            for (at, word) in wanted.iter().enumerate().take((count.max(0) as usize).div_ceil(64)) {
                // SAFETY: as in `copy_set`.
                unsafe { *set.add(at) = *word };
            }
        }
        let zero = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the caller's sets.
        unsafe { sys!(libc::SYS_select, count, sets[0], sets[1], sets[2], &raw const zero) }
    };
    let fill = |list: &mut Vec<pollfd>| {
        for fd in 0..count.clamp(0, 1024) {
            let has = |set: usize| wanted[set][fd as usize / 64] >> (fd % 64) & 1 != 0;
            let mut events = 0;
            for (set, event) in [libc::POLLIN, libc::POLLOUT, libc::POLLPRI].into_iter().enumerate() {
                events |= if has(set) { event } else { 0 };
            }
            if events != 0 {
                list.push(pollfd { fd, events, revents: 0 });
            }
        }
    };
    until(t, deadline, attempt, fill)
}

unsafe fn epoll_until(t: &mut Thread, epoll: c_int, events: *mut epoll_event, room: c_int, deadline: u64) -> c_int {
    // SAFETY: the caller's array.
    let attempt = || unsafe {
        let got = sys!(libc::SYS_epoll_wait, epoll, events, room, 0i32);
        if crate::peer::present() && got > 1 {
            // The kernel gives them in the order in which they came, which it does not promise.
            let data = |event: &epoll_event| event.u64;
            core::slice::from_raw_parts_mut(events, got as usize).sort_unstable_by_key(data);
        }
        got
    };
    until(t, deadline, attempt, |list| {
        list.push(pollfd {
            fd: epoll,
            events: libc::POLLIN,
            revents: 0,
        })
    })
}

/// Deadline of an optional relative time.
unsafe fn optional(time: *const timespec) -> Option<u64> {
    if time.is_null() {
        return Some(NEVER);
    }
    // SAFETY: the caller's time.
    unsafe { clock::relative(time) }
}

interpose! {
    fn poll(t; entries: *mut pollfd, count: u64, timeout: c_int) -> c_int {
        poll_until(t, entries, count, milliseconds(timeout))
    }
    fn __poll_chk(t; entries: *mut pollfd, count: u64, timeout: c_int, _room: usize) -> c_int {
        poll_until(t, entries, count, milliseconds(timeout))
    }
    fn ppoll(t; entries: *mut pollfd, count: u64, time: *const timespec, mask: *const u64) -> c_int {
        let Some(deadline) = optional(time) else { return fail(libc::EINVAL) };
        // SAFETY: the caller's arguments.
        masked(t, mask, |t| unsafe { poll_until(t, entries, count, deadline) })
    }
    fn __ppoll_chk(_t; entries: *mut pollfd, count: u64, time: *const timespec, mask: *const u64, _room: usize) -> c_int {
        ppoll(entries, count, time, mask)
    }
    fn select(t; count: c_int, reads: *mut u64, writes: *mut u64, others: *mut u64, time: *const timeval) -> c_int {
        let deadline = if time.is_null() {
            NEVER
        } else {
            clock::after((*time).tv_sec.max(0) as u64 * 1_000_000_000 + (*time).tv_usec.max(0) as u64 * 1_000)
        };
        select_until(t, count, [reads, writes, others], deadline)
    }
    fn pselect(t; count: c_int, reads: *mut u64, writes: *mut u64, others: *mut u64, time: *const timespec, mask: *const u64) -> c_int {
        let Some(deadline) = optional(time) else { return fail(libc::EINVAL) };
        // SAFETY: the caller's arguments.
        masked(t, mask, |t| unsafe { select_until(t, count, [reads, writes, others], deadline) })
    }
    fn epoll_wait(t; epoll: c_int, events: *mut epoll_event, room: c_int, timeout: c_int) -> c_int {
        epoll_until(t, epoll, events, room, milliseconds(timeout))
    }
    fn epoll_pwait(t; epoll: c_int, events: *mut epoll_event, room: c_int, timeout: c_int, mask: *const u64) -> c_int {
        // SAFETY: the caller's arguments.
        masked(t, mask, |t| unsafe { epoll_until(t, epoll, events, room, milliseconds(timeout)) })
    }
    fn epoll_pwait2(t; epoll: c_int, events: *mut epoll_event, room: c_int, time: *const timespec, mask: *const u64) -> c_int {
        let Some(deadline) = optional(time) else { return fail(libc::EINVAL) };
        // SAFETY: the caller's arguments.
        masked(t, mask, |t| unsafe { epoll_until(t, epoll, events, room, deadline) })
    }
}
