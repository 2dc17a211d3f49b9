//! History sets: the older accesses of a granule that its cell's last ones do not stand for.
//!
//! Interned lists: a set is (entry, rest), and equal lists have one number, so sets grow without bound,
//! share their tails, and a transition between sets is a pure function of numbers that can be cached.
//! 0 is the empty set. An entry is a context and whether it wrote.

use alloc::{vec, vec::Vec};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// An old access: `context << 1 | write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry(u32);

impl Entry {
    /// An access in this context.
    pub fn new(context: u32, write: bool) -> Entry {
        Entry(context << 1 | write as u32)
    }

    /// Its context.
    pub fn context(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it wrote.
    pub fn write(self) -> bool {
        self.0 & 1 == 1
    }
}

/// All history sets of a run.
pub struct HistorySets {
    lists: Vec<(Entry, u32)>,
    index: HashMap<(Entry, u32), u32, FxBuildHasher>,
    /// Number of sets beyond which no new one is made.
    pub limit: usize,
    /// Entries that were lost by that.
    pub cut: u64,
}

impl Default for HistorySets {
    fn default() -> Self {
        HistorySets::new()
    }
}

impl HistorySets {
    /// The empty set only.
    pub fn new() -> HistorySets {
        HistorySets {
            lists: vec![(Entry(0), 0)],
            index: HashMap::default(),
            limit: 1 << 24,
            cut: 0,
        }
    }

    /// How many different sets there are.
    pub fn count(&self) -> usize {
        self.lists.len()
    }

    /// The set with one entry more (which must not be in it).
    pub fn push(&mut self, entry: Entry, rest: u32) -> u32 {
        if let Some(set) = self.index.get(&(entry, rest)) {
            return *set;
        }
        let set = self.lists.len();
        if set > self.limit {
            self.cut += 1;
            return rest;
        }
        self.lists.push((entry, rest));
        self.index.insert((entry, rest), set as u32);
        set as u32
    }

    /// The newest entry and the set of the others.
    #[inline]
    pub fn split(&self, set: u32) -> Option<(Entry, u32)> {
        if set == 0 {
            return None;
        }
        self.lists.get(set as usize).copied()
    }

    /// The entries, newest first.
    pub fn entries(&self, mut set: u32) -> impl Iterator<Item = Entry> + '_ {
        core::iter::from_fn(move || {
            let (entry, rest) = self.split(set)?;
            set = rest;
            Some(entry)
        })
    }
}
