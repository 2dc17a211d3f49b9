//! What each atomic location gives to those who read it: C11/C++11 synchronises-with, with the release
//! sequences of C11 and C++11, which are longer than those of C++20 ([intro.races], P0982).
//!
//! A location carries the clock of the release sequence that its value heads or continues:
//! - a release store puts the storer's clock; a relaxed store puts the clock of the storer's last
//!   release fence, if any, and ends any sequence that its own thread heads no part of. (C11: later stores
//!   of the thread that heads a sequence belong to it. C++20 took that back; where a program relies on it
//!   nothing is called unordered in either language. What other threads added to the sequence stays too:
//!   more order than there is, never less);
//! - a read-modify-write adds to what is there (it continues the sequence and may head another);
//! - an acquire load learns it; a relaxed load keeps it for the thread's next acquire fence.
//!
//! `seq_cst` counts as acquire and release. The total order of seq_cst operations and fences makes no
//! happens-before in the standard, so none is made here.
//!
//! Sizes may be mixed: an 8-byte granule has up to eight slots, each for the bytes that one operation
//! wrote; a read learns from every slot that it overlaps. Beyond `limit` granules nothing is evicted:
//! all new ones share one location that is only ever added to, which orders too much (counted), never
//! too little. Cost: one hash probe and a join of clocks; the join is skipped when the reader already
//! knows the writer's epoch.

use crate::lock_word::Word;
use crate::vector_clock::{Clocks, Epoch};
use alloc::{vec, vec::Vec};
use deadheat_model::{MemoryOrder, ThreadId};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What an atomic operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicKind {
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Reads, modifies and writes: an exchange, a bit operation, or one that the caller cannot tell.
    Update,
    /// Adds, subtracts, or takes minimum or maximum: never the taking of a hand-made lock.
    Arithmetic,
    /// Compare-exchange, once it is known whether it wrote. If not, it is a load with the failure order.
    CompareExchange {
        /// Whether it wrote.
        success: bool,
        /// Order of the load if it did not.
        failure: MemoryOrder,
    },
}

/// One atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEvent {
    /// First byte.
    pub address: u64,
    /// Number of bytes.
    pub size: u32,
    /// What it does.
    pub kind: AtomicKind,
    /// Its order (if it succeeds).
    pub order: MemoryOrder,
    /// The value before it, zero-extended, if known and at most eight bytes: hand-made locks are
    /// learned from it.
    pub before: Option<u64>,
}

impl AtomicEvent {
    /// Whether it reads.
    pub fn reads(&self) -> bool {
        self.kind != AtomicKind::Store
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        !matches!(
            self.kind,
            AtomicKind::Load | AtomicKind::CompareExchange { success: false, .. }
        )
    }

    /// The order that it has in effect.
    pub fn effective_order(&self) -> MemoryOrder {
        match self.kind {
            AtomicKind::CompareExchange {
                success: false,
                failure,
            } => failure,
            _ => self.order,
        }
    }

    /// The granules that it touches, each with the mask of its bytes.
    pub fn parts(&self) -> impl Iterator<Item = (u64, u8)> + use<> {
        parts(self.address, self.size as u64)
    }
}

/// The 8-byte granules of a range, each with the mask of the bytes that lie in the range.
pub fn parts(address: u64, len: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address.saturating_add(len);
    let mut at = address;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let granule = at & !7;
        let stop = end.min(granule.saturating_add(8));
        let mask = (0xff_u8 << (at - granule)) & (0xff_u16 >> (8 - (stop - granule).min(8))) as u8;
        at = if stop <= at { end } else { stop };
        Some((granule, mask))
    })
}

/// The clock of a release sequence, and of which thread's epochs it is the clock, if of one only.
#[derive(Clone, Default)]
pub(crate) struct Release {
    pub clocks: Clocks,
    pub owner: Option<(ThreadId, Epoch, Epoch)>,
    /// Threads that head a part of the sequence, as bits of their numbers modulo 64.
    pub heads: u64,
}

impl Release {
    fn bit(thread: ThreadId) -> u64 {
        1 << (thread.0 & 63)
    }

    /// The thread heads a part.
    pub fn headed_by(&mut self, thread: ThreadId) {
        self.heads |= Self::bit(thread);
    }
}

struct Slot {
    mask: u8,
    release: Release,
}

#[derive(Default)]
pub(crate) struct Granule {
    slots: Vec<Slot>,
    pub words: Vec<Word>,
}

impl Granule {
    /// What a read of these bytes may learn from.
    pub fn releases(&self, mask: u8) -> impl Iterator<Item = &Release> {
        self.slots
            .iter()
            .filter(move |s| s.mask & mask != 0)
            .map(|s| &s.release)
    }

    /// Whether the thread heads a part of a sequence of these bytes: its own stores continue that.
    pub fn is_headed_by(&self, mask: u8, thread: ThreadId) -> bool {
        self.releases(mask)
            .any(|release| release.heads & Release::bit(thread) != 0)
    }

    /// Makes a slot for exactly these bytes. It keeps what was there if the write continues it.
    pub fn write(&mut self, mask: u8, continues: bool) -> &mut Release {
        let exact = self.slots.iter().position(|s| s.mask == mask);
        let at = match exact {
            Some(at) => at,
            None => {
                let mut release = Release::default();
                for slot in self.slots.iter_mut().filter(|s| s.mask & mask != 0) {
                    if continues {
                        release.clocks.join(&slot.release.clocks);
                        release.heads |= slot.release.heads;
                    }
                    slot.mask &= !mask;
                }
                self.slots.retain(|s| s.mask != 0);
                self.slots.push(Slot { mask, release });
                self.slots.len() - 1
            }
        };
        let release = &mut self.slots[at].release;
        if !continues {
            release.clocks.hybrid.clear();
            release.clocks.full.clear();
            release.owner = None;
            release.heads = 0;
        }
        release
    }

    /// Ends the release sequences of these bytes.
    pub fn clear(&mut self, mask: u8) {
        for slot in &mut self.slots {
            slot.mask &= !mask;
        }
        self.slots.retain(|s| s.mask != 0);
    }

    fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.words.is_empty()
    }
}

/// Buckets of the filter that spares most frees a look-up.
const FILTER: usize = 4096;

/// All atomic locations.
pub(crate) struct Atomics {
    index: HashMap<u64, u32, FxBuildHasher>,
    granules: Vec<Granule>,
    vacant: Vec<u32>,
    /// Number of granules per 4 KiB page, by hash.
    filter: Vec<u32>,
    pub limit: usize,
    /// Operations on granules beyond the limit.
    pub overflowed: u64,
    overflow: Granule,
    /// The granule looked up last, and its place.
    last: (u64, u32),
}

/// The place of all granules beyond the limit.
const SHARED: u32 = u32::MAX;

impl Atomics {
    pub fn new() -> Atomics {
        Atomics {
            index: HashMap::default(),
            granules: Vec::new(),
            vacant: Vec::new(),
            filter: vec![0; FILTER],
            limit: 1 << 21,
            overflowed: 0,
            overflow: Granule::default(),
            last: (u64::MAX, SHARED),
        }
    }

    fn bucket(granule: u64) -> usize {
        (granule >> 12 ^ granule >> 24) as usize & (FILTER - 1)
    }

    /// Where what is known of the granule is.
    #[inline]
    pub fn place(&mut self, granule: u64) -> Option<u32> {
        if let Some(at) = self.own_place(granule) {
            return Some(at);
        }
        (self.overflowed > 0).then_some(SHARED)
    }

    #[inline]
    fn own_place(&mut self, granule: u64) -> Option<u32> {
        if self.last.0 != granule {
            self.last = (granule, *self.index.get(&granule)?);
        }
        Some(self.last.1)
    }

    /// The granule at a place.
    pub fn at(&mut self, place: u32) -> &mut Granule {
        self.granules.get_mut(place as usize).unwrap_or(&mut self.overflow)
    }

    /// The granule, unless nothing is known of it or it is beyond the limit.
    #[inline]
    pub fn get_mut(&mut self, granule: u64) -> Option<&mut Granule> {
        let at = self.own_place(granule)?;
        self.granules.get_mut(at as usize)
    }

    /// The granule, made if need be; `false` with the shared one when there are too many.
    pub fn get_or_make(&mut self, granule: u64) -> (&mut Granule, bool) {
        let at = match self.own_place(granule) {
            Some(at) => at,
            None if self.overflowed > 0 || self.index.len() >= self.limit => {
                self.overflowed += 1;
                return (&mut self.overflow, false);
            }
            None => {
                let at = self.vacant.pop().unwrap_or_else(|| {
                    self.granules.push(Granule::default());
                    self.granules.len() as u32 - 1
                });
                self.index.insert(granule, at);
                self.filter[Self::bucket(granule)] += 1;
                at
            }
        };
        (&mut self.granules[at as usize], true)
    }

    pub fn granules(&self) -> impl Iterator<Item = &Granule> {
        self.granules.iter()
    }

    /// The bytes are another object's from now on.
    pub fn forget(&mut self, address: u64, len: u64, dropped: &mut impl FnMut(&Word)) {
        if self.index.is_empty() || len == 0 {
            return;
        }
        if len / 8 > self.index.len() as u64 {
            let end = address.saturating_add(len);
            let mut hit: Vec<u64> = self
                .index
                .keys()
                .copied()
                .filter(|g| *g < end && g.saturating_add(8) > address)
                .collect();
            hit.sort_unstable();
            for granule in hit {
                let low = address.max(granule);
                let mask = parts(low, end.min(granule.saturating_add(8)) - low)
                    .next()
                    .map_or(0, |(_, m)| m);
                self.forget_bytes(granule, mask, dropped);
            }
        } else {
            for (granule, mask) in parts(address, len) {
                if self.filter[Self::bucket(granule)] > 0 {
                    self.forget_bytes(granule, mask, dropped);
                }
            }
        }
    }

    fn forget_bytes(&mut self, granule: u64, mask: u8, dropped: &mut impl FnMut(&Word)) {
        let Some(at) = self.index.get(&granule).copied() else {
            return;
        };
        let entry = &mut self.granules[at as usize];
        entry.clear(mask);
        entry.words.retain(|word| {
            let gone = parts(word.address, word.size as u64).any(|(g, m)| g == granule && m & mask != 0);
            if gone {
                dropped(word);
            }
            !gone
        });
        if entry.is_empty() {
            self.index.remove(&granule);
            self.last = (u64::MAX, SHARED);
            self.filter[Self::bucket(granule)] -= 1;
            self.vacant.push(at);
        }
    }
}
