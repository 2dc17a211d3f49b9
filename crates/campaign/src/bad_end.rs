//! Bad ends that no racing pair is the cause of: findings of their own.

use crate::candidate::Context;
use crate::describe::Names;
use crate::hash::Fnv;
use deadheat_confirm::candidate::BadRun;
use deadheat_confirm::outcome::Outcome;
use deadheat_model::{Evidence, FindingKind, Harm, HarmKind, ObjectKind, Verdict, WaitReason};
use deadheat_report::finding::Finding;
use deadheat_wire::record::Waiting;

/// The kind of a bad end. A crash or an abort is a crash, wherever it came from; a failed expectation
/// (assertion, exception, exit status) is an order violation, since other orders fulfil it.
fn kind(bad: &BadRun) -> FindingKind {
    match bad.harm.kind {
        HarmKind::Deadlock => match &bad.shown.run.records.deadlock {
            Some(d) if lost_wakeup(&d.threads) => FindingKind::LostWakeup,
            _ => FindingKind::Deadlock,
        },
        HarmKind::Hang => FindingKind::Hang,
        HarmKind::Signal | HarmKind::Abort | HarmKind::Sanitizer => FindingKind::Crash,
        HarmKind::Assertion | HarmKind::UncaughtException | HarmKind::ExitStatus | HarmKind::Check => {
            FindingKind::OrderViolation
        }
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
                WaitReason::Object(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock, _)
            )
    };
    threads.iter().any(signalled) && !threads.iter().any(on_lock)
}

/// The finding of a bad run.
pub fn finding(names: &mut Names<'_>, bad: &BadRun) -> Finding {
    let kind = kind(bad);
    let records = &bad.shown.run.records;
    let context = Context::of(records);
    let mut described = names.of(&context);
    let stuck = records
        .deadlock
        .as_ref()
        .map(|d| &d.threads)
        .or(records.hang.as_ref().map(|h| &h.threads));
    let threads = stuck.map(|t| described.waiting(t)).unwrap_or_default();
    let ended_at = if stuck.is_some() {
        None
    } else {
        described.end(&bad.shown.run)
    };
    let mut places: Vec<String> = threads
        .iter()
        .map(|t| &t.stack)
        .chain(ended_at.iter().map(|p| &p.stack))
        .filter_map(|stack| stack.iter().find(|f| f.line > 0))
        .map(|f| format!("{}:{}", f.function, f.place()))
        .collect();
    places.sort();
    places.dedup();
    let mut hash = Fnv::default();
    hash.text(&deadheat_report::schema::name(&kind));
    if places.is_empty() {
        hash.text(&text_of(&bad.harm, &bad.outcome));
    }
    places.iter().for_each(|p| {
        hash.text(p);
    });
    Finding {
        id: String::new(),
        kind,
        verdict: Verdict::Harmful,
        evidence: Some(Evidence::Happened),
        accesses: Vec::new(),
        object: None,
        orders: Vec::new(),
        threads,
        ended_at,
        harm: Some(bad.harm.clone()),
        tries: 0,
        hits: 0,
        replay: None,
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
