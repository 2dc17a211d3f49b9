//! What is known of a value on a path: its sign and, if it is a constant, which.
//!
//! Facts tell apart what a callee did by what it gave back, and correlate one condition with another (RELAY's
//! conditional locking): a path on which two facts contradict each other is not taken.

use crate::access_path::Path;
use crate::path_map::Held;
use deadheat_ir::Predicate;

/// Possible signs, and a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    signs: u8,
    equal: Option<i64>,
}

const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 4;
const ALL: u8 = 7;

impl Held for Fact {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::empty()
    }
}

impl Fact {
    /// Nothing.
    pub const ANY: Fact = Fact {
        signs: ALL,
        equal: None,
    };
    /// It is 0, false, or null.
    pub const ZERO: Fact = Fact {
        signs: ZERO,
        equal: Some(0),
    };
    /// It is not 0.
    pub const NON_ZERO: Fact = Fact {
        signs: NEGATIVE | POSITIVE,
        equal: None,
    };
    /// It is below 0.
    pub const NEGATIVE: Fact = Fact {
        signs: NEGATIVE,
        equal: None,
    };
    /// It is not below 0.
    pub const NOT_NEGATIVE: Fact = Fact {
        signs: ZERO | POSITIVE,
        equal: None,
    };

    /// It is this.
    pub fn is(n: i64) -> Fact {
        let signs = match n.signum() {
            -1 => NEGATIVE,
            0 => ZERO,
            _ => POSITIVE,
        };
        Fact { signs, equal: Some(n) }
    }

    /// Whether anything is known.
    pub fn says_something(self) -> bool {
        self != Fact::ANY
    }

    /// The constant.
    pub fn constant(self) -> Option<i64> {
        self.equal
    }

    /// Both hold; none if they contradict each other.
    pub fn and(self, other: Fact) -> Option<Fact> {
        let signs = self.signs & other.signs;
        if signs == 0 || matches!((self.equal, other.equal), (Some(a), Some(b)) if a != b) {
            return None;
        }
        let equal = self.equal.or(other.equal);
        // Of the integers only 0 has the sign 0.
        Some(if signs == ZERO {
            Fact::ZERO
        } else {
            Fact { signs, equal }
        })
    }

    /// One of the two holds.
    pub fn or(self, other: Fact) -> Fact {
        Fact {
            signs: self.signs | other.signs,
            equal: self.equal.filter(|n| other.equal == Some(*n)),
        }
    }

    /// The class by which summaries are split.
    pub fn class(self) -> u8 {
        self.signs
    }

    /// What `value predicate constant` says of the value; none if it cannot hold.
    pub fn of_comparison(predicate: Predicate, constant: i64) -> Option<Fact> {
        let signs = |signs| Some(Fact { signs, equal: None });
        use Predicate::{Eq, Float, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        match (predicate, constant) {
            (Eq, n) => Some(Fact::is(n)),
            (Ne | Ugt, 0) | (Uge, 1) => Some(Fact::NON_ZERO),
            (Ult, 0) => None,
            (Ule, 0) | (Ult, 1) => Some(Fact::ZERO),
            (Slt, n) if n <= 0 => signs(NEGATIVE),
            (Sle, n) if n < 0 => signs(NEGATIVE),
            (Slt, 1) | (Sle, 0) => signs(NEGATIVE | ZERO),
            (Sgt, n) if n >= 0 => signs(POSITIVE),
            (Sge, n) if n > 0 => signs(POSITIVE),
            (Sgt, -1) | (Sge, 0) => signs(ZERO | POSITIVE),
            (Ne | Ugt | Uge | Ult | Ule | Slt | Sle | Sgt | Sge | Float, _) => Some(Fact::ANY),
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
        fn comparisons_are_sound(p in 0..11_usize, c in -3..4_i64, n in -4..5_i64) {
            use Predicate::*;
            let predicate = [Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge, Float][p];
            if Fact::compare(predicate, n, c) == Some(true) {
                prop_assert!(Fact::of_comparison(predicate, c).is_some_and(|f| holds(f, n)));
                prop_assert_eq!(Fact::compare(exchanged(predicate), c, n), Some(true));
                prop_assert_eq!(Fact::compare(negated(predicate), n, c), Some(false));
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
