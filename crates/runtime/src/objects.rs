//! Synchronisation objects by address, and their generations: an object at an address where another was
//! destroyed or freed is another object.

use crate::thread::FixedState;
use deadheat_model::ObjectId;
use hashbrown::HashMap;

/// Buckets of the filter that spares most frees a look-up.
const FILTER: usize = 4096;

/// Slots of the cache in front of the generations.
const RECENT: usize = 512;

/// The objects seen so far.
pub struct Objects {
    generations: HashMap<u64, u32, FixedState>,
    /// Objects used last: address and generation, which is forgotten when it changes.
    recent: [(u64, u32); RECENT],
    /// Number of objects per page, by hash; made with the first object.
    filter: alloc::vec::Vec<u32>,
}

impl Objects {
    /// None.
    pub const fn new() -> Objects {
        Objects {
            generations: HashMap::with_hasher(FixedState),
            recent: [(0, 0); RECENT],
            filter: alloc::vec::Vec::new(),
        }
    }

    fn bucket(address: u64) -> usize {
        (address >> 12 ^ address >> 24) as usize & (FILTER - 1)
    }

    fn slot(address: u64) -> usize {
        (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize & (RECENT - 1)
    }

    /// The object at an address in its present generation.
    #[inline]
    pub fn at(&mut self, address: u64) -> ObjectId {
        let (known, generation) = self.recent[Self::slot(address)];
        if known == address && known != 0 {
            return ObjectId { address, generation };
        }
        self.look_up(address)
    }

    fn look_up(&mut self, address: u64) -> ObjectId {
        if self.filter.is_empty() {
            self.filter.resize(FILTER, 0);
        }
        let filter = &mut self.filter[Self::bucket(address)];
        let generation = *self.generations.entry(address).or_insert_with(|| {
            *filter += 1;
            0
        });
        self.recent[Self::slot(address)] = (address, generation);
        ObjectId { address, generation }
    }

    /// The objects within `address..address + len` are gone; calls `gone` with each.
    pub fn destroyed(&mut self, address: u64, len: u64, mut gone: impl FnMut(ObjectId)) {
        if self.filter.is_empty() {
            return;
        }
        let end = address.saturating_add(len.max(1));
        if len / 4 > self.generations.len() as u64 {
            let mut hit: alloc::vec::Vec<u64> = self
                .generations
                .keys()
                .copied()
                .filter(|a| (address..end).contains(a))
                .collect();
            hit.sort_unstable();
            hit.into_iter().for_each(|a| self.next(a, &mut gone));
            return;
        }
        let mut at = address;
        while at < end {
            if self.filter[Self::bucket(at)] == 0 {
                at = (at | 4095) + 1;
                continue;
            }
            self.next(at, &mut gone);
            at += 1;
            at = if len > 1 { at.next_multiple_of(4) } else { at };
        }
    }

    fn next(&mut self, address: u64, gone: &mut impl FnMut(ObjectId)) {
        if let Some(generation) = self.generations.get_mut(&address) {
            gone(ObjectId {
                address,
                generation: *generation,
            });
            *generation += 1;
            self.recent[Self::slot(address)].0 = 0;
        }
    }
}
