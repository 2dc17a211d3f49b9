//! Synchronisation calls that break their contract, told once per kind, call and object.
//!
//! What counts is what POSIX leaves undefined, as far as it is certain. So who holds a lock must be known twice over: by
//! the words of the lock and by what its holder's record says, which a program cannot overwrite; by the record alone of
//! a lock on a stack that is given up. Nothing is said of locks shared with other processes, nor of those whose holder a
//! fork left behind, nor of what an error-checking or robust mutex answers by itself. Who has been woken, or may give up
//! its timed wait, no longer waits: POSIX lets objects be destroyed then.
//!
//! Cost: nothing where a call is passed without a decision ([`crate::journal`]); elsewhere a comparison or two with what
//! is loaded anyway. Where all threads have to be asked (an object is destroyed, a thread ends) at most [`ASKED`] are.

use crate::held::Held;
use crate::intercept::{rwlock, shared::word_of};
use crate::thread::Thread;
use crate::token::{self, scheduler};
use crate::wait::{Wait, word};
use crate::{clock, meeting, memory, observe, report, stuck};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{LockMode, MisuseKind, ObjectId, ObjectKind, ThreadId};
use deadheat_wire::plan::Spot;
use deadheat_wire::record::{Misuse, Notice, Record};

/// Most that are recorded of a run; the rest is counted.
const MOST: usize = 64;
/// Most threads that are asked.
const ASKED: usize = 1024;
/// A mutex's owner and kind, a read-write lock's writer.
const OWNER: u64 = 8;
const KIND: u64 = 16;
const WRITER: u64 = 4;
/// Bits of a mutex's kind.
const ROBUST: i32 = 16;
const SHARED: i32 = 128;

struct State {
    told: Vec<(MisuseKind, u64, u64)>,
    cut: u64,
}

static STATE: Held<State> = Held::new(State {
    told: Vec::new(),
    cut: 0,
});

/// Another thread's part: who, and where it took the object or waits.
struct Other {
    thread: ThreadId,
    at: Vec<u64>,
}

impl Other {
    fn waiting(t: &Thread) -> Other {
        Other {
            thread: t.id,
            at: stuck::stack(t),
        }
    }

    fn holding(thread: ThreadId, spot: Spot) -> Other {
        let at = [spot.call, spot.caller];
        Other {
            thread,
            at: at.into_iter().filter(|a| *a != 0).collect(),
        }
    }
}

/// Records what `t` does by a call from its frame, or, without a call, at its end.
#[cold]
fn tell(t: &Thread, kind: MisuseKind, objects: &[(ObjectKind, u64)], other: Option<Other>, by_call: bool) {
    let objects: Vec<(ObjectKind, ObjectId)> = objects.iter().map(|o| (o.0, observe::object(o.1))).collect();
    record(t, kind, &objects, other, by_call);
}

fn record(t: &Thread, kind: MisuseKind, objects: &[(ObjectKind, ObjectId)], other: Option<Other>, by_call: bool) {
    let state = STATE.get();
    let call = if by_call { t.frame.pc } else { 0 };
    let key = (kind, call, objects.first().map_or(0, |o| o.1.address));
    if state.told.contains(&key) {
        return;
    }
    if state.told.len() >= MOST {
        state.cut += 1;
        return;
    }
    state.told.push(key);
    let number = state.told.len() as u32 - 1;
    memory::tell(objects.iter().map(|o| o.1));
    let (other, taken) = other.map_or((None, Vec::new()), |o| (Some(o.thread), o.at));
    report::write(&Record::Misuse(Misuse {
        number,
        kind,
        step: token::step(),
        thread: t.id,
        stack: if by_call { stuck::stack(t) } else { Vec::new() },
        objects: objects.to_vec(),
        other,
        taken,
    }));
    meeting::misuse(number);
}

/// The run ends: says how many were not told.
pub fn finish() {
    let count = STATE.get().cut;
    if count > 0 {
        report::write(&Record::Notice(Notice::Cut {
            what: "misuses of synchronisation".into(),
            count,
        }));
    }
}

fn threads() -> impl Iterator<Item = &'static mut Thread> {
    scheduler().threads.iter().take(ASKED)
}

/// Where a thread took the lock that it holds.
fn spot_of(t: &Thread, kind: ObjectKind, a: u64) -> Option<Spot> {
    t.locks.iter().rfind(|l| (l.0, l.1) == (kind, a)).map(|l| l.3)
}

/// The holder of a lock, of those threads that can give it back.
fn holder(kind: ObjectKind, a: u64) -> Option<Other> {
    threads().find_map(|t| spot_of(t, kind, a).map(|spot| Other::holding(t.id, spot)))
}

/// The holder that a mutex names, if that thread lives and knows of it.
fn owner(a: u64) -> Option<Other> {
    // SAFETY: the caller's mutex.
    let owner = unsafe { word(a + OWNER) }.load(Relaxed);
    let thread = ThreadId(u32::try_from(owner).ok()?.checked_sub(1)?);
    let t = token::thread(thread).filter(|t| !t.ended)?;
    Some(Other::holding(thread, spot_of(t, ObjectKind::Mutex, a)?))
}

/// Whether a thread waits there and nothing but another thread can end that.
fn blocked(t: &Thread) -> bool {
    !t.woken && !t.cancelled && t.deadline > clock::now()
}

/// `t` gives a mutex back that another thread has taken, or waits for a condition variable with it (`waits`).
#[cold]
pub fn mutex_of_another(t: &Thread, a: u64, kind: i32, waits: Option<u64>) {
    if kind & SHARED == 0
        && let Some(other) = owner(a)
    {
        unheld(t, a, Some(other), waits);
    }
}

/// `t` does so with a mutex that nobody has taken.
#[cold]
pub fn free_mutex(t: &Thread, a: u64, kind: i32, waits: Option<u64>) {
    if kind & SHARED == 0 {
        unheld(t, a, None, waits);
    }
}

/// A mutex that knows its owner refuses to be given back by `t`. A recursive one is of that type for another reason, so
/// that its answer is seldom looked at; who chose one of the others wants to be told by it.
#[cold]
pub fn refused(t: &Thread, a: u64, kind: i32, waits: Option<u64>) {
    const RECURSIVE: i32 = 1;
    if kind & 3 != RECURSIVE || kind & ROBUST != 0 {
        return;
    }
    // SAFETY: the caller's mutex.
    match unsafe { word(a) }.load(Relaxed) {
        0 => free_mutex(t, a, kind, waits),
        _ => mutex_of_another(t, a, kind, waits),
    }
}

fn unheld(t: &Thread, a: u64, other: Option<Other>, waits: Option<u64>) {
    let mutex = (ObjectKind::Mutex, a);
    match (waits, &other) {
        (Some(c), _) => tell(
            t,
            MisuseKind::WaitUnheld,
            &[(ObjectKind::Condition, c), mutex],
            other,
            true,
        ),
        (None, Some(_)) => tell(t, MisuseKind::UnlockByAnother, &[mutex], other, true),
        (None, None) => tell(t, MisuseKind::UnlockUnlocked, &[mutex], None, true),
    }
}

/// `t` uses a mutex that was destroyed.
#[cold]
pub fn destroyed_mutex(t: &Thread, a: u64) {
    tell(t, MisuseKind::UseDestroyed, &[(ObjectKind::Mutex, a)], None, true);
}

/// `t` destroys a mutex.
pub fn destroys_mutex(t: &Thread, a: u64) {
    // SAFETY: the caller's mutex.
    let (taken, kind) = unsafe { (word(a).load(Relaxed) != 0, word(a + KIND).load(Relaxed)) };
    let mutex = (ObjectKind::Mutex, a);
    if kind < 0 {
        return destroyed_mutex(t, a);
    }
    if kind & SHARED != 0 {
        return;
    }
    if taken {
        if let Some(other) = owner(a) {
            tell(t, MisuseKind::DestroyHeld, &[mutex], Some(other), true);
        }
        return;
    }
    // Whoever waits for a condition variable with it will take it again, woken or not.
    let waits = |w: &&mut Thread| match w.wait {
        Wait::Lock(ObjectKind::Mutex, of) => of == a && blocked(w),
        Wait::Condition(_) => w.with_mutex == a && !w.cancelled,
        _ => false,
    };
    destroys_awaited(t, mutex, waits);
}

fn destroys_awaited(t: &Thread, object: (ObjectKind, u64), mut waits: impl FnMut(&&mut Thread) -> bool) {
    if let Some(waiting) = threads().find(|w| w.id != t.id && waits(w)) {
        let other = Other::waiting(waiting);
        tell(t, MisuseKind::DestroyAwaited, &[object], Some(other), true);
    }
}

/// `t` destroys a condition variable.
pub fn destroys_condition(t: &Thread, c: u64) {
    destroys_awaited(t, (ObjectKind::Condition, c), |w| {
        w.wait == Wait::Condition(c) && blocked(w)
    });
}

/// `t` destroys a barrier that is in this round.
pub fn destroys_barrier(t: &Thread, a: u64, round: i32) {
    destroys_awaited(t, (ObjectKind::Barrier, a), |w| {
        w.wait == Wait::Barrier(a, round) && blocked(w)
    });
}

/// `t` destroys a semaphore of this value: whoever it lets pass is as good as gone.
pub fn destroys_semaphore(t: &Thread, a: u64, value: i32) {
    if value == 0 {
        destroys_awaited(t, (ObjectKind::Semaphore, a), |w| {
            w.wait == Wait::Semaphore(a) && blocked(w)
        });
    }
}

/// `t` destroys a read-write lock or a spin lock.
pub fn destroys_lock(t: &Thread, kind: ObjectKind, a: u64) {
    if let Some(other) = holder(kind, a).filter(|other| is_held(kind, a, other.thread)) {
        return tell(t, MisuseKind::DestroyHeld, &[(kind, a)], Some(other), true);
    }
    destroys_awaited(t, (kind, a), |w| {
        let waits = match w.wait {
            Wait::Lock(of, at) => (of, at) == (kind, a),
            Wait::ReadLock(at) | Wait::WriteLock(at) => kind == ObjectKind::RwLock && at == a,
            _ => false,
        };
        waits && blocked(w)
    });
}

/// Whether the words of a lock agree that the thread, by whose record it holds it, does. The memory may be gone.
fn is_held(kind: ObjectKind, a: u64, by: ThreadId) -> bool {
    let at = |offset: u64| memory::peek(a + offset, 4).try_into().map_or(0, i32::from_le_bytes);
    match kind {
        ObjectKind::Mutex => at(0) != 0 && at(OWNER) == word_of(by, at(KIND) & SHARED != 0),
        ObjectKind::RwLock => at(WRITER) == word_of(by, at(rwlock::SHARED) != 0) || at(WRITER) == 0 && at(0) > 0,
        _ => at(0) != 0,
    }
}

/// `t` waits for a condition variable with this mutex.
pub fn waits_with(t: &Thread, c: u64, m: u64) {
    let other = threads().find(|w| w.id != t.id && w.wait == Wait::Condition(c) && w.with_mutex != m && blocked(w));
    if let Some(other) = other {
        let mutexes = [m, other.with_mutex].map(|m| (ObjectKind::Mutex, m));
        let objects = [(ObjectKind::Condition, c), mutexes[0], mutexes[1]];
        tell(t, MisuseKind::TwoMutexes, &objects, Some(Other::waiting(other)), true);
    }
}

/// `t` gives back a read-write lock with so many readers and this writer (a thread's number plus one), or a spin lock
/// (one reader, if it is taken).
pub fn gives_lock(t: &Thread, kind: ObjectKind, a: u64, readers: i32, writer: i32) {
    if spot_of(t, kind, a).is_some() {
        return;
    }
    if readers == 0 && writer == 0 {
        return tell(t, MisuseKind::UnlockUnlocked, &[(kind, a)], None, true);
    }
    // All holders are known, and it is none of them.
    let count = threads().filter(|w| spot_of(w, kind, a).is_some()).count();
    if count > 0 && count >= readers.max(1) as usize {
        tell(t, MisuseKind::UnlockByAnother, &[(kind, a)], holder(kind, a), true);
    }
}

/// `t` misuses a thread.
#[cold]
pub fn of_thread(t: &Thread, kind: MisuseKind, thread: ThreadId) {
    let at = Vec::new();
    tell(t, kind, &[], Some(Other { thread, at }), true);
}

/// Whether what lies at an address of a block that ends there may be a lock that is held.
#[inline(always)]
pub fn may_be_held(a: u64, end: u64) -> bool {
    // SAFETY: within the block.
    let taken = || unsafe { word(a).load(Relaxed) != 0 || word(a + WRITER).load(Relaxed) != 0 };
    a.is_multiple_of(4) && end - a >= KIND + 4 && taken()
}

/// The running thread frees the memory in which these lie.
#[inline(always)]
pub fn frees(objects: Vec<ObjectId>) {
    if !objects.is_empty() {
        objects.into_iter().for_each(freed);
    }
}

#[cold]
fn freed(object: ObjectId) {
    let Some(t) = token::me() else { return };
    let a = object.address;
    // SAFETY: within the block, which is freed next.
    let (first, writer, shared) = unsafe {
        let shared = word(a + KIND).load(Relaxed) & SHARED != 0;
        (word(a).load(Relaxed), word(a + WRITER).load(Relaxed), shared)
    };
    let (kind, other) = match owner(a).filter(|_| first != 0 && !shared) {
        Some(other) => (ObjectKind::Mutex, other),
        None => {
            let writer = ThreadId((writer as u32).wrapping_sub(1));
            let live = token::thread(writer).filter(|t| !t.ended);
            let Some(spot) = live.and_then(|t| spot_of(t, ObjectKind::RwLock, a)) else {
                return;
            };
            (ObjectKind::RwLock, Other::holding(writer, spot))
        }
    };
    let thread = other.thread;
    record(t, MisuseKind::FreeHeld, &[(kind, object)], Some(other), true);
    // It holds nothing any more.
    if let Some(holder) = token::thread(thread) {
        holder.locks.retain(|l| (l.0, l.1) != (kind, a));
    }
}

/// `t` ran its last user code.
pub fn thread_ends(t: &Thread) {
    for (kind, a) in remaining(t) {
        let spot = spot_of(t, kind, a).unwrap_or_default();
        let own = Other::holding(t.id, spot);
        tell(t, MisuseKind::EndHolding, &[(kind, a)], Some(own), false);
    }
    let (low, high) = t.stack;
    for w in threads().filter(|w| w.id != t.id && !w.ended) {
        // By the record alone: the frames in which these lie have returned, so their words may be others by now.
        let gone = |l: &(ObjectKind, u64, LockMode, Spot)| is_lock(l.0) && (low..high).contains(&l.1);
        for &(kind, a, _, spot) in w.locks.iter().filter(|l| gone(l)) {
            let other = Other::holding(w.id, spot);
            tell(t, MisuseKind::StackOfHeld, &[(kind, a)], Some(other), false);
        }
        w.locks.retain(|l| !gone(l));
    }
}

fn is_lock(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock)
}

/// The locks that a thread holds, those apart that its end gives to others.
fn remaining(t: &Thread) -> Vec<(ObjectKind, u64)> {
    let held = |l: &&(ObjectKind, u64, LockMode, Spot)| {
        let robust = l.0 == ObjectKind::Mutex && mutex_kind(l.1) & ROBUST != 0;
        is_lock(l.0) && is_held(l.0, l.1, t.id) && !robust
    };
    t.locks.iter().filter(held).map(|l| (l.0, l.1)).collect()
}

fn mutex_kind(a: u64) -> i32 {
    memory::peek(a + KIND, 4).try_into().map_or(0, i32::from_le_bytes)
}

/// The process ends by a call. What its threads hold goes with it, but for mutexes that other processes use.
pub fn process_ends() {
    let held = threads().flat_map(|t| {
        let shared = remaining(t).into_iter().filter(|l| l.0 == ObjectKind::Mutex);
        shared.map(|l| (t.id, l.1)).collect::<Vec<_>>()
    });
    let shared = held.filter(|l| mutex_kind(l.1) & SHARED != 0 && memory::is_shared(l.1));
    for (thread, a) in shared.collect::<Vec<_>>() {
        let Some(t) = token::thread(thread) else { continue };
        let spot = spot_of(t, ObjectKind::Mutex, a).unwrap_or_default();
        let own = Other::holding(thread, spot);
        tell(t, MisuseKind::ExitHolding, &[(ObjectKind::Mutex, a)], Some(own), false);
    }
}
