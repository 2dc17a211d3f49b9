//! Hand-made locks: which words are taken for locks, what that does to suspicion, and that it does nothing to
//! what is precise.

use deadheat_detect::trace::{Analysis, Event, analyse, run1};
use deadheat_detect::{AtomicEvent, AtomicKind};
use deadheat_model::{MemoryOrder, ThreadId};

use MemoryOrder::*;

/// A small program: threads 1 to 3 created by 0, an atomic word with its value, plain data.
struct Program {
    trace: Vec<(ThreadId, Event)>,
    value: u64,
}

const WORD: u64 = 0x1000;
const DATA: u64 = 0x2000;
const OTHER: u64 = 0x2008;

impl Program {
    fn new() -> Program {
        let create = |n| (ThreadId(0), Event::Create(ThreadId(n)));
        Program {
            trace: (1..=3).map(create).collect(),
            value: 0,
        }
    }

    fn atomic(&mut self, thread: u32, kind: AtomicKind, order: MemoryOrder, new: u64) -> &mut Self {
        let event = AtomicEvent {
            address: WORD,
            size: 4,
            kind,
            order,
            before: Some(self.value),
        };
        if event.writes() {
            self.value = new;
        }
        self.trace.push((ThreadId(thread), Event::Atomic(900, event)));
        self
    }

    fn load(&mut self, thread: u32, order: MemoryOrder) -> &mut Self {
        self.atomic(thread, AtomicKind::Load, order, 0)
    }

    fn store(&mut self, thread: u32, order: MemoryOrder, new: u64) -> &mut Self {
        self.atomic(thread, AtomicKind::Store, order, new)
    }

    fn exchange(&mut self, thread: u32, order: MemoryOrder, new: u64) -> &mut Self {
        self.atomic(thread, AtomicKind::Update, order, new)
    }

    fn add(&mut self, thread: u32, order: MemoryOrder, by: u64) -> &mut Self {
        let new = self.value.wrapping_add(by) & 0xffff_ffff;
        self.atomic(thread, AtomicKind::Arithmetic, order, new)
    }

    fn compare_exchange(&mut self, thread: u32, order: MemoryOrder, expected: u64, new: u64) -> &mut Self {
        let success = self.value == expected;
        let kind = AtomicKind::CompareExchange {
            success,
            failure: Relaxed,
        };
        self.atomic(thread, kind, order, new)
    }

    fn write(&mut self, thread: u32, site: u64, address: u64) -> &mut Self {
        let access = Event::Access {
            site,
            address,
            size: 4,
            write: true,
        };
        self.trace.push((ThreadId(thread), access));
        self
    }

    fn analyse(&self) -> Analysis {
        analyse(&self.trace)
    }
}

/// Sites of the suspicious pairs, ascending, and whether each is precise.
fn pairs(analysis: &Analysis) -> Vec<(u64, u64, bool)> {
    let mut pairs: Vec<_> = analysis
        .pairs
        .iter()
        .map(|p| {
            (
                p.first.site.min(p.second.site),
                p.first.site.max(p.second.site),
                p.precise,
            )
        })
        .collect();
    pairs.sort_unstable();
    pairs
}

/// Thread 1 writes `OTHER` and then works under the lock, thread 2 works under the lock and then writes
/// `OTHER`: the hand-over of the lock hides the race.
fn hidden_by_hand_over(lock: impl Fn(&mut Program, u32), unlock: impl Fn(&mut Program, u32)) {
    let mut p = Program::new();
    p.write(1, 1, OTHER);
    lock(&mut p, 1);
    p.write(1, 2, DATA);
    unlock(&mut p, 1);
    lock(&mut p, 2);
    p.write(2, 3, DATA);
    unlock(&mut p, 2);
    p.write(2, 4, OTHER);
    lock(&mut p, 3);
    p.write(3, 5, DATA);
    unlock(&mut p, 3);
    let found = p.analyse();
    assert_eq!(pairs(&found), [(1, 4, false)]);
    assert_eq!(found.lock_words, [WORD]);
}

#[test]
fn test_and_set_lock() {
    hidden_by_hand_over(
        |p, t| {
            p.exchange(t, Acquire, 1).load(t, Relaxed);
        },
        |p, t| {
            p.store(t, Release, 0);
        },
    );
}

#[test]
fn sequentially_consistent_lock_with_test_before() {
    hidden_by_hand_over(
        |p, t| {
            p.load(t, SequentiallyConsistent)
                .compare_exchange(t, SequentiallyConsistent, 0, 1);
        },
        |p, t| {
            p.store(t, SequentiallyConsistent, 0);
        },
    );
}

#[test]
fn lock_given_back_by_exchange_or_compare_exchange() {
    hidden_by_hand_over(
        |p, t| {
            p.compare_exchange(t, Acquire, 0, 1);
        },
        |p, t| {
            p.exchange(t, Release, 0);
        },
    );
    hidden_by_hand_over(
        |p, t| {
            p.compare_exchange(t, Acquire, 0, 1);
        },
        |p, t| {
            p.compare_exchange(t, Release, 1, 0);
        },
    );
}

#[test]
fn lock_that_holds_its_owner() {
    hidden_by_hand_over(
        |p, t| {
            p.compare_exchange(t, Acquire, 0, 0x7fff_1000 + t as u64);
        },
        |p, t| {
            p.store(t, Release, 0);
        },
    );
}

/// Rust's and glibc's mutexes: 0 free, 1 taken, 2 taken with waiters.
#[test]
fn futex_mutex_with_waiters() {
    let mut p = Program::new();
    p.write(1, 1, OTHER);
    for round in 0..2 {
        p.compare_exchange(1, Acquire, 0, 1).write(1, 2, DATA);
        // Thread 2 fails, marks, waits; thread 3 too.
        p.compare_exchange(2, Acquire, 0, 1).exchange(2, Acquire, 2);
        p.compare_exchange(3, Acquire, 0, 1)
            .load(3, Relaxed)
            .exchange(3, Acquire, 2);
        p.write(1, 3, DATA).exchange(1, Release, 0);
        p.exchange(2, Acquire, 2).write(2, 4, DATA).exchange(2, Release, 0);
        p.exchange(3, Acquire, 2).write(3, 5, DATA).exchange(3, Release, 0);
        if round == 0 {
            p.write(3, 6, OTHER);
        }
    }
    let found = p.analyse();
    assert_eq!(pairs(&found), [(1, 6, false)]);
    assert_eq!(found.lock_words, [WORD]);
}

#[test]
fn failed_test_and_set_is_no_hybrid_edge() {
    let mut p = Program::new();
    p.exchange(1, Acquire, 1).store(1, Release, 0);
    p.exchange(1, Acquire, 1).write(1, 1, DATA);
    p.write(2, 2, OTHER);
    for _ in 0..3 {
        p.exchange(2, SequentiallyConsistent, 1);
    }
    p.exchange(1, Release, 0);
    p.exchange(3, Acquire, 1).write(3, 3, DATA).store(3, Release, 0);
    p.write(3, 4, OTHER);
    let found = p.analyse();
    // The full clock has the edge of the failed exchanges: they are in the release sequence that thread 3 reads.
    assert_eq!(pairs(&found), [(2, 4, false)]);
    assert_eq!(found.lock_words, [WORD]);
}

#[test]
fn publication_is_an_edge() {
    for exchange in [false, true] {
        let mut p = Program::new();
        p.write(1, 1, DATA);
        if exchange {
            p.exchange(1, SequentiallyConsistent, 1);
        } else {
            p.compare_exchange(1, SequentiallyConsistent, 0, 1);
        }
        p.load(2, Acquire).write(2, 2, DATA);
        let found = p.analyse();
        assert_eq!(pairs(&found), []);
        assert!(found.lock_words.is_empty());
    }
}

#[test]
fn hand_made_once_is_an_edge() {
    let mut p = Program::new();
    p.compare_exchange(1, Acquire, 0, 1)
        .write(1, 1, DATA)
        .store(1, Release, 2);
    p.load(2, Acquire).write(2, 2, OTHER);
    p.load(3, Acquire).write(3, 3, DATA);
    let found = p.analyse();
    assert_eq!(pairs(&found), []);
    assert!(found.lock_words.is_empty());
}

#[test]
fn mailbox_is_an_edge() {
    let mut p = Program::new();
    p.compare_exchange(1, AcquireRelease, 0, 1)
        .write(1, 1, DATA)
        .store(1, Release, 2);
    p.compare_exchange(2, AcquireRelease, 2, 3)
        .write(2, 2, DATA)
        .store(2, Release, 0);
    p.compare_exchange(1, AcquireRelease, 0, 1)
        .write(1, 3, DATA)
        .store(1, Release, 2);
    assert_eq!(pairs(&p.analyse()), []);
}

#[test]
fn counters_are_edges() {
    let mut p = Program::new();
    p.write(1, 1, DATA).add(1, SequentiallyConsistent, 1);
    p.write(2, 2, OTHER).add(2, SequentiallyConsistent, 1);
    p.load(3, Acquire).write(3, 3, DATA).write(3, 4, OTHER);
    let found = p.analyse();
    assert_eq!(pairs(&found), []);
    assert!(found.lock_words.is_empty());
}

/// A runtime that cannot tell an addition from an exchange still sees a count of users for what it is.
#[test]
fn counts_of_users_are_edges() {
    let mut p = Program::new();
    for (thread, site) in [(1, 1), (2, 2)] {
        p.exchange(thread, SequentiallyConsistent, 1);
        p.write(thread, site, if thread == 1 { DATA } else { OTHER });
        p.exchange(thread, SequentiallyConsistent, 0);
    }
    p.load(3, Acquire).write(3, 3, DATA).write(3, 4, OTHER);
    let found = p.analyse();
    assert_eq!(pairs(&found), []);
    assert!(found.lock_words.is_empty());
}

#[test]
fn unlock_by_another_thread_is_an_edge() {
    let mut p = Program::new();
    p.compare_exchange(1, Acquire, 0, 1).write(1, 1, DATA);
    p.store(2, Release, 0);
    p.compare_exchange(3, Acquire, 0, 1).write(3, 2, DATA);
    let found = p.analyse();
    // Thread 2 knew nothing of thread 1: this is no lock, and a race.
    assert_eq!(pairs(&found), [(1, 2, true)]);
    assert!(found.lock_words.is_empty());
}

#[test]
fn relaxed_unlock_protects_nothing() {
    let mut p = Program::new();
    p.compare_exchange(1, Acquire, 0, 1)
        .write(1, 1, DATA)
        .store(1, Relaxed, 0);
    p.compare_exchange(2, Acquire, 0, 1)
        .write(2, 2, DATA)
        .store(2, Relaxed, 0);
    assert_eq!(pairs(&p.analyse()), [(1, 2, true)]);
}

#[test]
fn relaxed_lock_protects_nothing() {
    let mut p = Program::new();
    p.compare_exchange(1, Relaxed, 0, 1)
        .write(1, 1, DATA)
        .store(1, Release, 0);
    p.compare_exchange(2, Relaxed, 0, 1)
        .write(2, 2, DATA)
        .store(2, Release, 0);
    assert_eq!(pairs(&p.analyse()), [(1, 2, true)]);
}

#[test]
fn freed_lock_word_is_another_lock() {
    let mut p = Program::new();
    p.compare_exchange(1, Acquire, 0, 1)
        .write(1, 1, DATA)
        .store(1, Release, 0);
    p.compare_exchange(1, Acquire, 0, 1).store(1, Release, 0);
    p.trace.push((ThreadId(1), Event::Forget(WORD, 8)));
    p.value = 0;
    p.compare_exchange(2, Acquire, 0, 1)
        .write(2, 2, DATA)
        .store(2, Release, 0);
    let found = p.analyse();
    assert_eq!(pairs(&found), [(1, 2, true)]);
    assert_eq!(found.lock_words, [WORD]);
}

#[test]
fn claims_without_end_stay_bounded() {
    let mut p = Program::new();
    for slot in 0..1000_u64 {
        let event = AtomicEvent {
            address: 0x8000 + 8 * slot,
            size: 8,
            kind: AtomicKind::CompareExchange {
                success: true,
                failure: Relaxed,
            },
            order: AcquireRelease,
            before: Some(0),
        };
        p.trace.push((ThreadId(1), Event::Atomic(slot, event)));
        p.write(1, 1, DATA);
    }
    p.write(2, 2, DATA);
    let (flagged, words) = run1(&p.trace, 0);
    assert_eq!(flagged, [DATA]);
    assert!(words.is_empty());
}
