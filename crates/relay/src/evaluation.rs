//! Values of operands, what is known of them on a way, and conditions.

use crate::access_path::{Path, Root, Step, Symbol, add_value_index};
use crate::execution::Execution;
use crate::fact::{self, Fact};
use crate::state::{Disjunct, Stored};
use crate::subject::{self, Subject};
use crate::symbolic_value::SymbolicValue::{self, Integer, May, Named, Top};
use deadheat_ir::{BinaryOperator, CastKind, Class, Constant, FunctionId, Operation, Predicate, Value};

/// Operations that a condition is looked through.
const NESTED_CONDITIONS: u32 = 8;

impl Execution<'_> {
    /// The value of an operand.
    pub(crate) fn value(&self, operand: Value) -> SymbolicValue {
        match operand {
            Value::Constant(id) => subject::constant(&self.subject.module[id]),
            Value::Local(local) => match self.body.instruction_of(local) {
                Some(at) => self.environment[at].clone().unwrap_or(Top),
                None => {
                    let given = self.entry.formals.get(local.index()).cloned().flatten();
                    given.unwrap_or_else(|| SymbolicValue::of(Root::Formal(local.index() as u16)))
                }
            },
        }
    }

    /// Whether an operand is undefined: it may be taken to be anything, the other side of a merge included. A variable
    /// that was not written yet holds an undefined value in another form, so that branches on it agree.
    pub(crate) fn is_undefined(&self, operand: Value) -> bool {
        let undefined = |value| matches!(self.subject.module.constant(value), Some(Constant::Undefined));
        let definition = operand.local().and_then(|l| self.body.definition(l));
        match definition.map(|d| &d.operation) {
            Some(Operation::Cast {
                kind: CastKind::Same,
                value,
            }) => undefined(*value),
            _ => undefined(operand),
        }
    }

    /// What is known of an operand on a way.
    pub(crate) fn knowledge(&self, way: &Disjunct, operand: Value) -> Fact {
        let value = self.value(operand);
        let known = known(way, &value);
        if known.says_something() {
            return known;
        }
        // A comparison is 1 or 0 as it holds or not.
        let holds = |holds| self.assume(way.clone(), operand, holds).is_some();
        let is_condition = |l| self.body.definition(l).is_some_and(|d| d.class == Class::Integer(1));
        if !operand.local().is_some_and(is_condition) {
            return known;
        }
        match (holds(true), holds(false)) {
            (true, false) => Fact::is(1),
            (false, true) => Fact::ZERO,
            _ => Fact::ANY,
        }
    }

    /// `base + constant + Σ index × stride`.
    pub(crate) fn offset(&self, base: &SymbolicValue, constant: i64, indices: &[(Value, u64)]) -> SymbolicValue {
        let move_path = |path: &Path| {
            let mut path = path.clone();
            path.last_mut().add(constant);
            for (index, stride) in indices {
                match self.value(*index) {
                    Integer(n) => path.last_mut().add(n.wrapping_mul(*stride as i64)),
                    value => add_value_index(path.last_mut(), value.key().cloned(), *stride),
                }
            }
            path
        };
        match base {
            Top => Top,
            Integer(n) if indices.is_empty() => Integer(n.wrapping_add(constant)),
            Integer(_) => Top,
            Named(path) => Named(move_path(path)),
            May(name, paths) => May(move_path(name), paths.iter().map(move_path).collect()),
        }
    }

    /// The result of an arithmetic operation, if it has a name or value.
    pub(crate) fn arithmetic(&self, operator: BinaryOperator, left: Value, right: Value) -> SymbolicValue {
        match (operator, self.value(left), self.value(right)) {
            (BinaryOperator::Add, value, Integer(n)) | (BinaryOperator::Add, Integer(n), value) => value.plus(n),
            (BinaryOperator::Sub, value, Integer(n)) => value.plus(n.wrapping_neg()),
            (operator, Integer(a), Integer(b)) => match operator {
                BinaryOperator::Mul => Integer(a.wrapping_mul(b)),
                BinaryOperator::And => Integer(a & b),
                BinaryOperator::Or => Integer(a | b),
                BinaryOperator::Xor => Integer(a ^ b),
                BinaryOperator::Shl => a.checked_shl(b as u32).map_or(Top, Integer),
                BinaryOperator::SDiv => a.checked_div(b).map_or(Top, Integer),
                _ => Top,
            },
            _ => Top,
        }
    }

    /// A value in another form.
    pub(crate) fn cast(&self, kind: CastKind, value: Value, class: Class) -> SymbolicValue {
        match (kind, self.value(value), class) {
            (CastKind::Convert, ..) => Top,
            (CastKind::Truncate, Integer(n), Class::Integer(1)) => Integer(n & 1),
            (CastKind::Truncate, Integer(n), Class::Integer(bits)) if bits < 64 => {
                let unused = 64 - u32::from(bits.max(1));
                Integer(n.wrapping_shl(unused).wrapping_shr(unused))
            }
            (_, value, _) => value,
        }
    }

    /// The way, if `value == constant` can hold on it.
    pub(crate) fn assume_equal(&self, way: Disjunct, value: Value, constant: i64) -> Option<Disjunct> {
        self.learn_comparison(way, &self.value(value), Predicate::Eq, constant)
    }

    /// The way, if a value can be outside of all these runs of integers on it.
    pub(crate) fn assume_outside(&self, way: Disjunct, value: Value, runs: &[(i64, i64)]) -> Option<Disjunct> {
        let value = self.value(value);
        let outside = |fact: Fact, (first, last): &(i64, i64)| fact.and(Fact::outside(*first, *last)?);
        let left = runs.iter().try_fold(known(&way, &value), outside)?;
        match value.key().cloned().map(Path::split) {
            Some((base, 0)) if left.says_something() => way.learn(&base, left),
            _ => Some(way),
        }
    }

    /// The way, if the condition can hold (or not) on it.
    pub(crate) fn assume(&self, way: Disjunct, condition: Value, holds: bool) -> Option<Disjunct> {
        self.assume_nested(way, condition, holds, NESTED_CONDITIONS)
    }

    fn assume_nested(&self, way: Disjunct, condition: Value, holds: bool, depth: u32) -> Option<Disjunct> {
        let as_value = |way: Disjunct| {
            let predicate = if holds { Predicate::Ne } else { Predicate::Eq };
            self.learn_comparison(way, &self.value(condition), predicate, 0)
        };
        let definition = condition.local().and_then(|l| self.body.definition(l));
        let (Some(definition), 1..) = (definition, depth) else {
            return as_value(way);
        };
        let integer = |v: Value| match self.value(v) {
            Integer(n) => Some(n),
            _ => None,
        };
        match &definition.operation {
            Operation::Compare { predicate, left, right } => {
                let predicate = if holds { *predicate } else { fact::negated(*predicate) };
                match (self.value(*left), self.value(*right)) {
                    (_, Integer(0)) if self.is_condition(*left) && is_equality(predicate) => {
                        self.assume_nested(way, *left, predicate == Predicate::Ne, depth - 1)
                    }
                    (value, Integer(n)) => self.learn_comparison(way, &value, predicate, n),
                    (Integer(n), value) => self.learn_comparison(way, &value, fact::exchanged(predicate), n),
                    (a, b) => {
                        let same = a == b && a.key().is_some();
                        let (x, y) = (known(&way, &a).constant(), known(&way, &b).constant());
                        let decided = match (same, x.zip(y)) {
                            (true, _) => Fact::compare(predicate, 0, 0),
                            (_, Some((x, y))) => Fact::compare(predicate, x, y),
                            _ => None,
                        };
                        (decided != Some(false)).then_some(way)
                    }
                }
            }
            Operation::Binary { operator, left, right } if definition.class == Class::Integer(1) => {
                match (operator, holds) {
                    (BinaryOperator::And, true) | (BinaryOperator::Or, false) => {
                        let way = self.assume_nested(way, *left, holds, depth - 1)?;
                        self.assume_nested(way, *right, holds, depth - 1)
                    }
                    (BinaryOperator::Xor, _) if integer(*right) == Some(1) => {
                        self.assume_nested(way, *left, !holds, depth - 1)
                    }
                    _ => as_value(way),
                }
            }
            Operation::Select { condition, yes, no } if definition.class == Class::Integer(1) => {
                match (integer(*yes), integer(*no), holds) {
                    (_, Some(0), true) => {
                        let way = self.assume_nested(way, *condition, true, depth - 1)?;
                        self.assume_nested(way, *yes, true, depth - 1)
                    }
                    (Some(1), _, false) => {
                        let way = self.assume_nested(way, *condition, false, depth - 1)?;
                        self.assume_nested(way, *no, false, depth - 1)
                    }
                    _ => as_value(way),
                }
            }
            Operation::Cast { kind, value, .. } if *kind != CastKind::Convert => {
                self.assume_nested(way, *value, holds, depth - 1)
            }
            _ => as_value(way),
        }
    }

    /// Whether a value is a condition, perhaps widened.
    fn is_condition(&self, value: Value) -> bool {
        let Some(definition) = value.local().and_then(|l| self.body.definition(l)) else {
            return false;
        };
        match &definition.operation {
            Operation::Cast { value, .. } => self.is_condition(*value),
            Operation::Compare { .. } => true,
            Operation::Binary { .. } | Operation::Select { .. } => definition.class == Class::Integer(1),
            _ => false,
        }
    }

    /// The way with `value predicate constant` known, if that can hold.
    fn learn_comparison(
        &self,
        way: Disjunct,
        value: &SymbolicValue,
        predicate: Predicate,
        constant: i64,
    ) -> Option<Disjunct> {
        let known = known(&way, value);
        if let Some(n) = known.constant() {
            return (Fact::compare(predicate, n, constant) != Some(false)).then_some(way);
        }
        known.and(Fact::of_comparison(predicate, constant)?)?;
        let Some((base, offset)) = value.key().cloned().map(Path::split) else {
            return Some(way);
        };
        if offset != 0 && !is_equality(predicate) {
            return Some(way);
        }
        let fact = Fact::of_comparison(predicate, constant.wrapping_sub(offset))?;
        // Of an address moved by a constant, "not null" says nothing of where it was moved from.
        if offset != 0 && fact.constant().is_none() {
            Some(way)
        } else {
            way.learn(&base, fact)
        }
    }
}

fn is_equality(predicate: Predicate) -> bool {
    matches!(predicate, Predicate::Eq | Predicate::Ne)
}

/// What is known of a value on a way.
pub fn known(way: &Disjunct, value: &SymbolicValue) -> Fact {
    if let Integer(n) = value {
        return Fact::is(*n);
    }
    if value.is_address() {
        return Fact::NON_ZERO;
    }
    let Some((base, offset)) = value.key().cloned().map(Path::split) else {
        return Fact::ANY;
    };
    let fact = way.fact(&base);
    match (offset, fact.constant()) {
        (0, _) => fact,
        (_, Some(n)) => Fact::is(n.wrapping_add(offset)),
        (_, None) => Fact::ANY,
    }
}

/// What is stored at the one place that the path names, as the function sees it.
pub fn load(subject: &Subject<'_>, function: FunctionId, way: &Disjunct, location: &Path, size: u64) -> SymbolicValue {
    let own = || subject.start_only.writes(function, location.root) && !location.loads();
    match way.stored(location, size) {
        // Others may have written since.
        Stored::Value(Integer(_)) if !way.is_private(location.root) && !own() => Top,
        Stored::Value(value) => value,
        // One of the handles in an array.
        Stored::Unknown(values) => {
            let handle = |v: &SymbolicValue| v.paths().iter().any(|p| matches!(p.root, Root::Thread(_)));
            let mut handles: Vec<&SymbolicValue> = values.iter().filter(|v| handle(v)).collect();
            handles.sort();
            handles.dedup();
            match handles[..] {
                [] => Top,
                [one] => one.clone(),
                _ => May(
                    location.clone(),
                    handles.iter().flat_map(|v| v.paths().iter().cloned()).collect(),
                ),
            }
        }
        Stored::Initial => {
            let plain = !location.loads() && !location.is_indexed();
            if let Root::Global(number) = location.root
                && plain
                && let Some(value) = subject.initial(number, location.last().offset)
            {
                return value;
            }
            if location.root.is_made() && !location.loads() {
                return Top;
            }
            match location.is_definite() {
                true => location.load().map_or(Top, Named),
                false => Top,
            }
        }
    }
}

/// Follows a path's steps from the value that stands for its root, through a way's memory.
pub fn follow(
    subject: &Subject<'_>,
    function: FunctionId,
    way: &Disjunct,
    path: &Path,
    root: &dyn Fn(Root) -> SymbolicValue,
) -> SymbolicValue {
    let mut value = root(path.root);
    for (number, step) in path.steps.iter().enumerate() {
        if number > 0 {
            value = match value.name() {
                Some(location) => load(subject, function, way, location, 8),
                None => return Top,
            };
        }
        value = take(subject, function, way, value, step, root);
    }
    value
}

/// Takes one step from a value.
fn take(
    subject: &Subject<'_>,
    function: FunctionId,
    way: &Disjunct,
    value: SymbolicValue,
    step: &Step,
    root: &dyn Fn(Root) -> SymbolicValue,
) -> SymbolicValue {
    let value = value.plus(step.offset);
    let Some(index) = &step.index else {
        return value;
    };
    let symbol = match &index.symbol {
        Symbol::Value(path) => follow(subject, function, way, path, root),
        Symbol::Any | Symbol::OfAccess => Top,
    };
    if let Integer(n) = symbol {
        return value.plus(n.wrapping_mul(index.stride as i64));
    }
    let move_path = |path: &Path| {
        let mut path = path.clone();
        add_value_index(path.last_mut(), symbol.key().cloned(), index.stride);
        path
    };
    match value {
        Named(path) => Named(move_path(&path)),
        May(name, paths) => May(move_path(&name), paths.iter().map(move_path).collect()),
        Top | Integer(_) => Top,
    }
}
