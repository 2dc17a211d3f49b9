//! The pairs of functions that were left out of measuring: those of the functions that they have them from.

use crate::pair_set::PairSet;
use std::collections::{BTreeMap, BTreeSet};

/// The pairs with those of the heirs. `sources`: of each heir the functions whose pairs it has, which may be heirs
/// themselves; an heir among its own sources, however far, adds nothing.
pub fn inherited(pairs: &PairSet, sources: &BTreeMap<u32, Vec<u32>>) -> PairSet {
    let mut families: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for heir in sources.keys() {
        let mut seen = BTreeSet::from([*heir]);
        let mut work = vec![*heir];
        while let Some(function) = work.pop() {
            match sources.get(&function) {
                Some(from) => work.extend(from.iter().filter(|f| seen.insert(**f))),
                None => families.entry(function).or_default().push(*heir),
            }
        }
    }
    let family =
        |function: u32| std::iter::once(function).chain(families.get(&function).into_iter().flatten().copied());
    let all = pairs.iter().flat_map(|(a, b)| {
        let partners: Vec<u32> = family(b).collect();
        family(a).flat_map(move |a| partners.clone().into_iter().map(move |b| (a, b)))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heirs_are_concurrent_with_what_their_sources_are() {
        let pairs: PairSet = [(0, 1), (0, 0)].into_iter().collect();
        let sources = BTreeMap::from([(2, vec![0]), (3, vec![2, 4]), (5, vec![1]), (6, vec![6])]);
        let all: Vec<(u32, u32)> = inherited(&pairs, &sources).iter().collect();
        let of_0_with_itself = [(0, 0), (0, 2), (0, 3), (2, 2), (2, 3), (3, 3)];
        let of_0_with_1 = [(0, 1), (0, 5), (1, 2), (1, 3), (2, 5), (3, 5)];
        let mut right = [&of_0_with_itself[..], &of_0_with_1[..]].concat();
        right.sort_unstable();
        assert_eq!(all, right);
    }
}
