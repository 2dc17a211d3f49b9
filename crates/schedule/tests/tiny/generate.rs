//! Random programs: up to four threads, up to ten statements that are scheduling points.

use super::{Line, Program, Statement};
use proptest::prelude::*;

use Statement::*;

const MOST: usize = 10;

/// An access, mostly plain.
fn access() -> impl Strategy<Value = Statement> {
    let variable = 0u8..3;
    prop_oneof![
        3 => variable.clone().prop_map(Read),
        3 => (variable.clone(), 1u8..3).prop_map(|(v, x)| Write(v, x)),
        1 => variable.clone().prop_map(Increment),
        1 => variable.clone().prop_map(AtomicLoad),
        1 => (variable, 1u8..3).prop_map(|(v, x)| AtomicStore(v, x)),
    ]
}

/// A few statements that belong together.
fn block() -> impl Strategy<Value = Vec<Statement>> {
    let read = prop_oneof![(0u8..3).prop_map(Read), (0u8..3).prop_map(AtomicLoad)];
    prop_oneof![
        4 => access().prop_map(|a| vec![a]),
        2 => (0u8..2, prop::collection::vec(access(), 1..3)).prop_map(|(lock, body)| {
            [vec![Lock(lock)], body, vec![Unlock(lock)]].concat()
        }),
        2 => (read.clone(), 0u8..3, access()).prop_map(|(read, value, then)| vec![read, Unless(value, 2), then]),
        1 => (0u8..2, read, 0u8..3, access()).prop_map(|(lock, read, value, then)| {
            vec![Lock(lock), read, Unless(value, 2), then, Unlock(lock)]
        }),
        1 => Just(vec![Lock(0), Lock(1), Unlock(1), Unlock(0)]),
        1 => Just(vec![Sleep]),
        1 => Just(vec![Yield]),
    ]
}

/// A thread's code, cut to its share of the statements.
fn code(most: usize) -> impl Strategy<Value = Vec<Statement>> {
    prop::collection::vec(block(), 1..4).prop_map(move |blocks| {
        let mut code = Vec::new();
        for block in blocks {
            let points = |s: &[Statement]| s.iter().filter(|s| !matches!(s, Unless(..))).count();
            if points(&code) + points(&block) <= most {
                code.extend(block);
            }
        }
        code
    })
}

/// A program. In half of those with several threads, the second thread runs the first one's code, so that
/// its statements may race with themselves.
pub fn programs() -> impl Strategy<Value = Program> {
    (2usize..=4).prop_flat_map(|threads| {
        let codes = prop::collection::vec(code(MOST / threads), threads);
        (codes, any::<bool>()).prop_map(|(mut codes, twins)| {
            if twins {
                codes[1] = codes[0].clone();
            }
            let first = |thread: usize| 100 * if twins && thread == 1 { 0 } else { thread as u32 };
            let lines = |(thread, code): (usize, Vec<Statement>)| {
                let line = |(at, statement)| Line {
                    site: first(thread) + at as u32,
                    statement,
                };
                code.into_iter().enumerate().map(line).collect()
            };
            Program {
                threads: codes.into_iter().enumerate().map(lines).collect(),
            }
        })
    })
}
