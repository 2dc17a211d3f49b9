//! The undirected policies: repeatable, live, and better than a walk at what each is for.

mod tiny;

use deadheat_schedule::{Overtaken, Pct, Policy, Pos, Random, Surw};
use tiny::Statement::*;
use tiny::{Outcome, Program, Statement, pair, program, run};

const X: u8 = 0;
const Y: u8 = 1;
const SEEDS: u64 = 600;

fn outcome(program: &Program, policy: &mut dyn Policy) -> Outcome {
    run(program, policy, &pair(1000, 1000))
}

fn hits(program: &Program, policy: impl Fn(u64) -> Box<dyn Policy>) -> usize {
    let hit = |seed: &u64| !outcome(program, policy(*seed).as_mut()).errors.is_empty();
    (0..SEEDS).filter(hit).count()
}

/// The first thread fails if a short second thread comes after nearly all of its work.
fn late() -> Program {
    let mut long: Vec<(u32, Statement)> = vec![(0, Work); 60];
    long.extend([(1, AtomicStore(X, 1)), (2, Work), (3, AtomicStore(X, 2))]);
    let short = [(4, AtomicLoad(X)), (0, Unless(1, 2)), (5, Error), (6, Work)];
    program(&[&long, &short])
}

#[test]
fn same_seed_same_schedule() {
    let program = late();
    let make: [fn(u64) -> Box<dyn Policy>; 4] = [
        |s| Box::new(Overtaken::new(s, 205, Vec::new())),
        |s| Box::new(Pct::new(s, 3, 60)),
        |s| Box::new(Pos::new(s)),
        |s| Box::new(Surw::new(s, vec![64, 4])),
    ];
    for make in make {
        let schedules: Vec<_> = (0..20).map(|s| outcome(&program, make(s).as_mut()).schedule).collect();
        let again: Vec<_> = (0..20).map(|s| outcome(&program, make(s).as_mut()).schedule).collect();
        assert_eq!(schedules, again);
        assert!(schedules.iter().any(|s| *s != schedules[0]));
    }
}

#[test]
fn a_short_thread_comes_late_by_remaining_work() {
    let program = late();
    let surw = hits(&program, |s| Box::new(Surw::new(s, vec![64, 4])));
    let walk = hits(&program, |s| Box::new(Random::new(s, 1024)));
    assert!(surw > 0 && surw > 2 * walk, "surw {surw}, walk {walk}");
}

#[test]
fn one_change_of_priority_finds_what_needs_one() {
    let program = late();
    let pct = hits(&program, |s| Box::new(Pct::new(s, 2, 66)));
    assert!(pct > 0, "{pct}");
}

/// Many threads do two things under a lock each; the last one fails if it comes between the two of the first of them.
fn two_stages() -> Program {
    let stages = |x, at| [(at, Lock(x)), (at + 1, Write(x, 1)), (at + 2, Unlock(x))];
    let writer = [stages(X, 1), stages(Y, 4)].concat();
    let reader = [
        (10, Lock(X)),
        (11, Read(X)),
        (12, Unlock(X)),
        (0, Unless(1, 5)),
        (13, Lock(Y)),
        (14, Read(Y)),
        (15, Unlock(Y)),
        (0, Unless(0, 2)),
        (16, Error),
        (17, Work),
    ];
    let mut threads: Vec<&[(u32, Statement)]> = vec![&writer; 30];
    threads.push(&reader);
    program(&threads)
}

#[test]
fn a_second_section_is_overtaken_whoever_comes_to_it() {
    let program = two_stages();
    let overtaken = hits(&program, |s| Box::new(Overtaken::new(s, 205, Vec::new())));
    let walk = hits(&program, |s| Box::new(Random::new(s, 205)));
    let pct = hits(&program, |s| Box::new(Pct::new(s, 3, 200)));
    assert!(
        overtaken > SEEDS as usize / 40 && overtaken > 3 * walk.max(pct),
        "overtaken {overtaken}, walk {walk}, PCT {pct}"
    );
}

/// Two threads that do what does not matter under many locks; one of them, at its beginning, takes one more lock twice,
/// and fails if the other takes that in between, which it does at its end.
fn far_apart() -> Program {
    let section = |lock: u8, at: u32| [(at, Lock(lock)), (at + 1, Unlock(lock))];
    let noise = |from: u32| -> Vec<_> { (0..40).flat_map(|n| section(1 + (n % 3) as u8, from + 2 * n)).collect() };
    let halves = [
        (1, Lock(X)),
        (2, Write(X, 1)),
        (3, Unlock(X)),
        (4, Lock(X)),
        (5, Read(X)),
        (0, Unless(2, 2)),
        (6, Error),
        (7, Unlock(X)),
    ];
    let early = [noise(100)[..8].to_vec(), halves.to_vec(), noise(300)].concat();
    let late = [noise(500), vec![(10, Lock(X)), (11, Write(X, 2)), (12, Unlock(X))]].concat();
    program(&[&early, &late])
}

#[test]
fn who_comes_to_an_object_again_is_interrupted_there() {
    let program = far_apart();
    let directed = hits(&program, |s| Box::new(Overtaken::new(s, 205, vec![1, 4, 10])));
    let elsewhere = hits(&program, |s| Box::new(Overtaken::new(s, 205, vec![100, 102])));
    let walk = hits(&program, |s| Box::new(Random::new(s, 205)));
    assert!(
        directed > SEEDS as usize / 4 && directed > 5 * elsewhere.max(walk),
        "directed {directed}, at others {elsewhere}, walk {walk}"
    );
}

#[test]
fn a_spin_loop_ends() {
    let spin = program(&[&[(1, Await(X, 1)), (2, Work)], &[(3, Work), (4, AtomicStore(X, 1))]]);
    let make: [fn(u64) -> Box<dyn Policy>; 4] = [
        |s| Box::new(Overtaken::new(s, 205, Vec::new())),
        |s| Box::new(Pct::new(s, 3, 10)),
        |s| Box::new(Pos::new(s)),
        |s| Box::new(Surw::new(s, vec![2, 2])),
    ];
    for make in make {
        assert!((0..50).all(|s| !outcome(&spin, make(s).as_mut()).hang));
    }
}
