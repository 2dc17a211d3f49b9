//! Many threads, many locks at once, long runs, and what happens at the bounds.

use deadheat_detect::trace::{Event, analyse, run1, run2};
use deadheat_detect::{
    AccessFlags, AtomicEvent, AtomicKind, Covered, Exact, Granules, HappensBefore, Keep, Statements, TargetAccess,
};
use deadheat_model::{LockMode, MemoryOrder, ObjectId, ObjectKind, ThreadId};

const MAIN: ThreadId = ThreadId(0);
const DATA: u64 = 0x2000;

fn access(thread: u32, site: u64, address: u64, write: bool) -> (ThreadId, Event) {
    let event = Event::Access {
        site,
        address,
        size: 4,
        write,
    };
    (ThreadId(thread), event)
}

fn word(address: u64, kind: AtomicKind, order: MemoryOrder) -> AtomicEvent {
    AtomicEvent {
        address,
        size: 4,
        kind,
        order,
        before: None,
    }
}

#[test]
fn five_hundred_threads() {
    let mut trace = Vec::new();
    for n in 1..=500 {
        trace.push((MAIN, Event::Create(ThreadId(n))));
    }
    for n in 1..=500 {
        // Each reads the shared granule; each writes its own, and under a lock the common one.
        trace.push(access(n, 1, DATA, false));
        trace.push(access(n, 2, 0x10_0000 + 8 * n as u64, true));
        trace.push((ThreadId(n), Event::Acquire(0, LockMode::Write)));
        trace.push(access(n, 3, DATA + 8, true));
        trace.push((ThreadId(n), Event::Release(0, LockMode::Write)));
    }
    let silent = trace.len();
    assert_eq!(run1(&trace, 0).0, []);
    trace.push(access(250, 4, DATA, true));
    assert_eq!(run1(&trace, 0).0, [DATA]);
    let found = analyse(&trace);
    assert_eq!(found.pairs.len(), 1);
    // Those after thread 250 took the lock after it: nothing orders them before its write.
    assert_eq!((found.pairs[0].count, found.pairs[0].precise), (499, true));
    trace.truncate(silent);
    for n in 1..=500 {
        trace.push((ThreadId(n), Event::End));
        trace.push((MAIN, Event::Join(ThreadId(n))));
    }
    trace.push(access(0, 5, DATA, true));
    trace.push(access(0, 6, DATA + 8, true));
    assert_eq!(analyse(&trace).pairs, []);
}

#[test]
fn a_hundred_and_thirty_locks_at_once() {
    let mut trace: Vec<_> = (1..=3).map(|n| (MAIN, Event::Create(ThreadId(n)))).collect();
    let hold = |trace: &mut Vec<_>, thread: u32, locks: &[u32]| {
        locks
            .iter()
            .for_each(|l| trace.push((ThreadId(thread), Event::Acquire(*l, LockMode::Write))));
    };
    let give = |trace: &mut Vec<_>, thread: u32, locks: &[u32]| {
        locks
            .iter()
            .for_each(|l| trace.push((ThreadId(thread), Event::Release(*l, LockMode::Write))));
    };
    let all: Vec<u32> = (0..130).collect();
    hold(&mut trace, 1, &all);
    trace.push(access(1, 1, DATA, true));
    trace.push(access(1, 2, DATA + 8, true));
    give(&mut trace, 1, &all);
    hold(&mut trace, 2, &[129]);
    trace.push(access(2, 3, DATA, true));
    give(&mut trace, 2, &[129]);
    hold(&mut trace, 3, &[130]);
    trace.push(access(3, 4, DATA + 8, true));
    let found = analyse(&trace);
    let pairs: Vec<_> = found
        .pairs
        .iter()
        .map(|p| (p.first.site, p.second.site, p.precise))
        .collect();
    assert_eq!(pairs, [(2, 4, true)]);
}

/// A lock in one lockset and a different one in the other, in turn: no number of repetitions makes new
/// contexts or sets.
#[test]
fn repetition_makes_nothing_new() {
    let mut hb = HappensBefore::new(Keep::Hybrid);
    let mut granules = Granules::new(256);
    let locks = [1, 2].map(|address| hb.lock(ObjectKind::Mutex, ObjectId { address, generation: 0 }));
    hb.created(MAIN, ThreadId(1));
    let mut cell = (0, 0, 0);
    let mut round = |hb: &mut HappensBefore, granules: &mut Granules| {
        for thread in [MAIN, ThreadId(1)] {
            for lock in locks {
                hb.acquired(thread, lock, LockMode::Write);
                let context = hb.context(thread, false);
                let next = granules.transition(hb, context, cell.0, cell.1, cell.2, false, Covered::Move);
                cell = (next.w, next.r, next.set);
                hb.released(thread, lock, LockMode::Write);
            }
        }
    };
    round(&mut hb, &mut granules);
    round(&mut hb, &mut granules);
    let before = (hb.contexts().count(), granules.sets().count());
    (0..1000).for_each(|_| round(&mut hb, &mut granules));
    assert_eq!((hb.contexts().count(), granules.sets().count()), before);
}

/// Releases that no access follows need no context of their own.
#[test]
fn unused_contexts_are_carried_over() {
    let mut hb = HappensBefore::new(Keep::Hybrid);
    for _ in 0..1000 {
        hb.release_edge(MAIN, 1);
        hb.context(MAIN, false);
    }
    assert_eq!(hb.contexts().count(), 1);
}

/// Beyond the bound on contexts order is coarser: pairs may be missed, none is made up.
#[test]
fn contexts_at_their_bound() {
    let mut hb = HappensBefore::new(Keep::Hybrid);
    let mut granules = Granules::new(0);
    hb.contexts().limit = 10;
    hb.created(MAIN, ThreadId(1));
    let mut cell = (0, 0, 0);
    for round in 0..100 {
        let thread = ThreadId(round & 1);
        hb.acquire_edge(thread, 1);
        let context = hb.context(thread, false);
        let next = granules.transition(&mut hb, context, cell.0, cell.1, cell.2, true, Covered::Move);
        assert!(!next.suspicious);
        cell = (next.w, next.r, next.set);
        hb.release_edge(thread, 1);
    }
    assert!(hb.contexts().count() <= 11 && hb.contexts().cut > 0);
}

/// Beyond the bound on atomics every edge is still there.
#[test]
fn atomics_at_their_bound() {
    let mut hb = HappensBefore::new(Keep::Both);
    hb.limit_atomics(4);
    hb.created(MAIN, ThreadId(1));
    for i in 0..100 {
        let epoch = (hb.hybrid_epoch(MAIN), hb.full_epoch(MAIN));
        hb.atomic(MAIN, word(0x1000 + 8 * i, AtomicKind::Store, MemoryOrder::Release));
        hb.atomic(MAIN, word(0x9000 + 8 * i, AtomicKind::Store, MemoryOrder::Relaxed));
        hb.atomic(
            ThreadId(1),
            word(0x1000 + 8 * i, AtomicKind::Load, MemoryOrder::Acquire),
        );
        assert!(hb.ordered(ThreadId(1), MAIN, epoch.0) && hb.fully_ordered(ThreadId(1), MAIN, epoch.1));
        hb.forgotten(0x1000, 8);
    }
    assert!(hb.atomics_cut() > 0);
}

#[test]
fn records_at_their_bound() {
    let trace: Vec<_> = [(MAIN, Event::Create(ThreadId(1)))]
        .into_iter()
        .chain((0..100).map(|site| access(0, site, DATA, true)))
        .chain([access(1, 1000, DATA, true)])
        .collect();
    let mut statements = Statements::everything();
    statements.limit = 10;
    let found = run2(&trace, statements, &[]);
    assert_eq!(found.pairs.len(), 10);
    let mut statements = Statements::everything();
    statements.pair_limit = 7;
    assert_eq!(run2(&trace, statements, &[]).pairs.len(), 7);
    assert_eq!(run2(&trace, Statements::everything(), &[]).pairs.len(), 100);
}

/// A share per signature: a thousand granules of one kind are sampled, a granule of another is not lost.
#[test]
fn flags_per_signature() {
    let mut trace = vec![(MAIN, Event::Create(ThreadId(1)))];
    for i in 0..5000 {
        trace.push(access(0, 1, 0x10_0000 + 8 * i, true));
        trace.push(access(1, 2, 0x10_0000 + 8 * i, true));
    }
    trace.push(access(0, 3, DATA, true));
    trace.push(access(1, 4, DATA, true));
    let (all, some) = (run1(&trace, 0).0, run1(&trace, 256).0);
    assert_eq!(all.len(), 5001);
    assert!(some.len() > 32 && some.len() <= 257 && some[0] == DATA);
    assert!(run1(&trace, 1).0.len() == 2);
}

#[test]
fn inexact_accesses_are_never_precise() {
    let mut hb = HappensBefore::new(Keep::Both);
    hb.created(MAIN, ThreadId(1));
    let mut statements: Statements<()> = Statements::new(&[DATA]);
    let flags = |inexact| AccessFlags {
        write: true,
        atomic: false,
        inexact,
    };
    for (thread, site, inexact) in [(MAIN, 1, true), (ThreadId(1), 2, false)] {
        let context = hb.context(thread, false);
        statements.record(&mut hb, thread, site, DATA, 0xff, flags(inexact), context, || ());
    }
    assert_eq!(statements.pairs().len(), 1);
    assert!(!statements.pairs()[0].precise);
    let context = hb.context(MAIN, false);
    statements.record(&mut hb, MAIN, 1, DATA, 0xff, flags(false), context, || ());
    assert_eq!(statements.pairs().iter().filter(|p| p.precise).count(), 1);
}

#[test]
fn freed_memory_starts_anew() {
    let mut hb = HappensBefore::new(Keep::Full);
    hb.created(MAIN, ThreadId(1));
    let mut exact: Exact<u32> = Exact::new();
    let target = |thread| TargetAccess {
        thread,
        site: 1,
        address: DATA,
        size: 8,
        flags: AccessFlags {
            write: true,
            ..AccessFlags::default()
        },
    };
    assert!(exact.access(&hb, target(MAIN), || 1).is_empty());
    assert_eq!(exact.access(&hb, target(ThreadId(1)), || 2).len(), 1);
    exact.forgotten(DATA, 8);
    assert!(exact.access(&hb, target(MAIN), || 3).is_empty());
}

/// Nothing panics on a trace that no execution makes.
#[test]
fn senseless_traces() {
    let t = ThreadId(7);
    let trace = [
        (t, Event::Join(t)),
        (t, Event::Create(t)),
        (t, Event::Release(3, LockMode::Read)),
        (t, Event::AcquireEdge(9)),
        (ThreadId(u32::MAX), Event::End),
        (t, Event::Create(ThreadId(u32::MAX))),
        (t, Event::End),
        access(7, 1, u64::MAX - 1, true),
        (
            t,
            Event::Atomic(1, word(u64::MAX - 1, AtomicKind::Update, MemoryOrder::AcquireRelease)),
        ),
        (t, Event::Forget(u64::MAX - 3, u64::MAX)),
        (t, Event::Forget(0, u64::MAX)),
        access(7, 1, 0, false),
    ];
    assert_eq!(analyse(&trace).pairs, []);
}
