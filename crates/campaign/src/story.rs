//! The story of a minimised run in words: what matters of its events, in order.
//!
//! What matters: what is done to the objects of the two decisive events, to what the threads of a deadlock wait for
//! and hold, and to what a thread was about to touch when it lost the turn. Of the rest nothing is told.
//!
//! Of a long story the beginning, what is around the two decisive events, and the end are told; what is between is
//! counted. Only what is told is given names, so that the cost is that of one pass over the steps.

use crate::candidate::Context;
use crate::describe::{Described, Names, kind_of_object};
use deadheat_confirm::candidate::Shown;
use deadheat_confirm::minimise::{Story, Swap};
use deadheat_confirm::outcome::Outcome;
use deadheat_model::{ByteRange, ObjectId, ObjectKind, SiteKind, ThreadId, WaitReason};
use deadheat_report::finding::{self, Event};
use deadheat_report::words;
use deadheat_wire::record::{Deadlock, Step, StepKind};
use std::collections::{HashMap, HashSet};

/// Most events told; the others are counted.
const MOST: usize = 40;
/// The beginning has this many times less room than the end.
const BEGINNING: usize = 3;

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
    // Only a run of one process has one.
    let context = Context::of(&shown.run.records, 0);
    let torn = shown.run.records.meetings.iter().any(|m| m.torn);
    let mut plot = Plot {
        torn,
        ..Plot::default()
    };
    plot.follow(story, shown.run.records.deadlock.as_deref());
    let numbers = |swap: &Swap| Some((plot.number(swap.first)?, plot.number(swap.second)?));
    if plot.events.is_empty() {
        return None;
    }
    let swapped = story.swap.as_ref().and_then(numbers);
    let told = chosen(plot.events.len(), swapped);
    let mut teller = Teller {
        described: names.of(&context),
        torn,
    };
    let swap = story
        .swap
        .as_ref()
        .zip(swapped)
        .map(|(swap, (first, second))| finding::Swap {
            first: first as u32 + 1,
            second: second as u32 + 1,
            outcome: ending(&swap.outcome),
        });
    Some(finding::Story {
        preemptions: story.preemptions(),
        left_out: (plot.events.len() - told.len()) as u32,
        swap,
        events: told
            .into_iter()
            .map(|n| teller.event(n, plot.events[n], &story.steps))
            .collect(),
    })
}

/// Which of so many events are told, ascending: the nearest to the beginning, to the swapped ones and to the end.
fn chosen(all: usize, swapped: Option<(usize, usize)>) -> Vec<usize> {
    let far = |n: usize| {
        let ends = (n * BEGINNING).min(all - 1 - n);
        swapped.map_or(ends, |(a, b)| ends.min(n.abs_diff(a)).min(n.abs_diff(b)))
    };
    let mut told: Vec<usize> = (0..all).collect();
    told.sort_by_key(|n| far(*n));
    told.truncate(MOST);
    told.sort_unstable();
    told
}

fn ending(outcome: &Outcome) -> String {
    match (outcome, outcome.as_harm()) {
        (Outcome::Exit(status), _) => format!("the program exits with status {status}"),
        (_, Some(harm)) => format!("{}: {}", words::harm(harm.kind), harm.detail),
        _ => "the run was stopped".into(),
    }
}

/// Something to be told: a step, and what of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    /// Index of the step.
    step: usize,
    part: Part,
}

/// What of a step is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All of it.
    Whole,
    /// That its thread lost the turn before it.
    Interrupted,
    /// What was left of it when the thread had the turn again.
    Resumed,
    /// That the thread waits for this.
    Waits(ObjectKind, ObjectId),
}

/// The events of a story, without names.
#[derive(Default)]
struct Plot {
    events: Vec<Told>,
    /// The event that tells of a step, by indices.
    of_step: HashMap<usize, usize>,
    /// What a thread that lost the turn was about to do.
    pending: HashMap<ThreadId, usize>,
    /// The latest step of each thread.
    latest: HashMap<ThreadId, usize>,
    /// Whether statements that read and write come apart where they are interrupted.
    torn: bool,
}

impl Plot {
    /// Index of the event that tells of a step.
    fn number(&self, step: usize) -> Option<usize> {
        self.of_step.get(&step).copied()
    }

    fn follow(&mut self, story: &Story, deadlock: Option<&Deadlock>) {
        let matter = Matter::of(story, deadlock);
        let mut switches = story.switches.iter().peekable();
        for (at, step) in story.steps.iter().enumerate() {
            while let Some(switch) = switches.next_if(|s| s.step < step.step) {
                self.resume(switch.to);
            }
            let before = self.latest.insert(step.thread, at);
            if !matter.has(step) {
                continue;
            }
            if switches.peek().is_some_and(|s| s.step == step.step && s.preempts) {
                self.push(at, Part::Interrupted);
                self.pending.insert(step.thread, at);
                continue;
            }
            if step.kind == StepKind::Waits && self.waits(at, before, &story.steps) {
                continue;
            }
            self.push(at, Part::Whole);
        }
        for switch in switches {
            self.resume(switch.to);
        }
    }

    /// The thread goes on with what it was about to do.
    fn resume(&mut self, thread: ThreadId) {
        if let Some(at) = self.pending.remove(&thread) {
            let read = self.number(at).filter(|_| self.torn);
            self.push(at, Part::Resumed);
            // What others do comes before or after the read of a statement that came apart.
            self.of_step.extend(read.map(|event| (at, event)));
        }
    }

    /// Whether the thread's step before was to come for what it waits for now: that is told in one.
    fn waits(&mut self, at: usize, before: Option<usize>, steps: &[Step]) -> bool {
        let Some((kind, object)) = steps[at].object else {
            return false;
        };
        let same = before.filter(|b| steps[*b].object == steps[at].object);
        let Some(event) = same.and_then(|b| self.number(b)) else {
            return false;
        };
        self.events[event].part = Part::Waits(kind, object);
        self.of_step.insert(at, event);
        true
    }

    fn push(&mut self, step: usize, part: Part) {
        self.of_step.insert(step, self.events.len());
        self.events.push(Told { step, part });
    }
}

struct Teller<'n> {
    described: Described<'n>,
    /// Whether statements that read and write come apart where they are interrupted.
    torn: bool,
}

impl Teller<'_> {
    /// The event with this index.
    fn event(&mut self, index: usize, told: Told, steps: &[Step]) -> Event {
        let step = &steps[told.step];
        let stack = self.described.stack(&step.stack, step.access.is_some());
        let own = stack.iter().find(|f| f.line > 0 && !f.of_system());
        let does = match told.part {
            Part::Whole => self.does(step),
            Part::Waits(kind, object) => format!("waits for {}", self.what(kind, object)),
            Part::Interrupted => match self.halves(step) {
                Some(what) => format!("reads {what} and is interrupted before it writes it"),
                None => format!("is interrupted before it {}", self.does(step)),
            },
            Part::Resumed => match self.halves(step) {
                Some(what) => format!("writes {what}"),
                None => self.does(step),
            },
        };
        Event {
            number: index as u32 + 1,
            thread: step.thread.0,
            does,
            at: own.or(stack.first()).cloned(),
        }
    }

    /// The name of what a step reads and writes, if it comes apart.
    fn halves(&mut self, step: &Step) -> Option<String> {
        let access = step.access.filter(|a| self.torn && a.kind == SiteKind::ReadWrite)?;
        Some(self.described.name(access.bytes.start, &step.memory))
    }

    fn what(&mut self, kind: ObjectKind, object: ObjectId) -> String {
        match kind {
            ObjectKind::Thread => format!("the end of thread T{}", object.address),
            kind => format!("{} {}", kind_of_object(kind), self.described.named(object)),
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
            let what = self.described.name(access.bytes.start, &step.memory);
            return format!("{atomically}{verb} {what}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_story_is_told_whole() {
        assert_eq!(chosen(0, None), [0; 0]);
        assert_eq!(chosen(MOST, Some((0, 3))).len(), MOST);
    }

    #[test]
    fn of_a_long_story_beginning_swap_and_end_are_told() {
        let told = chosen(10_000, Some((2_000, 7_000)));
        assert_eq!(told.len(), MOST);
        for n in [0, 1, 1_999, 2_000, 2_001, 6_999, 7_000, 7_001, 9_998, 9_999] {
            assert!(told.contains(&n), "{n}: {told:?}");
        }
        assert!(told.is_sorted());
        // Without a swap the end has most of the room.
        let told = chosen(10_000, None);
        assert!(told.iter().filter(|n| **n < 5_000).count() < MOST / 3 && told[0] == 0);
    }
}
