//! The paper's two examples (figures 1 and 2).

mod tiny;

use tiny::Statement::*;
use tiny::{Program, by_the_paper, co_enabled, directed, pair, program};

const X: u8 = 0;
const Y: u8 = 1;
const Z: u8 = 2;
const L: u8 = 0;

fn figure_1() -> Program {
    program(&[
        &[
            (1, Write(X, 1)),
            (2, Lock(L)),
            (3, Write(Y, 1)),
            (4, Unlock(L)),
            (5, Read(Z)),
            (0, Unless(1, 2)),
            (6, Error),
        ],
        &[
            (7, Write(Z, 1)),
            (8, Lock(L)),
            (9, Read(Y)),
            (0, Unless(1, 4)),
            (10, Read(X)),
            (0, Unless(0, 2)),
            (11, Error),
            (14, Unlock(L)),
        ],
    ])
}

/// With `work` statements in each of f1 to f6.
fn figure_2(work: usize) -> Program {
    let f = |n: usize| vec![(0, Work); n * work];
    let one = [
        vec![(1, Lock(L))],
        f(5),
        vec![(7, Unlock(L)), (8, Read(X)), (0, Unless(0, 2)), (9, Error)],
    ]
    .concat();
    let two = [vec![(10, Write(X, 1)), (11, Lock(L))], f(1), vec![(13, Unlock(L))]].concat();
    program(&[&one, &two])
}

/// Of 100 seeds: how many met, and how many reached the error statement.
fn hundred(program: &Program, first: u32, second: u32, error: u32) -> (usize, usize) {
    let sides = pair(first, second);
    let outcomes: Vec<_> = (0..100)
        .map(|seed| directed(program, &sides, by_the_paper(seed)))
        .collect();
    let met = outcomes.iter().filter(|o| !o.met.is_empty()).count();
    (met, outcomes.iter().filter(|o| o.errors.contains(&error)).count())
}

#[test]
fn figure_1_has_one_real_race() {
    assert_eq!(co_enabled(&figure_1()), [(5, 7)].into());
    let (met, errors) = hundred(&figure_1(), 5, 7, 6);
    println!("figure 1, (5,7): created {met}/100, ERROR1 {errors}/100");
    assert!(met >= 99, "{met}");
    assert!((35..=65).contains(&errors), "{errors}");
    assert_eq!(hundred(&figure_1(), 1, 10, 11), (0, 0));
}

#[test]
fn figure_2_does_not_depend_on_the_distance() {
    for work in [0, 1, 20, 200] {
        let (met, errors) = hundred(&figure_2(work), 8, 10, 9);
        println!("figure 2, 5 * {work} statements before: created {met}/100, ERROR {errors}/100");
        assert_eq!(met, 100);
        assert!((35..=65).contains(&errors), "{errors}");
    }
}

/// The runtime's scheduling points are fewer: synchronisation and targets only, and rare switches.
#[test]
fn rare_switches_suffice() {
    for switch in [1, 10, 200] {
        let sides = pair(8, 10);
        let met = (0..100).filter(|&seed| {
            let parameters = deadheat_schedule::Parameters {
                switch,
                ..by_the_paper(seed)
            };
            !directed(&figure_2(20), &sides, parameters).met.is_empty()
        });
        assert_eq!(met.count(), 100, "switch {switch}");
    }
}
