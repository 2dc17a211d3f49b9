//! Other processes of the run (children, parents, what they started), and how time is kept from running away from them.
//!
//! Each process has a virtual clock of its own that jumps when its threads all wait for time. A process beside it may
//! compute meanwhile, which takes real time: a parent that polls its child in a loop of sleeps, and gives up after five
//! seconds, would find that it hangs. So before time passes here, what runs elsewhere comes to rest. Processes under
//! control say in the record file's header until when they have nothing to do, on a common time line: who is next goes
//! first, and two that sleep need no real time. Others are looked at in the kernel's tables; while one sleeps by the
//! real clock, time passes no faster here.
//!
//! One that does not come to rest (it computes for long, or polls) is waited for [`PATIENCE`] times as long as time is to
//! pass, as long as the process has more than its due of [`EXTRA`]; then the clock keeps pace with real time, as it would
//! without control. That is noted, since the run may not repeat then.
//!
//! Cost: nothing in a run of one process; else two or three small files for each task elsewhere each time that time
//! passes.

use crate::clock;
use crate::held::Held;
use crate::report;
use crate::rest::{self, Rest};
use crate::sys::{getpid, sys};
use crate::thread::NEVER;
use crate::token::scheduler;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use deadheat_wire::channel::{ADOPTED_AT, FAMILY_AT, PARENT_AT, PROCESS_SIZE, PROCESSES, TIME_AT, UNBORN_AT};
use deadheat_wire::record::{Notice, Record};

/// A process that runs is waited for so many times as long as time is to pass.
const PATIENCE: u64 = 16;
/// But no more than so many nanoseconds of real time beyond that time, over the whole life of this process.
const EXTRA: u64 = 5_000_000_000;
/// Looks that only give the processor up; later ones sleep between, longer and longer.
const QUICK_LOOKS: u32 = 4;
/// First and longest sleep between looks, nanoseconds.
const NAP: u64 = 30_000;
/// See above.
const LONGEST_NAP: u64 = 1_000_000;
/// Tasks of others that are looked at.
const MOST_TASKS: usize = 4096;

/// What a process says of itself: it does something.
const RUNS: u32 = 0;
/// It has nothing to do until the moment, and lets time pass when its turn has come.
const IDLE: u32 = 1;
/// It waits for the world outside, in real time, until the moment at most.
const OUTSIDE: u32 = 2;

/// An entry of the header.
struct Process {
    id: &'static AtomicU32,
    does: &'static AtomicU32,
    until: &'static AtomicU64,
}

/// A wait for others to come to rest.
struct Waiting {
    /// Number of our entry, if there was one left.
    own: Option<usize>,
    /// What we say there.
    said: u32,
    /// The deadline that it is about.
    deadline: u64,
    /// The machine's clock when it began, and how long it is to be.
    begun: u64,
    span: u64,
    looks: u32,
    /// What is left of [`EXTRA`].
    extra: u64,
    impatient: bool,
}

static WAITING: Held<Waiting> = Held::new(Waiting {
    own: None,
    said: RUNS,
    deadline: NEVER,
    begun: 0,
    span: 0,
    looks: 0,
    extra: EXTRA,
    impatient: false,
});

fn process(number: usize) -> Option<Process> {
    let at = FAMILY_AT + number * PROCESS_SIZE;
    Some(Process {
        id: report::header(at)?,
        does: report::header(at + 4)?,
        until: report::header_time(at + 8)?,
    })
}

/// Entries of live processes that are not this one.
fn others() -> impl Iterator<Item = (usize, u32, Process)> {
    let own = getpid() as u32;
    (0..PROCESSES).filter_map(move |number| {
        let process = process(number)?;
        let id = process.id.load(Acquire);
        (id != 0 && id != own).then_some((number, id, process))
    })
}

/// At the start of a process, also of the child of a fork: takes an entry. A process that is not the first has others.
pub fn start() {
    let own = getpid() as u32;
    let free = |number: usize| {
        let entry = process(number)?;
        let known = entry.id.load(Acquire);
        if known != own && known != 0 && !rest::is_gone(known) {
            return None;
        }
        entry.id.compare_exchange(known, own, AcqRel, Relaxed).ok()?;
        entry.does.store(RUNS, Release);
        Some(number)
    };
    if let (Some(parent), Some(1)) = (
        report::header(PARENT_AT),
        report::header(ADOPTED_AT).map(|a| a.load(Relaxed)),
    ) {
        // SAFETY: no arguments.
        let own_parent = unsafe { sys!(libc::SYS_getppid) } as u32;
        let _ = parent.compare_exchange(0, own_parent, Relaxed, Relaxed);
    }
    let waiting = WAITING.get();
    waiting.own = (0..PROCESSES).find_map(free);
    (waiting.said, waiting.deadline, waiting.extra) = (RUNS, NEVER, EXTRA);
    if others().any(|(_, id, _)| !rest::is_gone(id)) {
        scheduler().others = true;
    }
}

/// A process is about to be forked: it works, although nobody finds it if its parent ends at once.
pub fn forks() {
    if let Some(unborn) = report::header(UNBORN_AT) {
        unborn.fetch_add(1, AcqRel);
    }
}

/// It was not made, or has come to where it can be found.
pub fn born() {
    if let Some(unborn) = report::header(UNBORN_AT) {
        unborn.fetch_sub(1, AcqRel);
    }
}

fn unborn() -> bool {
    report::header(UNBORN_AT).is_some_and(|unborn| unborn.load(Acquire) as i32 > 0)
}

/// What the run's first parent has: the first process, and those whose parents have ended.
fn adopted() -> Vec<u32> {
    match report::header(PARENT_AT).map_or(0, |parent| parent.load(Relaxed)) {
        0 => Vec::new(),
        parent => rest::tasks(parent)
            .into_iter()
            .flat_map(|id| rest::children(parent, id))
            .collect(),
    }
}

/// Whether there is a child, a process that says something of itself, or one without a parent.
fn is_there() -> bool {
    let mut info = [0u64; 16];
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills our buffer.
    let status = unsafe { sys!(libc::SYS_waitid, libc::P_ALL, 0i32, info.as_mut_ptr(), options, 0usize) };
    let own = getpid() as u32;
    status == 0
        || others().any(|(_, id, _)| !rest::is_gone(id))
        || adopted().into_iter().any(|id| id != own && !rest::is_gone(id))
}

/// Says what this process does from now on.
fn say(does: u32, deadline: u64) {
    let waiting = WAITING.get();
    if waiting.said == does && (does == RUNS || waiting.deadline == deadline) {
        return;
    }
    (waiting.said, waiting.deadline) = (does, deadline);
    waiting.begun = clock::real_time();
    waiting.looks = 0;
    waiting.span = deadline.saturating_sub(clock::now());
    let Some(entry) = waiting.own.and_then(process) else {
        return;
    };
    let common = report::header_time(TIME_AT).map_or(0, |time| time.load(Acquire));
    entry.until.store(common.saturating_add(waiting.span), Release);
    entry.does.store(does, Release);
}

/// Somebody can run.
pub fn runs() {
    if WAITING.get().said != RUNS {
        say(RUNS, NEVER);
    }
}

/// Nobody can run but by what comes from outside, for which the process waits in real time.
pub fn waits_outside(deadline: u64) {
    if scheduler().others {
        say(OUTSIDE, deadline);
    }
}

/// The real time of a wait for the outside is over; whether others have kept its time from running out since.
pub fn is_overdue(deadline: u64) -> bool {
    let waiting = WAITING.get();
    let same = waiting.said == OUTSIDE && waiting.deadline == deadline;
    same && deadline != NEVER && clock::real_time() - waiting.begun >= waiting.span
}

/// Whether time may go to this moment: all others rest, or were waited for long enough. If not, a little real time has
/// passed, and something may have come.
pub fn lets_pass(deadline: u64) -> bool {
    if !scheduler().others || deadline <= clock::now() {
        return true;
    }
    say(IDLE, deadline);
    lets_time_out()
}

/// The same of the moment that a wait for the outside is limited by.
pub fn lets_time_out() -> bool {
    let waiting = WAITING.get();
    if waiting.said == RUNS {
        return true;
    }
    let passed = clock::real_time() - waiting.begun;
    let longest = waiting.span.saturating_mul(PATIENCE);
    let rest = if unborn() {
        Rest::Runs
    } else if is_there() {
        look(waiting)
    } else {
        Rest::Waits
    };
    let ready = match rest {
        Rest::Waits => true,
        Rest::Sleeps => passed >= waiting.span,
        Rest::Runs => passed >= longest.min(waiting.span.saturating_add(waiting.extra)),
    };
    if !ready {
        nap(waiting);
        return false;
    }
    if rest == Rest::Runs {
        waiting.extra = waiting.extra.saturating_sub(passed.saturating_sub(waiting.span));
        if !core::mem::replace(&mut waiting.impatient, true) {
            let reason =
                "another process of the program did not come to rest, and was not waited for any longer".into();
            report::write(&Record::Notice(Notice::NotReplayable { reason }));
        }
    }
    if let (Some(entry), Some(time)) = (waiting.own.and_then(process), report::header_time(TIME_AT)) {
        time.fetch_max(entry.until.load(Acquire), AcqRel);
    }
    true
}

fn nap(waiting: &mut Waiting) {
    waiting.looks += 1;
    if waiting.looks <= QUICK_LOOKS {
        // SAFETY: no arguments.
        unsafe { sys!(libc::SYS_sched_yield) };
        return;
    }
    let time = clock::timespec((NAP * u64::from(waiting.looks - QUICK_LOOKS)).min(LONGEST_NAP));
    // SAFETY: our own time.
    unsafe { sys!(libc::SYS_nanosleep, &raw const time, 0usize) };
}

/// The least restful of the others. Of several tasks one may have woken another that was seen asleep: a second look must
/// find that none has run since the first.
fn look(waiting: &Waiting) -> Rest {
    let mut first = Vec::new();
    let rest = all(waiting, &mut first);
    if rest == Rest::Runs || first.len() <= 1 {
        return rest;
    }
    let mut second = Vec::new();
    if all(waiting, &mut second) == rest && first == second {
        rest
    } else {
        Rest::Runs
    }
}

fn all(waiting: &Waiting, runs: &mut Vec<(u32, u64)>) -> Rest {
    let own = getpid() as u32;
    let mut least = Rest::Waits;
    let mut known = Vec::from([own]);
    for (number, id, process) in others() {
        known.push(id);
        if !rest::is_gone(id) {
            least = least.max(of_known(waiting, number, id, &process, runs));
        }
    }
    for id in adopted() {
        if !known.contains(&id) {
            known.push(id);
            least = least.max(of_unknown(id, runs));
        }
    }
    // What these have started and is not under control, or has not come so far.
    let mut at = 0;
    while at < known.len() && least != Rest::Runs {
        let process = known[at];
        at += 1;
        for id in rest::tasks(process) {
            for child in rest::children(process, id) {
                if !known.contains(&child) {
                    known.push(child);
                    least = least.max(of_unknown(child, runs));
                }
            }
        }
        if runs.len() > MOST_TASKS {
            return Rest::Runs;
        }
    }
    least
}

/// How a process under control rests.
fn of_known(waiting: &Waiting, number: usize, id: u32, process: &Process, runs: &mut Vec<(u32, u64)>) -> Rest {
    let does = process.does.load(Acquire);
    let until = process.until.load(Acquire);
    if does == RUNS {
        return of_tasks(id, true, runs);
    }
    // What it says holds as long as nothing woke it.
    let by_tasks = of_tasks(id, false, &mut Vec::new());
    if by_tasks == Rest::Runs {
        return by_tasks;
    }
    let (Some(own), Some(mine)) = (waiting.own, waiting.own.and_then(self::process)) else {
        return by_tasks;
    };
    match until.cmp(&mine.until.load(Acquire)).then(number.cmp(&own)) {
        core::cmp::Ordering::Greater => Rest::Waits,
        _ if does == IDLE => Rest::Runs,
        _ => Rest::Sleeps,
    }
}

fn of_unknown(id: u32, runs: &mut Vec<(u32, u64)>) -> Rest {
    if rest::is_gone(id) {
        Rest::Waits
    } else {
        of_tasks(id, true, runs)
    }
}

fn of_tasks(process: u32, limits: bool, runs: &mut Vec<(u32, u64)>) -> Rest {
    let mut least = Rest::Waits;
    for id in rest::tasks(process) {
        let (rest, slices) = rest::task(process, id, limits);
        least = least.max(rest);
        runs.push((id, slices));
    }
    least
}
