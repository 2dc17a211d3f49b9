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
const FUTEX_LOCK_PI2: c_int = 13;
const FUTEX_TID_MASK: i32 = 0x3fff_ffff;
const FUTEX_WAITERS: i32 = i32::MIN;

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
    let meets = |t: &Thread| match t.wait {
        Wait::Futex(0, _) => t.futexes.contains(&address),
        Wait::Futex(a, bits) => a == address && bits & mask != 0,
        _ => false,
    };
    while woken < count {
        let Some(waiter) = first_waiting(meets) else { break };
        waiter.woken_by = Some(address);
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
            // The kernel changes the second word: an update that takes and gives.
            observe::told(t.id, ObjectKind::Descriptor, None);
            observe::library_store(t.id, call.second, 4);
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
        libc::FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | libc::FUTEX_TRYLOCK_PI | libc::FUTEX_UNLOCK_PI => {
            // SAFETY: the caller's word and time-out.
            return Some(unsafe { owned(t, call) });
        }
        _ => {
            super::not_modelled("futex operation");
            return None;
        }
    };
    point(Operation::Continue);
    Some(result)
}

/// The operations on a word that holds its owner's kernel id (priority inheritance: priorities themselves have no
/// part in a schedule).
unsafe fn owned(t: &mut Thread, call: &Call) -> c_int {
    let command = call.operation & libc::FUTEX_CMD_MASK;
    // SAFETY: the caller's word.
    let word = unsafe { word(call.address) };
    let kind = ObjectKind::LockWord;
    let id = observe::object(call.address);
    let owner = |value: i32| value & FUTEX_TID_MASK;
    if command == libc::FUTEX_UNLOCK_PI {
        point(Operation::Release(kind, id));
        if owner(word.load(Relaxed)) != t.kernel_id {
            return fail(libc::EPERM);
        }
        observe::library_store(t.id, call.address, 4);
        word.store(0, Relaxed);
        progress();
        point(Operation::Continue);
        return 0;
    }
    point(Operation::Acquire(kind, id));
    let time = call.fourth as *const timespec;
    let clock = if command == FUTEX_LOCK_PI2 && call.operation & libc::FUTEX_CLOCK_REALTIME == 0 {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    };
    // SAFETY: the caller's time-out.
    let deadline = if time.is_null() || command == libc::FUTEX_TRYLOCK_PI {
        Some(NEVER)
    } else {
        // SAFETY: as above.
        unsafe { clock::absolute(time, clock) }
    };
    let Some(deadline) = deadline else {
        return fail(libc::EINVAL);
    };
    loop {
        let value = word.load(Relaxed);
        if owner(value) == 0 {
            word.store(t.kernel_id, Relaxed);
            observe::library_load(t.id, call.address, 4);
            progress();
            return 0;
        }
        if owner(value) == t.kernel_id {
            return fail(libc::EDEADLK);
        }
        if command == libc::FUTEX_TRYLOCK_PI {
            super::mutex::failed_try(t);
            return fail(libc::EAGAIN);
        }
        // The owner must come to the kernel to give it back.
        word.store(value | FUTEX_WAITERS, Relaxed);
        match wait(t, Wait::Lock(kind, call.address), Operation::Continue, deadline) {
            Outcome::TimedOut if word.load(Relaxed) != 0 => return fail(libc::ETIMEDOUT),
            _ => {}
        }
    }
}

/// One entry of `futex_waitv`.
#[repr(C)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// Waits on several words: tries again whenever something may have changed one of them.
unsafe fn wait_for_one(t: &mut Thread, list: *const Waiter, count: usize, time: *const timespec, id: i32) -> c_int {
    if list.is_null() || !(1..=128).contains(&count) {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller's list and time-out.
    let (list, deadline) = unsafe {
        let deadline = if time.is_null() {
            Some(NEVER)
        } else {
            clock::absolute(time, id)
        };
        (core::slice::from_raw_parts(list, count), deadline)
    };
    let Some(deadline) = deadline else {
        return fail(libc::EINVAL);
    };
    point(Operation::External);
    // SAFETY: the caller's words.
    let changed = || {
        list.iter()
            // SAFETY: as above.
            .any(|w| unsafe { word(w.address) }.load(Relaxed) as u32 != w.value as u32)
    };
    if changed() {
        return fail(libc::EAGAIN);
    }
    t.futexes.clear();
    t.futexes.extend(list.iter().map(|w| w.address));
    let outcome = wait(t, Wait::Futex(0, ALL), Operation::Continue, deadline);
    let by = t.woken_by.take();
    t.futexes.clear();
    match outcome {
        Outcome::Ready => {
            let at = list.iter().position(|w| Some(w.address) == by).unwrap_or(0);
            observe::acquire_edge(t.id, ObjectKind::Futex, list[at].address);
            at as c_int
        }
        Outcome::TimedOut => fail(libc::ETIMEDOUT),
        Outcome::Interrupted => fail(libc::EINTR),
    }
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
            libc::SYS_futex_waitv => {
                // SAFETY: the caller's arguments.
                return unsafe { wait_for_one(t, a as *const Waiter, b, d as *const timespec, e as i32) } as isize;
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
            number => {
                // SAFETY: the caller's system call.
                if let Some(result) = unsafe { super::system_calls::modelled(number, [a, b, c, d, e, f]) } {
                    return result;
                }
            }
        }
        super::thread_state::comes(t, number as i64, a as i32);
    }
    // SAFETY: the caller's system call.
    let result = c_result(unsafe { syscall6(number, a, b, c, d, e, f) });
    if let Some(t) = me() {
        observe::told(t.id, ObjectKind::Descriptor, None);
    }
    result
}
