//! Runs that go no further: deadlocks and hangs, with who waits for whom.
//!
//! A deadlock is either of all threads (every one waits, none for time, a signal or the outside), or of some that wait
//! for one another's locks and ends in a ring: whatever the rest does, these never go on. Only waits that certain
//! threads alone can end count for a ring (locks, joins), only those without a time limit, and only in a program that
//! gives locks back by the thread that took them. A ring is reported after the rest of the program had [`GRACE`]
//! more scheduling points, or when the program ends before.

use crate::ending;
use crate::held::Held;
use crate::memory;
use crate::thread::{NEVER, Thread};
use crate::token::scheduler;
use crate::wait::{Wait, word};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{LockMode, ObjectId, ObjectKind, ThreadId, WaitReason};
use deadheat_wire::record::{self, Deadlock, EndKind, Hang, Record, Waiting};

/// Scheduling points for which the rest of the program goes on beside a ring of waiting threads.
pub const GRACE: u64 = 1_000;
/// Exit status of a process that was stopped for a deadlock or hang.
const STUCK: i32 = 66;

/// Every thread waits, none for time, a signal or the outside.
pub fn deadlock() -> ! {
    crate::report::write(&Record::Deadlock(Deadlock { threads: waiting() }));
    ending::finish(EndKind::Deadlock, None);
    crate::sys::exit_group(STUCK)
}

/// So many yields in a row brought nothing.
pub fn hang(yields: u64) -> ! {
    crate::report::write(&Record::Hang(Hang {
        threads: waiting(),
        yields,
    }));
    ending::finish(EndKind::Hang, None);
    crate::sys::exit_group(STUCK)
}

/// The policy named a thread that does not exist.
pub fn lost() -> ! {
    crate::sys::say("deadheat: the policy chose no thread");
    ending::finish(EndKind::Refused, None);
    crate::sys::exit_group(70)
}

fn waiting() -> Vec<Waiting> {
    let threads: Vec<Waiting> = scheduler().threads.iter().map(|t| describe(t)).collect();
    tell(&threads);
    threads
}

/// Records what the objects lie in that threads wait for and hold.
fn tell(threads: &[Waiting]) {
    for waiting in threads {
        let wanted = match waiting.reason {
            WaitReason::Object(_, object) => Some(object),
            _ => None,
        };
        memory::tell(waiting.held.iter().map(|h| h.object).chain(wanted));
    }
}

fn describe(t: &Thread) -> Waiting {
    let word = futex(t.wait).and_then(word_holder);
    let mut held = held(t);
    let words = crate::observe::held(t.id).into_iter().filter(is_waited_for);
    held.extend(words);
    if let WaitReason::Object(kind, object) = t.wait.reason() {
        crate::quarantine::synchronised(t, kind, object.address);
    }
    Waiting {
        thread: t.id,
        reason: word.map_or_else(
            || t.wait.reason(),
            |(_, object)| WaitReason::Object(ObjectKind::LockWord, object),
        ),
        holder: word.map_or_else(|| holder(t.wait), |(thread, _)| Some(thread)),
        stack: stack(t),
        held,
    }
}

fn futex(wait: Wait) -> Option<u64> {
    match wait {
        Wait::Futex(address, _) => Some(address),
        _ => None,
    }
}

/// The thread that has taken the hand-made lock (Rust's mutex is one) whose word is at a futex's address.
fn word_holder(address: u64) -> Option<(ThreadId, ObjectId)> {
    let mut threads = scheduler().threads.iter();
    threads.find_map(|t| {
        let held = crate::observe::held(t.id);
        let word = held
            .iter()
            .find(|h| h.kind == ObjectKind::LockWord && h.object.address == address)?;
        Some((t.id, word.object))
    })
}

/// Whether a lock is a word that some thread sleeps on: of what was taken once, that proves a lock.
fn is_waited_for(held: &record::Held) -> bool {
    let mut threads = scheduler().threads.iter();
    held.kind == ObjectKind::LockWord && threads.any(|t| futex(t.wait) == Some(held.object.address))
}

/// The stack of a thread where it left the program's code.
pub fn stack(t: &Thread) -> Vec<u64> {
    crate::stack::walk(t.frame, false, t.stack)
}

/// The locks that a thread holds.
pub fn held(t: &Thread) -> Vec<record::Held> {
    let record = |&(kind, address, mode, _): &_| record::Held {
        kind,
        object: crate::observe::object(address),
        mode,
    };
    t.locks.iter().map(record).collect()
}

/// The thread that holds what is waited for.
fn holder(wait: Wait) -> Option<ThreadId> {
    match wait {
        Wait::Lock(ObjectKind::Mutex, a) => {
            // SAFETY: a mutex that a thread waits on is mapped. It may lie in a freed block, and name no thread.
            let owner = unsafe { word(a + 8) }.load(Relaxed);
            let named = (owner > 0).then(|| ThreadId(owner as u32 - 1));
            named.filter(|t| crate::token::thread(*t).is_some())
        }
        Wait::Once(a) => holders(ObjectKind::Once, a).map(|l| l.0).next(),
        wait => blockers(wait, ThreadId(u32::MAX)).first().copied(),
    }
}

/// The thread other than `own` that keeps from it what it waits for.
pub fn holder_but(wait: Wait, own: ThreadId) -> Option<ThreadId> {
    blockers(wait, own).into_iter().find(|t| *t != own)
}

/// Who holds the lock at an address, and how.
fn holders(kind: ObjectKind, address: u64) -> impl Iterator<Item = (ThreadId, LockMode)> {
    let of = move |t: &'static mut Thread| {
        let mode = t.locks.iter().find(|l| l.0 == kind && l.1 == address).map(|l| l.2);
        mode.map(|mode| (t.id, mode))
    };
    scheduler().threads.iter().filter_map(of)
}

/// The threads without each of which this wait of thread `own` never ends: holders of a lock, the thread that is
/// joined, a writer that goes before readers. What anybody may end (a condition variable, a semaphore) has none.
/// Looks at no memory of the program.
fn blockers(wait: Wait, own: ThreadId) -> Vec<ThreadId> {
    match wait {
        Wait::Join(thread) => alloc::vec![thread],
        Wait::Lock(kind, a) => holders(kind, a).map(|l| l.0).collect(),
        Wait::WriteLock(a) => {
            let all = holders(ObjectKind::RwLock, a);
            all.map(|l| l.0).collect()
        }
        Wait::ReadLock(a) => {
            let writers = holders(ObjectKind::RwLock, a)
                .filter(|l| l.1 == LockMode::Write)
                .map(|l| l.0);
            let mut all: Vec<ThreadId> = writers.collect();
            if all.is_empty() {
                let waits = scheduler()
                    .threads
                    .iter()
                    .filter(|t| t.id != own && t.wait == Wait::WriteLock(a));
                all.extend(waits.map(|t| t.id));
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The threads that a thread's wait without end depends on, if it is one.
fn needs(t: &Thread) -> Vec<ThreadId> {
    // Whoever joins may be cancelled meanwhile: such a ring is one only once everybody waits.
    let may_leave = matches!(t.wait, Wait::Join(_)) && !t.uncancellable;
    if t.ended || t.deadline != NEVER || t.shared || may_leave {
        return Vec::new();
    }
    blockers(t.wait, t.id)
}

/// Whether a thread waits, by way of others, for itself: whatever the others do, none of them goes on.
pub fn in_cycle(t: &Thread) -> bool {
    leads_to(t, t.id)
}

/// Whether the wait of a thread depends on the thread `to`.
fn leads_to(t: &Thread, to: ThreadId) -> bool {
    let mut seen = alloc::vec![];
    let mut todo = needs(t);
    while let Some(next) = todo.pop() {
        if next == to {
            return true;
        }
        if !seen.contains(&next) {
            seen.push(next);
            todo.extend(crate::token::thread(next).map(|t| needs(t)).unwrap_or_default());
        }
    }
    false
}

/// Set when a thread gave back a lock that another had taken: then who holds a lock says nothing.
static FOREIGN: Held<bool> = Held::new(false);

/// A thread gives back a lock that another has taken.
pub fn given_back_by_another() {
    *FOREIGN.get() = true;
}

/// Whether a thread that was found in a cycle of waiting is still there, so that the cycle stays.
pub fn remains(first: ThreadId) -> bool {
    !*FOREIGN.get() && crate::token::thread(first).is_some_and(|t| in_cycle(t))
}

/// Records the threads of the cycle that a thread waits in, and those that wait for them.
pub fn record_cycle(first: ThreadId) {
    let threads = scheduler().threads.iter().filter(|t| leads_to(t, first));
    let threads: Vec<Waiting> = threads.map(|t| describe(t)).collect();
    tell(&threads);
    crate::report::write(&Record::Deadlock(Deadlock { threads }));
}

/// Some threads wait for one another; the rest has had its time to change that.
pub fn deadlock_of(first: ThreadId) -> ! {
    record_cycle(first);
    ending::finish(EndKind::Deadlock, None);
    crate::sys::exit_group(STUCK)
}
