//! What a run says of when its functions ran: function instances, grouped (Deng, Zhang, Lu, OOPSLA 2013, 3.2.2).

use crate::ThreadId;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The time from a function's entry to its exit, as far as concurrency depends on it. Instances of any functions that
/// agree in all of this share a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FunctionSpan {
    /// Who ran it.
    pub thread: ThreadId,
    /// Locks held at entry, an index into [`FunctionSpans::locksets`].
    pub locks: u32,
    /// Of these, the locks that were held without a break until exit.
    pub through: u32,
    /// What the thread knew of others at entry, an index into [`FunctionSpans::clocks`].
    pub clock: u32,
    /// The thread's own epoch at entry.
    pub entry: u32,
    /// And at exit.
    pub exit: u32,
    /// Stands for several spans, from the first one's entry to the last one's exit.
    pub widened: bool,
}

/// The function instances of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSpans {
    /// For each thread that had done something before: its last epoch that is ordered before, by edges other than
    /// those of locks.
    pub clocks: Vec<Vec<(ThreadId, u32)>>,
    /// Lock and whether it is held for reading only, ascending.
    pub locksets: Vec<Vec<(u32, bool)>>,
    /// The spans.
    pub spans: Vec<FunctionSpan>,
    /// Function (a number of the run) and span, ascending: it has an instance there.
    pub members: Vec<(u32, u32)>,
    /// Instances and clocks that did not fit and were joined with others: pairs may be claimed that are not concurrent.
    pub widened: u64,
    /// Instances that did not fit at all: pairs may be missing.
    pub dropped: u64,
}
