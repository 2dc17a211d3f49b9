//! A bad end together with the place at which a run came to it: which ends are the same, and which one finding tells of.

use crate::freed_use::{Code, code};
use crate::outcome::Outcome;
use crate::stage::Run;

/// How a run ended, and where.
#[derive(Clone, Debug)]
pub struct BadEnd {
    outcome: Outcome,
    /// The innermost code that has sites, else the innermost; none where the outcome says all, or no thread ended it.
    at: Option<Code>,
}

impl BadEnd {
    /// Of a run.
    pub fn of(run: &Run) -> BadEnd {
        let outcome = Outcome::of(run);
        let at = match &outcome {
            Outcome::Signal { .. } | Outcome::Abort | Outcome::UncaughtException(_) => stack_end(run),
            Outcome::Panic(told) => told.split_once(": ").map(|(place, _)| (place.into(), 0)),
            _ => None,
        };
        BadEnd { outcome, at }
    }

    /// Whether the two are the same kind of end at the same place (details such as addresses apart).
    pub fn same(&self, other: &BadEnd) -> bool {
        self.outcome.alike(&other.outcome) && self.at == other.at
    }

    /// Whether one finding tells of both: the same end, or uses of blocks that were freed at one place.
    pub fn same_cause(&self, other: &BadEnd) -> bool {
        match (&self.outcome, &other.outcome) {
            (Outcome::FreedUse { place: a, .. }, Outcome::FreedUse { place: b, .. }) if a.freed.is_some() => {
                a.freed == b.freed
            }
            _ => self.same(other),
        }
    }
}

fn stack_end(run: &Run) -> Option<Code> {
    let records = &run.records;
    let ended = records.worst_end()?;
    let (_, stack) = ended.at.as_ref()?;
    let mut places = stack.iter().map(|address| code(*address, records, ended.process));
    let first = places.next()?;
    let own = |(path, _): &Code| records.modules.iter().any(|module| module.path == *path);
    if own(&first) {
        return Some(first);
    }
    Some(places.find(own).unwrap_or(first))
}
