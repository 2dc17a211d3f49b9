//! The greedy selection: it covers, it assigns each pair once, it is near the least number of inputs.

use deadheat_pairs::{Measured, PairSet, select};
use proptest::prelude::*;

fn measured(inputs: &[Vec<(u32, u32)>]) -> Vec<Measured> {
    let one = |pairs: &Vec<(u32, u32)>| Measured {
        pairs: pairs.iter().copied().collect(),
        parts: Vec::new(),
        cost: 1,
    };
    inputs.iter().map(one).collect()
}

/// Least number of inputs that cover all pairs, by trying all.
fn least(inputs: &[Measured], all: &PairSet) -> usize {
    let sizes = (0..1u32 << inputs.len()).filter_map(|chosen| {
        let mut covered = PairSet::default();
        let taken = inputs.iter().enumerate().filter(|(n, _)| chosen & 1 << n != 0);
        taken.for_each(|(_, m)| covered.extend(&m.pairs));
        (all.count_without(&covered) == 0).then_some(chosen.count_ones() as usize)
    });
    sizes.min().unwrap_or(0)
}

proptest! {
    #[test]
    fn all_pairs_are_covered_each_by_one_input(
        inputs in proptest::collection::vec(proptest::collection::vec((0u32..70, 0u32..70), 0..25), 0..7)
    ) {
        let inputs = measured(&inputs);
        let selection = select(&inputs);
        let mut covered = PairSet::default();
        let mut sum = 0;
        for chosen in &selection.chosen {
            prop_assert_eq!(chosen.pairs.count_without(&inputs[chosen.input].pairs), 0);
            prop_assert_eq!(chosen.pairs.count_without(&covered), chosen.pairs.len());
            prop_assert!(chosen.pairs.iter().all(|(a, b)| chosen.functions.contains(&a) && chosen.functions.contains(&b)));
            covered.extend(&chosen.pairs);
            sum += chosen.pairs.len();
        }
        prop_assert_eq!(sum, selection.all.len());
        for input in &inputs {
            prop_assert_eq!(input.pairs.count_without(&covered), 0);
        }
        let harmonic: f64 = (1..=selection.all.len()).map(|n| 1.0 / n as f64).sum();
        prop_assert!(selection.chosen.len() as f64 <= (least(&inputs, &selection.all) as f64 * harmonic).max(0.0) + 1e-9);
        prop_assert_eq!(selection.growth.iter().map(|g| g.new).sum::<usize>(), selection.all.len());
    }

    #[test]
    fn a_set_is_a_set(pairs in proptest::collection::vec((0u32..200, 0u32..200), 0..60)) {
        let set: PairSet = pairs.iter().copied().collect();
        let mut right: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (*a.min(b), *a.max(b))).collect();
        right.sort_unstable();
        right.dedup();
        prop_assert_eq!(set.len(), right.len());
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), right);
    }
}

#[test]
fn the_papers_figure_8() {
    let inputs = measured(&[
        vec![(1, 2), (2, 3), (2, 4), (4, 5)],
        vec![(1, 2), (3, 4), (3, 5)],
        vec![(2, 3), (3, 4)],
    ]);
    let selection = select(&inputs);
    let chosen: Vec<(usize, &[u32])> = selection.chosen.iter().map(|c| (c.input, &c.functions[..])).collect();
    assert_eq!(chosen, [(0, &[1, 2, 3, 4, 5][..]), (1, &[3, 4, 5][..])]);
    assert_eq!(selection.all.len(), 6);
}

#[test]
fn of_equal_pairs_those_with_more_parts_and_then_whoever_has_others() {
    let mut inputs = measured(&[
        vec![(1, 2), (2, 3)],
        vec![(1, 2), (2, 3)],
        vec![(1, 2), (2, 3)],
        vec![(2, 3)],
    ]);
    inputs[1].parts = vec![(10, 1), (20, 2)];
    inputs[2].parts = vec![(10, 1)];
    // Function 7 is concurrent with nothing, function 1 not here.
    inputs[3].parts = vec![(30, 3), (70, 7), (11, 1)];
    let selection = select(&inputs);
    let chosen: Vec<(usize, usize, &[u32])> = selection
        .chosen
        .iter()
        .map(|c| (c.input, c.parts, &c.functions[..]))
        .collect();
    assert_eq!(chosen, [(1, 2, &[1, 2, 3][..]), (3, 1, &[2, 3][..])]);
    assert!(selection.chosen[1].pairs.is_empty());
}

#[test]
fn of_equal_inputs_the_cheaper_one_is_taken() {
    let mut inputs = measured(&[vec![(1, 2)], vec![(1, 2)]]);
    inputs[0].cost = 2;
    assert_eq!(select(&inputs).chosen[0].input, 1);
}
