//! Expressions over bit-vectors: hash-consed, simplified when made, with their symbols at hand.
//!
//! Equal expressions are one [`Expr`], across runs too, so that answers of the solver, circuits and path
//! conditions are shared by comparison of numbers. A width is 1 to 64 bits; wider values are concrete in
//! traces. Every variable is one byte ([`Symbol`]).
//!
//! Invariants: operands stand before the expressions that use them, so a walk by number is a topological
//! order and nothing here recurses; constants are masked to their width. Cost: making an expression is a
//! hash look-up and the union of two sets of symbols, which are interned and remembered by pair.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// One byte of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    /// Where it comes from, as `deadheat_wire::trace` numbers sources.
    pub source: u32,
    /// Its offset there.
    pub offset: u32,
}

/// An expression of one [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(pub(crate) u32);

/// Operations on two operands of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Add,
    Sub,
    Mul,
    /// Division by zero gives all ones, as in SMT-LIB.
    UDiv,
    /// As in SMT-LIB.
    SDiv,
    /// The remainder of zero is the dividend.
    URem,
    /// As in SMT-LIB.
    SRem,
    /// A shift by the width or more gives 0.
    Shl,
    LShr,
    /// A shift by the width or more gives copies of the sign.
    AShr,
    And,
    Or,
    Xor,
}

/// Comparisons; the result has one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Test {
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

/// What an expression is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Node {
    Const(u64),
    Symbol(Symbol),
    Binary(Op, Expr, Expr),
    Compare(Test, Expr, Expr),
    Not(Expr),
    ZeroExtend(Expr),
    SignExtend(Expr),
    /// Bits from `low` on.
    Extract {
        of: Expr,
        low: u32,
    },
    Concat {
        high: Expr,
        low: Expr,
    },
    IfThenElse(Expr, Expr, Expr),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    node: Node,
    width: u32,
    symbols: u32,
    digest: u64,
}

/// All expressions of an exploration.
#[derive(Debug)]
pub struct Store {
    entries: Vec<Entry>,
    known: FxHashMap<(Node, u32), Expr>,
    sets: Vec<Rc<[Symbol]>>,
    known_sets: FxHashMap<Rc<[Symbol]>, u32>,
    unions: FxHashMap<(u32, u32), u32>,
    /// Extracts that were taken apart: operands are shared, so that without this the work could double at each level.
    pub(crate) extracts: FxHashMap<(Expr, u32, u32), Expr>,
}

impl Default for Store {
    fn default() -> Store {
        let empty: Rc<[Symbol]> = Rc::from([]);
        Store {
            entries: Vec::new(),
            known: FxHashMap::default(),
            sets: vec![empty.clone()],
            known_sets: FxHashMap::from_iter([(empty, 0)]),
            unions: FxHashMap::default(),
            extracts: FxHashMap::default(),
        }
    }
}

/// Spreads a hash over all its bits: sums of bare Fx hashes are those of other summands, too.
pub(crate) fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// The low `width` bits of a number.
pub fn mask(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

/// The number that `width` bits mean with their highest bit as sign.
pub fn signed(value: u64, width: u32) -> i64 {
    let shift = 64 - width.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

impl Store {
    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What it is made of.
    pub fn node(&self, expr: Expr) -> Node {
        self.entries[expr.0 as usize].node
    }

    /// Bits.
    pub fn width(&self, expr: Expr) -> u32 {
        self.entries[expr.0 as usize].width
    }

    /// Its value if it is a constant.
    pub fn constant(&self, expr: Expr) -> Option<u64> {
        match self.node(expr) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The symbols that it depends on, ascending.
    pub fn symbols(&self, expr: Expr) -> Rc<[Symbol]> {
        self.sets[self.entries[expr.0 as usize].symbols as usize].clone()
    }

    /// The number of its set of symbols: equal numbers, equal sets.
    pub(crate) fn symbol_set(&self, expr: Expr) -> u32 {
        self.entries[expr.0 as usize].symbols
    }

    /// A hash of its structure: the same in every store, in whatever order expressions were made there.
    pub fn digest(&self, expr: Expr) -> u64 {
        self.entries[expr.0 as usize].digest
    }

    fn digest_of(&self, node: Node, width: u32) -> u64 {
        let of = |e: Expr| self.digest(e);
        let mut hasher = FxHasher::default();
        (std::mem::discriminant(&node), width).hash(&mut hasher);
        match node {
            Node::Const(value) => value.hash(&mut hasher),
            Node::Symbol(symbol) => symbol.hash(&mut hasher),
            // Which operand of these stands first depends on their numbers.
            Node::Binary(op @ (Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor), a, b) => {
                (op, of(a).wrapping_add(of(b)), of(a) ^ of(b)).hash(&mut hasher);
            }
            Node::Compare(Test::Eq, a, b) => {
                (of(a).wrapping_add(of(b)), of(a) ^ of(b)).hash(&mut hasher);
            }
            Node::Binary(op, a, b) => (op, of(a), of(b)).hash(&mut hasher),
            Node::Compare(test, a, b) => (test, of(a), of(b)).hash(&mut hasher),
            Node::Not(a) | Node::ZeroExtend(a) | Node::SignExtend(a) => of(a).hash(&mut hasher),
            Node::Extract { of: a, low } => (of(a), low).hash(&mut hasher),
            Node::Concat { high, low } => (of(high), of(low)).hash(&mut hasher),
            Node::IfThenElse(c, a, b) => (of(c), of(a), of(b)).hash(&mut hasher),
        }
        mixed(hasher.finish())
    }

    /// Its operands.
    pub fn operands(&self, expr: Expr) -> Operands {
        let (all, count) = match self.node(expr) {
            Node::Const(_) | Node::Symbol(_) => ([expr; 3], 0),
            Node::Not(a) | Node::ZeroExtend(a) | Node::SignExtend(a) | Node::Extract { of: a, .. } => ([a; 3], 1),
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::Concat { high: a, low: b } => ([a, b, b], 2),
            Node::IfThenElse(c, a, b) => ([c, a, b], 3),
        };
        Operands { all, count, at: 0 }
    }

    /// The expression of a node, which must have gone through the simplifier.
    pub(crate) fn intern(&mut self, node: Node, width: u32) -> Expr {
        if let Some(known) = self.known.get(&(node, width)) {
            return *known;
        }
        let symbols = match node {
            Node::Symbol(symbol) => self.set(vec![symbol]),
            _ => {
                // The new entry's operands exist already; its own number is not used before it does.
                let expr = Expr(self.entries.len() as u32);
                self.entries.push(Entry {
                    node,
                    width,
                    symbols: 0,
                    digest: 0,
                });
                let sets: Vec<u32> = self.operands(expr).map(|o| self.symbol_set(o)).collect();
                self.entries.pop();
                sets.into_iter().fold(0, |a, b| self.union(a, b))
            }
        };
        let expr = Expr(self.entries.len() as u32);
        let digest = self.digest_of(node, width);
        self.entries.push(Entry {
            node,
            width,
            symbols,
            digest,
        });
        self.known.insert((node, width), expr);
        expr
    }

    fn set(&mut self, symbols: Vec<Symbol>) -> u32 {
        let symbols: Rc<[Symbol]> = symbols.into();
        let next = self.sets.len() as u32;
        let number = *self.known_sets.entry(symbols.clone()).or_insert(next);
        if number == next {
            self.sets.push(symbols);
        }
        number
    }

    fn union(&mut self, a: u32, b: u32) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.unions.get(&key) {
            return *known;
        }
        let mut all: Vec<Symbol> = self.sets[a as usize]
            .iter()
            .chain(self.sets[b as usize].iter())
            .copied()
            .collect();
        all.sort_unstable();
        all.dedup();
        let union = self.set(all);
        self.unions.insert(key, union);
        union
    }
}

/// The operands of an expression.
#[derive(Clone, Debug)]
pub struct Operands {
    all: [Expr; 3],
    count: usize,
    at: usize,
}

impl Iterator for Operands {
    type Item = Expr;

    fn next(&mut self) -> Option<Expr> {
        let next = *self.all[..self.count].get(self.at)?;
        self.at += 1;
        Some(next)
    }
}
