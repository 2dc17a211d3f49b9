//! Whether a thread has waited for others, or for the world, since it started.
//!
//! A server's threads are created early and wait for work; what the program's start then still sets up is done before
//! there is any. Nothing orders the two, so such pairs stay warnings, of a low rank ([`crate::rank`]).

use serde::{Deserialize, Serialize};

/// What is known of a thread's waits so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Waited {
    /// It has not waited.
    #[default]
    No,
    /// On some way it has.
    Perhaps,
    /// It has.
    Surely,
}

impl Waited {
    /// One way or the other.
    #[must_use]
    pub fn join(self, other: Waited) -> Waited {
        if self == other { self } else { Waited::Perhaps }
    }

    /// This and then the other.
    #[must_use]
    pub fn then(self, other: Waited) -> Waited {
        self.max(other)
    }
}
