//! Random formulas: the simplifier keeps values, solvers' models satisfy, cores are unsatisfiable, and
//! "unsatisfiable" is true by exhaustive search where there are few symbols.

use deadheat_explore::evaluate::Evaluation;
use deadheat_explore::expression::{Expr, Node, Op, Store, Symbol, Test};
use deadheat_explore::sat_solver::SatSolver;
use deadheat_explore::solver::{Answer, Literal, Solver, minimal_core};
use proptest::prelude::*;

const OPS: [Op; 13] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::UDiv,
    Op::SDiv,
    Op::URem,
    Op::SRem,
    Op::Shl,
    Op::LShr,
    Op::AShr,
    Op::And,
    Op::Or,
    Op::Xor,
];
const TESTS: [Test; 5] = [Test::Eq, Test::Ult, Test::Ule, Test::Slt, Test::Sle];

/// Builds expressions twice: by the simplifier, and their values by the plain semantics on the side.
struct Builder {
    store: Store,
    made: Vec<(Expr, u32, Vec<u64>)>,
    inputs: Vec<[u8; 2]>,
}

fn mask(value: u64, width: u32) -> u64 {
    if width == 64 { value } else { value & ((1 << width) - 1) }
}

fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

impl Builder {
    fn new(inputs: Vec<[u8; 2]>) -> Builder {
        let mut builder = Builder {
            store: Store::default(),
            made: Vec::new(),
            inputs,
        };
        for offset in 0..2u32 {
            let expr = builder.store.symbol(Symbol { source: 1, offset });
            let values = builder.inputs.iter().map(|i| i[offset as usize].into()).collect();
            builder.made.push((expr, 8, values));
        }
        builder
    }

    fn at_width(&mut self, pick: usize, width: u32) -> (Expr, Vec<u64>) {
        let (expr, own, values) = self.made[pick % self.made.len()].clone();
        match own.cmp(&width) {
            std::cmp::Ordering::Equal => (expr, values),
            std::cmp::Ordering::Less if pick & 1 == 0 => (self.store.zero_extend(expr, width), values),
            std::cmp::Ordering::Less => {
                let values = values.iter().map(|v| mask(signed(*v, own) as u64, width)).collect();
                (self.store.sign_extend(expr, width), values)
            }
            std::cmp::Ordering::Greater => {
                let low = (pick as u32 >> 1) % (own - width + 1);
                (
                    self.store.extract(expr, low, width),
                    values.iter().map(|v| mask(v >> low, width)).collect(),
                )
            }
        }
    }

    fn step(&mut self, (kind, op, a, b, c, constant): (u8, usize, usize, usize, usize, u64)) {
        let width = [8, 16, 32, 8, 12][op % 5];
        let (x, xs) = self.at_width(a, width);
        let (y, ys) = if kind & 8 == 0 {
            self.at_width(b, width)
        } else {
            let value = mask(constant % 300, width);
            (self.store.constant_of(value, width), vec![value; xs.len()])
        };
        let pairs = || xs.iter().zip(&ys);
        let (expr, width, values): (Expr, u32, Vec<u64>) = match kind & 7 {
            0..=2 => {
                // Products and quotients of wide values are the solvers' business elsewhere.
                let op = OPS[op % OPS.len()];
                let op = if width > 12 && matches!(op, Op::Mul | Op::UDiv | Op::SDiv | Op::URem | Op::SRem) {
                    Op::Add
                } else {
                    op
                };
                let values = pairs().map(|(a, b)| plain(op, *a, *b, width)).collect();
                (self.store.binary(op, x, y), width, values)
            }
            3 | 4 => {
                let test = TESTS[op % TESTS.len()];
                let holds = |a: u64, b: u64| match test {
                    Test::Eq => a == b,
                    Test::Ult => a < b,
                    Test::Ule => a <= b,
                    Test::Slt => signed(a, width) < signed(b, width),
                    Test::Sle => signed(a, width) <= signed(b, width),
                };
                let values = pairs().map(|(a, b)| holds(*a, *b).into()).collect();
                (self.store.compare(test, x, y), 1, values)
            }
            5 => {
                let (z, zs) = self.at_width(c, 1);
                let values = pairs()
                    .zip(&zs)
                    .map(|((a, b), c)| if *c == 1 { *a } else { *b })
                    .collect();
                (self.store.if_then_else(z, x, y), width, values)
            }
            6 => {
                let values = pairs().map(|(a, b)| a << width | b).collect();
                (self.store.concat(x, y), 2 * width, values)
            }
            _ => {
                let (z, zs) = self.at_width(c, 1);
                (self.store.not(z), 1, zs.iter().map(|v| v ^ 1).collect())
            }
        };
        self.made.push((expr, width, values));
    }
}

/// The operation as SMT-LIB defines it, written down once more.
fn plain(op: Op, a: u64, b: u64, width: u32) -> u64 {
    let (sa, sb) = (i128::from(signed(a, width)), i128::from(signed(b, width)));
    let (wa, wb) = (u128::from(a), u128::from(b));
    let out: i128 = match op {
        Op::Add => (wa + wb) as i128,
        Op::Sub => wa as i128 - wb as i128,
        Op::Mul => (wa * wb) as i128,
        Op::UDiv => {
            if b == 0 {
                -1
            } else {
                (wa / wb) as i128
            }
        }
        Op::URem => {
            if b == 0 {
                wa as i128
            } else {
                (wa % wb) as i128
            }
        }
        Op::SDiv => match (sb, sa < 0) {
            (0, true) => 1,
            (0, false) => -1,
            _ => sa / sb,
        },
        Op::SRem => {
            if sb == 0 {
                sa
            } else {
                sa % sb
            }
        }
        Op::Shl => {
            if b >= width.into() {
                0
            } else {
                (wa << b) as i128
            }
        }
        Op::LShr => {
            if b >= width.into() {
                0
            } else {
                (wa >> b) as i128
            }
        }
        Op::AShr => sa >> b.min(100),
        Op::And => (wa & wb) as i128,
        Op::Or => (wa | wb) as i128,
        Op::Xor => (wa ^ wb) as i128,
    };
    mask(out as u64, width)
}

fn steps() -> impl Strategy<Value = Vec<(u8, usize, usize, usize, usize, u64)>> {
    prop::collection::vec(
        (
            any::<u8>(),
            any::<usize>(),
            any::<usize>(),
            any::<usize>(),
            any::<usize>(),
            any::<u64>(),
        ),
        1..24,
    )
}

fn holds(store: &Store, literals: &[Literal], values: impl Fn(Symbol) -> u8) -> bool {
    let mut evaluation = Evaluation::new(store, values);
    literals.iter().all(|(e, v)| evaluation.value(*e) == u64::from(*v))
}

fn literals(builder: &Builder, signs: u64) -> Vec<Literal> {
    let bits = builder
        .made
        .iter()
        .filter(|(_, width, _)| *width == 1)
        .map(|(e, ..)| *e);
    bits.enumerate()
        .map(|(n, e)| (e, signs >> (n & 63) & 1 == 1))
        .take(6)
        .collect()
}

/// Any assignment of the two bytes.
fn exhaustive(store: &Store, literals: &[Literal]) -> bool {
    (0..=u16::MAX)
        .step_by(1)
        .any(|word| holds(store, literals, |s| word.to_le_bytes()[s.offset as usize]))
}

fn judge(solver: &mut dyn Solver, store: &Store, literals: &[Literal]) -> Result<bool, TestCaseError> {
    match solver.check(store, literals, 1_000_000) {
        Answer::Sat(model) => {
            prop_assert!(
                holds(store, literals, |s| model.get(&s).copied().unwrap_or(0)),
                "{} gave a wrong model",
                solver.name()
            );
            Ok(true)
        }
        Answer::Unsat(core) => {
            let core = minimal_core(solver, store, literals, core, 1_000_000);
            let kept: Vec<Literal> = core.iter().map(|n| literals[*n]).collect();
            prop_assert!(!exhaustive(store, &kept), "{} gave a satisfiable core", solver.name());
            for n in 0..kept.len() {
                let mut less = kept.clone();
                less.remove(n);
                prop_assert!(exhaustive(store, &less), "the core is not minimal");
            }
            Ok(false)
        }
        Answer::Unknown => Err(TestCaseError::reject("unknown")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_global_rejects: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn simplification_keeps_values(steps in steps(), inputs in prop::collection::vec(any::<[u8; 2]>(), 8)) {
        let mut builder = Builder::new(inputs);
        steps.into_iter().for_each(|s| builder.step(s));
        for (n, input) in builder.inputs.iter().enumerate() {
            let mut evaluation = Evaluation::new(&builder.store, |s| input[s.offset as usize]);
            for (expr, width, values) in &builder.made {
                prop_assert_eq!(builder.store.width(*expr), *width);
                prop_assert_eq!(evaluation.value(*expr), values[n], "{:?}", builder.store.node(*expr));
            }
        }
    }

    #[test]
    fn answers_are_right(steps in steps(), signs in any::<u64>()) {
        let mut builder = Builder::new(vec![[0, 0]]);
        steps.into_iter().for_each(|s| builder.step(s));
        let literals = literals(&builder, signs);
        let found = judge(&mut SatSolver::default(), &builder.store, &literals)?;
        if !found {
            // The core was shown unsatisfiable by exhaustive search.
            return Ok(());
        }
        #[cfg(feature = "z3")]
        prop_assert!(judge(&mut deadheat_explore::z3_solver::Z3Solver::default(), &builder.store, &literals)?);
    }
}

#[test]
fn a_solver_goes_on_over_many_queries_and_gives_up_within_its_budget() {
    let mut store = Store::default();
    let bytes: Vec<Expr> = (0..8)
        .map(|offset| store.symbol(Symbol { source: 0, offset }))
        .collect();
    let word = bytes
        .iter()
        .skip(1)
        .fold(bytes[0], |low, high| store.concat(*high, low));
    let mut solver = SatSolver::default();
    for value in [7u64, 0x0102_0304_0506_0708, u64::MAX] {
        let constant = store.constant_of(value, 64);
        let equal = store.compare(Test::Eq, word, constant);
        let Answer::Sat(model) = solver.check(&store, &[(equal, true)], 1000) else {
            panic!("{value}")
        };
        let read: Vec<u8> = (0..8).map(|offset| model[&Symbol { source: 0, offset }]).collect();
        assert_eq!(u64::from_le_bytes(read.try_into().unwrap()), value);
        assert_eq!(
            solver.check(&store, &[(equal, true), (equal, false)], 1000),
            Answer::Unsat(vec![0, 1])
        );
    }
    // Factoring is too hard for a budget of ten conflicts.
    let half = |store: &mut Store, low: u32| {
        let part = store.extract(word, low, 32);
        store.zero_extend(part, 64)
    };
    let (a, b) = (half(&mut store, 0), half(&mut store, 32));
    let product = store.binary(Op::Mul, a, b);
    let target = store.constant_of(4_294_967_291 * 4_294_967_279, 64);
    let equal = store.compare(Test::Eq, product, target);
    let one = store.constant_of(1, 64);
    let proper = store.compare(Test::Ult, one, a);
    assert!(matches!(store.node(proper), Node::Compare(..)));
    assert_eq!(
        solver.check(&store, &[(equal, true), (proper, true)], 10),
        Answer::Unknown
    );
}
