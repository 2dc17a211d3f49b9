//! Entries that are joined where a function has more of them than it is executed for.

use crate::execution::Entry;
use crate::path_map::PathMap;
use crate::relative_lockset::RelativeLockset;
use crate::state::{Disjunct, Threads};
use crate::symbolic_value::SymbolicValue;
use crate::thread_root;
use deadheat_ir::FunctionId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Joins neighbours, of which least is lost and the first of equals, until `left` are left. Cost: n log n.
pub(crate) fn join_neighbours<T>(all: Vec<(RelativeLockset, Vec<T>)>, left: usize) -> Vec<(RelativeLockset, Vec<T>)> {
    let mut all: BTreeMap<usize, (RelativeLockset, Vec<T>)> = all.into_iter().enumerate().collect();
    let mut pairs: BTreeSet<_> = all.keys().filter_map(|at| Some((lost(&all, *at)?, *at))).collect();
    while all.len() > left
        && let Some((_, at)) = pairs.pop_first()
        && let Some((&next, _)) = all.range(at + 1..).next()
    {
        let before = all.range(..at).next_back().map(|(n, _)| *n);
        let stale = [before, Some(next)].into_iter().flatten();
        let stale: Vec<_> = stale.filter_map(|n| Some((lost(&all, n)?, n))).collect();
        for pair in &stale {
            pairs.remove(pair);
        }
        if let Some((locks, calls)) = all.remove(&next)
            && let Some(into) = all.get_mut(&at)
        {
            into.0 = into.0.join(&locks);
            into.1.extend(calls);
        }
        let changed = before.into_iter().chain([at]);
        pairs.extend(changed.filter_map(|n| Some((lost(&all, n)?, n))));
    }
    all.into_values().collect()
}

/// What is lost where one of these is joined with the next.
fn lost<T>(all: &BTreeMap<usize, (RelativeLockset, Vec<T>)>, at: usize) -> Option<(bool, usize, Reverse<usize>)> {
    let (_, next) = all.range(at + 1..).next()?;
    Some(loss(&all.get(&at)?.0, &next.0))
}

/// What is lost where two locksets are joined: all that one of them holds, which is worst, so that a caller without locks
/// takes no others their locks; else those that one of them does not hold, the fewer the more both hold.
pub(crate) fn loss(a: &RelativeLockset, b: &RelativeLockset) -> (bool, usize, Reverse<usize>) {
    let apart = |x: &RelativeLockset, y: &RelativeLockset| x.acquired().filter(|lock| y.get(lock).is_none()).count();
    let lost = apart(a, b) + apart(b, a);
    let kept = a.acquired().filter(|lock| b.get(lock).is_some()).count();
    (kept == 0 && lost > 0, lost, Reverse(kept))
}

/// Threads that run where those of either do.
pub(crate) fn join_threads(a: &Threads, b: &Threads) -> Threads {
    let way = |threads: &Threads| Disjunct {
        threads: threads.clone(),
        ..Disjunct::default()
    };
    way(a).join(&way(b)).threads
}

/// An entry that stands for both.
pub(crate) fn join_entries(a: &Entry, b: &Entry, function: FunctionId) -> Entry {
    let formals = a
        .formals
        .iter()
        .zip(&b.formals)
        .map(|(x, y)| if x == y { x.clone() } else { None })
        .collect();
    Entry {
        formals: thread_root::known_formals(formals, function, a.formals.len()),
        way: a.way.join(&b.way),
        creator: a.creator.filter(|c| b.creator == Some(*c)),
    }
}

/// Leaves out of an entry what may go on changing for long as more calls are joined.
pub(crate) fn widen(entry: &mut Entry) {
    entry.way.facts = PathMap::default();
    entry
        .way
        .memory
        .replace(|_, value| (*value != SymbolicValue::Top).then_some(SymbolicValue::Top));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_path::{Path, Root};
    use crate::relative_lockset::{Change, Mode};
    use proptest::prelude::*;

    fn held(locks: &BTreeSet<u32>) -> RelativeLockset {
        let mut held = RelativeLockset::default();
        for n in locks {
            held.apply(&Path::of(Root::Global(*n)), Change::acquire(Mode::Exclusive));
        }
        held
    }

    #[test]
    fn what_is_lost_is_least_where_most_is_kept() {
        let held = |locks: &[u32]| held(&locks.iter().copied().collect());
        let (none, one, two, other) = (held(&[]), held(&[1]), held(&[1, 2]), held(&[1, 3]));
        assert!(loss(&one, &two) < loss(&two, &other));
        assert!(loss(&two, &other) < loss(&none, &one));
        assert!(loss(&none, &none) < loss(&one, &two));
    }

    #[test]
    fn entries_that_grow_for_long_come_to_rest() {
        let mut entry = Entry::relative();
        let place = |n: u32| Path::of(Root::Global(n));
        entry.way.memory.insert(place(1), SymbolicValue::Integer(1));
        entry.way.memory.insert(place(2), SymbolicValue::Top);
        widen(&mut entry);
        assert!(entry.way.memory.iter().all(|(_, value)| *value == SymbolicValue::Top));
        assert_eq!(entry.way.memory.len(), 2);
        let widened = entry.clone();
        widen(&mut entry);
        assert_eq!(entry, widened);
    }

    proptest! {
        #[test]
        fn neighbours_are_joined_in_the_order_of_what_is_lost(
            sets in proptest::collection::vec(proptest::collection::btree_set(0_u32..6, 0..4), 1..12),
            left in 1_usize..6,
        ) {
            let all: Vec<_> = sets.iter().enumerate().map(|(n, set)| (held(set), vec![n])).collect();
            let mut expected = all.clone();
            while expected.len() > left {
                let lost = |at: &usize| loss(&expected[*at].0, &expected[*at + 1].0);
                let Some(at) = (0..expected.len() - 1).min_by_key(lost) else { break };
                let (locks, calls) = expected.remove(at + 1);
                expected[at].0 = expected[at].0.join(&locks);
                expected[at].1.extend(calls);
            }
            prop_assert_eq!(join_neighbours(all, left), expected);
        }
    }
}
