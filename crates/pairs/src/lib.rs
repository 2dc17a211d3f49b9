//! Concurrent function pairs, and what to detect in under which input (Deng, Zhang, Lu, OOPSLA 2013).
//!
//! - [`concurrency`]: whether two function spans of a run can overlap;
//! - [`measured`]: the concurrent pairs of a run, from its spans;
//! - [`pair_set`]: sets of pairs of functions;
//! - [`unmeasured`]: functions that need not be measured, by the program's bitcode;
//! - [`inherited`]: the pairs that such functions have from others;
//! - [`selection`]: few inputs, and few functions for each, that together cover all pairs.
//!
//! Architecture invariant: no I/O, no clock, no unsafe; equal measurements give equal selections.
#![forbid(unsafe_code)]

pub mod concurrency;
pub mod inherited;
pub mod measured;
pub mod pair_set;
pub mod selection;
pub mod unmeasured;

pub use inherited::inherited;
pub use measured::pairs;
pub use pair_set::PairSet;
pub use selection::{Chosen, Growth, Measured, Selection, select};
pub use unmeasured::{Assumptions, LinkedFunction, Reason, unmeasured};
