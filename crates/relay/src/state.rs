//! The state at a program point: at most [`DISJUNCTS`] ways to be there, told apart by the locks they hold and the
//! threads that run.
//!
//! Each way has its symbolic memory (RELAY's map σ), what is known of values, its relative lockset, and the threads that
//! run. Ways with the same locks and threads are joined, as in ESP (Das, Lerner, Seigle, PLDI 2002), so that a lock
//! taken (a thread created) under a condition is still known to be held (to run) where the same condition is tested
//! again. Beyond the bound, ways with the same locks are joined, and if there are none, all, as the paper does.
//!
//! Invariant: two disjuncts of a state differ in their locksets or threads. Cost of a join: linear in what the ways hold.

use crate::access_path::{Path, Root, Site, may_overlap};
use crate::fact::Fact;
use crate::path_map::{PathMap, PathSet};
use crate::relative_lockset::RelativeLockset;
use crate::symbolic_value::SymbolicValue;
use crate::waited::Waited;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Ways that are kept apart.
pub const DISJUNCTS: usize = 6;

/// Locations whose value a way keeps.
const LOCATIONS: usize = 192;

/// What is known of the threads that a creation makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// All that were created have been joined.
    Joined,
    /// One may run.
    Live,
    /// Several may run.
    Many,
}

/// The threads that run, by their creations; copies share it.
pub type Threads = Arc<BTreeMap<Site, Status>>;

/// One way to be at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Disjunct {
    /// Values of locations that differ from those on entry.
    pub memory: PathMap<SymbolicValue>,
    /// What is known of values, by their name without a constant part.
    pub facts: PathMap<Fact>,
    /// Locks acquired and released since entry.
    pub locks: RelativeLockset,
    /// Objects that may have become known to other threads since entry: made here, or reached from a formal.
    pub published: PathSet,
    /// Threads created since entry.
    pub threads: Threads,
    /// How often this thread has passed a barrier; none where that is not one number.
    pub barriers: Option<u8>,
    /// Whether this thread has waited for anything.
    pub waited: Waited,
    /// Whether it has waited for more than a condition: for a thread's end, for time to pass, for events.
    pub settled: Waited,
    /// What is known of the variables that decide whether the function waits for its threads.
    pub decided: u8,
}

/// What is stored at a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// This value.
    Value(SymbolicValue),
    /// What was there on entry.
    Initial,
    /// One of several, or something unknown.
    Unknown(Vec<SymbolicValue>),
}

impl Disjunct {
    /// The way on which a function is entered.
    pub fn entry() -> Disjunct {
        Disjunct {
            barriers: Some(0),
            ..Disjunct::default()
        }
    }

    /// What stands at `location`, `size` bytes.
    pub fn stored(&self, location: &Path, size: u64) -> Stored {
        if let Some(value) = self.memory.get(location) {
            return match value {
                SymbolicValue::Top => Stored::Unknown(vec![]),
                value => Stored::Value(value.clone()),
            };
        }
        let overlapping: Vec<_> = self.overlapping(location, size).map(|(_, v)| v.clone()).collect();
        if overlapping.is_empty() {
            Stored::Initial
        } else {
            Stored::Unknown(overlapping)
        }
    }

    /// Kept locations that may share bytes with this one: same base, other offset or element.
    fn overlapping<'a>(&'a self, location: &'a Path, size: u64) -> impl Iterator<Item = (&'a Path, &'a SymbolicValue)> {
        self.memory.with_base(location).filter(move |(p, _)| {
            p.steps.len() == location.steps.len() && may_overlap(p.last(), 8, location.last(), size)
        })
    }

    /// Kept locations with this root.
    pub fn with_root(&self, root: Root) -> impl Iterator<Item = (&Path, &SymbolicValue)> {
        self.memory.with_root(root)
    }

    /// Stores a value at the one location that the path is. Gives whether the object now holds a value that could not
    /// be kept.
    pub fn store(&mut self, location: &Path, size: u64, value: SymbolicValue) -> bool {
        let definite = location.is_definite();
        // Handles in an array stay beside each other: whoever joins its elements joins one of them.
        let handle = |v: &SymbolicValue| matches!(v, SymbolicValue::Named(p) if matches!(p.root, Root::Thread(_)));
        let both = |old: &SymbolicValue| handle(old) && handle(&value);
        let stale = self.overlapping(location, size).filter(|(p, v)| {
            let known = **v != SymbolicValue::Top && !both(v);
            known && (*p != location || !definite)
        });
        let stale: Vec<Path> = stale.map(|(p, _)| p.clone()).collect();
        for path in stale {
            self.memory.insert(path, SymbolicValue::Top);
        }
        if self.memory.len() >= LOCATIONS && !self.memory.contains(location) {
            return true;
        }
        // An element that is not known keeps what it may hold, for handles of threads.
        match (definite, self.memory.get(location)) {
            (false, Some(old)) if *old != value => self.memory.insert(location.clone(), SymbolicValue::Top),
            _ => self.memory.insert(location.clone(), value),
        };
        false
    }

    /// Names what was read at the one location that the path is; nothing is written there.
    pub fn note(&mut self, location: &Path, value: SymbolicValue) {
        if self.memory.len() < LOCATIONS || self.memory.contains(location) {
            self.memory.insert(location.clone(), value);
        }
    }

    /// Whether this root is an object that no other thread knows of.
    pub fn is_private(&self, root: Root) -> bool {
        root.is_made() && !self.published.contains(&Path::of(root))
    }

    /// Makes known what the value leads to, and all that can be reached from there.
    pub fn publish(&mut self, value: &SymbolicValue) {
        let mut work: Vec<Path> = value.paths().to_vec();
        while let Some(path) = work.pop() {
            let object = match path.root {
                root if root.is_made() => Path::of(root),
                Root::Formal(_) if path.is_definite() => path.split().0,
                _ => continue,
            };
            let root = object.root;
            if self.published.add(object) {
                let reached = self.with_root(root).flat_map(|(_, v)| v.paths().iter().cloned());
                work.extend(reached.collect::<Vec<_>>());
            }
        }
    }

    /// Adds what is known of a value; none if it contradicts what is known already.
    #[must_use]
    pub fn learn(mut self, key: &Path, fact: Fact) -> Option<Disjunct> {
        let known = self.facts.get(key).copied().unwrap_or(Fact::ANY);
        let both = known.and(fact)?;
        if both.says_something() {
            self.facts.insert(key.clone(), both);
        }
        Some(self)
    }

    /// What is known of the value with this name.
    pub fn fact(&self, key: &Path) -> Fact {
        self.facts.get(key).copied().unwrap_or(Fact::ANY)
    }

    /// Forgets what hangs on these roots: their instruction is executed again, and names something else from now on.
    pub fn forget(&mut self, roots: &[Root]) {
        let gone = |root: Root| roots.contains(&root);
        let any = |may: &dyn Fn(Root) -> bool| roots.iter().any(|r| may(*r));
        if any(&|r| self.locks.may_mention(r)) {
            self.locks.forget(|p| p.mentions(gone));
        }
        if any(&|r| self.facts.may_mention(r)) {
            self.facts.retain(|p, _| !p.mentions(gone));
        }
        if any(&|r| self.published.may_mention(r)) {
            self.published.retain(|p, ()| !p.mentions(gone));
        }
        if !any(&|r| self.memory.may_mention(r)) {
            return;
        }
        self.forget_indices(gone);
        self.memory.replace(|_, value| {
            let stale = value.paths().iter().any(|p| p.mentions(gone)) || value.key().is_some_and(|p| p.mentions(gone));
            stale.then_some(SymbolicValue::Top)
        });
    }

    /// Drops what hangs on names that nothing uses from here on: dead ones that no kept place holds.
    pub fn drop_dead(&mut self, dead: impl Fn(Root) -> bool) {
        let mut gone: BTreeSet<Root> = BTreeSet::new();
        for path in self.memory.keys().chain(self.facts.keys()).chain(self.published.keys()) {
            let roots = std::iter::once(path.root).chain(path.indices().map(|i| i.root));
            gone.extend(roots.filter(|r| dead(*r)));
        }
        if gone.is_empty() {
            return;
        }
        // What a kept place or a held lock leads to is kept, and what hangs on that.
        loop {
            let values = self
                .memory
                .iter()
                .filter(|(p, _)| !gone.contains(&p.root))
                .map(|(_, v)| v);
            let held = self
                .locks
                .changes()
                .filter(|(_, c)| c.acquired || c.level != 0)
                .map(|(p, _)| p);
            let mentioned = values.flat_map(|v| v.paths().iter().chain(v.key())).chain(held);
            let roots = mentioned.flat_map(|p| std::iter::once(p.root).chain(p.indices().map(|i| i.root)));
            let used: BTreeSet<Root> = roots.filter(|r| gone.contains(r)).collect();
            if used.is_empty() {
                break;
            }
            gone.retain(|r| !used.contains(r));
        }
        let stays = |path: &Path| !path.mentions(|r| gone.contains(&r));
        self.memory.retain(|p, _| !gone.contains(&p.root));
        self.forget_indices(|r| gone.contains(&r));
        self.facts.retain(|p, _| stays(p));
        self.published.retain(|p, ()| stays(p));
        self.locks.drop_given_back(|p| !stays(p));
    }

    /// Of an element whose index is gone it is known only that some element holds the value.
    fn forget_indices(&mut self, gone: impl Fn(Root) -> bool + Copy) {
        let stale: Vec<Path> = self.memory.keys().filter(|p| p.mentions(gone)).cloned().collect();
        for path in stale {
            let value = self.memory.remove(&path);
            if let (Some(value), Some(some)) = (value, path.without_index(gone)) {
                let one = self.memory.get(&some).is_none_or(|known| *known == value);
                self.memory.insert(some, if one { value } else { SymbolicValue::Top });
            }
        }
    }

    /// Drops values of memory that others may write. Who executes this is alone in writing those places and values.
    pub fn forget_shared(&mut self, place: impl Fn(&Path) -> bool, value: impl Fn(&Path) -> bool) {
        let published = &self.published;
        self.memory.replace(|path, held| {
            let private = path.root.is_made() && !path.loads() && !published.contains(&Path::of(path.root));
            // Handles are written by who creates and read by who joins.
            let handle = matches!(held, SymbolicValue::Named(p) if matches!(p.root, Root::Thread(_)));
            (!private && !handle && !place(path)).then_some(SymbolicValue::Top)
        });
        self.facts.retain(|key, _| !key.loads() || value(key));
    }

    /// Shares with another way what both hold alike.
    pub(crate) fn share(&mut self, other: &Disjunct) {
        self.memory = self.memory.sharing(&other.memory);
        self.facts = self.facts.sharing(&other.facts);
        self.published = self.published.sharing(&other.published);
        self.locks.share(&other.locks);
    }

    /// The join of two ways.
    pub fn join(&self, other: &Disjunct) -> Disjunct {
        // A handle stands there or nothing does: whoever joins what stands there joins that thread.
        let handle = |v: &SymbolicValue| matches!(v, SymbolicValue::Named(p) if matches!(p.root, Root::Thread(_)));
        let memory = self.memory.merge(&other.memory, |a, b| match (a, b) {
            (Some(a), Some(b)) if a == b => Some(a.clone()),
            (Some(one), None) | (None, Some(one)) if handle(one) => Some(one.clone()),
            _ => Some(SymbolicValue::Top),
        });
        let facts = self
            .facts
            .merge(&other.facts, |a, b| Some(a?.or(*b?)).filter(|f| f.says_something()));
        let mut threads = self.threads.clone();
        if !Arc::ptr_eq(&threads, &other.threads) && threads != other.threads {
            let all = Arc::make_mut(&mut threads);
            for (site, status) in other.threads.iter() {
                let known = all.entry(*site).or_insert(*status);
                *known = (*known).max(*status);
            }
        }
        Disjunct {
            memory,
            facts,
            locks: self.locks.join(&other.locks),
            published: self.published.union(&other.published),
            threads,
            barriers: self.barriers.filter(|n| other.barriers == Some(*n)),
            waited: self.waited.join(other.waited),
            settled: self.settled.join(other.settled),
            decided: if self.decided == other.decided { self.decided } else { 0 },
        }
    }
}

/// Whether threads of the same creations run: one that was joined runs as little as one that was never created.
fn same_run(a: &Threads, b: &Threads) -> bool {
    let run = |(site, status): (&Site, &Status)| (*status != Status::Joined).then_some(*site);
    Arc::ptr_eq(a, b) || a.iter().filter_map(run).eq(b.iter().filter_map(run))
}

/// The ways to be at a point; none: it is not reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    ways: Vec<Disjunct>,
}

impl State {
    /// One way.
    pub fn of(way: Disjunct) -> State {
        State { ways: vec![way] }
    }

    /// The ways.
    pub fn ways(&self) -> &[Disjunct] {
        &self.ways
    }

    /// The ways, to be gone on with.
    pub fn into_ways(self) -> Vec<Disjunct> {
        self.ways
    }

    /// Whether the point is not reached.
    pub fn is_unreached(&self) -> bool {
        self.ways.is_empty()
    }

    /// Adds a way.
    pub fn add(&mut self, way: Disjunct) {
        let alike = |w: &Disjunct| {
            w.decided == way.decided && w.locks.holds_the_same(&way.locks) && same_run(&w.threads, &way.threads)
        };
        if let Some(known) = self.ways.iter_mut().find(|w| alike(w)) {
            if *known != way {
                *known = known.join(&way);
            }
            return;
        }
        // What one of them stands for already would only move others together.
        let covers = |known: &Disjunct| known.locks.holds_the_same(&way.locks) && known.join(&way) == *known;
        if self.ways.len() >= DISJUNCTS && self.ways.iter().any(covers) {
            return;
        }
        self.ways.push(way);
        if self.ways.len() > DISJUNCTS && !self.join_two() {
            self.collapse();
        }
    }

    /// Joins the last two ways that have the same locks, and the same threads if there are such; says whether there were two.
    fn join_two(&mut self) -> bool {
        let same_locks = |a: &Disjunct, b: &Disjunct| a.locks.holds_the_same(&b.locks);
        self.join_two_if(|a, b| same_locks(a, b) && same_run(&a.threads, &b.threads)) || self.join_two_if(same_locks)
    }

    fn join_two_if(&mut self, alike: impl Fn(&Disjunct, &Disjunct) -> bool) -> bool {
        for at in (1..self.ways.len()).rev() {
            if let Some(other) = self.ways[..at].iter().rposition(|w| alike(w, &self.ways[at])) {
                let way = self.ways.remove(at);
                self.ways[other] = self.ways[other].join(&way);
                return true;
            }
        }
        false
    }

    /// Joins ways that have the same locks and threads, whatever else tells them apart.
    pub fn join_alike(&mut self) {
        for mut way in std::mem::take(&mut self.ways) {
            way.decided = 0;
            self.add(way);
        }
    }

    /// Joins all ways.
    pub fn collapse(&mut self) {
        let mut rest = std::mem::take(&mut self.ways).into_iter();
        if let Some(first) = rest.next() {
            self.ways = vec![rest.fold(first, |all, w| all.join(&w))];
        }
    }

    /// The ways that another state does not have.
    pub fn beyond(&self, other: &State) -> State {
        let ways = self.ways.iter().filter(|way| !other.ways.contains(way)).cloned();
        State { ways: ways.collect() }
    }

    /// Adds all ways of another state.
    pub fn merge(&mut self, other: State) {
        for way in other.ways {
            self.add(way);
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
