//! What race-directed does where the paper's algorithm leaves it open, each a case of its own.

mod tiny;

use deadheat_schedule::{AnyPolicy, Kind, PATIENCE, Parameters};
use tiny::Statement::*;
use tiny::{Outcome, Program, by_the_paper, directed, pair, program};

const DATA: u8 = 0;
const FLAG: u8 = 1;

fn hundred(program: &Program, first: u32, second: u32) -> Vec<Outcome> {
    (0..100)
        .map(|seed| directed(program, &pair(first, second), by_the_paper(seed)))
        .collect()
}

fn met(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|o| !o.met.is_empty()).count()
}

/// The threads that executed these sites, in order.
fn order(outcome: &Outcome, sites: &[u32]) -> Vec<u32> {
    outcome
        .executed
        .iter()
        .filter(|(_, site)| sites.contains(site))
        .map(|&(thread, _)| thread)
        .collect()
}

/// R has several members: readers do not race with each other, and all of them execute on the branch that
/// lets the postponed go first.
#[test]
fn readers_against_a_writer() {
    let reader: &[_] = &[(1, Read(DATA))];
    let writer: &[_] = &[(0, Yield), (2, Write(DATA, 1))];
    let outcomes = hundred(&program(&[reader, reader, reader, writer]), 1, 2);
    assert_eq!(met(&outcomes), 100);
    let [mut writer_first, mut readers_first] = [0, 0];
    for outcome in &outcomes {
        let (met, at) = outcome.met[0];
        let arrived = |thread| thread == 0 || outcome.schedule[..at].contains(&thread);
        if met.arriving.0 != 3 || !(0..3).all(arrived) {
            continue;
        }
        // The writer came when all readers stood there.
        if met.arriving_first {
            assert_eq!(outcome.schedule[at], 3);
            writer_first += 1;
        } else {
            let readers = order(outcome, &[1, 2]).iter().position(|&t| t == 3);
            assert_eq!(readers, Some(3));
            readers_first += 1;
        }
    }
    assert!(writer_first > 5 && readers_first > 5, "{writer_first} {readers_first}");
}

/// A writer among the postponed has met each reader on its own before: then R has one member.
#[test]
fn a_writer_that_waits_meets_each_reader() {
    let writer: &[_] = &[(2, Write(DATA, 1))];
    let reader: &[_] = &[(0, Yield), (1, Read(DATA))];
    let outcomes = hundred(&program(&[writer, reader, reader]), 1, 2);
    assert_eq!(met(&outcomes), 100);
    assert!(outcomes.iter().any(|o| o.met.len() == 2));
}

/// The same two statements on different objects: threads that stand at unequal addresses do not race, and
/// all stay postponed until one comes for the same object.
#[test]
fn unequal_addresses_stay_postponed() {
    let one: &[_] = &[(1, Write(2, 1))];
    let other: &[_] = &[(1, Write(3, 1))];
    assert_eq!(met(&hundred(&program(&[one, other]), 1, 1)), 0);
    let late: &[_] = &[(0, Work), (0, Work), (0, Work), (1, Write(3, 1))];
    let outcomes = hundred(&program(&[one, other, late]), 1, 1);
    assert_eq!(met(&outcomes), 100);
    for outcome in &outcomes {
        let (met, _) = outcome.met[0];
        assert_eq!(
            (met.arriving.0.min(met.postponed.0), met.arriving.0.max(met.postponed.0)),
            (1, 2)
        );
    }
}

/// Two threads at the same side of a pair of different statements are another pair's race.
#[test]
fn sides_of_the_pair_count() {
    let writer: &[_] = &[(1, Write(DATA, 1))];
    let reader: &[_] = &[(2, Read(FLAG))];
    assert_eq!(met(&hundred(&program(&[writer, writer, reader]), 1, 2)), 0);
    assert_eq!(met(&hundred(&program(&[writer, writer, reader]), 1, 1)), 100);
}

/// Two atomic accesses are no race, one is.
#[test]
fn atomics_race_with_plain_accesses_only() {
    let store: &[_] = &[(1, AtomicStore(DATA, 1))];
    let load: &[_] = &[(2, AtomicLoad(DATA))];
    let read: &[_] = &[(2, Read(DATA))];
    assert_eq!(met(&hundred(&program(&[store, load]), 1, 2)), 0);
    assert_eq!(met(&hundred(&program(&[store, read]), 1, 2)), 100);
}

/// A postponed thread holds the lock that the others want: postponed = Enabled, and one is released.
#[test]
fn releases_when_all_enabled_are_postponed() {
    let locked: &[_] = &[(0, Lock(0)), (1, Write(DATA, 1)), (0, Unlock(0))];
    for outcome in hundred(&program(&[locked, locked]), 1, 1) {
        assert!(outcome.met.is_empty() && !outcome.deadlock && !outcome.hang);
        assert_eq!(order(&outcome, &[1]).len(), 2);
    }
}

/// A thread spins until the postponed one has done its work.
#[test]
fn spinning_for_a_postponed_thread_ends() {
    let worker: &[_] = &[(1, Write(DATA, 1)), (0, AtomicStore(FLAG, 1))];
    let waiter: &[_] = &[(0, Await(FLAG, 1)), (2, Read(DATA))];
    for outcome in hundred(&program(&[worker, waiter]), 1, 2) {
        assert!(outcome.met.is_empty() && !outcome.hang);
        assert!(outcome.schedule.len() < 50, "{}", outcome.schedule.len());
    }
    // Two that spin hand the turn to each other, and neither works.
    for outcome in hundred(&program(&[worker, waiter, waiter]), 1, 2) {
        assert!(outcome.met.is_empty() && !outcome.hang);
        assert!(outcome.schedule.len() < 200, "{}", outcome.schedule.len());
    }
}

/// A thread polls under a lock, with no other sign of waiting: the monitor counts scheduling points.
#[test]
fn polling_for_a_postponed_thread_ends() {
    let worker: &[_] = &[(1, Write(DATA, 1)), (0, Lock(0)), (0, Write(FLAG, 1)), (0, Unlock(0))];
    let poller: &[_] = &[
        (0, Lock(0)),
        (0, Read(FLAG)),
        (0, Unlock(0)),
        (0, Unless(1, -3)),
        (2, Read(DATA)),
    ];
    let slow = program(&[worker, poller]);
    for seed in 0..100 {
        let outcome = directed(
            &slow,
            &pair(1, 2),
            Parameters {
                patience: 500,
                ..by_the_paper(seed)
            },
        );
        assert!(outcome.met.is_empty() && !outcome.hang);
        assert!(outcome.schedule.len() < 800, "{}", outcome.schedule.len());
    }
}

/// Time does not order accesses: a program that sleeps before it races is met, one that sleeps until the
/// postponed thread has done its work ends.
#[test]
fn sleepers_wake_before_anyone_is_released() {
    let worker: &[_] = &[(1, Write(DATA, 1)), (0, AtomicStore(FLAG, 1))];
    let sleeper: &[_] = &[(0, Sleep), (0, Again(1, 20)), (2, Read(DATA))];
    assert_eq!(met(&hundred(&program(&[worker, sleeper]), 1, 2)), 100);
    let polite: &[_] = &[(0, Sleep), (0, AtomicLoad(FLAG)), (0, Unless(1, -2)), (2, Read(DATA))];
    for outcome in hundred(&program(&[worker, polite]), 1, 2) {
        assert!(outcome.met.is_empty() && !outcome.hang);
        assert!(outcome.schedule.len() < PATIENCE as usize, "{}", outcome.schedule.len());
    }
}

/// Yielding out of courtesy before the race does not release the postponed.
#[test]
fn courteous_yields_are_waited_for() {
    let worker: &[_] = &[(1, Write(DATA, 1))];
    let courteous: &[_] = &[(0, Yield), (0, Again(1, 5)), (2, Read(DATA))];
    assert_eq!(met(&hundred(&program(&[worker, courteous]), 1, 2)), 100);
}

/// A hot loop costs few postponements, and its last rounds can still be met.
#[test]
fn postponements_thin_out_in_a_hot_loop() {
    let hot: &[_] = &[(1, Write(2, 1)), (0, Again(1, 250))];
    let other: &[_] = &[(1, Write(3, 1)), (0, Again(1, 250))];
    let switches = |postponements| {
        let parameters = Parameters {
            switch: 1,
            postponements,
            ..by_the_paper(7)
        };
        directed(&program(&[hot, other]), &pair(1, 1), parameters).turns.len()
    };
    assert!(switches(1000) > 200, "{}", switches(1000));
    assert!(switches(5) < 60, "{}", switches(5));
    let late: &[_] = &[(0, Await(FLAG, 1)), (3, Read(DATA))];
    let last: &[_] = &[
        (1, Write(3, 1)),
        (0, Again(1, 250)),
        (0, AtomicStore(FLAG, 1)),
        (0, Unless(0, -3)),
        (1, Write(DATA, 1)),
    ];
    let meets = |seed: &u64| {
        let parameters = Parameters {
            postponements: 5,
            ..by_the_paper(*seed)
        };
        !directed(&program(&[last, late]), &pair(1, 3), parameters)
            .met
            .is_empty()
    };
    assert!((0..200).any(|seed| meets(&seed)));
}

/// What a thread does alone, before the others start, does not use up its bound.
#[test]
fn a_thread_alone_is_not_postponed() {
    let main: &[_] = &[
        (0, Lock(0)),
        (1, Write(DATA, 1)),
        (0, Again(1, 200)),
        (0, Unlock(0)),
        (1, Write(DATA, 2)),
    ];
    let child: &[_] = &[(0, Lock(0)), (0, Unlock(0)), (2, Read(DATA))];
    let meets = |seed| {
        let parameters = Parameters {
            switch: 1,
            postponements: 5,
            ..by_the_paper(seed)
        };
        !directed(&program(&[main, child]), &pair(1, 2), parameters)
            .met
            .is_empty()
    };
    assert!((0..100).filter(|&seed| meets(seed)).count() >= 95);
}

/// Inverting one coin leaves the run as it was up to that meeting, and turns just its outcome.
#[test]
fn a_flip_inverts_one_coin() {
    let one: &[_] = &[(1, Increment(DATA)), (0, Work), (0, Again(2, 6))];
    let twice = program(&[one, one]);
    for seed in 0..50 {
        let plain = directed(&twice, &pair(1, 1), by_the_paper(seed));
        for (met, at) in &plain.met {
            let parameters = Parameters {
                flip: Some(met.number),
                ..by_the_paper(seed)
            };
            let flipped = directed(&twice, &pair(1, 1), parameters);
            let (other, there) = flipped.met[met.number as usize];
            assert_eq!((there, &flipped.schedule[..there]), (*at, &plain.schedule[..*at]));
            assert_eq!((other.arriving, other.postponed), (met.arriving, met.postponed));
            assert_ne!(other.arriving_first, met.arriving_first);
        }
    }
}

/// Both resolutions come up about evenly, and the meeting says which.
#[test]
fn the_coin_is_fair_and_tells_the_truth() {
    let outcomes = hundred(&program(&[&[(1, Write(DATA, 1))], &[(2, Write(DATA, 2))]]), 1, 2);
    let mut firsts = 0;
    for outcome in &outcomes {
        let (met, _) = outcome.met[0];
        let first = if met.arriving_first {
            met.arriving
        } else {
            met.postponed
        };
        assert_eq!(order(outcome, &[1, 2])[0], first.0);
        firsts += usize::from(met.arriving_first);
    }
    assert!((35..=65).contains(&firsts), "{firsts}");
}

/// Who comes to its statement with a lock that is in the other's way has to come second: a run that misses the pair tells
/// who that is, and the next one meets it.
#[test]
fn the_one_in_the_way_comes_last() {
    let under_lock: &[_] = &[(0, Lock(0)), (1, Write(DATA, 1)), (0, Unlock(0))];
    let behind_it: &[_] = &[(0, Lock(0)), (0, Unlock(0)), (2, Read(DATA))];
    let program = program(&[under_lock, behind_it]);
    let sides = pair(1, 2);
    let mut missed = 0;
    for seed in 0..100 {
        let run = |last| {
            let parameters = Parameters {
                last,
                ..by_the_paper(seed)
            };
            let mut policy = AnyPolicy::from_plan(Kind::RaceDirected(parameters), sides.clone());
            let outcome = tiny::run(&program, &mut policy, &sides);
            (!outcome.met.is_empty(), policy.let_go())
        };
        let (met, let_go) = run(None);
        if !met {
            missed += 1;
            assert!(let_go.is_some() && run(let_go).0, "seed {seed}: {let_go:?}");
        }
    }
    assert!(missed > 10, "{missed}");
}
