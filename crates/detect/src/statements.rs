//! Run 2: which statements touch the flagged granules, and which pairs of them are suspicious.
//!
//! For each granule the history keeps one record per (site, kind, bytes, thread, lockset), with the thread's
//! latest hybrid and full epochs. The latest stands for the earlier ones: what is unordered with an earlier
//! access of the thread is unordered with the later one too. A new access is compared with all records of
//! other threads that share a byte; each pair of (site, kind) is reported once with both witnesses, then
//! counted. It is *precise* when some instance is unordered by the full clock too; its witnesses are then
//! of such an instance.
//!
//! A repetition in the same epochs adds nothing: whoever came between compared itself with the first, and
//! cannot have learned of an epoch that is not over.
//!
//! A granule's records are chained by thread. A chain whose latest epoch is ordered before the access is passed
//! over: an access to new memory costs the records of unordered threads, not those of its own. Else the cost is
//! linear in the records of the granule.
//!
//! Bounds: records beyond `limit` are compared with what is kept but not kept themselves, and so are pairs
//! beyond `pair_limit`; both are counted.

use crate::access_records::{Chain, NONE, Record, Records};
use crate::happens_before::HappensBefore;
use crate::lockset::Lockset;
use alloc::vec::Vec;
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

/// Statements whose numbers are remembered without the table; a power of two.
const RECENT: usize = 64;

/// The state of run 2.
pub struct Statements<W> {
    granules: HashMap<u64, u32, FxBuildHasher>,
    chains: Vec<Vec<Chain>>,
    statements: Vec<(u64, AccessFlags)>,
    statement_index: HashMap<(u64, u32), u32, FxBuildHasher>,
    recent: [(u64, u32, u32); RECENT],
    records: Records<W>,
    pairs: Vec<StatementPair<W>>,
    /// By both statements, the lower number first.
    pair_index: HashMap<(u32, u32), u32, FxBuildHasher>,
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
            granules: granules.iter().map(|g| g & !7).zip(0..).collect(),
            chains: granules.iter().map(|_| Vec::new()).collect(),
            everything: false,
            ..Self::everything()
        }
    }

    /// Watches all granules: what run 1 is measured by.
    pub fn everything() -> Statements<W> {
        Statements {
            granules: HashMap::default(),
            chains: Vec::new(),
            statements: Vec::new(),
            statement_index: HashMap::default(),
            recent: [(0, u32::MAX, 0); RECENT],
            records: Records::new(),
            pairs: Vec::new(),
            pair_index: HashMap::default(),
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
        self.everything || self.granules.contains_key(&granule)
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
        if mask == 0 {
            return &self.news;
        }
        let at = match self.granules.get(&granule) {
            Some(at) => *at as usize,
            None if self.everything => {
                self.granules.insert(granule, self.chains.len() as u32);
                self.chains.push(Vec::new());
                self.chains.len() - 1
            }
            None => return &self.news,
        };
        let statement = self.number(site, flags);
        let c = hb.context_of(context);
        let new = Record {
            statement,
            lockset: c.lockset,
            hybrid_epoch: c.epoch,
            full_epoch: hb.full_epoch(thread),
            next: NONE,
            mask,
        };
        // Taken out so that the records can be changed meanwhile.
        let mut chains = core::mem::take(&mut self.chains[at]);
        let own = chains.iter().position(|chain| chain.thread == thread);
        let known = own.map_or(NONE, |own| self.records.find(&chains[own], &new));
        let repeats = self
            .records
            .get(known)
            .is_some_and(|r| r.hybrid_epoch == new.hybrid_epoch && r.full_epoch == new.full_epoch);
        if !repeats {
            hb.mark_used(context);
            let mut witness = Some(witness);
            let mut fresh = None;
            for chain in &chains {
                if chain.thread != thread && !hb.ordered(thread, chain.thread, chain.latest) {
                    let now = Now {
                        thread,
                        granule,
                        known,
                        new,
                    };
                    self.compare(hb, chain, now, &mut fresh, &mut witness);
                }
            }
            self.keep(&mut chains, own, known, thread, new, || {
                fresh.or_else(|| witness.map(|w| w()))
            });
        }
        self.chains[at] = chains;
        &self.news
    }

    /// The statement's number.
    #[inline]
    fn number(&mut self, site: u64, flags: AccessFlags) -> u32 {
        let bits = flags.bits();
        let recent = &mut self.recent[(site ^ site >> 6) as usize & (RECENT - 1) ^ bits as usize];
        if (recent.0, recent.1) != (site, bits) {
            let number = *self.statement_index.entry((site, bits)).or_insert_with(|| {
                self.statements.push((site, flags));
                self.statements.len() as u32 - 1
            });
            *recent = (site, bits, number);
        }
        recent.2
    }

    /// The bytes are another object's from now on.
    pub fn forgotten(&mut self, address: u64, len: u64) {
        if self.records.len() == 0 || len == 0 {
            return;
        }
        let end = address.saturating_add(len);
        let within = |granule: u64| {
            let low = address.max(granule);
            let high = end.min(granule.saturating_add(8));
            crate::atomics::parts(low, high.saturating_sub(low))
                .next()
                .map_or(0, |(_, mask)| mask)
        };
        if len / 8 > self.granules.len() as u64 {
            let mut hit: Vec<u64> = self.granules.keys().copied().filter(|g| within(*g) != 0).collect();
            hit.sort_unstable();
            hit.into_iter().for_each(|g| self.forget_bytes(g, within(g)));
        } else {
            crate::atomics::parts(address, len).for_each(|(granule, mask)| self.forget_bytes(granule, mask));
        }
    }

    fn forget_bytes(&mut self, granule: u64, mask: u8) {
        let Some(at) = self.granules.get(&granule) else {
            return;
        };
        let records = &mut self.records;
        self.chains[*at as usize].retain_mut(|chain| records.forget(chain, mask));
    }

    /// Compares an access with another thread's records.
    fn compare<F: FnOnce() -> W>(
        &mut self,
        hb: &mut HappensBefore,
        chain: &Chain,
        now: Now,
        fresh: &mut Option<W>,
        witness: &mut Option<F>,
    ) {
        let (thread, new) = (now.thread, now.new);
        let (site, flags) = self.statements[new.statement as usize];
        let mut at = chain.head;
        while let Some(&old) = self.records.get(at) {
            let number = at;
            at = old.next;
            if old.mask & new.mask == 0 {
                continue;
            }
            let (old_site, old_flags) = self.statements[old.statement as usize];
            if !old_flags.conflicts(flags)
                || hb.ordered(thread, chain.thread, old.hybrid_epoch)
                || !hb.locksets.disjoint(old.lockset, new.lockset)
            {
                continue;
            }
            let precise = !flags.inexact
                && !old_flags.inexact
                && hb.keeps_full()
                && !hb.fully_ordered(thread, chain.thread, old.full_epoch);
            let pair = (old.statement.min(new.statement), old.statement.max(new.statement));
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
                *fresh = match self.records.witness(now.known) {
                    Some(witness) => Some(witness.clone()),
                    None => witness.take().map(|w| w()),
                };
            }
            let (Some(w), Some(first)) = (fresh.clone(), self.records.witness(number).cloned()) else {
                continue;
            };
            let side = |site, flags, thread, lockset, witness| Side {
                site,
                flags,
                thread,
                lockset,
                witness,
            };
            let found = StatementPair {
                first: side(old_site, old_flags, chain.thread, old.lockset, first),
                second: side(site, flags, thread, new.lockset, w),
                granule: now.granule,
                mask: old.mask & new.mask,
                precise,
                count: known.map_or(1, |k| self.pairs[k as usize].count),
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
    }

    /// Keeps an access for those to come: its epochs in the record of its kind, or a new record.
    #[inline]
    fn keep(
        &mut self,
        chains: &mut Vec<Chain>,
        own: Option<usize>,
        known: u32,
        thread: ThreadId,
        new: Record,
        witness: impl FnOnce() -> Option<W>,
    ) {
        if let (Some(own), true) = (own, known != NONE) {
            self.records.renew(&mut chains[own], known, &new);
            return;
        }
        if self.records.len() >= self.limit {
            self.cut += 1;
            return;
        }
        let Some(witness) = witness() else { return };
        let own = own.unwrap_or_else(|| {
            chains.push(Chain::new(thread));
            chains.len() - 1
        });
        self.records.add(&mut chains[own], &new, witness);
        if own > 0 {
            // Others meet the newest first.
            chains.swap(0, own);
        }
    }
}

/// An access on its way.
#[derive(Clone, Copy)]
struct Now {
    thread: ThreadId,
    granule: u64,
    /// The thread's record of the same kind.
    known: u32,
    new: Record,
}
