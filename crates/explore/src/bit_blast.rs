//! Circuits of expressions: each expression becomes one literal a bit, each gate a few clauses.
//!
//! Gates are shared (structural hashing) and constants folded through them. Adders ripple, multipliers add
//! shifted rows, dividers restore; facts of the field say that multiplication chains are hard whatever the
//! encoding, so the encodings are the small ones. Cost: linear in the width, quadratic for multiplication
//! and division.

use crate::expression::{Expr, Node, Op, Store, Test};
use rustc_hash::FxHashMap;

/// A literal of a clause: a variable's number from 1 on, negative for its negation.
pub type Bit = i32;

/// Where clauses go.
pub trait Clauses {
    /// A new variable, numbered from 1 on.
    fn variable(&mut self) -> Bit;
    /// Adds a clause.
    fn clause(&mut self, bits: &[Bit]);
}

/// The circuits of one store.
#[derive(Debug)]
pub struct Circuits<C> {
    /// The clauses' receiver.
    pub clauses: C,
    truth: Bit,
    ands: FxHashMap<(Bit, Bit), Bit>,
    xors: FxHashMap<(Bit, Bit), Bit>,
    known: FxHashMap<Expr, Box<[Bit]>>,
}

impl<C: Clauses> Circuits<C> {
    /// No circuits yet.
    pub fn new(mut clauses: C) -> Circuits<C> {
        let truth = clauses.variable();
        clauses.clause(&[truth]);
        Circuits {
            clauses,
            truth,
            ands: FxHashMap::default(),
            xors: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// Gates so far.
    pub fn gates(&self) -> usize {
        self.ands.len() + self.xors.len()
    }

    /// The bits of an expression whose circuit exists, lowest first.
    pub fn bits(&self, expr: Expr) -> Option<&[Bit]> {
        self.known.get(&expr).map(|bits| &**bits)
    }

    /// Makes the circuit of an expression and returns its lowest bit.
    pub fn blast(&mut self, store: &Store, root: Expr) -> Bit {
        let mut pending = vec![root];
        while let Some(expr) = pending.last().copied() {
            if self.known.contains_key(&expr) {
                pending.pop();
                continue;
            }
            let before = pending.len();
            pending.extend(store.operands(expr).filter(|o| !self.known.contains_key(o)));
            if pending.len() == before {
                let bits = self.circuit(store, expr);
                debug_assert_eq!(bits.len(), store.width(expr) as usize);
                self.known.insert(expr, bits.into());
                pending.pop();
            }
        }
        self.known[&root][0]
    }

    fn circuit(&mut self, store: &Store, expr: Expr) -> Vec<Bit> {
        let width = store.width(expr) as usize;
        let (t, f) = (self.truth, -self.truth);
        let of = |this: &Self, e: Expr| this.known[&e].to_vec();
        match store.node(expr) {
            Node::Const(value) => (0..width).map(|n| if value >> n & 1 == 1 { t } else { f }).collect(),
            Node::Symbol(_) => (0..width).map(|_| self.clauses.variable()).collect(),
            Node::Binary(op, a, b) => {
                let (x, y) = (of(self, a), of(self, b));
                match op {
                    Op::Add => self.sum(&x, &y, f).0,
                    Op::Sub => self.difference(&x, &y).0,
                    Op::Mul => self.product(&x, &y),
                    Op::UDiv => self.quotient(&x, &y).0,
                    Op::URem => self.quotient(&x, &y).1,
                    Op::SDiv | Op::SRem => self.signed_quotient(op, &x, &y),
                    Op::Shl => self.shift(&x, &y, true, f),
                    Op::LShr => self.shift(&x, &y, false, f),
                    Op::AShr => self.shift(&x, &y, false, x[width - 1]),
                    Op::And => x.iter().zip(&y).map(|(x, y)| self.and(*x, *y)).collect(),
                    Op::Or => x.iter().zip(&y).map(|(x, y)| self.or(*x, *y)).collect(),
                    Op::Xor => x.iter().zip(&y).map(|(x, y)| self.xor(*x, *y)).collect(),
                }
            }
            Node::Compare(test, a, b) => {
                let (x, y) = (of(self, a), of(self, b));
                vec![self.test(test, x, y)]
            }
            Node::Not(a) => vec![-of(self, a)[0]],
            Node::ZeroExtend(a) => {
                let mut x = of(self, a);
                x.resize(width, f);
                x
            }
            Node::SignExtend(a) => {
                let mut x = of(self, a);
                let sign = x[x.len() - 1];
                x.resize(width, sign);
                x
            }
            Node::Extract { of: a, low } => of(self, a)[low as usize..low as usize + width].to_vec(),
            Node::Concat { high, low } => {
                let mut x = of(self, low);
                x.extend(of(self, high));
                x
            }
            Node::IfThenElse(c, a, b) => {
                let c = of(self, c)[0];
                let (x, y) = (of(self, a), of(self, b));
                self.choose(c, &x, &y)
            }
        }
    }

    fn test(&mut self, test: Test, mut x: Vec<Bit>, mut y: Vec<Bit>) -> Bit {
        if matches!(test, Test::Slt | Test::Sle) {
            // Signed order is unsigned order with the signs turned.
            for word in [&mut x, &mut y] {
                if let Some(sign) = word.last_mut() {
                    *sign = -*sign;
                }
            }
        }
        match test {
            Test::Eq => {
                let mut all = self.truth;
                for (x, y) in x.iter().zip(&y) {
                    let same = -self.xor(*x, *y);
                    all = self.and(all, same);
                }
                all
            }
            // x < y exactly if x - y borrows.
            Test::Ult | Test::Slt => -self.difference(&x, &y).1,
            Test::Ule | Test::Sle => self.difference(&y, &x).1,
        }
    }

    fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let t = self.truth;
        if a == -t || b == -t || a == -b {
            return -t;
        }
        if a == t || a == b {
            return b;
        }
        if b == t {
            return a;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.ands.get(&key) {
            return *known;
        }
        let r = self.clauses.variable();
        self.clauses.clause(&[-r, a]);
        self.clauses.clause(&[-r, b]);
        self.clauses.clause(&[r, -a, -b]);
        self.ands.insert(key, r);
        r
    }

    fn or(&mut self, a: Bit, b: Bit) -> Bit {
        -self.and(-a, -b)
    }

    fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let t = self.truth;
        match (a, b) {
            _ if a == t => return -b,
            _ if a == -t => return b,
            _ if b == t => return -a,
            _ if b == -t => return a,
            _ if a == b => return -t,
            _ if a == -b => return t,
            _ => {}
        }
        let negated = (a < 0) != (b < 0);
        let (x, y) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
        let r = match self.xors.get(&(x, y)) {
            Some(known) => *known,
            None => {
                let r = self.clauses.variable();
                self.clauses.clause(&[-r, x, y]);
                self.clauses.clause(&[-r, -x, -y]);
                self.clauses.clause(&[r, -x, y]);
                self.clauses.clause(&[r, x, -y]);
                self.xors.insert((x, y), r);
                r
            }
        };
        if negated { -r } else { r }
    }

    fn choose_bit(&mut self, c: Bit, a: Bit, b: Bit) -> Bit {
        if a == b || c == self.truth {
            return a;
        }
        if c == -self.truth {
            return b;
        }
        let (x, y) = (self.and(c, a), self.and(-c, b));
        self.or(x, y)
    }

    fn choose(&mut self, c: Bit, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        a.iter().zip(b).map(|(a, b)| self.choose_bit(c, *a, *b)).collect()
    }

    /// Sum and carry.
    fn sum(&mut self, a: &[Bit], b: &[Bit], mut carry: Bit) -> (Vec<Bit>, Bit) {
        let mut out = Vec::with_capacity(a.len());
        for (a, b) in a.iter().zip(b) {
            let half = self.xor(*a, *b);
            out.push(self.xor(half, carry));
            let (both, passed) = (self.and(*a, *b), self.and(half, carry));
            carry = self.or(both, passed);
        }
        (out, carry)
    }

    /// Difference, and whether there was no borrow.
    fn difference(&mut self, a: &[Bit], b: &[Bit]) -> (Vec<Bit>, Bit) {
        let inverse: Vec<Bit> = b.iter().map(|b| -b).collect();
        self.sum(a, &inverse, self.truth)
    }

    fn negated(&mut self, a: &[Bit]) -> Vec<Bit> {
        let zero = vec![-self.truth; a.len()];
        self.difference(&zero, a).0
    }

    fn product(&mut self, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        let (width, f) = (a.len(), -self.truth);
        // Rows for the operand with fewer bits that may be one.
        let live = |x: &[Bit]| x.iter().filter(|bit| **bit != f).count();
        let (a, b) = if live(a) < live(b) { (b, a) } else { (a, b) };
        let mut total = vec![f; width];
        for n in 0..width {
            if b[n] == f {
                continue;
            }
            let row: Vec<Bit> = (0..width)
                .map(|m| if m < n { f } else { self.and(a[m - n], b[n]) })
                .collect();
            total = self.sum(&total, &row, f).0;
        }
        total
    }

    /// Quotient and remainder; a zero divisor gives all ones and the dividend.
    fn quotient(&mut self, a: &[Bit], b: &[Bit]) -> (Vec<Bit>, Vec<Bit>) {
        let (width, f) = (a.len(), -self.truth);
        let mut rest = vec![f; width + 1];
        let mut divisor = b.to_vec();
        divisor.push(f);
        let mut out = vec![f; width];
        for n in (0..width).rev() {
            rest.pop();
            rest.insert(0, a[n]);
            let (less, fits) = self.difference(&rest, &divisor);
            out[n] = fits;
            rest = self.choose(fits, &less, &rest);
        }
        rest.truncate(width);
        (out, rest)
    }

    /// By magnitudes; SMT-LIB's values for a zero divisor come out of the unsigned ones.
    fn signed_quotient(&mut self, op: Op, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        let (sign_a, sign_b) = (a[a.len() - 1], b[b.len() - 1]);
        let (minus_a, minus_b) = (self.negated(a), self.negated(b));
        let x = self.choose(sign_a, &minus_a, a);
        let y = self.choose(sign_b, &minus_b, b);
        let (quotient, rest) = self.quotient(&x, &y);
        let (value, sign) = match op {
            Op::SDiv => (quotient, self.xor(sign_a, sign_b)),
            _ => (rest, sign_a),
        };
        let minus = self.negated(&value);
        self.choose(sign, &minus, &value)
    }

    fn shift(&mut self, a: &[Bit], by: &[Bit], left: bool, fill: Bit) -> Vec<Bit> {
        let width = a.len();
        let mut out = a.to_vec();
        for (n, &stage) in by.iter().enumerate() {
            // Stages beyond the width push everything out.
            let distance = if n < 7 { 1usize << n } else { width };
            let moved: Vec<Bit> = (0..width)
                .map(|m| {
                    if left {
                        m.checked_sub(distance).map_or(fill, |from| out[from])
                    } else {
                        out.get(m + distance).copied().unwrap_or(fill)
                    }
                })
                .collect();
            out = self.choose(stage, &moved, &out);
        }
        out
    }
}
