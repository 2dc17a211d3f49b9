//! Spin loops on atomics: a thread whose atomic operations change nothing and see nothing new.
//!
//! After [`ROUNDS`] operations in a row that found only (address, value) pairs already seen, the thread
//! loses its turn; if it looked at one address only, until that changes. A failed compare-exchange or an
//! exchange that finds the same value again counts as such an operation; a store does not.

use deadheat_model::SiteKind;

/// Operations in a row that make a spin.
const ROUNDS: u32 = 64;
/// Addresses that a spin loop may look at.
const WIDTH: usize = 4;

/// What a thread's last atomic operations saw.
#[derive(Clone, Copy, Default)]
pub struct Spin {
    seen: [(u64, u64); WIDTH],
    count: usize,
    rounds: u32,
    /// Which of `seen` were seen by a load.
    loads: u8,
    /// Whether the last operation was a load that found another value than an earlier one did: its thread waited.
    pub waited: bool,
}

/// A spin: the address to wait for, if there is one.
pub type Lost = Option<u64>;

impl Spin {
    /// An operation is about to be made on `address`, which holds `value`. Says whether the thread spins.
    pub fn operation(&mut self, kind: SiteKind, address: u64, value: u64) -> Option<Lost> {
        self.waited = kind == SiteKind::AtomicLoad && self.changed(address, value);
        if kind == SiteKind::AtomicStore {
            self.progress();
            return None;
        }
        if !self.seen[..self.count].contains(&(address, value)) {
            if self.count == WIDTH {
                self.count = 0;
            }
            // A new value at an address already seen is progress; a further address need not be.
            if self.seen[..self.count].iter().any(|s| s.0 == address) {
                self.progress();
            }
            self.seen[self.count] = (address, value);
            self.loads &= !(1 << self.count);
            self.loads |= u8::from(kind == SiteKind::AtomicLoad) << self.count;
            self.count += 1;
            self.rounds = 0;
            return None;
        }
        self.rounds += 1;
        if self.rounds < ROUNDS {
            return None;
        }
        self.rounds = 0;
        Some((self.count == 1).then_some(address))
    }

    /// Whether an earlier load found another value there.
    fn changed(&self, address: u64, value: u64) -> bool {
        let seen = self.seen[..self.count].iter().enumerate();
        seen.rev()
            .any(|(n, s)| s.0 == address && s.1 != value && self.loads & 1 << n != 0)
    }

    /// The thread changed something.
    pub fn progress(&mut self) {
        self.count = 0;
        self.rounds = 0;
    }
}
