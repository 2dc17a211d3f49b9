//! Which inputs, and which functions under each, cover all concurrent pairs (section 4.3 of the paper).
//!
//! Greedy: the input with the most pairs that no chosen one covers, until all are covered; of equals the cheapest, then
//! the first. Under a chosen input only the functions of the pairs that it was chosen for are watched; each pair is
//! assigned to one input. The least number of inputs is NP-hard to find; greedy is within ln n of it.
//!
//! Cost: counts only fall, so an input is counted again only when it comes up (lazy greedy): in practice about one pass
//! over all pairs of all inputs.

use crate::pair_set::PairSet;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What measuring an input gave.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Its concurrent pairs; functions are numbered alike for all inputs.
    pub pairs: PairSet,
    /// What a run costs, in any unit: a count, so that the choice is the same each time.
    pub cost: u64,
}

/// A chosen input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which, by its place among the inputs.
    pub input: usize,
    /// Pairs that no input chosen before covers.
    pub pairs: PairSet,
    /// Functions of these pairs, ascending.
    pub functions: Vec<u32>,
}

/// How the set of pairs grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Pairs of this input.
    pub pairs: usize,
    /// Of these, those that no input before it in the list has.
    pub new: usize,
    /// Pairs that no other input has at all.
    pub alone: usize,
}

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The chosen inputs, in the order of their choice.
    pub chosen: Vec<Chosen>,
    /// All pairs of all inputs.
    pub all: PairSet,
    /// For each input in the order of the list, what it adds.
    pub growth: Vec<Growth>,
}

#[derive(PartialEq, Eq)]
struct Offer {
    new: usize,
    cost: u64,
    input: usize,
    /// Inputs chosen when `new` was counted.
    counted: usize,
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Offer) -> Ordering {
        let cheaper = other.cost.cmp(&self.cost);
        let first = other.input.cmp(&self.input);
        self.new.cmp(&other.new).then(cheaper).then(first)
    }
}

/// Chooses inputs that cover all pairs.
pub fn select(inputs: &[Measured]) -> Selection {
    let mut selection = Selection::default();
    let mut covered = PairSet::default();
    let mut heap: BinaryHeap<Offer> = inputs
        .iter()
        .enumerate()
        .map(|(input, measured)| Offer {
            new: measured.pairs.len(),
            cost: measured.cost,
            input,
            counted: 0,
        })
        .collect();
    while let Some(offer) = heap.pop() {
        if offer.new == 0 {
            break;
        }
        let measured = &inputs[offer.input];
        if offer.counted < selection.chosen.len() {
            heap.push(Offer {
                new: measured.pairs.count_without(&covered),
                counted: selection.chosen.len(),
                ..offer
            });
            continue;
        }
        let pairs = measured.pairs.without(&covered);
        covered.extend(&pairs);
        selection.chosen.push(Chosen {
            input: offer.input,
            functions: pairs.functions(),
            pairs,
        });
    }
    selection.growth = growth(inputs);
    selection.all = covered;
    selection
}

fn growth(inputs: &[Measured]) -> Vec<Growth> {
    let (mut once, mut again) = (PairSet::default(), PairSet::default());
    for input in inputs {
        let fresh = input.pairs.without(&once);
        again.extend(&input.pairs.without(&fresh));
        once.extend(&fresh);
    }
    let mut before = PairSet::default();
    let mut growth = Vec::new();
    for input in inputs {
        let new = input.pairs.count_without(&before);
        growth.push(Growth {
            pairs: input.pairs.len(),
            new,
            alone: input.pairs.count_without(&again),
        });
        before.extend(&input.pairs);
    }
    growth
}
