//! The judge, and what it judges by: one run of a program under a plan, isolated, and its outcome.
//!
//! - [`program`]: what is run, and whether it can be (built with deadheat, executable, there);
//! - [`stage`]: starts runs, each from the same files, input, environment and limits;
//! - `server`: forks runs from a program that was started once, where that changes nothing but the time;
//! - [`client`]: who talks to a program that serves; [`processes`]: all that a run has started;
//! - [`records`], [`outcome`]: what the runtime wrote of a run, and how the run ended; [`bad_end`]: and where;
//! - [`baseline`]: the ordinary runs, against which harm is measured;
//! - [`minimise`]: the fewest switches that still show a finding;
//! - [`judge`]: the verdict on a candidate; [`together`]: tries directed at several candidates;
//!   [`deadlock`]: the verdict on a cycle of waiting; [`misuse`]: calls that broke their contract; [`replay`]: whether an execution repeats.
//!
//! Architecture invariant: only this crate judges. It names no source line: sites are numbers here.
#![deny(unsafe_code)]

mod asleep;
pub mod bad_end;
pub mod baseline;
pub mod candidate;
mod cause;
pub mod client;
pub mod deadlock;
pub mod ends;
pub mod freed_use;
pub mod hang;
pub mod isolation;
pub mod judge;
mod launch;
pub mod minimise;
pub mod misuse;
mod network;
pub mod oracle;
mod orders;
pub mod outcome;
mod output;
mod processes;
pub mod program;
pub mod records;
pub mod replay;
mod scratch;
mod server;
pub mod stage;
pub mod together;

pub use bad_end::BadEnd;
pub use baseline::Baseline;
pub use candidate::Case;
pub use client::{Client, ClientEnd, Ready};
pub use isolation::Isolation;
pub use oracle::Oracle;
pub use outcome::Outcome;
pub use output::Output;
pub use program::{Chosen, Program, ProgramError};
pub use records::Records;
pub use stage::{End, Run, RunError, Stage, StageError, StageOptions, StopReason};
