//! What is known of a value on a path: between which integers it lies, and whether it is 0.
//!
//! Facts tell apart what a callee did by what it gave back, and correlate one condition with another (RELAY's
//! conditional locking): a path on which two facts contradict each other is not taken.
//!
//! Invariant: `low <= high`, and neither is 0 where the value is not; bounds are those of comparisons with constants, so
//! that there are finitely many.

use crate::access_path::Path;
use crate::path_map::Held;
use deadheat_ir::Predicate;

/// An interval, perhaps without 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    low: i64,
    high: i64,
    not_zero: bool,
}

impl Held for Fact {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::empty()
    }
}

impl Fact {
    /// Nothing.
    pub const ANY: Fact = Fact::between(i64::MIN, i64::MAX);
    /// It is 0, false, or null.
    pub const ZERO: Fact = Fact::between(0, 0);
    /// It is not 0.
    pub const NON_ZERO: Fact = Fact {
        not_zero: true,
        ..Fact::ANY
    };
    /// It is below 0.
    pub const NEGATIVE: Fact = Fact::between(i64::MIN, -1);
    /// It is not below 0.
    pub const NOT_NEGATIVE: Fact = Fact::between(0, i64::MAX);

    const fn between(low: i64, high: i64) -> Fact {
        Fact {
            low,
            high,
            not_zero: low > 0 || high < 0,
        }
    }

    /// It is this.
    pub fn is(n: i64) -> Fact {
        Fact::between(n, n)
    }

    /// Whether anything is known.
    pub fn says_something(self) -> bool {
        self != Fact::ANY
    }

    /// The constant.
    pub fn constant(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    /// Both hold; none if they contradict each other.
    pub fn and(self, other: Fact) -> Option<Fact> {
        let not_zero = self.not_zero || other.not_zero;
        let (mut low, mut high) = (self.low.max(other.low), self.high.min(other.high));
        if not_zero {
            low += i64::from(low == 0);
            high -= i64::from(high == 0);
        }
        let not_zero = not_zero || low > 0 || high < 0;
        (low <= high).then_some(Fact { low, high, not_zero })
    }

    /// One of the two holds.
    pub fn or(self, other: Fact) -> Fact {
        Fact {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            not_zero: self.not_zero && other.not_zero,
        }
    }

    /// The class by which summaries are split: the signs that are possible.
    pub fn class(self) -> u8 {
        let zero = self.low <= 0 && self.high >= 0 && !self.not_zero;
        u8::from(self.low < 0) | u8::from(zero) << 1 | u8::from(self.high > 0) << 2
    }

    /// What `value predicate constant` says of the value; none if it cannot hold.
    pub fn of_comparison(predicate: Predicate, constant: i64) -> Option<Fact> {
        use Predicate::{Eq, Float, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        match (predicate, constant) {
            (Eq, n) => Some(Fact::is(n)),
            (Ne | Ugt, 0) | (Uge, 1) => Some(Fact::NON_ZERO),
            (Slt, n) => Some(Fact::between(i64::MIN, n.checked_sub(1)?)),
            (Sle, n) => Some(Fact::between(i64::MIN, n)),
            (Sgt, n) => Some(Fact::between(n.checked_add(1)?, i64::MAX)),
            (Sge, n) => Some(Fact::between(n, i64::MAX)),
            (Ult, 0) => None,
            (Ult, n @ 1..) => Some(Fact::between(0, n - 1)),
            (Ule, n @ 0..) => Some(Fact::between(0, n)),
            (Ne | Ugt | Uge | Ult | Ule | Float, _) => Some(Fact::ANY),
        }
    }

    /// Whether `constant predicate other` holds; none if that is not known.
    pub fn compare(predicate: Predicate, a: i64, b: i64) -> Option<bool> {
        use Predicate::{Eq, Float, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let (x, y) = (a as u64, b as u64);
        Some(match predicate {
            Eq => a == b,
            Ne => a != b,
            Slt => a < b,
            Sle => a <= b,
            Sgt => a > b,
            Sge => a >= b,
            Ult => x < y,
            Ule => x <= y,
            Ugt => x > y,
            Uge => x >= y,
            Float => return None,
        })
    }
}

/// The predicate that holds when this one does not.
pub fn negated(predicate: Predicate) -> Predicate {
    use Predicate::{Eq, Float, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    match predicate {
        Eq => Ne,
        Ne => Eq,
        Slt => Sge,
        Sge => Slt,
        Sgt => Sle,
        Sle => Sgt,
        Ult => Uge,
        Uge => Ult,
        Ugt => Ule,
        Ule => Ugt,
        Float => Float,
    }
}

/// The predicate with its operands exchanged.
pub fn exchanged(predicate: Predicate) -> Predicate {
    use Predicate::{Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    match predicate {
        Slt => Sgt,
        Sgt => Slt,
        Sle => Sge,
        Sge => Sle,
        Ult => Ugt,
        Ugt => Ult,
        Ule => Uge,
        Uge => Ule,
        same => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(fact: Fact, n: i64) -> bool {
        fact.and(Fact::is(n)).is_some()
    }

    proptest! {
        /// What a comparison says is never said of a value for which it does not hold.
        #[test]
        fn comparisons_are_sound(p in 0..11_usize, c in -3..9_i64, n in -4..9_i64) {
            use Predicate::*;
            let predicate = [Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge, Float][p];
            if Fact::compare(predicate, n, c) == Some(true) {
                prop_assert!(Fact::of_comparison(predicate, c).is_some_and(|f| holds(f, n)));
                prop_assert_eq!(Fact::compare(exchanged(predicate), c, n), Some(true));
                prop_assert_eq!(Fact::compare(negated(predicate), n, c), Some(false));
            }
        }

        /// Two comparisons contradict each other only where no value is left, apart from those that a hole would rule out.
        #[test]
        fn contradictions_are_sound(p in 0..10_usize, q in 0..10_usize, c in -3..4_i64, d in -3..4_i64, n in -4..5_i64) {
            use Predicate::*;
            let predicates = [Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge];
            if Fact::compare(predicates[p], n, c) == Some(true) && Fact::compare(predicates[q], n, d) == Some(true) {
                let both = Fact::of_comparison(predicates[p], c).zip(Fact::of_comparison(predicates[q], d));
                prop_assert!(both.and_then(|(f, g)| f.and(g)).is_some_and(|f| holds(f, n)));
            }
        }

        #[test]
        fn joins_and_meets_are_sound(a in -2..3_i64, b in -2..3_i64, n in -2..3_i64) {
            let (x, y) = (Fact::is(a), Fact::is(b));
            prop_assert!(!(holds(x, n) || holds(y, n)) || holds(x.or(y), n));
            prop_assert_eq!(x.and(y).is_some(), a == b);
        }
    }
}
