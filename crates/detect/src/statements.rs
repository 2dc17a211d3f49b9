//! Run 2: which statements touch the flagged granules, and which pairs of them are suspicious.
//!
//! For each granule the history keeps one record per (site, kind, bytes, thread, lockset), with the thread's
//! latest hybrid and full epochs. The latest stands for the earlier ones: what is unordered with an earlier
//! access of the thread is unordered with the later one too. A new access is compared with all records of
//! other threads that share a byte; each pair of (site, kind) is reported once with both witnesses, then
//! counted. It is *precise* when some instance is unordered by the full clock too; its witnesses are then
//! of such an instance.
//!
//! A repetition in the same context and full epoch adds nothing: whoever came between compared itself with
//! the first, and cannot have learned of an epoch that is not over. A direct-mapped filter answers these.
//!
//! Bounds: records beyond `limit` are compared with what is kept but not kept themselves, and so are pairs
//! beyond `pair_limit`; both are counted.

use crate::happens_before::HappensBefore;
use crate::lockset::Lockset;
use crate::vector_clock::Epoch;
use alloc::{vec, vec::Vec};
use deadheat_model::ThreadId;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What kind of access a record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessFlags {
    /// Whether it writes.
    pub write: bool,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Whether the bytes claimed may exceed those touched: such a pair may suspect, never prove.
    pub inexact: bool,
}

impl AccessFlags {
    /// Whether two accesses of these kinds to one byte conflict.
    pub fn conflicts(self, other: AccessFlags) -> bool {
        (self.write || other.write) && !(self.atomic && other.atomic)
    }

    fn bits(self) -> u32 {
        self.write as u32 | (self.atomic as u32) << 1 | (self.inexact as u32) << 2
    }
}

/// One side of a reported pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side<W> {
    /// The caller's number of the statement.
    pub site: u64,
    /// What it does.
    pub flags: AccessFlags,
    /// Who.
    pub thread: ThreadId,
    /// Locks held.
    pub lockset: Lockset,
    /// What the caller recorded of the moment.
    pub witness: W,
}

/// A suspicious pair of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementPair<W> {
    /// The earlier access.
    pub first: Side<W>,
    /// The later access.
    pub second: Side<W>,
    /// The granule that both touch.
    pub granule: u64,
    /// The bytes of it that both touch.
    pub mask: u8,
    /// Whether the full clock leaves them unordered too, and both are exact.
    pub precise: bool,
    /// How often it was seen; repetitions in one moment count once or more.
    pub count: u64,
}

/// What [`Statements::record`] found anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Index into [`Statements::pairs`] of a pair that is new, or has become precise.
    pub pair: usize,
    /// Whether the pair was known before and became precise now.
    pub upgraded: bool,
}

/// What is compared, apart from the witness, which is seldom looked at.
#[derive(Clone, Copy)]
struct Record {
    site: u64,
    thread: ThreadId,
    lockset: Lockset,
    flags: AccessFlags,
    mask: u8,
    hybrid_epoch: Epoch,
    full_epoch: Epoch,
    /// The granule's next older record.
    next: u32,
}

impl Record {
    fn side<W>(&self, witness: W) -> Side<W> {
        Side {
            site: self.site,
            flags: self.flags,
            thread: self.thread,
            lockset: self.lockset,
            witness,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    granule: u64,
    site: u64,
    context: u32,
    full_epoch: Epoch,
    kind: u32,
    /// Changes when records are dropped.
    round: u64,
}

type PairKey = [(u64, AccessFlags); 2];

/// No record.
const NONE: u32 = u32::MAX;
/// Entries of the filter; a power of two.
const FILTER: usize = 1024;

/// The state of run 2.
pub struct Statements<W> {
    heads: HashMap<u64, u32, FxBuildHasher>,
    records: Vec<Record>,
    /// Witness of each record.
    witnesses: Vec<W>,
    vacant: Vec<u32>,
    pairs: Vec<StatementPair<W>>,
    pair_index: HashMap<PairKey, u32, FxBuildHasher>,
    filter: Vec<Seen>,
    round: u64,
    news: Vec<News>,
    everything: bool,
    /// Records kept at once.
    pub limit: usize,
    /// Pairs reported.
    pub pair_limit: usize,
    /// Accesses that were not kept.
    pub cut: u64,
    /// Instances of pairs that were not reported.
    pub pairs_cut: u64,
}

impl<W: Clone> Statements<W> {
    /// Watches these granules.
    pub fn new(granules: &[u64]) -> Statements<W> {
        Statements {
            heads: granules.iter().map(|g| (g & !7, NONE)).collect(),
            everything: false,
            ..Self::everything()
        }
    }

    /// Watches all granules: what run 1 is measured by.
    pub fn everything() -> Statements<W> {
        Statements {
            heads: HashMap::default(),
            records: Vec::new(),
            witnesses: Vec::new(),
            vacant: Vec::new(),
            pairs: Vec::new(),
            pair_index: HashMap::default(),
            filter: vec![Seen::default(); FILTER],
            round: 1,
            news: Vec::new(),
            everything: true,
            limit: 2_000_000,
            pair_limit: 100_000,
            cut: 0,
            pairs_cut: 0,
        }
    }

    /// Whether the granule is watched.
    pub fn watches(&self, granule: u64) -> bool {
        self.everything || self.heads.contains_key(&granule)
    }

    /// The pairs found so far.
    pub fn pairs(&self) -> &[StatementPair<W>] {
        &self.pairs
    }

    /// An access of the thread to bytes of a granule, in its present context (`context`, from
    /// [`HappensBefore::context`] or [`HappensBefore::atomic_begin`]). `witness` is called when a new record
    /// is made, or a pair is reported that has none.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn record(
        &mut self,
        hb: &mut HappensBefore,
        thread: ThreadId,
        site: u64,
        granule: u64,
        mask: u8,
        flags: AccessFlags,
        context: u32,
        witness: impl FnOnce() -> W,
    ) -> &[News] {
        self.news.clear();
        let seen = Seen {
            granule,
            site,
            context,
            full_epoch: hb.full_epoch(thread),
            kind: flags.bits() << 8 | mask as u32,
            round: self.round,
        };
        let mixed = (granule ^ site.rotate_left(29) ^ (seen.kind as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = (mixed >> 40) as usize & (FILTER - 1);
        if self.filter[slot] == seen || mask == 0 {
            return &self.news;
        }
        let Some(head) = self.heads.get(&granule).copied().or(self.everything.then_some(NONE)) else {
            return &self.news;
        };
        self.filter[slot] = seen;
        hb.mark_used(context);
        self.compare_and_keep(hb, thread, seen, head, flags, witness);
        &self.news
    }

    /// The bytes are another object's from now on.
    pub fn forgotten(&mut self, address: u64, len: u64) {
        if self.kept() == 0 || len == 0 {
            return;
        }
        let (end, records) = (address.saturating_add(len), self.kept());
        let within = |granule: u64| {
            let low = address.max(granule);
            let high = end.min(granule.saturating_add(8));
            crate::atomics::parts(low, high.saturating_sub(low))
                .next()
                .map_or(0, |(_, mask)| mask)
        };
        if len / 8 > self.heads.len() as u64 {
            let mut hit: Vec<u64> = self.heads.keys().copied().filter(|g| within(*g) != 0).collect();
            hit.sort_unstable();
            hit.into_iter().for_each(|g| self.forget_bytes(g, within(g)));
        } else {
            crate::atomics::parts(address, len).for_each(|(granule, mask)| self.forget_bytes(granule, mask));
        }
        if self.kept() < records || self.cut > 0 {
            self.round += 1;
        }
    }

    /// Records kept at present.
    fn kept(&self) -> usize {
        self.records.len() - self.vacant.len()
    }

    fn forget_bytes(&mut self, granule: u64, mask: u8) {
        let Some(head) = self.heads.get_mut(&granule) else {
            return;
        };
        let (mut at, mut kept) = (*head, NONE);
        while let Some(record) = self.records.get_mut(at as usize) {
            let next = record.next;
            if record.mask & mask != 0 {
                self.vacant.push(at);
            } else {
                record.next = kept;
                kept = at;
            }
            at = next;
        }
        *head = kept;
    }

    fn compare_and_keep(
        &mut self,
        hb: &mut HappensBefore,
        thread: ThreadId,
        seen: Seen,
        head: u32,
        flags: AccessFlags,
        witness: impl FnOnce() -> W,
    ) {
        let c = hb.context_of(seen.context);
        let mask = seen.kind as u8;
        let same = |old: &Record| {
            old.thread == thread
                && old.site == seen.site
                && old.lockset == c.lockset
                && old.flags == flags
                && old.mask == mask
        };
        let mut own = NONE;
        let mut witness = Some(witness);
        let mut fresh: Option<W> = None;
        let mut at = head;
        while let Some(&old) = self.records.get(at as usize) {
            let (number, next) = (at, old.next);
            at = next;
            if same(&old) {
                own = number;
                continue;
            }
            if old.thread == thread || old.mask & mask == 0 || !old.flags.conflicts(flags) {
                continue;
            }
            if hb.ordered(thread, old.thread, old.hybrid_epoch) || !hb.locksets.disjoint(old.lockset, c.lockset) {
                continue;
            }
            let precise = !flags.inexact
                && !old.flags.inexact
                && hb.keeps_full()
                && !hb.fully_ordered(thread, old.thread, old.full_epoch);
            let pair = pair_key((old.site, old.flags), (seen.site, flags));
            let known = self.pair_index.get(&pair).copied();
            if let Some(known) = known.and_then(|k| self.pairs.get_mut(k as usize)) {
                known.count += 1;
                if known.precise || !precise {
                    continue;
                }
            } else if self.pairs.len() >= self.pair_limit {
                self.pairs_cut += 1;
                continue;
            }
            if fresh.is_none() {
                // The record's own witness if there is one; the caller's closure runs at most once.
                let mut mine = if own == NONE { next } else { own };
                while self.records.get(mine as usize).is_some_and(|record| !same(record)) {
                    mine = self.records[mine as usize].next;
                }
                fresh = match self.witnesses.get(mine as usize) {
                    Some(witness) => Some(witness.clone()),
                    None => witness.take().map(|w| w()),
                };
            }
            let Some(w) = fresh.clone() else { continue };
            let second = Side {
                site: seen.site,
                flags,
                thread,
                lockset: c.lockset,
                witness: w,
            };
            let old = self.records[number as usize];
            let count = known.map_or(1, |k| self.pairs[k as usize].count);
            let found = StatementPair {
                first: old.side(self.witnesses[number as usize].clone()),
                second,
                granule: seen.granule,
                mask: old.mask & mask,
                precise,
                count,
            };
            let index = match known {
                Some(k) => {
                    self.pairs[k as usize] = found;
                    k as usize
                }
                None => {
                    self.pairs.push(found);
                    self.pair_index.insert(pair, self.pairs.len() as u32 - 1);
                    self.pairs.len() - 1
                }
            };
            self.news.push(News {
                pair: index,
                upgraded: known.is_some(),
            });
        }
        if let Some(record) = self.records.get_mut(own as usize) {
            record.hybrid_epoch = c.epoch;
            record.full_epoch = seen.full_epoch;
            return;
        }
        if self.kept() >= self.limit {
            self.cut += 1;
            return;
        }
        let Some(witness) = fresh.or_else(|| witness.map(|w| w())) else {
            return;
        };
        let record = Record {
            site: seen.site,
            thread,
            lockset: c.lockset,
            flags,
            mask,
            hybrid_epoch: c.epoch,
            full_epoch: seen.full_epoch,
            next: head,
        };
        let at = match self.vacant.pop() {
            Some(at) => {
                self.records[at as usize] = record;
                self.witnesses[at as usize] = witness;
                at
            }
            None => {
                self.records.push(record);
                self.witnesses.push(witness);
                self.records.len() as u32 - 1
            }
        };
        self.heads.insert(seen.granule, at);
    }
}

fn pair_key(a: (u64, AccessFlags), b: (u64, AccessFlags)) -> PairKey {
    if a <= b { [a, b] } else { [b, a] }
}
