//! The words by which a reader is told of kinds, verdicts and findings.

use crate::finding::{Access, Finding, Object, Order, own};
use crate::freed_block;
use deadheat_model::{AccessKind, Evidence, FindingKind, HarmKind, MisuseKind, Verdict};

/// `read`, `write`, and so on.
pub fn access(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::ReadWrite => "read-write",
        AccessKind::Free => "free",
    }
}

/// What a thread does at an access: `reads 4 bytes`.
pub fn act(access: &Access) -> String {
    let verb = match access.kind {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::ReadWrite => "reads and writes",
        AccessKind::Free => "frees",
    };
    let atomically = if access.atomic { "atomically " } else { "" };
    let bytes = match access.size {
        0 => String::new(),
        1 => " 1 byte".into(),
        n => format!(" {n} bytes"),
    };
    format!("{atomically}{verb}{bytes}")
}

/// `1 run`, `2 runs`.
pub fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Whether an order ended otherwise than by an exit.
pub fn ends_badly(order: &Order) -> bool {
    !order.outcome.starts_with("the program exits") && order.outcome != "the run was stopped"
}

/// Names longer than this are shortened.
const LONG: usize = 100;

/// A function's name without the inner template arguments, if it is long.
pub fn short(function: &str) -> String {
    if function.chars().count() <= LONG {
        return function.into();
    }
    let (mut out, mut depth) = (String::new(), 0u32);
    let mut before = ' ';
    for c in function.chars() {
        let arrow = c == '>' && before == '-';
        let operator = out.ends_with("operator") || out.ends_with("operator<");
        match c {
            '<' if !operator => {
                if depth == 0 {
                    out.push_str("<…>");
                }
                depth += 1;
            }
            '>' if !arrow && depth > 0 => depth -= 1,
            c if depth == 0 => out.push(c),
            _ => {}
        }
        before = c;
    }
    out
}

/// A kind of finding, for people.
pub fn kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::DataRace => "data race",
        FindingKind::AtomicityViolation => "atomicity violation",
        FindingKind::Deadlock => "deadlock",
        FindingKind::LostWakeup => "lost wakeup",
        FindingKind::OrderViolation => "order violation",
        FindingKind::SyncMisuse => "misuse of synchronisation",
        FindingKind::Crash => "crash",
        FindingKind::Hang => "hang",
    }
}

/// What the other thread of a misuse does where its stack stands.
pub fn part(kind: MisuseKind) -> &'static str {
    match kind {
        MisuseKind::DestroyAwaited | MisuseKind::TwoMutexes => "waits",
        _ => "took it",
    }
}

/// A verdict, for people.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Suspected => "suspected",
        Verdict::Real => "real",
        Verdict::Harmful => "harmful",
    }
}

/// What the evidence says.
pub fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Created => "both threads stood before these accesses at the same moment",
        Evidence::Unordered => "in one run both accesses were made and nothing ordered them",
        Evidence::Happened => "it happened",
    }
}

/// A kind of harm, for people.
pub fn harm(kind: HarmKind) -> &'static str {
    match kind {
        HarmKind::Signal => "crash",
        HarmKind::Assertion => "failed assertion",
        HarmKind::Abort => "abort",
        HarmKind::UncaughtException => "uncaught exception",
        HarmKind::Panic => "panic",
        HarmKind::Deadlock => "deadlock",
        HarmKind::Hang => "hang",
        HarmKind::ExitStatus => "wrong exit status",
        HarmKind::Sanitizer => "sanitizer report",
        HarmKind::Check => "failed check",
        HarmKind::UseAfterFree => "use after free",
        HarmKind::DoubleFree => "double free",
    }
}

/// The object of a finding: `global counter`, `heap block of 64 bytes, offset 8`.
pub fn object(object: &Object) -> String {
    let at = |o: &Object| {
        if o.offset > 0 {
            format!(", offset {}", o.offset)
        } else {
            String::new()
        }
    };
    let name = object.name.as_ref().map(|n| format!("`{n}`"));
    let freed = if object.freed { "freed " } else { "" };
    match (object.kind.as_str(), name) {
        ("global", Some(name)) => format!("global {name}"),
        ("descriptor", Some(_)) => format!("descriptor {}", object.name.as_deref().unwrap_or_default()),
        ("stack", Some(name)) => format!("local variable {name}"),
        ("thread-local", Some(name)) => format!("thread-local {name}"),
        ("heap", _) => format!("{freed}heap block of {} bytes{}", object.size, at(object)),
        ("mapping", Some(_)) => {
            let path = object.name.as_deref().unwrap_or_default();
            format!("file mapping of {path}{}", at(object))
        }
        ("mapping", None) => format!("mapped memory of {} bytes{}", object.size, at(object)),
        ("stack", None) => "memory on a stack".into(),
        ("thread-local", None) => "thread-local memory".into(),
        (_, Some(name)) => name,
        _ => "memory of unknown origin".into(),
    }
}

/// Most places of waiting threads in a finding's line.
const PLACES: usize = 4;

/// The finding in one line, without its id.
pub fn summary(finding: &Finding) -> String {
    let mut text = String::from(kind(finding.kind));
    if let Some(what) = &finding.object {
        text += &format!(" on {}", object(what));
    }
    let parts: Vec<String> = finding
        .accesses
        .iter()
        .map(|a| format!("{} at {} in {}", access(a.kind), a.place(), short(&a.function)))
        .collect();
    if !parts.is_empty() {
        text += &format!(": {}", parts.join(", "));
    }
    let mut places: Vec<String> = finding
        .threads
        .iter()
        .filter_map(|t| own(&t.stack))
        .map(|f| f.place())
        .collect();
    // Of a race they tell what it leads to.
    if !places.is_empty() && parts.is_empty() {
        let threads = finding.threads.len() + finding.threads_left_out as usize;
        let more = if threads > PLACES { " and others" } else { "" };
        places.truncate(PLACES);
        text += &format!(" of {threads} threads at {}{more}", places.join(", "));
    }
    if let Some(misuse) = &finding.misuse {
        let at = own(&misuse.stack).or_else(|| own(&misuse.taken));
        let at = at.map(|f| format!(", at {} in {}", f.place(), short(&f.function)));
        text += &format!(": {} {}{}", misuse.thread.label(), misuse.what, at.unwrap_or_default());
    }
    for (told, place) in finding.freed.iter().flat_map(freed_block::steps).take(2) {
        if let Some(frame) = own(&place.stack) {
            text += &format!("; {} {told} at {}", place.thread.label(), frame.place());
        }
    }
    if let Some(frame) = finding.ended_at.as_ref().and_then(|p| own(&p.stack)) {
        text += &format!("; ended in {} at {}", short(&frame.function), frame.place());
    }
    if let Some(h) = &finding.harm
        && finding.kind != FindingKind::Deadlock
        && finding.kind != FindingKind::Hang
    {
        text += &format!("; {}: {}", harm(h.kind), h.detail);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn long_names_lose_their_template_arguments() {
        assert_eq!(short("std::pair<int, long>::swap"), "std::pair<int, long>::swap");
        let long = format!("std::map<{}, std::less<int> >::find(int)", "std::string, ".repeat(12));
        assert_eq!(short(&long), "std::map<…>::find(int)");
    }
}
