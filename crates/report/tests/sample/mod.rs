//! A report with one finding of each shape, as the tests' subject.

use deadheat_model::{AccessKind, Evidence, FindingKind, Harm, HarmKind, Verdict};
use deadheat_report::finding::*;
use deadheat_report::interval::Interval;

pub fn frame(function: &str, line: u32) -> Frame {
    Frame {
        function: function.into(),
        file: "bank.c".into(),
        line,
        column: 5,
        inlined: false,
        module: String::new(),
    }
}

fn thread(number: u32) -> Thread {
    Thread {
        number,
        start: Some("teller".into()),
        parent: Some(0),
        created: vec![frame("main", 40)],
    }
}

fn access(role: &str, line: u32, kind: AccessKind, number: u32) -> Access {
    Access {
        role: role.into(),
        file: "bank.c".into(),
        directory: "/no/such/directory".into(),
        line,
        column: 17,
        function: "deposit".into(),
        kind,
        atomic: false,
        size: 4,
        thread: thread(number),
        stack: vec![frame("deposit", line), frame("teller", 30)],
        locks: vec![Lock {
            kind: "mutex".into(),
            name: "`audit`".into(),
            shared: false,
        }],
    }
}

fn finding(id: &str, kind: FindingKind, verdict: Verdict) -> Finding {
    Finding {
        id: id.into(),
        kind,
        verdict,
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
        tries: 20,
        hits: 0,
        directed_tries: 0,
        directed_hits: 0,
        probability: Interval::wilson(0, 20),
        replay: None,
        reasons: vec![],
        fingerprint: "0123456789abcdef".into(),
    }
}

pub fn report() -> Report {
    let mut race = finding("F2", FindingKind::DataRace, Verdict::Harmful);
    race.evidence = Some(Evidence::Created);
    race.accesses = vec![
        access("first", 14, AccessKind::Read, 1),
        access("second", 22, AccessKind::Write, 2),
    ];
    race.object = Some(Object {
        kind: "global".into(),
        name: Some("account[3].balance".into()),
        size: 64,
        offset: 48,
        thread: None,
        allocated: vec![],
        freed: false,
    });
    race.orders = vec![Order {
        first: "first".into(),
        before: Some("0".into()),
        after: Some("1".into()),
        outcome: "the program exits with status 0".into(),
    }];
    race.harm = Some(Harm {
        kind: HarmKind::Assertion,
        detail: "Assertion `total == 100' failed.".into(),
    });
    (race.hits, race.replay) = (19, Some("dh1.abc".into()));
    race.probability = Interval::wilson(19, 20);
    let mut deadlock = finding("F3", FindingKind::Deadlock, Verdict::Harmful);
    deadlock.evidence = Some(Evidence::Happened);
    deadlock.threads = vec![Waiting {
        thread: thread(1),
        wants: "mutex `b`".into(),
        holder: Some(2),
        locks: vec![Lock {
            kind: "mutex".into(),
            name: "`a`".into(),
            shared: false,
        }],
        stack: vec![frame("pay", 9)],
    }];
    deadlock.harm = Some(Harm {
        kind: HarmKind::Deadlock,
        detail: "every thread waits for another".into(),
    });
    let mut suspected = finding("F1", FindingKind::DataRace, Verdict::Suspected);
    suspected.accesses = vec![access("first", 50, AccessKind::Free, 1)];
    let mut report = Report {
        version: VERSION,
        program: Program {
            file: "/bank".into(),
            args: vec!["<100>".into()],
            hash: "00".into(),
        },
        findings: vec![suspected, race, deadlock],
        stats: Stats {
            runs: 60,
            seconds: 1.5,
            schedules: 3,
            candidates: 2,
            settled: 2,
            ..Stats::default()
        },
        notices: vec!["`ptrace` is not modelled".into()],
    };
    report.sort();
    report
}
