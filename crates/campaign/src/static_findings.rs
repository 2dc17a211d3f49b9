//! The static analysis of what was read, and its warnings in the words of the report.
//!
//! All of them are `suspected`: only a run proves. What was cut, and what the analysis could not follow, is said in the
//! report's notices.

use crate::baseline;
use crate::hash::Fnv;
use crate::scan::ScannedProgram;
use deadheat_ir::{LocationId, Module};
use deadheat_model::{AccessKind, FindingKind, Verdict};
use deadheat_points_to::{Limits, PointsTo};
use deadheat_relay::execution::AccessKind as Accessed;
use deadheat_relay::guarded_access::Occurrence;
use deadheat_relay::lock_order::{LeftLock, LockCycle};
use deadheat_relay::relative_lockset::Mode;
use deadheat_relay::subject::Subject;
use deadheat_relay::warning::{Side, Warning};
use deadheat_relay::{Models, Options, Remembered, Scan, ScanError, naming, points_to::Pointers};
use deadheat_report::finding::{
    Access, Finding, Frame, Lock, Object, Program, Report, Stats, Thread, VERSION, Waiting,
};
use deadheat_report::symbol::demangle;

/// Analyses a program and reports; takes over what is remembered.
///
/// # Errors
/// If there is nothing to start from.
pub fn analyse(
    scanned: &ScannedProgram,
    models: &Models,
    options: &Options,
    remembered: &mut Remembered,
) -> Result<Report, ScanError> {
    let module = &scanned.program.module;
    let points_to = PointsTo::analyse(&scanned.program, models, &Limits::default());
    let pointers = Pointers(&points_to);
    let scan = deadheat_relay::scan_again(module, models, &pointers, options, remembered)?;
    let subject = Subject::new(module, models, &pointers);
    let words = Words {
        module,
        subject: &subject,
        scan: &scan,
    };
    let races = scan.warnings.warnings.iter().map(|warning| words.race(warning));
    let mut findings: Vec<Finding> = races.collect();
    findings.extend(scan.cycles.iter().map(|cycle| words.cycle(cycle)));
    findings.extend(scan.left.iter().map(|left| words.left(left)));
    baseline::tell_alike_apart(&mut findings);
    for (number, finding) in (1..).zip(&mut findings) {
        finding.id = format!("F{number}");
    }
    let candidates = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    Ok(Report {
        version: VERSION,
        program: Program {
            file: scanned
                .path
                .as_ref()
                .map_or_else(String::new, |p| p.display().to_string()),
            args: vec![],
            hash: String::new(),
        },
        findings,
        stats: Stats {
            candidates,
            ..Stats::default()
        },
        notices: notices(&scan, &points_to),
    })
}

/// What limits the result, and what it amounted to.
fn notices(scan: &Scan, points_to: &PointsTo) -> Vec<String> {
    let (figures, cut) = (scan.figures, scan.found.cut);
    let mut notices = vec![format!(
        "{} thread roots; {} of {} functions reached in {} contexts; {} classes of accesses",
        scan.found.roots.len(),
        figures.reached,
        figures.functions,
        scan.found.contexts.len(),
        scan.found.classes.len()
    )];
    let mut tell = |count: usize, what: &str| {
        if count > 0 {
            notices.push(format!("{count} {what}"));
        }
    };
    let statistics = points_to.statistics();
    tell(cut.unknown_starts, "creations of which it is not known what they start");
    tell(
        cut.nameless,
        "acquisitions and releases of locks that have no name: not followed",
    );
    tell(statistics.unresolved, "calls through pointers that lead nowhere known");
    tell(
        cut.handed,
        "functions handed to code that is not seen left out: they are not followed",
    );
    tell(statistics.cut, "targets of calls through pointers left out");
    tell(cut.contexts, "calls in contexts that were joined with others");
    tell(cut.functions, "functions of which contexts were joined");
    tell(
        cut.calls,
        "calls not followed: contexts joined with others grew too often",
    );
    tell(
        cut.roots,
        "thread roots that are not told apart: they may run at any time",
    );
    tell(cut.occurrences, "accesses like others that are not listed");
    tell(
        figures.widened,
        "functions that take long to go through: ways through them were joined early",
    );
    tell(
        figures.unsaid,
        "places and changes of locks that functions do not tell their callers or callees of",
    );
    tell(figures.blocks, "blocks left before what is known in them came to rest");
    tell(figures.unsettled, "functions in recursion that did not settle");
    tell(scan.warnings.cut, "comparisons of accesses not made");
    tell(figures.cycles_cut, "searches for lock cycles cut short");
    tell(scan.warnings.filtered, "warnings dropped by RELAY's filters");
    tell(scan.warnings.left_out, "more warnings about objects that are listed");
    notices
}

struct Words<'a> {
    module: &'a Module,
    subject: &'a Subject<'a>,
    scan: &'a Scan,
}

impl Words<'_> {
    fn race(&self, warning: &Warning) -> Finding {
        let [first, second] = &warning.sides;
        let (kind, name) = naming::object(self.subject, warning.object, first.class.path.as_deref());
        let object = Object {
            kind: kind.into(),
            name: name.as_deref().map(readable),
            size: 0,
            offset: first
                .class
                .path
                .as_ref()
                .and_then(|p| u64::try_from(p.last().offset).ok())
                .unwrap_or(0),
            thread: None,
            allocated: vec![],
            freed: false,
        };
        let accesses = vec![self.access("first", first), self.access("second", second)];
        let mut hash = Fnv::default();
        hash.text("static data-race");
        for access in &accesses {
            // Not the line: what is known is known when code above it has grown.
            hash.text(&access.file)
                .text(&access.function)
                .text(&format!("{:?}", access.kind));
        }
        hash.text(object.name.as_deref().unwrap_or_default());
        Finding {
            accesses,
            object: Some(object),
            reasons: warning.rank.reasons.iter().map(|r| (*r).to_owned()).collect(),
            ..blank(FindingKind::DataRace, hash.hex())
        }
    }

    fn access(&self, role: &str, side: &Side) -> Access {
        let stack = self.stack(&side.occurrence);
        let (file, line, column, function) = stack.first().map_or_else(Default::default, |f| {
            (f.file.clone(), f.line, f.column, f.function.clone())
        });
        let mut locks: Vec<Lock> = side
            .class
            .guards
            .iter()
            .map(|g| Lock {
                kind: "lock".into(),
                name: readable(&naming::guard(self.subject, g)),
                shared: g.mode == Mode::Shared,
            })
            .collect();
        locks.dedup();
        Access {
            role: role.into(),
            file,
            directory: String::new(),
            line,
            column,
            function,
            kind: match side.class.kind {
                Accessed::Read => AccessKind::Read,
                Accessed::Write => AccessKind::Write,
                Accessed::Free => AccessKind::Free,
            },
            atomic: side.class.atomic,
            size: if side.class.kind == Accessed::Free {
                0
            } else {
                side.class.size
            },
            thread: self.thread(side.class.root, &side.occurrence),
            stack,
            locks,
        }
    }

    fn thread(&self, root: usize, occurrence: &Occurrence) -> Thread {
        let started = &self.scan.found.roots[root];
        let start = self.scan.found.start(occurrence.context);
        let created = self.scan.found.created.get(&(root, start));
        Thread {
            number: root as u32,
            start: Some(demangle(self.module.function_name(start))),
            parent: started.creators.first().map(|c| *c as u32),
            created: self.frames(created.copied().flatten()),
        }
    }

    /// The calls from a root down to an access, innermost first.
    fn stack(&self, occurrence: &Occurrence) -> Vec<Frame> {
        let calls = self.scan.found.upwards(occurrence.context).filter_map(|c| c.caller);
        let locations = std::iter::once(occurrence.location).chain(calls.map(|(_, location)| location));
        locations.flat_map(|location| self.frames(location)).collect()
    }

    fn frames(&self, location: Option<LocationId>) -> Vec<Frame> {
        let places = naming::chain(self.module, location).map(|l| &self.module[l]);
        let frame = |l: &deadheat_ir::Location| Frame {
            function: demangle(&self.module[l.function]),
            file: self.module[l.file].to_owned(),
            line: l.line,
            column: l.column,
            inlined: l.inlined_at.is_some(),
            module: String::new(),
        };
        places.map(frame).collect()
    }

    fn cycle(&self, cycle: &LockCycle) -> Finding {
        let lock = |path| Lock {
            kind: "lock".into(),
            name: readable(&naming::path(self.subject, path)),
            shared: false,
        };
        let mut hash = Fnv::default();
        hash.text("static deadlock");
        let count = cycle.edges.len();
        let waiting = cycle.edges.iter().enumerate().map(|(n, edge)| {
            hash.text(&naming::path(self.subject, &edge.held));
            Waiting {
                thread: self.thread(edge.root, &edge.at),
                wants: readable(&naming::path(self.subject, &edge.taken)),
                holder: Some(cycle.edges[(n + 1) % count].root as u32),
                locks: edge.all.iter().map(lock).collect(),
                stack: self.stack(&edge.at),
            }
        });
        let threads = waiting.collect();
        Finding {
            threads,
            reasons: vec!["each of the threads can hold the lock that the one before it waits for".into()],
            ..blank(FindingKind::Deadlock, hash.hex())
        }
    }

    fn left(&self, left: &LeftLock) -> Finding {
        let name = readable(&naming::path(self.subject, &left.lock));
        let mut hash = Fnv::default();
        hash.text("static lock misuse").text(&name).text(&left.held.to_string());
        let told = match left.held {
            true => format!("on some path a thread ends and still holds {name}"),
            false => format!("on some path a thread gives {name} back more often than it takes it"),
        };
        let start = demangle(self.module.function_name(left.start));
        Finding {
            reasons: vec![format!("{told} (thread of {start})")],
            ..blank(FindingKind::SyncMisuse, hash.hex())
        }
    }
}

/// A place's name with its symbol as the source has it: `_ZL5queue->+8` is `queue->+8`.
fn readable(name: &str) -> String {
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    let (symbol, rest) = name.split_at(end);
    demangle(symbol) + rest
}

fn blank(kind: FindingKind, fingerprint: String) -> Finding {
    Finding {
        id: String::new(),
        kind,
        verdict: Verdict::Suspected,
        evidence: None,
        accesses: vec![],
        object: None,
        orders: vec![],
        threads: vec![],
        threads_left_out: 0,
        misuse: None,
        ended_at: None,
        freed: None,
        story: None,
        harm: None,
        input: None,
        inputs: Vec::new(),
        tries: 0,
        hits: 0,
        directed_tries: 0,
        directed_hits: 0,
        probability: None,
        replay: None,
        reasons: vec![],
        fingerprint,
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_of_places_are_the_source_s() {
        assert_eq!(readable("_ZL5queue->+8"), "queue->+8");
        assert_eq!(readable("_ZN1a1bE[…].lock"), "a::b[…].lock");
        assert_eq!(readable("table.lock"), "table.lock");
        assert_eq!(readable("the lock beside it, +8"), "the lock beside it, +8");
    }
}
