//! The value of an expression under an assignment: the yardstick for simplifier and solvers.

use crate::expression::{Expr, Node, Op, Store, Symbol, Test, mask, signed};
use rustc_hash::FxHashMap;

/// Values of some symbols.
pub type Assignment = std::collections::BTreeMap<Symbol, u8>;

/// An operation on numbers of `width` bits, total as in SMT-LIB.
pub fn binary(op: Op, a: u64, b: u64, width: u32) -> u64 {
    let (sa, sb) = (signed(a, width), signed(b, width));
    let far = b >= u64::from(width);
    let value = match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Op::URem => a.checked_rem(b).unwrap_or(a),
        Op::SDiv if sb == 0 => {
            if sa < 0 {
                1
            } else {
                u64::MAX
            }
        }
        Op::SDiv => sa.wrapping_div(sb) as u64,
        Op::SRem if sb == 0 => a,
        Op::SRem => sa.wrapping_rem(sb) as u64,
        Op::Shl if far => 0,
        Op::Shl => a << b,
        Op::LShr if far => 0,
        Op::LShr => a >> b,
        Op::AShr => (sa >> b.min(63)) as u64,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
    };
    mask(value, width)
}

/// A comparison of numbers of `width` bits.
pub fn compare(test: Test, a: u64, b: u64, width: u32) -> bool {
    let (sa, sb) = (signed(a, width), signed(b, width));
    match test {
        Test::Eq => a == b,
        Test::Ult => a < b,
        Test::Ule => a <= b,
        Test::Slt => sa < sb,
        Test::Sle => sa <= sb,
    }
}

/// Evaluates expressions under one assignment, remembering the parts.
#[derive(Debug)]
pub struct Evaluation<'a, F> {
    store: &'a Store,
    symbol: F,
    known: FxHashMap<Expr, u64>,
}

impl<'a, F: Fn(Symbol) -> u8> Evaluation<'a, F> {
    /// `symbol` gives each symbol's value.
    pub fn new(store: &'a Store, symbol: F) -> Evaluation<'a, F> {
        Evaluation {
            store,
            symbol,
            known: FxHashMap::default(),
        }
    }

    /// The value.
    pub fn value(&mut self, expr: Expr) -> u64 {
        let mut pending = vec![expr];
        while let Some(next) = pending.last().copied() {
            if self.known.contains_key(&next) {
                pending.pop();
                continue;
            }
            let before = pending.len();
            pending.extend(self.store.operands(next).filter(|o| !self.known.contains_key(o)));
            if pending.len() == before {
                let value = self.step(next);
                self.known.insert(next, value);
                pending.pop();
            }
        }
        self.known[&expr]
    }

    fn step(&self, expr: Expr) -> u64 {
        let width = self.store.width(expr);
        let of = |e: Expr| self.known[&e];
        let value = match self.store.node(expr) {
            Node::Const(value) => value,
            Node::Symbol(symbol) => (self.symbol)(symbol).into(),
            Node::Binary(op, a, b) => binary(op, of(a), of(b), width),
            Node::Compare(test, a, b) => compare(test, of(a), of(b), self.store.width(a)).into(),
            Node::Not(a) => of(a) ^ 1,
            Node::ZeroExtend(a) => of(a),
            Node::SignExtend(a) => signed(of(a), self.store.width(a)) as u64,
            Node::Extract { of: a, low } => of(a) >> low,
            Node::Concat { high, low } => of(high) << self.store.width(low) | of(low),
            Node::IfThenElse(c, a, b) => of(if of(c) == 1 { a } else { b }),
        };
        mask(value, width)
    }
}
