//! Whether two function instances can run at the same time (figure 3 of the paper).
//!
//! They can if the entry of one can lie between entry and exit of the other: no lock that is held at the one's entry is
//! held by the other from entry to exit, and the one's entry is ordered neither before the other's entry nor after its
//! exit. The paper's figure asks it of both sides, its text and its examples (main and the threads that it makes) of
//! either: a creator's entry comes before its thread's, whose entry still falls into the creator's interval. So we ask
//! it of either.
//!
//! The order is that of vector clocks without lock edges. An instance of a thread is ordered before another thread's
//! moment if that knows the epoch in which it ended.

use deadheat_model::{FunctionSpan, FunctionSpans, ThreadId};

/// Answers for the spans of one run.
#[derive(Debug)]
pub struct Concurrency<'a> {
    spans: &'a FunctionSpans,
}

/// A number for one that the table does not have: nothing known, nothing held.
fn row<T>(table: &[Vec<T>], number: u32) -> &[T] {
    table.get(number as usize).map_or(&[], Vec::as_slice)
}

impl<'a> Concurrency<'a> {
    /// For these spans.
    pub fn new(spans: &'a FunctionSpans) -> Concurrency<'a> {
        Concurrency { spans }
    }

    /// Whether instances in these two spans can run at the same time.
    pub fn concurrent(&self, a: &FunctionSpan, b: &FunctionSpan) -> bool {
        if a.thread == b.thread {
            return false;
        }
        let (a_knows, b_knows) = (self.knows(a, b.thread), self.knows(b, a.thread));
        // Ended before the other began.
        if b_knows >= a.exit || a_knows >= b.exit {
            return false;
        }
        let (a_before, b_before) = (b_knows >= a.entry, a_knows >= b.entry);
        let b_entered = self.apart(b.locks, a.through);
        let a_entered = self.apart(a.locks, b.through);
        if a.widened || b.widened {
            return b_entered || a_entered;
        }
        !b_before && b_entered || !a_before && a_entered
    }

    /// The epoch of `thread` that the span's thread knew at its entry.
    fn knows(&self, span: &FunctionSpan, thread: ThreadId) -> u32 {
        let clock = row(&self.spans.clocks, span.clock);
        let at = clock.binary_search_by_key(&thread, |(t, _)| *t);
        at.map_or(0, |at| clock[at].1)
    }

    /// Whether no lock keeps holders of the two sets apart.
    fn apart(&self, a: u32, b: u32) -> bool {
        let (a, b) = (row(&self.spans.locksets, a), row(&self.spans.locksets, b));
        !a.iter()
            .any(|(lock, read)| b.iter().any(|(other, too)| lock == other && !(*read && *too)))
    }
}
