//! Scheduling policies: who runs next, as pure state machines.
//!
//! "The one controls execution, the other defines policy": the runtime parks and wakes threads and asks a
//! [`Policy`] at each scheduling point; a policy sees nothing but the [`Question`]. Architecture invariant:
//! no threads, no clock, no I/O, no unsafe; the same questions and the same seed give the same answers, so a
//! run is named by its policy and seed.
//!
//! One policy a file: [`Fifo`], [`Random`], [`Pct`], [`Pos`], [`Surw`], [`Overtaken`], [`RaceDirected`] (RaceFuzzer's algorithm 1),
//! [`CycleDirected`] (DeadlockFuzzer's), [`Replay`], [`Deviations`];
//! [`AnyPolicy`] is the one that a plan asks for. [`RacingPair`] has the paper's algorithm 2.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod any;
mod cycle_directed;
mod deviations;
mod fifo;
mod held_back;
mod overtaken;
mod pct;
mod policy;
mod pos;
mod race_directed;
mod racing;
mod random;
mod replay;
mod rng;
mod surw;

pub use any::{AnyPolicy, Kind};
pub use cycle_directed::{CycleDirected, CycleParameters};
pub use deviations::{Deviation, Deviations};
pub use fifo::Fifo;
pub use held_back::PATIENCE;
pub use overtaken::Overtaken;
pub use pct::Pct;
pub use policy::{Answer, Cause, Enabled, Met, Policy, Question};
pub use pos::Pos;
pub use race_directed::{Parameters, RaceDirected};
pub use racing::RacingPair;
pub use random::Random;
pub use replay::{Replay, Turn};
pub use rng::Rng;
pub use surw::Surw;
