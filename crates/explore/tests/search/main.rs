//! The search on small programs, written as functions of their input that leave a trace.

mod paths;
mod pruning;
mod simulated;
