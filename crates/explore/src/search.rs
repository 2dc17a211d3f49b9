//! The search: paths in, the next input out.
//!
//! *Generational*: every branch on input of a new path beyond the point where it was turned becomes a
//! wish for its other side; the most promising wish is solved next (P. Godefroid and others, NDSS 2008).
//! Wishes for sides that no run has taken come first, then sides that none has taken so late on its path,
//! then those whose side was asked for least. Where a side that no run has taken is infeasible on its path,
//! the branches in the unsatisfiable core are turned next: so a number grows digit by digit towards the one
//! that is compared with. What bounds it: wishes per side and time, and per path.
//!
//! *Depth-first*: the deepest branch whose other side was not tried, as in the paper: every feasible path,
//! each once. For programs with few paths, and where the tree itself is asked for.
//!
//! Both know a path by its prefix (conditions and their values), so no prefix is asked for twice, and hold
//! each run against the prefix that it was made for: one that leaves it earlier *diverged* and is counted.

use crate::evaluate::Assignment;
use crate::expression::Store;
use crate::path::{Kind, Losses, Path};
use crate::query::{LONGEST, Prefix, Prover, Turned};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BinaryHeap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// How branches are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By promise.
    #[default]
    Generational,
    /// The deepest first.
    DepthFirst,
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Wishes for one side of one branch, each time that a path comes to it.
    pub per_side: u32,
    /// Wishes that one path makes.
    pub per_path: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            per_side: 40,
            per_path: 4_000,
        }
    }
}

/// An input to run next.
#[derive(Clone, Debug)]
pub struct Next {
    /// The run that it was made from.
    pub parent: u32,
    /// What is changed in that run's input.
    pub changes: Assignment,
    wish: Rc<Wish>,
}

#[derive(Debug)]
struct Wish {
    parent: u32,
    path: Rc<Path>,
    slice: Vec<u32>,
    position: u32,
    /// Hash of the path up to the other side.
    prefix: u64,
}

/// One way out of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Side {
    /// The branch.
    pub site: u64,
    /// Its condition's value.
    pub taken: bool,
}

/// A side, at the so-manieth time that a path comes to the branch: the third digit of a number is not its
/// first. Times beyond [`TIMES`] are told apart by their logarithm.
type Turn = (Side, u32);

/// Rank of wishes that stand in the way of a side that no run has taken; above all others but such sides.
const PUT_FORWARD: u32 = 4;

/// Times that are told apart.
const TIMES: u32 = 16;

fn turn(side: Side, times: u32) -> Turn {
    let bucket = if times < TIMES { times } else { TIMES + times.ilog2() };
    (side, bucket)
}

/// What a search came to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Different paths.
    pub paths: u64,
    /// Runs that left the path that they were made for.
    pub diverged: u64,
    /// Wishes left out because their side or path had its share.
    pub cut: u64,
    /// Sides proven infeasible in their context.
    pub infeasible: u64,
    /// Expressions in all traces.
    pub nodes: u64,
    /// What the traces left out.
    pub losses: Losses,
}

/// The search.
#[derive(Debug)]
pub struct Search {
    /// All expressions.
    pub store: Store,
    /// The solver.
    pub prover: Prover,
    /// Counts.
    pub tally: Tally,
    order: Order,
    bounds: Bounds,
    queue: BinaryHeap<Queued>,
    number: u64,
    /// Prefixes that were run or asked for.
    known: FxHashSet<u64>,
    paths: FxHashSet<u64>,
    asked: FxHashMap<Turn, u32>,
    turns: FxHashSet<Turn>,
    sides: FxHashSet<Side>,
    /// Wishes that wait, by the prefix that they lead to.
    pending: FxHashMap<u64, Rc<Wish>>,
}

#[derive(Debug)]
struct Queued {
    rank: (u32, i64, std::cmp::Reverse<u64>),
    turn: Turn,
    fresh: bool,
    wish: Rc<Wish>,
}

impl PartialEq for Queued {
    fn eq(&self, other: &Queued) -> bool {
        self.rank == other.rank
    }
}
impl Eq for Queued {}
impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Queued) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Queued {
    fn cmp(&self, other: &Queued) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

/// The hash of a prefix, one condition longer.
fn longer(prefix: u64, condition: u32, taken: bool) -> u64 {
    let mut hasher = FxHasher::default();
    (prefix, condition, taken).hash(&mut hasher);
    hasher.finish()
}

impl Search {
    /// A search that has seen nothing.
    pub fn new(prover: Prover, order: Order, bounds: Bounds) -> Search {
        Search {
            store: Store::default(),
            prover,
            tally: Tally::default(),
            order,
            bounds,
            queue: BinaryHeap::new(),
            number: 0,
            known: FxHashSet::default(),
            paths: FxHashSet::default(),
            asked: FxHashMap::default(),
            turns: FxHashSet::default(),
            sides: FxHashSet::default(),
            pending: FxHashMap::default(),
        }
    }

    /// Branch sides on input that some run took.
    pub fn sides(&self) -> usize {
        self.sides.len()
    }

    /// Branches on input of which a side was never taken, with that side.
    pub fn open_sides(&self) -> impl Iterator<Item = Side> + '_ {
        self.sides.iter().filter_map(|side| {
            let other = Side {
                taken: !side.taken,
                ..*side
            };
            (!self.sides.contains(&other)).then_some(other)
        })
    }

    /// Wishes that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Takes in the path of a run; `made_for` is what the run's input was made for, if it was made by this
    /// search. Says whether the path is new.
    pub fn add(&mut self, run: u32, path: Path, made_for: Option<&Next>) -> bool {
        self.tally.runs += 1;
        self.tally.nodes += path.nodes;
        self.tally.losses += path.losses;
        let path = Rc::new(path);
        let mut prefixes = Vec::with_capacity(path.constraints.len() + 1);
        let mut hash = 0;
        let mut times: FxHashMap<u64, u32> = FxHashMap::default();
        for c in &path.constraints {
            hash = longer(hash, c.condition.0, c.taken);
            prefixes.push(hash);
            let side = Side {
                site: c.site,
                taken: c.taken,
            };
            let time = times.entry(c.site).or_default();
            self.turns.insert(turn(side, *time));
            *time += 1;
            if c.kind == Kind::Branch {
                self.sides.insert(side);
            }
        }
        let mut from = 0;
        if let Some(next) = made_for {
            let position = next.wish.position as usize;
            if prefixes.get(position) == Some(&next.wish.prefix) {
                from = position + 1;
            } else {
                self.tally.diverged += 1;
            }
        }
        let new = self.paths.insert(hash);
        self.tally.paths += u64::from(new);
        if new {
            self.wish(run, &path, &prefixes, from);
        }
        // Every prefix of it was run.
        self.known.extend(prefixes);
        new
    }

    /// Wishes for the other sides of a path's branches from a position on.
    fn wish(&mut self, run: u32, path: &Rc<Path>, prefixes: &[u64], from: usize) {
        let mut prefix = Prefix::default();
        let mut before = 0;
        let mut made = 0;
        let mut times: FxHashMap<u64, u32> = FxHashMap::default();
        for (n, c) in path.constraints.iter().enumerate() {
            let position = n as u32;
            let seen = times.entry(c.site).or_default();
            let time = *seen;
            *seen += 1;
            let other = longer(before, c.condition.0, !c.taken);
            before = prefixes[n];
            if n >= from && c.kind.has_other_side() && self.known.insert(other) {
                let side = Side {
                    site: c.site,
                    taken: !c.taken,
                };
                let turn = turn(side, time);
                let fresh = !self.turns.contains(&turn);
                let asked = self.asked.entry(turn).or_default();
                let slice = prefix.slice(&self.store, c);
                if self.order == Order::Generational && (made >= self.bounds.per_path || *asked >= self.bounds.per_side)
                    || slice.len() > LONGEST
                {
                    self.tally.cut += 1;
                } else {
                    *asked += 1;
                    made += 1;
                    let class = match (c.kind, fresh) {
                        (Kind::Length, true) => 2,
                        (Kind::Length, false) => 0,
                        (_, true) if !self.sides.contains(&side) => 4,
                        (_, true) => 3,
                        (_, false) => 1,
                    };
                    self.number += 1;
                    let rank = match self.order {
                        Order::Generational => (class, -i64::from(*asked), std::cmp::Reverse(self.number)),
                        Order::DepthFirst => (0, i64::from(position), std::cmp::Reverse(u64::MAX - self.number)),
                    };
                    let wish = Rc::new(Wish {
                        parent: run,
                        path: path.clone(),
                        slice,
                        position,
                        prefix: other,
                    });
                    self.pending.insert(other, wish.clone());
                    self.queue.push(Queued {
                        rank,
                        turn,
                        fresh,
                        wish,
                    });
                }
            }
            prefix.push(&self.store, c, position);
        }
    }

    /// The next input; `None` when nothing is left to ask for. `stop` is asked before each query.
    pub fn next(&mut self, mut stop: impl FnMut() -> bool) -> Option<Next> {
        while !stop() {
            let mut queued = self.queue.pop()?;
            // A side that was fresh when it was wished for may have been reached since.
            if queued.fresh && self.order == Order::Generational && self.turns.contains(&queued.turn) {
                queued.fresh = false;
                queued.rank.0 = queued.rank.0.min(1);
                self.queue.push(queued);
                continue;
            }
            // A wish that was put forward stands in the queue twice.
            let Some(wish) = self.pending.remove(&queued.wish.prefix) else {
                continue;
            };
            match self.prover.turn(&self.store, &wish.path, &wish.slice, wish.position) {
                Turned::Input(changes) => {
                    return Some(Next {
                        parent: wish.parent,
                        changes,
                        wish,
                    });
                }
                Turned::Infeasible(core) => {
                    self.tally.infeasible += 1;
                    if !self.sides.contains(&queued.turn.0) {
                        self.put_forward(&wish, &core);
                    }
                }
                Turned::Unknown => {}
            }
        }
        None
    }

    /// A side that no run has taken is out of reach on this path: the branches that the core names stand in
    /// the way, so their other sides come next.
    fn put_forward(&mut self, wish: &Wish, core: &[u32]) {
        const MOST: usize = 16;
        if self.order == Order::DepthFirst {
            return;
        }
        let in_the_way: FxHashSet<u32> = core
            .iter()
            .copied()
            .filter(|p| *p != wish.position)
            .take(MOST)
            .collect();
        let mut before = 0;
        for (n, c) in wish.path.constraints[..wish.position as usize].iter().enumerate() {
            let other = longer(before, c.condition.0, !c.taken);
            before = longer(before, c.condition.0, c.taken);
            let Some(waiting) = self.pending.get(&other).filter(|_| in_the_way.contains(&(n as u32))) else {
                continue;
            };
            self.number += 1;
            let side = Side {
                site: c.site,
                taken: !c.taken,
            };
            self.queue.push(Queued {
                rank: (PUT_FORWARD, 0, std::cmp::Reverse(self.number)),
                turn: (side, u32::MAX),
                fresh: false,
                wish: waiting.clone(),
            });
        }
    }
}
