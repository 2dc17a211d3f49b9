//! Bad ends that no racing pair is the cause of: findings of their own.

use crate::candidate::Context;
use crate::describe::{Described, Names};
use crate::hash::Fnv;
use deadheat_confirm::candidate::BadRun;
use deadheat_confirm::minimise::Story;
use deadheat_confirm::outcome::Outcome;
use deadheat_model::{Evidence, FindingKind, Harm, HarmKind, ObjectKind, Verdict, WaitReason};
use deadheat_report::finding::{self, Finding, Frame};
use deadheat_wire::plan::Switch;
use deadheat_wire::record::{Step, StepKind, Waiting};
use std::collections::HashSet;

/// The kind of a bad end. A crash or an abort is a crash, wherever it came from; a failed expectation
/// (assertion, exception, exit status) is an order violation, since other orders fulfil it.
fn kind(bad: &BadRun) -> FindingKind {
    let kind = by_harm(bad);
    let failed = matches!(kind, FindingKind::OrderViolation | FindingKind::Crash);
    match &bad.shown.story {
        Some(story) if failed && interrupted_in_two_halves(story) => FindingKind::AtomicityViolation,
        _ => kind,
    }
}

/// Whether a thread used an object, was interrupted before it used it again, another thread used it in between, and
/// without that the run ends well: the two uses were to be one (an atomicity violation, shown as created).
fn interrupted_in_two_halves(story: &Story) -> bool {
    let Some(swap) = &story.swap else { return false };
    let (between, again) = (&story.steps[swap.first], &story.steps[swap.second]);
    let same = |a: &Step, b: &Step| match (&a.access, &b.access) {
        (Some(x), Some(y)) => x.bytes.overlaps(y.bytes),
        _ => a.object.is_some() && a.object == b.object,
    };
    let takes = matches!(again.kind, StepKind::Takes | StepKind::Accesses);
    let own = |s: &&Step| s.thread == again.thread && same(s, again);
    let Some(before) = story.steps[..swap.second].iter().rfind(own) else {
        return false;
    };
    let interrupts = |s: &Switch| s.preempts && (before.step..between.step).contains(&s.step);
    takes && same(between, again) && story.switches.iter().any(interrupts)
}

fn by_harm(bad: &BadRun) -> FindingKind {
    match bad.harm.kind {
        HarmKind::Deadlock => match &bad.shown.run.records.deadlock {
            Some(d) if lost_wakeup(&d.threads) => FindingKind::LostWakeup,
            _ => FindingKind::Deadlock,
        },
        HarmKind::Hang => FindingKind::Hang,
        HarmKind::Signal | HarmKind::Abort | HarmKind::Sanitizer => FindingKind::Crash,
        HarmKind::Assertion
        | HarmKind::UncaughtException
        | HarmKind::Panic
        | HarmKind::ExitStatus
        | HarmKind::UseAfterFree
        | HarmKind::DoubleFree
        | HarmKind::Check => FindingKind::OrderViolation,
    }
}

/// Nobody holds what is waited for, and someone waits to be signalled.
fn lost_wakeup(threads: &[Waiting]) -> bool {
    let signalled = |w: &Waiting| {
        matches!(
            w.reason,
            WaitReason::Object(ObjectKind::Condition | ObjectKind::Semaphore | ObjectKind::Futex, _)
        )
    };
    let on_lock = |w: &Waiting| {
        w.holder.is_some()
            && matches!(
                w.reason,
                WaitReason::Object(
                    ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock | ObjectKind::LockWord,
                    _
                )
            )
    };
    threads.iter().any(signalled) && !threads.iter().any(on_lock)
}

/// Most threads that a finding lists; the rest is counted.
const MOST: usize = 64;

/// The first of the threads, those with an index in `ring` before the others, and how many are left out.
fn bounded(threads: Vec<finding::Waiting>, ring: &[usize]) -> (Vec<finding::Waiting>, u32) {
    let (first, rest): (Vec<_>, Vec<_>) = threads.into_iter().enumerate().partition(|(n, _)| ring.contains(n));
    let mut kept: Vec<_> = first.into_iter().chain(rest).map(|(_, thread)| thread).collect();
    let left_out = kept.len().saturating_sub(MOST);
    kept.truncate(MOST);
    (kept, left_out as u32)
}

/// The threads of a deadlock that wait for one another, of all that wait; none where no ring is seen.
fn ring(threads: &[Waiting]) -> Vec<usize> {
    let next = |n: usize| threads.iter().position(|t| Some(t.thread) == threads[n].holder);
    for first in 0..threads.len() {
        let mut ring = vec![first];
        while let Some(n) = ring.last().and_then(|n| next(*n)) {
            if n == first {
                return ring;
            }
            if ring.contains(&n) {
                break;
            }
            ring.push(n);
        }
    }
    Vec::new()
}

/// The names of the places where stacks stand, each once, in order: what a finding without accesses is named by.
pub(crate) fn place_names<'a>(stacks: impl Iterator<Item = &'a Vec<Frame>>) -> Vec<String> {
    let mut places: Vec<String> = stacks
        .filter_map(|stack| stack.iter().find(|f| f.line > 0))
        .map(|f| format!("{}:{}", f.function, f.place()))
        .collect();
    places.sort();
    places.dedup();
    places
}

/// The threads that wait, as a finding lists them, and how many it leaves out.
pub(crate) fn waiting(described: &mut Described<'_>, stuck: &[Waiting]) -> (Vec<finding::Waiting>, u32) {
    bounded(described.waiting(stuck), &ring(stuck))
}

/// What one finding tells of for all ends like it: uses of blocks that were freed at one place, or the same harm at the
/// same place, addresses and messages apart.
fn cause(finding: &Finding) -> Option<(HarmKind, String)> {
    let harm = finding.harm.as_ref()?;
    let place = |stack: &[Frame]| {
        stack
            .first()
            .map(|f| format!("{}:{}:{}", f.function, f.place(), f.column))
    };
    let detail = match harm.kind {
        HarmKind::UseAfterFree | HarmKind::DoubleFree => {
            let block = finding.freed.as_ref()?;
            if let Some(freed) = &block.freed {
                return Some((HarmKind::UseAfterFree, place(&freed.stack)?));
            }
            format!("used {}", place(&block.used.stack)?)
        }
        HarmKind::Signal => harm.detail.split(' ').next()?.into(),
        HarmKind::Deadlock => place_names(finding.threads.iter().map(|t| &t.stack)).join(" "),
        HarmKind::UncaughtException | HarmKind::Panic | HarmKind::Check | HarmKind::Sanitizer => String::new(),
        _ => harm.detail.clone(),
    };
    let own = |stack: &[Frame]| stack.iter().position(|f| f.line > 0 && !f.of_system()).unwrap_or(0);
    let ended = finding.ended_at.as_ref();
    let at = ended.and_then(|end| place(&end.stack[own(&end.stack)..]));
    Some((harm.kind, format!("{detail} {}", at.unwrap_or_default())))
}

/// What racing pairs among findings have as their harm.
fn laid<'f>(findings: impl Iterator<Item = &'f Finding>) -> HashSet<(HarmKind, String)> {
    findings.filter(|f| !f.accesses.is_empty()).filter_map(cause).collect()
}

/// Whether a racing pair among the findings has this bad end as its harm.
pub(crate) fn is_laid(end: &Finding, findings: &[Finding]) -> bool {
    cause(end).is_some_and(|cause| laid(findings.iter()).contains(&cause))
}

/// Leaves out the bad ends that a racing pair among the findings has as its harm, whichever hunt found either.
pub fn leave_out_laid<T>(found: &mut Vec<T>, of: impl Fn(&T) -> &Finding) {
    let laid = laid(found.iter().map(&of));
    // A predicted cycle of waiting was tried for itself.
    let is_end = |f: &Finding| f.accesses.is_empty() && f.misuse.is_none() && f.tries == 0;
    found.retain(|f| !(is_end(of(f)) && cause(of(f)).is_some_and(|cause| laid.contains(&cause))));
}

/// The finding of a bad end that a program comes to whatever the order of its threads.
pub fn crash(names: &mut Names<'_>, bad: &BadRun) -> Finding {
    let finding = finding(names, bad);
    Finding {
        kind: match finding.kind {
            FindingKind::OrderViolation | FindingKind::AtomicityViolation => FindingKind::Crash,
            kind => kind,
        },
        ..finding
    }
}

/// The finding of a bad run.
pub fn finding(names: &mut Names<'_>, bad: &BadRun) -> Finding {
    let kind = kind(bad);
    let records = &bad.shown.run.records;
    let deadlock = records.deadlock.as_ref().map(|d| (d.process, &d.threads));
    let stuck = deadlock.or(records.hang.as_ref().map(|h| (h.process, &h.threads)));
    let (threads, ended_at) = match stuck {
        Some((process, threads)) => {
            let context = Context::of(records, process);
            (names.of(&context).waiting(threads), None)
        }
        None => (Vec::new(), names.end(&bad.shown.run)),
    };
    let stuck = stuck.map(|(_, threads)| threads);
    let freed = names.freed(records);
    let ring = ring(stuck.map_or(&[], Vec::as_slice));
    let of_ring = threads
        .iter()
        .enumerate()
        .filter(|(n, _)| ring.is_empty() || ring.contains(n));
    // What came of a freed block's use is not what it is named by.
    let places = match &freed {
        Some(block) => {
            let freed = block.freed.iter().map(|place| &place.stack);
            place_names([&block.used.stack].into_iter().chain(freed))
        }
        None => place_names(of_ring.map(|(_, t)| &t.stack).chain(ended_at.iter().map(|p| &p.stack))),
    };
    let mut hash = Fnv::default();
    // The name does not depend on whether the execution was minimised.
    hash.text(&deadheat_report::schema::name(&by_harm(bad)));
    if places.is_empty() {
        hash.text(&text_of(&bad.harm, &bad.outcome));
    }
    places.iter().for_each(|p| {
        hash.text(p);
    });
    let (threads, threads_left_out) = bounded(threads, &ring);
    let story = crate::story::of(names, &bad.shown);
    Finding {
        id: String::new(),
        kind,
        story,
        verdict: Verdict::Harmful,
        evidence: Some(Evidence::Happened),
        accesses: Vec::new(),
        object: None,
        orders: Vec::new(),
        threads,
        threads_left_out,
        misuse: None,
        ended_at,
        freed,
        harm: Some(Harm {
            detail: match kind {
                FindingKind::LostWakeup => "every thread waits, and nobody is left to wake them".into(),
                _ => bad.harm.detail.clone(),
            },
            ..bad.harm
        }),
        input: None,
        inputs: Vec::new(),
        tries: 0,
        hits: 0,
        directed_tries: 0,
        directed_hits: 0,
        probability: None,
        replay: None,
        reasons: Vec::new(),
        fingerprint: hash.hex(),
    }
}

/// What of a harm is the same in every run: no address.
fn text_of(harm: &Harm, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Signal { signal, .. } => format!("signal {signal}"),
        _ => harm.detail.clone(),
    }
}
