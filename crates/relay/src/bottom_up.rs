//! Summaries of all functions, callees before callers: the strongly connected components of the call graph in the order
//! in which they depend on each other, those that do not depend on each other in parallel.
//!
//! The functions of a component are gone through, callees first as far as there is such an order, until their summaries no
//! longer change, at most [`ROUNDS`] times ([`LARGE_ROUNDS`] in a component of more than [`LARGE`] functions); a function
//! only where something that it calls has changed. What had not settled by then is counted. Results do not depend on the
//! number of threads.

use crate::execution::{Entry, Execution, Summaries};
use crate::memo::Memo;
use crate::subject::Subject;
use crate::summary::Summary;
use deadheat_ir::{Callee, Constant, FunctionId, Operation, Value};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Times that a component is gone through at most.
const ROUNDS: usize = 4;
/// Functions of a component from which on it is gone through less often.
const LARGE: usize = 64;
/// Times that a large component is gone through at most.
const LARGE_ROUNDS: usize = 2;

/// The summaries of a program.
#[derive(Debug, Default)]
pub struct BottomUp {
    summaries: Vec<Option<Summary>>,
    /// Functions in recursion whose summaries had not settled.
    pub unsettled: usize,
    /// What calls do that may call many functions; of functions whose summaries are final.
    any_of: Mutex<FxHashMap<Vec<FunctionId>, Arc<Summary>>>,
    /// What tells summaries from others, where that is asked for.
    digests: Vec<u128>,
}

/// A function's number, or its place in its component, its summary, and what tells that from others.
type Numbered = (usize, Summary, u128);

impl Summaries for BottomUp {
    fn summary(&self, function: FunctionId) -> Option<&Summary> {
        self.summaries.get(function.index())?.as_ref()
    }

    fn digest(&self, function: FunctionId) -> u128 {
        self.digests.get(function.index()).copied().unwrap_or_default()
    }

    fn any_of(&self, functions: &[FunctionId]) -> Arc<Summary> {
        let all = || self.any_of.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().get(functions).map(Arc::clone);
        known.unwrap_or_else(|| {
            let any = Arc::new(Summary::any_of(functions.iter().filter_map(|f| self.summary(*f))));
            all().insert(functions.to_vec(), Arc::clone(&any));
            any
        })
    }
}

impl BottomUp {
    /// Summarises all functions.
    pub fn run(subject: &Subject<'_>) -> BottomUp {
        BottomUp::run_with(subject, None)
    }

    /// Summarises all functions; results that a memo has are taken over.
    pub(crate) fn run_with(subject: &Subject<'_>, memo: Option<&Memo>) -> BottomUp {
        let graph = call_graph(subject);
        let mut all = BottomUp {
            summaries: vec![None; graph.len()],
            digests: vec![0; graph.len()],
            ..BottomUp::default()
        };
        let heights = heights(&graph);
        for level in levels(&graph) {
            let done: Vec<(Vec<Numbered>, usize)> = level
                .into_par_iter()
                .map(|component| all.component(subject, memo, &graph, &heights, component))
                .collect();
            for (summaries, unsettled) in done {
                all.unsettled += unsettled;
                for (function, summary, digest) in summaries {
                    all.summaries[function] = Some(summary);
                    all.digests[function] = digest;
                }
            }
        }
        all
    }

    /// Summarises the functions of one component; says how many did not settle.
    fn component(
        &self,
        subject: &Subject<'_>,
        memo: Option<&Memo>,
        graph: &[Vec<usize>],
        heights: &[usize],
        mut component: Vec<usize>,
    ) -> (Vec<Numbered>, usize) {
        let entry = Entry::relative();
        component.sort_by_key(|f| (heights[*f], *f));
        let place: FxHashMap<usize, usize> = component.iter().enumerate().map(|(at, f)| (*f, at)).collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); component.len()];
        for (at, function) in component.iter().enumerate() {
            for callee in graph[*function].iter().filter_map(|g| place.get(g)) {
                callers[*callee].push(at);
            }
        }
        let mut known = Within {
            rest: self,
            place: &place,
            own: vec![None; component.len()],
            digests: vec![0; component.len()],
            versions: vec![0; component.len()],
            any_of: Mutex::default(),
        };
        let mut due = vec![true; component.len()];
        let rounds = if component.len() > LARGE { LARGE_ROUNDS } else { ROUNDS };
        for _ in 0..rounds {
            let mut from = 0;
            while from < component.len() {
                let height = heights[component[from]];
                let alike = component[from..].iter().take_while(|f| heights[**f] == height);
                let to = from + alike.count();
                let now: Vec<usize> = (from..to).filter(|at| std::mem::take(&mut due[*at])).collect();
                let execute = |at: &usize| {
                    let id = FunctionId::new(component[*at] as u32);
                    let (summary, digest) = match memo {
                        Some(memo) => memo.summary(subject, &known, id),
                        None => (Summary::of(Execution::run(subject, &known, id, &entry)), 0),
                    };
                    (*at, summary, digest)
                };
                let new: Vec<Numbered> = now.par_iter().map(execute).collect();
                for (at, summary, digest) in new {
                    if known.own[at].as_ref() != Some(&summary) {
                        known.own[at] = Some(summary);
                        known.digests[at] = digest;
                        known.versions[at] += 1;
                        callers[at].iter().for_each(|caller| due[*caller] = true);
                    }
                }
                from = to;
            }
            if !due.contains(&true) {
                break;
            }
        }
        let unsettled = due.iter().filter(|due| **due).count();
        let summaries = component
            .iter()
            .zip(known.own)
            .zip(known.digests)
            .filter_map(|((f, s), digest)| Some((*f, s?, digest)))
            .collect();
        (summaries, unsettled)
    }
}

/// Summaries of a component in the making, and of all below it.
struct Within<'a> {
    rest: &'a BottomUp,
    place: &'a FxHashMap<usize, usize>,
    own: Vec<Option<Summary>>,
    digests: Vec<u128>,
    /// How often each has changed.
    versions: Vec<u32>,
    /// What calls do that may call many functions, and how often those had changed by then.
    any_of: Mutex<Versions>,
}

/// Summaries of sets of functions, with the sum of the functions' versions.
type Versions = FxHashMap<Vec<FunctionId>, (u32, Arc<Summary>)>;

impl Summaries for Within<'_> {
    fn summary(&self, function: FunctionId) -> Option<&Summary> {
        match self.place.get(&function.index()) {
            Some(at) => self.own[*at].as_ref(),
            None => self.rest.summary(function),
        }
    }

    fn digest(&self, function: FunctionId) -> u128 {
        match self.place.get(&function.index()) {
            Some(at) => self.digests[*at],
            None => self.rest.digest(function),
        }
    }

    fn any_of(&self, functions: &[FunctionId]) -> Arc<Summary> {
        if functions.iter().all(|f| !self.place.contains_key(&f.index())) {
            return self.rest.any_of(functions);
        }
        let places = functions.iter().filter_map(|f| self.place.get(&f.index()));
        let version = places.map(|at| self.versions[*at]).sum();
        let known = |all: &Versions| {
            let (then, any) = all.get(functions)?;
            (*then == version).then(|| Arc::clone(any))
        };
        let all = || self.any_of.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known(&all());
        known.unwrap_or_else(|| {
            let any = Arc::new(Summary::any_of(functions.iter().filter_map(|f| self.summary(*f))));
            all().insert(functions.to_vec(), (version, Arc::clone(&any)));
            any
        })
    }
}

/// Which functions a function depends on: those that it calls, and those whose addresses it passes to a call (what a
/// created thread does to threads of its own matters to its creator).
pub fn call_graph(subject: &Subject<'_>) -> Vec<Vec<usize>> {
    let module = subject.module;
    let passed = |value: &Value| match module.constant(*value)? {
        Constant::Address { symbol, offset: 0, .. } => module[*symbol].body(),
        _ => None,
    };
    module
        .functions()
        .map(|(id, function)| {
            let mut called = Vec::new();
            for (at, instruction) in function.instructions.iter().enumerate() {
                let Operation::Call { callee, arguments, .. } = &instruction.operation else {
                    continue;
                };
                match callee {
                    Callee::Direct(symbol) => {
                        called.extend(module[*symbol].body());
                        if subject.model(*symbol).is_some_and(|m| m.runs_registered) {
                            called.extend(&subject.registered);
                        }
                    }
                    Callee::Indirect(_) => {
                        called.extend(subject.aliasing.targets(id, at).iter().take(crate::calls::TARGETS));
                    }
                }
                called.extend(arguments.iter().filter_map(passed));
            }
            let mut called: Vec<usize> = called.into_iter().map(FunctionId::index).collect();
            called.sort_unstable();
            called.dedup();
            called
        })
        .collect()
}

/// The components, in levels: each depends on earlier levels only.
fn levels(graph: &[Vec<usize>]) -> Vec<Vec<Vec<usize>>> {
    let components = components(graph);
    let mut of = vec![0; graph.len()];
    let mut level_of: Vec<usize> = Vec::with_capacity(components.len());
    let mut levels: Vec<Vec<Vec<usize>>> = Vec::new();
    for (number, component) in components.into_iter().enumerate() {
        component.iter().for_each(|f| of[*f] = number);
        let below = component
            .iter()
            .flat_map(|f| &graph[*f])
            .map(|g| of[*g])
            .filter(|c| *c != number);
        let level = below.map(|c| level_of[c] + 1).max().unwrap_or(0);
        level_of.push(level);
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        levels[level].push(component);
    }
    levels
}

/// How high each function is above those that it depends on, as far as they are in order: edges that close a circle of a
/// depth-first walk are left out.
pub fn heights(graph: &[Vec<usize>]) -> Vec<usize> {
    let count = graph.len();
    let (mut seen, mut open, mut heights) = (vec![false; count], vec![false; count], vec![0; count]);
    for start in 0..count {
        if seen[start] {
            continue;
        }
        (seen[start], open[start]) = (true, true);
        let mut path = vec![(start, 0)];
        while let Some(&mut (node, ref mut at)) = path.last_mut() {
            match graph[node].get(*at).copied() {
                Some(to) => {
                    *at += 1;
                    if !seen[to] {
                        (seen[to], open[to]) = (true, true);
                        path.push((to, 0));
                    } else if !open[to] {
                        heights[node] = heights[node].max(heights[to] + 1);
                    }
                }
                None => {
                    open[node] = false;
                    path.pop();
                    if let Some((caller, _)) = path.last() {
                        heights[*caller] = heights[*caller].max(heights[node] + 1);
                    }
                }
            }
        }
    }
    heights
}

/// The strongly connected components, callees first (Tarjan, without recursion).
pub fn components(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = graph.len();
    let (mut index, mut low, mut open) = (vec![UNSEEN; count], vec![0; count], vec![false; count]);
    let (mut path, mut components, mut next) = (Vec::new(), Vec::new(), 0);
    for start in 0..count {
        if index[start] != UNSEEN {
            continue;
        }
        let mut calls = vec![(start, 0)];
        while let Some(&mut (node, ref mut at)) = calls.last_mut() {
            if *at == 0 && index[node] == UNSEEN {
                (index[node], low[node], open[node]) = (next, next, true);
                next += 1;
                path.push(node);
            }
            match graph[node].get(*at).copied() {
                Some(to) => {
                    *at += 1;
                    if index[to] == UNSEEN {
                        calls.push((to, 0));
                    } else if open[to] {
                        low[node] = low[node].min(index[to]);
                    }
                }
                None => {
                    calls.pop();
                    if let Some((caller, _)) = calls.last() {
                        low[*caller] = low[*caller].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let from = path.iter().rposition(|n| *n == node).unwrap_or(0);
                        let mut component: Vec<usize> = path.split_off(from);
                        component.iter().for_each(|n| open[*n] = false);
                        component.sort_unstable();
                        components.push(component);
                    }
                }
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_first() {
        let graph = vec![vec![1], vec![2, 3], vec![1], vec![], vec![4, 0]];
        assert_eq!(components(&graph), [vec![3], vec![1, 2], vec![0], vec![4]]);
        assert_eq!(heights(&graph), [2, 1, 0, 0, 3]);
        assert_eq!(
            levels(&graph),
            [vec![vec![3]], vec![vec![1, 2]], vec![vec![0]], vec![vec![4]]]
        );
    }
}
