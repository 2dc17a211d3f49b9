//! Exploration of a program's inputs: expressions, path constraints, solvers, and the search for the next
//! input. A pure engine: traces in, inputs out; no I/O, no clock.
//!
//! - [`expression`], [`simplify`](Store), [`evaluate`]: bit-vector expressions, hash-consed;
//! - [`solver`], [`bit_blast`], [`sat_solver`], `z3_solver`: satisfiability under assumptions, with cores;
//! - [`path`]: the constraints of one run, imported from its trace and held against its concrete values; `accesses`:
//!   what it read and wrote between them;
//! - [`query`]: slicing by shared symbols, the model cache, and the re-check of every model;
//! - [`mutation`]: inputs by chance;
//! - [`search`]: which branch to turn next; `novelty`: what is new about a path, and when others only repeat it;
//!   `search/pruning`: which turns of a path another one stands for.
//!
//! Source: A. Ibing, *Efficient Data-Race Detection with Dynamic Symbolic Execution* (2016), for exploring
//! inputs under one FIFO schedule; P. Godefroid and others, *Automated Whitebox Fuzz Testing* (NDSS 2008),
//! for the generational search.
#![forbid(unsafe_code)]

mod accesses;
pub mod bit_blast;
pub mod evaluate;
pub mod expression;
pub mod mutation;
mod novelty;
pub mod path;
pub mod query;
pub mod sat_solver;
pub mod search;
mod simplify;
pub mod solver;
#[cfg(feature = "z3")]
pub mod z3_solver;

pub use evaluate::Assignment;
pub use expression::{Expr, Store, Symbol};
pub use mutation::Mutator;
pub use path::Path;
pub use query::Prover;
pub use search::{Bounds, Next, Order, Own, Prune, Search, Side};
