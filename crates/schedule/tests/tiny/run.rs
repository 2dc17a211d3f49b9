//! One run of a program under a policy, as the runtime does it.

use super::{Machine, Program, Statement};
use deadheat_model::{ObjectId, ObjectKind, Operation, ThreadId};
use deadheat_schedule::{Cause, Enabled, Met, Policy, Question, RacingPair, Turn};
use std::collections::BTreeSet;

/// A run that takes more scheduling points hangs.
const HANG: u64 = 100_000;

/// What a run showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Who ran at each scheduling point.
    pub schedule: Vec<u32>,
    /// The switches, for replay.
    pub turns: Vec<Turn>,
    /// The meetings, with the number of scheduling points before each.
    pub met: Vec<(Met, usize)>,
    /// Sites of the statements executed, with their threads.
    pub executed: Vec<(u32, u32)>,
    /// Error statements reached.
    pub errors: BTreeSet<u32>,
    pub deadlock: bool,
    pub hang: bool,
    pub diverged: bool,
}

/// Runs the program to its end.
pub fn run(program: &Program, policy: &mut dyn Policy, pair: &RacingPair) -> Outcome {
    let mut machine = Machine::new(program);
    let mut stamps: Vec<u64> = (0..machine.threads() as u64).collect();
    let mut started = vec![false; machine.threads()];
    let mut outcome = Outcome::default();
    let (mut running, mut spins) = (0, false);
    started[running] = true;
    for step in 0..HANG {
        let entry = |t| entry(&machine, t, started[t], stamps[t], pair);
        let enabled: Vec<Enabled> = (0..machine.threads()).filter_map(entry).collect();
        if enabled.is_empty() {
            outcome.deadlock = (0..machine.threads()).any(|t| machine.next(t).is_some());
            outcome.errors = machine.errors.clone();
            return outcome;
        }
        let goes_on = enabled.iter().any(|e| e.thread.index() == running && !e.timeout);
        let cause = match machine.next(running).map(|l| l.statement) {
            None => Cause::Ended,
            _ if !goes_on => Cause::Blocked,
            _ if spins => Cause::Spin,
            Some(Statement::Yield) => Cause::Yield,
            _ => Cause::Point,
        };
        let question = Question {
            step,
            running: ThreadId(running as u32),
            cause,
            enabled: &enabled,
        };
        let answer = policy.choose(&question);
        let chosen = *question.entry(answer.run).expect("the policy picks an enabled thread");
        if let Some(met) = answer.met {
            check(&met, &machine, pair);
            outcome.met.push((met, outcome.schedule.len()));
        }
        outcome.diverged |= answer.diverged;
        if answer.run.index() != running || chosen.timeout {
            outcome.turns.push(Turn {
                step,
                thread: answer.run,
                timeout: chosen.timeout,
            });
            stamps[running] = machine.threads() as u64 + step;
        }
        running = answer.run.index();
        outcome.schedule.push(answer.run.0);
        spins = false;
        if std::mem::replace(&mut started[running], true) {
            let before = machine.next(running);
            spins = !machine.execute(running);
            outcome
                .executed
                .extend(before.filter(|_| !spins).map(|line| (answer.run.0, line.site)));
        }
    }
    outcome.hang = true;
    outcome
}

/// What the scheduler sees of a thread. One that has not started stands before no statement.
fn entry(machine: &Machine<'_>, thread: usize, started: bool, stamp: u64, pair: &RacingPair) -> Option<Enabled> {
    let entry = |next, timeout| {
        Some(Enabled {
            place: machine.next(thread).map_or(0, |line| line.site.into()),
            thread: ThreadId(thread as u32),
            next,
            stamp,
            timeout,
        })
    };
    if !started {
        return entry(Operation::Start, false);
    }
    let line = machine.next(thread).filter(|_| machine.can_run(thread))?;
    let mutex = |l: u8| ObjectId {
        address: u64::from(l),
        generation: 0,
    };
    match (machine.access(thread), line.statement) {
        (Some(access), _) if pair.contains(access.site) => entry(Operation::Access(access), false),
        (_, Statement::Lock(l)) => entry(Operation::Acquire(ObjectKind::Mutex, mutex(l)), false),
        (_, Statement::Unlock(l)) => entry(Operation::Release(ObjectKind::Mutex, mutex(l)), false),
        (_, Statement::Await(..) | Statement::Yield) => entry(Operation::Yield, false),
        (_, Statement::Sleep) => entry(Operation::Continue, true),
        _ => entry(Operation::Continue, false),
    }
}

/// A meeting is real: both threads stand before accesses that conflict, one at each side of the pair.
fn check(met: &Met, machine: &Machine<'_>, pair: &RacingPair) {
    let arriving = machine
        .access(met.arriving.index())
        .expect("the arriving thread stands before an access");
    let postponed = machine
        .access(met.postponed.index())
        .expect("the postponed thread stands before an access");
    assert!(arriving.conflicts(&postponed), "{arriving:?} {postponed:?}");
    assert!(pair.are_sides(arriving.site, postponed.site));
}
