//! A client outside of control, as `--with` starts one, and how its speed is kept out of the schedule.
//!
//! Before the program looks at the world outside, the runtime waits until each task of the client sleeps in the
//! kernel: what it had to say has then been said, and on one machine has arrived. What the program finds depends on
//! what it did, not on who was faster. When the program has nothing to do and the client waits for it, virtual time
//! goes to the next deadline, as in programs without a client; only for a client that sleeps by the clock, real time
//! passes. The client starts at a point where the program has nothing to do and the tool calls it ready; when the
//! client has ended, the program gets SIGTERM at the next such point.
//!
//! What this does not order: several clients among themselves, and data that the kernel holds back (Nagle). A client
//! that does not come to rest (it computes, or it polls) is waited for no longer than 0.2 s; that is noted.
//! Cost: two or three small files of `/proc` for each task of the client, each time the program did something that the
//! client may see and then looks.

use crate::clock::timespec;
use crate::report;
use crate::rest::{self, Rest};
use crate::signals;
use crate::sys::{getpid, sys};
use crate::token::scheduler;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use deadheat_wire::channel::{ANSWERED_AT, ASKED_AT, NO_PEER, PEER_AT, PEER_AWAITED, PEER_ENDED};
use deadheat_wire::record::{Notice, Record};

/// How long a client that does not come to rest is waited for, nanoseconds of real time. The first bound is halved,
/// down to the second, each time that a client did not come to rest (one that polls never does), else doubled.
const PATIENCE: u64 = 200_000_000;
/// See above.
const LEAST_PATIENCE: u64 = 500_000;
/// Looks that only give the processor up; later ones sleep between.
const QUICK_LOOKS: u32 = 8;
/// Sleep between looks, nanoseconds.
const NAP: u64 = 30_000;
/// So many jumps of virtual time in a row that brought nothing; from then on each takes a [`REST`].
const MOST_JUMPS: u32 = 10_000;
/// Nanoseconds.
const REST: u64 = 1_000_000;
/// Tasks of a client that are looked at.
const MOST_TASKS: usize = 4096;

/// Whether the run has a client.
static PRESENT: AtomicBool = AtomicBool::new(false);
/// The program did something that the client may see.
static STIRRED: AtomicBool = AtomicBool::new(true);
/// The program was asked to end.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// The parent of a child process of the program; 0 in its first process.
static PARENT: AtomicU32 = AtomicU32::new(0);
static JUMPS: AtomicU32 = AtomicU32::new(0);
static IMPATIENT: AtomicBool = AtomicBool::new(false);
static PATIENT_FOR: AtomicU64 = AtomicU64::new(PATIENCE);

/// What a program that has nothing to do can expect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Something may have come: look again.
    Look,
    /// Nothing comes before the program does something: time may go to the next deadline.
    Jump,
    /// Only real time brings something.
    Wait,
}

/// At start: whether the run has a client.
pub fn start() {
    let state = report::header(PEER_AT).map_or(NO_PEER, |word| word.load(Acquire));
    if state != NO_PEER {
        PRESENT.store(true, Relaxed);
        signals::watch_end();
    }
}

/// A child process may outlive its parent, and is then the one that is asked to end.
pub fn forked(parent: u32) {
    PARENT.store(parent, Relaxed);
    STOPPED.store(false, Relaxed);
    signals::watch_end();
}

/// Whether the run has a client.
#[inline(always)]
pub fn present() -> bool {
    PRESENT.load(Relaxed)
}

/// The program did something that the client may see.
#[inline(always)]
pub fn stirred() {
    STIRRED.store(true, Relaxed);
}

/// Before a look at the world outside: waits until the client has come to rest.
#[inline(always)]
pub fn settle() {
    if present() && STIRRED.load(Relaxed) {
        come_to_rest();
    }
}

fn state() -> u32 {
    report::header(PEER_AT).map_or(NO_PEER, |word| word.load(Acquire))
}

fn nap(nanoseconds: u64) {
    let time = timespec(nanoseconds);
    // SAFETY: our own time.
    unsafe { sys!(libc::SYS_nanosleep, &raw const time, 0usize) };
}

/// Waits for the client; how it rests.
#[cold]
fn come_to_rest() -> Rest {
    STIRRED.store(false, Relaxed);
    let mut looks = 0u32;
    let begun = crate::clock::real_time();
    let patience = PATIENT_FOR.load(Relaxed);
    loop {
        let pid = state();
        if matches!(pid, NO_PEER | PEER_AWAITED | PEER_ENDED) {
            return Rest::Waits;
        }
        match look(pid) {
            Rest::Runs if looks > QUICK_LOOKS && crate::clock::real_time() - begun >= patience => {
                STIRRED.store(true, Relaxed);
                PATIENT_FOR.store((patience / 2).max(LEAST_PATIENCE), Relaxed);
                if !IMPATIENT.swap(true, Relaxed) {
                    let reason =
                        "the client did not come to rest (it computes or polls), and was not waited for".into();
                    report::write(&Record::Notice(Notice::NotReplayable { reason }));
                }
                return Rest::Runs;
            }
            Rest::Runs => {}
            rest => {
                PATIENT_FOR.store((patience * 2).min(PATIENCE), Relaxed);
                return rest;
            }
        }
        looks += 1;
        if looks <= QUICK_LOOKS {
            // SAFETY: no arguments.
            unsafe { sys!(libc::SYS_sched_yield) };
        } else {
            nap(NAP);
        }
    }
}

/// What the program can expect when none of its threads can run.
pub fn idle() -> Idle {
    match state() {
        NO_PEER => Idle::Wait,
        PEER_AWAITED => ask(),
        PEER_ENDED if !STOPPED.swap(true, Relaxed) => {
            stop();
            Idle::Look
        }
        PEER_ENDED => jump(),
        _ => match come_to_rest() {
            Rest::Waits if state() == PEER_ENDED => Idle::Look,
            Rest::Waits => jump(),
            Rest::Sleeps | Rest::Runs => Idle::Wait,
        },
    }
}

/// Something came.
pub fn busy() {
    JUMPS.store(0, Relaxed);
}

fn jump() -> Idle {
    if JUMPS.fetch_add(1, Relaxed) > MOST_JUMPS {
        nap(REST);
    }
    Idle::Jump
}

/// Asks the tool whether the program is ready for its client.
fn ask() -> Idle {
    let (Some(asked), Some(answered)) = (report::header(ASKED_AT), report::header(ANSWERED_AT)) else {
        return Idle::Wait;
    };
    let number = asked.fetch_add(1, AcqRel).wrapping_add(1);
    loop {
        if state() != PEER_AWAITED {
            return Idle::Look;
        }
        if answered.load(Acquire).wrapping_sub(number) as i32 >= 0 {
            return jump();
        }
        nap(NAP);
    }
}

/// Asks the program to end.
fn stop() {
    let parent = PARENT.load(Relaxed);
    // SAFETY: no arguments.
    if parent != 0 && unsafe { sys!(libc::SYS_getppid) } as u32 == parent {
        return;
    }
    let bit = signals::bit(libc::SIGTERM);
    let heard = scheduler().threads.iter().any(|t| t.mask & bit == 0);
    if heard {
        signals::post(libc::SIGTERM);
    } else {
        // Somebody waits for it through a descriptor, or in `sigwait`.
        // SAFETY: a signal to ourselves that is blocked.
        unsafe { sys!(libc::SYS_kill, getpid(), libc::SIGTERM) };
    }
}

/// Looks at all tasks of a process and of its descendants. Of several tasks one may have woken another that was seen
/// asleep: the second look must find that none has run since the first.
fn look(pid: u32) -> Rest {
    let mut first = Vec::new();
    let rest = tasks(pid, &mut first);
    if rest == Rest::Runs || first.len() <= 1 {
        return rest;
    }
    let mut second = Vec::new();
    let again = tasks(pid, &mut second);
    if again == rest && first == second {
        rest
    } else {
        Rest::Runs
    }
}

/// The least restful of a process's tasks and its descendants'; what tells whether each ran goes into `runs`.
fn tasks(pid: u32, runs: &mut Vec<(u32, u64)>) -> Rest {
    if rest::is_gone(pid) {
        // The tool is about to say so.
        return Rest::Runs;
    }
    let mut least = Rest::Waits;
    let mut pending = Vec::from([pid]);
    while let Some(process) = pending.pop() {
        for id in rest::tasks(process) {
            let (own, slices) = rest::task(process, id, false);
            least = least.max(own);
            runs.push((id, slices));
            pending.extend(rest::children(process, id));
            if least == Rest::Runs || runs.len() > MOST_TASKS {
                return Rest::Runs;
            }
        }
    }
    least
}
