//! `overtaken`: a random walk in which some of the operations on synchronisation objects are overtaken. A thread that
//! comes to an operation at a chosen place is held back until others were at the same object from other places: so it
//! comes after them where an ordinary schedule lets it come before.
//!
//! Bugs without a race hide in the order of critical sections: the second section of one thread must come between two of
//! another, whatever a hundred others do. A plain walk needs every one of these to be late by itself; here all that come
//! to one place are late together. Which places: a half, a quarter or an eighth of all, by the seed. How often a thread
//! is overtaken before it goes on: once, or with a coin once more, and so on. For how long at most: the rules of
//! [`HeldBack`], so that one whom the others wait for is let go.
//!
//! With places given, the same is directed at the objects that those belong to: held back is who comes to an object
//! *again*, there, until others were at it. What that thread did there before and what it is about to do may be meant to
//! be one (an atomicity violation: CTrigger, ASPLOS 2009), and the rest of the program goes its usual way meanwhile, for
//! ten times as long. Every fourth seed holds all of those back, the others a half or a quarter, by place and object.
//!
//! Cost of a scheduling point: linear in the threads held back.

use crate::held_back::HeldBack;
use crate::{Answer, Cause, Enabled, PATIENCE, Policy, Question};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use deadheat_model::{ObjectKind, Operation, ThreadId};

/// Bound of the postponements of one thread at one place.
const POSTPONEMENTS: u32 = 20;

/// Most threads at objects that are known to have been there.
const VISITORS: usize = 1 << 16;

/// A thread that is held back.
#[derive(Clone, Copy, Debug)]
struct Held {
    thread: ThreadId,
    object: u64,
    place: u64,
    /// How often it is overtaken before it goes on.
    left: u32,
}

/// Lets operations at chosen places be overtaken.
#[derive(Clone, Debug)]
pub struct Overtaken {
    held: HeldBack,
    standing: Vec<Held>,
    seed: u64,
    /// Mask of the chosen places' hashes.
    mask: u64,
    /// Places that it is directed at, ascending.
    places: Vec<u64>,
    /// Who was at which object, from those places.
    visitors: BTreeSet<(ThreadId, u64)>,
}

/// The object and the place of what the thread is about to do there.
fn object(entry: &Enabled) -> Option<(u64, u64)> {
    match &entry.next {
        // Who gives a lock back had it before.
        Operation::Release(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock, _) => None,
        Operation::Acquire(_, object) | Operation::Release(_, object) => Some((object.address, entry.place)),
        Operation::Part(part) => Some((part.object.address, entry.place)),
        Operation::Atomic(access) => Some((access.bytes.start, u64::from(access.site.index))),
        _ => None,
    }
    .filter(|_| !entry.timeout)
}

impl Overtaken {
    /// By this seed, over a walk that switches with probability `switch`/1024, directed at these places if there are any.
    pub fn new(seed: u64, switch: u32, places: Vec<u64>) -> Overtaken {
        let patience = if places.is_empty() { PATIENCE } else { 10 * PATIENCE };
        let mut held = HeldBack::new(seed, switch, POSTPONEMENTS, patience);
        let mask = match places.len() {
            0 => (2 << held.rng().below(3)) - 1,
            _ if seed.is_multiple_of(4) => 0,
            _ => (2 << held.rng().below(2)) - 1,
        };
        Overtaken {
            held,
            standing: Vec::new(),
            seed,
            mask,
            places,
            visitors: BTreeSet::new(),
        }
    }

    /// Whether a thread that comes to the object there is to be held back.
    fn chosen(&mut self, thread: ThreadId, object: u64, place: u64) -> bool {
        let mut what = place;
        if self.directed() {
            what ^= object;
            if self.visitors.len() >= VISITORS || self.visitors.insert((thread, object)) {
                return false;
            }
        }
        let mixed = (what ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 32) & self.mask == 0
    }

    fn directed(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether what happens at this place counts.
    fn counts(&self, place: u64) -> bool {
        !self.directed() || self.places.binary_search(&place).is_ok()
    }
}

impl Policy for Overtaken {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let there = |held: &Held| {
            let entry = q.entry(held.thread).filter(|_| held.thread != q.running);
            entry.and_then(object) == Some((held.object, held.place))
        };
        self.standing.retain(there);
        let standing = &self.standing;
        self.held.keep(|t| standing.iter().any(|held| held.thread == t));
        let arriving = q.entry(q.running).filter(|_| q.cause == Cause::Point).and_then(object);
        if let Some((object, place)) = arriving.filter(|(_, place)| self.counts(*place)) {
            let mut overtakes = false;
            let directed = self.directed();
            for held in &mut self.standing {
                if held.object == object && (directed || held.place != place) {
                    overtakes = true;
                    held.left -= 1;
                }
            }
            self.standing.retain(|held| held.left > 0);
            if overtakes {
                self.visitors.extend(directed.then_some((q.running, object)));
                let standing = &self.standing;
                self.held.keep(|t| standing.iter().any(|held| held.thread == t));
                return Answer::run(q.running);
            }
            let chosen = self.chosen(q.running, object, place);
            // Alone, a thread would be released at once: that shall not use up its bound.
            if chosen && q.enabled.len() > 1 {
                self.held.postpone(q.step, q.running, place);
                if self.held.has(q.running) {
                    let mut left = 1;
                    while self.held.rng().coin() {
                        left += 1;
                    }
                    self.standing.push(Held {
                        thread: q.running,
                        object,
                        place,
                        left,
                    });
                }
            }
        }
        Answer::run(self.held.go_on(q, None))
    }

    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        let anywhere = matches!(
            next,
            Operation::Acquire(..) | Operation::Release(..) | Operation::Part(_) | Operation::Atomic(_)
        );
        !anywhere && self.held.is_empty() && self.held.stays(step, next)
    }
}
