//! The token. (First version: signatures.)

use deadheat_model::{Access, Operation, ThreadId};

/// Number of the thread that calls.
pub fn current() -> ThreadId {
    ThreadId::MAIN
}
/// Whether this thread is under control and holds the token.
pub fn running() -> bool {
    false
}
/// Offers a scheduling point before an operation; returns when this thread may perform it.
pub fn point(_next: Operation) {}
/// A spin loop lost its turn; waits until the aligned 8 bytes around `addr` change if given.
pub fn yield_spin(_addr: Option<u64>) {}
/// A thread comes to a target statement; returns when it may perform the access.
pub fn arrive(_access: Access) {}
/// Number of the present scheduling point.
pub fn step() -> u64 {
    0
}
