//! Locksets (Savage et al., Eraser, TOCS 1997), interned: a set of locks is a number.
//!
//! An element is a lock and how it is held. Two holds of one lock protect each other unless both are
//! for reading. Elements are kept sorted in one arena; a set's number never changes and sets are never
//! dropped (programs use few different ones, of any size). Adding, removing, and the two tests are
//! cached in direct-mapped tables, so that the common case costs one probe whatever the sizes.

use alloc::{vec, vec::Vec};
use core::hash::Hasher;
use deadheat_model::LockMode;
use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// A lock of one run, as numbered by [`HappensBefore::lock`](crate::HappensBefore::lock).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u32);

/// An interned set of held locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lockset(pub u32);

impl Lockset {
    /// No lock held.
    pub const EMPTY: Lockset = Lockset(0);
}

/// Entries of the caches; a power of two.
const CACHE: usize = 1024;

/// Lock and mode in one word: `lock << 1 | read`.
type Element = u32;

fn element(lock: LockId, mode: LockMode) -> Element {
    lock.0 << 1 | (mode == LockMode::Read) as u32
}

#[derive(Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
    /// Whether some lock is held for writing.
    exclusive: bool,
}

/// All locksets of a run.
pub struct Locksets {
    elements: Vec<Element>,
    sets: Vec<Span>,
    index: HashTable<u32>,
    /// (set, element << 1 | remove, result).
    changes: Vec<(u32, u64, u32)>,
    /// (a, b, kind and answer): kind 1 disjoint, 2 weaker; answer in bit 7.
    tests: Vec<(u32, u32, u8)>,
}

impl Default for Locksets {
    fn default() -> Self {
        Locksets::new()
    }
}

impl Locksets {
    /// Knows the empty set only.
    pub fn new() -> Locksets {
        Locksets {
            elements: Vec::new(),
            sets: vec![Span {
                start: 0,
                len: 0,
                exclusive: false,
            }],
            index: HashTable::new(),
            changes: vec![(0, u64::MAX, 0); CACHE],
            tests: vec![(0, 0, 0); CACHE],
        }
    }

    /// Number of different sets seen.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The locks of a set and how each is held, ascending.
    pub fn locks(&self, set: Lockset) -> impl Iterator<Item = (LockId, LockMode)> + '_ {
        self.elements_of(set).iter().map(|e| {
            let mode = if e & 1 == 1 { LockMode::Read } else { LockMode::Write };
            (LockId(e >> 1), mode)
        })
    }

    /// The set with one lock more.
    pub fn with(&mut self, set: Lockset, lock: LockId, mode: LockMode) -> Lockset {
        self.changed(set, element(lock, mode), false)
    }

    /// The set with one lock less.
    pub fn without(&mut self, set: Lockset, lock: LockId, mode: LockMode) -> Lockset {
        self.changed(set, element(lock, mode), true)
    }

    /// Whether no lock keeps two holders of these sets apart.
    #[inline]
    pub fn disjoint(&mut self, a: Lockset, b: Lockset) -> bool {
        if a == Lockset::EMPTY || b == Lockset::EMPTY {
            return true;
        }
        if a == b {
            return !self.span(a).exclusive;
        }
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        self.tested(a, b, 1, Self::compare_disjoint)
    }

    /// Whether `a` protects against nothing that `b` does not protect against: whoever is not kept
    /// apart by `b` is not kept apart by `a`.
    #[inline]
    pub fn weaker(&mut self, a: Lockset, b: Lockset) -> bool {
        if a == Lockset::EMPTY || a == b {
            return true;
        }
        if b == Lockset::EMPTY {
            return false;
        }
        self.tested(a, b, 2, Self::compare_weaker)
    }

    fn span(&self, set: Lockset) -> Span {
        self.sets.get(set.0 as usize).copied().unwrap_or(self.sets[0])
    }

    fn elements_of(&self, set: Lockset) -> &[Element] {
        let span = self.span(set);
        &self.elements[span.start as usize..(span.start + span.len) as usize]
    }

    fn tested(&mut self, a: Lockset, b: Lockset, kind: u8, test: fn(&[Element], &[Element]) -> bool) -> bool {
        let slot = (a.0.wrapping_mul(0x9E37_79B1) ^ b.0.wrapping_mul(0x85EB_CA77) ^ kind as u32) as usize;
        let slot = (slot ^ slot >> 15) & (CACHE - 1);
        let (x, y, known) = self.tests[slot];
        if x == a.0 && y == b.0 && known & 127 == kind {
            return known >> 7 == 1;
        }
        let answer = test(self.elements_of(a), self.elements_of(b));
        self.tests[slot] = (a.0, b.0, kind | (answer as u8) << 7);
        answer
    }

    fn compare_disjoint(a: &[Element], b: &[Element]) -> bool {
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            match (a[i] >> 1).cmp(&(b[j] >> 1)) {
                core::cmp::Ordering::Less => i += 1,
                core::cmp::Ordering::Greater => j += 1,
                core::cmp::Ordering::Equal => {
                    // A lock held both ways sorts its write element first, so this one decides.
                    if a[i] & b[j] & 1 == 0 {
                        return false;
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        true
    }

    fn compare_weaker(a: &[Element], b: &[Element]) -> bool {
        let mut j = 0;
        for x in a {
            while j < b.len() && b[j] >> 1 < x >> 1 {
                j += 1;
            }
            // The first element of this lock in `b` is its strongest.
            if j == b.len() || b[j] >> 1 != x >> 1 || b[j] & 1 > x & 1 {
                return false;
            }
        }
        true
    }

    fn changed(&mut self, set: Lockset, element: Element, remove: bool) -> Lockset {
        let key = (element as u64) << 1 | remove as u64;
        // Locks taken one at a time, the common case, have slots of their own.
        let slot = (set.0.wrapping_mul(0x9E37_79B1) >> 15).wrapping_add(element >> 1);
        let slot = (slot ^ (key as u32 & 3) << 8) as usize & (CACHE - 1);
        let (from, by, to) = self.changes[slot];
        if from == set.0 && by == key {
            return Lockset(to);
        }
        let mut elements = self.elements_of(set).to_vec();
        match (elements.binary_search(&element), remove) {
            (Ok(at), true) => drop(elements.remove(at)),
            (Err(at), false) => elements.insert(at, element),
            _ => {}
        }
        let to = self.intern(&elements);
        self.changes[slot] = (set.0, key, to.0);
        to
    }

    fn intern(&mut self, elements: &[Element]) -> Lockset {
        if elements.is_empty() {
            return Lockset::EMPTY;
        }
        let hash = |elements: &[Element]| {
            let mut hasher = FxHasher::default();
            elements.iter().for_each(|e| hasher.write_u32(*e));
            hasher.finish()
        };
        let slice = |span: &Span| span.start as usize..(span.start + span.len) as usize;
        let found = self.index.find(hash(elements), |id| {
            self.sets
                .get(*id as usize)
                .is_some_and(|span| &self.elements[slice(span)] == elements)
        });
        if let Some(id) = found {
            return Lockset(*id);
        }
        let id = self.sets.len() as u32;
        self.sets.push(Span {
            start: self.elements.len() as u32,
            len: elements.len() as u32,
            exclusive: elements.iter().any(|e| e & 1 == 0),
        });
        self.elements.extend_from_slice(elements);
        let (sets, arena) = (&self.sets, &self.elements);
        self.index
            .insert_unique(hash(elements), id, |id| hash(&arena[slice(&sets[*id as usize])]));
        Lockset(id)
    }
}
