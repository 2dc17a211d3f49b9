//! Meetings: two threads at once about to make conflicting accesses.
//!
//! The scheduler says that two threads met and which goes first; here the record is made, with both stacks
//! and the memory before. It is written once both accesses are made, with the memory after them, or at the
//! end of the run without. A thread has made its access when it was let go and then came to any other event.
//! A meeting whose only write is a compare-exchange that then fails is none: it is dropped.

use crate::held::Held;
use crate::targets::Place;
use crate::{annotations, memory, observe, stack, targets};
use alloc::vec::Vec;
use deadheat_model::{Access, AccessKind, SiteKind, ThreadId};
use deadheat_schedule::Met;
use deadheat_wire::plan::StopAt;
use deadheat_wire::record::{Meeting, Record, Witness};

/// How far a thread is with its access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Standing,
    LetGo,
    Made,
}

struct Open {
    meeting: Meeting,
    stages: [(ThreadId, Stage); 2],
}

struct Meetings {
    open: Vec<Open>,
    stop_at: Option<StopAt>,
}

static MEETINGS: Held<Meetings> = Held::new(Meetings {
    open: Vec::new(),
    stop_at: None,
});

/// Where to stop for a debugger.
pub fn start(stop_at: Option<StopAt>) {
    MEETINGS.get().stop_at = stop_at;
}

/// Two threads, both at target sites, met. Called by the scheduler before either goes on.
pub fn met(met: &Met, step: u64) {
    let Met {
        arriving,
        postponed,
        arriving_first,
        number,
    } = *met;
    let (Some(a), Some(p)) = (targets::place(arriving), targets::place(postponed)) else {
        return;
    };
    let excused = |a: &Access| annotations::excuse(a.thread, a.kind.writes(), a.bytes);
    if excused(&a.access) || excused(&p.access) {
        return;
    }
    let low = a.access.bytes.start.max(p.access.bytes.start);
    let meeting = Meeting {
        number,
        step,
        arriving: witness(&a),
        postponed: witness(&p),
        arriving_first,
        torn: false,
        memory: memory::of(low),
        after: Vec::new(),
    };
    let held = meeting.arriving.held.iter().chain(&meeting.postponed.held);
    memory::tell(held.map(|h| h.object));
    let stages = [(arriving, Stage::Standing), (postponed, Stage::Standing)];
    let meetings = MEETINGS.get();
    meetings.open.push(Open { meeting, stages });
    if matches!(meetings.stop_at, Some(StopAt::FirstRace)) || meetings.stop_at == Some(StopAt::Meeting(number)) {
        stop();
    }
}

/// A pair that happens-before does not order: the running thread is about to make the second access.
pub fn unordered() {
    if MEETINGS.get().stop_at == Some(StopAt::FirstRace) {
        stop();
    }
}

/// The misuse of synchronisation with this number is about to happen.
pub fn misuse(number: u32) {
    if MEETINGS.get().stop_at == Some(StopAt::Misuse(number)) {
        stop();
    }
}

/// Stops here in a debugger, once.
fn stop() {
    MEETINGS.get().stop_at = None;
    // SAFETY: signals this thread.
    unsafe {
        crate::sys::sys!(
            libc::SYS_tgkill,
            crate::sys::getpid(),
            crate::sys::gettid(),
            libc::SIGTRAP
        );
    }
}

/// Whether no meeting is being recorded.
pub fn none() -> bool {
    MEETINGS.get().open.is_empty()
}

/// What is known of a thread's access where it stands.
pub fn witness(place: &Place) -> Witness {
    let bytes = place.access.bytes;
    Witness {
        access: place.access,
        stack: stack::walk(place.frame, true, place.bounds),
        held: observe::held(place.access.thread),
        before: memory::peek(bytes.start, bytes.len),
    }
}

/// The thread's statement comes apart: it works on the value from before the meeting.
pub fn torn(thread: ThreadId) {
    let open = MEETINGS.get().open.iter_mut();
    for open in open.filter(|o| o.stages.iter().any(|s| s.0 == thread)) {
        open.meeting.torn = true;
    }
}

/// The thread may make its access.
pub fn left(thread: ThreadId) {
    advance(thread, Stage::Standing, Stage::LetGo);
}

/// The thread came to another event, so its last access is made.
#[inline]
pub fn event(thread: ThreadId) {
    let meetings = MEETINGS.get();
    if meetings.open.is_empty() {
        return;
    }
    advance(thread, Stage::LetGo, Stage::Made);
    let mut at = 0;
    while at < meetings.open.len() {
        if meetings.open[at].stages.iter().all(|s| s.1 == Stage::Made) {
            let mut open = meetings.open.remove(at);
            let (a, p) = (open.meeting.arriving.access.bytes, open.meeting.postponed.access.bytes);
            let start = a.start.max(p.start);
            let end = (a.start + a.len).min(p.start + p.len);
            open.meeting.after = memory::peek(start, end.saturating_sub(start));
            crate::report::write(&Record::Meeting(open.meeting));
        } else {
            at += 1;
        }
    }
}

fn advance(thread: ThreadId, from: Stage, to: Stage) {
    for open in &mut MEETINGS.get().open {
        for stage in &mut open.stages {
            if *stage == (thread, from) {
                stage.1 = to;
            }
        }
    }
}

/// The thread's compare-exchange at a target did or did not write.
pub fn exchanged(thread: ThreadId, success: bool) {
    if success {
        return;
    }
    MEETINGS.get().open.retain(|open| {
        let m = &open.meeting;
        let (mine, other) = match thread {
            t if m.arriving.access.thread == t => (&m.arriving.access, &m.postponed.access),
            t if m.postponed.access.thread == t => (&m.postponed.access, &m.arriving.access),
            _ => return true,
        };
        mine.kind != SiteKind::AtomicCompareExchange || other.access_kind() != AccessKind::Read
    });
}

/// The run ends: writes what is open.
pub fn finish() {
    for open in MEETINGS.get().open.drain(..) {
        crate::report::write(&Record::Meeting(open.meeting));
    }
}
