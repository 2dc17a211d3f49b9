//! Either order of a meeting, from the same prefix: the schedule up to the meeting is kept, one of the two
//! threads goes first, and from there on the run is ordinary: `fifo`, which the replay policy falls back to
//! where its record cannot be followed. (Without that a thread that spins would never give way, and its
//! hang would be laid to the order.)
//!
//! Each order in two ways: whoever goes first goes on, or is interrupted at its next scheduling point by the
//! other, which then runs as far as it can. The second is how a wake-up gets lost between test and wait.

use crate::candidate::meetings;
use crate::records::Of;
use crate::replay;
use crate::stage::Run;
use deadheat_model::ThreadId;
use deadheat_wire::plan::{Plan, Switch, Targets};
use deadheat_wire::record::Meeting;

/// A thread that can never run: the record ends here.
const NOBODY: ThreadId = ThreadId(u32::MAX);

/// The first and the last meeting of a pair.
pub(crate) fn ends<'r>(pair: &Targets, run: &'r Run) -> Vec<&'r Of<Meeting>> {
    let first = meetings(pair, run).next();
    let last = meetings(pair, run).last();
    let mut ends: Vec<&Of<Meeting>> = first.into_iter().chain(last).collect();
    ends.dedup_by_key(|m| m.number);
    ends
}

/// The plan of one order of a meeting of `run`.
pub(crate) fn plan(plan: &Plan, run: &Run, meeting: &Meeting, arriving_first: bool, interrupted: bool) -> Plan {
    let before = run.records.switches.iter().filter(|s| s.step < meeting.step);
    let mut switches: Vec<Switch> = before.copied().collect();
    let (arriving, postponed) = (meeting.arriving.access.thread, meeting.postponed.access.thread);
    let (first, second) = if arriving_first {
        (arriving, postponed)
    } else {
        (postponed, arriving)
    };
    let turns = [Some(first), Some(second).filter(|_| interrupted), Some(NOBODY)];
    for (to, step) in turns.into_iter().flatten().zip(meeting.step..) {
        switches.push(Switch {
            step,
            to,
            timeout: false,
            preempts: false,
            point: 0,
            waits: false,
        });
    }
    replay::schedule_plan(plan, &switches)
}

/// Which way the same meeting went in another run, if it took place there.
pub(crate) fn resolved(run: &Run, meeting: &Of<Meeting>) -> Option<bool> {
    let same = |m: &&Of<Meeting>| {
        let threads = (m.arriving.access.thread, m.postponed.access.thread);
        (m.process, m.step) == (meeting.process, meeting.step)
            && threads == (meeting.arriving.access.thread, meeting.postponed.access.thread)
    };
    run.records.meetings.iter().find(same).map(|m| m.arriving_first)
}
