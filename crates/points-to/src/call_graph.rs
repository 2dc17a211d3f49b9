//! Who calls whom.

use deadheat_ir::FunctionId;

/// Calls and their targets.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// For each function, its calls in order of instruction: instruction, range of [`CallGraph::pool`].
    sites: Vec<Vec<(u32, u32, u32)>>,
    pool: Vec<FunctionId>,
    /// For each function, its calls that hand functions to the library, in order.
    callbacks: Vec<Vec<(u32, Vec<ResolvedCallback>)>>,
    components: Vec<Vec<FunctionId>>,
}

/// A callback of a library call, with the functions that it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedCallback {
    /// Which of the effect's callbacks.
    pub number: usize,
    /// It is called before the call returns.
    pub now: bool,
    /// The functions, in order.
    pub targets: Vec<FunctionId>,
}

impl CallGraph {
    /// A graph of so many functions, without calls.
    pub(crate) fn new(functions: usize) -> CallGraph {
        CallGraph {
            sites: vec![Vec::new(); functions],
            pool: Vec::new(),
            callbacks: vec![Vec::new(); functions],
            components: Vec::new(),
        }
    }

    /// Adds a call; calls of one function come in order of instruction.
    pub(crate) fn call(&mut self, function: FunctionId, instruction: usize, targets: &[FunctionId]) {
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(targets);
        self.sites[function.index()].push((instruction as u32, start, self.pool.len() as u32));
    }

    pub(crate) fn callback(&mut self, function: FunctionId, instruction: usize, callback: ResolvedCallback) {
        let list = &mut self.callbacks[function.index()];
        match list.last_mut() {
            Some((last, callbacks)) if *last == instruction as u32 => callbacks.push(callback),
            _ => list.push((instruction as u32, vec![callback])),
        }
    }

    /// Orders the calls and finds the components.
    pub(crate) fn finish(&mut self) {
        self.sites.iter_mut().for_each(|sites| sites.sort_unstable());
        self.callbacks
            .iter_mut()
            .for_each(|list| list.sort_by_key(|(instruction, _)| *instruction));
        let edges: Vec<Vec<FunctionId>> = (0..self.sites.len())
            .map(|n| self.callees(FunctionId::new(n as u32)))
            .collect();
        self.components = components(&edges);
    }

    /// The functions that a call may call, in order; none for a call of the library or an unresolved one.
    pub fn targets(&self, function: FunctionId, instruction: usize) -> &[FunctionId] {
        let sites = &self.sites[function.index()];
        match sites.binary_search_by_key(&(instruction as u32), |site| site.0) {
            Ok(at) => &self.pool[sites[at].1 as usize..sites[at].2 as usize],
            Err(_) => &[],
        }
    }

    /// The functions that a call hands to the library.
    pub fn callbacks(&self, function: FunctionId, instruction: usize) -> &[ResolvedCallback] {
        let list = &self.callbacks[function.index()];
        match list.binary_search_by_key(&(instruction as u32), |site| site.0) {
            Ok(at) => &list[at].1,
            Err(_) => &[],
        }
    }

    /// All functions that a function calls, callbacks that are called at once included; in order, each once.
    pub fn callees(&self, function: FunctionId) -> Vec<FunctionId> {
        let sites = &self.sites[function.index()];
        let direct = sites
            .iter()
            .flat_map(|(_, from, to)| &self.pool[*from as usize..*to as usize]);
        let callbacks = self.callbacks[function.index()]
            .iter()
            .flat_map(|(_, callbacks)| callbacks);
        let now = callbacks
            .filter(|callback| callback.now)
            .flat_map(|callback| &callback.targets);
        let mut all: Vec<FunctionId> = direct.chain(now).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Functions that the library calls later: entries of threads, handlers and the like. In order, each once.
    pub fn handed_over(&self) -> Vec<FunctionId> {
        let callbacks = self.callbacks.iter().flatten().flat_map(|(_, callbacks)| callbacks);
        let later = callbacks
            .filter(|callback| !callback.now)
            .flat_map(|callback| &callback.targets);
        let mut all: Vec<FunctionId> = later.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Strongly connected components, callees before callers.
    pub fn components(&self) -> &[Vec<FunctionId>] {
        &self.components
    }

    /// Functions reached from these, themselves included, as marks by function.
    pub fn reached(&self, from: &[FunctionId]) -> Vec<bool> {
        let mut reached = vec![false; self.sites.len()];
        let mut work = from.to_vec();
        while let Some(function) = work.pop() {
            if !std::mem::replace(&mut reached[function.index()], true) {
                work.extend(self.callees(function));
            }
        }
        reached
    }
}

/// Strongly connected components of a graph, successors first (Tarjan, SIAM J. Comput. 1972, without recursion).
pub fn components(edges: &[Vec<FunctionId>]) -> Vec<Vec<FunctionId>> {
    const NEW: u32 = u32::MAX;
    let (mut index, mut low) = (vec![NEW; edges.len()], vec![0u32; edges.len()]);
    let mut open = vec![false; edges.len()];
    let (mut stack, mut result) = (Vec::new(), Vec::new());
    let mut next = 0;
    for root in 0..edges.len() {
        if index[root] != NEW {
            continue;
        }
        let mut calls: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = calls.last_mut() {
            if *edge == 0 {
                (index[node], low[node], open[node]) = (next, next, true);
                next += 1;
                stack.push(node);
            }
            if let Some(to) = edges[node].get(*edge).map(|to| to.index()) {
                *edge += 1;
                if index[to] == NEW {
                    calls.push((to, 0));
                } else if open[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(caller, _)) = calls.last() {
                low[caller] = low[caller].min(low[node]);
            }
            if low[node] == index[node] {
                let start = stack.iter().rposition(|member| *member == node).unwrap_or(0);
                let mut component: Vec<FunctionId> = stack
                    .drain(start..)
                    .map(|member| FunctionId::new(member as u32))
                    .collect();
                component.iter().for_each(|member| open[member.index()] = false);
                component.sort_unstable();
                result.push(component);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[&[u32]]) -> Vec<Vec<FunctionId>> {
        edges
            .iter()
            .map(|to| to.iter().map(|n| FunctionId::new(*n)).collect())
            .collect()
    }

    #[test]
    fn callees_come_before_callers() {
        let found = components(&graph(&[&[1], &[2, 3], &[1], &[], &[0, 4]]));
        let numbers: Vec<Vec<u32>> = found.iter().map(|c| c.iter().map(|f| f.number()).collect()).collect();
        assert_eq!(numbers, [vec![3], vec![1, 2], vec![0], vec![4]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let edges: Vec<Vec<FunctionId>> = (1..=200_000).map(|n| vec![FunctionId::new(n % 200_000)]).collect();
        assert_eq!(components(&edges).len(), 1);
    }
}
