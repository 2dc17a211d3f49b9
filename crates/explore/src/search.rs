//! The search: paths in, the next input out.
//!
//! *Generational*: every branch on input of a new path beyond the point where it was turned becomes a
//! wish for its other side; the most promising wish is solved next (P. Godefroid and others, NDSS 2008).
//! Wishes for sides that no run has taken come first, then turns that none has taken, then ways through the
//! program that none went, each with those first whose turn was asked for least; repetitions come last and
//! end the search when they show nothing (see `novelty`). Where a side of the program that no run has taken
//! is infeasible on its path, the branches in the unsatisfiable core are turned next: so a number grows digit
//! by digit towards the one that is compared with. What bounds it: wishes per turn, and per path.
//!
//! *Depth-first*: the deepest branch whose other side was not tried, as in the paper: every feasible path,
//! each once. For programs with few paths, and where the tree itself is asked for.
//!
//! Turns that another path's stand for are not asked for (see `pruning`).
//!
//! Both know a path by its prefix (conditions and their values), so no prefix is asked for twice, and hold
//! each run against the prefix that it was made for: one that leaves it earlier *diverged* and is counted.

mod open_sides;
mod pruning;
mod state;

pub use pruning::{Prune, Pruned};
pub use state::State;

use self::open_sides::Refuted;
use self::pruning::{Cancelled, Pruning};
use crate::evaluate::Assignment;
use crate::expression::{Expr, Store, mixed};
pub use crate::novelty::{BARREN, Own, Side, Turn};
use crate::novelty::{Times, Way};
use crate::path::{Constraint, Kind, Losses, Path};
use crate::query::{Patience, Prover, Turned, before};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};
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
    is_repetition: bool,
}

#[derive(Debug)]
struct Wish {
    parent: u32,
    path: Rc<Path>,
    position: u32,
    /// Hash of the path up to the other side.
    prefix: u64,
    /// The turn that it asks for.
    turn: Turn,
    /// The way so far.
    comes_by: u64,
    /// The way with this turn, if that is in the program's own code.
    way: Option<u64>,
    /// Whether it was a repetition when it was made.
    is_repetition: bool,
}

impl Wish {
    fn turned(&self) -> &Constraint {
        &self.path.constraints[self.position as usize]
    }
}

/// Rank of wishes: what a run on them promises.
mod rank {
    /// A known way, or another turn in a model or of an input's length: last, and not for ever.
    pub const REPETITION: u32 = 0;
    /// Another way through the program.
    pub const NEW_WAY: u32 = 1;
    /// An input goes on, or ends, where none did.
    pub const LENGTH: u32 = 2;
    /// A side that none has taken so late on its path.
    pub const NEW_TURN: u32 = 3;
    /// A side that no run has taken, and what stands in the way of one.
    pub const NEW_SIDE: u32 = 4;
}

/// What a search came to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Runs on repetitions.
    pub repetitions: u64,
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
    /// What was pruned by this search.
    pub pruned: Pruned,
    pruning: Pruning,
    /// Nodes that the path that is being added was compared with.
    compared: usize,
    own: Own,
    order: Order,
    bounds: Bounds,
    queue: BinaryHeap<Queued>,
    number: u64,
    /// Prefixes that were run or asked for.
    known: FxHashSet<u64>,
    paths: FxHashSet<u64>,
    /// Wishes for a turn, repetitions apart.
    asked: FxHashMap<(Turn, bool), u32>,
    turns: FxHashSet<Turn>,
    sides: FxHashSet<Side>,
    /// Ways of all runs up to each of the program's own branches.
    ways: FxHashSet<u64>,
    /// Ways at whose ends a side is open that was infeasible on some path there.
    leads: FxHashMap<u64, Side>,
    /// Wishes by the way that they lead to.
    by_way: FxHashMap<u64, Vec<Rc<Wish>>>,
    /// Proofs that no input takes a side, and whether some question for it has no such answer.
    refuted: FxHashMap<Side, Refuted>,
    /// Wishes that wait, by the prefix that they lead to.
    pending: FxHashMap<u64, Rc<Wish>>,
    /// Repetitions since something was new.
    barren: u32,
    /// Whether inputs were let grow further on the way.
    grown: bool,
    /// New turns that inputs of this batch were made for, and what was held back since it waits for the same.
    in_flight: FxHashSet<Turn>,
    held_back: Vec<Queued>,
    /// What the solver gave up soon and is asked again with patience, and the work on other questions since the last one.
    hard: BinaryHeap<Queued>,
    credit: u64,
}

/// What the run of an input counts as work, in conflicts of the solver.
const RUN: u64 = 1_000;
/// Hard questions get one part in so many of the work.
const HARD_SHARE: u64 = 4;

#[derive(Debug)]
struct Queued {
    rank: (u32, i64, std::cmp::Reverse<u64>),
    /// The side in whose way this stands, if it is put forward for that.
    in_the_way: Option<Side>,
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
fn longer(store: &Store, prefix: u64, condition: Expr, taken: bool) -> u64 {
    let mut hasher = FxHasher::default();
    (prefix, store.digest(condition), taken).hash(&mut hasher);
    mixed(hasher.finish())
}

impl Search {
    /// A search that has seen nothing, in a program with these branches of its own.
    pub fn new(prover: Prover, order: Order, bounds: Bounds, own: Own) -> Search {
        Search {
            store: Store::default(),
            prover,
            tally: Tally::default(),
            pruned: Pruned::default(),
            pruning: Pruning::default(),
            compared: 0,
            own,
            order,
            bounds,
            queue: BinaryHeap::new(),
            number: 0,
            known: FxHashSet::default(),
            paths: FxHashSet::default(),
            asked: FxHashMap::default(),
            turns: FxHashSet::default(),
            sides: FxHashSet::default(),
            ways: FxHashSet::default(),
            leads: FxHashMap::default(),
            by_way: FxHashMap::default(),
            refuted: FxHashMap::default(),
            pending: FxHashMap::default(),
            barren: 0,
            grown: false,
            in_flight: FxHashSet::default(),
            held_back: Vec::new(),
            hard: BinaryHeap::new(),
            credit: 0,
        }
    }

    /// Sides of branches on input that some run took, in models too.
    pub fn sides(&self) -> usize {
        self.sides.len()
    }

    /// Branches on input of which a side was never taken, with that side.
    pub fn open_sides(&self) -> impl Iterator<Item = Side> + '_ {
        let others = self.sides.iter().map(|side| side.other());
        others.filter(|other| !self.sides.contains(other))
    }

    /// Work so far: that of the solver, in conflicts, and what runs count.
    pub fn work(&self) -> u64 {
        self.prover.effort() + RUN * self.tally.runs
    }

    /// Wishes that wait.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Whether all that waits are repetitions, and the last of these brought nothing.
    pub fn only_repeats(&self) -> bool {
        let repeats = |q: &Queued| q.rank.0 == rank::REPETITION;
        self.barren >= BARREN && self.hard.peek().is_none_or(repeats) && self.queue.peek().is_some_and(repeats)
    }

    /// Inputs may grow further from now on. What waits was asked for within the old bounds, and what was infeasible was so
    /// within them: all is asked for anew of the paths that are added [`Search::again`], and no side is infeasible any
    /// more. What runs have taken stays known.
    pub fn widen(&mut self) {
        self.queue.clear();
        self.hard.clear();
        self.held_back.clear();
        self.pending.clear();
        self.by_way.clear();
        self.known.clear();
        self.paths.clear();
        self.asked.clear();
        self.refuted.clear();
        self.leads.clear();
        (self.barren, self.grown) = (0, true);
    }

    /// The run that was added last brought something that its path does not show.
    pub fn discovered(&mut self) {
        self.barren = 0;
    }

    /// Takes in the path of a run; `made_for` is what the run's input was made for, if it was made by this
    /// search. Says whether the path is new.
    pub fn add(&mut self, run: u32, mut path: Path, made_for: Option<&Next>) -> bool {
        self.begin_batch();
        self.tally.runs += 1;
        self.tally.nodes += path.nodes;
        self.tally.losses += path.losses;
        let accesses = std::mem::take(&mut path.accesses);
        let path = Rc::new(path);
        let mut prefixes = Vec::with_capacity(path.constraints.len() + 1);
        let mut hash = 0;
        let (mut times, mut way) = (Times::default(), Way::default());
        let mut news = false;
        for c in &path.constraints {
            hash = longer(&self.store, hash, c.condition, c.taken);
            prefixes.push(hash);
            if self.says_nothing(c) {
                continue;
            }
            let turn = times.turn(c);
            news |= self.turns.insert(turn);
            if matches!(c.kind, Kind::Branch | Kind::Decided | Kind::Divisor) {
                self.sides.insert(turn.0);
            }
            if self.own.has(c) {
                news |= self.ways.insert(way.take(turn));
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
            self.tally.repetitions += u64::from(next.is_repetition);
        }
        match (news, made_for) {
            (true, _) => self.barren = 0,
            (false, Some(next)) if next.is_repetition => self.barren += 1,
            _ => {}
        }
        let new = self.paths.insert(hash);
        self.tally.paths += u64::from(new);
        let prefixes: Rc<[u64]> = prefixes.into();
        if new {
            let cancelled = self.place(run, &path, &prefixes, (from, accesses), made_for);
            for (position, side, way) in self.wish(run, &path, &prefixes, from, cancelled) {
                self.refute(&path, position, side, way, &[]);
            }
        }
        // Every prefix of it was run, those too that others were to lead to.
        for prefix in prefixes.iter() {
            self.pending.remove(prefix);
        }
        self.known.extend(prefixes.iter().copied());
        new
    }

    /// What a model decides whatever the input: a turn that nothing hangs on.
    fn says_nothing(&self, c: &Constraint) -> bool {
        c.kind == Kind::Decided && !self.own.has(c)
    }

    /// Wishes for the other sides of a path's branches from a position on. Gives the sides of the program that no run
    /// has taken and that the path excludes by itself, with their positions and the ways there.
    fn wish(
        &mut self,
        run: u32,
        path: &Rc<Path>,
        prefixes: &[u64],
        from: usize,
        cancelled: Option<Cancelled>,
    ) -> Vec<(u32, Side, u64)> {
        let mut stands_in = cancelled.map(|c| c.node);
        let mut before = 0;
        let mut made = 0;
        let mut cut = None;
        let mut excluded = Vec::new();
        let (mut times, mut way) = (Times::default(), Way::default());
        for (n, c) in path.constraints.iter().enumerate() {
            let position = n as u32;
            let alike = match (&mut stands_in, cancelled) {
                (Some(node), Some(cancelled)) if position >= cancelled.from => {
                    let (on, other) = pruning::along(self, *node, c);
                    *node = on;
                    Some(other)
                }
                _ => None,
            };
            if self.says_nothing(c) {
                before = prefixes[n];
                continue;
            }
            let taken = times.turn(c);
            let turn = (taken.0.other(), taken.1);
            let own = self.own.has(c);
            let (comes_by, leads) = (way.hash(), own.then(|| way.with(turn)));
            if own {
                way.take(taken);
            }
            let other = longer(&self.store, before, c.condition, !c.taken);
            before = prefixes[n];
            if n >= from && c.kind.has_other_side() && !self.known.contains(&other) {
                let mut wish = Wish {
                    parent: run,
                    path: path.clone(),
                    position,
                    prefix: other,
                    turn,
                    comes_by,
                    way: leads,
                    is_repetition: false,
                };
                let class = self.class(&wish);
                wish.is_repetition = class == rank::REPETITION;
                if alike.is_some_and(|other| self.stands_in(other, class)) {
                    self.cancelled(run, turn.0);
                    continue;
                }
                self.known.insert(other);
                let asked = self.asked.entry((turn, wish.is_repetition)).or_default();
                if self.order == Order::Generational && (made >= self.bounds.per_path || *asked >= self.bounds.per_side)
                {
                    self.tally.cut += 1;
                    self.refuted.entry(turn.0).or_default().doubted = true;
                    cut = cut.max(Some(position));
                } else {
                    *asked += 1;
                    made += 1;
                    self.number += 1;
                    let rank = match self.order {
                        Order::Generational => (class, -i64::from(*asked), std::cmp::Reverse(self.number)),
                        Order::DepthFirst => {
                            let age = std::cmp::Reverse(u64::MAX - self.number);
                            (rank::NEW_WAY, i64::from(position), age)
                        }
                    };
                    let wish = Rc::new(wish);
                    self.pending.insert(other, wish.clone());
                    if let Some(way) = wish.way {
                        self.by_way.entry(way).or_default().push(wish.clone());
                    }
                    self.queue.push(Queued {
                        rank,
                        in_the_way: None,
                        wish,
                    });
                }
            }
            if n >= from && own && c.kind == Kind::Decided && !self.sides.contains(&turn.0) {
                excluded.push((position, turn.0, comes_by));
            }
        }
        if let Some(position) = cut {
            self.spare_before(run, position);
        }
        excluded
    }

    /// What a wish promises by what is known now. It promises more later only where its way becomes a lead.
    fn class(&self, wish: &Wish) -> u32 {
        let new_turn = !self.turns.contains(&wish.turn);
        if wish.turned().kind == Kind::Length {
            return if new_turn { rank::LENGTH } else { rank::REPETITION };
        }
        match wish.way {
            _ if new_turn && !self.sides.contains(&wish.turn.0) => rank::NEW_SIDE,
            _ if new_turn => rank::NEW_TURN,
            Some(way) if !self.ways.contains(&way) || self.leads_on(way) => rank::NEW_WAY,
            _ => rank::REPETITION,
        }
    }

    /// The inputs up to the next call of this are made before any of them runs: only one for each new turn.
    pub fn begin_batch(&mut self) {
        self.in_flight.clear();
        self.queue.extend(self.held_back.drain(..));
    }

    /// What is asked next: something hard once as much work went into other questions as it may take, or nothing new is
    /// left beside it.
    fn pop(&mut self) -> Option<(Queued, Patience)> {
        if let Some(hard) = self.hard.peek() {
            let most = self.prover.most(hard.wish.turned().site, Patience::Full);
            let repeats = self.queue.peek().is_none_or(|q| q.rank.0 == rank::REPETITION);
            if self.credit >= HARD_SHARE * most || repeats && hard.rank.0 != rank::REPETITION || self.queue.is_empty() {
                return Some((self.hard.pop()?, Patience::Full));
            }
        }
        Some((self.queue.pop()?, Patience::Short))
    }

    /// The next input; `None` when nothing is left to ask for, or only repetitions are. `stop` is asked before
    /// each query.
    pub fn next(&mut self, mut stop: impl FnMut() -> bool) -> Option<Next> {
        while !stop() && !self.only_repeats() {
            let (mut queued, patience) = self.pop()?;
            let class = self.class(&queued.wish);
            let stale = match queued.in_the_way {
                // What it stood in the way of was reached; it waits at its own place, too.
                Some(side) if self.sides.contains(&side) => continue,
                Some(_) => false,
                None => self.order == Order::Generational && class < queued.rank.0,
            };
            if stale {
                queued.rank.0 = class;
                match patience {
                    Patience::Short => self.queue.push(queued),
                    Patience::Full => self.hard.push(queued),
                }
                continue;
            }
            let is_new = class >= rank::LENGTH && self.order == Order::Generational;
            if is_new && self.in_flight.contains(&queued.wish.turn) {
                self.held_back.push(queued);
                continue;
            }
            // A wish that was put forward stands in the queue twice.
            let Some(wish) = self.pending.remove(&queued.wish.prefix) else {
                continue;
            };
            let (store, path) = (&self.store, &wish.path);
            // Found only now: most wishes are never asked for.
            let slice = before(store, path, wish.position);
            let before = self.prover.effort();
            let turned = match self.order {
                Order::Generational => self.prover.turn_freely(store, path, &slice, wish.position, patience),
                Order::DepthFirst => self.prover.turn(store, path, &slice, wish.position, Patience::Full),
            };
            let effort = self.prover.effort() - before;
            match patience {
                Patience::Short => self.credit += effort,
                Patience::Full => self.credit = self.credit.saturating_sub(HARD_SHARE * effort),
            }
            match turned {
                Turned::Input(changes) => {
                    if is_new {
                        self.in_flight.insert(wish.turn);
                    }
                    self.credit += RUN;
                    return Some(Next {
                        parent: wish.parent,
                        changes,
                        is_repetition: queued.rank.0 == rank::REPETITION,
                        wish,
                    });
                }
                Turned::Infeasible(core) => {
                    self.tally.infeasible += 1;
                    // Such answers do not count against the bound of wishes for a side that no run has taken.
                    if let Some(asked) = self.asked.get_mut(&(wish.turn, wish.is_repetition))
                        && !self.sides.contains(&wish.turn.0)
                    {
                        *asked = asked.saturating_sub(1);
                    }
                    self.learn(wish.parent, &wish.path, wish.position, &core);
                    if wish.way.is_some() {
                        self.refute(&wish.path, wish.position, wish.turn.0, wish.comes_by, &core);
                    }
                }
                Turned::Unknown if patience == Patience::Short && self.order == Order::Generational => {
                    self.pending.insert(wish.prefix, wish.clone());
                    self.hard.push(Queued { wish, ..queued });
                }
                Turned::Unknown => {
                    self.refuted.entry(wish.turn.0).or_default().doubted = true;
                    self.spare_before(wish.parent, wish.position);
                }
            }
        }
        None
    }
}
