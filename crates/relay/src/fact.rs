//! What is known of a value on a path: between which integers it lies, and among which of these it is not, such as 0.
//!
//! Facts tell apart what a callee did by what it gave back, and correlate one condition with another (RELAY's
//! conditional locking): a path on which two facts contradict each other is not taken.
//!
//! Invariant: `low <= high`, and a hole lies between them; bounds are those of comparisons with constants, so that there
//! are finitely many.

use crate::access_path::Path;
use crate::path_map::Held;
use deadheat_ir::Predicate;
use serde::{Deserialize, Serialize};

/// An interval, perhaps with a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fact {
    low: i64,
    high: i64,
    /// The first and the last integer of those between that it is not.
    hole: Option<(i64, i64)>,
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
        hole: Some((0, 0)),
        ..Fact::ANY
    };
    /// It is below 0.
    pub const NEGATIVE: Fact = Fact::between(i64::MIN, -1);
    /// It is not below 0.
    pub const NOT_NEGATIVE: Fact = Fact::between(0, i64::MAX);

    const fn between(low: i64, high: i64) -> Fact {
        Fact { low, high, hole: None }
    }

    /// It is none of those from the first to the last.
    pub fn outside(first: i64, last: i64) -> Option<Fact> {
        let hole = Some((first, last)).filter(|_| first <= last);
        Fact { hole, ..Fact::ANY }.tight()
    }

    /// The same with a hole that lies between the bounds; none if nothing is left.
    fn tight(mut self) -> Option<Fact> {
        if let Some((first, last)) = self.hole {
            if first <= self.low && self.low <= last {
                self.low = last.checked_add(1)?;
            }
            if first <= self.high && self.high <= last {
                self.high = first.checked_sub(1)?;
            }
            self.hole = self.hole.filter(|_| self.low < first && last < self.high);
        }
        (self.low <= self.high).then_some(self)
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

    /// Both hold; none if they contradict each other. Of two holes apart the one at 0 is kept, else the first fact's.
    pub fn and(self, other: Fact) -> Option<Fact> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        let within = |hole: Option<(i64, i64)>| Fact { low, high, hole }.tight();
        let (a, b) = (within(self.hole)?, within(other.hole)?);
        let (low, high) = (a.low.max(b.low), a.high.min(b.high));
        let hole = match (a.hole, b.hole) {
            (Some(x), Some(y)) if x.0 <= y.1.saturating_add(1) && y.0 <= x.1.saturating_add(1) => {
                Some((x.0.min(y.0), x.1.max(y.1)))
            }
            (Some(_), Some(y)) if y.0 <= 0 && 0 <= y.1 => Some(y),
            (x, y) => x.or(y),
        };
        Fact { low, high, hole }.tight()
    }

    /// What it is not, in order.
    fn excluded(self) -> impl Iterator<Item = (i64, i64)> {
        let below = (self.low > i64::MIN).then(|| (i64::MIN, self.low - 1));
        let above = (self.high < i64::MAX).then(|| (self.high + 1, i64::MAX));
        below.into_iter().chain(self.hole).chain(above)
    }

    /// One of the two holds. Of several holes the one at 0 is kept, else the first.
    pub fn or(self, other: Fact) -> Fact {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        let both = |x: (i64, i64)| other.excluded().map(move |y| (x.0.max(y.0), x.1.min(y.1)));
        let inside = |hole: &(i64, i64)| hole.0 <= hole.1 && low < hole.0 && hole.1 < high;
        let holes = || self.excluded().flat_map(both).filter(inside);
        let hole = holes()
            .find(|hole| hole.0 <= 0 && 0 <= hole.1)
            .or_else(|| holes().next());
        Fact { low, high, hole }
    }

    /// The class by which summaries are split: the signs that are possible.
    pub fn class(self) -> u8 {
        let zero = self.low <= 0 && self.high >= 0 && !self.hole.is_some_and(|(first, last)| first <= 0 && 0 <= last);
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

        /// With holes, too, what is excluded by a meet or a join is excluded by what it is made of.
        #[test]
        fn holes_are_sound(holes in proptest::collection::vec((-3..4_i64, 0..3_i64), 3), n in -5..6_i64) {
            let outside: Vec<Fact> = holes.iter().filter_map(|(at, length)| Fact::outside(*at, at + length)).collect();
            let not = |k: usize| n < holes[k].0 || n > holes[k].0 + holes[k].1;
            prop_assert!((0..3).all(|k| holds(outside[k], n) == not(k)));
            let meet = outside[0].and(outside[1]);
            prop_assert!(!(not(0) && not(1)) || meet.is_some_and(|f| holds(f, n)));
            let join = meet.map(|f| f.or(outside[2].and(Fact::between(-2, 2)).unwrap_or(f)));
            prop_assert!(!(not(0) && not(1)) || join.is_some_and(|f| holds(f, n)));
            prop_assert!(!(not(2) && (-2..3).contains(&n) && meet.is_some()) || join.is_some_and(|f| holds(f, n)));
        }

        #[test]
        fn joins_and_meets_are_sound(a in -2..3_i64, b in -2..3_i64, n in -2..3_i64) {
            let (x, y) = (Fact::is(a), Fact::is(b));
            prop_assert!(!(holds(x, n) || holds(y, n)) || holds(x.or(y), n));
            prop_assert_eq!(x.and(y).is_some(), a == b);
        }
    }
}
