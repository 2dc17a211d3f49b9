//! What the engine asks of a solver, and back-end independent parts of the answer.

use crate::evaluate::Assignment;
use crate::expression::{Expr, Store};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is an assignment under which all literals hold. Symbols that do not matter are left out.
    Sat(Assignment),
    /// There is none; these literals (positions in the query, ascending) suffice for that.
    Unsat(Vec<usize>),
    /// The budget ran out.
    Unknown,
}

/// A literal: an expression of one bit, and the value that it shall have.
pub type Literal = (Expr, bool);

/// A decision procedure for conjunctions of literals over one growing store.
///
/// A solver may keep what it learnt between queries. Answers are deterministic: the same queries in the
/// same order give the same answers; budgets are counts of steps, never times.
pub trait Solver {
    /// Decides the conjunction within about `budget` conflicts.
    fn check(&mut self, store: &Store, literals: &[Literal], budget: u64) -> Answer;

    /// Conflicts met so far; 0 if it does not tell.
    fn conflicts(&self) -> u64 {
        0
    }

    /// Work done so far, in conflicts, what is no conflict counted by what it costs beside one.
    fn effort(&self) -> u64 {
        self.conflicts()
    }

    /// The name that users read.
    fn name(&self) -> &'static str;
}

/// Shrinks an unsatisfiable set by serial deletion: each literal is left out once, and stays out if the rest
/// is still unsatisfiable. At most one query a literal; the result is minimal where no answer was unknown.
pub fn minimal_core(
    solver: &mut dyn Solver,
    store: &Store,
    literals: &[Literal],
    core: Vec<usize>,
    budget: u64,
) -> Vec<usize> {
    let mut kept = core;
    let mut at = 0;
    while at < kept.len() {
        let without: Vec<usize> = kept
            .iter()
            .enumerate()
            .filter(|(n, _)| *n != at)
            .map(|(_, l)| *l)
            .collect();
        let query: Vec<Literal> = without.iter().map(|l| literals[*l]).collect();
        match solver.check(store, &query, budget) {
            // What was already found necessary may turn out not to be in the smaller core: start there again.
            Answer::Unsat(smaller) => {
                let smaller: Vec<usize> = smaller.into_iter().map(|n| without[n]).collect();
                at = at.min(smaller.len());
                kept = smaller;
            }
            _ => at += 1,
        }
    }
    kept
}
