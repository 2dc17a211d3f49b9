//! Pruning: what it cancels on small programs, and that findings are the same with it on random ones.

use super::simulated::{Run, Value, run};
use deadheat_explore::path::Path;
use deadheat_explore::sat_solver::SatSolver;
use deadheat_explore::{Assignment, Bounds, Order, Own, Prover, Prune, Search};
use deadheat_wire::trace::op;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Two statements that race.
type Finding = (u32, u32);

/// What an exploration comes to.
struct Explored {
    findings: BTreeSet<Finding>,
    paths: BTreeSet<Vec<(u64, bool)>>,
    search: Search,
}

/// Explores a program that says what races in a run. `spare`: as the tool does, nothing is pruned on the way to those.
fn explore(order: Order, prune: Prune, spare: bool, program: impl Fn(&mut Run) -> BTreeSet<Finding>) -> Explored {
    let prover = Prover::new(Box::<SatSolver>::default(), 10_000);
    let bounds = Bounds {
        per_side: 1_000,
        ..Bounds::default()
    };
    let mut search = Search::new(prover, order, bounds, Own::All).pruning(prune);
    let (mut findings, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let mut inputs = vec![Assignment::new()];
    let mut made_for = None;
    loop {
        let found = RefCell::new(BTreeSet::new());
        let (bytes, log) = run(|run| *found.borrow_mut() = program(run), inputs.last().unwrap());
        let path = Path::import(&mut search.store, &bytes).unwrap();
        let number = inputs.len() as u32 - 1;
        search.add(number, path, made_for.as_ref());
        let found = found.into_inner();
        if spare && !found.is_empty() {
            search.spare(number);
        }
        if !found.is_subset(&findings) {
            search.discovered();
        }
        findings.extend(found);
        paths.insert(log);
        let Some(next) = search.next(|| false) else { break };
        let mut input = inputs[next.parent as usize].clone();
        input.extend(next.changes.clone());
        inputs.push(input);
        made_for = Some(next);
        assert!(inputs.len() < 20_000);
    }
    Explored {
        findings,
        paths,
        search,
    }
}

const ORDERS: [Order; 2] = [Order::Generational, Order::DepthFirst];
const MODES: [Prune; 3] = [Prune::Off, Prune::Branch, Prune::RaceSafe];

/// The address of a variable.
fn variable(n: u32) -> u64 {
    0x1000 + 8 * u64::from(n)
}

/// Branches on whether a byte of input is this.
fn is(run: &mut Run, site: u64, offset: u32, wanted: u64) -> bool {
    let (byte, wanted) = (run.byte(offset), run.constant(wanted, 8));
    run.place = site;
    run.branch(site, op::EQ, byte, wanted)
}

fn set(run: &mut Run, n: u32, value: u64) {
    let value = Value {
        node: 0,
        value,
        width: 8,
    };
    run.writes(variable(n), (0, u64::from(n)), value);
}

/// The paper's example: `rand() % 2` decides in a good function and again in a bad one.
#[test]
fn the_second_choice_is_cancelled_where_the_first_went_the_other_way() {
    for order in ORDERS {
        let runs = MODES.map(|mode| {
            let explored = explore(order, mode, true, |run| {
                for offset in 0..2 {
                    is(run, 1 + u64::from(offset), offset, 0);
                }
                BTreeSet::new()
            });
            (explored.paths.len(), explored.search.pruned.turns)
        });
        assert_eq!(runs, [(4, 0), (3, 1), (3, 1)], "{order:?}");
    }
}

#[test]
fn independent_choices_are_taken_one_by_one() {
    for order in ORDERS {
        let explored = explore(order, Prune::RaceSafe, true, |run| {
            for offset in 0..8 {
                if is(run, offset.into(), offset, 7) {
                    // Nobody reads it.
                    set(run, offset, 1);
                }
            }
            BTreeSet::new()
        });
        assert_eq!(explored.paths.len(), 9, "{order:?}");
        assert_eq!(explored.search.sides(), 16);
    }
}

/// `mode = in > 0 ? 1 : 2; if (in2 == 7 && mode == 2) racy();`
#[test]
fn a_flag_that_is_read_later_tells_paths_apart() {
    for order in ORDERS {
        let races = MODES.map(|mode| {
            let explored = explore(order, mode, true, |run| {
                let first = is(run, 1, 0, 0);
                set(run, 0, if first { 1 } else { 2 });
                let second = is(run, 2, 1, 7);
                if second {
                    run.reads(variable(0), 0, 1);
                }
                BTreeSet::from_iter((second && !first).then_some((1, 2)))
            });
            explored.findings.len()
        });
        assert_eq!(races, [1, 0, 1], "{order:?}");
    }
}

/// What the first path excludes, the second one does not.
#[test]
fn a_path_that_does_not_imply_what_is_kept_is_not_pruned() {
    for order in ORDERS {
        let sides = MODES.map(|mode| {
            let explored = explore(order, mode, true, |run| {
                is(run, 1, 0, 0);
                is(run, 2, 1, 3);
                // Infeasible for 0, and for what is no 0 feasible.
                is(run, 3, 0, 5);
                BTreeSet::new()
            });
            explored.search.sides()
        });
        assert_eq!(sides, [6, 6, 6], "{order:?}");
    }
}

/// Nothing is known of what code without instrumentation reads, and what it did with it.
#[test]
fn paths_with_something_opaque_stay_apart() {
    for order in ORDERS {
        for place in 0..2 {
            let explored = explore(order, Prune::RaceSafe, true, |run| {
                is(run, 1, 0, 0);
                for n in 0..2 {
                    if n == place {
                        run.opaque();
                    }
                    is(run, 2 + n, 1 + n as u32, 0);
                }
                run.opaque();
                BTreeSet::new()
            });
            assert_eq!(explored.paths.len(), 8, "{order:?}");
        }
    }
}

/// A random program: branches on input and variables, copies, two threads one after the other.
#[derive(Debug)]
enum Statement {
    Set(u32, Source),
    Add(u32, u32, u64),
    If(Condition, Vec<Statement>, Vec<Statement>),
    Loop(u32, Vec<Statement>),
    Access(u32, bool, bool),
    Ask(u64),
    Opaque,
}

#[derive(Debug)]
enum Source {
    Constant(u64),
    Input(u32),
    Variable(u32),
}

#[derive(Debug)]
struct Condition {
    of: Source,
    test: u8,
    with: u64,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn source(&mut self) -> Source {
        match self.below(3) {
            0 => Source::Constant(self.below(4)),
            1 => Source::Input(self.below(4) as u32),
            _ => Source::Variable(self.below(4) as u32),
        }
    }

    fn block(&mut self, depth: u64) -> Vec<Statement> {
        let most = if depth == 0 { 1 } else { 3 };
        (0..1 + self.below(most)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u64) -> Statement {
        match self.below(if depth == 0 { 9 } else { 20 }) {
            0 | 1 => Statement::Set(self.below(4) as u32, self.source()),
            2 => Statement::Add(self.below(4) as u32, self.below(4) as u32, self.below(3)),
            3 | 4 => Statement::Access(self.below(3) as u32, self.below(2) == 0, self.below(3) > 0),
            5 if self.below(3) == 0 => Statement::Ask(self.below(3)),
            6 if self.below(8) == 0 => Statement::Opaque,
            5..=8 => Statement::Set(self.below(4) as u32, Source::Constant(self.below(3))),
            9 if depth < 2 => Statement::Loop(2, self.block(depth - 1)),
            _ => {
                let of = if self.below(4) == 0 {
                    self.source()
                } else {
                    Source::Input(self.below(6) as u32)
                };
                let test = [op::EQ, op::NE, op::ULT][self.below(3) as usize];
                let with = 1 + self.below(3);
                let otherwise = if self.below(2) == 0 {
                    Vec::new()
                } else {
                    self.block(depth - 1)
                };
                Statement::If(Condition { of, test, with }, self.block(depth - 1), otherwise)
            }
        }
    }
}

/// An access to what both threads know: where, the statement, whether it writes, whether under the lock.
type Shared = (u32, u32, bool, bool);

struct Machine<'a, 'b> {
    run: &'a mut Run<'b>,
    thread: u16,
    variables: [Value; 4],
    history: u64,
    accesses: [Vec<Shared>; 2],
}

impl Machine<'_, '_> {
    fn asks(&mut self, what: u64) {
        self.history = (self.history.rotate_left(9) ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn value(&mut self, of: &Source) -> Value {
        match of {
            Source::Constant(value) => Value {
                node: 0,
                value: *value,
                width: 8,
            },
            Source::Input(offset) => self.run.byte(*offset),
            Source::Variable(n) => {
                self.run.reads(variable(*n), self.thread, 1);
                self.variables[*n as usize]
            }
        }
    }

    fn node(&mut self, value: Value) -> Value {
        if value.node == 0 {
            self.run.constant(value.value, 8)
        } else {
            value
        }
    }

    fn store(&mut self, n: u32, value: Value) {
        self.variables[n as usize] = value;
        self.run.writes(variable(n), (self.thread, 1), value);
    }

    /// Statements are numbered in the order of the text: `at` is the first one's number.
    fn block(&mut self, block: &[Statement], mut at: u32) -> u32 {
        for statement in block {
            let own = at;
            at += 1;
            match statement {
                Statement::Set(n, source) => {
                    let value = self.value(source);
                    self.store(*n, value);
                }
                Statement::Add(n, of, constant) => {
                    let value = self.value(&Source::Variable(*of));
                    let sum = if value.node == 0 {
                        Value {
                            value: (value.value + constant) & 255,
                            ..value
                        }
                    } else {
                        let constant = self.run.constant(*constant, 8);
                        self.run.calc(op::ADD, value, constant)
                    };
                    self.store(*n, sum);
                }
                Statement::If(condition, then, otherwise) => {
                    let value = self.value(&condition.of);
                    let holds = if value.node == 0 {
                        match condition.test {
                            op::EQ => value.value == condition.with,
                            op::NE => value.value != condition.with,
                            _ => value.value < condition.with,
                        }
                    } else {
                        let with = self.run.constant(condition.with, 8);
                        let value = self.node(value);
                        let (site, thread) = (u64::from(own), u64::from(self.thread));
                        self.run.place = (self.history ^ site << 1 ^ thread).wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
                        self.run.branch(site, condition.test, value, with)
                    };
                    let second = at + length(then);
                    self.block(if holds { then } else { otherwise }, if holds { at } else { second });
                    at = second + length(otherwise);
                }
                Statement::Loop(times, body) => {
                    for _ in 0..*times {
                        self.block(body, at);
                    }
                    at += length(body);
                }
                Statement::Access(which, writes, locked) => {
                    if *locked {
                        self.asks(u64::from(own) << 8);
                    }
                    let at = variable(8 + which);
                    let statement = (self.history ^ u64::from(own)).wrapping_mul(0x2545_f491_4f6c_dd1d);
                    if *writes {
                        let one = Value {
                            node: 0,
                            value: 1,
                            width: 8,
                        };
                        self.run.writes(at, (self.thread, statement), one);
                    } else {
                        self.run.reads(at, self.thread, statement);
                    }
                    self.accesses[self.thread as usize].push((*which, own, *writes, *locked));
                }
                Statement::Ask(what) => self.asks(u64::from(own) << 8 | what),
                Statement::Opaque => {
                    self.run.opaque();
                    let concrete = self.variables.iter().filter(|v| v.node == 0);
                    self.variables[3].value = concrete.map(|v| v.value).sum::<u64>() & 3;
                    self.variables[3].node = 0;
                }
            }
        }
        at
    }
}

fn length(block: &[Statement]) -> u32 {
    let own = |statement: &Statement| match statement {
        Statement::If(_, then, otherwise) => 1 + length(then) + length(otherwise),
        Statement::Loop(_, body) => 1 + length(body),
        _ => 1,
    };
    block.iter().map(own).sum()
}

/// Main's first part, then both threads one after the other; what races is what neither lock nor order keeps apart.
fn races(run: &mut Run, parts: &[Vec<Statement>; 3]) -> BTreeSet<Finding> {
    let mut machine = Machine {
        run,
        thread: 0,
        variables: [Value {
            node: 0,
            value: 0,
            width: 8,
        }; 4],
        history: 1,
        accesses: [Vec::new(), Vec::new()],
    };
    let next = machine.block(&parts[0], 0);
    machine.accesses[0].clear();
    machine.asks(u64::MAX);
    let next = machine.block(&parts[1], next);
    machine.thread = 1;
    machine.asks(u64::MAX - 1);
    machine.block(&parts[2], next);
    let [first, second] = &machine.accesses;
    let mut found = BTreeSet::new();
    for (a, one, writes, locked) in first {
        for (b, other, also, too) in second {
            if a == b && (*writes || *also) && !(*locked && *too) {
                found.insert((*one, *other));
            }
        }
    }
    found
}

#[test]
fn findings_of_random_programs_are_the_same() {
    let (mut off, mut pruned, mut turns, mut lost) = (0, 0, 0, 0);
    for seed in 1..=200 {
        let mut random = Random(0x9e37_79b9 * seed);
        let parts = [random.block(1), random.block(2), random.block(3)];
        let all = explore(Order::DepthFirst, Prune::Off, true, |run| races(run, &parts));
        for (order, spare) in [(Order::DepthFirst, false), (Order::Generational, seed % 2 == 0)] {
            let safe = explore(order, Prune::RaceSafe, spare, |run| races(run, &parts));
            assert_eq!(safe.findings, all.findings, "seed {seed}, {order:?}: {parts:#?}");
            off += all.search.tally.runs;
            pruned += safe.search.tally.runs;
            turns += safe.search.pruned.turns;
        }
        let branch = explore(Order::DepthFirst, Prune::Branch, true, |run| races(run, &parts));
        lost += all.findings.difference(&branch.findings).count();
    }
    println!("{off} runs without pruning, {pruned} with it; {turns} turns cancelled; {lost} races lost by `branch`");
    assert!(turns > 0 && pruned < off);
    assert!(lost > 0, "the programs tell the modes apart");
}
