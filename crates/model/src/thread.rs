//! Threads of one run.

use serde::{Deserialize, Serialize};

/// A thread of one run: 0 is the main thread, others are numbered in order of creation.
///
/// Under one schedule the number is the same in every run, so it may be recorded and replayed; across
/// schedules a thread is named by its creation path instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The thread that runs `main`.
    pub const MAIN: ThreadId = ThreadId(0);

    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
