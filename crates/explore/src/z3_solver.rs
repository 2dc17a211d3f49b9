//! The second back-end: system Z3, behind the feature `z3`. It is there to check the first against, and for
//! whoever has formulas that it is better at.

use crate::evaluate::Assignment;
use crate::expression::{Expr, Node, Op, Store, Symbol, Test};
use crate::solver::{Answer, Literal, Solver};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use z3::ast::{BV, Bool};
use z3::{Params, SatResult};

/// Z3's resource units in one conflict, about.
const UNITS: u64 = 3_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Z3Solver {
    known: FxHashMap<Expr, BV>,
}

fn name(symbol: Symbol) -> String {
    format!("s{}_{}", symbol.source, symbol.offset)
}

fn bit(condition: &Bool) -> BV {
    condition.ite(&BV::from_u64(1, 1), &BV::from_u64(0, 1))
}

impl Z3Solver {
    fn term(&mut self, store: &Store, root: Expr) -> BV {
        let mut pending = vec![root];
        while let Some(expr) = pending.last().copied() {
            if self.known.contains_key(&expr) {
                pending.pop();
                continue;
            }
            let before = pending.len();
            pending.extend(store.operands(expr).filter(|o| !self.known.contains_key(o)));
            if pending.len() == before {
                let term = self.step(store, expr);
                self.known.insert(expr, term);
                pending.pop();
            }
        }
        self.known[&root].clone()
    }

    fn step(&self, store: &Store, expr: Expr) -> BV {
        let width = store.width(expr);
        let of = |e: Expr| &self.known[&e];
        match store.node(expr) {
            Node::Const(value) => BV::from_u64(value, width),
            Node::Symbol(symbol) => BV::new_const(name(symbol), 8),
            Node::Binary(op, a, b) => {
                let (a, b) = (of(a), of(b));
                match op {
                    Op::Add => a.bvadd(b),
                    Op::Sub => a.bvsub(b),
                    Op::Mul => a.bvmul(b),
                    Op::UDiv => a.bvudiv(b),
                    Op::SDiv => a.bvsdiv(b),
                    Op::URem => a.bvurem(b),
                    Op::SRem => a.bvsrem(b),
                    Op::Shl => a.bvshl(b),
                    Op::LShr => a.bvlshr(b),
                    Op::AShr => a.bvashr(b),
                    Op::And => a.bvand(b),
                    Op::Or => a.bvor(b),
                    Op::Xor => a.bvxor(b),
                }
            }
            Node::Compare(test, a, b) => {
                let (a, b) = (of(a), of(b));
                bit(&match test {
                    Test::Eq => a.eq(b),
                    Test::Ult => a.bvult(b),
                    Test::Ule => a.bvule(b),
                    Test::Slt => a.bvslt(b),
                    Test::Sle => a.bvsle(b),
                })
            }
            Node::Not(a) => of(a).bvnot(),
            Node::ZeroExtend(a) => of(a).zero_ext(width - store.width(a)),
            Node::SignExtend(a) => of(a).sign_ext(width - store.width(a)),
            Node::Extract { of: a, low } => of(a).extract(low + width - 1, low),
            Node::Concat { high, low } => of(high).concat(of(low)),
            Node::IfThenElse(c, a, b) => of(c).eq(BV::from_u64(1, 1)).ite(of(a), of(b)),
        }
    }
}

impl Solver for Z3Solver {
    fn check(&mut self, store: &Store, literals: &[Literal], budget: u64) -> Answer {
        let solver = z3::Solver::new();
        let mut parameters = Params::new();
        parameters.set_u32("rlimit", budget.saturating_mul(UNITS).min(u32::MAX.into()) as u32);
        solver.set_params(&parameters);
        let tracked: Vec<Bool> = (0..literals.len()).map(|n| Bool::new_const(format!("l{n}"))).collect();
        for (n, (expr, value)) in literals.iter().enumerate() {
            let holds = self.term(store, *expr).eq(BV::from_u64((*value).into(), 1));
            solver.assert_and_track(holds, &tracked[n]);
        }
        match solver.check() {
            SatResult::Unknown => Answer::Unknown,
            SatResult::Unsat => {
                let core = solver.get_unsat_core();
                Answer::Unsat((0..tracked.len()).filter(|n| core.contains(&tracked[*n])).collect())
            }
            SatResult::Sat => {
                let Some(model) = solver.get_model() else {
                    return Answer::Unknown;
                };
                let symbols: BTreeSet<Symbol> = literals
                    .iter()
                    .flat_map(|(e, _)| store.symbols(*e).iter().copied().collect::<Vec<_>>())
                    .collect();
                let mut assignment = Assignment::new();
                for symbol in symbols {
                    let value = model
                        .eval(&BV::new_const(name(symbol), 8), true)
                        .and_then(|v| v.as_u64());
                    assignment.insert(symbol, value.unwrap_or(0) as u8);
                }
                Answer::Sat(assignment)
            }
        }
    }

    fn name(&self) -> &'static str {
        "z3"
    }
}
