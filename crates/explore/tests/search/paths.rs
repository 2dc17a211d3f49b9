//! Small programs: the search must find every path, each once, and count what it cannot know.

use super::simulated::{Run, Value, run};
use deadheat_explore::expression::Store;
use deadheat_explore::path::{Path, TraceError};
use deadheat_explore::sat_solver::SatSolver;
use deadheat_explore::solver::{Answer, Literal, Solver};
use deadheat_explore::{Assignment, Bounds, Order, Own, Prover, Search, Side, Symbol};
use deadheat_wire::trace::{self, constraint, op};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Reads a decimal number: branches at sites 1 and 2.
fn number(run: &mut Run, from: u32, most: u32) -> Value {
    let mut value = run.constant(0, 32);
    for offset in 0..most {
        let byte = run.byte(from + offset);
        let digit = run.int(byte);
        let (low, ten) = (run.constant(47, 32), run.constant(10, 32));
        if !run.branch(1, op::SGT, digit, low) {
            break;
        }
        let high = run.constant(58, 32);
        if !run.branch(2, op::ULT, digit, high) {
            break;
        }
        let zero = run.constant(48, 32);
        let digit = run.calc(op::SUB, digit, zero);
        let scaled = run.calc(op::MUL, value, ten);
        value = run.calc(op::ADD, scaled, digit);
    }
    value
}

/// All paths that the search finds, and the search.
fn explore(order: Order, program: impl Fn(&mut Run)) -> (BTreeSet<Vec<(u64, bool)>>, Search) {
    explore_from(Assignment::new(), order, Own::All, program)
}

/// The same where only some branches are the program's own.
fn explore_own(order: Order, own: Own, program: impl Fn(&mut Run)) -> (BTreeSet<Vec<(u64, bool)>>, Search) {
    explore_from(Assignment::new(), order, own, program)
}

fn explore_from(
    first: Assignment,
    order: Order,
    own: Own,
    program: impl Fn(&mut Run),
) -> (BTreeSet<Vec<(u64, bool)>>, Search) {
    let mut search = Search::new(
        Prover::new(Box::<SatSolver>::default(), 10_000),
        order,
        Bounds::default(),
        own,
    );
    let mut inputs = vec![first];
    let mut paths = BTreeSet::new();
    let (bytes, log) = run(&program, &inputs[0]);
    paths.insert(log);
    let path = Path::import(&mut search.store, &bytes).unwrap();
    search.add(0, path, None);
    while let Some(next) = search.next(|| false) {
        let mut input = inputs[next.parent as usize].clone();
        input.extend(next.changes.clone());
        let (bytes, log) = run(&program, &input);
        let fresh = paths.insert(log);
        let path = Path::import(&mut search.store, &bytes).unwrap();
        search.add(inputs.len() as u32, path, Some(&next));
        assert!(fresh || search.tally.diverged > 0, "a path was run twice");
        inputs.push(input);
        assert!(inputs.len() < 2000);
    }
    (paths, search)
}

/// The example of the paper: `rand() % 2` decides in a good function and again in a bad one.
#[test]
fn two_independent_choices_have_four_paths() {
    for order in [Order::Generational, Order::DepthFirst] {
        let (paths, search) = explore(order, |run| {
            for offset in 0..2 {
                let (byte, zero) = (run.byte(offset), run.constant(0, 8));
                run.branch(1 + u64::from(offset), op::EQ, byte, zero);
            }
        });
        assert_eq!(paths.len(), 4);
        assert_eq!((search.tally.diverged, search.tally.paths, search.sides()), (0, 4, 4));
    }
}

#[test]
fn what_the_prefix_excludes_is_proven_infeasible() {
    let (paths, search) = explore(Order::Generational, |run| {
        let byte = run.byte(0);
        let x = run.int(byte);
        let (hundred, fifty) = (run.constant(100, 32), run.constant(50, 32));
        if run.branch(1, op::SGT, x, hundred) {
            run.branch(2, op::SGT, x, fifty);
        }
    });
    assert_eq!(paths.len(), 2);
    assert_eq!(search.tally.infeasible, 1);
    assert_eq!(search.open_sides().count(), 1);
}

#[test]
fn a_magic_word_and_a_checksum_are_found() {
    let magic = *b"DEAD";
    let (paths, _) = explore(Order::Generational, |run| {
        for (n, wanted) in magic.iter().enumerate() {
            let (byte, wanted) = (run.byte(n as u32), run.constant((*wanted).into(), 8));
            if !run.branch(1, op::EQ, byte, wanted) {
                return;
            }
        }
        let mut sum = run.constant(0, 32);
        for offset in 4..8 {
            let byte = run.byte(offset);
            let wide = run.int(byte);
            let three = run.constant(3, 32);
            let scaled = run.calc(op::MUL, sum, three);
            sum = run.calc(op::ADD, scaled, wide);
        }
        let target = run.constant(7_777, 32);
        run.branch(2, op::EQ, sum, target);
    });
    assert!(paths.iter().any(|p| p.last() == Some(&(2, true))));
    assert_eq!(paths.len(), 6);
}

#[test]
fn a_run_that_leaves_its_path_is_counted() {
    let (_, search) = explore(Order::Generational, |run| {
        let (byte, five) = (run.byte(0), run.constant(5, 8));
        // An influence that the trace does not show.
        if byte.value != 9 {
            run.branch(1, op::NE, byte, five);
        }
        let nine = run.constant(9, 8);
        run.branch(2, op::EQ, byte, nine);
    });
    // There, and back again.
    assert_eq!(search.tally.diverged, 2);
}

#[test]
fn bounds_hold_and_are_counted() {
    let (paths, search) = explore(Order::Generational, |run| {
        for offset in 0..9 {
            let (byte, zero) = (run.byte(offset), run.constant(0, 8));
            run.branch(7, op::EQ, byte, zero);
        }
    });
    // Of 512 paths: forty wishes for each side each time, the first run, and what chance brings.
    assert!(paths.len() < 512);
    assert!(search.tally.cut > 0);
}

#[test]
fn a_false_node_is_counted_and_stays_out() {
    let input = Assignment::new();
    let (mut bytes, _) = run(
        |run| {
            let (byte, five) = (run.byte(0), run.constant(5, 8));
            let sum = run.calc(op::ADD, byte, five);
            run.branch(1, op::NE, sum, five);
        },
        &input,
    );
    let at = trace::NODES_AT + 3 * trace::NODE_SIZE + 16;
    bytes[at] = 77;
    let mut search = Search::new(
        Prover::new(Box::<SatSolver>::default(), 10),
        Order::DepthFirst,
        Bounds::default(),
        Own::All,
    );
    let path = Path::import(&mut search.store, &bytes).unwrap();
    assert!(path.losses.wrong > 0 && path.constraints.is_empty());
    assert_eq!(
        Path::import(&mut search.store, b"noise").unwrap_err(),
        TraceError::Magic
    );
    bytes[trace::NODES_AT + 3 * trace::NODE_SIZE + 4] = 200;
    assert_eq!(
        Path::import(&mut search.store, &bytes).unwrap_err(),
        TraceError::Damaged(3)
    );
}

/// `if (number == 46)`, where the first input has one digit and the second digit is asked for first.
#[test]
fn the_core_of_an_infeasible_side_leads_to_it() {
    let program = |run: &mut Run| {
        let value = number(run, 0, 12);
        for site in 10..40 {
            let other = run.constant(100_000_000 + site, 32);
            run.branch(site, op::NE, value, other);
        }
        let wanted = run.constant(4660, 32);
        run.branch(3, op::EQ, value, wanted);
    };
    let mut search = Search::new(
        Prover::new(Box::<SatSolver>::default(), 10_000),
        Order::Generational,
        Bounds::default(),
        Own::All,
    );
    let mut inputs = vec![Assignment::from([(Symbol { source: 1, offset: 0 }, b'7')])];
    let mut found = None;
    let (bytes, _) = run(program, &inputs[0]);
    let path = Path::import(&mut search.store, &bytes).unwrap();
    search.add(0, path, None);
    while let Some(next) = search.next(|| false) {
        let mut input = inputs[next.parent as usize].clone();
        input.extend(next.changes.clone());
        let (bytes, log) = run(program, &input);
        let path = Path::import(&mut search.store, &bytes).unwrap();
        search.add(inputs.len() as u32, path, Some(&next));
        inputs.push(input);
        if log.contains(&(3, true)) {
            found = Some(inputs.len());
            break;
        }
    }
    assert!(found.is_some_and(|n| n < 40), "{found:?}");
}

/// Models that skip spaces and read a number, and one branch of the program: two ways, and 100,000 paths.
#[test]
fn paths_through_a_model_that_repeat_come_to_an_end() {
    let mut orders = BTreeSet::new();
    for _ in 0..2 {
        let (paths, search) = explore_own(Order::Generational, Own::Sites([3].into_iter().collect()), |run| {
            for offset in 20..33 {
                let (byte, space) = (run.byte(offset), run.constant(b' '.into(), 8));
                run.branch(6, op::EQ, byte, space);
            }
            let value = number(run, 0, 13);
            let wanted = run.constant(4660, 32);
            run.branch(3, op::EQ, value, wanted);
        });
        assert!(paths.iter().any(|p| p.last() == Some(&(3, true))));
        assert!(search.only_repeats() && search.waiting() > 0);
        assert!(paths.len() < 250, "{}", paths.len());
        orders.insert(paths);
    }
    assert_eq!(orders.len(), 1, "the same search twice");
}

/// Ways that the program itself goes are none of a model's repetitions: every one is run.
#[test]
fn ways_of_the_program_are_all_gone() {
    let own = Own::Sites((3..9).collect());
    let (paths, search) = explore_own(Order::Generational, own, |run| {
        number(run, 0, 6);
        for site in 3..9 {
            let (byte, zero) = (run.byte(40 + site as u32), run.constant(0, 8));
            run.branch(site, op::EQ, byte, zero);
        }
    });
    let ways: BTreeSet<Vec<bool>> = paths
        .iter()
        .map(|p| {
            p.iter()
                .filter(|(site, _)| *site >= 3)
                .map(|(_, taken)| *taken)
                .collect()
        })
        .collect();
    assert_eq!(ways.len(), 64);
    assert_eq!(search.open_sides().count(), 0);
}

/// No square leaves the remainder 3 or 2.
#[test]
fn a_side_that_no_input_takes_is_proven_infeasible_on_all_paths() {
    let side = |taken| Side { site: 4, taken };
    let program = |skips: bool| {
        move |run: &mut Run| {
            let value = number(run, 0, 4);
            let square = run.calc(op::MUL, value, value);
            let (sixteen, thirteen) = (run.constant(0x4000_0000, 32), run.constant(0xc000_0000, 32));
            let scaled = run.calc(op::MUL, square, sixteen);
            run.branch(4, op::EQ, scaled, thirteen);
            if skips {
                let (byte, seven) = (run.byte(0), run.constant(b'7'.into(), 8));
                run.branch(5, op::EQ, byte, seven);
            }
        }
    };
    let own = || Own::Sites([4, 5].into_iter().collect());
    for skips in [false, true] {
        let (paths, search) = explore_own(Order::Generational, own(), program(skips));
        assert!(search.is_infeasible(side(true)) && !search.is_infeasible(side(false)));
        assert!(paths.len() < 300, "{}", paths.len());
    }
}

/// The same model reads both numbers, so that its branches come again.
#[test]
fn two_numbers_that_one_model_reads_are_found_together() {
    let first = [0, 20].map(|offset| (Symbol { source: 1, offset }, b'7'));
    let own = Own::Sites([3, 4].into_iter().collect());
    let (paths, _) = explore_from(first.into(), Order::Generational, own, |run| {
        let (a, b) = (number(run, 0, 13), number(run, 20, 13));
        let (wanted, other) = (run.constant(1234, 32), run.constant(4691, 32));
        if run.branch(3, op::EQ, a, wanted) {
            run.branch(4, op::EQ, b, other);
        }
    });
    assert!(paths.iter().any(|p| p.last() == Some(&(4, true))), "{}", paths.len());
}

/// Stopped after any number of runs and gone on from what was kept, in a store with other numbers: the same paths.
#[test]
fn a_search_goes_on_where_it_was_stopped() {
    let program = |run: &mut Run| {
        let mut sum = run.constant(0, 8);
        for offset in 0..5 {
            let (byte, two) = (run.byte(offset), run.constant(2, 8));
            run.branch(10 + u64::from(offset), op::ULT, byte, two);
            sum = run.calc(op::ADD, byte, sum);
        }
        let nine = run.constant(9, 8);
        run.branch(20, op::EQ, sum, nine);
    };
    let fresh = |order| {
        let prover = Prover::new(Box::<SatSolver>::default(), 10_000);
        Search::new(prover, order, Bounds::default(), Own::All)
    };
    for order in [Order::Generational, Order::DepthFirst] {
        let (whole, _) = explore(order, program);
        for stop in [1, 2, 7, 30] {
            let mut paths = BTreeSet::new();
            let mut inputs = vec![Assignment::new()];
            let mut search = fresh(order);
            let go = |search: &mut Search, inputs: &mut Vec<Assignment>, paths: &mut BTreeSet<_>, most: usize| {
                for _ in 0..most {
                    let Some(next) = search.next(|| false) else { break };
                    let mut input: Assignment = inputs[next.parent as usize].clone();
                    input.extend(next.changes.clone());
                    let (bytes, log) = run(program, &input);
                    assert!(paths.insert(log), "a path was run twice");
                    let path = Path::import(&mut search.store, &bytes).unwrap();
                    search.add(inputs.len() as u32, path, Some(&next));
                    inputs.push(input);
                }
            };
            let (bytes, log) = run(program, &inputs[0]);
            paths.insert(log);
            let path = Path::import(&mut search.store, &bytes).unwrap();
            search.add(0, path, None);
            go(&mut search, &mut inputs, &mut paths, stop);
            // One that was asked for and did not run.
            let given_up: Vec<_> = search.next(|| false).into_iter().collect();
            let state = search.state(&given_up).expect("there is little");
            let open = search.parents(&given_up);
            assert_eq!(state.runs(), inputs.len() as u64);
            let mut search = fresh(order);
            search.resume(state);
            // Numbers of expressions differ in the new store.
            let _ = search.store.symbol(Symbol { source: 9, offset: 9 });
            let mut inputs: Vec<Assignment> = open.iter().map(|n| inputs[*n as usize].clone()).collect();
            for (n, input) in inputs.iter().enumerate().rev() {
                let path = Path::import(&mut search.store, &run(program, input).0).unwrap();
                search.again(n as u32, path);
            }
            go(&mut search, &mut inputs, &mut paths, 2000);
            assert_eq!(paths, whole, "{order:?} stopped after {stop}");
        }
    }
}

/// Counts the letters `a` that its text begins with; a text has as many bytes as another byte says, and at most `longest`.
fn letters(run: &mut Run, longest: u64) {
    let (length, most) = (run.byte(100), run.constant(longest + 1, 8));
    run.constrain(constraint::ASSUMED, 0, op::ULT, length, most);
    for at in 0..100 {
        let place = run.constant(at, 8);
        if !run.constrain(constraint::LENGTH, 50, op::ULT, place, length) {
            break;
        }
        let (byte, letter) = (run.byte(at as u32), run.constant(u64::from(b'a'), 8));
        if !run.branch(10 + at, op::EQ, byte, letter) {
            break;
        }
    }
}

/// What is infeasible within a bound is asked for anew where the bound is another, from the paths that are added again.
#[test]
fn inputs_grow_further_when_they_may() {
    let (two, narrow) = explore(Order::Generational, |run| letters(run, 2));
    let beyond = Side { site: 12, taken: true };
    assert!(two.iter().flatten().all(|(site, _)| *site < 12 || *site == 50));
    let mut inputs = vec![Assignment::from(
        [2, 100].map(|offset| (Symbol { source: 1, offset }, 0)),
    )];
    let mut search = narrow;
    search.widen();
    let (bytes, _) = run(|run: &mut Run| letters(run, 5), &inputs[0]);
    let path = Path::import(&mut search.store, &bytes).unwrap();
    search.again(0, path);
    let mut reached = false;
    while let Some(next) = search.next(|| false) {
        let mut input = inputs[next.parent as usize].clone();
        input.extend(next.changes.clone());
        let (bytes, log) = run(|run: &mut Run| letters(run, 5), &input);
        reached |= log.contains(&(beyond.site, beyond.taken));
        let path = Path::import(&mut search.store, &bytes).unwrap();
        search.add(inputs.len() as u32, path, Some(&next));
        inputs.push(input);
        assert!(inputs.len() < 200);
    }
    assert!(reached, "{} inputs", inputs.len());
    assert_eq!(search.tally.diverged, 0);
    assert!(search.open_sides().all(|side| !search.is_infeasible(side)));
}

/// Gives every question up, and notes how much it was allowed.
struct GivesUp(Rc<RefCell<Vec<u64>>>);

impl Solver for GivesUp {
    fn check(&mut self, _: &Store, _: &[Literal], budget: u64) -> Answer {
        self.0.borrow_mut().push(budget);
        Answer::Unknown
    }
    fn name(&self) -> &'static str {
        "gives up"
    }
}

#[test]
fn a_branch_whose_questions_are_given_up_gets_less() {
    let allowed = Rc::new(RefCell::new(Vec::new()));
    let prover = Prover::new(Box::new(GivesUp(allowed.clone())), 6_400);
    let mut search = Search::new(prover, Order::Generational, Bounds::default(), Own::All);
    let program = |run: &mut Run| {
        for offset in 0..8 {
            let (byte, five) = (run.byte(offset), run.constant(5, 8));
            run.branch(1, op::EQ, byte, five);
        }
    };
    let path = Path::import(&mut search.store, &run(program, &Assignment::new()).0).unwrap();
    search.add(0, path, None);
    assert!(search.next(|| false).is_none());
    let allowed = allowed.borrow();
    assert_eq!(allowed[..8], [400; 8], "each is asked shortly first");
    assert_eq!(
        allowed[8..],
        [6_400, 3_200, 1_600, 800],
        "and once more where that is more"
    );
}
