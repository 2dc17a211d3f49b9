//! Scheduling points passed without a decision: noted now, accounted for later.
//!
//! Under an ordinary schedule most points of a program are locks that nobody holds, taken by a thread that may
//! go on for some points more. Such a point needs nobody's opinion, so the running thread passes it in a few
//! instructions and notes it here. What a point changes beyond the lock itself (the step, the clock, the trail's
//! hash, what the policy counts, locks held, happens-before) is made up for before anyone looks: every other
//! way into the runtime goes through [`token::me`], which settles the journal first and closes it. It is opened
//! at the end of a lock or unlock that took the long way. Only what the program's next check compares with, the
//! running context of phase 1, changes at once: per (lock, context) the next one is known. Of a target only the
//! count is kept, so that its stub is one subtraction: the trail's hash holds how many there were, not which.
//!
//! Besides the instructions saved this leaves the processor room to overlap the program's own waits for memory
//! across a lock, as it does in an ordinary run: half of the cost of a program with short critical sections.
//!
//! Invariant: a run is the same, step for step, with and without the journal. So it is open only while nothing
//! but the number of points decides when the policy is asked, no timer is set, no signal is pending, and no
//! meeting, no cycle of waiting and no story is being followed; and a lock is taken this way only if it is free and of the default kind.

use crate::held::Held;
use crate::memo::{self, Table};
use crate::site::stub;
use crate::thread::{Frame, Thread};
use crate::wait::word;
use crate::{check, event_trace, lock_order, meeting, observe, quarantine, signals, statements, tls, token};
use core::mem::offset_of;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Words noted at once: two of a lock taken (its address and [`Passed::Taken`]'s place), one of a lock given back
/// (the complement of its address).
const CAPACITY: usize = 512;
/// Bytes of the largest target access that is passed.
pub const LARGEST: u64 = 64;
/// Slots of the table of known changes of context.
const CHANGES: usize = 1024;
/// No thread's record.
const NOBODY: u64 = 1;
/// Fields of a glibc mutex: owner and users at 8, kind at 16; lock and count at 0.
pub const OWNER: u64 = 8;
/// See [`OWNER`].
pub const KIND: u64 = 16;
/// One user, above the owner.
const USED: u64 = 1 << 32;

/// A lock that was passed.
#[derive(Clone, Copy)]
pub enum Passed {
    /// Taken: its address, and the number of its place in the order of locks if that is noted, else the call's
    /// return address.
    Taken(u64, u64),
    /// Given back.
    Given(u64),
}

/// Locks that were passed, in their order.
pub struct Locks<'a>(core::slice::Iter<'a, u64>);

impl Iterator for Locks<'_> {
    type Item = Passed;

    #[inline(always)]
    fn next(&mut self) -> Option<Passed> {
        let word = *self.0.next()?;
        if (word as i64) < 0 {
            return Some(Passed::Given(!word));
        }
        Some(Passed::Taken(word, *self.0.next()?))
    }
}

/// What a thread passed.
pub struct Points<'a> {
    /// Locks taken and given back.
    pub locks: Locks<'a>,
    /// Targets.
    pub targets: u64,
    /// Whether the policy counts them (there are other threads).
    pub counted: bool,
    /// Whether the order of locks is noted.
    pub ordered: bool,
}

/// What taking the lock at an address does to the running context.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Change {
    address: u64,
    /// Contexts before and after, with the tables of their known steps.
    contexts: [u32; 2],
    tables: [*const Table; 2],
    /// The thread's hybrid epoch that this is good for.
    epoch: u32,
}

/// What an event means to the checks of this run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checks {
    /// There are none.
    None,
    /// Run 1: they compare with the context.
    Context,
    /// Run 2: repetitions are told by the moment's number.
    Moment,
}

/// See the module.
#[repr(C)]
pub struct Journal {
    /// Record of the thread that may pass points: the running one, or [`NOBODY`].
    pub thread: u64,
    /// Where the next word goes.
    pub next: *mut u64,
    /// Locks may be passed while `next` is below this; null since a signal came.
    limit: AtomicU64,
    /// The same where a lock needs nothing but its words.
    plain_limit: AtomicU64,
    /// How many targets may still be passed while nobody stands before a target; negative when there was one more.
    alone: i64,
    /// The same while somebody does, for accesses that meet nobody: those that start at `beyond` or after it, or at
    /// `before` or before it.
    beside: i64,
    /// What these two were at first, added up.
    allowed: i64,
    /// See `beside`.
    pub beyond: u64,
    /// See `beside`.
    pub before: u64,
    /// Whether the policy counts these points (there are other threads).
    counted: bool,
    /// Whether the order of locks is noted.
    pub ordered: bool,
    checks: Checks,
    /// Lock and count of a mutex of the default kind that the thread holds.
    held: u64,
    /// The owner's number, as in a mutex, with its users.
    owner: u64,
    epoch: u32,
    version: u32,
    words: [u64; CAPACITY],
}

/// Offsets for stubs and entries.
pub const THREAD_AT: usize = offset_of!(Journal, thread);
/// See [`THREAD_AT`].
pub const NEXT_AT: usize = offset_of!(Journal, next);
/// See [`THREAD_AT`].
pub const PLAIN_LIMIT_AT: usize = offset_of!(Journal, plain_limit);
/// See [`THREAD_AT`].
pub const ALONE_AT: usize = offset_of!(Journal, alone);
/// See [`THREAD_AT`].
pub const BESIDE_AT: usize = offset_of!(Journal, beside);
/// See [`THREAD_AT`].
pub const BEYOND_AT: usize = offset_of!(Journal, beyond);
/// See [`THREAD_AT`].
pub const BEFORE_AT: usize = offset_of!(Journal, before);
/// See [`THREAD_AT`].
pub const HELD_AT: usize = offset_of!(Journal, held);
/// See [`THREAD_AT`].
pub const OWNER_AT: usize = offset_of!(Journal, owner);

/// What a stub needs to know of the journal.
pub fn words() -> stub::Journal {
    let at = |offset: usize| JOURNAL.as_ptr() as u64 + offset as u64;
    stub::Journal {
        alone: at(ALONE_AT),
        beside: at(BESIDE_AT),
        beyond: at(BEYOND_AT),
        before: at(BEFORE_AT),
    }
}

/// The journal.
pub static JOURNAL: Held<Journal> = Held::new(Journal {
    thread: NOBODY,
    next: core::ptr::null_mut(),
    limit: AtomicU64::new(0),
    plain_limit: AtomicU64::new(0),
    alone: 0,
    beside: 0,
    allowed: 0,
    beyond: u64::MAX,
    before: 0,
    counted: false,
    ordered: false,
    checks: Checks::None,
    held: 0,
    owner: 0,
    epoch: 0,
    version: 0,
    words: [0; CAPACITY],
});

static KNOWN: Held<[Change; CHANGES]> = Held::new(
    [Change {
        address: 0,
        contexts: [0; 2],
        tables: [core::ptr::null(); 2],
        epoch: 0,
    }; CHANGES],
);

#[inline(always)]
fn slot(address: u64, owner: u64) -> &'static mut Change {
    let mixed = address >> 3 ^ address >> 13 ^ owner << 9;
    &mut KNOWN.get()[mixed as usize % CHANGES]
}

impl Journal {
    /// Whether a lock may be passed, all else apart.
    #[inline(always)]
    fn has_room(&self) -> bool {
        (self.next as u64) < self.limit.load(Relaxed)
    }

    #[inline(always)]
    fn note<const N: usize>(&mut self, words: [u64; N]) {
        let next = self.next;
        // SAFETY: the limits leave room for a point.
        unsafe {
            next.cast::<[u64; N]>().write(words);
            self.next = next.add(N);
        }
    }

    /// The checks' side of taking (`to` 1) or giving back (0) a lock; whether it is known.
    #[inline(always)]
    fn change(&self, address: u64, to: usize) -> bool {
        match self.checks {
            Checks::None => true,
            Checks::Moment => statements::try_refresh(),
            Checks::Context => {
                let known = slot(address, self.owner);
                let present = known.contexts[1 - to];
                if known.address != address || present != check::context() || known.epoch != self.epoch {
                    return false;
                }
                check::set_context(known.contexts[to]);
                memo::enter_table(known.tables[to], known.contexts[to], self.version);
                true
            }
        }
    }
}

/// Takes the free mutex at this address if the running thread, which left the program at `frame`, may pass the
/// point; tells whether it did.
///
/// # Safety
/// A live mutex.
#[inline(always)]
pub unsafe fn lock(mutex: u64, frame: &Frame) -> bool {
    let journal = JOURNAL.get();
    if tls::thread() as u64 != journal.thread || !journal.has_room() {
        return false;
    }
    let place = if journal.ordered {
        let Some(place) = lock_order::known(frame) else {
            return false;
        };
        place.into()
    } else {
        frame.pc
    };
    let (state, owner) = (mutex as *mut u64, (mutex + OWNER) as *mut u64);
    // SAFETY: fields of a live mutex that only threads of this process use, one at a time.
    unsafe {
        let free = *state == 0 && word(mutex + KIND).load(Relaxed) == 0 && !quarantine::is_near(mutex);
        if !free || !journal.change(mutex, 1) {
            return false;
        }
        *state = journal.held;
        *owner = journal.owner;
    }
    journal.note([mutex, place]);
    true
}

/// Gives the mutex at this address back if the running thread holds it and may pass the point; tells whether
/// it did.
///
/// # Safety
/// A live mutex.
#[inline(always)]
pub unsafe fn unlock(mutex: u64) -> bool {
    let journal = JOURNAL.get();
    if tls::thread() as u64 != journal.thread || !journal.has_room() {
        return false;
    }
    let (state, owner) = (mutex as *mut u64, (mutex + OWNER) as *mut u64);
    // SAFETY: as in `lock`.
    unsafe {
        let held = *state == journal.held && !quarantine::is_near(mutex);
        if !held || !journal.change(mutex, 0) {
            return false;
        }
        *state = 0;
        *owner = 0;
    }
    journal.note([!mutex]);
    true
}

/// What is to be known of the present before a lock is taken the long way.
pub struct Before {
    context: u32,
    table: *const Table,
    switched: u64,
}

impl Before {
    /// Now.
    pub fn now() -> Before {
        Before {
            context: check::context(),
            table: *memo::CURRENT.get(),
            switched: token::scheduler().trail.switched,
        }
    }
}

/// The thread took the lock at this address the long way; what it did to the context is known from now on.
pub fn learn(t: &Thread, address: u64, before: &Before) {
    if check::purpose() != check::Use::Granules || token::scheduler().trail.switched != before.switched {
        return;
    }
    let Some(clocks) = observe::clocks() else { return };
    *slot(address, owner(t)) = Change {
        address,
        contexts: [before.context, check::context()],
        tables: [before.table, *memo::CURRENT.get()],
        epoch: clocks.hybrid_epoch(t.id),
    };
}

/// The lock at this address is gone.
pub fn forget(address: u64) {
    for known in KNOWN.get().iter_mut().filter(|known| known.address == address) {
        known.address = 0;
    }
}

/// The count of a mutex of the default kind that the thread holds. The journal's thread finds its own mutexes by it.
pub fn mark(t: &Thread) -> u32 {
    (t.id.0 + 1) | 1 << 31
}

fn owner(t: &Thread) -> u64 {
    u64::from(t.id.0 + 1) | USED
}

/// Opens the journal for the running thread if its next points need no decision.
pub fn open(t: &mut Thread) {
    let journal = JOURNAL.get();
    let [points, all] = token::scheduler().spare(t).map(i64::from);
    // Locks take no more words than half of the points, and the rest may be targets: so together they are no more than
    // may be passed, in whatever order they come.
    let locks = (points / 2).min(CAPACITY as i64 - 1);
    let targets = if locks > 0 { points - locks } else { all };
    let checks = match check::purpose() {
        check::Use::Nothing => Checks::None,
        // A thread that is alone has no context.
        check::Use::Granules if check::context() == 0 => Checks::None,
        check::Use::Granules => Checks::Context,
        check::Use::Statements => Checks::Moment,
    };
    let alarm = crate::timers::signal_deadline().min(crate::timers::work_deadline());
    let quiet = alarm == crate::thread::NEVER && meeting::none();
    let quiet = quiet && !lock_order::directed() && !event_trace::on() && !crate::functions::on();
    if targets == 0 || !quiet {
        return;
    }
    journal.checks = checks;
    journal.ordered = lock_order::notes();
    if observe::passes_targets() {
        match token::scheduler().stood(t) {
            None => journal.alone = targets,
            Some((low, high)) => {
                (journal.before, journal.beyond) = (low.saturating_sub(LARGEST), high);
                journal.beside = targets;
            }
        }
        journal.allowed = targets;
    }
    journal.counted = token::scheduler().threads.live.len() > 1;
    journal.next = journal.words.as_mut_ptr();
    let limit = journal.next.wrapping_add(locks as usize) as u64;
    let plain = checks == Checks::None && !journal.ordered && quarantine::is_empty();
    journal.limit.store(limit, Relaxed);
    journal.plain_limit.store(if plain { limit } else { 0 }, SeqCst);
    if signals::came() {
        signal_came();
    }
    journal.owner = owner(t);
    journal.held = 1 | u64::from(mark(t)) << 32;
    if let Some(clocks) = observe::clocks() {
        journal.epoch = clocks.hybrid_epoch(t.id);
        journal.version = clocks.version(t.id);
    }
    journal.thread = &raw mut *t as u64;
}

/// A signal came: no lock is passed until it was looked at. Called by whichever thread the signal hits.
pub fn signal_came() {
    // SAFETY: the two limits are atomic; nothing else is touched.
    let journal = unsafe { &*JOURNAL.as_ptr() };
    journal.limit.store(0, Relaxed);
    journal.plain_limit.store(0, SeqCst);
}

/// Locks are passed by the entry code no more until the journal is opened again.
pub fn no_plain() {
    JOURNAL.get().plain_limit.store(0, SeqCst);
}

/// Whether the journal is open for this thread.
#[inline(always)]
pub fn is_open(thread: *const Thread) -> bool {
    JOURNAL.get().thread == thread as u64
}

/// Accounts for the points passed and closes the journal.
#[cold]
pub fn settle(t: &mut Thread) {
    let journal = JOURNAL.get();
    journal.thread = NOBODY;
    // The entry code of giving back does not ask whose the journal is.
    journal.plain_limit.store(0, Relaxed);
    let left = journal.alone.max(0) + journal.beside.max(0);
    let targets = (core::mem::take(&mut journal.allowed) - left) as u64;
    (journal.alone, journal.beside) = (0, 0);
    // SAFETY: both point into the words.
    let words = unsafe { journal.next.offset_from(journal.words.as_ptr()) } as usize;
    let points = Points {
        locks: Locks(journal.words[..words].iter()),
        targets,
        counted: journal.counted,
        ordered: journal.ordered,
    };
    token::scheduler().account(t, points);
}

/// Settles what a thread that is about to crash or exit has passed.
pub fn settle_own() {
    let thread = tls::thread();
    if is_open(thread) {
        // SAFETY: the running thread's own record.
        settle(unsafe { &mut *thread });
    }
}
