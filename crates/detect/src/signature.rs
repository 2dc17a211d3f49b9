//! Flagged granules, and how many to flag of one kind.
//!
//! A queue that hands blocks over gives the same false suspicion for every block. A signature (threads,
//! locksets and kinds of the pair, and the later statement) has a share of flags: a 32nd of it goes to
//! whoever comes first, an eighth to whoever comes first of all statements alike, the rest to one granule in
//! 256 by hash, so that a long run spreads it. What was cut is counted; a share of 0 flags all.

use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

/// Signatures that are told apart; the others share one share.
const SIGNATURES: usize = 1 << 18;
/// Granules flagged in all.
const GRANULES: usize = 1 << 22;

/// The granules flagged so far.
pub struct Flags {
    per_signature: u32,
    granules: HashSet<u64, FxBuildHasher>,
    used: HashMap<u64, u32, FxBuildHasher>,
    cut: u64,
}

impl Flags {
    /// No granule flagged; each signature may flag `per_signature` (0: any number).
    pub fn new(per_signature: u32) -> Flags {
        Flags {
            per_signature,
            granules: HashSet::default(),
            used: HashMap::default(),
            cut: 0,
        }
    }

    /// Whether the granule is flagged.
    pub fn contains(&self, granule: u64) -> bool {
        self.granules.contains(&granule)
    }

    /// Whether the granule is one of those that a signature may flag after its first.
    #[inline]
    pub fn samples(granule: u64) -> bool {
        (granule >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56 == 0
    }

    /// Flags a granule if its signature has something left; tells whether it did. `alike` is the signature
    /// without the statement.
    pub fn flag(&mut self, granule: u64, alike: u64, signature: u64) -> bool {
        if self.granules.len() >= GRANULES {
            self.cut += 1;
            return false;
        }
        if self.per_signature > 0 {
            let signature = signature & !1;
            let shared = self.used.len() >= SIGNATURES && !self.used.contains_key(&signature);
            let used = self.used.entry(if shared { 0 } else { signature }).or_default();
            let sampled = Flags::samples(granule);
            let mut first = *used < (self.per_signature / 32).max(1);
            let spent = *used >= self.per_signature;
            if !spent && !first && !sampled {
                // Odd numbers are of statements alike, so that the two kinds do not mix.
                let all = self.used.entry(alike | 1).or_default();
                first = *all < self.per_signature / 8;
                *all += u32::from(first);
            }
            if spent || !(first || sampled) {
                self.cut += 1;
                return false;
            }
            *self.used.entry(if shared { 0 } else { signature }).or_default() += 1;
        }
        self.granules.insert(granule)
    }

    /// The flagged granules, ascending.
    pub fn granules(&self) -> Vec<u64> {
        let mut granules: Vec<u64> = self.granules.iter().copied().collect();
        granules.sort_unstable();
        granules
    }

    /// How often a suspicious granule was not flagged.
    pub fn cut(&self) -> u64 {
        self.cut
    }
}
