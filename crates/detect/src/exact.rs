//! Confirmation: which executed accesses of the target statements does happens-before leave unordered?
//!
//! Only the full clock counts here, and only exact accesses may be passed in. For each granule the last access
//! per (statement, thread, bytes, kind) is kept: it stands for the thread's earlier ones. One is dropped when
//! a new access of the same statement covers its bytes and kind and is ordered after it (FastTrack, PLDI
//! 2009, but per statement, so that no pair of statements is lost). Targets are few, so lists are short; a
//! repetition in the same epoch costs one comparison.

use crate::atomics::parts;
use crate::happens_before::HappensBefore;
use crate::statements::AccessFlags;
use crate::vector_clock::Epoch;
use alloc::{vec, vec::Vec};
use deadheat_model::ThreadId;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

struct Last<W> {
    site: u64,
    thread: ThreadId,
    epoch: Epoch,
    mask: u8,
    flags: AccessFlags,
    serial: u64,
    witness: W,
}

/// An access that a thread makes at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TargetAccess {
    /// Who.
    pub thread: ThreadId,
    /// The caller's number of the statement.
    pub site: u64,
    /// First byte.
    pub address: u64,
    /// Number of bytes.
    pub size: u64,
    /// What it does.
    pub flags: AccessFlags,
}

/// Entries of the filter; a power of two.
const FILTER: usize = 256;

/// The last accesses of the target statements.
pub struct Exact<W> {
    granules: HashMap<u64, Vec<Last<W>>, FxBuildHasher>,
    filter: Vec<(TargetAccess, Epoch)>,
    serial: u64,
    unordered: Vec<(u64, W)>,
    /// Granules kept at once.
    pub limit: usize,
    /// Accesses that were not kept.
    pub cut: u64,
}

impl<W: Clone> Default for Exact<W> {
    fn default() -> Self {
        Exact::new()
    }
}

impl<W: Clone> Exact<W> {
    /// Nothing accessed yet.
    pub fn new() -> Exact<W> {
        Exact {
            granules: HashMap::default(),
            filter: vec![(TargetAccess::default(), 0); FILTER],
            serial: 0,
            unordered: Vec::new(),
            limit: 1 << 20,
            cut: 0,
        }
    }

    /// A target access of a thread, before its release half if it is atomic. Returns the earlier accesses
    /// that conflict with it and are not ordered before it, each once: a number that grows from access to
    /// access, and the witness. `witness` is called at most once, and only if the access is kept.
    #[inline]
    pub fn access(&mut self, hb: &HappensBefore, access: TargetAccess, witness: impl FnOnce() -> W) -> &[(u64, W)] {
        self.unordered.clear();
        let epoch = hb.full_epoch(access.thread);
        let mixed = (access.address ^ access.site.rotate_left(23) ^ (access.thread.0 as u64) << 48)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = (mixed >> 48) as usize & (FILTER - 1);
        if self.filter[slot] != (access, epoch) {
            self.filter[slot] = (access, epoch);
            self.compare_and_keep(hb, access, epoch, witness);
        }
        &self.unordered
    }

    fn compare_and_keep(
        &mut self,
        hb: &HappensBefore,
        access: TargetAccess,
        epoch: Epoch,
        witness: impl FnOnce() -> W,
    ) {
        let TargetAccess {
            thread,
            site,
            address,
            size,
            flags,
        } = access;
        self.serial += 1;
        let (serial, mut make, mut made) = (self.serial, Some(witness), None);
        for (granule, mask) in parts(address, size) {
            let full = self.granules.len() >= self.limit;
            let list = match self.granules.get_mut(&granule) {
                Some(list) => list,
                None if full => {
                    self.cut += 1;
                    continue;
                }
                None => self.granules.entry(granule).or_default(),
            };
            let unordered = &mut self.unordered;
            list.retain(|old| {
                let ordered = old.thread == thread || hb.fully_ordered(thread, old.thread, old.epoch);
                let conflict = old.mask & mask != 0 && old.flags.conflicts(flags);
                if !ordered && conflict && unordered.iter().all(|(serial, _)| *serial != old.serial) {
                    unordered.push((old.serial, old.witness.clone()));
                }
                let stronger = (flags.write || !old.flags.write) && (old.flags.atomic || !flags.atomic);
                let dominated = ordered && old.site == site && stronger && old.mask & !mask == 0;
                !dominated
            });
            if made.is_none() {
                made = make.take().map(|w| w());
            }
            let Some(witness) = made.clone() else { continue };
            list.push(Last {
                site,
                thread,
                epoch,
                mask,
                flags,
                serial,
                witness,
            });
        }
    }

    /// The bytes are another object's from now on.
    pub fn forgotten(&mut self, address: u64, len: u64) {
        if self.granules.is_empty() || len == 0 {
            return;
        }
        let end = address.saturating_add(len);
        let mut dropped = self.cut > 0;
        let mut keep = |list: &mut Vec<Last<W>>, mask: u8| {
            let before = list.len();
            list.retain(|l| l.mask & mask == 0);
            dropped |= list.len() < before;
            !list.is_empty()
        };
        if len / 8 > self.granules.len() as u64 {
            self.granules.retain(|granule, list| {
                let low = address.max(*granule);
                let high = end.min(granule.saturating_add(8));
                let mask = parts(low, high.saturating_sub(low)).next().map_or(0, |(_, m)| m);
                keep(list, mask)
            });
        } else {
            for (granule, mask) in parts(address, len) {
                if let Some(list) = self.granules.get_mut(&granule)
                    && !keep(list, mask)
                {
                    self.granules.remove(&granule);
                }
            }
        }
        if dropped {
            self.filter.fill((TargetAccess::default(), 0));
        }
    }
}
