//! Which inputs, and which functions under each, cover all concurrent pairs (section 4.3 of the paper).
//!
//! Greedy: the input with the most pairs that no chosen one covers, until all are covered; of equals the one with the most
//! parts of concurrent functions that no chosen one comes to, then the cheapest, then the first. Then the same by those
//! parts alone, if they were measured: the paper chooses by pairs, and loses races in parts of functions that the chosen
//! inputs do not come to (its section 5.9). Under a chosen input only the functions of the pairs that it was chosen for are
//! watched, and those with parts that it was chosen for, with all that is concurrent with them. The least number of inputs
//! is NP-hard to find; greedy is within ln n of it.
//!
//! Cost: counts only fall, so an input is counted again only when it comes up (lazy greedy): in practice about one pass
//! over all pairs and parts of all inputs.

use crate::pair_set::PairSet;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

/// What measuring an input gave.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Its concurrent pairs; functions are numbered alike for all inputs.
    pub pairs: PairSet,
    /// What else is to be covered: statements that ran beside other threads and the like, each with its function; numbered
    /// alike for all inputs. Those of functions in no pair do not count.
    pub parts: Vec<(u32, u32)>,
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
    /// Parts that none comes to.
    pub parts: usize,
    /// Functions that detection looks into, ascending.
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
    parts: usize,
    cost: u64,
    input: usize,
    /// Inputs chosen when `new` and `parts` were counted.
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
        let more = (self.new, self.parts).cmp(&(other.new, other.parts));
        more.then(cheaper).then(first)
    }
}

/// Chooses inputs that cover all pairs and parts.
pub fn select(inputs: &[Measured]) -> Selection {
    let inputs: Vec<Cover<'_>> = inputs.iter().map(Cover::of).collect();
    let mut selection = Selection::default();
    let mut covered = PairSet::default();
    let mut reached: HashSet<u32> = HashSet::new();
    let offer = |input: usize, covered: &PairSet, reached: &HashSet<u32>, counted: usize| Offer {
        new: inputs[input].pairs.count_without(covered),
        parts: inputs[input].unreached(reached).count(),
        cost: inputs[input].cost,
        input,
        counted,
    };
    let all = 0..inputs.len();
    let mut heap: BinaryHeap<Offer> = all.map(|input| offer(input, &covered, &reached, 0)).collect();
    while let Some(best) = heap.pop() {
        if (best.new, best.parts) == (0, 0) {
            break;
        }
        let counted = selection.chosen.len();
        if best.counted < counted {
            heap.push(offer(best.input, &covered, &reached, counted));
            continue;
        }
        let cover = &inputs[best.input];
        let pairs = cover.pairs.without(&covered);
        let mut functions = pairs.functions();
        let new: HashSet<u32> = cover.unreached(&reached).map(|(_, function)| function).collect();
        let beside = cover.pairs.iter().filter(|(a, b)| new.contains(a) || new.contains(b));
        functions.extend(beside.flat_map(|(a, b)| [a, b]));
        functions.sort_unstable();
        functions.dedup();
        covered.extend(&pairs);
        let parts: Vec<u32> = cover.unreached(&reached).map(|(part, _)| part).collect();
        selection.chosen.push(Chosen {
            input: best.input,
            functions,
            pairs,
            parts: parts.len(),
        });
        reached.extend(parts);
    }
    selection.growth = growth(&inputs);
    selection.all = covered;
    selection
}

/// What an input can cover.
struct Cover<'a> {
    pairs: &'a PairSet,
    /// Parts with their functions, each part once.
    parts: Vec<(u32, u32)>,
    cost: u64,
}

impl Cover<'_> {
    fn of(measured: &Measured) -> Cover<'_> {
        let functions = measured.pairs.functions();
        let concurrent = |(_, function): &(u32, u32)| functions.binary_search(function).is_ok();
        let mut parts: Vec<(u32, u32)> = measured.parts.iter().copied().filter(concurrent).collect();
        parts.sort_unstable();
        parts.dedup_by_key(|(part, _)| *part);
        Cover {
            pairs: &measured.pairs,
            parts,
            cost: measured.cost,
        }
    }

    /// Its parts that are not reached yet.
    fn unreached<'s>(&'s self, reached: &'s HashSet<u32>) -> impl Iterator<Item = (u32, u32)> + 's {
        self.parts.iter().copied().filter(|(part, _)| !reached.contains(part))
    }
}

fn growth(inputs: &[Cover<'_>]) -> Vec<Growth> {
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
        before.extend(input.pairs);
    }
    growth
}
