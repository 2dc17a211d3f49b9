//! Concurrent pairs of random executions against a computation over their complete event logs.

mod log;

use deadheat_detect::Limits;
use deadheat_model::LockMode;
use deadheat_pairs::pairs;
use log::{Event, THREADS, brute_force, grouped};
use proptest::prelude::*;

const LOCKS: u32 = 3;
const KEYS: u64 = 2;
const FUNCTIONS: u32 = 6;

#[derive(Clone, Default)]
struct Thread {
    alive: bool,
    ended: bool,
    stack: Vec<u32>,
    locks: Vec<(u32, LockMode)>,
}

/// Makes an execution that can be out of choices: what is impossible at its place is left out.
fn execution(choices: &[(u8, u8, u8)]) -> Vec<(u32, Event)> {
    let mut threads = vec![Thread::default(); THREADS as usize];
    threads[0].alive = true;
    let mut log = vec![(0, Event::Enter(0))];
    threads[0].stack.push(0);
    let free = |threads: &[Thread], lock: u32, mode: LockMode| {
        let mut held = threads.iter().flat_map(|t| &t.locks).filter(|h| h.0 == lock);
        held.all(|h| mode == LockMode::Read && h.1 == LockMode::Read)
    };
    for &(who, what, which) in choices {
        let me = u32::from(who) % THREADS;
        if !threads[me as usize].alive || threads[me as usize].ended {
            continue;
        }
        let event = match what % 12 {
            0 | 1 => Event::Create(u32::from(which) % THREADS),
            2 => Event::Join(u32::from(which) % THREADS),
            3 => Event::Lock(u32::from(which) % LOCKS, LockMode::Write),
            4 => Event::Lock(u32::from(which) % LOCKS, LockMode::Read),
            5 | 6 => match threads[me as usize].locks.get(usize::from(which) % LOCKS as usize) {
                Some((lock, mode)) => Event::Unlock(*lock, *mode),
                None => continue,
            },
            7 => Event::Give(u64::from(which) % KEYS),
            8 => Event::Take(u64::from(which) % KEYS),
            9 | 10 => Event::Enter(u32::from(which) % FUNCTIONS),
            _ => match threads[me as usize].stack.last() {
                Some(f) => Event::Exit(*f),
                None => continue,
            },
        };
        let possible = match event {
            Event::Create(child) => !threads[child as usize].alive && child != me,
            Event::Join(child) => child != me && threads[child as usize].alive,
            Event::Lock(lock, mode) => free(&threads, lock, mode),
            _ => true,
        };
        if !possible {
            continue;
        }
        // A join waits: all that the other is in ends first.
        if let Event::Join(child) = event {
            end(&mut threads[child as usize], child, &mut log);
        }
        let thread = &mut threads[me as usize];
        match event {
            Event::Lock(lock, mode) => thread.locks.push((lock, mode)),
            Event::Unlock(lock, mode) => {
                let at = thread.locks.iter().rposition(|h| *h == (lock, mode)).unwrap();
                thread.locks.remove(at);
            }
            Event::Enter(f) => thread.stack.push(f),
            Event::Exit(_) => drop(thread.stack.pop()),
            Event::Create(child) => threads[child as usize].alive = true,
            _ => {}
        }
        log.push((me, event));
    }
    for (n, thread) in threads.iter_mut().enumerate() {
        end(thread, n as u32, &mut log);
    }
    log
}

fn end(thread: &mut Thread, number: u32, log: &mut Vec<(u32, Event)>) {
    while let Some(f) = thread.stack.pop() {
        log.push((number, Event::Exit(f)));
    }
    for (lock, mode) in std::mem::take(&mut thread.locks).into_iter().rev() {
        log.push((number, Event::Unlock(lock, mode)));
    }
    thread.ended = true;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_are_those_of_the_complete_log(choices in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..120)) {
        let log = execution(&choices);
        let spans = grouped(&log, Limits::default());
        prop_assert_eq!((spans.widened, spans.dropped), (0, 0));
        let (found, right) = (pairs(&spans), brute_force(&log));
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), right.iter().collect::<Vec<_>>(), "{:?}", log);
    }

    #[test]
    fn what_is_joined_for_want_of_room_loses_no_pair(choices in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..160)) {
        let log = execution(&choices);
        let limits = Limits { spans: 4, clocks: 6, members: 1000 };
        let spans = grouped(&log, limits);
        prop_assert!(spans.spans.len() <= 8);
        if spans.dropped == 0 {
            let right = brute_force(&log);
            prop_assert_eq!(right.count_without(&pairs(&spans)), 0, "{:?}", log);
        }
    }
}

#[test]
fn the_papers_figure_2() {
    let log = [
        (0, Event::Enter(0)),
        (0, Event::Create(1)),
        // foo1 { lock; foo2; unlock }
        (0, Event::Enter(1)),
        (0, Event::Lock(0, LockMode::Write)),
        (0, Event::Enter(2)),
        (0, Event::Exit(2)),
        (0, Event::Unlock(0, LockMode::Write)),
        (0, Event::Exit(1)),
        // lock; bar; unlock
        (1, Event::Lock(0, LockMode::Write)),
        (1, Event::Enter(3)),
        (1, Event::Exit(3)),
        (1, Event::Unlock(0, LockMode::Write)),
        (0, Event::Join(1)),
        (0, Event::Exit(0)),
    ];
    let found = pairs(&grouped(&log, Limits::default()));
    assert_eq!(found.iter().collect::<Vec<_>>(), [(0, 3), (1, 3)]);
}
