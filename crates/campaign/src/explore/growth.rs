//! How much longer than the given one inputs may become: twice as much, again and again, as long as it pays.
//!
//! Bounds of inputs must be the same for all runs of a search, or none would follow the path that it was made for. So where
//! they change the search begins anew, from those inputs that took new sides, the last ones first: their runs are
//! traced once more, and what they have left to turn is asked for. What was taken before stays known.

use super::running::{needed, side_by_side};
use super::{Explorer, Order, Prune};
use crate::explored_input::FILLER;
use deadheat_confirm::{Program, RunError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Inputs in a row without a new side of the program before inputs are let grow further.
const STALE: u32 = 1_000;
/// Times that the room is doubled.
const MOST_DOUBLED: u32 = 4;
/// Inputs that are traced again at each time, the last ones that took new sides.
const MOST_AGAIN: usize = 400;

impl Explorer<'_> {
    /// Lets inputs grow further if lengthening has paid and within the bounds brings nothing more, or nothing is `left`; says
    /// whether it did. Pruned paths, and a search that takes every path, are about inputs of one length.
    pub(super) fn let_grow(&mut self, left: bool) -> Result<bool, RunError> {
        let may = self.how.prune == Prune::Off
            && self.how.order == Order::Generational
            && self.room < self.how.room << MOST_DOUBLED;
        if !may || left && self.stale < STALE || self.stop() {
            return Ok(false);
        }
        let given = &self.inputs[0].program;
        let most = (self.room - self.room / 4) as usize;
        if !self.kept.iter().any(|n| growth(given, &self.inputs[*n].program) > most) {
            return Ok(false);
        }
        (self.room, self.stale) = (self.room * 2, 0);
        self.search.widen();
        let kept = self.kept.iter().rev().take(MOST_AGAIN);
        let numbers: Vec<usize> = kept.copied().chain([0]).collect();
        for some in numbers.chunks(super::kept::AT_ONCE) {
            self.trace_again(some)?;
        }
        Ok(true)
    }

    fn trace_again(&mut self, numbers: &[usize]) -> Result<(), RunError> {
        let runner = self.runner();
        let programs: Vec<&Program> = numbers.iter().map(|n| &self.inputs[*n].program).collect();
        let traces = side_by_side(&programs, runner.jobs(), |program| runner.trace(program));
        for (number, traced) in numbers.iter().zip(traces) {
            self.runs += 1;
            // It is to stop; what the others have left is kept.
            let Some(bytes) = traced? else { continue };
            let path = self.import(&bytes)?;
            self.inputs[*number].path = needed(&path);
            self.search.again(*number as u32, path);
        }
        Ok(())
    }
}

/// Bytes by which the longest of an input's texts and files is longer than the given one. What it was only filled up with
/// does not count.
fn growth(given: &Program, own: &Program) -> usize {
    let arguments = own
        .args
        .iter()
        .zip(&given.args)
        .map(|(own, given)| (own.len(), given.len()));
    let filled = |bytes: &[u8]| bytes.iter().rposition(|b| *b != FILLER).map_or(0, |last| last + 1);
    let size = |name: &[u8]| {
        let about = std::fs::metadata(given.directory.join(OsStr::from_bytes(name)));
        about.map_or(0, |about| about.len() as usize)
    };
    let files = own.chosen.files.iter().map(|(name, bytes)| (filled(bytes), size(name)));
    let all = arguments.chain(files).chain([(filled(&own.stdin), given.stdin.len())]);
    all.map(|(own, given)| own.saturating_sub(given)).max().unwrap_or(0)
}
