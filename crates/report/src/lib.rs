//! What a user is told: findings in words, and the formats they are written in.
//!
//! - [`finding`]: the report itself, which is also the JSON format (`docs/schema/findings-1.json`);
//! - [`symbol`]: addresses to functions, lines and variables, from ELF and DWARF;
//! - [`suppression`]: what a user does not want to hear of, in ThreadSanitizer's format;
//! - [`interval`]: how probable it is that a run shows a finding;
//! - [`table`]: many programs, a line each;
//! - [`coverage`]: which ways a program's branches went;
//! - [`terminal`], [`sarif`], [`junit`], [`html`], [`format`]: the same report for different readers.
//!
//! Architecture invariant: only this crate formats; it judges nothing and starts nothing.
#![forbid(unsafe_code)]

mod cause;
pub mod coverage;
pub mod exit;
pub mod finding;
pub mod format;
pub mod freed_block;
pub mod html;
pub mod interval;
pub mod junit;
pub mod sarif;
pub mod schema;
pub mod selection;
mod selection_page;
mod source;
mod story;
pub mod suppression;
pub mod symbol;
pub mod table;
pub mod terminal;
pub mod words;

pub use deadheat_model::Verdict;
pub use finding::{Finding, Report};
pub use format::Format;
pub use suppression::Suppressions;
pub use symbol::Symboliser;
