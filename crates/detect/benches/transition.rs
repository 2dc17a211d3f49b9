//! Nanoseconds per call of what the runtime calls most. `cargo bench -p deadheat-detect`.

use deadheat_detect::*;
use deadheat_model::*;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u64 = 5_000;

/// The best of many short batches, so that a busy machine does not show.
fn measure(what: &str, mut call: impl FnMut(u64)) {
    let mut best = f64::MAX;
    for batch in 0..200 {
        let start = Instant::now();
        (batch * ROUNDS..(batch + 1) * ROUNDS).for_each(&mut call);
        best = best.min(start.elapsed().as_nanos() as f64 / ROUNDS as f64);
    }
    println!("{what:<58} {best:7.1} ns");
}

fn main() {
    let threads: Vec<ThreadId> = (0..4).map(ThreadId).collect();
    let mut hb = HappensBefore::new(Keep::Both);
    threads[1..].iter().for_each(|t| hb.created(threads[0], *t));
    let object = |address| ObjectId { address, generation: 0 };
    let mutex = hb.lock(ObjectKind::Mutex, object(1));
    let other = hb.lock(ObjectKind::Mutex, object(2));
    let mut granules = Granules::new(256);

    let mine = hb.context(threads[1], false);
    let theirs = hb.context(threads[2], false);
    measure("transition, cached", |_| {
        black_box(granules.transition(&mut hb, mine, theirs, theirs, 0, false, Covered::Move));
    });
    measure("transition, not cached, empty history", |i| {
        // Contexts that do not exist are ordered before everything.
        let w = 1_000 + i as u32;
        black_box(granules.transition(&mut hb, mine, w, w, 0, true, Covered::Move));
    });
    let mut set = 0;
    for entry in 0..8 {
        set = granules.sets().push(Entry::new(theirs, entry % 2 == 0), set);
    }
    measure("transition, not cached, history of 8", |i| {
        let w = 1_000 + i as u32;
        black_box(granules.transition(&mut hb, mine, w, w, set, true, Covered::Move));
    });
    measure("mutex taken and given back, with contexts", |_| {
        hb.acquired(threads[1], mutex, LockMode::Write);
        black_box(hb.context(threads[1], false));
        hb.released(threads[1], mutex, LockMode::Write);
        black_box(hb.context(threads[1], false));
    });
    measure("two mutexes by two threads in turn", |i| {
        let t = threads[1 + (i & 1) as usize];
        hb.acquired(t, mutex, LockMode::Write);
        hb.acquired(t, other, LockMode::Write);
        black_box(hb.context(t, false));
        hb.released(t, other, LockMode::Write);
        hb.released(t, mutex, LockMode::Write);
        black_box(hb.context(t, false));
    });
    let event = |kind, order, before| AtomicEvent {
        address: 0x1000,
        size: 4,
        kind,
        order,
        before: Some(before),
    };
    measure("seq_cst increment by two threads in turn", |i| {
        let e = event(AtomicKind::Arithmetic, MemoryOrder::SequentiallyConsistent, i);
        black_box(hb.atomic_begin(threads[1 + (i & 1) as usize], e));
        hb.atomic_end(threads[1 + (i & 1) as usize], e);
    });
    measure("acquire load of the same", |i| {
        hb.atomic(threads[3], event(AtomicKind::Load, MemoryOrder::Acquire, i));
    });
    measure("hand-made lock taken and given back", |i| {
        let word = |kind, order, before| AtomicEvent {
            address: 0x2000,
            ..event(kind, order, before)
        };
        let taken = AtomicKind::CompareExchange {
            success: true,
            failure: MemoryOrder::Relaxed,
        };
        let t = threads[1 + (i & 1) as usize];
        hb.atomic(t, word(taken, MemoryOrder::Acquire, 0));
        hb.atomic(t, word(AtomicKind::Store, MemoryOrder::Release, 1));
    });
    hb.forgotten(0x0, 0x10000);
    measure("forgotten, 64 bytes, nothing atomic near", |i| {
        hb.forgotten(0x10_0000 + i * 64, 64)
    });

    let mut statements: Statements<u64> = Statements::new(&[0x3000]);
    let flags = AccessFlags {
        write: true,
        ..AccessFlags::default()
    };
    measure("record, repeated", |i| {
        let t = threads[1];
        let context = hb.context(t, false);
        black_box(
            statements
                .record(&mut hb, t, 1, 0x3000, 0xff, flags, context, || i)
                .len(),
        );
    });
    measure("record, each under the lock again, two threads", |i| {
        let t = threads[1 + (i & 1) as usize];
        hb.acquired(t, mutex, LockMode::Write);
        let context = hb.context(t, false);
        black_box(
            statements
                .record(&mut hb, t, i & 7, 0x3000, 0xff, flags, context, || i)
                .len(),
        );
        hb.released(t, mutex, LockMode::Write);
    });
    let mut exact: Exact<u64> = Exact::new();
    let access = |thread, site| TargetAccess {
        thread,
        site,
        address: 0x4000,
        size: 8,
        flags,
    };
    measure("exact target access, repeated", |i| {
        black_box(exact.access(&hb, access(threads[1], 1), || i).len());
    });
    measure("exact target access, two threads and statements", |i| {
        let t = threads[1 + (i & 1) as usize];
        hb.acquired(t, mutex, LockMode::Write);
        black_box(exact.access(&hb, access(t, i & 1), || i).len());
        hb.released(t, mutex, LockMode::Write);
    });
}
