//! The runtime's side of the symbolic flavour: expressions, their shadow, and the input that they come from.
//!
//! - [`nodes`]: expressions and path constraints, written straight into the shared trace file, so that they
//!   are there however the program ends;
//! - [`memory`]: byte tags and expression numbers of the program's memory;
//! - [`operations`]: what instrumented code calls;
//! - [`addresses`]: loads at symbolic addresses as tables of what lies there;
//! - [`sources`]: which bytes are input;
//! - [`files`]: which files are;
//! - [`touches`]: what a run accesses between two constraints, where paths are to be pruned.
//!
//! Every expression knows its value in this run, and is dropped when the machine has another where it is
//! used: memory that code without instrumentation wrote, registers that it changed, and undefined
//! operations cannot put anything false into a constraint. Nothing here runs in other builds of a program.

mod addresses;
pub mod files;
mod memory;
mod nodes;
mod operations;
pub mod sources;
mod touches;

pub use nodes::{forked, start};
