//! Calls that wait for their function to be gone through: which is next, and which of many are joined before.

use super::contexts::CONTEXTS;
use super::{Call, Likeness, Work};
use crate::entering::Entering;
use crate::joined_entry::join_entries;
use crate::own_terms;
use crate::relative_lockset::RelativeLockset;
use crate::state::Threads;
use deadheat_ir::{FunctionId, LocationId};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, btree_map};

/// Calls of a function that wait for it from which on it is seen whether they will be joined, in a large program.
const CROWD: usize = 64;

impl Work<'_> {
    /// What is gone through next, the highest first. Recursion among many functions leads back up: what it brings waits until
    /// all that is below has been gone through.
    pub(super) fn next(&mut self, below: &mut usize) -> Option<BTreeMap<FunctionId, Vec<Call>>> {
        let waits = |function: &FunctionId| self.entangled[function.index()];
        let above = self.due.range(*below..).rev();
        let above = above
            .filter(|(_, calls)| !calls.keys().all(waits))
            .map(|(at, _)| *at)
            .next();
        if let Some(height) = above {
            let all = self.due.remove(&height)?;
            let (waiting, next): (BTreeMap<_, _>, BTreeMap<_, _>) = all.into_iter().partition(|(f, _)| waits(f));
            if !waiting.is_empty() {
                self.due.insert(height, waiting);
            }
            return Some(next);
        }
        let next = self.due.range(..*below).next_back().or(self.due.last_key_value());
        *below = *next?.0;
        self.due.remove(below)
    }

    /// Enters a function, once all that calls it has been gone through.
    pub(super) fn enter(
        &mut self,
        root: usize,
        function: FunctionId,
        mut entering: Entering,
        caller: Option<(u32, Option<LocationId>)>,
        certain: bool,
    ) {
        if self.rest == Some(root) {
            entering.threads = Threads::default();
        }
        let is_large = self.subject.is_large;
        let due = self.due.entry(self.heights[function.index()]).or_default();
        let calls = due.entry(function).or_default();
        calls.push(Call {
            root,
            entering,
            caller,
            certain,
        });
        if is_large && calls.len() >= CROWD && calls.len().is_power_of_two() {
            let all = std::mem::take(calls);
            let fewer = self.crowd(function, all);
            let due = self.due.entry(self.heights[function.index()]).or_default();
            due.insert(function, fewer);
        }
    }

    /// Joins waiting calls that will be joined in any case, those of one root with the same locks, so that few wait.
    fn crowd(&mut self, function: FunctionId, calls: Vec<Call>) -> Vec<Call> {
        if !self.functions.entry(function).or_default().crowded {
            let is_known = |call: &Call| {
                let key = (call.root, function, call.entering.identity());
                self.known.contains_key(&key)
            };
            let new = calls.iter().filter(|call| !is_known(call));
            let different: FxHashSet<Likeness> = new.map(|call| self.likeness(function, call)).collect();
            if different.len() <= CONTEXTS {
                return calls;
            }
            self.functions.entry(function).or_default().crowded = true;
        }
        let mut joined: BTreeMap<(usize, RelativeLockset), Call> = BTreeMap::new();
        for mut call in calls {
            let mut entry = own_terms::of(call.entering.rest(), function);
            entry.way.threads = call.entering.threads.clone();
            match joined.entry((call.root, entry.way.locks.clone())) {
                btree_map::Entry::Vacant(at) => {
                    call.entering = Entering::new(entry);
                    at.insert(call);
                }
                btree_map::Entry::Occupied(mut at) => {
                    let known = at.get_mut();
                    known.entering = Entering::new(join_entries(&known.entering.entry(), &entry, function));
                    known.certain |= call.certain;
                    self.found.cut.contexts += 1;
                }
            }
        }
        joined.into_values().collect()
    }
}
