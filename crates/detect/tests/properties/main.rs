//! The detector against happens-before by transitive closure and locksets by replay, on random executions.

mod brute_force;
mod generator;

use brute_force::{Expected, PairKey, expected, key};
use deadheat_detect::trace::{Analysis, Detector, Event, Touch, replay, run1, run2};
use deadheat_detect::{Exact, HappensBefore, Keep, Statements, TargetAccess};
use deadheat_model::ThreadId;
use generator::{Given, Seeded, Shape, execution};
use proptest::prelude::*;
use std::collections::BTreeSet;

type Trace = [(ThreadId, Event)];

const SMALL: Shape = Shape {
    threads: 4,
    events: 14,
    locks: 2,
    data: 2,
    values: false,
};

fn keys(analysis: &Analysis, precise: bool) -> BTreeSet<PairKey> {
    let pairs = analysis.pairs.iter().filter(|p| !precise || p.precise);
    pairs
        .map(|p| key((p.first.site, p.first.flags), (p.second.site, p.second.flags)))
        .collect()
}

/// Counts depend on what else is watched, since repetitions are filtered by a cache.
fn uncounted(mut analysis: Analysis) -> Analysis {
    analysis.pairs.iter_mut().for_each(|p| p.count = 0);
    analysis
}

fn same(found: &BTreeSet<PairKey>, expected: &BTreeSet<PairKey>, what: &str) {
    let extra: Vec<_> = found.difference(expected).collect();
    let missing: Vec<_> = expected.difference(found).collect();
    assert!(
        extra.is_empty() && missing.is_empty(),
        "{what}: extra {extra:?}, missing {missing:?}"
    );
}

/// Everything that must hold of any execution whose lock words are not learned.
fn check(trace: &Trace) {
    let Expected {
        suspicious,
        unordered,
        granules,
        ..
    } = expected(trace);
    let (flagged, _) = run1(trace, 0);
    assert_eq!(flagged, granules, "run 1 flags what is suspicious by the granule");
    let everything = run2(trace, Statements::everything(), &[]);
    same(&keys(&everything, false), &suspicious, "hybrid pairs");
    same(&keys(&everything, true), &unordered, "precise pairs");
    let found = run2(trace, Statements::new(&flagged), &[]);
    assert_eq!(uncounted(found), uncounted(everything.clone()), "run 1, then run 2");
    check_witnesses(trace, &everything);
    check_exact(trace);
}

/// Witnesses are accesses of the statements that they stand for, the first before the second.
fn check_witnesses(trace: &Trace, analysis: &Analysis) {
    for pair in &analysis.pairs {
        for side in [&pair.first, &pair.second] {
            let (thread, event) = trace[side.witness];
            let site = match event {
                Event::Access { site, .. } | Event::Atomic(site, _) => site,
                _ => panic!("{event:?} is no access"),
            };
            assert_eq!((thread, site), (side.thread, side.site));
        }
        assert!(pair.count >= 1 && pair.mask != 0);
    }
}

/// Confirmation with all statements as targets: only unordered accesses are named, and of each pair of
/// statements at least one instance.
fn check_exact(trace: &Trace) {
    struct Confirm {
        hb: HappensBefore,
        exact: Exact<usize>,
        found: BTreeSet<(usize, usize)>,
    }
    impl Detector for Confirm {
        fn clocks(&mut self) -> &mut HappensBefore {
            &mut self.hb
        }
        fn touch(&mut self, t: Touch, _: u32) {
            let access = TargetAccess {
                thread: t.thread,
                site: t.site,
                address: t.address,
                size: t.size,
                flags: t.flags,
            };
            let earlier = self.exact.access(&self.hb, access, || t.event);
            self.found.extend(earlier.iter().map(|(_, e)| (*e, t.event)));
        }
        fn forget(&mut self, address: u64, len: u64) {
            self.exact.forgotten(address, len);
        }
    }
    let mut confirm = Confirm {
        hb: HappensBefore::new(Keep::Full),
        exact: Exact::new(),
        found: BTreeSet::new(),
    };
    replay(trace, &mut confirm);
    let all = expected(trace).unordered_events;
    assert!(confirm.found.is_subset(&all), "only unordered accesses");
    let site = |e: usize| match trace[e].1 {
        Event::Access { site, .. } | Event::Atomic(site, _) => site,
        _ => u64::MAX,
    };
    let sites = |set: &BTreeSet<(usize, usize)>| -> BTreeSet<(u64, u64)> {
        set.iter()
            .map(|(a, b)| (site(*a).min(site(*b)), site(*a).max(site(*b))))
            .collect()
    };
    assert_eq!(sites(&confirm.found), sites(&all), "every pair of statements");
}

/// With lock words learned: suspicion may differ from plain C11 edges, but what is precise is the same, and
/// run 1 still finds it.
fn check_learning(trace: &Trace) {
    let unordered = expected(trace).unordered;
    let (flagged, words) = run1(trace, 0);
    let everything = run2(trace, Statements::everything(), &[]);
    let found = run2(trace, Statements::new(&flagged), &[]);
    assert_eq!(uncounted(found), uncounted(everything.clone()), "run 1, then run 2");
    same(&keys(&everything, true), &unordered, "precise pairs");
    let seeded = run2(trace, Statements::new(&flagged), &words);
    same(&keys(&seeded, true), &unordered, "precise pairs with words known");
}

fn shown(trace: &Trace) -> String {
    let lines = trace.iter().enumerate();
    lines.map(|(i, (t, e))| format!("{i:3} T{} {e:?}\n", t.0)).collect()
}

/// So many executions; `DEADHEAT_SEEDS` multiplies them.
fn run_seeds(seeds: u64, shape: &Shape, check: fn(&Trace)) {
    let times = std::env::var("DEADHEAT_SEEDS").ok().and_then(|n| n.parse().ok());
    for seed in 0..seeds * times.unwrap_or(1) {
        let trace = execution(&mut Seeded(seed), shape);
        if let Err(panic) = std::panic::catch_unwind(|| check(&trace)) {
            eprintln!("seed {seed}:\n{}", shown(&trace));
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn small_executions() {
    run_seeds(4_000, &SMALL, check);
}

#[test]
fn larger_executions() {
    let shape = Shape {
        events: 60,
        locks: 3,
        ..SMALL
    };
    run_seeds(600, &shape, check);
}

#[test]
fn small_executions_with_lock_words() {
    run_seeds(4_000, &Shape { values: true, ..SMALL }, check_learning);
}

const LOCK_WORDS: Shape = Shape {
    events: 80,
    locks: 1,
    data: 1,
    values: true,
    ..SMALL
};

#[test]
fn larger_executions_with_lock_words() {
    run_seeds(600, &LOCK_WORDS, check_learning);
}

#[test]
fn lock_words_are_learned_in_many_executions() {
    let learned = |seed| !run1(&execution(&mut Seeded(seed), &LOCK_WORDS), 0).1.is_empty();
    let count = (0..200).filter(|seed| learned(*seed)).count();
    assert!(count > 20, "{count} of 200");
}

#[test]
fn long_executions_with_many_threads() {
    let shape = Shape {
        threads: 30,
        events: 400,
        locks: 6,
        data: 4,
        values: false,
    };
    run_seeds(5, &shape, check);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_small_execution(choices in prop::collection::vec(any::<u16>(), 0..200)) {
        check(&execution(&mut Given(choices.iter()), &SMALL));
    }

    #[test]
    fn any_small_execution_with_lock_words(choices in prop::collection::vec(any::<u16>(), 0..200)) {
        check_learning(&execution(&mut Given(choices.iter()), &Shape { values: true, ..SMALL }));
    }
}
