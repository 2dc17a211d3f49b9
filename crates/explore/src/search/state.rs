//! What a search knows, to be kept and gone on from. Wishes that wait are not in it: their runs' paths are added
//! again ([`Search::again`]), and what was not asked for by then is asked for.

use super::open_sides::Refuted;
use super::{Next, Search, Tally, Wish, longer};
use crate::novelty::{Side, Turn};
use crate::path::Path;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::hash::Hash;
use std::rc::Rc;

/// Most prefixes that are kept, eight bytes each.
const MOST: usize = 4 << 20;

/// What a search knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    tally: Tally,
    known: Vec<u64>,
    paths: Vec<u64>,
    asked: Vec<((Turn, bool), u32)>,
    turns: Vec<Turn>,
    sides: Vec<Side>,
    ways: Vec<u64>,
    leads: Vec<(u64, Side)>,
    refuted: Vec<(Side, Refuted)>,
    barren: u32,
    grown: bool,
}

impl State {
    /// Runs so far.
    pub fn runs(&self) -> u64 {
        self.tally.runs
    }
}

fn sorted<T: Ord + Copy + Hash>(all: &FxHashSet<T>) -> Vec<T> {
    let mut all: Vec<T> = all.iter().copied().collect();
    all.sort_unstable();
    all
}

impl Search {
    /// What it knows; none if that is too much to keep. `given_up`: inputs whose runs were not added.
    pub fn state(&self, given_up: &[Next]) -> Option<State> {
        let mut waiting: Vec<&Wish> = self.pending.values().map(|w| &**w).collect();
        waiting.extend(given_up.iter().map(|next| &*next.wish));
        let mut known = self.known.clone();
        let mut asked = self.asked.clone();
        for wish in waiting {
            known.remove(&wish.prefix);
            if let Some(times) = asked.get_mut(&(wish.turn, wish.is_repetition)) {
                *times = times.saturating_sub(1);
            }
        }
        if known.len() > MOST {
            return None;
        }
        let mut asked: Vec<_> = asked.into_iter().filter(|(_, times)| *times > 0).collect();
        asked.sort_unstable();
        let mut leads: Vec<_> = self.leads.iter().map(|(way, side)| (*way, *side)).collect();
        leads.sort_unstable();
        let mut refuted: Vec<_> = self.refuted.iter().map(|(side, r)| (*side, *r)).collect();
        refuted.sort_unstable_by_key(|(side, _)| *side);
        Some(State {
            tally: self.tally,
            known: sorted(&known),
            paths: sorted(&self.paths),
            asked,
            turns: sorted(&self.turns),
            sides: sorted(&self.sides),
            ways: sorted(&self.ways),
            leads,
            refuted,
            barren: self.barren,
            grown: self.grown,
        })
    }

    /// The runs that wishes wait for, those given up included; ascending. What stands for the turns of pruned paths is
    /// not kept: unless nothing is left to ask, they are among these, and another search asks for their turns.
    pub fn parents(&self, given_up: &[Next]) -> Vec<u32> {
        let waiting = self.pending.values().map(|w| w.parent);
        let mut parents: Vec<u32> = waiting.chain(given_up.iter().map(|n| n.parent)).collect();
        if !parents.is_empty() && !self.only_repeats() {
            parents.extend(self.merged_runs());
        }
        parents.sort_unstable();
        parents.dedup();
        parents
    }

    /// Takes over what an earlier search knew. This one has seen nothing yet.
    pub fn resume(&mut self, state: State) {
        self.tally = state.tally;
        self.known.extend(state.known);
        self.paths.extend(state.paths);
        self.asked.extend(state.asked);
        self.turns.extend(state.turns);
        self.sides.extend(state.sides);
        self.ways.extend(state.ways);
        self.leads.extend(state.leads);
        self.refuted.extend(state.refuted);
        (self.barren, self.grown) = (state.barren, state.grown);
    }

    /// Adds the path of a run that was added before, to an earlier search or within other bounds, for the wishes that it
    /// left.
    pub fn again(&mut self, run: u32, path: Path) {
        let path = Rc::new(path);
        let mut hash = 0;
        let mut prefixes = Vec::with_capacity(path.constraints.len());
        for c in &path.constraints {
            hash = longer(&self.store, hash, c.condition, c.taken);
            prefixes.push(hash);
        }
        self.wish(run, &path, &prefixes, 0, None);
        for prefix in &prefixes {
            self.pending.remove(prefix);
        }
        self.known.extend(prefixes);
        self.paths.insert(hash);
    }
}
