//! `syscall`: futex operations are modelled (C++20 waits, Rust's std and others sleep by them), likewise
//! `sched_yield` and `getrandom`; everything else goes to the kernel.

use super::frame;
use crate::clock;
use crate::observe;
use crate::sys::{c_result, fail, syscall6};
use crate::thread::{NEVER, Thread};
use crate::token::{first_waiting, me, point, progress, wait, wake};
use crate::wait::{Outcome, Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, timespec};

const ALL: u32 = u32::MAX;

/// Arguments of a futex call.
struct Call {
    address: u64,
    operation: i32,
    value: u32,
    /// Time-out or second count.
    fourth: u64,
    second: u64,
    third: u32,
}

fn bits(call: &Call) -> u32 {
    let command = call.operation & libc::FUTEX_CMD_MASK;
    if matches!(command, libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET) {
        call.third
    } else {
        ALL
    }
}

unsafe fn futex_wait(t: &mut Thread, call: &Call) -> c_int {
    let acquire = Operation::Acquire(ObjectKind::Futex, observe::object(call.address));
    point(acquire);
    let time = call.fourth as *const timespec;
    let realtime = call.operation & libc::FUTEX_CLOCK_REALTIME != 0;
    // SAFETY: the caller's time-out and word.
    let (deadline, value) = unsafe {
        let deadline = if time.is_null() {
            Some(NEVER)
        } else if call.operation & libc::FUTEX_CMD_MASK == libc::FUTEX_WAIT {
            clock::relative(time)
        } else {
            clock::absolute(
                time,
                if realtime {
                    libc::CLOCK_REALTIME
                } else {
                    libc::CLOCK_MONOTONIC
                },
            )
        };
        (deadline, word(call.address).load(Relaxed) as u32)
    };
    let Some(deadline) = deadline else {
        return fail(libc::EINVAL);
    };
    if value != call.value {
        return fail(libc::EAGAIN);
    }
    match wait(t, Wait::Futex(call.address, bits(call)), Operation::Continue, deadline) {
        Outcome::Ready => 0,
        Outcome::TimedOut => fail(libc::ETIMEDOUT),
        Outcome::Interrupted => fail(libc::EINTR),
    }
}

/// Wakes up to `count` waiters of an address whose bits meet `mask`.
fn futex_wake(address: u64, count: u32, mask: u32) -> c_int {
    let mut woken = 0;
    let meets = |t: &Thread| matches!(t.wait, Wait::Futex(a, bits) if a == address && bits & mask != 0);
    while woken < count {
        let Some(waiter) = first_waiting(meets) else { break };
        wake(waiter);
        woken += 1;
    }
    if woken > 0 {
        progress();
    }
    woken as c_int
}

/// Moves up to `count` waiters to another address.
fn requeue(from: u64, to: u64, count: u32) -> c_int {
    let mut moved = 0;
    while moved < count {
        let Some(waiter) = first_waiting(|t| matches!(t.wait, Wait::Futex(a, _) if a == from)) else {
            break;
        };
        if let Wait::Futex(_, bits) = waiter.wait {
            waiter.wait = Wait::Futex(to, bits);
        }
        moved += 1;
    }
    moved as c_int
}

/// The kernel's encoded update of the second word; whether its old value passes the comparison.
unsafe fn wake_operation(address: u64, encoded: u32) -> bool {
    let signed = |v: u32| ((v << 20) as i32) >> 20;
    let (mut operand, comparand) = (signed(encoded >> 12 & 0xfff), signed(encoded & 0xfff));
    if encoded >> 31 != 0 {
        operand = 1i32.wrapping_shl(operand as u32);
    }
    // SAFETY: the caller's word.
    let word = unsafe { word(address) };
    let old = word.load(Relaxed);
    word.store(
        match encoded >> 28 & 7 {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            _ => old ^ operand,
        },
        Relaxed,
    );
    match encoded >> 24 & 15 {
        0 => old == comparand,
        1 => old != comparand,
        2 => old < comparand,
        3 => old <= comparand,
        4 => old > comparand,
        _ => old >= comparand,
    }
}

unsafe fn futex(t: &mut Thread, call: &Call) -> Option<c_int> {
    let release = Operation::Release(ObjectKind::Futex, observe::object(call.address));
    let command = call.operation & libc::FUTEX_CMD_MASK;
    let result = match command {
        // SAFETY: the caller's word and time-out.
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => return Some(unsafe { futex_wait(t, call) }),
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            point(release);
            futex_wake(call.address, call.value, bits(call))
        }
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            point(release);
            // SAFETY: the caller's word.
            if command == libc::FUTEX_CMP_REQUEUE && unsafe { word(call.address) }.load(Relaxed) as u32 != call.third {
                return Some(fail(libc::EAGAIN));
            }
            futex_wake(call.address, call.value, ALL) + requeue(call.address, call.second, call.fourth as u32)
        }
        libc::FUTEX_WAKE_OP => {
            point(release);
            // SAFETY: the caller's word.
            let also = unsafe { wake_operation(call.second, call.third) };
            let first = futex_wake(call.address, call.value, ALL);
            first
                + if also {
                    futex_wake(call.second, call.fourth as u32, ALL)
                } else {
                    0
                }
        }
        _ => {
            super::not_modelled("futex operation");
            return None;
        }
    };
    point(Operation::Continue);
    Some(result)
}

/// Any system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    if let Some(t) = me() {
        t.frame = frame!();
        match number as i64 {
            libc::SYS_futex => {
                let call = Call {
                    address: a as u64,
                    operation: b as i32,
                    value: c as u32,
                    fourth: d as u64,
                    second: e as u64,
                    third: f as u32,
                };
                // SAFETY: the caller's arguments.
                if let Some(result) = unsafe { futex(t, &call) } {
                    return result as isize;
                }
            }
            libc::SYS_sched_yield => {
                crate::token::give_way(t);
                return 0;
            }
            libc::SYS_getrandom => {
                // SAFETY: the caller's buffer.
                unsafe { super::random::fill(a as *mut c_void, b) };
                return b as isize;
            }
            _ => {}
        }
    }
    // SAFETY: the caller's system call.
    c_result(unsafe { syscall6(number, a, b, c, d, e, f) })
}
