//! What decides whether a function waits for its threads: the variables that the branches around its joins test.
//!
//! Where threads are created under a condition, and waited for under the same one or another that holds whenever it does,
//! ways that differ in such a variable are not joined ([`crate::state`]), or it would be forgotten which of them waits.

use crate::access_path::Path;
use crate::evaluation::{known, load};
use crate::execution::Execution;
use crate::fact::Fact;
use crate::shape::Loop;
use crate::state::{Disjunct, Status};
use deadheat_ir::{Callee, Operation, Terminator, Value};

/// Variables that are looked at at most.
const DECIDING: usize = 4;

/// A variable that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deciding {
    /// What stands at a place.
    Place(Path),
    /// A value of the function.
    Value(Value),
}

impl Execution<'_> {
    /// What the branches test on which it depends whether threads are waited for.
    pub(crate) fn deciding(&self) -> Vec<Deciding> {
        let joins = |at: &usize| match &self.body.instructions[*at].operation {
            Operation::Call {
                callee: Callee::Direct(symbol),
                ..
            } => self.subject.model(*symbol).is_some_and(|m| m.joins.is_some()),
            _ => false,
        };
        let all: Vec<usize> = (0..self.body.instructions.len())
            .filter(joins)
            .map(|at| self.block_of(at))
            .collect();
        let mut found: Vec<(usize, Deciding)> = Vec::new();
        for block in all {
            self.decides(block, &mut found);
        }
        // The nearest first.
        found.sort_by_key(|(distance, _)| *distance);
        let mut nearest = Vec::new();
        for (_, deciding) in found {
            if !nearest.contains(&deciding) && nearest.len() < DECIDING {
                nearest.push(deciding);
            }
        }
        nearest
    }

    /// Adds what decides whether a block is reached: tests of blocks from which one side always leads there, or to a block
    /// that dominates it, and the other need not.
    fn decides(&self, block: usize, found: &mut Vec<(usize, Deciding)>) {
        let shape = &self.subject.shapes[self.function.index()];
        let predecessors = self.body.predecessors();
        let (mut above, mut distance) = (Some(block), 0);
        while let Some(at) = above {
            for from in predecessors[at].iter().map(|from| from.index()) {
                let Terminator::Branch { condition, yes, no } = &self.body.blocks[from].terminator else {
                    continue;
                };
                let other = if yes.index() == at { no.index() } else { yes.index() };
                // How often a loop is gone through is no such question.
                let counts = |l: &Loop| l.header == from && l.blocks.binary_search(&at).is_ok();
                if !shape.is_back_edge(from, at) && !shape.loops.iter().any(counts) && self.leads_past(other, at) {
                    found.extend(self.tested(*condition).map(|d| (distance, d)));
                }
            }
            above = shape.dominators.get(at).copied().flatten();
            distance += 1;
        }
    }

    /// Whether the function can be left, or a loop around gone through again, from a block without going through another.
    fn leads_past(&self, from: usize, block: usize) -> bool {
        let shape = &self.subject.shapes[self.function.index()];
        let mut seen = vec![false; self.body.blocks.len()];
        let mut due = vec![from];
        while let Some(at) = due.pop() {
            if at == block || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let terminator = &self.body.blocks[at].terminator;
            if matches!(terminator, Terminator::Return(_)) {
                return true;
            }
            for to in terminator.successors().map(|s| s.index()) {
                let inner = shape.innermost[block].map(|l| &shape.loops[l]);
                if shape.is_back_edge(at, to) && inner.is_none_or(|l| l.blocks.binary_search(&to).is_ok()) {
                    return true;
                }
                due.push(to);
            }
        }
        false
    }

    /// The variable that a condition tests.
    fn tested(&self, condition: Value) -> Option<Deciding> {
        let definition = |value: Value| {
            value
                .local()
                .and_then(|l| self.body.definition(l))
                .map(|d| &d.operation)
        };
        let tested = match definition(condition)? {
            Operation::Compare {
                left,
                right: Value::Constant(_),
                ..
            } => *left,
            Operation::Cast { value, .. } => return self.tested(*value),
            _ => condition,
        };
        match definition(tested)? {
            Operation::Load { address, .. } => {
                let place = self.value(*address).name().cloned()?;
                let kept = self.subject.start_only.writes(self.function, place.root) && !place.loads();
                kept.then_some(Deciding::Place(place))
            }
            Operation::Phi { .. } => Some(Deciding::Value(tested)),
            Operation::Cast { value, .. } => self.tested(*value),
            _ => None,
        }
    }

    /// What is known of the deciding variables on a way on which threads run: two bits for each.
    pub(crate) fn decided(&self, way: &Disjunct) -> u8 {
        if self.deciding.is_empty() || way.threads.values().all(|s| *s == Status::Joined) {
            return 0;
        }
        let fact = |deciding: &Deciding| match deciding {
            Deciding::Place(place) => known(way, &load(self.subject, self.function, way, place, 8)),
            Deciding::Value(value) => self.knowledge(way, *value),
        };
        let bits = |fact: Fact| match (fact.and(Fact::ZERO), fact.and(Fact::NON_ZERO)) {
            (Some(_), None) => 1,
            (None, Some(_)) => 2,
            _ => 0,
        };
        self.deciding.iter().fold(0, |all, each| all << 2 | bits(fact(each)))
    }
}
