//! The scheduler: exactly one thread runs, the holder of the token.
//!
//! The holder alone touches scheduler state, evaluates everybody's wait condition, asks the policy and
//! hands the token over. No thread blocks in the kernel by itself: it records what it waits for and gives
//! the token up; when nothing can run, the holder waits for the world outside on everybody's behalf.
//! Cost of a scheduling point: a few instructions when the policy lets the running thread go on without a
//! look at the others (most points of most schedules), one pass over the live threads otherwise.

mod account;
mod pick;

pub use account::forget as forget_passed;

use crate::clock;
use crate::held::Held;
use crate::intercept::unmodelled;
use crate::thread::{NEVER, Thread, Threads};
use crate::trail::{Event, Trail};
use crate::wait::{Outcome, Wait, granule};
use crate::{descriptors, event_trace, journal, lock_order, observe, signals, stuck, successions, switching, tls};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use deadheat_model::{Access, LockMode, ObjectKind, Operation, SiteKind, ThreadId};
use deadheat_schedule::{AnyPolicy, Cause, Enabled};

/// Descriptors are polled at every so many picks: a count, never a time.
const POLL_EVERY: u32 = 32;
/// Idle rounds per live thread before virtual time jumps although somebody could spin on.
const SPIN_ROUNDS: u64 = 64;
/// Nanoseconds of virtual time for each time that somebody idles: more than it takes, so that what is far comes, and not
/// so much that it comes before a computation's end.
const IDLE: u64 = 1_000_000;
/// Nanoseconds of real time that idle rounds wait for the outside.
const IDLE_POLL: u64 = 100_000;
/// A thread idles for good after so many yields for each that the plan's bound names: it may give the processor up by
/// number, and what it does between may be work.
const YIELDS: u64 = 20;
/// A turn lost to back edges counts as so many yields: a quarter of what the bound names, since a loop may compute.
const LOOP: u64 = 5;

/// Scheduler state, see the module.
pub struct Scheduler {
    /// The threads.
    pub threads: Threads,
    /// Hash and switches.
    pub trail: Trail,
    /// Scheduling points so far.
    pub step: u64,
    /// Signals and broadcasts of condition variables so far.
    pub wakes: u64,
    /// Whether the process started others, or was about to become another program.
    pub others: bool,
    /// Yields and turns lost to back edges since the last progress.
    idled: u64,
    /// Number of that progress, by which threads know whether their own count is of before.
    idle_since: u64,
    /// What a thread's own count comes to when it idles for good.
    hang: u64,
    /// Could run, and idled less than others: the next turn is its.
    starved: Option<ThreadId>,
    stamp: u64,
    picks: u32,
    poll_every: u32,
    /// Something was done with a descriptor that others may learn of since descriptors were looked at.
    pub told: bool,
    /// Descriptors were looked at since the policy was asked last: whoever waits for one may time out.
    polled: bool,
    policy: Option<AnyPolicy>,
    /// Points at which the running thread goes on count towards the next look at descriptors: under policies
    /// that switch at any point, not under fifo and replay.
    restless: bool,
    /// Threads that lost the turn before a target statement, and still stand there.
    standing: u32,
    /// A thread that has given the token up for good and may not be gone from the kernel yet.
    leaving: Option<ThreadId>,
    enabled: Vec<Enabled>,
    waited_outside: bool,
    /// Virtual time that passed before its turn by the policy's choice, nanoseconds.
    hurried: u64,
    /// A thread that waits for itself by way of others, and since which point.
    ring: Option<(ThreadId, u64)>,
}

static SCHEDULER: Held<Scheduler> = Held::new(Scheduler {
    threads: Threads::new(),
    trail: Trail::new(),
    step: 0,
    wakes: 0,
    others: false,
    idled: 0,
    idle_since: 0,
    hang: 0,
    starved: None,
    stamp: 0,
    picks: 0,
    poll_every: POLL_EVERY,
    told: false,
    polled: false,
    policy: None,
    restless: false,
    standing: 0,
    leaving: None,
    enabled: Vec::new(),
    waited_outside: false,
    hurried: 0,
    ring: None,
});

/// Whether the run is controlled.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Scheduler state, for the token holder.
pub fn scheduler() -> &'static mut Scheduler {
    SCHEDULER.get()
}

/// Takes control: from now on interposers are at work. Returns the main thread's record.
/// `replayed`: a recorded schedule is followed, so descriptors are looked at whenever it is asked. `places`: see
/// [`successions::start`].
pub fn start(policy: AnyPolicy, hang_yields: u64, replayed: bool, places: bool) -> &'static mut Thread {
    let s = scheduler();
    s.restless = policy.wants_timeouts() && !replayed;
    if s.restless {
        successions::start(places);
    }
    s.policy = Some(policy);
    s.poll_every = if replayed { 1 } else { POLL_EVERY };
    s.hang = hang_yields.saturating_mul(YIELDS);
    let main = s.threads.add(0);
    tls::set_thread(main);
    ACTIVE.store(true, Relaxed);
    // SAFETY: just made.
    unsafe { &mut *main }
}

/// Lets go of all control (a child process that is not followed).
pub fn stop() {
    ACTIVE.store(false, Relaxed);
}

/// Whether the run is controlled.
#[inline(always)]
pub fn active() -> bool {
    ACTIVE.load(Relaxed)
}

/// As [`me`], for what depends on nothing that the points in the journal change.
#[inline(always)]
pub fn me_unsettled() -> Option<&'static mut Thread> {
    if !ACTIVE.load(Relaxed) {
        return None;
    }
    // SAFETY: the word is null or our own record.
    unsafe { tls::thread().as_mut() }.filter(|t| !t.ended)
}

/// This thread's record if the run is controlled and the thread holds the token.
#[inline(always)]
pub fn me() -> Option<&'static mut Thread> {
    let t = me_unsettled()?;
    if journal::is_open(t) {
        journal::settle(t);
    }
    Some(t)
}

/// Number of the thread that calls.
pub fn current() -> ThreadId {
    me().map_or(ThreadId::MAIN, |t| t.id)
}

/// Whether this thread is under control and holds the token.
#[inline(always)]
pub fn running() -> bool {
    me().is_some()
}

/// The thread with this number.
pub fn thread(id: ThreadId) -> Option<&'static mut Thread> {
    scheduler().threads.get(id)
}

/// Number of the present scheduling point.
pub fn step() -> u64 {
    scheduler().step
}

/// Something moved: a lock was taken, a wait ended, output was made, an atomic changed its variable.
#[inline]
pub fn progress() {
    scheduler().idled = 0;
}

/// A new place at the end of the queue.
pub fn next_stamp() -> u64 {
    let s = scheduler();
    s.stamp += 1;
    s.stamp
}

/// Offers a scheduling point before an operation; returns when this thread may perform it.
pub fn point(next: Operation) {
    let Some(t) = me() else { return };
    offer(t, next);
    if let Operation::Acquire(kind, object) | Operation::Release(kind, object) = next {
        crate::quarantine::synchronised(t, kind, object.address);
    }
}

fn offer(t: &mut Thread, next: Operation) {
    let s = scheduler();
    s.comes(t, &next);
    if matches!(next, Operation::Atomic(access) if access.kind == SiteKind::AtomicStore) {
        progress();
    }
    if signals::arrived() {
        signals::deliver(t);
    }
    if t.keep > 0 || s.threads.live.len() == 1 || s.stays(&next) {
        return;
    }
    t.next = next;
    s.hand_over(t, Cause::Point);
    signals::deliver(t);
}

/// A thread comes to a target statement; returns when it may perform the access.
#[inline(always)]
pub fn arrive(access: Access) {
    let Some(t) = me() else { return };
    let s = scheduler();
    let next = Operation::Access(access);
    s.comes(t, &next);
    if s.threads.live.len() == 1 || !s.meets(t, &access) && s.stays(&next) {
        return;
    }
    t.next = next;
    s.hand_over(t, Cause::Point);
}

/// Gives the processor up.
pub fn give_way(t: &mut Thread) {
    yield_as(t, Cause::Yield);
}

/// A spin loop lost its turn; waits until the aligned 8 bytes around `addr` change if given. Not so where others have
/// idled for long: it may be what they wait for, and only look at a variable while it works.
pub fn yield_spin(addr: Option<u64>) {
    let Some(t) = me() else { return };
    let s = scheduler();
    match addr {
        Some(addr) if s.idled < s.round() => {
            // SAFETY: the program has just read there.
            let value = unsafe { granule(addr) };
            wait(t, Wait::Spin(addr, value), Operation::Yield, NEVER);
        }
        _ => yield_as(t, Cause::Spin),
    }
}

fn yield_as(t: &mut Thread, cause: Cause) {
    let s = scheduler();
    s.step += 1;
    s.trail.mix(t.id, Event::Yields, cause as u64);
    clock::tick();
    t.stamp = next_stamp();
    s.idles(Some(t), cause);
    t.next = Operation::Yield;
    s.hand_over(t, cause);
    signals::deliver(t);
}

/// Waits; `next` is what the thread does when the wait is over.
pub fn wait(t: &mut Thread, wait: Wait, next: Operation, deadline: u64) -> Outcome {
    let s = scheduler();
    s.step += 1;
    t.since += 1;
    let object = if wait.address() == 0 {
        0
    } else {
        u64::from(s.trail.number(wait.address()))
    };
    s.trail.mix(t.id, Event::Waits, object);
    t.wait = wait;
    t.deadline = deadline;
    event_trace::waits(t, s.step);
    t.woken = false;
    t.ready = false;
    t.next = next;
    t.stamp = next_stamp();
    if s.ring.is_none() && stuck::in_cycle(t) {
        s.ring = Some((t.id, s.step));
    }
    s.hand_over(t, Cause::Blocked);
    let outcome = t.outcome;
    t.wait = Wait::None;
    t.shared = false;
    t.deadline = NEVER;
    if outcome != Outcome::Ready {
        s.trail.mix(t.id, Event::Outcome, outcome as u64);
    }
    if !matches!(wait, Wait::Spin(..)) {
        progress();
    }
    signals::deliver(t);
    outcome
}

/// Wakes a waiting thread: its condition holds from now on.
pub fn wake(t: &mut Thread) {
    t.woken = true;
    t.stamp = next_stamp();
}

/// The first in the queue of those that wait, not yet woken, and pass the test.
pub fn first_waiting(test: impl Fn(&Thread) -> bool) -> Option<&'static mut Thread> {
    scheduler()
        .threads
        .iter()
        .filter(|t| !t.woken && test(t))
        .min_by_key(|t| t.stamp)
}

/// `t` took a lock.
pub fn acquired(t: &mut Thread, kind: ObjectKind, addr: u64, mode: LockMode) {
    progress();
    t.idle_calls = 0;
    t.locks.push((kind, addr, mode, lock_order::spot(t)));
    lock_order::took(t, kind, addr, mode);
    successions::took(t, kind, addr);
    observe::acquired(t.id, kind, addr, mode);
}

/// `t` is about to give a lock back.
pub fn released(t: &mut Thread, kind: ObjectKind, addr: u64) {
    let mut mode = LockMode::Write;
    if let Some(at) = t.locks.iter().rposition(|l| l.0 == kind && l.1 == addr) {
        mode = t.locks[at].2;
        if at + 1 == t.locks.len() {
            t.locks.pop();
        } else {
            t.locks.remove(at);
        }
    } else {
        given_for_another(kind, addr);
    }
    lock_order::gave(t.id, kind, addr);
    observe::released(t.id, kind, addr, mode);
}

/// A thread gives a lock back that it did not take: whoever did has it no more, if that is certain.
#[cold]
fn given_for_another(kind: ObjectKind, addr: u64) {
    let is_it = |l: &(ObjectKind, u64, LockMode, _)| (l.0, l.1) == (kind, addr);
    let mut holders = scheduler().threads.iter().filter(|w| w.locks.iter().any(is_it));
    if let (Some(holder), None) = (holders.next(), holders.next()) {
        holder.locks.retain(|l| !is_it(l));
    }
}

/// The first thing a new thread does with its record: waits for its first turn.
pub fn begin(t: &mut Thread) {
    switching::await_turn(t);
    let s = scheduler();
    s.resumed(t);
    progress();
    observe::thread_started(t.id);
    signals::deliver(t);
}

/// The last thing a thread does: gives the token up for good. Returns without it.
pub fn end(t: &mut Thread) {
    switching::go_home(t);
    switching::give_room_back(t);
    let s = scheduler();
    progress();
    if s.threads.live.len() == 1 {
        // The last thread of a process whose main thread left by pthread_exit.
        crate::ending::exit_for_last(t);
    }
    observe::thread_ended(t.id);
    s.step += 1;
    s.trail.mix(t.id, Event::Ends, 0);
    event_trace::ends(t, s.step);
    successions::ends(t);
    s.threads.end(t);
    let (to, _) = s.ask(t, Cause::Ended);
    s.trail.turned(t.id, s.step);
    s.leaving = Some(t.id);
    switching::give(to);
}

/// In a child process: only `t` lives on.
pub fn forked(t: &mut Thread) {
    let s = scheduler();
    let others: Vec<ThreadId> = s.threads.iter().map(|o| o.id).filter(|id| *id != t.id).collect();
    for id in others {
        if let Some(other) = s.threads.get(id) {
            s.threads.end(other);
        }
    }
    s.leaving = None;
    s.standing = 0;
    s.ring = None;
    progress();
    s.step = 0;
    t.since = 0;
    s.trail.restart();
}

impl Scheduler {
    /// A thread of a ring of threads that wait for one another, if there is one.
    pub fn ring(&mut self) -> Option<ThreadId> {
        let (first, _) = self.ring?;
        if !stuck::remains(first) {
            self.ring = None;
        }
        self.ring.map(|r| r.0)
    }

    fn comes(&mut self, t: &Thread, next: &Operation) {
        self.step += 1;
        if !matches!(next, Operation::Access(_) | Operation::Continue) {
            let detail = self.trail.detail(next);
            self.trail.mix(t.id, Event::Comes, detail);
        }
        event_trace::comes(t, self.step, next);
        successions::comes(t, next);
        clock::tick();
        if self.step & 1023 == 0 {
            crate::report::heartbeat(self.step);
        }
    }

    /// Counts the idling of a thread, or of all that wait for an atomic variable to change; after many rounds lets time
    /// jump to what is near, after very many to what is far, or calls it a hang.
    ///
    /// It is no hang as long as a thread that could run has not idled for long by itself: whoever polls, however often,
    /// says nothing of the one that he polls for, who may compute, or was not let run (held back before a statement,
    /// say). That one has a turn first, whatever the policy says.
    fn idles(&mut self, t: Option<&mut Thread>, cause: Cause) {
        if self.idled == 0 {
            self.idle_since += 1;
        }
        self.idled += 1;
        let weight = if cause == Cause::Spin { LOOP } else { 1 };
        let own = match t {
            Some(t) => {
                self.count_anew(t);
                t.idled += weight;
                if cause == Cause::Spin {
                    t.spent = t.spent.saturating_sub(observe::turn());
                }
                t.idled
            }
            None => self.idled,
        };
        let round = self.round();
        if !self.idled.is_multiple_of(round) {
            return;
        }
        crate::report::heartbeat(self.step);
        for t in self.threads.iter() {
            if matches!(t.wait, Wait::Spin(..)) {
                t.wait = Wait::None;
            }
        }
        let (mut deadline, external) = self.outlook();
        // Somebody may look at a timer without waiting for it.
        deadline = deadline.min(crate::timers::descriptor_deadline());
        // Another process may write to memory that they share.
        if external || self.others || unmodelled::may_run_out() {
            descriptors::poll(IDLE_POLL);
            return;
        }
        let work = crate::timers::work_deadline();
        if work != NEVER {
            clock::work_to(work.min(clock::now() + round * IDLE));
            return;
        }
        if own >= self.hang {
            let now = clock::now();
            let ready = self.threads.iter().filter_map(|t| {
                self.count_anew(t);
                t.enabled(now).then_some((t.idled, t.id))
            });
            match ready.min() {
                Some((least, thread)) if least < self.hang => self.starved = Some(thread),
                _ if deadline == NEVER => stuck::hang(self.idled),
                _ => clock::advance_to(deadline),
            }
        }
        if deadline != NEVER {
            clock::advance_to(deadline.min(clock::now() + round * IDLE));
        }
        if let Some(near) = self.near_deadline() {
            self.hurry(near);
        }
    }

    /// So often do those who idle before somebody looks what else could be done.
    fn round(&self) -> u64 {
        SPIN_ROUNDS * self.threads.live.len() as u64
    }

    /// What a thread's own counts hold is of after the last progress.
    fn count_anew(&self, t: &mut Thread) {
        if t.idle_since != self.idle_since {
            (t.idled, t.spent, t.idle_since) = (0, 0, self.idle_since);
        }
    }
}

/// A thread used so many back edges of the turns that it has: a loop idles although its thread never has a whole turn.
pub fn spent(thread: ThreadId, used: u64, turn: i64) {
    let s = scheduler();
    if used == 0 || turn == i64::MAX {
        return;
    }
    let Some(t) = s.threads.get(thread) else { return };
    s.count_anew(t);
    t.spent += used as i64;
    while t.spent >= turn {
        t.spent -= turn;
        t.idled += LOOP;
    }
}
