//! The path of one run: its trace, taken into the store of the exploration.
//!
//! Every node is evaluated anew from its operands' recorded values and compared with its own: a node that
//! is not what it claims (a fault of instrumentation or runtime) is counted and becomes the constant that it
//! was, so that nothing false gets into a query.

use crate::accesses::Accesses;
use crate::evaluate::{Assignment, binary, compare};
use crate::expression::{Expr, Op, Store, Symbol, Test, mask, signed};
use deadheat_wire::trace::{self, Node, Trace, constraint, op};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a constraint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A branch on input.
    Branch,
    /// A symbolic address, fixed to its value.
    Pin,
    /// Holds for every input.
    Assumed,
    /// Whether an input went on.
    Length,
    /// A divisor that was not zero.
    Divisor,
    /// A branch on input that went this way whatever the input, as long as it follows the path up to there.
    Decided,
}

impl Kind {
    /// Whether it makes sense to ask for the other side.
    pub fn has_other_side(self) -> bool {
        matches!(self, Kind::Branch | Kind::Length | Kind::Divisor)
    }
}

/// One condition that held on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The branch.
    pub site: u64,
    /// The condition, of one bit.
    pub condition: Expr,
    /// What it depends on: itself, or an operand of one that became a constant.
    pub about: Expr,
    /// Its value.
    pub taken: bool,
    /// What it is.
    pub kind: Kind,
    /// The thread that met it.
    pub thread: u16,
    /// The segment of the run that ends here.
    pub segment: u32,
    /// Where the program stands, as a hash; 0 if it is not known.
    pub place: u64,
}

/// What was left out of a path, in counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Expressions dropped because memory held another value.
    pub stale: u64,
    /// Symbolic addresses fixed to their value.
    pub pinned: u64,
    /// Values made concrete by operations that are not modelled.
    pub concretised: u64,
    /// Expressions that did not fit.
    pub cut_nodes: u64,
    /// Constraints that did not fit.
    pub cut_constraints: u64,
    /// Nodes whose recorded value was not that of their operation.
    pub wrong: u64,
    /// Files that were read and are no input.
    pub files: u64,
}

impl Losses {
    /// Whether something that depended on input was taken as it was in the run, so that what the path's conditions
    /// exclude is excluded for those values alone.
    pub fn bear_on_answers(&self) -> bool {
        self.stale + self.concretised + self.cut_nodes + self.wrong > 0
    }
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.stale += other.stale;
        self.pinned += other.pinned;
        self.concretised += other.concretised;
        self.cut_nodes += other.cut_nodes;
        self.cut_constraints += other.cut_constraints;
        self.wrong += other.wrong;
        self.files += other.files;
    }
}

/// The path of a run.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Conditions in the order in which they were met; of those that are constant after simplification, branches alone.
    pub constraints: Vec<Constraint>,
    /// The value of each symbol.
    pub values: Assignment,
    /// Names of sources that are numbered by hash.
    pub names: BTreeMap<u32, Vec<u8>>,
    /// What was left out.
    pub losses: Losses,
    /// Expressions in the trace.
    pub nodes: u64,
    /// What the run accessed, as far as the trace tells.
    pub accesses: Accesses,
}

/// Why bytes are not a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Not a trace file.
    #[error("the program left no symbolic trace")]
    Magic,
    /// A node refers to one that does not stand before it, or is of no known form.
    #[error("the symbolic trace is damaged at node {0}")]
    Damaged(usize),
}

impl Path {
    /// Takes a trace file into the store.
    pub fn import(store: &mut Store, bytes: &[u8]) -> Result<Path, TraceError> {
        let trace = Trace::new(bytes).ok_or(TraceError::Magic)?;
        let mut path = Path {
            losses: Losses {
                stale: trace.word(trace::STALE_AT).into(),
                pinned: trace.word(trace::PINNED_AT).into(),
                concretised: trace.word(trace::LOST_AT).into(),
                cut_nodes: trace.word(trace::CUT_NODES_AT).into(),
                cut_constraints: trace.word(trace::CUT_CONSTRAINTS_AT).into(),
                wrong: 0,
                files: trace.word(trace::FILES_LEFT_OUT_AT).into(),
            },
            names: trace.names().map(|(source, name)| (source, name.to_vec())).collect(),
            ..Path::default()
        };
        let mut taken: Vec<(Expr, u64)> = Vec::with_capacity(trace.word(trace::NODE_COUNT_AT) as usize);
        // Nodes that simplification made constants, with what they depend on.
        let mut decided: FxHashMap<u32, Expr> = FxHashMap::default();
        for (n, node) in trace.nodes().enumerate() {
            if n == 0 {
                taken.push((store.constant_of(0, 1), 0));
                continue;
            }
            let (expr, value) = path.node(store, &taken, &node).ok_or(TraceError::Damaged(n))?;
            if value == node.value {
                if store.constant(expr).is_some()
                    && let Some(operand) = operand(store, &taken, &decided, &node)
                {
                    decided.insert(n as u32, operand);
                }
                taken.push((expr, value));
            } else {
                path.losses.wrong += 1;
                taken.push((store.constant_of(node.value, node.width.into()), node.value));
            }
        }
        path.nodes = taken.len() as u64;
        path.accesses = Accesses::import(store, &trace, &taken).ok_or(TraceError::Damaged(taken.len()))?;
        for (segment, met) in (0..).zip(trace.constraints()) {
            let Some(&(condition, value)) = taken.get(met.node as usize) else {
                return Err(TraceError::Damaged(met.node as usize));
            };
            let kind = match met.kind {
                constraint::BRANCH => Kind::Branch,
                constraint::PIN => Kind::Pin,
                constraint::LENGTH => Kind::Length,
                constraint::DIVISOR => Kind::Divisor,
                _ => Kind::Assumed,
            };
            let is_bit = store.width(condition) == 1;
            if !is_bit || value != u64::from(met.taken & 1) {
                path.losses.wrong += 1;
                continue;
            }
            let (kind, about) = match (store.constant(condition), kind) {
                (None, kind) => (kind, condition),
                (Some(_), Kind::Branch) => match decided.get(&met.node) {
                    Some(operand) => (Kind::Decided, *operand),
                    None => continue,
                },
                _ => continue,
            };
            path.constraints.push(Constraint {
                site: met.site,
                condition,
                about,
                taken: value == 1,
                kind,
                thread: met.thread,
                segment,
                place: met.place,
            });
        }
        Ok(path)
    }

    /// One node and its value by its operation; `None` if it makes no sense.
    fn node(&mut self, store: &mut Store, taken: &[(Expr, u64)], node: &Node) -> Option<(Expr, u64)> {
        let width = u32::from(node.width);
        if !(1..=64).contains(&width) {
            return None;
        }
        let of = |n: u32| if n == 0 { None } else { taken.get(n as usize).copied() };
        let made = match node.op {
            op::CONST => (store.constant_of(node.value, width), mask(node.value, width)),
            op::SYMBOL => {
                let symbol = Symbol {
                    source: node.a,
                    offset: node.b,
                };
                let value = node.value as u8;
                self.values.insert(symbol, value);
                (store.symbol(symbol), value.into())
            }
            op::ADD..=op::XOR => {
                let ((a, x), (b, y)) = (of(node.a)?, of(node.b)?);
                let operation = OPS[node.op as usize];
                same_width(store, a, b, Some(width))?;
                (store.binary(operation, a, b), binary(operation, x, y, width))
            }
            op::EQ..=op::SLE => {
                let ((mut a, mut x), (mut b, mut y)) = (of(node.a)?, of(node.b)?);
                same_width(store, a, b, None)?;
                let (test, swapped, negated) = TESTS[(node.op - op::EQ) as usize];
                if swapped {
                    (a, x, b, y) = (b, y, a, x);
                }
                let value = compare(test, x, y, store.width(a)) != negated;
                let expr = store.compare(test, a, b);
                (if negated { store.not(expr) } else { expr }, value.into())
            }
            op::ZERO_EXTEND | op::SIGN_EXTEND => {
                let (a, x) = of(node.a)?;
                let from = store.width(a);
                if from > width {
                    return None;
                }
                if node.op == op::ZERO_EXTEND {
                    (store.zero_extend(a, width), x)
                } else {
                    (store.sign_extend(a, width), mask(signed(x, from) as u64, width))
                }
            }
            op::EXTRACT => {
                let (a, x) = of(node.a)?;
                let low = u32::from(node.low);
                if low + width > store.width(a) {
                    return None;
                }
                (store.extract(a, low, width), mask(x >> low, width))
            }
            op::CONCAT => {
                let ((a, x), (b, y)) = (of(node.a)?, of(node.b)?);
                let under = store.width(b);
                if store.width(a) + under != width {
                    return None;
                }
                (store.concat(a, b), x << under | y)
            }
            op::IF_THEN_ELSE => {
                let ((c, z), (a, x), (b, y)) = (of(node.a)?, of(node.b)?, of(node.c)?);
                same_width(store, a, b, Some(width))?;
                if store.width(c) != 1 {
                    return None;
                }
                (store.if_then_else(c, a, b), if z == 1 { x } else { y })
            }
            _ => return None,
        };
        Some(made)
    }
}

/// The first operand of a node that depends on input, through operands that simplification made constants too.
fn operand(store: &Store, taken: &[(Expr, u64)], decided: &FxHashMap<u32, Expr>, node: &Node) -> Option<Expr> {
    if matches!(node.op, op::CONST | op::SYMBOL) {
        return None;
    }
    let symbolic = |n: u32| {
        let expr = taken.get(n as usize)?.0;
        match store.constant(expr) {
            None => Some(expr),
            Some(_) => decided.get(&n).copied(),
        }
    };
    [node.a, node.b, node.c].into_iter().find_map(symbolic)
}

fn same_width(store: &Store, a: Expr, b: Expr, width: Option<u32>) -> Option<()> {
    let w = store.width(a);
    (w == store.width(b) && width.is_none_or(|width| width == w)).then_some(())
}

const OPS: [Op; 13] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::UDiv,
    Op::SDiv,
    Op::URem,
    Op::SRem,
    Op::Shl,
    Op::LShr,
    Op::AShr,
    Op::And,
    Op::Or,
    Op::Xor,
];

/// The comparisons of a trace: by which of ours, with swapped operands, negated.
const TESTS: [(Test, bool, bool); 10] = [
    (Test::Eq, false, false),
    (Test::Eq, false, true),
    (Test::Ult, true, false),
    (Test::Ule, true, false),
    (Test::Ult, false, false),
    (Test::Ule, false, false),
    (Test::Slt, true, false),
    (Test::Sle, true, false),
    (Test::Slt, false, false),
    (Test::Sle, false, false),
];
