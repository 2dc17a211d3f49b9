//! Whether the order of two accesses is what a run's end comes from: the run once more, all the same but for that order.
//!
//! A run that goes on by its policy after a meeting was turned is another run: other threads come next, and it may end
//! well for reasons that have nothing to do with the pair. So the run's recorded switches are named by the threads' own
//! points (policy `deviations`), the access that came second is made next to the one that came first, and before it, and
//! all else stays as it was.

use crate::candidate::meetings;
use crate::minimise::{deviations, with};
use crate::records::Of;
use crate::stage::{Run, RunError, Stage};
use deadheat_model::ThreadId;
use deadheat_wire::plan::{Deviation, Plan, Switch, Targets};
use deadheat_wire::record::Meeting;

/// The run with the accesses of a meeting the other way round; none if it cannot be made, or does not come to that.
pub(crate) fn swapped(
    stage: &Stage,
    plan: &Plan,
    pair: &Targets,
    run: &Run,
    meeting: &Of<Meeting>,
) -> Result<Option<Run>, RunError> {
    let Some(turns) = turns(&run.records.switches, meeting) else {
        return Ok(None);
    };
    let other = match stage.run(&with(plan, &turns)) {
        Err(RunError::NoRuntime(_)) => return Ok(None),
        other => other?,
    };
    let threads = |m: &Meeting| {
        let (a, b) = (m.arriving.access.thread, m.postponed.access.thread);
        if m.arriving_first { (a, b) } else { (b, a) }
    };
    let (first, second) = threads(meeting);
    let turned = meetings(pair, &other).any(|m| m.step >= meeting.step && threads(m) == (second, first));
    Ok(turned.then_some(other))
}

/// The run's switches with the meeting's accesses the other way round.
fn turns(switches: &[Switch], meeting: &Meeting) -> Option<Vec<Deviation>> {
    let named = deviations(switches);
    let (arriving, postponed) = (meeting.arriving.access.thread, meeting.postponed.access.thread);
    let before = switches.iter().take_while(|s| s.step < meeting.step).count();
    let turn = |of: ThreadId, point: u64, to: ThreadId| Deviation {
        of,
        point,
        waits: false,
        to,
        timeout: false,
    };
    let (head, tail) = named.split_at(before);
    if meeting.arriving_first {
        // The other thread makes its access, which it stands before, and no more.
        let lost = |of: ThreadId| head.iter().rfind(|d| d.of == of).map(|d| d.point);
        let since = switches[..before].last().map_or(0, |s| s.step);
        let arrived = lost(arriving).unwrap_or(0) + (meeting.step - since);
        let made = lost(postponed)? + 1;
        let there = [turn(arriving, arrived, postponed), turn(postponed, made, arriving)];
        return Some([head, &there, &without_turn(tail, postponed, made)].concat());
    }
    // The thread that lost the turn at its access loses it behind that.
    let (lost, rest) = tail.split_first()?;
    let made = lost.point + 1;
    let behind = turn(arriving, made, postponed);
    let rest = without_turn(rest, arriving, made);
    (lost.of == arriving && lost.to == postponed).then(|| [head, &[behind], &rest].concat())
}

/// A thread made its access before: if it did no more than that in its next turn, it has none.
fn without_turn(switches: &[Deviation], of: ThreadId, made: u64) -> Vec<Deviation> {
    let mut left = switches.to_vec();
    let next = left.iter().position(|d| d.of == of).filter(|n| *n > 0);
    if let Some(next) = next.filter(|n| (left[*n].point, left[*n].waits) == (made, false)) {
        let lost = left.remove(next);
        let given = &mut left[next - 1];
        (given.to, given.timeout) = (lost.to, lost.timeout);
        if given.to == given.of {
            left.remove(next - 1);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(of: u32, point: u64, to: u32) -> Deviation {
        Deviation {
            of: ThreadId(of),
            point,
            waits: false,
            to: ThreadId(to),
            timeout: false,
        }
    }

    #[test]
    fn a_turn_in_which_nothing_is_left_to_do_goes_to_the_next() {
        let (to_it, on, later) = (deviation(1, 2, 2), deviation(2, 4, 3), deviation(3, 1, 2));
        let left = without_turn(&[to_it, on, later], ThreadId(2), 4);
        assert_eq!(left, [deviation(1, 2, 3), later]);
        let back = deviation(2, 4, 1);
        assert_eq!(without_turn(&[to_it, back, later], ThreadId(2), 4), [later]);
        let more = deviation(2, 5, 3);
        assert_eq!(without_turn(&[to_it, more], ThreadId(2), 4), [to_it, more]);
    }
}
