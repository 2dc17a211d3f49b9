//! Hand-made locks: learning which atomic words are locks.
//!
//! If the hand-over of a spin lock were a hybrid edge like that of any atomic, the races that it hides
//! by chance would be lost, as they would be for a mutex. So a word that behaves as a lock goes into
//! locksets and gives no hybrid edge. The full clock takes the C11 edges of every word, so nothing that
//! is called *precise* depends on what is learned here; suspicion alone does.
//!
//! The rule. A word is *taken* by a compare-exchange or read-modify-write with acquire order that finds
//! its free value, and *given back* by the taker's next write with release order. The value that a write
//! left is known only at the next event on the word, as that event's value before.
//! - **Tentative**, from the first taking (free value 0, or below 256 for a compare-exchange). The word is
//!   in the taker's lockset already, but gives edges like any atomic.
//! - **Confirmed**, when the first event after a giving-back finds the free value again. The edge of that
//!   hand-over itself is then not given. From now on: no hybrid edges.
//! - **Demoted**, for good (until the memory is freed): a store by another thread while taken, or by
//!   anyone while free; a write that makes it free while taken, other than the taker's giving-back; a
//!   giving-back without release order, that leaves another value, or that is a compare-exchange of a
//!   value of 256 or more (a pointer pushed on a list and popped again); a tentative word both taken and
//!   given back by read-modify-writes (a count of users); a taking without acquire order.
//!   Read-modify-writes by others while it is taken are waiters' marks (0/1/2 in futex mutexes; the
//!   exchange of a test-and-set lock that fails) and allowed.
//!
//! Why locksets stay sound: two threads whose locksets share a word took it one after the other, the first
//! gave it back with release order, only read-modify-writes came between, and the second took it with
//! acquire order; so the full clock orders the two sections. A word that breaks this is demoted, its lock's
//! number is never used again, and so no later lockset shares it.
//!
//! A release fence before a relaxed giving-back does not count: what the thread does between the two is not
//! covered by it.
//!
//! What is not learned: ticket and queue locks, the read side of hand-made read-write locks, a lock whose
//! waiter bits outlive the giving-back (demoted: it then gives edges). Words taken and never given back
//! (publication, claims) stay tentative; a thread keeps its newest [`TENTATIVE`] of them.

use crate::atomics::{AtomicEvent, AtomicKind};
use crate::lockset::LockId;
use deadheat_model::ThreadId;

/// Tentative words that a thread may hold at once; older ones are given up.
pub const TENTATIVE: usize = 4;

/// Values below this look like a lock's states rather than pointers.
const SMALL: u64 = 256;

/// How far a word is established as a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Taken once or more, never seen given back.
    Tentative,
    /// A lock.
    Confirmed,
    /// Not a lock.
    Demoted,
}

/// A word that was taken at least once.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub address: u64,
    pub size: u32,
    pub standing: Standing,
    /// The word's number as a lock.
    pub lock: LockId,
    pub holder: Option<ThreadId>,
    free: u64,
    /// The holder has given it back; the next event tells what that left.
    given_back: bool,
    /// The holder took it by a read-modify-write, which may have been the counting of something.
    updated: bool,
    /// Hybrid edges that it gave while tentative.
    pub edges: u64,
}

/// What an event means for a thread's lockset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    /// The acting thread took the word.
    Taken(LockId),
    /// This thread no longer holds it.
    Dropped(ThreadId, LockId),
}

impl Word {
    /// The word that this event takes for the first time, unless it cannot be a lock's taking.
    /// `known` words are confirmed from the start.
    pub fn first_taken(
        event: &AtomicEvent,
        thread: ThreadId,
        known: bool,
        lock: impl FnOnce() -> LockId,
    ) -> Option<Word> {
        let free = event.before?;
        let takes = match event.kind {
            AtomicKind::CompareExchange { success, .. } => success && free < SMALL,
            AtomicKind::Update => free == 0,
            _ => false,
        };
        if !takes || !event.order.acquires() || event.size > 8 {
            return None;
        }
        Some(Word {
            address: event.address,
            size: event.size,
            standing: if known {
                Standing::Confirmed
            } else {
                Standing::Tentative
            },
            lock: lock(),
            holder: Some(thread),
            free,
            given_back: false,
            updated: event.kind == AtomicKind::Update,
            edges: 0,
        })
    }

    /// Whether the event touches bytes of the word.
    pub fn overlaps(&self, event: &AtomicEvent) -> bool {
        self.address < event.address.saturating_add(event.size as u64)
            && event.address < self.address.saturating_add(self.size as u64)
    }

    /// Whether the event is on exactly this word.
    pub fn is_at(&self, event: &AtomicEvent) -> bool {
        self.address == event.address && self.size == event.size
    }

    /// Before the event: what its value before tells of the writes so far.
    pub fn observe(&mut self, event: &AtomicEvent) -> Change {
        if self.standing == Standing::Demoted {
            return Change::None;
        }
        let free = event.before == Some(self.free);
        if !self.is_at(event) {
            return if event.writes() { self.demote() } else { Change::None };
        }
        if self.given_back {
            self.given_back = false;
            if !free {
                return self.demote();
            }
            self.standing = Standing::Confirmed;
        } else if free != self.holder.is_none() {
            return self.demote();
        }
        Change::None
    }

    /// After the event: what it did.
    pub fn act(&mut self, event: &AtomicEvent, thread: ThreadId) -> Change {
        if self.standing == Standing::Demoted || !event.writes() || !self.is_at(event) {
            return Change::None;
        }
        let (store, releases) = (event.kind == AtomicKind::Store, event.order.releases());
        match self.holder {
            Some(holder) if holder == thread => {
                let exchanged = matches!(event.kind, AtomicKind::CompareExchange { .. });
                let pointer = exchanged && event.before.is_none_or(|v| v >= SMALL);
                if !releases && !store {
                    // A mark; if it made the word free, the next event demotes.
                    Change::None
                } else if !releases || pointer || self.counts(event) {
                    self.demote()
                } else {
                    self.holder = None;
                    self.given_back = true;
                    Change::Dropped(thread, self.lock)
                }
            }
            Some(_) if store => self.demote(),
            Some(_) => Change::None,
            None => {
                let takes = matches!(event.kind, AtomicKind::CompareExchange { .. } | AtomicKind::Update);
                if takes && event.order.acquires() && event.before == Some(self.free) {
                    self.holder = Some(thread);
                    self.updated = event.kind == AtomicKind::Update;
                    Change::Taken(self.lock)
                } else {
                    self.demote()
                }
            }
        }
    }

    /// Whether the holder's write ends what may be a count of users: up by one operation, down by another.
    fn counts(&self, event: &AtomicEvent) -> bool {
        self.standing == Standing::Tentative
            && self.updated
            && matches!(event.kind, AtomicKind::Update | AtomicKind::Arithmetic)
    }

    /// Not a lock, or no longer taken for one.
    pub fn demote(&mut self) -> Change {
        self.standing = Standing::Demoted;
        self.given_back = false;
        match self.holder.take() {
            Some(holder) => Change::Dropped(holder, self.lock),
            None => Change::None,
        }
    }
}
