//! The different ends that a stage's runs came to, each with the run that showed it first.

use crate::outcome::Outcome;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most different ends that are kept.
const MOST: usize = 64;

/// Ends of the controlled runs of a stage.
#[derive(Debug, Default)]
pub struct Ends {
    runs: AtomicU64,
    first: Mutex<Vec<(Outcome, u64)>>,
}

impl Ends {
    /// Notes how the next run ended.
    pub(crate) fn note(&self, outcome: Outcome) {
        let number = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        if outcome.as_harm().is_none() {
            return;
        }
        if let Ok(mut first) = self.first.lock()
            && first.len() < MOST
            && !first.iter().any(|(known, _)| known.alike(&outcome))
        {
            first.push((outcome, number));
        }
    }

    /// The number, from 1, of the first run that ended in a way of which this is true. Of runs that are made at the same
    /// time those that end first are counted first.
    pub fn first(&self, is_meant: impl Fn(&Outcome) -> bool) -> Option<u64> {
        let first = self.first.lock().ok()?;
        let numbers = first.iter().filter(|(o, _)| is_meant(o)).map(|(_, number)| *number);
        numbers.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_ends_that_are_meant() {
        let ends = Ends::default();
        assert_eq!(ends.first(|_| true), None);
        for end in [
            Outcome::Exit(0),
            Outcome::Hang,
            Outcome::Abort,
            Outcome::Hang,
            Outcome::Deadlock,
        ] {
            ends.note(end);
        }
        assert_eq!(ends.first(|_| true), Some(2));
        assert_eq!(ends.first(|end| *end != Outcome::Hang), Some(3));
        assert_eq!(ends.first(|end| *end == Outcome::Deadlock), Some(5));
    }
}
