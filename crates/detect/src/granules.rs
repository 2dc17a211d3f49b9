//! Run 1: which granules have a suspicious pair.
//!
//! A granule (8 bytes) has a cell {W, R}, the contexts of its last write and of its last access of any
//! kind since, and a history set for older accesses that these do not stand for. The inlined check
//! compares one word of the cell with the present context and calls [`Granules::transition`] on a
//! difference. A pair is suspicious when the threads differ, one writes, not both are atomic, the hybrid
//! clock leaves them unordered, and the locksets are disjoint.
//!
//! An old entry `c` is dropped only when the new access `n` dominates it: `c` is the same thread's or
//! ordered before `n` by the hybrid clock, `n` writes or `c` does not, `n` is plain or `c` is atomic, and
//! `n`'s lockset is weaker. Then whatever would be suspicious with `c` later is so with `n`: unordered
//! after `c` means unordered after `n`, for order is transitive. So by induction no granule with a
//! suspicious pair goes unflagged. (Bytes are run 2's concern.)
//!
//! An access under a lock that an entry of the same context stands for may leave the state as it is (*stay*):
//! what two threads read under one lock keeps a state without a history set, however often they take turns,
//! and its memory stays clean. Its context is then not in the cell, so the next access asks again; a caller that
//! sees many of them in a row asks to *move*, which puts the context into the cell.
//!
//! A transition is a pure function of cell, set and context while the thread's clock version stands, so it
//! is cached, direct-mapped. Cost: a hit is a few nanoseconds; a miss is linear in the history set.

use crate::happens_before::HappensBefore;
use crate::history_set::{Entry, HistorySets};
use crate::lockset::Lockset;
use crate::signature::Flags;
use alloc::{vec, vec::Vec};
use deadheat_model::ThreadId;

/// A granule's next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Context of the last write.
    pub w: u32,
    /// Context of the last access.
    pub r: u32,
    /// History set.
    pub set: u32,
    /// Whether the access makes a suspicious pair with an earlier one.
    pub suspicious: bool,
    /// Whether the caller may keep `(w, r) → (w, r)` for this context, kind and clock version and use it
    /// for granules whose history set is empty: both sets are empty and nothing is suspicious.
    pub memo: bool,
}

/// Entries of the transition cache; a power of two.
const CACHE: usize = 8192;

const WRITE: u32 = 1 << 31;
const MOVE: u32 = 1 << 30;

/// Whether an access that the state stands for already may leave it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// It may.
    Stay,
    /// The context goes into the cell.
    Move,
}

#[derive(Clone, Copy, Default)]
struct Cached {
    w: u32,
    r: u32,
    set: u32,
    /// Context, `WRITE`, and `MOVE`.
    access: u32,
    version: u32,
    to_w: u32,
    to_r: u32,
    /// Set, and `WRITE` when suspicious.
    to_set: u32,
}

/// The state of run 1 besides the cells, which are the caller's.
pub struct Granules {
    sets: HistorySets,
    cache: Vec<Cached>,
    flags: Flags,
    /// Entries seen while a set is rebuilt; empty in between.
    seen: Vec<Entry>,
}

impl Granules {
    /// Flags at most `per_signature` granules per signature (0: all of them).
    pub fn new(per_signature: u32) -> Granules {
        Granules {
            sets: HistorySets::new(),
            cache: vec![Cached::default(); CACHE],
            flags: Flags::new(per_signature),
            seen: Vec::new(),
        }
    }

    /// The granule's next state when the thread of context `current` (which must be that thread's present
    /// context) accesses it; `covered` says what becomes of a state that stands for this access already.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn transition(
        &mut self,
        hb: &mut HappensBefore,
        current: u32,
        w: u32,
        r: u32,
        set: u32,
        write: bool,
        covered: Covered,
    ) -> Transition {
        let moves = if covered == Covered::Move { MOVE } else { 0 };
        let access = current | if write { WRITE } else { 0 } | moves;
        let thread = hb.contexts.get(current).thread;
        let version = hb.version(thread);
        let mixed = (w as u64 | (r as u64) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (set as u64 | (access as u64) << 32).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let slot = (mixed ^ mixed >> 29).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> (64 - CACHE.trailing_zeros());
        let slot = slot as usize & (CACHE - 1);
        let c = &self.cache[slot];
        if c.access != access || c.w != w || c.r != r || c.set != set || c.version != version {
            let next = self.compute(hb, thread, current, w, r, set, write, covered);
            self.cache[slot] = Cached {
                w,
                r,
                set,
                access,
                version,
                to_w: next.0,
                to_r: next.1,
                to_set: next.2,
            };
        }
        let c = &self.cache[slot];
        let suspicious = c.to_set & WRITE != 0;
        let to_set = c.to_set & !WRITE;
        Transition {
            w: c.to_w,
            r: c.to_r,
            set: to_set,
            suspicious,
            memo: !suspicious && set == 0 && to_set == 0,
        }
    }

    /// Flags a granule whose access was suspicious (the state before it, as given to
    /// [`transition`](Self::transition)); `site` is any number that tells statements apart. False when the
    /// signature has had its share, or when the granule is flagged already.
    #[allow(clippy::too_many_arguments)]
    pub fn flag(
        &mut self,
        hb: &mut HappensBefore,
        granule: u64,
        current: u32,
        w: u32,
        r: u32,
        set: u32,
        write: bool,
        site: u64,
    ) -> bool {
        if self.flags.contains(granule) {
            return false;
        }
        let me = Accessor::new(hb, current);
        let mut others = 0_u64;
        for entry in present(w, r).chain(self.sets.entries(set)) {
            if me.suspicious(hb, entry, write) {
                let c = hb.contexts.get(entry.context());
                let one = (c.thread.0 as u64) << 33 | (c.lockset.0 as u64) << 1 | entry.write() as u64;
                others ^= one.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17);
            }
        }
        let mine = (me.thread.0 as u64) << 33 | (me.lockset.0 as u64) << 1 | write as u64;
        let alike = others ^ mine.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let signature = alike.wrapping_add(site.wrapping_mul(0xFF51_AFD7_ED55_8CCD));
        self.flags.flag(granule, alike, signature)
    }

    /// The flagged granules and how many were cut.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// All history sets: their number, their limit, what was cut.
    pub fn sets(&mut self) -> &mut HistorySets {
        &mut self.sets
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn compute(
        &mut self,
        hb: &mut HappensBefore,
        thread: ThreadId,
        current: u32,
        w: u32,
        r: u32,
        set: u32,
        write: bool,
        covered: Covered,
    ) -> (u32, u32, u32) {
        debug_assert_eq!(hb.contexts.get(current).thread, thread);
        hb.contexts.mark_used(current);
        let me = Accessor::new(hb, current);
        let mut suspicious = present(w, r).any(|e| me.suspicious(hb, e, write));
        let stands = |e: Entry| e.context() == current && (e.write() || !write);
        if covered == Covered::Stay
            && me.lockset != Lockset::EMPTY
            && !suspicious
            && present(w, r).chain(self.sets.entries(set)).any(stands)
            && !self.sets.entries(set).any(|e| me.suspicious(hb, e, write))
        {
            return (w, r, set);
        }
        // The old set without what the new access dominates; its tail below the deepest such entry stays.
        let mut seen = core::mem::take(&mut self.seen);
        let (mut kept, mut tail, mut at) = (0, set, set);
        while let Some((entry, rest)) = self.sets.split(at) {
            suspicious = suspicious || me.suspicious(hb, entry, write);
            if me.dominates(hb, entry, write) {
                tail = rest;
                kept = seen.len();
            } else {
                seen.push(entry);
            }
            at = rest;
        }
        let mut to = tail;
        for entry in seen[..kept].iter().rev() {
            to = self.sets.push(*entry, to);
        }
        seen.clear();
        self.seen = seen;
        // What the cell stood for and will no longer.
        let (old_w, old_r) = (Entry::new(w, true), Entry::new(r, false));
        if write && w != 0 && !me.dominates(hb, old_w, true) {
            to = self.keep(old_w, to);
        }
        if r != 0 && r != w && !me.dominates(hb, old_r, write) {
            to = self.keep(old_r, to);
        }
        let to_w = if write { current } else { w };
        (to_w, current, to | if suspicious { WRITE } else { 0 })
    }

    fn keep(&mut self, entry: Entry, set: u32) -> u32 {
        if self.sets.entries(set).any(|e| e == entry) {
            return set;
        }
        self.sets.push(entry, set)
    }
}

/// The entries that a cell stands for.
fn present(w: u32, r: u32) -> impl Iterator<Item = Entry> {
    let write = (w != 0).then(|| Entry::new(w, true));
    let read = (r != 0 && r != w).then(|| Entry::new(r, false));
    write.into_iter().chain(read)
}

/// Who makes the new access.
struct Accessor {
    context: u32,
    thread: ThreadId,
    lockset: Lockset,
    atomic: bool,
}

impl Accessor {
    fn new(hb: &HappensBefore, context: u32) -> Accessor {
        let c = hb.contexts.get(context);
        Accessor {
            context,
            thread: c.thread,
            lockset: c.lockset,
            atomic: c.atomic,
        }
    }

    fn suspicious(&self, hb: &mut HappensBefore, old: Entry, write: bool) -> bool {
        let c = hb.contexts.get(old.context());
        (write || old.write())
            && c.thread != self.thread
            && !(c.atomic && self.atomic)
            && !hb.ordered(self.thread, c.thread, c.epoch)
            && hb.locksets.disjoint(c.lockset, self.lockset)
    }

    fn dominates(&self, hb: &mut HappensBefore, old: Entry, write: bool) -> bool {
        let c = hb.contexts.get(old.context());
        (write || !old.write())
            && (c.atomic || !self.atomic)
            && (old.context() == self.context
                || (c.thread == self.thread || hb.ordered(self.thread, c.thread, c.epoch))
                    && hb.locksets.weaker(self.lockset, c.lockset))
    }
}
