//! The hunt: phases in turn within a budget, many runs at once, and a store that remembers.
//!
//! - [`site_index`], [`statement`], [`candidate`]: sites to statements, statements to candidate pairs;
//! - [`phase_one`]: candidates by detection under several schedules;
//! - [`hunt`]: the pipeline; [`confirmation`]: candidates before the judge, in parallel;
//! - [`describe`], [`bad_end`]: findings in the words of the report;
//! - [`scan`]: the static stage;
//! - [`store`], [`token`], [`replay`]: what is kept, named and run again.
//!
//! Architecture invariant: verdicts come from `deadheat-confirm` alone; what a user reads is formatted by
//! `deadheat-report` alone.
#![forbid(unsafe_code)]

pub mod bad_end;
pub mod candidate;
pub mod confirmation;
pub mod describe;
pub mod hash;
pub mod hunt;
pub mod input;
pub mod phase_one;
pub mod progress;
pub mod replay;
pub mod scan;
pub mod site_index;
pub mod statement;
pub mod store;
pub mod token;

pub use deadheat_confirm as confirm;
pub use deadheat_report as report;
pub use hunt::{Extent, Hunt, HuntError, Options};
pub use store::Store;
