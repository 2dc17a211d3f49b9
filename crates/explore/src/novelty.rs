//! What is new about a path, and when further paths only repeat what is known.
//!
//! A *side* is a branch with the value of its condition; a *turn* is a side at the so-manieth time that a path
//! comes to the branch: the third digit of a number is not its first. The *way* of a path through the program is
//! the set of its turns in the program's own code. Branches in models of library functions are no part of it, so
//! that the thousands of paths through `atoi` are one way for each that the program itself goes.
//!
//! Inputs that turn a branch of a model, or go a way that is known, are *repetitions*: worked off last, and
//! only as long as they show something. After [`BARREN`] of them in a row without a new turn, a new way or a
//! discovery that the caller tells of, the next one shows something with a probability below 5 % (the rule of
//! three, 3/60, where the missing mass by Good and Turing is estimated with no singleton seen).

use crate::expression::mixed;
use crate::path::{Constraint, Kind};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// One way out of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Side {
    /// The branch.
    pub site: u64,
    /// Its condition's value.
    pub taken: bool,
}

impl Side {
    /// The side that a path took.
    pub fn of(c: &Constraint) -> Side {
        Side {
            site: c.site,
            taken: c.taken,
        }
    }

    /// The other one.
    pub fn other(self) -> Side {
        Side {
            taken: !self.taken,
            ..self
        }
    }
}

/// A side, at the so-manieth time that a path comes to the branch. Times beyond [`TIMES`] are told apart by their
/// logarithm, but for the lengths of inputs, which are asked byte by byte.
pub type Turn = (Side, u32);

/// Times that are told apart.
const TIMES: u32 = 16;

/// Repetitions in a row that may bring nothing.
pub const BARREN: u32 = 60;

/// Counts how often a path comes to each branch.
#[derive(Debug, Default)]
pub struct Times(FxHashMap<u64, u32>);

impl Times {
    /// The turn that the path took at its next constraint.
    pub fn turn(&mut self, c: &Constraint) -> Turn {
        let times = self.0.entry(c.site).or_default();
        let is_exact = *times < TIMES || c.kind == Kind::Length;
        let bucket = if is_exact { *times } else { TIMES + times.ilog2() };
        *times += 1;
        (Side::of(c), bucket)
    }
}

/// Which branches are the program's own.
#[derive(Clone, Debug, Default)]
pub enum Own {
    /// All.
    #[default]
    All,
    /// Those at these sites.
    Sites(FxHashSet<u64>),
}

impl Own {
    /// Whether a constraint stands in the program's own code. Models divide by nothing that is input.
    pub fn has(&self, c: &Constraint) -> bool {
        match (c.kind, self) {
            (Kind::Branch | Kind::Decided, Own::Sites(sites)) => sites.contains(&c.site),
            (Kind::Branch | Kind::Decided | Kind::Divisor, _) => true,
            _ => false,
        }
    }
}

/// The way of a path up to some point: the set of turns, whatever their order.
#[derive(Debug, Default)]
pub struct Way {
    turns: FxHashSet<Turn>,
    hash: u64,
}

impl Way {
    /// The hash of the way so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The hash of the way with one more turn.
    pub fn with(&self, turn: Turn) -> u64 {
        if self.turns.contains(&turn) {
            return self.hash;
        }
        let mut hasher = FxHasher::default();
        turn.hash(&mut hasher);
        self.hash.wrapping_add(mixed(hasher.finish()))
    }

    /// Goes on; the hash.
    pub fn take(&mut self, turn: Turn) -> u64 {
        self.hash = self.with(turn);
        self.turns.insert(turn);
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_a_set_of_turns() {
        let turn = |site, taken, times| (Side { site, taken }, times);
        let (a, b, c) = (turn(1, true, 0), turn(2, false, 0), turn(2, false, 17));
        let way = |turns: &[Turn]| {
            let mut way = Way::default();
            turns.iter().fold(0, |_, turn| way.take(*turn))
        };
        assert_eq!(way(&[a, b, c]), way(&[c, b, a, b]));
        assert_ne!(way(&[a, b]), way(&[a, c]));
        assert_ne!(way(&[a]), way(&[]));
    }
}
