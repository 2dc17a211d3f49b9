//! Making expressions: constants folded, the common forms of compiled C brought to one shape.
//!
//! The rules are those that traces of real code ask for: bytes joined and taken apart again by loads and
//! stores, booleans widened to `int` and compared with zero, comparisons of widened bytes with constants.
//! Each rule makes the expression smaller or leaves its size; none looks deeper than two levels, so making
//! an expression costs a constant number of steps.

use crate::evaluate::{binary, compare};
use crate::expression::{Expr, Node, Op, Store, Symbol, Test, mask, signed};

/// Whether each bit of the result depends on the operands' bits at its place alone.
fn by_bits(op: Op) -> bool {
    matches!(op, Op::And | Op::Or | Op::Xor)
}

/// Whether the low bits of the result depend on the operands' low bits alone.
fn by_low_bits(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul)
}

impl Store {
    /// A constant.
    pub fn constant_of(&mut self, value: u64, width: u32) -> Expr {
        self.intern(Node::Const(mask(value, width)), width)
    }

    /// One byte of input.
    pub fn symbol(&mut self, symbol: Symbol) -> Expr {
        self.intern(Node::Symbol(symbol), 8)
    }

    /// An operation; both operands have the same width.
    pub fn binary(&mut self, op: Op, mut a: Expr, mut b: Expr) -> Expr {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        let commutes = matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor);
        // Constants stand on the right, else the older operand on the left.
        if commutes && (self.constant(a).is_some(), a) > (self.constant(b).is_some(), b) && self.constant(b).is_none()
            || commutes && self.constant(a).is_none() && self.constant(b).is_none() && a > b
        {
            std::mem::swap(&mut a, &mut b);
        }
        let ones = mask(u64::MAX, width);
        match (op, self.constant(a), self.constant(b)) {
            (_, Some(x), Some(y)) => return self.constant_of(binary(op, x, y, width), width),
            (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::LShr | Op::AShr, _, Some(0)) => return a,
            (Op::And | Op::Mul, _, Some(0)) => return b,
            (Op::Mul | Op::UDiv, _, Some(1)) => return a,
            (Op::And, _, Some(y)) if y == ones => return a,
            (Op::Or, _, Some(y)) if y == ones => return b,
            (Op::Shl | Op::LShr, _, Some(y)) if y >= u64::from(width) => return self.constant_of(0, width),
            (Op::Sub, _, Some(y)) => {
                let negative = self.constant_of(y.wrapping_neg(), width);
                return self.binary(Op::Add, a, negative);
            }
            (Op::Mul, _, Some(y)) if y.is_power_of_two() => {
                let by = self.constant_of(y.trailing_zeros().into(), width);
                return self.binary(Op::Shl, a, by);
            }
            _ => {}
        }
        if a == b {
            match op {
                Op::And | Op::Or => return a,
                Op::Xor | Op::Sub => return self.constant_of(0, width),
                _ => {}
            }
        }
        match (op, self.node(a), self.constant(b)) {
            // (x + c) + d, and so on.
            (Op::Add | Op::And | Op::Or | Op::Xor, Node::Binary(inner, x, c), Some(d)) if inner == op => {
                if let Some(c) = self.constant(c) {
                    let both = self.constant_of(binary(op, c, d, width), width);
                    return self.binary(op, x, both);
                }
            }
            // The low bits of something widened: zext(x) & m, m covering x.
            (Op::And, Node::ZeroExtend(x), Some(m)) => {
                let inner = self.width(x);
                let covered = mask(u64::MAX, inner);
                if m & covered == covered {
                    return a;
                }
                let narrow = self.constant_of(m, inner);
                let narrow = self.binary(Op::And, x, narrow);
                return self.zero_extend(narrow, width);
            }
            _ => {}
        }
        self.intern(Node::Binary(op, a, b), width)
    }

    /// A comparison; one bit.
    pub fn compare(&mut self, test: Test, mut a: Expr, mut b: Expr) -> Expr {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        if test == Test::Eq && (self.constant(a).is_some() || self.constant(b).is_none() && a > b) {
            std::mem::swap(&mut a, &mut b);
        }
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.constant_of(compare(test, x, y, width).into(), 1);
        }
        if a == b {
            return self.constant_of(matches!(test, Test::Eq | Test::Ule | Test::Sle).into(), 1);
        }
        let ones = mask(u64::MAX, width);
        match (test, self.constant(a), self.constant(b)) {
            (Test::Ule, Some(0), _) => return self.constant_of(1, 1),
            (Test::Ult, _, Some(0)) => return self.constant_of(0, 1),
            (Test::Ule, _, Some(y)) if y == ones => return self.constant_of(1, 1),
            (Test::Ult, Some(x), _) if x == ones => return self.constant_of(0, 1),
            _ => {}
        }
        if let (Test::Eq, Some(c)) = (test, self.constant(b)) {
            if width == 1 {
                return if c == 1 { a } else { self.not(a) };
            }
            if let Some(simpler) = self.equal_to(a, c, width) {
                return simpler;
            }
        }
        if let Some(simpler) = self.compare_narrow(test, a, b) {
            return simpler;
        }
        self.intern(Node::Compare(test, a, b), 1)
    }

    /// `a == c` in a simpler form.
    fn equal_to(&mut self, a: Expr, c: u64, width: u32) -> Option<Expr> {
        let zero = |store: &mut Store| Some(store.constant_of(0, 1));
        match self.node(a) {
            Node::ZeroExtend(x) => {
                let inner = self.width(x);
                if mask(c, inner) != c {
                    return zero(self);
                }
                let c = self.constant_of(c, inner);
                Some(self.compare(Test::Eq, x, c))
            }
            Node::SignExtend(x) => {
                let inner = self.width(x);
                if mask(signed(c, inner) as u64, width) != c {
                    return zero(self);
                }
                let c = self.constant_of(c, inner);
                Some(self.compare(Test::Eq, x, c))
            }
            Node::Binary(op @ (Op::Add | Op::Xor), x, d) => {
                let d = self.constant(d)?;
                let moved = if op == Op::Add { c.wrapping_sub(d) } else { c ^ d };
                let moved = self.constant_of(moved, width);
                Some(self.compare(Test::Eq, x, moved))
            }
            Node::Binary(Op::Sub, x, y) if c == 0 => Some(self.compare(Test::Eq, x, y)),
            Node::Concat { high, low } if self.constant(high).is_some() || self.constant(low).is_some() => {
                let low_width = self.width(low);
                let (c_high, c_low) = (c >> low_width, mask(c, low_width));
                let (known, k, other, o) = match self.constant(high) {
                    Some(k) => (k, c_high, low, c_low),
                    None => (self.constant(low)?, c_low, high, c_high),
                };
                if known != k {
                    return zero(self);
                }
                let o = self.constant_of(o, self.width(other));
                Some(self.compare(Test::Eq, other, o))
            }
            Node::IfThenElse(condition, x, y) => match (self.constant(x)?, self.constant(y)?) {
                (x, y) if x == c && y != c => Some(condition),
                (x, y) if y == c && x != c => Some(self.not(condition)),
                (x, y) if x != c && y != c => zero(self),
                _ => None,
            },
            _ => None,
        }
    }

    /// Comparisons of widened values, brought to the narrow width.
    fn compare_narrow(&mut self, test: Test, a: Expr, b: Expr) -> Option<Expr> {
        let width = self.width(a);
        match (self.node(a), self.node(b)) {
            (Node::ZeroExtend(x), Node::ZeroExtend(y)) if self.width(x) == self.width(y) => {
                Some(self.compare(unsigned(test), x, y))
            }
            (Node::SignExtend(x), Node::SignExtend(y)) if self.width(x) == self.width(y) && test == Test::Eq => {
                Some(self.compare(test, x, y))
            }
            (Node::ZeroExtend(x), Node::Const(c)) => {
                let inner = self.width(x);
                let negative = signed(c, width) < 0;
                let fits = mask(c, inner) == c;
                match test {
                    Test::Slt | Test::Sle if negative => Some(self.constant_of(0, 1)),
                    _ if !fits && test != Test::Eq => Some(self.constant_of(1, 1)),
                    _ if fits => {
                        let c = self.constant_of(c, inner);
                        Some(self.compare(unsigned(test), x, c))
                    }
                    _ => None,
                }
            }
            (Node::Const(c), Node::ZeroExtend(x)) => {
                let inner = self.width(x);
                let negative = signed(c, width) < 0;
                let fits = mask(c, inner) == c;
                match test {
                    Test::Slt | Test::Sle if negative => Some(self.constant_of(1, 1)),
                    _ if !fits && test != Test::Eq => Some(self.constant_of(0, 1)),
                    _ if fits => {
                        let c = self.constant_of(c, inner);
                        Some(self.compare(unsigned(test), c, x))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The other truth value; one bit.
    pub fn not(&mut self, a: Expr) -> Expr {
        debug_assert_eq!(self.width(a), 1);
        match self.node(a) {
            Node::Const(value) => self.constant_of(value ^ 1, 1),
            Node::Not(inner) => inner,
            Node::Compare(Test::Ult, x, y) => self.compare(Test::Ule, y, x),
            Node::Compare(Test::Ule, x, y) => self.compare(Test::Ult, y, x),
            Node::Compare(Test::Slt, x, y) => self.compare(Test::Sle, y, x),
            Node::Compare(Test::Sle, x, y) => self.compare(Test::Slt, y, x),
            _ => self.intern(Node::Not(a), 1),
        }
    }

    /// Widened with zeros.
    pub fn zero_extend(&mut self, a: Expr, width: u32) -> Expr {
        match self.node(a) {
            _ if self.width(a) == width => a,
            Node::Const(value) => self.constant_of(value, width),
            Node::ZeroExtend(inner) => self.zero_extend(inner, width),
            _ => self.intern(Node::ZeroExtend(a), width),
        }
    }

    /// Widened with copies of the highest bit.
    pub fn sign_extend(&mut self, a: Expr, width: u32) -> Expr {
        match self.node(a) {
            _ if self.width(a) == width => a,
            Node::Const(value) => self.constant_of(signed(value, self.width(a)) as u64, width),
            Node::SignExtend(inner) => self.sign_extend(inner, width),
            // The highest bit of something really widened with zeros is zero.
            Node::ZeroExtend(inner) => self.zero_extend(inner, width),
            _ => self.intern(Node::SignExtend(a), width),
        }
    }

    /// `width` bits from `low` on.
    pub fn extract(&mut self, of: Expr, low: u32, width: u32) -> Expr {
        let from = self.width(of);
        debug_assert!(low + width <= from);
        match self.node(of) {
            _ if from == width => of,
            Node::Const(value) => self.constant_of(value >> low, width),
            Node::Extract { of: inner, low: before } => self.extract(inner, low + before, width),
            Node::Concat { high, low: under } => {
                let split = self.width(under);
                if low >= split {
                    self.extract(high, low - split, width)
                } else if low + width <= split {
                    self.extract(under, low, width)
                } else {
                    self.intern(Node::Extract { of, low }, width)
                }
            }
            Node::ZeroExtend(inner) => {
                let inside = self.width(inner);
                if low >= inside {
                    self.constant_of(0, width)
                } else if low + width <= inside {
                    self.extract(inner, low, width)
                } else if low == 0 {
                    self.zero_extend(inner, width)
                } else {
                    self.intern(Node::Extract { of, low }, width)
                }
            }
            Node::SignExtend(inner) if low + width <= self.width(inner) => self.extract(inner, low, width),
            Node::Binary(op, a, b) if by_bits(op) || by_low_bits(op) && low == 0 => {
                if let Some(known) = self.extracts.get(&(of, low, width)) {
                    return *known;
                }
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                let made = self.binary(op, a, b);
                self.extracts.insert((of, low, width), made);
                made
            }
            Node::IfThenElse(c, a, b) if self.constant(a).is_some() && self.constant(b).is_some() => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                self.if_then_else(c, a, b)
            }
            _ => self.intern(Node::Extract { of, low }, width),
        }
    }

    /// `high` above `low`; at most 64 bits together.
    pub fn concat(&mut self, high: Expr, low: Expr) -> Expr {
        let width = self.width(high) + self.width(low);
        debug_assert!(width <= 64);
        match (self.node(high), self.node(low)) {
            (Node::Const(h), Node::Const(l)) => return self.constant_of(h << self.width(low) | l, width),
            (Node::Const(0), _) => return self.zero_extend(low, width),
            (Node::Extract { of, low: at }, Node::Extract { of: other, low: under })
                if of == other && at == under + self.width(low) =>
            {
                return self.extract(of, under, width);
            }
            (Node::Extract { of, low: at }, _) if of == low && at == self.width(low) => {
                return self.extract(of, 0, width);
            }
            // The lowest part may have become the whole of a narrower value.
            _ => {}
        }
        self.intern(Node::Concat { high, low }, width)
    }

    /// `a` where `condition`, else `b`.
    pub fn if_then_else(&mut self, condition: Expr, a: Expr, b: Expr) -> Expr {
        debug_assert_eq!(self.width(a), self.width(b));
        if a == b {
            return a;
        }
        let width = self.width(a);
        match self.constant(condition) {
            Some(1) => return a,
            Some(_) => return b,
            None => {}
        }
        if width == 1 {
            match (self.constant(a), self.constant(b)) {
                (Some(1), Some(0)) => return condition,
                (Some(0), Some(1)) => return self.not(condition),
                _ => {}
            }
        }
        if let Node::Not(inner) = self.node(condition) {
            return self.if_then_else(inner, b, a);
        }
        self.intern(Node::IfThenElse(condition, a, b), width)
    }
}

fn unsigned(test: Test) -> Test {
    match test {
        Test::Slt => Test::Ult,
        Test::Sle => Test::Ule,
        other => other,
    }
}
