//! The unification against Andersen's inclusion analysis, written down plainly, on random small programs: whatever
//! a pointer may point to by inclusion lies where unification says it points.

use deadheat_ir::{Function, FunctionId, LocalId, Module, Operation, Program, Terminator, Value, parse};
use deadheat_points_to::{Limits, Nothing, Object, PointsTo, Precision};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// An object and a distance into it, in bytes.
type Place = (Object, i64);
/// A variable of the analysis: a local, or what a place holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Holder {
    Local(FunctionId, LocalId),
    Place(Place),
    Return(FunctionId),
}

/// Places further from an object's start are given up: random loops walk on for ever.
const FAR: i64 = 64;

type Points = BTreeMap<Holder, BTreeSet<Place>>;

/// Andersen's analysis: rules applied until nothing is added.
fn andersen(module: &Module) -> Points {
    let mut points = Points::new();
    loop {
        let before: usize = points.values().map(BTreeSet::len).sum();
        for (id, function) in module.functions() {
            for (n, instruction) in function.instructions.iter().enumerate() {
                step(module, &mut points, id, function, n, &instruction.operation);
            }
            for block in &function.blocks {
                if let Terminator::Return(Some(value)) = block.terminator {
                    let from = of(module, &points, id, value);
                    points.entry(Holder::Return(id)).or_default().extend(from);
                }
            }
        }
        if points.values().map(BTreeSet::len).sum::<usize>() == before {
            return points;
        }
    }
}

fn of(module: &Module, points: &Points, function: FunctionId, value: Value) -> BTreeSet<Place> {
    match value {
        Value::Local(local) => points.get(&Holder::Local(function, local)).cloned().unwrap_or_default(),
        Value::Constant(id) => match module[id] {
            deadheat_ir::Constant::Address { symbol, offset, .. } => [(Object::Symbol(symbol), offset)].into(),
            _ => BTreeSet::new(),
        },
    }
}

/// Places of memory: code has no contents.
fn memory(module: &Module, places: BTreeSet<Place>) -> impl Iterator<Item = Place> {
    let code = |object| matches!(object, Object::Symbol(symbol) if module[symbol].body().is_some());
    places.into_iter().filter(move |(object, _)| !code(*object))
}

fn step(module: &Module, points: &mut Points, id: FunctionId, function: &Function, n: usize, operation: &Operation) {
    let own = Holder::Local(id, function.local_of(n));
    let mut add = |to: Holder, from: BTreeSet<Place>| points.entry(to).or_default().extend(from);
    match operation {
        Operation::Alloca { .. } => add(own, [(Object::Frame(id, n as u32), 0)].into()),
        Operation::Offset { base, constant, .. } => {
            let moved = of(module, points, id, *base)
                .into_iter()
                .map(|(object, at)| (object, at + constant));
            let moved: BTreeSet<Place> = moved.filter(|(_, at)| at.abs() <= FAR).collect();
            points.entry(own).or_default().extend(moved);
        }
        Operation::Phi { incoming } => {
            for (_, value) in incoming {
                let from = of(module, points, id, *value);
                points.entry(own).or_default().extend(from);
            }
        }
        Operation::Load { address, .. } => {
            for place in memory(module, of(module, points, id, *address)) {
                let held = points.get(&Holder::Place(place)).cloned().unwrap_or_default();
                points.entry(own).or_default().extend(held);
            }
        }
        Operation::Store { address, value, .. } => {
            let stored = of(module, points, id, *value);
            for place in memory(module, of(module, points, id, *address)) {
                points
                    .entry(Holder::Place(place))
                    .or_default()
                    .extend(stored.iter().copied());
            }
        }
        Operation::MemoryCopy { to, from, length, .. } => {
            let length = module.integer(*length).unwrap_or(0);
            for (source, at) in memory(module, of(module, points, id, *from)) {
                for (target, there) in memory(module, of(module, points, id, *to)) {
                    for by in (0..length).step_by(8) {
                        let held = points
                            .get(&Holder::Place((source, at + by)))
                            .cloned()
                            .unwrap_or_default();
                        points
                            .entry(Holder::Place((target, there + by)))
                            .or_default()
                            .extend(held);
                    }
                }
            }
        }
        Operation::Call { callee, arguments, .. } => {
            let targets: Vec<FunctionId> = match callee {
                deadheat_ir::Callee::Direct(symbol) => module[*symbol].body().into_iter().collect(),
                deadheat_ir::Callee::Indirect(value) => of(module, points, id, *value)
                    .into_iter()
                    .filter_map(|(object, at)| match object {
                        Object::Symbol(symbol) if at == 0 => module[symbol].body(),
                        _ => None,
                    })
                    .collect(),
            };
            for target in targets {
                for (n, value) in arguments.iter().enumerate() {
                    let from = of(module, points, id, *value);
                    points
                        .entry(Holder::Local(target, LocalId::new(n as u32)))
                        .or_default()
                        .extend(from);
                }
                let returned = points.get(&Holder::Return(target)).cloned().unwrap_or_default();
                points.entry(own).or_default().extend(returned);
            }
        }
        _ => {}
    }
}

/// A random program: three functions of two parameters, three variables, straight code that may go round.
fn programs() -> impl Strategy<Value = String> {
    let instruction = (0..9u32, 0..100u32, 0..100u32, 0..4i64);
    let body = prop::collection::vec(instruction, 1..9);
    prop::collection::vec(body, 3).prop_map(|bodies| {
        let mut text = String::from("global @a 32\nglobal @b 32\nglobal @c 32 = {8: @a, 16: @f1}\n");
        for (f, body) in bodies.iter().enumerate() {
            text += &format!("define @f{f} (ptr, ptr) ptr {{\nb0:\n  jump b1\nb1:\n");
            // A phi first, so that values go round; it may name any later value.
            let count = body.len() as u32 + 1;
            let last = 2 + count - 1;
            text += &format!("  %2 ptr = phi [b0 %0, b1 %{last}]\n");
            for (n, (kind, x, y, by)) in body.iter().enumerate() {
                let own = 3 + n as u32;
                let operand = |pick: u32| match pick % 12 {
                    0 => "@a".to_owned(),
                    1 => "@b".to_owned(),
                    2 => "@c".to_owned(),
                    3 => "@f1".to_owned(),
                    4 => "@f2".to_owned(),
                    _ => format!("%{}", pick % own),
                };
                let (x, y) = (operand(*x), operand(*y));
                text += &match kind {
                    0 => format!("  %{own} ptr = alloca 32\n"),
                    1 => format!("  %{own} ptr = offset {x} + {}\n", by * 8),
                    2 => format!("  %{own} ptr = load ptr 8 {x}\n"),
                    3 => format!("  %{own} ptr = store ptr 8 {x} to {y}\n"),
                    4 => format!("  %{own} ptr = call (ptr, ptr) ptr *{x}({y}, {x})\n"),
                    5 => format!("  %{own} ptr = call @f{}({x}, {y})\n", by % 3),
                    6 => format!("  %{own} ptr = memcpy {x}, {y}, {}i64\n", by * 8 + 8),
                    7 => format!("  %{own} ptr = offset {x} - {}\n", by * 8),
                    _ => format!("  %{own} ptr = load ptr 8 {y}\n"),
                };
            }
            text += &format!("  branch 1i1, b1, b2\nb2:\n  return %{last}\n}}\n");
        }
        text
    })
}

/// Does unification contain inclusion?
fn check(text: &str, precision: Precision) -> Result<(), TestCaseError> {
    let program = Program::link(vec![parse(text).unwrap()]);
    let module = &program.module;
    let limits = Limits {
        rounds: 1000,
        precision,
        ..Limits::default()
    };
    let points_to = PointsTo::analyse(&program, &Nothing, &limits);
    let statistics = points_to.statistics();
    prop_assert!(!statistics.unfinished);
    if precision == Precision::Fields && statistics.losses != Default::default() {
        // What is lost is said to be.
        return Ok(());
    }
    for (holder, places) in andersen(module) {
        let Holder::Local(function, local) = holder else {
            continue;
        };
        for (object, at) in places {
            if matches!(object, Object::Symbol(symbol) if module[symbol].body().is_some()) {
                continue;
            }
            let cell = points_to.pointee(function, Value::Local(local));
            prop_assert!(cell.is_some(), "{text}\n{holder:?} points to {object:?}+{at}");
            let cell = cell.unwrap();
            let begins = points_to.objects(cell.node).iter().find(|(_, other)| *other == object);
            prop_assert!(
                begins.is_some(),
                "{text}\n{holder:?} points to {object:?}+{at}, not in {cell:?}"
            );
            if precision == Precision::Fields {
                prop_assert_eq!(i64::from(begins.unwrap().0) + at, i64::from(cell.offset), "{}", text);
            }
        }
    }
    Ok(())
}

/// Functions called through pointers by inclusion are among the targets.
fn check_calls(text: &str) -> Result<(), TestCaseError> {
    let program = Program::link(vec![parse(text).unwrap()]);
    let module = &program.module;
    let limits = Limits {
        rounds: 1000,
        precision: Precision::Sound,
        ..Limits::default()
    };
    let points_to = PointsTo::analyse(&program, &Nothing, &limits);
    let points = andersen(module);
    for (id, function) in module.functions() {
        for (n, instruction) in function.instructions.iter().enumerate() {
            let Operation::Call {
                callee: deadheat_ir::Callee::Indirect(value),
                ..
            } = instruction.operation
            else {
                continue;
            };
            for (object, at) in of(module, &points, id, value) {
                if let Object::Symbol(symbol) = object
                    && let (0, Some(body)) = (at, module[symbol].body())
                {
                    let targets = points_to.call_graph().targets(id, n);
                    prop_assert!(targets.contains(&body), "{text}\n{id:?} {n} calls {body:?}");
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn collapsing_unification_contains_inclusion(text in programs()) {
        check(&text, Precision::Sound)?;
        check_calls(&text)?;
    }

    #[test]
    fn unification_of_fields_contains_inclusion_or_counts_a_loss(text in programs()) {
        check(&text, Precision::Fields)?;
    }
}

/// Fields below an object's start are fields of the same node: what is copied there is read there.
#[test]
fn a_copy_within_an_object_is_followed() {
    let text = "global @a 32\nglobal @b 32\ndefine @f (ptr, ptr) ptr {\nb0:\n  %2 ptr = offset @a - 8\n  \
                %3 ptr = store ptr 8 @b to @a\n  %4 ptr = memcpy %2, @a, 8i64\n  %5 ptr = load ptr 8 %2\n  \
                return %5\n}\n";
    check(text, Precision::Fields).unwrap();
    check(text, Precision::Sound).unwrap();
}
