//! Access paths: lvalues over formals, globals and objects (RELAY, section 3.1, figure 2: `x`, `x.f`, `(*o).f`).
//!
//! A path is a root and a list of steps: add the first step's offset, load, add the next one's, and so on. It denotes
//! a *value*, most often an address: `must(o)` is the path of `o`, and `init(o)`, what `o` held on entry, is the path
//! of `o` with one more step. What differs from the paper: the index of an element is kept where it is one value
//! throughout, so that `lock[i]` and `data[i]` are known to go together; and what has no name in terms of formals and
//! globals is named by the instruction that gave it, within its function.
//!
//! Invariant: a path has at most [`DEPTH`] steps and an index is a path without indices, so that loops over linked
//! structures end.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// Steps of a path at most.
pub const DEPTH: usize = 5;

/// An instruction, by its function's number and its own number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// Number of the function.
    #[serde(with = "crate::memo::identity::function_number")]
    pub function: u32,
    /// Number of the instruction in the function.
    pub instruction: u32,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Root {
    /// The value of the function's formal with this number on entry.
    Formal(u16),
    /// The address of the symbol with this number.
    Global(#[serde(with = "crate::memo::identity::symbol_number")] u32),
    /// The address of what this instruction allocates on the stack.
    Local(Site),
    /// The address of what this call allocates.
    Fresh(Site),
    /// The value that this instruction gave when it was last executed.
    Opaque(Site),
    /// A value that differs in each thread that this creation makes.
    Instance(Site),
    /// The handle of the threads that this creation makes.
    Thread(Site),
}

impl Root {
    /// Whether it is the address of an object, not a value that may lead anywhere.
    pub fn is_object(self) -> bool {
        matches!(self, Root::Global(_) | Root::Local(_) | Root::Fresh(_))
    }

    /// Whether it is an object that a function makes.
    pub fn is_made(self) -> bool {
        matches!(self, Root::Local(_) | Root::Fresh(_))
    }
}

/// Which element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Symbol {
    /// Nothing is known: any.
    Any,
    /// That of this value.
    Value(Arc<Path>),
    /// That of the access to which a lock belongs.
    OfAccess,
}

/// `symbol * stride` bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Index {
    /// Which element.
    pub symbol: Symbol,
    /// Distance of elements in bytes; 0 where unknown.
    pub stride: u64,
}

/// One step: bytes from where the last load (or the root) led.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Step {
    /// Constant part in bytes.
    pub offset: i64,
    /// Variable part.
    pub index: Option<Index>,
}

/// A root and the steps from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Path {
    /// Where it begins.
    pub root: Root,
    /// At least one step; between two of them something is loaded.
    pub steps: SmallVec<[Step; 2]>,
}

impl Step {
    /// A constant step.
    pub fn at(offset: i64) -> Step {
        Step { offset, index: None }
    }

    /// Adds a constant number of bytes.
    pub fn add(&mut self, bytes: i64) {
        self.offset = self.offset.wrapping_add(bytes);
    }

    /// Adds a variable number of bytes: a second variable part leaves only "any element".
    pub fn add_index(&mut self, index: Index) {
        self.index = Some(match self.index.take() {
            None => index,
            Some(old) => Index {
                symbol: Symbol::Any,
                stride: common(old.stride, index.stride),
            },
        });
    }

    /// Whether the element is one and the same wherever the step is taken.
    pub fn is_definite(&self) -> bool {
        self.index.as_ref().is_none_or(|i| i.symbol != Symbol::Any)
    }
}

/// Greatest common divisor; 0 (unknown) swallows all.
pub fn common(mut a: u64, mut b: u64) -> u64 {
    if a == 0 {
        return 0;
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Path {
    /// The address or value that the root itself is.
    pub fn of(root: Root) -> Path {
        let mut steps = SmallVec::new();
        steps.push(Step::at(0));
        Path { root, steps }
    }

    /// The last step.
    pub fn last(&self) -> &Step {
        &self.steps[self.steps.len() - 1]
    }

    /// The last step, to be changed.
    pub fn last_mut(&mut self) -> &mut Step {
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    /// This and a number of bytes.
    pub fn plus(mut self, bytes: i64) -> Path {
        self.last_mut().add(bytes);
        self
    }

    /// This and `index.symbol * index.stride` bytes.
    pub fn element(mut self, index: Index) -> Path {
        self.last_mut().add_index(index);
        self
    }

    /// What is stored here (`init`), unless that is too deep to be named.
    pub fn load(&self) -> Option<Path> {
        if self.steps.len() >= DEPTH {
            return None;
        }
        let mut path = self.clone();
        path.steps.push(Step::at(0));
        Some(path)
    }

    /// Whether something is loaded on the way.
    pub fn loads(&self) -> bool {
        self.steps.len() > 1
    }

    /// Whether each step leads to one definite element.
    pub fn is_definite(&self) -> bool {
        self.steps.iter().all(Step::is_definite)
    }

    /// Whether the path names one place for the whole run: in a global, or behind what it holds.
    pub fn is_constant(&self) -> bool {
        matches!(self.root, Root::Global(_)) && !self.is_indexed()
    }

    /// Whether some step's element is given by a value.
    pub fn is_indexed(&self) -> bool {
        self.steps.iter().any(|s| s.index.is_some())
    }

    /// The value without its last constant part, and that part.
    pub fn split(mut self) -> (Path, i64) {
        let offset = self.last().offset;
        self.last_mut().offset = 0;
        (self, offset)
    }

    /// Whether the value at `lvalue` is used on the way: the path leads elsewhere once that is stored to.
    pub fn goes_through(&self, lvalue: &Path) -> bool {
        let deeper = self.root == lvalue.root && self.steps.len() > lvalue.steps.len();
        deeper && self.steps.starts_with(&lvalue.steps) || self.indices().any(|i| i == lvalue || i.goes_through(lvalue))
    }

    /// The values that give elements on the way.
    pub fn indices(&self) -> impl Iterator<Item = &Path> {
        self.steps.iter().filter_map(|s| match &s.index {
            Some(Index {
                symbol: Symbol::Value(path),
                ..
            }) => Some(&**path),
            _ => None,
        })
    }

    /// The path with "any element" where an index goes back to one of those roots; none if the path itself does.
    pub fn without_index(&self, gone: impl Fn(Root) -> bool) -> Option<Path> {
        if gone(self.root) {
            return None;
        }
        let mut path = self.clone();
        for index in path.steps.iter_mut().filter_map(|s| s.index.as_mut()) {
            if matches!(&index.symbol, Symbol::Value(value) if gone(value.root)) {
                index.symbol = Symbol::Any;
            }
        }
        Some(path)
    }

    /// Whether a root of the path, its indices' included, is one of those.
    pub fn mentions(&self, root: impl Fn(Root) -> bool + Copy) -> bool {
        root(self.root) || self.indices().any(|i| root(i.root))
    }
}

/// Adds `value * stride` to a step; an unknown value is any element.
pub fn add_value_index(step: &mut Step, value: Option<Path>, stride: u64) {
    let symbol = match value.filter(|v| !v.is_indexed()).map(Path::split) {
        None => Symbol::Any,
        Some((base, offset)) => {
            step.add(offset.wrapping_mul(stride as i64));
            Symbol::Value(Arc::new(base))
        }
    };
    step.add_index(Index { symbol, stride });
}

/// Whether `size` bytes at step `a` and `other` bytes at step `b`, from one address, may share a byte.
pub fn may_overlap(a: &Step, size: u64, b: &Step, other: u64) -> bool {
    let apart = b.offset.wrapping_sub(a.offset);
    let (size, other) = (size.max(1) as i64, other.max(1) as i64);
    let overlap = |apart: i64| apart < size && apart.wrapping_neg() < other;
    match (&a.index, &b.index) {
        (None, None) => overlap(apart),
        (Some(x), Some(y)) if x == y && x.symbol != Symbol::Any => overlap(apart),
        (x, y) => {
            let stride = match (x, y) {
                (Some(x), Some(y)) => common(x.stride, y.stride),
                (Some(x), None) | (None, Some(x)) => x.stride,
                (None, None) => 0,
            } as i64;
            if stride <= 0 {
                return true;
            }
            let rest = apart.rem_euclid(stride);
            overlap(rest) || overlap(rest - stride)
        }
    }
}

#[cfg(test)]
#[path = "access_path_tests.rs"]
mod tests;
