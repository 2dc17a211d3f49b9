//! The shape of a function's control flow: order of its blocks, loops, and counted loops.
//!
//! Loops are the strongly connected parts that back edges of a depth-first walk close; irreducible ones are taken as
//! far as their back edges show them. Cost: linear, and loops times their blocks.

use deadheat_ir::{
    BinaryOperator, Block, Constant, Function, LocalId, Module, Operation, Predicate, Terminator, Value,
};

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its header's number.
    pub header: usize,
    /// Its blocks' numbers, ascending.
    pub blocks: Vec<usize>,
}

/// Order and loops of a function's blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Reachable blocks in reverse postorder.
    pub order: Vec<usize>,
    /// Position of each block in that order; unreachable ones have none.
    pub position: Vec<Option<usize>>,
    /// The loops, inner ones before outer ones.
    pub loops: Vec<Loop>,
    /// For each block, the innermost loop it is in.
    pub innermost: Vec<Option<usize>>,
    /// For each block but the first, the last other block that each way to it goes through.
    pub dominators: Vec<Option<usize>>,
}

impl Shape {
    /// The shape of a function.
    pub fn of(function: &Function) -> Shape {
        let count = function.blocks.len();
        let successors =
            |b: usize| -> Vec<usize> { function.blocks[b].terminator.successors().map(|s| s.index()).collect() };
        let mut shape = Shape {
            position: vec![None; count],
            innermost: vec![None; count],
            ..Shape::default()
        };
        if count == 0 {
            return shape;
        }
        let (mut seen, mut open) = (vec![false; count], vec![false; count]);
        let mut back = Vec::new();
        let mut stack = vec![(0, successors(0), 0)];
        (seen[0], open[0]) = (true, true);
        while let Some((block, next, at)) = stack.last_mut() {
            match next.get(*at).copied() {
                Some(to) => {
                    *at += 1;
                    if open[to] {
                        back.push((*block, to));
                    } else if !seen[to] {
                        (seen[to], open[to]) = (true, true);
                        stack.push((to, successors(to), 0));
                    }
                }
                None => {
                    open[*block] = false;
                    shape.order.push(*block);
                    stack.pop();
                }
            }
        }
        shape.order.reverse();
        for (at, block) in shape.order.iter().enumerate() {
            shape.position[*block] = Some(at);
        }
        shape.find_loops(function, back);
        shape.find_dominators(function);
        shape
    }

    /// Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm (2001).
    fn find_dominators(&mut self, function: &Function) {
        let predecessors = function.predecessors();
        self.dominators = vec![None; function.blocks.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for at in 1..self.order.len() {
                let block = self.order[at];
                let known = |p: &usize| *p == self.order[0] || self.dominators[*p].is_some();
                let before = predecessors[block].iter().map(|p| p.index()).filter(known);
                let common = before.reduce(|a, b| self.common_dominator(a, b));
                if common != self.dominators[block] {
                    self.dominators[block] = common;
                    changed = true;
                }
            }
        }
    }

    fn common_dominator(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let late = if self.position[a] > self.position[b] {
                &mut a
            } else {
                &mut b
            };
            match self.dominators[*late] {
                Some(above) => *late = above,
                None => return self.order[0],
            }
        }
        a
    }

    /// Whether each way to a block goes through another one, or it is that one.
    pub fn dominates(&self, above: usize, mut block: usize) -> bool {
        while block != above && self.position[block] > self.position[above] {
            match self.dominators[block] {
                Some(next) => block = next,
                None => return false,
            }
        }
        block == above
    }

    fn find_loops(&mut self, function: &Function, back: Vec<(usize, usize)>) {
        let predecessors = function.predecessors();
        let mut headers: Vec<usize> = back.iter().map(|(_, to)| *to).collect();
        headers.sort_unstable();
        headers.dedup();
        for header in headers {
            let mut blocks = vec![header];
            let mut work: Vec<usize> = back
                .iter()
                .filter(|(_, to)| *to == header)
                .map(|(from, _)| *from)
                .collect();
            let mut inside = vec![false; function.blocks.len()];
            inside[header] = true;
            while let Some(block) = work.pop() {
                if self.position[block].is_none() || std::mem::replace(&mut inside[block], true) {
                    continue;
                }
                blocks.push(block);
                work.extend(predecessors[block].iter().map(|p| p.index()));
            }
            blocks.sort_unstable();
            self.loops.push(Loop { header, blocks });
        }
        self.loops.sort_by_key(|l| (l.blocks.len(), l.header));
        for (number, each) in self.loops.iter().enumerate().rev() {
            for block in &each.blocks {
                self.innermost[*block] = Some(number);
            }
        }
    }

    /// Whether the edge closes a loop.
    pub fn is_back_edge(&self, from: usize, to: usize) -> bool {
        match (self.position[from], self.position[to]) {
            (Some(from), Some(to)) => to <= from,
            _ => false,
        }
    }

    /// The loops that the edge leaves.
    pub fn left(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        let leaves = move |l: &Loop| l.blocks.binary_search(&from).is_ok() && l.blocks.binary_search(&to).is_err();
        self.loops
            .iter()
            .enumerate()
            .filter(move |(_, l)| leaves(l))
            .map(|(n, _)| n)
    }
}

/// A value that each round of a loop moves by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Induction {
    /// Its first value, if it is a constant.
    pub start: Option<i64>,
    /// The value that it stays below, if that is a constant.
    pub bound: Option<i64>,
}

/// The phi as a counter of its loop: it takes another value in each round.
pub fn induction(module: &Module, function: &Function, shape: &Shape, phi: LocalId) -> Option<Induction> {
    let Operation::Phi { incoming } = &function.definition(phi)?.operation else {
        return None;
    };
    let at = function.instruction_of(phi)?;
    let header = function.blocks.iter().position(|b| b.range().contains(&at))?;
    let each = shape.loops.iter().find(|l| l.header == header)?;
    let mut start = None;
    for (from, value) in incoming {
        if each.blocks.binary_search(&from.index()).is_err() {
            start = module.integer(*value);
        } else if !moves(module, function, *value, phi) {
            return None;
        }
    }
    let bound = each
        .blocks
        .iter()
        .find_map(|b| bound(module, function, &function.blocks[*b], phi));
    Some(Induction { start, bound })
}

/// Whether the value is the phi moved by a constant other than 0.
fn moves(module: &Module, function: &Function, value: Value, phi: LocalId) -> bool {
    let Some(next) = value.local().and_then(|l| function.definition(l)) else {
        return false;
    };
    match &next.operation {
        Operation::Binary {
            operator: BinaryOperator::Add | BinaryOperator::Sub,
            left,
            right,
        } => *left == Value::Local(phi) && module.integer(*right).is_some_and(|n| n != 0),
        Operation::Offset {
            base,
            constant,
            indices,
            ..
        } => *base == Value::Local(phi) && *constant != 0 && indices.is_empty(),
        _ => false,
    }
}

/// The constant below which the phi stays for the loop to go on, if this block decides so.
fn bound(module: &Module, function: &Function, block: &Block, phi: LocalId) -> Option<i64> {
    let Terminator::Branch { condition, .. } = &block.terminator else {
        return None;
    };
    let test = function.definition(condition.local()?)?;
    let Operation::Compare { predicate, left, right } = &test.operation else {
        return None;
    };
    let mut counted = left.local()?;
    // Counters are widened to index arrays.
    while let Some(Operation::Cast { value, .. }) = function.definition(counted).map(|d| &d.operation) {
        counted = value.local()?;
    }
    let Constant::Integer { value, .. } = module.constant(*right)? else {
        return None;
    };
    if counted != phi {
        return None;
    }
    match predicate {
        Predicate::Slt | Predicate::Ult | Predicate::Ne => Some(*value),
        Predicate::Sle | Predicate::Ule => value.checked_add(1),
        Predicate::Sge | Predicate::Uge | Predicate::Eq => Some(*value),
        Predicate::Sgt | Predicate::Ugt => value.checked_add(1),
        Predicate::Float => None,
    }
}
