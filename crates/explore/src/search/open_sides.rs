//! Sides of the program that no run has taken: proofs that a path excludes them, and what may lead to them.

use super::{Order, Queued, Search, Wish, longer, rank};
use crate::expression::Symbol;
use crate::novelty::Side;
use crate::path::{Kind, Path};
use deadheat_wire::trace::source;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What was answered when a side was asked for that no run has taken.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Refuted {
    /// Paths on which it is infeasible.
    pub proofs: u32,
    /// Some question was left out, given up, or answered for fixed values alone.
    pub doubted: bool,
}

impl Search {
    /// Whether a side that no run has taken was proven infeasible on each path that came to its branch. Not if a
    /// question was left out, given up or still waits, if inputs were let grow on the way, or if what a path had to leave out bears on the answer.
    pub fn is_infeasible(&self, side: Side) -> bool {
        let proven = self.refuted.get(&side).is_some_and(|r| r.proofs > 0 && !r.doubted);
        proven && !self.grown && !self.sides.contains(&side) && !self.pending.values().any(|w| w.turn.0 == side)
    }

    /// Whether a side at the end of a way is open, and another path there may take it.
    pub(super) fn leads_on(&self, way: u64) -> bool {
        self.leads.get(&way).is_some_and(|side| {
            !self.sides.contains(side) && self.refuted.get(side).is_none_or(|r| r.proofs <= self.bounds.per_side)
        })
    }

    /// A side of the program is infeasible on a path that comes to its branch, at this position and by this way. Where
    /// no run has taken it, the branches that the core names stand in the way: their other sides come next.
    pub(super) fn refute(&mut self, path: &Path, position: u32, side: Side, way: u64, core: &[u32]) {
        if self.sides.contains(&side) {
            return;
        }
        let relative = core.iter().any(|p| path.constraints[*p as usize].kind == Kind::Pin);
        let refuted = self.refuted.entry(side).or_default();
        refuted.proofs += 1;
        refuted.doubted |= relative || path.losses.bear_on_answers();
        if refuted.proofs <= self.bounds.per_side && self.order == Order::Generational {
            self.put_forward(path, position, side, core);
            self.follow(way, side);
        }
    }

    /// Other paths of a way that leads to an open side come before further repetitions.
    fn follow(&mut self, way: u64, side: Side) {
        self.leads.insert(way, side);
        for wish in self.by_way.remove(&way).unwrap_or_default() {
            self.promote(rank::NEW_WAY, side, wish);
        }
    }

    /// The other sides of the branches that a core names come next, and of those on the bytes right behind the ones
    /// that the condition depends on, and on whether there are any: where a number or a word ends decides what is compared,
    /// and is in no core.
    fn put_forward(&mut self, path: &Path, position: u32, side: Side, core: &[u32]) {
        const MOST: usize = 16;
        let mut behind: BTreeMap<u32, u32> = BTreeMap::new();
        for symbol in self.store.symbols(path.constraints[position as usize].about).iter() {
            let next = behind.entry(symbol.source).or_default();
            *next = symbol.offset.saturating_add(1).max(*next);
        }
        let in_the_way: FxHashSet<u32> = core.iter().copied().filter(|p| *p != position).take(MOST).collect();
        let mut before = 0;
        for (n, c) in path.constraints[..position as usize].iter().enumerate() {
            let other = longer(&self.store, before, c.condition, !c.taken);
            before = longer(&self.store, before, c.condition, c.taken);
            let Some(waiting) = self.pending.get(&other).cloned() else {
                continue;
            };
            let symbols = self.store.symbols(c.condition);
            let is_end = |s: &Symbol| match c.kind {
                // Where an input ended it may go on.
                Kind::Length => !c.taken && source::of_length(s.source).is_some_and(|of| behind.contains_key(&of)),
                _ => behind.get(&s.source) == Some(&s.offset),
            };
            let ends = symbols.iter().any(is_end);
            if ends || in_the_way.contains(&(n as u32)) {
                self.promote(rank::NEW_SIDE, side, waiting);
            }
        }
    }

    /// Queues a wish that waits once more, for the sake of an open side.
    fn promote(&mut self, rank: u32, side: Side, wish: Rc<Wish>) {
        if self.pending.contains_key(&wish.prefix) {
            self.number += 1;
            self.queue.push(Queued {
                rank: (rank, 0, std::cmp::Reverse(self.number)),
                in_the_way: Some(side),
                wish,
            });
        }
    }
}
