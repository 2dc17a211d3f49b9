//! The accesses that run 2 keeps of a granule: chains of records, one chain per thread, newest first.
//!
//! A chain knows its latest epoch, so that it can be passed over as a whole, and has a bit per kind of record
//! that may be in it: most accesses to new memory learn from one word that they have no record yet.
//! Invariants: a record is in one chain or vacant; a clear bit means no such record. Cost: linear in the chain
//! where a bit is set.

use crate::lockset::Lockset;
use crate::vector_clock::Epoch;
use alloc::vec::Vec;
use deadheat_model::ThreadId;

/// No record.
pub(crate) const NONE: u32 = u32::MAX;

/// What is compared of an access.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// Number of the statement: its site and kind.
    pub statement: u32,
    pub lockset: Lockset,
    pub hybrid_epoch: Epoch,
    pub full_epoch: Epoch,
    /// The next older record of the granule and thread.
    pub next: u32,
    /// The bytes of the granule.
    pub mask: u8,
}

impl Record {
    fn same(&self, other: &Record) -> bool {
        self.statement == other.statement && self.lockset == other.lockset && self.mask == other.mask
    }

    /// Word and bit of the record's kind.
    fn kind(&self) -> (usize, u64) {
        let mixed = (self.statement ^ self.lockset.0 << 16 ^ (self.mask as u32) << 24).wrapping_mul(0x9E37_79B1) >> 24;
        ((mixed >> 6) as usize, 1 << (mixed & 63))
    }
}

/// The records of a granule by one thread.
pub(crate) struct Chain {
    pub thread: ThreadId,
    /// The newest.
    pub head: u32,
    /// The latest hybrid epoch among them: who is ordered after it is ordered after all.
    pub latest: Epoch,
    kinds: [u64; 4],
}

impl Chain {
    /// Empty.
    pub fn new(thread: ThreadId) -> Chain {
        Chain {
            thread,
            head: NONE,
            latest: 0,
            kinds: [0; 4],
        }
    }

    fn note(&mut self, record: &Record) {
        let (word, bit) = record.kind();
        self.kinds[word] |= bit;
        self.latest = self.latest.max(record.hybrid_epoch);
    }
}

/// The records of all chains, each with what the caller knows of its moment.
pub(crate) struct Records<W> {
    list: Vec<Record>,
    witnesses: Vec<W>,
    vacant: Vec<u32>,
}

impl<W> Records<W> {
    /// None yet.
    pub fn new() -> Records<W> {
        Records {
            list: Vec::new(),
            witnesses: Vec::new(),
            vacant: Vec::new(),
        }
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.list.len() - self.vacant.len()
    }

    /// The record with this number.
    #[inline]
    pub fn get(&self, at: u32) -> Option<&Record> {
        self.list.get(at as usize)
    }

    /// What the caller knows of a record's moment.
    pub fn witness(&self, at: u32) -> Option<&W> {
        self.witnesses.get(at as usize)
    }

    /// The chain's record of the same statement, locks and bytes.
    #[inline]
    pub fn find(&self, chain: &Chain, new: &Record) -> u32 {
        let (word, bit) = new.kind();
        let mut at = if chain.kinds[word] & bit == 0 { NONE } else { chain.head };
        while let Some(old) = self.get(at) {
            if old.same(new) {
                return at;
            }
            at = old.next;
        }
        NONE
    }

    /// The record stands for a later access from now on.
    #[inline]
    pub fn renew(&mut self, chain: &mut Chain, at: u32, new: &Record) {
        if let Some(record) = self.list.get_mut(at as usize) {
            record.hybrid_epoch = new.hybrid_epoch;
            record.full_epoch = new.full_epoch;
            chain.note(new);
        }
    }

    /// A new record, the chain's newest.
    #[inline]
    pub fn add(&mut self, chain: &mut Chain, new: &Record, witness: W) {
        let record = Record {
            next: chain.head,
            ..*new
        };
        chain.note(new);
        chain.head = match self.vacant.pop() {
            Some(at) => {
                self.list[at as usize] = record;
                self.witnesses[at as usize] = witness;
                at
            }
            None => {
                self.list.push(record);
                self.witnesses.push(witness);
                self.list.len() as u32 - 1
            }
        };
    }

    /// Drops what touches these bytes; tells whether the chain keeps any record.
    pub fn forget(&mut self, chain: &mut Chain, mask: u8) -> bool {
        let (mut at, mut last) = (chain.head, NONE);
        (chain.head, chain.kinds) = (NONE, [0; 4]);
        while let Some(&record) = self.get(at) {
            if record.mask & mask != 0 {
                self.vacant.push(at);
            } else {
                chain.note(&record);
                match self.list.get_mut(last as usize) {
                    Some(newer) => newer.next = at,
                    None => chain.head = at,
                }
                last = at;
            }
            at = record.next;
        }
        if let Some(oldest) = self.list.get_mut(last as usize) {
            oldest.next = NONE;
        }
        last != NONE
    }
}
