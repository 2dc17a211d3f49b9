//! The concurrent function pairs of a run, from its function spans.
//!
//! Most spans of a run hold the same few sets of functions, so concurrency is decided between *sets*: two spans are
//! compared only while their sets are not known to be concurrent. Then each function is paired with the union of what
//! its sets are concurrent with.
//!
//! Cost: at most spans squared comparisons (the measuring run bounds the spans), in practice few, plus sets squared
//! times the functions' bits.

use crate::concurrency::Concurrency;
use crate::pair_set::PairSet;
use deadheat_model::FunctionSpans;
use std::collections::HashMap;

/// The pairs of functions, by their numbers in the run, that can run at the same time.
pub fn pairs(spans: &FunctionSpans) -> PairSet {
    let (sets, of_span) = function_sets(spans);
    let concurrency = Concurrency::new(spans);
    let mut known = vec![vec![0u64; sets.len().div_ceil(64)]; sets.len()];
    for (n, a) in spans.spans.iter().enumerate() {
        let Some(x) = of_span[n] else { continue };
        for (b, y) in spans.spans[..n].iter().zip(&of_span[..n]) {
            let Some(y) = *y else { continue };
            let (low, high) = (x.min(y), x.max(y));
            let bit = 1 << (high % 64);
            if known[low][high / 64] & bit == 0 && concurrency.concurrent(a, b) {
                known[low][high / 64] |= bit;
            }
        }
    }
    let mut pairs = PairSet::default();
    for (low, row) in known.iter().enumerate() {
        let high = (0..sets.len()).filter(|high| row[high / 64] & 1 << (high % 64) != 0);
        for high in high {
            for a in &sets[low] {
                for b in &sets[high] {
                    pairs.insert(*a, *b);
                }
            }
        }
    }
    pairs
}

/// The different sets of functions that spans have, and each span's.
fn function_sets(spans: &FunctionSpans) -> (Vec<Vec<u32>>, Vec<Option<usize>>) {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); spans.spans.len()];
    for (function, span) in &spans.members {
        if let Some(set) = members.get_mut(*span as usize) {
            set.push(*function);
        }
    }
    let mut numbers: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut sets = Vec::new();
    let of_span = members.into_iter().map(|mut set| {
        if set.is_empty() {
            return None;
        }
        set.sort_unstable();
        set.dedup();
        Some(*numbers.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            sets.len() - 1
        }))
    });
    let of_span = of_span.collect();
    (sets, of_span)
}
