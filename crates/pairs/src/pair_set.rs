//! Sets of unordered pairs of functions, as rows of bits: row `a` has the partners `b >= a`.

use serde::{Deserialize, Serialize};

/// A set of pairs of numbers; a number may be paired with itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairSet {
    /// Bit `b - a` of row `a`; trailing zero words are left out.
    rows: Vec<Vec<u64>>,
}

impl PairSet {
    /// Adds a pair; whether it is new.
    pub fn insert(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (a.min(b) as usize, a.max(b) as usize);
        if self.rows.len() <= a {
            self.rows.resize(a + 1, Vec::new());
        }
        let (row, bit) = (&mut self.rows[a], b - a);
        if row.len() <= bit / 64 {
            row.resize(bit / 64 + 1, 0);
        }
        let word = &mut row[bit / 64];
        let new = *word & 1 << (bit % 64) == 0;
        *word |= 1 << (bit % 64);
        new
    }

    /// Whether it has the pair.
    pub fn contains(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a.min(b) as usize, a.max(b) as usize);
        let word = self.rows.get(a).and_then(|row| row.get((b - a) / 64));
        word.is_some_and(|word| word & 1 << ((b - a) % 64) != 0)
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        let words = self.rows.iter().flatten();
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().flatten().all(|word| *word == 0)
    }

    /// The pairs, ascending, smaller number first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows.iter().enumerate().flat_map(|(a, row)| {
            let bits = row.iter().enumerate().flat_map(|(at, word)| {
                (0..64)
                    .filter(move |bit| word & 1 << bit != 0)
                    .map(move |bit| at * 64 + bit)
            });
            bits.map(move |bit| (a as u32, (a + bit) as u32))
        })
    }

    /// Pairs of this set that `other` does not have.
    pub fn count_without(&self, other: &PairSet) -> usize {
        let none = Vec::new();
        let rows = self.rows.iter().enumerate();
        rows.map(|(a, row)| {
            let theirs = other.rows.get(a).unwrap_or(&none);
            let without = |(at, word): (usize, &u64)| word & !theirs.get(at).copied().unwrap_or(0);
            row.iter()
                .enumerate()
                .map(|word| without(word).count_ones() as usize)
                .sum::<usize>()
        })
        .sum()
    }

    /// The pairs of this set that `other` does not have.
    pub fn without(&self, other: &PairSet) -> PairSet {
        let mut rest = self.clone();
        for (row, theirs) in rest.rows.iter_mut().zip(&other.rows) {
            for (word, their) in row.iter_mut().zip(theirs) {
                *word &= !their;
            }
        }
        rest
    }

    /// Adds all pairs of `other`.
    pub fn extend(&mut self, other: &PairSet) {
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), Vec::new());
        }
        for (row, theirs) in self.rows.iter_mut().zip(&other.rows) {
            if row.len() < theirs.len() {
                row.resize(theirs.len(), 0);
            }
            for (word, their) in row.iter_mut().zip(theirs) {
                *word |= their;
            }
        }
    }

    /// The numbers that are in some pair, ascending.
    pub fn functions(&self) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        for (a, b) in self.iter() {
            all.extend([a, b]);
            if all.len() > 1 << 16 {
                all.sort_unstable();
                all.dedup();
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl FromIterator<(u32, u32)> for PairSet {
    fn from_iter<T: IntoIterator<Item = (u32, u32)>>(pairs: T) -> PairSet {
        let mut set = PairSet::default();
        pairs.into_iter().for_each(|(a, b)| {
            set.insert(a, b);
        });
        set
    }
}
