//! The default back-end: circuits over the SAT solver batsat (a MiniSat in Rust, no unsafe interface, no C++
//! to build). Literals are assumptions, so learnt clauses serve later queries and cores come for free.
//!
//! The budget counts learnt clauses, one a conflict, and what is propagated on the way: in the circuits of long hashes a
//! conflict costs a thousand times what it does elsewhere. The solver is begun anew when its circuits have grown
//! beyond [`GATES`]: propagation slows down with everything ever asked.

use crate::bit_blast::{Bit, Circuits, Clauses};
use crate::evaluate::Assignment;
use crate::expression::{Node, Store};
use crate::solver::{Answer, Literal, Solver};
use batsat::{Callbacks, Lit, SolverInterface, Var, clause, lbool};
use rustc_hash::FxHashSet;
use std::cell::Cell;

/// Gates from which on a new solver is begun.
const GATES: usize = 30_000;
/// Propagations that a conflict of the budget pays for, besides a few of all gates.
const PROPAGATIONS: u64 = 200;
/// Conflicts between two looks at the propagations at first; each time twice as many.
const FIRST_LOOK: u64 = 64;

/// Counts conflicts.
#[derive(Default)]
struct Budget {
    used: u64,
    allowed: Cell<u64>,
}

impl Callbacks for Budget {
    fn on_new_clause(&mut self, _literals: &[Lit], kind: clause::Kind) {
        if kind == clause::Kind::Learnt {
            self.used += 1;
        }
    }

    fn stop(&self) -> bool {
        self.used > self.allowed.get()
    }
}

struct Sat {
    solver: batsat::Solver<Budget>,
    variables: Vec<Var>,
}

impl Sat {
    fn literal(&self, bit: Bit) -> Lit {
        Lit::new(self.variables[bit.unsigned_abs() as usize - 1], bit > 0)
    }
}

impl Sat {
    /// Solves with so many conflicts at most, and the propagations that these pay for.
    fn solve(&mut self, assumptions: &[Lit], budget: u64) -> lbool {
        let before = self.solver.num_propagations();
        let most = before + budget * PROPAGATIONS + 4 * self.variables.len() as u64;
        self.solver.cb_mut().used = 0;
        let mut look = FIRST_LOOK;
        loop {
            self.solver.cb_mut().allowed.set(look.min(budget));
            let verdict = self.solver.solve_limited(assumptions);
            if verdict != lbool::UNDEF || look >= budget || self.solver.num_propagations() > most {
                return verdict;
            }
            look *= 2;
        }
    }
}

impl Clauses for Sat {
    fn variable(&mut self) -> Bit {
        self.variables.push(self.solver.new_var_default());
        self.variables.len() as Bit
    }

    fn clause(&mut self, bits: &[Bit]) {
        let mut literals: Vec<Lit> = bits.iter().map(|bit| self.literal(*bit)).collect();
        self.solver.add_clause_reuse(&mut literals);
    }
}

/// See the module.
pub struct SatSolver {
    circuits: Circuits<Sat>,
    /// Solvers begun anew.
    pub rebuilt: u64,
    conflicts: u64,
    /// Propagations.
    propagated: u64,
}

impl Default for SatSolver {
    fn default() -> SatSolver {
        let solver = batsat::Solver::new(Default::default(), Budget::default());
        SatSolver {
            circuits: Circuits::new(Sat {
                solver,
                variables: Vec::new(),
            }),
            rebuilt: 0,
            conflicts: 0,
            propagated: 0,
        }
    }
}

impl std::fmt::Debug for SatSolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SatSolver")
            .field("gates", &self.circuits.gates())
            .finish()
    }
}

impl Solver for SatSolver {
    fn check(&mut self, store: &Store, literals: &[Literal], budget: u64) -> Answer {
        if self.circuits.gates() > GATES {
            *self = SatSolver {
                rebuilt: self.rebuilt + 1,
                conflicts: self.conflicts,
                propagated: self.propagated,
                ..SatSolver::default()
            };
        }
        let bits: Vec<Bit> = literals
            .iter()
            .map(|(expr, value)| {
                let bit = self.circuits.blast(store, *expr);
                if *value { bit } else { -bit }
            })
            .collect();
        let sat = &mut self.circuits.clauses;
        let assumptions: Vec<Lit> = bits.iter().map(|bit| sat.literal(*bit)).collect();
        let before = sat.solver.num_propagations();
        let verdict = sat.solve(&assumptions, budget);
        self.propagated += sat.solver.num_propagations() - before;
        self.conflicts += sat.solver.cb().used;
        if verdict == lbool::TRUE {
            return Answer::Sat(self.model(store, literals));
        }
        if verdict != lbool::FALSE {
            return Answer::Unknown;
        }
        let sat = &self.circuits.clauses;
        let core: FxHashSet<Lit> = sat.solver.unsat_core().iter().copied().collect();
        let mut positions: Vec<usize> = (0..literals.len())
            .filter(|n| core.contains(&assumptions[*n]) || core.contains(&!assumptions[*n]))
            .collect();
        // The same literal twice says no more than once.
        let mut seen = FxHashSet::default();
        positions.retain(|n| seen.insert(bits[*n]));
        Answer::Unsat(positions)
    }

    fn conflicts(&self) -> u64 {
        self.conflicts
    }

    fn effort(&self) -> u64 {
        self.conflicts + self.propagated / PROPAGATIONS
    }

    fn name(&self) -> &'static str {
        "batsat"
    }
}

impl SatSolver {
    fn model(&self, store: &Store, literals: &[Literal]) -> Assignment {
        let sat = &self.circuits.clauses;
        let mut model = Assignment::new();
        let mut pending: Vec<_> = literals.iter().map(|(expr, _)| *expr).collect();
        let mut seen = FxHashSet::default();
        while let Some(expr) = pending.pop() {
            if !seen.insert(expr) {
                continue;
            }
            if let (Node::Symbol(symbol), Some(bits)) = (store.node(expr), self.circuits.bits(expr)) {
                let value = bits.iter().enumerate().fold(0u8, |value, (n, bit)| {
                    let set = sat.solver.value_lit(sat.literal(*bit)) == lbool::TRUE;
                    value | u8::from(set) << n
                });
                model.insert(symbol, value);
            }
            pending.extend(store.operands(expr));
        }
        model
    }
}
