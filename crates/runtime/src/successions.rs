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
//!
//! A plan may ask from which places objects were come to, besides: what a run is directed by that interrupts threads
//! between two visits to one object.

use crate::held::Held;
use crate::thread::{FixedState, Thread};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use deadheat_model::{ObjectKind, Operation, ThreadId};
use deadheat_wire::record::{Notice, Record};
use hashbrown::{HashMap, HashSet};

/// Most pairs of a run.
const MOST: usize = 1 << 16;
/// Stands for the object at which threads and the process end.
const ENDS: u64 = 0;

/// Most places of one object, and most sets of them.
const PLACES: usize = 64;
const SETS: usize = 1 << 12;

/// Who came to an object.
#[derive(Default)]
struct Visits {
    first: Option<ThreadId>,
    last: Option<ThreadId>,
    /// Several threads came.
    several: bool,
    /// One of them came more than once.
    again: bool,
    /// From where, ascending.
    places: Vec<u64>,
    /// Places for which there was no room.
    cut: u64,
}

impl Visits {
    fn by(&mut self, thread: ThreadId, place: u64) {
        let first = *self.first.get_or_insert(thread);
        self.several |= first != thread;
        self.again |= self.last.is_some() && (first == thread || self.last == Some(thread));
        self.last = Some(thread);
        match self.places.binary_search(&place) {
            Err(at) if self.places.len() < PLACES => self.places.insert(at, place),
            Err(_) => self.cut += 1,
            Ok(_) => {}
        }
    }
}

/// The visits to all objects.
#[derive(Default)]
struct Visited {
    present: HashMap<u64, Visits, FixedState>,
    /// Places of objects that several threads came to, one of them again.
    sets: BTreeSet<Vec<u64>>,
    cut: u64,
}

impl Visited {
    fn is_over(&mut self, visits: Visits) {
        self.cut += visits.cut;
        if !visits.several || !visits.again || self.sets.contains(&visits.places) {
        } else if self.sets.len() < SETS {
            self.sets.insert(visits.places);
        } else {
            self.cut += 1;
        }
    }
}

struct Successions {
    on: bool,
    visited: Option<Visited>,
    /// The last event of each object.
    last: HashMap<u64, u64, FixedState>,
    pairs: HashSet<u64, FixedState>,
    sum: u64,
}

static SUCCESSIONS: Held<Successions> = Held::new(Successions {
    on: false,
    visited: None,
    last: HashMap::with_hasher(FixedState),
    pairs: HashSet::with_hasher(FixedState),
    sum: 0,
});

/// They are kept from now on; so is, if asked for, from which places objects are come to.
pub fn start(places: bool) {
    let all = SUCCESSIONS.get();
    all.on = true;
    all.visited = places.then(Visited::default);
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
        Operation::Acquire(kind, object) => note(t, object.address, t.place(), 1 << 8 | kind as u64),
        Operation::Release(kind, object) => note(t, object.address, t.place(), 2 << 8 | kind as u64),
        Operation::Atomic(access) => {
            let site = u64::from(access.site.module) << 32 | u64::from(access.site.index);
            note(t, access.bytes.start, access.site.index.into(), 1 << 63 | site);
        }
        _ => {}
    }
}

/// A thread took a lock.
#[inline(always)]
pub fn took(t: &Thread, kind: ObjectKind, address: u64) {
    if SUCCESSIONS.get().on {
        note(t, address, t.place(), 3 << 8 | kind as u64);
    }
}

/// A thread ends, or with it the process.
pub fn ends(t: &Thread) {
    if SUCCESSIONS.get().on {
        note(t, ENDS, t.place(), 4 << 8);
    }
}

fn note(t: &Thread, object: u64, place: u64, what: u64) {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let event = mix(mix(what, t.id.0.into()), t.place());
    let all = SUCCESSIONS.get();
    let before = all.last.insert(object, event).unwrap_or(0);
    let pair = mix(mix(0, before), event);
    if all.pairs.len() < MOST && all.pairs.insert(pair) {
        all.sum = all.sum.wrapping_add(pair ^ pair >> 29);
    }
    if object != ENDS
        && let Some(visited) = &mut all.visited
    {
        visited.present.entry(object).or_default().by(t.id, place);
    }
}

/// The object is gone: another at its address has no past.
pub fn forget(object: u64) {
    let all = SUCCESSIONS.get();
    all.last.remove(&object);
    if let Some(visited) = &mut all.visited
        && let Some(visits) = visited.present.remove(&object)
    {
        visited.is_over(visits);
    }
}

/// The run ends: records from which places objects were come to.
pub fn finish() {
    let Some(mut visited) = SUCCESSIONS.get().visited.take() else {
        return;
    };
    let mut present: Vec<(u64, Visits)> = visited.present.drain().collect();
    present.sort_unstable_by_key(|(object, _)| *object);
    present.into_iter().for_each(|(_, visits)| visited.is_over(visits));
    crate::report::write(&Record::Places(visited.sets.into_iter().collect()));
    if visited.cut > 0 {
        crate::report::write(&Record::Notice(Notice::Cut {
            what: "places of synchronisation".into(),
            count: visited.cut,
        }));
    }
}

/// The same for two runs in which the same pairs succeeded one another; 0 if none were kept.
pub fn hash() -> u64 {
    SUCCESSIONS.get().sum
}
