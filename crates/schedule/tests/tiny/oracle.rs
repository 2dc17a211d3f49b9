//! Brute force: all states that any interleaving reaches.

use super::{Machine, Program};
use std::collections::{BTreeSet, HashSet};

/// The pairs of statements (smaller site first) before which two threads stand at once, with accesses that
/// conflict, in some state that some interleaving reaches.
pub fn co_enabled(program: &Program) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut todo = vec![Machine::new(program)];
    while let Some(state) = todo.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let accesses: Vec<_> = (0..state.threads()).filter_map(|t| state.access(t)).collect();
        for (i, a) in accesses.iter().enumerate() {
            for b in accesses[i + 1..].iter().filter(|b| a.conflicts(b)) {
                pairs.insert((a.site.index.min(b.site.index), a.site.index.max(b.site.index)));
            }
        }
        for thread in (0..state.threads()).filter(|&t| state.can_run(t)) {
            let mut next = state.clone();
            next.execute(thread);
            todo.push(next);
        }
    }
    pairs
}

/// The pairs that conflict by what the statements are, whatever the order: what a naive prediction offers.
pub fn conflicting(program: &Program) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    let lines = || {
        program
            .threads
            .iter()
            .enumerate()
            .flat_map(|(t, code)| code.iter().map(move |l| (t, *l)))
    };
    let access = |thread: usize, line| {
        let mut threads = vec![vec![]; thread + 1];
        threads[thread] = vec![line];
        Machine::new(&Program { threads }).access(thread)
    };
    for (t, one) in lines() {
        for (u, other) in lines().filter(|&(u, _)| u > t) {
            if let (Some(a), Some(b)) = (access(t, one), access(u, other))
                && a.conflicts(&b)
            {
                pairs.insert((one.site.min(other.site), one.site.max(other.site)));
            }
        }
    }
    pairs
}
