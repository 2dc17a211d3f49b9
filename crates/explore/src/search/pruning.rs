//! Pruning by interpolation: turns of a path that need not be asked for, since another path stands for them.
//!
//! Source: Ibing 2016, section II.B.3, and J. Jaffar and others, *An interpolation method for CLP traversal* (CP 2009):
//! unsatisfiable cores are lifted along the path and kept where branches are reached; a path that comes there and
//! implies what is kept takes no part in the search from there on.
//!
//! Differently from there, nothing waits until all behind a place is explored. A [`Node`] is a place on a path at which
//! a branch is reached. A later path that reaches the same is *merged* into it: its turns from there on are
//! cancelled, its run is not. What it was merged on must go on to hold, for all paths through the node that are yet to
//! come; where it does not, the turns are asked for after all. So the order of the search is free.
//!
//! What must hold ([`Prune::Branch`] asks for the first alone, as the paper does, and may lose races):
//! 1. each turn behind the node that is infeasible there is so here: the path's conditions exclude what of the
//!    turn's core lies behind the node (the weakest precondition: the state at the node is the same, so the
//!    conditions behind it are those of the input, word for word);
//! 2. what a path through the node reads before it writes it is the same here, expression or number;
//! 3. locks, threads, queues, descriptors and calls are the same: the hash of where the program stands;
//! 4. nothing that threads share and the path accessed by another statement, or with other locks, since it parted is
//!    accessed behind the node.
//!
//! Nothing is merged where input was taken as it was behind the node (fixed addresses, what is not modelled), where
//! something was suspicious, or where code ran of which nothing is known, before the node or behind it. Paths through a node may themselves be merged
//! into others; then the same must hold with what lies behind those. That is well-founded: what stands for the turns of
//! a path from a node on takes at least one more branch to come to the next such node.

use super::{Kind, Next, Order, Search, Side, longer, rank};
use crate::accesses::{Accesses, Differing, Line};
use crate::evaluate::Evaluation;
use crate::path::{Constraint, Path};
use crate::query::Prefix;
use crate::solver::Literal;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::rc::Rc;

/// What is pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Prune {
    /// Nothing.
    #[default]
    Off,
    /// What brings no new branch sides. Races may be missed.
    Branch,
    /// What brings neither new branch sides nor new findings.
    RaceSafe,
}

/// Nodes that one run adds.
const NODES: usize = 512;
/// Nodes for one place.
const ALIKE: usize = 8;
/// Nodes that one path is compared with.
const COMPARED: usize = 16;
/// Cores of one node.
const CORES: usize = 64;
/// Longest core that is made minimal.
const LONG: usize = 24;
/// Differences in memory, eight bytes each.
const DIFFERENCES: usize = 32;
/// New accesses since the parting, eight bytes each.
const ACCESSED: usize = 4_096;
/// Questions of a kind that may be asked beyond the number of turns that were cancelled.
const AHEAD: u64 = 64;
/// Merged paths that one run is held against.
const AFFECTED: usize = 4_096;
/// Look-ups of what runs access, for one path that is added; beyond, what is asked counts as disturbed.
const WORK: u64 = 50_000;
/// Rows of accesses of all runs; with more, no further paths are merged.
const ROWS: usize = 4 << 20;

/// What was pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// Paths that are merged into others.
    pub paths: u64,
    /// Turns that are not asked for.
    pub turns: u64,
    /// Paths that were merged, until something did not hold any more.
    pub taken_back: u64,
    /// Questions to the solver whether what is kept is implied.
    pub implications: u64,
    /// Cores that were made minimal.
    pub cores: u64,
    /// Runs that could not take part, since they accessed too much.
    pub too_large: u64,
}

/// Conditions that cannot hold together.
#[derive(Clone, Debug)]
struct Core {
    /// Those before the node.
    before: Vec<Literal>,
    /// Those behind it.
    behind: Vec<Literal>,
}

/// A place on a path at which a branch is reached.
#[derive(Debug)]
struct Node {
    owner: u32,
    position: u32,
    segment: u32,
    /// The path up to here.
    prefix: u64,
    cores: Vec<Core>,
    /// Runs whose paths go through it.
    runs: Vec<u32>,
    /// Runs that are merged into it.
    merged: Vec<u32>,
    /// Nothing may be merged into it.
    closed: bool,
}

/// A path that is merged.
#[derive(Debug)]
struct Merged {
    node: u32,
    position: u32,
    path: Rc<Path>,
    prefixes: Rc<[u64]>,
    differing: Differing,
    accessed: FxHashSet<u64>,
    turns: u64,
}

#[derive(Debug)]
struct Run {
    line: Rc<Line>,
    /// Nodes on its path, ascending.
    nodes: Rc<[u32]>,
    merged: Option<Merged>,
}

/// What pruning knows.
#[derive(Debug, Default)]
pub(super) struct Pruning {
    mode: Prune,
    nodes: Vec<Node>,
    by_prefix: FxHashMap<u64, u32>,
    by_place: FxHashMap<(u64, u64), Vec<u32>>,
    runs: FxHashMap<u32, Run>,
    shared: FxHashSet<u64>,
    rows: usize,
    /// Look-ups for the path that is being added.
    work: Cell<u64>,
}

impl Pruning {
    fn run(&self, run: u32) -> Option<&Run> {
        self.runs.get(&run)
    }

    /// The place of a constraint, if it is one at which paths may be merged.
    fn place(&self, c: &Constraint) -> Option<(u64, u64)> {
        match self.mode {
            _ if !c.kind.has_other_side() => None,
            Prune::Branch => Some((c.site, 0)),
            _ => (c.place != 0).then_some((c.site, c.place)),
        }
    }

    /// Whether what a merged path rests on does not hold for a run, behind a segment.
    fn is_disturbed_by(&self, differing: &Differing, accessed: &FxHashSet<u64>, run: u32, after: u32) -> bool {
        let Some(run) = self.run(run) else { return true };
        let work = self.work.get() + 1 + (differing.len() + accessed.len()) as u64;
        self.work.set(work);
        if work > WORK {
            return true;
        }
        let reads = |(at, bytes): &(u64, u8)| run.line.uses(*at, after).0 & bytes != 0;
        let shares = |at: &u64| self.shared.contains(at) && run.line.uses(*at, after).1;
        differing.iter().any(reads) || accessed.iter().any(shares)
    }

    /// The same for any run through a node, or through nodes that such are merged into.
    fn is_disturbed(&self, differing: &Differing, accessed: &FxHashSet<u64>, node: u32) -> bool {
        let (mut pending, mut seen) = (vec![node], FxHashSet::from_iter([node]));
        while let Some(id) = pending.pop() {
            let node = &self.nodes[id as usize];
            for run in &node.runs {
                if self.is_disturbed_by(differing, accessed, *run, node.segment) {
                    return true;
                }
                let into = self.run(*run).and_then(|r| r.merged.as_ref()).map(|m| m.node);
                pending.extend(into.filter(|into| seen.insert(*into)));
            }
        }
        false
    }

    /// Merged paths that rest on what lies behind a node, directly or through others; cut after so many.
    fn resting_on(&self, node: u32) -> Vec<u32> {
        let (mut pending, mut seen) = (vec![node], FxHashSet::from_iter([node]));
        let mut all = Vec::new();
        while let Some(id) = pending.pop() {
            for run in &self.nodes[id as usize].merged {
                all.push(*run);
                let Some(known) = self.run(*run) else { continue };
                pending.extend(known.nodes.iter().copied().filter(|n| seen.insert(*n)));
            }
        }
        all
    }

    fn new_node(&mut self, node: Node, place: (u64, u64)) {
        let alike = self.by_place.entry(place).or_default();
        if alike.len() < ALIKE {
            let id = self.nodes.len() as u32;
            alike.push(id);
            self.by_prefix.insert(node.prefix, id);
            self.nodes.push(node);
        }
    }
}

/// The turns of a path from a position on are another's: those behind a node that is reached by this prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cancelled {
    pub from: u32,
    pub node: u64,
}

impl Search {
    /// Prunes from now on, before the first run.
    pub fn pruning(mut self, mode: Prune) -> Search {
        self.pruning.mode = mode;
        self
    }

    /// Runs whose turns were cancelled and that must be there for another search to ask for them.
    pub(super) fn merged_runs(&self) -> impl Iterator<Item = u32> {
        let runs = self.pruning.runs.iter().filter(|(_, r)| r.merged.is_some());
        runs.map(|(run, _)| *run)
    }

    /// What a new path is to the others: where it is merged, if it is.
    pub(super) fn place(
        &mut self,
        run: u32,
        path: &Rc<Path>,
        prefixes: &Rc<[u64]>,
        (from, accesses): (usize, Accesses),
        made_for: Option<&Next>,
    ) -> Option<Cancelled> {
        if self.pruning.mode == Prune::Off {
            return None;
        }
        self.compared = 0;
        self.pruning.work.set(0);
        let whole = self.pruning.rows + accesses.len() <= ROWS;
        let followed = made_for.filter(|_| from > 0).and_then(|next| {
            let parent = self.pruning.run(next.wish.parent)?;
            Some((parent.line.clone(), next.wish.turned().segment))
        });
        let line = Rc::new(Line::new(if whole { accesses } else { Accesses::default() }, followed));
        let nodes: Rc<[u32]> = (0..prefixes.len())
            .filter_map(|n| self.pruning.by_prefix.get(&before(prefixes, n)).copied())
            .collect();
        self.pruning.rows += line.own_rows();
        let known = Run {
            line: line.clone(),
            nodes: nodes.clone(),
            merged: None,
        };
        self.pruning.runs.insert(run, known);
        let safe = self.pruning.mode == Prune::RaceSafe;
        let fits = !safe || whole && line.is_whole() && path.losses.wrong == 0;
        self.pruned.too_large += u64::from(safe && !(whole && line.is_whole()));
        for id in nodes.iter() {
            let node = &mut self.pruning.nodes[*id as usize];
            node.runs.push(run);
            if !fits || safe && !line.is_exact_after(node.segment) {
                self.close(*id);
            }
        }
        if !fits {
            return None;
        }
        self.expose(run);
        for n in from..path.constraints.len() {
            if let Some(cancelled) = self.merge(run, path, prefixes, n as u32) {
                return Some(cancelled);
            }
        }
        let exact = |c: &Constraint| !safe || line.is_exact_after(c.segment);
        for (n, c) in path.constraints.iter().enumerate().skip(from).take(NODES) {
            let prefix = before(prefixes, n);
            let Some(place) = self.pruning.place(c).filter(|_| exact(c)) else {
                continue;
            };
            if !self.pruning.by_prefix.contains_key(&prefix) {
                let node = Node {
                    owner: run,
                    position: n as u32,
                    segment: c.segment,
                    prefix,
                    cores: Vec::new(),
                    runs: vec![run],
                    merged: Vec::new(),
                    closed: false,
                };
                self.pruning.new_node(node, place);
            }
        }
        let nodes = (0..prefixes.len()).filter_map(|n| self.pruning.by_prefix.get(&before(prefixes, n)).copied());
        let nodes = nodes.collect();
        if let Some(known) = self.pruning.runs.get_mut(&run) {
            known.nodes = nodes;
        }
        None
    }

    /// A run is there: what merged paths rest on must hold for it, too.
    fn expose(&mut self, run: u32) {
        let Some(known) = self.pruning.run(run) else { return };
        let (nodes, line) = (known.nodes.clone(), known.line.clone());
        if self.pruning.mode != Prune::RaceSafe {
            return;
        }
        let newly: Vec<u64> = line
            .shared()
            .iter()
            .copied()
            .filter(|at| self.pruning.shared.insert(*at))
            .collect();
        if !newly.is_empty() {
            let has = |m: &Merged| newly.iter().any(|at| m.accessed.contains(at));
            let merged = self
                .pruning
                .runs
                .iter()
                .filter(|(_, r)| r.merged.as_ref().is_some_and(has));
            let mut merged: Vec<u32> = merged.map(|(run, _)| *run).collect();
            merged.sort_unstable();
            merged.into_iter().for_each(|run| self.take_back(run));
        }
        for id in nodes.iter() {
            let after = self.pruning.nodes[*id as usize].segment;
            self.hold(*id, |pruning, m| {
                pruning.is_disturbed_by(&m.differing, &m.accessed, run, after)
            });
        }
    }

    /// Takes back those of the merged paths resting on a node that something disturbs.
    fn hold(&mut self, node: u32, disturbed: impl Fn(&Pruning, &Merged) -> bool) {
        for (n, run) in self.pruning.resting_on(node).into_iter().enumerate() {
            let merged = self.pruning.run(run).and_then(|r| r.merged.as_ref());
            if merged.is_some_and(|m| n >= AFFECTED || disturbed(&self.pruning, m)) {
                self.take_back(run);
            }
        }
    }

    /// Merges a path at a position, if a node there stands for its turns.
    fn merge(&mut self, run: u32, path: &Rc<Path>, prefixes: &Rc<[u64]>, position: u32) -> Option<Cancelled> {
        let place = self.pruning.place(&path.constraints[position as usize])?;
        let alike = self.pruning.by_place.get(&place)?.clone();
        for id in alike {
            let node = &self.pruning.nodes[id as usize];
            let own = self.pruning.run(run).is_none_or(|r| r.nodes.contains(&id));
            if own || node.closed || self.compared >= COMPARED {
                continue;
            }
            self.compared += 1;
            let prefix = node.prefix;
            let Some((differing, accessed)) = self.alike(run, path, position, id) else {
                continue;
            };
            let merged = Merged {
                node: id,
                position,
                path: path.clone(),
                prefixes: prefixes.clone(),
                differing,
                accessed,
                turns: 0,
            };
            let cores = self.pruning.nodes[id as usize].cores.clone();
            let implied: Option<Vec<Vec<u32>>> = cores.iter().map(|core| self.implied(&merged, core)).collect();
            let Some(implied) = implied else { continue };
            self.pruning.nodes[id as usize].merged.push(run);
            if let Some(known) = self.pruning.runs.get_mut(&run) {
                known.merged = Some(merged);
            }
            self.pruned.paths += 1;
            for (core, positions) in cores.iter().zip(implied) {
                self.lift(run, position, &positions, &core.behind);
            }
            let nodes = self.pruning.run(run).map(|r| r.nodes.clone()).unwrap_or_default();
            for through in nodes.iter() {
                self.hold(*through, |pruning, m| {
                    pruning.is_disturbed(&m.differing, &m.accessed, id)
                });
            }
            let still = self.pruning.run(run).is_some_and(|r| r.merged.is_some());
            return still.then_some(Cancelled {
                from: position,
                node: prefix,
            });
        }
        None
    }

    /// Whether the state is the same as at a node: what is different and nobody asks for.
    fn alike(&self, run: u32, path: &Path, position: u32, id: u32) -> Option<(Differing, FxHashSet<u64>)> {
        if self.pruning.mode != Prune::RaceSafe {
            return Some(Default::default());
        }
        let node = &self.pruning.nodes[id as usize];
        let (line, other) = (&self.pruning.run(run)?.line, &self.pruning.run(node.owner)?.line);
        let (here, there) = (path.constraints[position as usize].segment, node.segment);
        if line.is_opaque(here) || other.is_opaque(there) {
            return None;
        }
        let differing = line.differing(here, other, there, DIFFERENCES)?;
        let accessed = line.newly_accessed(here, other, there);
        let fits = accessed.len() <= ACCESSED && !self.pruning.is_disturbed(&differing, &accessed, id);
        fits.then_some((differing, accessed))
    }

    /// Whether a merged path's conditions exclude what of a core lies behind the node: the positions that do.
    fn implied(&mut self, merged: &Merged, core: &Core) -> Option<Vec<u32>> {
        let path = &merged.path;
        let mut own = Evaluation::new(&self.store, |s| path.values.get(&s).copied().unwrap_or(0));
        if core.behind.iter().all(|(e, v)| own.value(*e) == u64::from(*v)) {
            return None;
        }
        let before = &path.constraints[..merged.position as usize];
        let same: Option<Vec<u32>> = core
            .before
            .iter()
            .map(|(e, v)| before.iter().position(|c| (c.condition, c.taken) == (*e, *v)))
            .map(|position| position.map(|p| p as u32))
            .collect();
        if same.is_some() {
            return same;
        }
        if !self.is_worth(self.pruned.implications) {
            return None;
        }
        let mut prefix = Prefix::default();
        for (n, c) in before.iter().enumerate() {
            prefix.push(&self.store, c, n as u32);
        }
        let slice = prefix.slice(&self.store, core.behind.iter().map(|(e, _)| *e));
        let held = slice
            .iter()
            .map(|p| &before[*p as usize])
            .map(|c| (c.condition, c.taken));
        let literals: Vec<Literal> = held.chain(core.behind.iter().copied()).collect();
        self.pruned.implications += 1;
        let core = self.prover.excluded(&self.store, &literals)?;
        Some(core.into_iter().filter_map(|n| slice.get(n).copied()).collect())
    }

    /// Whether more questions may be asked after so many: they are to save work.
    fn is_worth(&self, asked: u64) -> bool {
        asked <= self.pruned.turns + AHEAD
    }

    /// A turn of a run's path is infeasible for these positions: kept at the nodes before it.
    pub(super) fn learn(&mut self, run: u32, path: &Path, position: u32, core: &[u32]) {
        let pruning = &self.pruning;
        let Some(known) = pruning.run(run) else { return };
        let splits = |id: &u32| {
            let node = pruning.nodes[*id as usize].position;
            node <= position && core.iter().any(|p| *p < node)
        };
        if !known.nodes.iter().any(splits) {
            return;
        }
        let core = self.minimal(path, position, core);
        let turned = &path.constraints[position as usize];
        let others: Vec<u32> = core.into_iter().filter(|p| *p != position).collect();
        self.lift_along(path, run, position, &others, &[(turned.condition, !turned.taken)]);
    }

    /// The core by serial deletion, fixed values first.
    fn minimal(&mut self, path: &Path, position: u32, core: &[u32]) -> Vec<u32> {
        let mut core = core.to_vec();
        if core.len() > LONG || !self.is_worth(self.prover.asked.shrinking) {
            return core;
        }
        core.sort_by_key(|p| (path.constraints[*p as usize].kind != Kind::Pin, *p));
        let literal = |p: &u32| {
            let c = &path.constraints[*p as usize];
            (c.condition, c.taken != (*p == position))
        };
        let literals: Vec<Literal> = core.iter().map(literal).collect();
        self.pruned.cores += 1;
        match self.prover.core(&self.store, &literals) {
            Some(kept) => kept.into_iter().map(|n| core[n]).collect(),
            None => core,
        }
    }

    /// Lifts a core along the path of a merged run.
    fn lift(&mut self, run: u32, upto: u32, positions: &[u32], behind: &[Literal]) {
        let path = self
            .pruning
            .run(run)
            .and_then(|r| r.merged.as_ref())
            .map(|m| m.path.clone());
        if let Some(path) = path {
            self.lift_along(&path, run, upto, positions, behind);
        }
    }

    /// Keeps a core, positions of a path and what lies behind, at each node of the path up to a position. Where all of
    /// it lies behind the node, it holds for every path there, and is not kept.
    fn lift_along(&mut self, path: &Path, run: u32, upto: u32, positions: &[u32], behind: &[Literal]) {
        let Some(known) = self.pruning.run(run) else { return };
        for id in known.nodes.clone().iter() {
            let node = &self.pruning.nodes[*id as usize];
            let at = node.position;
            if at > upto || node.closed || positions.iter().all(|p| *p >= at) {
                continue;
            }
            if positions
                .iter()
                .any(|p| *p >= at && path.constraints[*p as usize].kind == Kind::Pin)
            {
                self.close(*id);
                continue;
            }
            let literals = |of: &mut dyn Iterator<Item = &u32>| -> Vec<Literal> {
                let constraints = of.map(|p| &path.constraints[*p as usize]);
                constraints.map(|c| (c.condition, c.taken)).collect()
            };
            let core = Core {
                before: literals(&mut positions.iter().filter(|p| **p < at)),
                behind: [literals(&mut positions.iter().filter(|p| **p >= at)), behind.to_vec()].concat(),
            };
            self.keep(*id, core);
        }
    }

    /// Keeps a core at a node, and holds the paths that are merged into it against it.
    fn keep(&mut self, id: u32, core: Core) {
        let node = &mut self.pruning.nodes[id as usize];
        if node.closed || node.cores.iter().any(|known| known.behind == core.behind) {
            return;
        }
        if node.cores.len() >= CORES {
            return self.close(id);
        }
        node.cores.push(core.clone());
        for run in node.merged.clone() {
            let Some(merged) = self.pruning.runs.get_mut(&run).and_then(|r| r.merged.take()) else {
                continue;
            };
            let (implied, position) = (self.implied(&merged, &core), merged.position);
            if let Some(known) = self.pruning.runs.get_mut(&run) {
                known.merged = Some(merged);
            }
            match implied {
                Some(positions) => self.lift(run, position, &positions, &core.behind),
                None => self.take_back(run),
            }
        }
    }

    /// Nothing may be merged into a node any more.
    fn close(&mut self, id: u32) {
        let node = &mut self.pruning.nodes[id as usize];
        node.closed = true;
        for run in std::mem::take(&mut node.merged) {
            self.take_back(run);
        }
    }

    /// The turns of a path that was merged are asked for after all.
    fn take_back(&mut self, run: u32) {
        let Some(merged) = self.pruning.runs.get_mut(&run).and_then(|r| r.merged.take()) else {
            return;
        };
        self.pruning.nodes[merged.node as usize].merged.retain(|r| *r != run);
        self.pruned.paths -= 1;
        self.pruned.turns -= merged.turns;
        self.pruned.taken_back += 1;
        self.wish(run, &merged.path, &merged.prefixes, merged.position as usize, None);
    }

    /// Whether a turn is not to be asked for: another path's stands for it and promises as much.
    pub(super) fn stands_in(&self, other: u64, class: u32) -> bool {
        if self.order == Order::DepthFirst {
            return true;
        }
        match self.pending.get(&other) {
            Some(waiting) => class <= self.class(waiting),
            None => class <= rank::NEW_WAY || self.known.contains(&other),
        }
    }

    /// A turn of a run's path is not asked for.
    pub(super) fn cancelled(&mut self, run: u32, side: Side) {
        if let Some(merged) = self.pruning.runs.get_mut(&run).and_then(|r| r.merged.as_mut()) {
            merged.turns += 1;
            self.pruned.turns += 1;
        }
        if self.pruning.mode == Prune::Branch {
            self.refuted.entry(side).or_default().doubted = true;
        }
    }

    /// Something is suspicious on the path of a run: [`Prune::RaceSafe`] prunes nothing there, since another path to it
    /// may be the one that shows it.
    pub fn spare(&mut self, run: u32) {
        if self.pruning.mode != Prune::RaceSafe {
            return;
        }
        self.take_back(run);
        let nodes = self.pruning.run(run).map(|r| r.nodes.clone()).unwrap_or_default();
        nodes.iter().for_each(|id| self.close(*id));
    }

    /// The same up to a position.
    pub(super) fn spare_before(&mut self, run: u32, position: u32) {
        let nodes = self.pruning.run(run).map(|r| r.nodes.clone()).unwrap_or_default();
        for id in nodes.iter() {
            if self.pruning.nodes[*id as usize].position <= position {
                self.close(*id);
            }
        }
    }
}

/// The path before a position.
fn before(prefixes: &[u64], n: usize) -> u64 {
    n.checked_sub(1).map_or(0, |n| prefixes[n])
}

/// The path behind a node that a path takes after it was merged.
pub(super) fn along(search: &Search, node: u64, c: &Constraint) -> (u64, u64) {
    let store = &search.store;
    (
        longer(store, node, c.condition, c.taken),
        longer(store, node, c.condition, !c.taken),
    )
}
