//! Which event at an object came right after which other: what tells an order of events that was not seen before
//! from one more switch that changes nothing.
//!
//! An event is a thread, where it called from, and what it did; per object the last one is kept, and each pair of an
//! event and the one before it enters a set. Reads-from pairs (RFF, ASPLOS 2024) for synchronisation: a set of pairs, so
//! that a loop of a thousand rounds is as one of two. The ends of threads and of the process succeed one another as
//! the events at one object would. Objects are known by what happens at them, not by their addresses, which differ
//! between schedules.
//!
//! Kept under policies that may switch at any point; one look-up and one insertion an event. At most [`MOST`] pairs.

use crate::held::Held;
use crate::thread::{FixedState, Thread};
use deadheat_model::{ObjectKind, Operation};
use hashbrown::{HashMap, HashSet};

/// Most pairs of a run.
const MOST: usize = 1 << 16;
/// Stands for the object at which threads and the process end.
const ENDS: u64 = 0;

struct Successions {
    on: bool,
    /// The last event of each object.
    last: HashMap<u64, u64, FixedState>,
    pairs: HashSet<u64, FixedState>,
    sum: u64,
}

static SUCCESSIONS: Held<Successions> = Held::new(Successions {
    on: false,
    last: HashMap::with_hasher(FixedState),
    pairs: HashSet::with_hasher(FixedState),
    sum: 0,
});

/// They are kept from now on.
pub fn start() {
    SUCCESSIONS.get().on = true;
}

/// A thread comes to an operation.
#[inline(always)]
pub fn comes(t: &Thread, next: &Operation) {
    if SUCCESSIONS.get().on {
        arrives(t, next);
    }
}

fn arrives(t: &Thread, next: &Operation) {
    match *next {
        // Who gets a lock counts, not who waits for it.
        Operation::Acquire(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock, _)
        | Operation::Release(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock, _) => {}
        Operation::Acquire(kind, object) => note(t, object.address, 1 << 8 | kind as u64),
        Operation::Release(kind, object) => note(t, object.address, 2 << 8 | kind as u64),
        Operation::Atomic(access) => {
            let site = u64::from(access.site.module) << 32 | u64::from(access.site.index);
            note(t, access.bytes.start, 1 << 63 | site);
        }
        _ => {}
    }
}

/// A thread took a lock.
#[inline(always)]
pub fn took(t: &Thread, kind: ObjectKind, address: u64) {
    if SUCCESSIONS.get().on {
        note(t, address, 3 << 8 | kind as u64);
    }
}

/// A thread ends, or with it the process.
pub fn ends(t: &Thread) {
    if SUCCESSIONS.get().on {
        note(t, ENDS, 4 << 8);
    }
}

fn note(t: &Thread, object: u64, what: u64) {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let event = mix(mix(what, t.id.0.into()), t.place());
    let all = SUCCESSIONS.get();
    let before = all.last.insert(object, event).unwrap_or(0);
    let pair = mix(mix(0, before), event);
    if all.pairs.len() < MOST && all.pairs.insert(pair) {
        all.sum = all.sum.wrapping_add(pair ^ pair >> 29);
    }
}

/// The object is gone: another at its address has no past.
pub fn forget(object: u64) {
    SUCCESSIONS.get().last.remove(&object);
}

/// The same for two runs in which the same pairs succeeded one another; 0 if none were kept.
pub fn hash() -> u64 {
    SUCCESSIONS.get().sum
}
