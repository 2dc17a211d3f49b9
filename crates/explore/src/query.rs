//! From "the other side of this branch" to an answer: slicing, caches, solver, re-check.
//!
//! - *Independence*: of the path's prefix only the constraints that share symbols with the turned one,
//!   directly or through others, go into the query; the rest keeps the values that it had (C. Cadar and
//!   others, KLEE, 2008). [`Prefix`] keeps the groups by union-find while the path grows, so a query
//!   costs about the length of its path.
//! - *Caches*: answers by query, and recent models, which often satisfy the next query too.
//! - *Re-check*: a model counts only after the literals were evaluated under it.

use crate::evaluate::{Assignment, Evaluation};
use crate::expression::{Expr, Store, Symbol};
use crate::path::{Constraint, Kind, Path};
use crate::solver::{Answer, Literal, Solver, minimal_core};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Models that are tried before the solver is asked.
const MODELS: usize = 32;
/// Most literals of a query; what is longer is given up as unknown.
const LONGEST: usize = 4_096;
/// With more fixed addresses than this a query holds none of them: they are hashes, mostly, and those are hard.
const MOST_PINS: usize = 4;

/// For each question at a branch that the solver gave up, less those that it answered, the next one there gets half as
/// much; at most so often.
const HARDEST: u32 = 6;

/// Conflicts of a question that only saves work if it is answered soon.
const LITTLE: u64 = 200;

/// How much of the solver a question gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// What most questions need; it may be asked again.
    Short,
    /// All that a question gets.
    Full,
}

/// Conflicts of a question that may be asked again.
const SHORT: u64 = 400;

/// Groups of constraints that share symbols.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    group_of: FxHashMap<Symbol, u32>,
    parents: Vec<u32>,
    members: Vec<Vec<u32>>,
    seen: FxHashSet<(u32, bool)>,
}

impl Prefix {
    fn root(&mut self, mut group: u32) -> u32 {
        while self.parents[group as usize] != group {
            let above = self.parents[group as usize];
            self.parents[group as usize] = self.parents[above as usize];
            group = above;
        }
        group
    }

    /// Positions of the constraints so far that bear on these conditions, ascending.
    pub fn slice(&mut self, store: &Store, conditions: impl IntoIterator<Item = Expr>) -> Vec<u32> {
        let mut roots: Vec<u32> = Vec::new();
        for condition in conditions {
            for symbol in store.symbols(condition).iter() {
                if let Some(group) = self.group_of.get(symbol).copied() {
                    let root = self.root(group);
                    if !roots.contains(&root) {
                        roots.push(root);
                    }
                }
            }
        }
        let mut slice: Vec<u32> = roots
            .iter()
            .flat_map(|r| self.members[*r as usize].iter().copied())
            .collect();
        slice.sort_unstable();
        slice
    }

    /// The path goes on with this constraint, at this position. One that was there before adds nothing.
    pub fn push(&mut self, store: &Store, constraint: &Constraint, position: u32) {
        if !self.seen.insert((constraint.condition.0, constraint.taken)) {
            return;
        }
        let mut home: Option<u32> = None;
        for symbol in store.symbols(constraint.condition).iter() {
            let group = match self.group_of.get(symbol).copied() {
                Some(group) => self.root(group),
                None => {
                    let group = self.parents.len() as u32;
                    self.parents.push(group);
                    self.members.push(Vec::new());
                    self.group_of.insert(*symbol, group);
                    group
                }
            };
            home = Some(match home {
                None => group,
                Some(home) if home == group => home,
                Some(home) => self.join(home, group),
            });
        }
        if let Some(home) = home {
            self.members[home as usize].push(position);
        }
    }

    fn join(&mut self, a: u32, b: u32) -> u32 {
        let (large, small) = if self.members[a as usize].len() < self.members[b as usize].len() {
            (b, a)
        } else {
            (a, b)
        };
        self.parents[small as usize] = large;
        let moved = std::mem::take(&mut self.members[small as usize]);
        self.members[large as usize].extend(moved);
        large
    }
}

/// Positions of the constraints of a path before one that bear on it, ascending.
pub fn before(store: &Store, path: &Path, position: u32) -> Vec<u32> {
    let mut prefix = Prefix::default();
    for (n, constraint) in (0..position).zip(&path.constraints) {
        prefix.push(store, constraint, n);
    }
    prefix.slice(store, [path.constraints[position as usize].condition])
}

/// What became of a turned branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turned {
    /// These symbols, changed so, lead to the other side.
    Input(Assignment),
    /// No input that agrees with the slice does; these positions of the path (the turned one included) say why.
    Infeasible(Vec<u32>),
    /// The solver gave up.
    Unknown,
}

/// Counts of what was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Queries.
    pub queries: u64,
    /// Answered by a query before.
    pub repeated: u64,
    /// Answered by a model of another query.
    pub by_model: u64,
    /// Satisfiable.
    pub sat: u64,
    /// Unsatisfiable.
    pub unsat: u64,
    /// Given up.
    pub unknown: u64,
    /// Models of the solver that did not hold.
    pub wrong_models: u64,
    /// Questions asked to make cores minimal, of which none is counted above.
    pub shrinking: u64,
    /// Conflicts that the solver met.
    pub conflicts: u64,
}

/// Asks the solver.
pub struct Prover {
    solver: Box<dyn Solver>,
    budget: u64,
    /// Answers by question; of those that were given up, with the conflicts that they got.
    answers: FxHashMap<Vec<(u32, bool)>, (Answer, u64)>,
    models: VecDeque<Assignment>,
    /// How hard questions are at a branch.
    hard: FxHashMap<u64, u32>,
    /// Counts.
    pub asked: Asked,
}

impl std::fmt::Debug for Prover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prover")
            .field("solver", &self.solver.name())
            .field("asked", &self.asked)
            .finish()
    }
}

impl Prover {
    /// `budget` in conflicts for each query.
    pub fn new(solver: Box<dyn Solver>, budget: u64) -> Prover {
        Prover {
            solver,
            budget,
            answers: FxHashMap::default(),
            models: VecDeque::new(),
            hard: FxHashMap::default(),
            asked: Asked::default(),
        }
    }

    /// Asks for the other side of the constraint at `position`, the constraints of `slice` held. Addresses that were
    /// fixed to their values are let go where that is the only way: what the program finds at another address is not
    /// known, so such a run may leave the path, but what is infeasible is so whatever the addresses.
    pub fn turn_freely(
        &mut self,
        store: &Store,
        path: &Path,
        slice: &[u32],
        position: u32,
        patience: Patience,
    ) -> Turned {
        let is_pin = |p: &&u32| path.constraints[**p as usize].kind == Kind::Pin;
        let pins = slice.iter().filter(is_pin).count();
        if pins == 0 {
            return self.turn(store, path, slice, position, patience);
        }
        let free: Vec<u32> = slice.iter().filter(|p| !is_pin(p)).copied().collect();
        let loose = self.turn(store, path, &free, position, patience);
        if pins > MOST_PINS || !matches!(loose, Turned::Input(_)) {
            return loose;
        }
        match self.turn(store, path, slice, position, patience) {
            Turned::Input(exact) => Turned::Input(exact),
            _ => loose,
        }
    }

    /// Asks for the other side of the constraint at `position`, the constraints of `slice` held.
    pub fn turn(&mut self, store: &Store, path: &Path, slice: &[u32], position: u32, patience: Patience) -> Turned {
        let literal = |p: &u32| {
            let c = &path.constraints[*p as usize];
            (c.condition, c.taken)
        };
        let mut literals: Vec<Literal> = slice.iter().map(literal).collect();
        let turned = &path.constraints[position as usize];
        literals.push((turned.condition, !turned.taken));
        let hard = self.hard.get(&turned.site).copied().unwrap_or(0);
        let answer = self.decide(store, &literals, &path.values, self.most(turned.site, patience));
        let hard = match (&answer, patience) {
            (Answer::Unknown, Patience::Short) => hard,
            (Answer::Unknown, Patience::Full) => (hard + 1).min(HARDEST),
            _ => hard.saturating_sub(1),
        };
        self.hard.insert(turned.site, hard);
        self.asked.unknown += u64::from(answer == Answer::Unknown && patience == Patience::Full);
        match answer {
            Answer::Sat(model) => Turned::Input(model),
            Answer::Unsat(core) => Turned::Infeasible(
                core.into_iter()
                    .map(|n| slice.get(n).copied().unwrap_or(position))
                    .collect(),
            ),
            Answer::Unknown => Turned::Unknown,
        }
    }

    /// Conflicts that a question at a branch gets at most.
    pub fn most(&self, site: u64, patience: Patience) -> u64 {
        let hard = self.hard.get(&site).copied().unwrap_or(0);
        match patience {
            Patience::Short => SHORT.min(self.budget),
            Patience::Full => self.budget >> hard,
        }
    }

    /// Work of the solver so far, in conflicts.
    pub fn effort(&self) -> u64 {
        self.solver.effort()
    }

    /// Whether a conjunction can be shown to be unsatisfiable with little work: what of it suffices.
    pub fn excluded(&mut self, store: &Store, literals: &[Literal]) -> Option<Vec<usize>> {
        if literals.len() > LONGEST {
            return None;
        }
        let answer = self.solver.check(store, literals, self.budget.min(LITTLE));
        self.asked.conflicts = self.solver.conflicts();
        match answer {
            Answer::Unsat(core) => Some(core),
            _ => None,
        }
    }

    /// Decides a conjunction; symbols that a model leaves out have the value in `values`.
    fn decide(&mut self, store: &Store, literals: &[Literal], values: &Assignment, budget: u64) -> Answer {
        self.asked.queries += 1;
        if literals.len() > LONGEST {
            return Answer::Unknown;
        }
        let mut key: Vec<(u32, bool)> = literals.iter().map(|(e, v)| (e.0, *v)).collect();
        key.sort_unstable();
        key.dedup();
        if let Some((known, got)) = self.answers.get(&key)
            && (*known != Answer::Unknown || *got >= budget)
        {
            self.asked.repeated += 1;
            // A core is in positions of that query; the whole is one, too.
            return match known {
                Answer::Unsat(_) => Answer::Unsat((0..literals.len()).collect()),
                other => other.clone(),
            };
        }
        let answer = match self.by_model(store, literals, values) {
            Some(model) => {
                self.asked.by_model += 1;
                Answer::Sat(model)
            }
            None => self.ask(store, literals, values, budget),
        };
        match &answer {
            Answer::Sat(_) => self.asked.sat += 1,
            Answer::Unsat(_) => self.asked.unsat += 1,
            Answer::Unknown => {}
        }
        self.answers.insert(key, (answer.clone(), budget));
        answer
    }

    /// Another query's model, cut to this one's symbols, if it satisfies it.
    fn by_model(&self, store: &Store, literals: &[Literal], values: &Assignment) -> Option<Assignment> {
        let mut symbols: Vec<Symbol> = literals.iter().flat_map(|(e, _)| store.symbols(*e).to_vec()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        self.models
            .iter()
            .find(|model| holds(store, literals, model, values))
            .map(|model| {
                let known = symbols.iter().filter_map(|s| model.get(s).map(|v| (*s, *v)));
                known.collect()
            })
    }

    fn ask(&mut self, store: &Store, literals: &[Literal], values: &Assignment, budget: u64) -> Answer {
        let answer = self.solver.check(store, literals, budget);
        self.asked.conflicts = self.solver.conflicts();
        if let Answer::Sat(model) = &answer {
            if !holds(store, literals, model, values) {
                self.asked.wrong_models += 1;
                return Answer::Unknown;
            }
            if self.models.len() == MODELS {
                self.models.pop_front();
            }
            self.models.push_back(model.clone());
        }
        answer
    }

    /// A minimal core of an unsatisfiable conjunction.
    pub fn core(&mut self, store: &Store, literals: &[Literal]) -> Option<Vec<usize>> {
        self.asked.shrinking += 1;
        let budget = self.budget.min(LITTLE);
        match self.solver.check(store, literals, budget) {
            Answer::Unsat(core) => {
                self.asked.shrinking += core.len() as u64;
                let core = minimal_core(&mut *self.solver, store, literals, core, budget);
                self.asked.conflicts = self.solver.conflicts();
                Some(core)
            }
            _ => None,
        }
    }

    /// The solver's name.
    pub fn solver(&self) -> &'static str {
        self.solver.name()
    }
}

fn holds(store: &Store, literals: &[Literal], model: &Assignment, values: &Assignment) -> bool {
    let value = |s: Symbol| model.get(&s).or_else(|| values.get(&s)).copied().unwrap_or(0);
    let mut evaluation = Evaluation::new(store, value);
    // The turned literal stands last and fails most often.
    literals
        .iter()
        .rev()
        .all(|(e, v)| evaluation.value(*e) == u64::from(*v))
}
