//! Integers that hold addresses: those made from one, and those that one is made from.

use deadheat_ir::{BinaryOperator, CastKind, Class, Function, Operation, Value};

/// Marks the locals of a function that may hold an address.
pub fn holders(function: &Function, classes: impl Fn(u32) -> Class) -> Vec<bool> {
    let mut holds: Vec<bool> = (0..function.locals() as u32)
        .map(|n| classes(n).holds_pointers())
        .collect();
    let first = function.parameters as usize;
    // Chains of arithmetic are short; loops add a round or two.
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (n, instruction) in function.instructions.iter().enumerate() {
            let own = first + n;
            let mut mark = |local: usize| {
                changed |= !holds[local];
                holds[local] = true;
            };
            match &instruction.operation {
                Operation::Cast {
                    kind: CastKind::PointerToInteger,
                    ..
                } => mark(own),
                Operation::Cast {
                    kind: CastKind::IntegerToPointer,
                    value,
                } => {
                    value.local().into_iter().for_each(|local| mark(local.index()));
                }
                operation => {
                    if instruction.class != Class::Integer(64) {
                        continue;
                    }
                    let parts = parts(operation);
                    let any = parts.iter().flatten().any(|local| holds[*local]);
                    if any && !holds[own] {
                        changed = true;
                        holds[own] = true;
                    } else if holds[own] && backward(operation) {
                        for local in parts.into_iter().flatten() {
                            changed |= !holds[local];
                            holds[local] = true;
                        }
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    holds
}

/// The operands that an integer is made of in a way that keeps an address.
fn parts(operation: &Operation) -> Vec<Option<usize>> {
    let local = |value: &Value| value.local().map(|local| local.index());
    match operation {
        Operation::Binary { operator, left, right } => match operator {
            BinaryOperator::Add | BinaryOperator::Or => vec![local(left), local(right)],
            BinaryOperator::Sub | BinaryOperator::And => vec![local(left)],
            _ => Vec::new(),
        },
        Operation::Phi { incoming } => incoming.iter().map(|(_, value)| local(value)).collect(),
        Operation::Select { yes, no, .. } => vec![local(yes), local(no)],
        Operation::Cast {
            kind: CastKind::Same,
            value,
        } => vec![local(value)],
        _ => Vec::new(),
    }
}

/// If the result is an address, are the parts? The right side of an addition is more often an index.
fn backward(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Phi { .. } | Operation::Select { .. } | Operation::Cast { .. }
    ) || matches!(
        operation,
        Operation::Binary {
            operator: BinaryOperator::And | BinaryOperator::Sub,
            ..
        }
    )
}
