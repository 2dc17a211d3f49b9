//! What a thread is about to do when the scheduler is asked.

use crate::{Access, ObjectId, ObjectKind, ThreadId};
use serde::{Deserialize, Serialize};

/// The next operation of an enabled thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Starts to run.
    Start,
    /// Goes on after an operation that is none of the others.
    Continue,
    /// Takes (or tries to take) an object: lock, semaphore, barrier, wait.
    Acquire(ObjectKind, ObjectId),
    /// Waits, without a time limit, at a place of the cycle of waiting that the run is directed at.
    Part(CyclePart),
    /// Gives an object back or signals it.
    Release(ObjectKind, ObjectId),
    /// Makes an access at a site that the plan watches as a target.
    Access(Access),
    /// Makes an atomic access at a site that is not a target.
    Atomic(Access),
    /// Gives the processor up (`sched_yield`, a spin loop without progress, a sleep that is over).
    Yield,
    /// Creates a thread.
    Create,
    /// Joins a thread.
    Join(ThreadId),
    /// A call that may block outside the program.
    External,
    /// Ends.
    End,
}

/// Why a thread that cannot run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WaitReason {
    /// For an object held or not signalled.
    Object(ObjectKind, ObjectId),
    /// For a thread's end.
    Join(ThreadId),
    /// For time to pass.
    Sleep,
    /// For the world outside (descriptors, children, signals).
    External,
    /// For another thread to change the word at this address.
    Spin(u64),
}

/// A thread at a place of a cycle of waiting, holding what that place asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CyclePart {
    /// Places that it is at (bit n: place n): one line of code may be several.
    pub parts: u32,
    /// Kind of what it waits for.
    pub kind: ObjectKind,
    /// What it waits for.
    pub object: ObjectId,
    /// Who keeps that from it.
    pub wants: Wanted,
}

/// Who keeps an object from a thread that wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Wanted {
    /// Nobody: it would be had at once.
    Free,
    /// This thread.
    Held(ThreadId),
    /// Whoever is to signal it.
    Owed,
}
