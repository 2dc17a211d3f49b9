//! Points-to analysis and call graph.
//!
//! [`PointsTo::analyse`] tells for each value of a program which [`Cell`] it points to: two addresses may be equal
//! only if their cells are. It is Steensgaard's unification over (object, offset) cells ([`cells`]), flow- and
//! context-insensitive and almost linear, made precise where real programs need it:
//!
//! - offsets are kept apart and not collapsed; struct and array copies go field by field;
//! - heap objects are named by call site, and so are the results of functions that return a fresh object
//!   ([`fresh`]);
//! - code has no contents, so each use of a function's address is a node of its own: tables of operations that share
//!   an entry are not unified for it; neither are constants without addresses;
//! - calls through a field of a struct go to what the program stores in that field of that struct type, if all that
//!   it stores are known functions ([`function_pointers`]); other calls go where the pointer points, virtual functions
//!   by the slot of the virtual table. Types must agree; targets are capped and counted;
//! - functions handed to the library ([`Library`]) are called with what the library passes.
//!
//! What may be lost, with [`Precision::Fields`]: aliases of addresses that walk through large objects, and pointers kept in
//! integers. All of it is counted in [`Statistics`].
//!
//! Architecture invariant: an engine. No I/O, no clock, no threads; the result is a function of the program.
#![forbid(unsafe_code)]

pub mod call_graph;
mod calls;
pub mod cells;
mod constraints;
pub mod fresh;
pub mod function_pointers;
mod integers;
pub mod library;
mod result;

pub use call_graph::{CallGraph, ResolvedCallback};
pub use cells::{Cell, Losses, Precision};
pub use fresh::Summaries;
pub use library::{Callback, Effect, Library, Nothing, Passed, Returns};
pub use result::{Object, PointsTo};

/// Bounds of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Targets of one call at most; what is cut is counted.
    pub targets: usize,
    /// Rounds at most in which calls are resolved and copies followed.
    pub rounds: usize,
    /// Collapse or not.
    pub precision: Precision,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            targets: 64,
            rounds: 32,
            precision: Precision::Fields,
        }
    }
}

/// What the analysis met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes made.
    pub nodes: usize,
    /// Objects: variables, frames' variables, heap allocations.
    pub objects: usize,
    /// Classes that hold an object.
    pub classes: usize,
    /// Objects in the largest class.
    pub largest: usize,
    /// Calls through pointers.
    pub indirect: usize,
    /// Of those, resolved by struct field.
    pub by_field: usize,
    /// Of those, with no target.
    pub unresolved: usize,
    /// Their targets together.
    pub targets: usize,
    /// Targets cut.
    pub cut: usize,
    /// Targets left out because types do not agree.
    pub mistyped: usize,
    /// Functions handed to the library, by call.
    pub callbacks: usize,
    /// Of those calls, with no target.
    pub unresolved_callbacks: usize,
    /// Functions that return a fresh object.
    pub fresh: usize,
    /// Rounds taken.
    pub rounds: usize,
    /// The last round still changed something.
    pub unfinished: bool,
    /// What was left undone.
    pub losses: Losses,
}
