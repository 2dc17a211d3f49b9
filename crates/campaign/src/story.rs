//! The story of a minimised run in words: what matters of its events, in order.
//!
//! What matters: what is done to the objects of the two decisive events, to what the threads of a deadlock wait for
//! and hold, and to what a thread was about to touch when it lost the turn. Of the rest nothing is told.

use crate::candidate::Context;
use crate::describe::{Described, Names, kind_of_object};
use deadheat_confirm::candidate::Shown;
use deadheat_confirm::minimise::Story;
use deadheat_confirm::outcome::Outcome;
use deadheat_model::{ByteRange, ObjectId, ObjectKind, SiteKind, ThreadId, WaitReason};
use deadheat_report::finding::{self, Event};
use deadheat_report::words;
use deadheat_wire::record::{Deadlock, Step, StepKind};
use std::collections::{HashMap, HashSet};

/// Most events told; earlier ones are counted.
const MOST: usize = 40;

/// What the events of a story must touch.
#[derive(Default)]
struct Matter {
    objects: HashSet<(ObjectKind, ObjectId)>,
    bytes: Vec<ByteRange>,
}

impl Matter {
    fn of(story: &Story, deadlock: Option<&Deadlock>) -> Matter {
        let mut matter = Matter::default();
        if let Some(swap) = &story.swap {
            matter.add(&story.steps[swap.first]);
            matter.add(&story.steps[swap.second]);
        }
        for waiting in deadlock.iter().flat_map(|d| &d.threads) {
            match waiting.reason {
                WaitReason::Object(kind, object) => {
                    matter.objects.insert((kind, object));
                }
                WaitReason::Join(thread) => {
                    matter.objects.insert((ObjectKind::Thread, end_of(thread)));
                }
                _ => {}
            }
            matter.objects.extend(waiting.held.iter().map(|h| (h.kind, h.object)));
        }
        let lost: HashSet<u64> = story.switches.iter().filter(|s| s.preempts).map(|s| s.step).collect();
        for step in story.steps.iter().filter(|s| lost.contains(&s.step)) {
            matter.add(step);
        }
        matter
    }

    fn add(&mut self, step: &Step) {
        self.objects.extend(step.object);
        self.bytes.extend(step.access.map(|a| a.bytes));
    }

    fn has(&self, step: &Step) -> bool {
        step.object.is_some_and(|o| self.objects.contains(&o))
            || step
                .access
                .is_some_and(|a| self.bytes.iter().any(|b| b.overlaps(a.bytes)))
    }
}

fn end_of(thread: ThreadId) -> ObjectId {
    ObjectId {
        address: thread.0.into(),
        generation: 0,
    }
}

/// The story of a shown execution, if it is minimised.
pub fn of(names: &mut Names<'_>, shown: &Shown) -> Option<finding::Story> {
    let story = shown.story.as_ref()?;
    let context = Context::of(&shown.run.records);
    let mut teller = Teller {
        described: names.of(&context),
        events: Vec::new(),
        of_step: HashMap::new(),
        pending: HashMap::new(),
        torn: shown.run.records.meetings.iter().any(|m| m.torn),
    };
    teller.tell(story, shown.run.records.deadlock.as_ref());
    let left_out = teller.events.len().saturating_sub(MOST);
    let number = |step: usize| teller.of_step.get(&step).map(|n| teller.events[*n].number);
    let swap = story.swap.as_ref().and_then(|swap| {
        Some(finding::Swap {
            first: number(swap.first)?,
            second: number(swap.second)?,
            outcome: ending(&swap.outcome),
        })
    });
    Some(finding::Story {
        preemptions: story.preemptions(),
        left_out: left_out as u32,
        swap,
        events: teller.events.split_off(left_out),
    })
}

fn ending(outcome: &Outcome) -> String {
    match (outcome, outcome.as_harm()) {
        (Outcome::Exit(status), _) => format!("the program exits with status {status}"),
        (_, Some(harm)) => format!("{}: {}", words::harm(harm.kind), harm.detail),
        _ => "the run was stopped".into(),
    }
}

struct Teller<'n> {
    described: Described<'n>,
    events: Vec<Event>,
    /// The event that tells of a step, by indices.
    of_step: HashMap<usize, usize>,
    /// What a thread that lost the turn was about to do.
    pending: HashMap<ThreadId, usize>,
    /// Whether statements that read and write come apart where they are interrupted.
    torn: bool,
}

impl Teller<'_> {
    fn tell(&mut self, story: &Story, deadlock: Option<&Deadlock>) {
        let matter = Matter::of(story, deadlock);
        let mut switches = story.switches.iter().peekable();
        for (at, step) in story.steps.iter().enumerate() {
            while let Some(switch) = switches.next_if(|s| s.step < step.step) {
                self.resume(story, switch.to);
            }
            if !matter.has(step) {
                continue;
            }
            let lost = switches.peek().is_some_and(|s| s.step == step.step && s.preempts);
            if lost {
                let does = match self.halves(step) {
                    Some(what) => format!("reads {what} and is interrupted before it writes it"),
                    None => format!("is interrupted before it {}", self.does(step)),
                };
                self.push(at, step, does);
                self.pending.insert(step.thread, at);
                continue;
            }
            if step.kind == StepKind::Waits && self.waits(at, step, story) {
                continue;
            }
            let does = self.does(step);
            self.push(at, step, does);
        }
        for switch in switches {
            self.resume(story, switch.to);
        }
        for (n, event) in self.events.iter_mut().enumerate() {
            event.number = n as u32 + 1;
        }
    }

    /// The thread goes on with what it was about to do.
    fn resume(&mut self, story: &Story, thread: ThreadId) {
        if let Some(at) = self.pending.remove(&thread) {
            let step = &story.steps[at];
            let does = match self.halves(step) {
                Some(what) => format!("writes {what}"),
                None => self.does(step),
            };
            let read = self.of_step.get(&at).copied().filter(|_| self.torn);
            self.push(at, step, does);
            // What others do comes before or after the read of a statement that came apart.
            self.of_step.extend(read.map(|event| (at, event)));
        }
    }

    /// The name of what a step reads and writes, if it comes apart.
    fn halves(&mut self, step: &Step) -> Option<String> {
        let access = step.access.filter(|a| self.torn && a.kind == SiteKind::ReadWrite)?;
        Some(self.described.object_name(access.bytes.start))
    }

    /// Whether the thread's last event was to come for what it waits for now: that is told in one.
    fn waits(&mut self, at: usize, step: &Step, story: &Story) -> bool {
        let Some((kind, object)) = step.object else {
            return false;
        };
        let came = story.steps[..at].iter().rposition(|s| s.thread == step.thread);
        let same = came.filter(|c| story.steps[*c].object == step.object);
        let Some(event) = same.and_then(|c| self.of_step.get(&c).copied()) else {
            return false;
        };
        let what = self.what(kind, object);
        self.events[event].does = format!("waits for {what}");
        self.of_step.insert(at, event);
        true
    }

    fn push(&mut self, at: usize, step: &Step, does: String) {
        let of_site = step.access.is_some();
        let stack = self.described.stack(&step.stack, of_site);
        let own = stack.iter().find(|f| f.line > 0 && !f.of_system());
        self.of_step.insert(at, self.events.len());
        self.events.push(Event {
            number: 0,
            thread: step.thread.0,
            does,
            at: own.or(stack.first()).cloned(),
        });
    }

    fn what(&mut self, kind: ObjectKind, object: ObjectId) -> String {
        match kind {
            ObjectKind::Thread => format!("the end of thread T{}", object.address),
            kind => format!(
                "{} {}",
                kind_of_object(kind),
                self.described.object_name(object.address)
            ),
        }
    }

    fn does(&mut self, step: &Step) -> String {
        if let Some(access) = step.access {
            let atomically = if access.kind.is_atomic() { "atomically " } else { "" };
            let verb = match access.kind {
                SiteKind::Read | SiteKind::AtomicLoad => "reads",
                SiteKind::Write | SiteKind::AtomicStore => "writes",
                SiteKind::Free => "frees",
                _ => "updates",
            };
            return format!("{atomically}{verb} {}", self.described.object_name(access.bytes.start));
        }
        let Some((kind, object)) = step.object else {
            return match step.kind {
                StepKind::Creates => "creates a thread".into(),
                StepKind::Ends => "ends".into(),
                _ => "waits".into(),
            };
        };
        let what = self.what(kind, object);
        match (step.kind, kind) {
            (StepKind::Takes, ObjectKind::Condition | ObjectKind::Futex | ObjectKind::Barrier) => {
                format!("comes to wait on {what}")
            }
            (StepKind::Takes, ObjectKind::Thread) => format!("comes to wait for {what}"),
            (StepKind::Takes, _) => format!("takes {what}"),
            (StepKind::Gives, ObjectKind::Condition | ObjectKind::Futex) => format!("signals {what}"),
            (StepKind::Gives, ObjectKind::Semaphore) => format!("posts {what}"),
            (StepKind::Gives, _) => format!("gives {what} back"),
            _ => format!("waits for {what}"),
        }
    }
}
