//! Whether a function calls another one whenever it runs: each way from its entry to a return leads through a call.
//!
//! That is what the paper asks of one call (it post-dominates the entry), asked of all calls of the callee together.
//! Ways that end in an exception or never return are none. With the loop assumption a loop counts as a call if each way
//! once around it, and each way out of its middle, leads through one; then only its header can leave it without.
//!
//! Cost: linear in the blocks, times the depth of loops.

use deadheat_ir::{BlockId, Function, Terminator};

/// Whether every way through the function passes an instruction that `calls`. A function that never returns: no.
pub fn always_calls(function: &Function, calls: impl Fn(usize) -> bool, loops: bool) -> bool {
    let mut stops: Vec<bool> = function.blocks.iter().map(|block| block.range().any(&calls)).collect();
    if !stops.contains(&true) || !returns(function, &vec![false; stops.len()]) {
        return false;
    }
    if loops {
        for natural in loops_inside_out(function) {
            if goes_through_a_stop(function, &natural, &stops) {
                stops[natural.header] = true;
            }
        }
    }
    !returns(function, &stops)
}

/// Whether a return can be come to without entering a block that stops.
fn returns(function: &Function, stops: &[bool]) -> bool {
    let mut seen = stops.to_vec();
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let terminator = &function.blocks[block].terminator;
        if matches!(terminator, Terminator::Return(_)) {
            return true;
        }
        work.extend(terminator.successors().map(BlockId::index));
    }
    false
}

/// A natural loop.
pub struct Loop {
    /// Its header, by number.
    pub header: usize,
    /// Its blocks, by number.
    body: Vec<bool>,
    size: usize,
}

impl Loop {
    /// Whether a block is in it.
    pub fn contains(&self, block: usize) -> bool {
        self.body[block]
    }

    /// Whether nothing leaves it but its header, and what never returns.
    pub fn left_at_header(&self, function: &Function) -> bool {
        let blocks = function.blocks.iter().enumerate();
        let mut inner = blocks.filter(|(n, _)| self.body[*n] && *n != self.header);
        inner.all(|(_, block)| {
            let mut next = block.terminator.successors().map(BlockId::index);
            next.all(|to| self.body[to] || ends(function, to))
        })
    }
}

/// Whether each way once around the loop, and out of it but at its header, leads through a block that stops.
pub fn goes_through_a_stop(function: &Function, natural: &Loop, stops: &[bool]) -> bool {
    let mut seen = stops.to_vec();
    let inside = |from: usize| {
        let next = function.blocks[from].terminator.successors().map(BlockId::index);
        next.collect::<Vec<_>>()
    };
    let mut work: Vec<usize> = inside(natural.header);
    work.retain(|to| natural.body[*to]);
    while let Some(block) = work.pop() {
        if block == natural.header || !natural.body[block] {
            return false;
        }
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        // Whatever never returns leaves no loop.
        work.extend(inside(block).into_iter().filter(|to| !ends(function, *to)));
    }
    true
}

/// Whether a block ends the function other than by returning.
fn ends(function: &Function, block: usize) -> bool {
    matches!(
        function.blocks[block].terminator,
        Terminator::Unreachable | Terminator::Resume
    )
}

/// The natural loops, those inside others first; loops with one header are one.
pub fn loops_inside_out(function: &Function) -> Vec<Loop> {
    let dominators = Dominators::of(function);
    let predecessors = function.predecessors();
    let mut loops: Vec<Loop> = Vec::new();
    for (header, before) in predecessors.iter().enumerate() {
        let latches = before
            .iter()
            .map(|b| b.index())
            .filter(|b| dominators.dominates(header, *b));
        let mut work: Vec<usize> = latches.collect();
        if work.is_empty() {
            continue;
        }
        let mut body = vec![false; function.blocks.len()];
        body[header] = true;
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut body[block], true) {
                work.extend(predecessors[block].iter().map(|b| b.index()));
            }
        }
        let size = body.iter().filter(|b| **b).count();
        loops.push(Loop { header, body, size });
    }
    loops.sort_by_key(|l| l.size);
    loops
}

/// Immediate dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001).
struct Dominators {
    /// Of each block, the number of its immediate dominator; the entry's is its own; unreached: none.
    immediate: Vec<Option<usize>>,
    /// Of each block, its place in reverse post-order.
    place: Vec<usize>,
}

impl Dominators {
    fn of(function: &Function) -> Dominators {
        let order = reverse_post_order(function);
        let count = function.blocks.len();
        let mut place = vec![usize::MAX; count];
        for (n, block) in order.iter().enumerate() {
            place[*block] = n;
        }
        let predecessors = function.predecessors();
        let mut found = Dominators {
            immediate: vec![None; count],
            place,
        };
        if count > 0 {
            found.immediate[0] = Some(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in order.iter().copied().skip(1) {
                let known = predecessors[block].iter().map(|b| b.index());
                let known = known.filter(|b| found.immediate[*b].is_some());
                let new = known.reduce(|a, b| found.common(a, b));
                if found.immediate[block] != new {
                    found.immediate[block] = new;
                    changed = true;
                }
            }
        }
        found
    }

    /// The nearest block that dominates both.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let deeper = if self.place[a] > self.place[b] { &mut a } else { &mut b };
            match self.immediate[*deeper] {
                Some(up) if up != *deeper => *deeper = up,
                _ => return 0,
            }
        }
        a
    }

    fn dominates(&self, a: usize, b: usize) -> bool {
        let mut at = b;
        loop {
            match self.immediate[at] {
                _ if at == a => return self.immediate[b].is_some(),
                Some(up) if up != at => at = up,
                _ => return false,
            }
        }
    }
}

fn reverse_post_order(function: &Function) -> Vec<usize> {
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
    let next = |block: usize| {
        let to = function.blocks[block].terminator.successors().map(BlockId::index);
        to.collect::<Vec<_>>()
    };
    if !function.blocks.is_empty() {
        seen[0] = true;
        stack.push((0, next(0)));
    }
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(to) if !std::mem::replace(&mut seen[to], true) => stack.push((to, next(to))),
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_ir::{Callee, Operation, parse};

    /// Whether `@f` of this body always calls `@g`, with and without the loop assumption.
    fn always(body: &str) -> (bool, bool) {
        let text = format!("module \"m.c\"\ndeclare @g () void\ndefine @f (i32) void {{\nentry:\n{body}\n}}\n");
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let calls = |n: usize| {
            let operation = &module.functions[0].instructions[n].operation;
            matches!(operation, Operation::Call { callee: Callee::Direct(s), .. } if module.name(*s) == "g")
        };
        let with = |loops| always_calls(&module.functions[0], calls, loops);
        (with(true), with(false))
    }

    #[test]
    fn one_call_on_each_way_is_enough() {
        assert_eq!(always("call @g()\nreturn"), (true, true));
        let both = "branch %0, a, b\na:\ncall @g()\njump c\nb:\ncall @g()\njump c\nc:\nreturn";
        assert_eq!(always(both), (true, true));
        let one = "branch %0, a, c\na:\ncall @g()\njump c\nc:\nreturn";
        assert_eq!(always(one), (false, false));
        // What does not return is no way.
        let fails = "branch %0, a, b\na:\ncall @g()\nreturn\nb:\nunreachable";
        assert_eq!(always(fails), (true, true));
    }

    #[test]
    fn a_loop_goes_round_once_if_that_is_assumed() {
        let simple = "jump h\nh:\nbranch %0, body, out\nbody:\ncall @g()\njump h\nout:\nreturn";
        assert_eq!(always(simple), (true, false));
        let nested = "jump h\nh:\nbranch %0, i, out\ni:\nbranch %0, body, next\nbody:\ncall @g()\njump i\nnext:\njump h\nout:\nreturn";
        assert_eq!(always(nested), (true, false));
        let skipped = "jump h\nh:\nbranch %0, a, out\na:\nbranch %0, body, next\nbody:\ncall @g()\njump next\nnext:\njump h\nout:\nreturn";
        assert_eq!(always(skipped), (false, false));
        // A way out of the middle, before the call.
        let broken = "jump h\nh:\nbranch %0, a, out\na:\nbranch %0, body, out\nbody:\ncall @g()\njump h\nout:\nreturn";
        assert_eq!(always(broken), (false, false));
        // The call comes first in each round.
        let rotated = "jump body\nbody:\ncall @g()\nbranch %0, body, out\nout:\nreturn";
        assert_eq!(always(rotated), (true, true));
    }

    #[test]
    fn what_never_returns_calls_nothing_always() {
        assert_eq!(always("jump h\nh:\ncall @g()\njump h"), (false, false));
        assert_eq!(always("return"), (false, false));
    }
}
