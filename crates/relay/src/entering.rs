//! What a function is entered with, told apart from others by a digest.
//!
//! Millions of calls are made in a large program, and most bring what another one has brought. Threads stand beside the
//! rest: calls that differ in nothing else share it. A digest has 128 bits, so that no two of these are mistaken for one.

use crate::execution::Entry;
use crate::state::Threads;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a call enters a function with.
#[derive(Clone, Debug)]
pub(crate) struct Entering {
    /// Without the threads that run.
    entry: Arc<Entry>,
    /// Those.
    pub(crate) threads: Threads,
    digest: u128,
}

impl Entering {
    /// An entry.
    pub(crate) fn new(mut entry: Entry) -> Entering {
        let threads = std::mem::take(&mut entry.way.threads);
        Entering {
            digest: digest(&entry),
            entry: Arc::new(entry),
            threads,
        }
    }

    /// The entry without its threads.
    pub(crate) fn rest(&self) -> &Entry {
        &self.entry
    }

    /// The entry.
    pub(crate) fn entry(&self) -> Entry {
        let mut entry = (*self.entry).clone();
        entry.way.threads = self.threads.clone();
        entry
    }

    /// What tells the entry without its threads from others.
    pub(crate) fn likeness(&self) -> u128 {
        self.digest
    }

    /// What tells it from others.
    pub(crate) fn identity(&self) -> u128 {
        match self.threads.is_empty() {
            true => self.digest,
            false => digest(&(self.digest, &self.threads)),
        }
    }
}

/// A digest of what a value is hashed by.
pub(crate) fn digest(value: &impl Hash) -> u128 {
    let mut hasher = Wide::default();
    value.hash(&mut hasher);
    hasher.wide()
}

/// Two folded products of what comes, each with what came before.
#[derive(Default)]
pub(crate) struct Wide(u64, u64);

fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Wide {
    /// The digest.
    pub(crate) fn wide(&self) -> u128 {
        let high = folded(self.0 ^ 0xd6e8_feb8_6659_fd93, 0x9e37_79b9_7f4a_7c15);
        let low = folded(self.1 ^ 0xca5a_8263_9512_1157, 0xc2b2_ae3d_27d4_eb4f);
        u128::from(high) << 64 | u128::from(low)
    }
}

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.wide() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = folded(
            self.0.rotate_left(29) ^ n ^ 0x2545_f491_4f6c_dd1d,
            0x9fb2_1c65_1e98_df25,
        );
        self.1 = folded(
            self.1 ^ n.rotate_left(32) ^ 0x6c62_272e_07bb_0142,
            0xe703_7ed1_a0b4_28db,
        ) ^ n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_path::{Path, Root, Site};
    use crate::state::Status;
    use std::collections::HashSet;

    #[test]
    fn entries_that_differ_have_other_digests() {
        let mut seen = HashSet::new();
        for n in 0..40_000_u32 {
            let mut entry = Entry::relative();
            let path = Path::of(Root::Global(n % 200)).plus(i64::from(n / 200));
            entry.way.published.add(path);
            assert!(seen.insert(Entering::new(entry).likeness()));
        }
        assert_eq!(seen.iter().map(|d| *d as u64).collect::<HashSet<_>>().len(), 40_000);
    }

    #[test]
    fn threads_are_part_of_the_identity_alone() {
        let with = |n: u32| {
            let mut entry = Entry::relative();
            let site = Site {
                function: n,
                instruction: 0,
            };
            Arc::make_mut(&mut entry.way.threads).insert(site, Status::Live);
            Entering::new(entry)
        };
        assert_eq!(with(1).likeness(), with(2).likeness());
        assert_ne!(with(1).identity(), with(2).identity());
        assert_eq!(with(1).entry().way.threads.len(), 1);
    }
}
