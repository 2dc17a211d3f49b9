//! `stays` before `choose` gives the schedule that `choose` alone gives, under every policy, and spares the
//! questions that it is there to spare.

use deadheat_model::{Access, ByteRange, Operation, SiteId, SiteKind, ThreadId};
use deadheat_schedule::{AnyPolicy, Cause, Enabled, Kind, Parameters, Policy, Question, RacingPair, Rng, Turn};

const THREADS: u32 = 3;
const STEPS: u64 = 5_000;

fn site(index: u32) -> SiteId {
    SiteId { module: 0, index }
}

fn policy(kind: &Kind) -> AnyPolicy {
    AnyPolicy::from_plan(kind.clone(), RacingPair::new(vec![site(0)], vec![site(1)]))
}

fn operation(rng: &mut Rng, thread: ThreadId) -> Operation {
    match rng.below(8) {
        0 => Operation::Access(Access {
            thread,
            site: site(rng.below(2) as u32),
            kind: SiteKind::Write,
            bytes: ByteRange { start: 64, len: 4 },
        }),
        1 | 2 => Operation::Continue,
        _ => Operation::External,
    }
}

/// Who ran at each step, the meetings among them, and how often `choose` was asked.
fn walk(kind: &Kind, seed: u64, short: bool) -> (Vec<String>, u64) {
    let mut policy = policy(kind);
    let mut program = Rng::new(seed);
    let mut threads: Vec<Enabled> = (0..THREADS)
        .map(|n| Enabled {
            place: 0,
            thread: ThreadId(n),
            next: Operation::Start,
            stamp: n.into(),
            timeout: false,
        })
        .collect();
    let (mut running, mut asked, mut trace) = (ThreadId(0), 0, Vec::new());
    for step in 0..STEPS {
        let cause = match program.below(16) {
            0 => Cause::Yield,
            1 => Cause::Spin,
            _ => Cause::Point,
        };
        let next = match cause {
            Cause::Point => operation(&mut program, running),
            _ => Operation::Yield,
        };
        let stands = |e: &Enabled| e.thread != running && matches!(e.next, Operation::Access(_));
        let target = matches!(next, Operation::Access(_));
        let may = short && cause == Cause::Point && !(target && threads.iter().any(stands));
        if may && policy.stays(step, &next) {
            trace.push(format!("{} None false", running.0));
            continue;
        }
        let own = &mut threads[running.index()];
        own.next = next;
        asked += 1;
        let answer = policy.choose(&Question {
            step,
            running,
            cause,
            enabled: &threads,
        });
        trace.push(format!("{} {:?} {}", answer.run.0, answer.met, answer.diverged));
        if answer.run != running {
            threads[running.index()].stamp = u64::from(THREADS) + step;
        }
        running = answer.run;
    }
    (trace, asked)
}

fn same(kind: &Kind, spared: u64) {
    for seed in 0..20 {
        let (long, all) = walk(kind, seed, false);
        let (short, asked) = walk(kind, seed, true);
        assert!(long == short, "{kind:?} seed {seed}");
        assert!(asked * spared <= all, "{kind:?} seed {seed}: {asked} of {all}");
    }
}

#[test]
fn fifo() {
    for quantum in [0, 1, 2, 7, 50] {
        same(&Kind::Fifo { quantum }, u64::from(quantum != 1));
    }
}

#[test]
fn random() {
    for switch in [1, 100, 1024] {
        same(&Kind::Random { seed: 5, switch }, if switch == 1024 { 1 } else { 2 });
    }
}

#[test]
fn race_directed() {
    for (flip, last) in [(None, None), (Some(0), None), (Some(3), Some(ThreadId(1)))] {
        let parameters = Parameters {
            seed: 9,
            last,
            switch: 200,
            postponements: 20,
            patience: 40,
            flip,
        };
        same(&Kind::RaceDirected(parameters), 1);
    }
}

#[test]
fn replay() {
    let turn = |n: u64| Turn {
        step: n * 97,
        thread: ThreadId(n as u32 % THREADS),
        timeout: false,
    };
    same(
        &Kind::Replay {
            turns: (0..80).map(turn).collect(),
        },
        1,
    );
}

/// A thread that polls at one statement of the pair while the thread it waits for stands before the other.
#[test]
fn a_loop_of_arrivals_uses_up_the_quantum() {
    let access = |thread, n| {
        Operation::Access(Access {
            thread,
            site: site(n),
            kind: SiteKind::Write,
            bytes: ByteRange { start: 64, len: 4 },
        })
    };
    let entry = |n: u32| Enabled {
        place: 0,
        thread: ThreadId(n),
        next: access(ThreadId(n), n),
        stamp: n.into(),
        timeout: false,
    };
    let enabled = [entry(0), entry(1)];
    let mut policy = policy(&Kind::Fifo { quantum: 10 });
    let mut arrive = |step| {
        policy.choose(&Question {
            step,
            running: ThreadId(0),
            cause: Cause::Point,
            enabled: &enabled,
        })
    };
    let answers: Vec<_> = (0..20).map(&mut arrive).collect();
    assert!(
        answers[..19]
            .iter()
            .all(|a| a.run == ThreadId(0) && a.met.is_some_and(|m| m.arriving_first))
    );
    assert!(answers[19].run == ThreadId(1) && answers[19].met.is_some_and(|m| !m.arriving_first));
}
