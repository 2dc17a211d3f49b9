//! Cycles of waiting: which orders of locks, joins and signals are candidates for a deadlock, and which are not.

use deadheat_detect::{LockOrder, Resource, cycles};
use deadheat_model::{LockMode, ObjectId, ObjectKind, ThreadId};

use LockMode::{Read, Write};

const A: Resource = object(ObjectKind::Mutex, 0xa0, 0);
const B: Resource = object(ObjectKind::Mutex, 0xb0, 0);
const C: Resource = object(ObjectKind::Mutex, 0xc0, 0);
const R: Resource = object(ObjectKind::RwLock, 0x10, 0);
const S: Resource = object(ObjectKind::RwLock, 0x20, 0);
const SEMAPHORE: Resource = object(ObjectKind::Semaphore, 0x50, 0);
const OTHER_SEMAPHORE: Resource = object(ObjectKind::Semaphore, 0x60, 0);
const CONDITION: Resource = object(ObjectKind::Condition, 0x70, 0);

const fn object(kind: ObjectKind, address: u64, generation: u32) -> Resource {
    let object = ObjectId { address, generation };
    Resource { kind, object }
}

/// A run: thread 0 creates threads 1 to 3 unless a test says otherwise. Places are numbered as they come.
struct Run {
    order: LockOrder,
    place: u32,
}

impl Run {
    fn alone() -> Run {
        Run {
            order: LockOrder::new(),
            place: 0,
        }
    }

    fn new() -> Run {
        let mut run = Run::alone();
        (1..4).for_each(|n| run.order.created(ThreadId(0), ThreadId(n)));
        run
    }

    fn take(&mut self, thread: u32, lock: Resource, mode: LockMode) -> &mut Run {
        self.place += 1;
        self.order.waits(ThreadId(thread), lock, mode, self.place, None);
        self.order.took(ThreadId(thread), lock, mode, self.place);
        self
    }

    fn try_take(&mut self, thread: u32, lock: Resource) -> &mut Run {
        self.place += 1;
        self.order.took(ThreadId(thread), lock, Write, self.place);
        self
    }

    fn give(&mut self, thread: u32, lock: Resource) -> &mut Run {
        self.order.gave(ThreadId(thread), lock);
        self
    }

    /// Takes locks one inside the other, then gives all back.
    fn nested(&mut self, thread: u32, locks: &[(Resource, LockMode)]) -> &mut Run {
        for (lock, mode) in locks {
            self.take(thread, *lock, *mode);
        }
        for (lock, _) in locks.iter().rev() {
            self.give(thread, *lock);
        }
        self
    }

    fn wait(&mut self, thread: u32, object: Resource, but: Option<Resource>) -> &mut Run {
        self.place += 1;
        self.order.waits(ThreadId(thread), object, Write, self.place, but);
        self
    }

    fn signal(&mut self, thread: u32, object: Resource) -> &mut Run {
        self.place += 1;
        self.order.signals(ThreadId(thread), object, self.place);
        self
    }

    fn join(&mut self, thread: u32, child: u32) -> &mut Run {
        self.wait(thread, Resource::end_of(ThreadId(child)), None);
        self.order.joined(ThreadId(thread), ThreadId(child));
        self
    }

    fn lengths(&self) -> Vec<usize> {
        let found = cycles(&self.order);
        assert_eq!(found.cut, 0);
        found.cycles.iter().map(Vec::len).collect()
    }
}

#[test]
fn opposite_orders() {
    let mut run = Run::new();
    run.nested(1, &[(A, Write), (B, Write)])
        .nested(2, &[(B, Write), (A, Write)]);
    let found = cycles(&run.order);
    let [cycle] = &found.cycles[..] else {
        panic!("{found:?}")
    };
    assert_eq!((cycle[0].thread, cycle[0].wants.resource), (ThreadId(1), B));
    assert_eq!((cycle[1].thread, cycle[1].wants.resource), (ThreadId(2), A));
    assert_eq!(cycle[0].wanted.map(|at| cycle[0].holds[at].resource), Some(A));
}

#[test]
fn three_in_a_ring() {
    let mut run = Run::new();
    run.nested(1, &[(A, Write), (B, Write)])
        .nested(2, &[(B, Write), (C, Write)])
        .nested(3, &[(C, Write), (A, Write)]);
    assert_eq!(run.lengths(), [3]);
}

#[test]
fn one_thread_waits_for_nobody() {
    let mut run = Run::new();
    run.nested(1, &[(A, Write), (B, Write)])
        .nested(1, &[(B, Write), (A, Write)]);
    assert_eq!(run.lengths(), [0; 0]);
}

#[test]
fn a_gate_keeps_them_apart_unless_it_is_shared() {
    let gated = |mode| {
        let mut run = Run::new();
        run.nested(1, &[(R, mode), (A, Write), (B, Write)])
            .nested(2, &[(R, mode), (B, Write), (A, Write)]);
        run.lengths()
    };
    assert_eq!(gated(Write), [0; 0]);
    assert_eq!(gated(Read), [2]);
}

#[test]
fn what_ends_before_the_other_begins() {
    let mut run = Run::alone();
    run.order.created(ThreadId(0), ThreadId(1));
    run.nested(1, &[(A, Write), (B, Write)]).join(0, 1);
    run.order.created(ThreadId(0), ThreadId(2));
    run.nested(2, &[(B, Write), (A, Write)]);
    assert_eq!(run.lengths(), [0; 0]);
    // The creator's own order counts only from the creation on.
    let mut run = Run::alone();
    run.nested(0, &[(A, Write), (B, Write)]);
    run.order.created(ThreadId(0), ThreadId(1));
    run.nested(1, &[(B, Write), (A, Write)]);
    assert_eq!(run.lengths(), [0; 0]);
    run.nested(0, &[(A, Write), (B, Write)]);
    assert_eq!(run.lengths(), [2]);
}

#[test]
fn hand_over_hand() {
    let mut run = Run::new();
    for thread in 1..3 {
        run.take(thread, A, Write)
            .take(thread, B, Write)
            .give(thread, A)
            .take(thread, C, Write);
        run.give(thread, B)
            .take(thread, A, Write)
            .give(thread, A)
            .give(thread, C);
    }
    // C held, A wanted; A held, B wanted; B held, C wanted: a ring by three threads is possible.
    assert_eq!(run.lengths(), [0; 0], "two threads cannot close a ring of three");
    let mut run = Run::new();
    for thread in 1..3 {
        run.take(thread, A, Write)
            .take(thread, B, Write)
            .give(thread, A)
            .take(thread, C, Write);
        run.give(thread, B).give(thread, C);
    }
    assert_eq!(run.lengths(), [0; 0]);
}

#[test]
fn readers_share() {
    let modes = |inner| {
        let mut run = Run::new();
        run.nested(1, &[(R, Read), (S, inner)])
            .nested(2, &[(S, Read), (R, inner)]);
        run.lengths()
    };
    assert_eq!(modes(Read), [0; 0]);
    assert_eq!(modes(Write), [2]);
}

#[test]
fn a_reborn_lock_is_another() {
    let reborn = object(ObjectKind::Mutex, 0xb0, 1);
    let mut run = Run::new();
    run.nested(1, &[(A, Write), (B, Write)])
        .nested(2, &[(reborn, Write), (A, Write)]);
    assert_eq!(run.lengths(), [0; 0]);
}

#[test]
fn what_is_only_tried_is_not_waited_for() {
    let mut run = Run::new();
    run.nested(1, &[(A, Write), (B, Write)]);
    run.take(2, B, Write).try_take(2, A).give(2, A).give(2, B);
    assert_eq!(run.lengths(), [0; 0]);
    run.try_take(2, B).take(2, A, Write).give(2, A).give(2, B);
    assert_eq!(run.lengths(), [2]);
}

#[test]
fn a_join_waits_for_what_the_thread_takes() {
    let mut run = Run::new();
    run.nested(1, &[(A, Write)]);
    run.take(0, A, Write).join(0, 1).give(0, A);
    let found = cycles(&run.order);
    let [cycle] = &found.cycles[..] else {
        panic!("{found:?}")
    };
    let end = cycle
        .iter()
        .find(|p| p.wants.resource.kind == ObjectKind::Thread)
        .unwrap();
    assert_eq!(end.wanted.map(|at| end.holds[at].resource), Some(A));
    // Another thread's use of the lock does not keep the joined one.
    let mut run = Run::new();
    run.nested(2, &[(A, Write)]);
    run.take(0, A, Write).join(0, 1).give(0, A);
    assert_eq!(run.lengths(), [0; 0]);
}

#[test]
fn a_signal_is_owed_by_who_must_lock_first() {
    let mut run = Run::new();
    run.take(1, A, Write)
        .take(1, B, Write)
        .wait(1, CONDITION, Some(B))
        .give(1, B)
        .give(1, A);
    run.nested(2, &[(A, Write)]).signal(2, CONDITION);
    assert_eq!(run.lengths(), [2]);
    // The lock that the wait gives back is no obstacle.
    let mut run = Run::new();
    run.take(1, B, Write).wait(1, CONDITION, Some(B)).give(1, B);
    run.nested(2, &[(B, Write)]).signal(2, CONDITION);
    assert_eq!(run.lengths(), [0; 0]);
}

#[test]
fn semaphores_as_locks() {
    let both = |run: &mut Run, thread, first, second| {
        run.wait(thread, first, None)
            .wait(thread, second, None)
            .signal(thread, second)
            .signal(thread, first);
    };
    let mut run = Run::new();
    both(&mut run, 1, SEMAPHORE, OTHER_SEMAPHORE);
    both(&mut run, 2, SEMAPHORE, OTHER_SEMAPHORE);
    assert_eq!(run.lengths(), [0; 0]);
    both(&mut run, 3, OTHER_SEMAPHORE, SEMAPHORE);
    assert!(run.lengths().contains(&2));
}

#[test]
fn a_queue_is_no_ring() {
    let mut run = Run::new();
    for _ in 0..3 {
        run.wait(1, SEMAPHORE, None)
            .nested(1, &[(A, Write)])
            .signal(1, OTHER_SEMAPHORE);
        run.wait(2, OTHER_SEMAPHORE, None)
            .nested(2, &[(A, Write)])
            .signal(2, SEMAPHORE);
    }
    assert_eq!(run.lengths(), [0; 0]);
}

#[test]
fn many_threads_and_locks_stay_bounded() {
    let lock = |n: u64| object(ObjectKind::Mutex, n * 64, 0);
    let mut run = Run::alone();
    for thread in 1..60 {
        run.order.created(ThreadId(0), ThreadId(thread));
        for n in 0..40 {
            let (a, b) = (u64::from(thread) * 7 + n, u64::from(thread) * 13 + n * 5);
            run.nested(
                thread,
                &[(lock(a % 97), Write), (lock(b % 89 + 4), Write), (lock(n + 2), Write)],
            );
        }
    }
    let found = cycles(&run.order);
    assert!(found.cut > 0 && found.cycles.len() <= 256);
}
