//! The hunt: phases in turn within a budget, many runs at once, and a store that remembers.
//!
//! - [`site_index`], [`call_sites`], [`statement`], [`candidate`]: sites to statements, statements to candidate pairs;
//! - [`phase_one`]: candidates by detection under several schedules;
//! - [`cause`]: in which order candidates are tried, and which together;
//! - [`hunt`]: the pipeline; [`confirmation`]: candidates before the judge, in parallel;
//! - [`scan`], [`static_findings`], [`scan_memory`], [`baseline`]: the static stage, its warnings in the words of the report,
//!   what it remembers, those warnings that are new;
//! - [`waiting_cycle`]: cycles of waiting, which may be deadlocks;
//! - [`inputs`], [`measuring`], [`selecting`], [`guided`]: many inputs, and detection only where it is new;
//! - [`exploration`], [`policies`]: schedules that are directed at nothing;
//! - [`minimisation`]: findings in their fewest switches;
//! - [`mod@explore`], [`explored_input`], [`coverage`]: inputs by symbolic execution, detection on each;
//! - [`describe`], [`bad_end`], [`misuse`], [`story`]: findings in the words of the report;
//! - [`store`], [`token`], [`replay`]: what is kept, named and run again.
//!
//! Architecture invariant: verdicts come from `deadheat-confirm` alone; what a user reads is formatted by
//! `deadheat-report` alone.
#![forbid(unsafe_code)]

pub mod bad_end;
pub mod baseline;
pub mod call_sites;
pub mod candidate;
pub mod cause;
pub mod confirmation;
pub mod coverage;
pub mod describe;
pub mod exploration;
pub mod explore;
pub mod explored_input;
pub mod export;
pub mod guided;
pub mod hash;
pub mod hunt;
pub mod input;
pub mod inputs;
mod known_code;
pub mod left_out;
pub mod limits;
pub mod linked_code;
pub mod linked_files;
pub mod measuring;
pub mod minimisation;
pub mod misuse;
mod parts;
pub mod phase_one;
pub mod policies;
pub mod progress;
pub mod replay;
pub mod scan;
pub mod scan_memory;
pub mod selecting;
pub mod site_index;
pub mod statement;
pub mod static_findings;
pub mod store;
pub mod story;
pub mod token;
pub mod waiting_cycle;

pub use deadheat_confirm as confirm;
pub use deadheat_report as report;
pub use hunt::{Extent, Hunt, HuntError, Options};
pub use store::Store;
