//! The events of a run in order, for the story of a finding: only in runs that the plan asks it of.

use crate::held::Held;
use crate::memory;
use crate::stuck;
use crate::thread::Thread;
use alloc::vec::Vec;
use deadheat_model::{Operation, WaitReason};
use deadheat_wire::record::{Memory, Notice, Record, Step, StepKind};

/// Most events kept.
const MOST: u64 = 20_000;
/// Events are written in chunks of this many.
const CHUNK: usize = 64;
/// Frames kept of each event's stack.
const FRAMES: usize = 6;

struct Trace {
    on: bool,
    steps: Vec<Step>,
    count: u64,
}

static TRACE: Held<Trace> = Held::new(Trace {
    on: false,
    steps: Vec::new(),
    count: 0,
});

/// Events are kept from now on.
pub fn start() {
    TRACE.get().on = true;
}

/// Whether events are kept.
pub fn on() -> bool {
    TRACE.get().on
}

/// A thread comes to an operation.
#[inline]
pub fn comes(t: &Thread, step: u64, next: &Operation) {
    if TRACE.get().on {
        note(t, step, next);
    }
}

#[cold]
fn note(t: &Thread, step: u64, next: &Operation) {
    let (kind, object, access) = match *next {
        Operation::Acquire(kind, object) => (StepKind::Takes, Some((kind, object)), None),
        Operation::Part(part) => (StepKind::Takes, Some((part.kind, part.object)), None),
        Operation::Release(kind, object) => (StepKind::Gives, Some((kind, object)), None),
        Operation::Access(access) | Operation::Atomic(access) => (StepKind::Accesses, None, Some(access)),
        Operation::Create => (StepKind::Creates, None, None),
        Operation::Join(thread) => {
            let object = deadheat_detect::Resource::end_of(thread);
            (StepKind::Takes, Some((object.kind, object.object)), None)
        }
        Operation::Start | Operation::Continue | Operation::Yield | Operation::External | Operation::End => return,
    };
    push(t, step, kind, object, access);
}

/// A thread waits.
pub fn waits(t: &Thread, step: u64) {
    if !TRACE.get().on {
        return;
    }
    let object = match t.wait.reason() {
        WaitReason::Object(kind, object) => Some((kind, object)),
        WaitReason::Join(thread) => {
            let end = deadheat_detect::Resource::end_of(thread);
            Some((end.kind, end.object))
        }
        WaitReason::Spin(_) => return,
        WaitReason::Sleep | WaitReason::External => None,
    };
    push(t, step, StepKind::Waits, object, None);
}

/// A thread ends.
pub fn ends(t: &Thread, step: u64) {
    if TRACE.get().on {
        push(t, step, StepKind::Ends, None, None);
    }
}

fn push(
    t: &Thread,
    step: u64,
    kind: StepKind,
    object: Option<(deadheat_model::ObjectKind, deadheat_model::ObjectId)>,
    access: Option<deadheat_model::Access>,
) {
    let trace = TRACE.get();
    trace.count += 1;
    if trace.count > MOST {
        return;
    }
    let mut stack = stuck::stack(t);
    stack.truncate(FRAMES);
    memory::tell(object.map(|(_, object)| object));
    trace.steps.push(Step {
        step,
        thread: t.id,
        kind,
        object,
        access,
        memory: access
            .and_then(|access| memory::allocated(access.bytes.start))
            .unwrap_or(Memory::Static),
        stack,
    });
    if trace.steps.len() == CHUNK {
        flush();
    }
}

fn flush() {
    let steps = core::mem::take(&mut TRACE.get().steps);
    if !steps.is_empty() {
        crate::report::write(&Record::Steps(steps));
    }
}

/// The run ends.
pub fn finish() {
    let count = TRACE.get().count.saturating_sub(MOST);
    flush();
    if count > 0 {
        crate::report::write(&Record::Notice(Notice::Cut {
            what: "events of a story".into(),
            count,
        }));
    }
}
