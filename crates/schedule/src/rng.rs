//! Random numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). Consecutive seeds give unrelated streams,
//! so that seeds may be counted up.

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True or false, evenly.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 != 0
    }

    /// True `of` times in `in_all`.
    pub fn chance(&mut self, of: u64, in_all: u64) -> bool {
        self.below(in_all) < of
    }
}
