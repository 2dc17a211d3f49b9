//! Buckets of groups that may be to one place, and which of their pairs are compared.
//!
//! Two reads are no race, so a bucket is its writes with each other and with its reads. All buckets together have
//! [`ALL_COMPARISONS`] comparisons, none more than [`COMPARISONS`]: small ones get what they need, large ones what is left, in
//! equal shares. In a bucket that needs more than its share the groups are compared that are the likeliest to be in a race,
//! and those first that bring a statement which no better one stands for.

use crate::execution::AccessKind;
use crate::likeness::Groups;
use crate::rank;
use crate::top_down::TopDown;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Comparisons of groups in a bucket.
const COMPARISONS: usize = 2_000_000;
/// Comparisons of groups in all buckets.
const ALL_COMPARISONS: usize = 16_000_000;

/// Groups that may be to one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    writes: Vec<usize>,
    reads: Vec<usize>,
}

impl Bucket {
    /// Adds a group.
    pub(crate) fn add(&mut self, group: usize, kind: AccessKind) {
        match kind {
            AccessKind::Read => self.reads.push(group),
            AccessKind::Write | AccessKind::Free => self.writes.push(group),
        }
    }

    /// Pairs that are to be compared.
    pub(crate) fn size(&self) -> usize {
        pairs(self.writes.len(), self.reads.len())
    }

    /// The pairs.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let others = |n: usize| self.writes[n..].iter().chain(&self.reads);
        let writes = self.writes.iter().enumerate();
        writes.flat_map(move |(n, a)| others(n).map(|b| (*a, *b)))
    }

    /// Leaves the likeliest, so many that there are at most so many pairs; says how many pairs are left out.
    pub(crate) fn cut(&mut self, share: usize, found: &TopDown, groups: &Groups<'_>) -> usize {
        let before = self.size();
        if before <= share {
            return 0;
        }
        let part = (share as f64 / before as f64).sqrt();
        let of = |all: &[usize]| (all.len() as f64 * part) as usize;
        let (mut writes, mut reads) = (of(&self.writes).max(1), of(&self.reads));
        while pairs(writes, reads) > share && (writes, reads) != (1, 0) {
            (writes, reads) = ((writes - 1).max(1), reads.saturating_sub(1));
        }
        likeliest(&mut self.writes, writes, found, groups);
        likeliest(&mut self.reads, reads, found, groups);
        before - self.size()
    }
}

fn pairs(writes: usize, reads: usize) -> usize {
    writes * (writes + 1) / 2 + writes * reads
}

/// Comparisons that a bucket may have.
pub(crate) fn share(mut sizes: Vec<usize>) -> usize {
    sizes.sort_unstable();
    let mut rest = ALL_COMPARISONS;
    for (n, size) in sizes.iter().enumerate() {
        let equal = rest / (sizes.len() - n);
        if *size > equal {
            return equal.min(COMPARISONS);
        }
        rest -= size;
    }
    COMPARISONS
}

/// Leaves so many: of each statement the likeliest group before any second one.
fn likeliest(all: &mut Vec<usize>, count: usize, found: &TopDown, groups: &Groups<'_>) {
    all.sort_by_cached_key(|n| (Reverse(rank::promise(found, groups.class(*n))), *n));
    let mut seen: FxHashMap<u32, usize> = FxHashMap::default();
    let mut turn = |group: &usize| {
        let times = groups.of_group(*group).iter().map(|s| {
            let times = seen.entry(s.line).or_default();
            *times += 1;
            *times
        });
        times.min().unwrap_or(0)
    };
    let turns: Vec<usize> = all.iter().map(&mut turn).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|n| turns[*n]);
    order.truncate(count);
    *all = order.into_iter().map(|n| all[n]).collect();
    all.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buckets_share_what_small_ones_leave() {
        assert_eq!(share(vec![5, COMPARISONS + 1, 7]), COMPARISONS);
        let large = vec![COMPARISONS; 2 * ALL_COMPARISONS / COMPARISONS];
        let each = share(large.clone());
        assert_eq!(each, COMPARISONS / 2);
        let small = [vec![each / 2; 2], large].concat();
        assert!(share(small.clone()) < each);
        let all: usize = small.iter().map(|size| share(small.clone()).min(*size)).sum();
        assert!(all <= ALL_COMPARISONS && all > ALL_COMPARISONS - small.len());
        assert_eq!(share(vec![]), COMPARISONS);
    }

    #[test]
    fn reads_are_compared_with_writes_alone() {
        let mut bucket = Bucket::default();
        for (group, kind) in [AccessKind::Read, AccessKind::Write, AccessKind::Read, AccessKind::Free]
            .into_iter()
            .enumerate()
        {
            bucket.add(group, kind);
        }
        let all: Vec<_> = bucket.pairs().collect();
        assert_eq!(all, [(1, 1), (1, 3), (1, 0), (1, 2), (3, 3), (3, 0), (3, 2)]);
        assert_eq!(bucket.size(), all.len());
    }
}
