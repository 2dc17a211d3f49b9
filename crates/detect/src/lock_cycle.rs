//! Cycles of waiting among the dependencies of a run: candidates for a deadlock.
//!
//! iGoodlock's chains (PLDI 2009, definition 2): each dependency waits for what the next one holds, the last
//! for what the first holds; the threads differ, and no lock that one holds keeps another from being there at
//! the same time (a gate lock). What differs: modes, joins and signals (see [`LockOrder`]); a depth-first search
//! with bounds, instead of growing all chains by one, so that memory stays small; dependencies are kept once for
//! all threads that showed them, and threads are chosen when a chain closes.
//!
//! A cycle in which every thread only owes the next one a signal is none: producers and consumers are always that.
//!
//! A chain starts at its lowest dependency, so each cycle is found once. Before the search, dependencies that
//! lead nowhere (nobody holds what they want, nobody wants what they hold) are taken away until none is left
//! (MagicFuzzer, Cai and Chan, ICSE 2012). Bounds: [`STEPS`], [`LENGTH`], [`CYCLES`]; what is cut is counted.

use crate::lock_order::{Dependency, Hold, LockOrder, Moment, Resource};
use alloc::vec::Vec;
use deadheat_model::{LockMode, ThreadId};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

/// Most dependencies looked at in the search.
const STEPS: u64 = 200_000;
/// Longest cycle.
const LENGTH: usize = 8;
/// Most cycles reported.
const CYCLES: usize = 256;

/// One thread's part in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Who was seen there.
    pub thread: ThreadId,
    /// What it waits for, how and where.
    pub wants: Hold,
    /// All that it holds; what it owes is no lock.
    pub holds: Vec<Hold>,
    /// Which of these the thread before it in the cycle waits for; none if that is its own end.
    pub wanted: Option<usize>,
}

/// The cycles of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Each a ring: every part waits for what the next holds.
    pub cycles: Vec<Vec<Part>>,
    /// Chains and cycles that were not followed or kept.
    pub cut: u64,
}

/// Finds the cycles.
pub fn cycles(order: &LockOrder) -> Cycles {
    let all = order.dependencies();
    let live = reduce(all);
    let mut search = Search {
        all,
        holders: HashMap::default(),
        enders: HashMap::default(),
        chain: Vec::new(),
        steps: 0,
        seen: HashSet::default(),
        found: Cycles::default(),
    };
    for &at in &live {
        let dependency = &all[at as usize];
        for (n, hold) in dependency.holds.iter().enumerate() {
            search.holders.entry(hold.resource).or_default().push((at, Some(n)));
        }
        let mut threads: Vec<ThreadId> = dependency.moments.iter().map(|m| m.thread).collect();
        threads.dedup();
        for thread in threads {
            let end = search.enders.entry(Resource::end_of(thread)).or_default();
            if end.last() != Some(&(at, None)) {
                end.push((at, None));
            }
        }
    }
    for &first in &live {
        search.chain.push((first, None));
        search.extend(first);
        search.chain.pop();
    }
    search.found
}

/// Dependencies that may be part of a cycle.
fn reduce(all: &[Dependency]) -> Vec<u32> {
    let mut live: Vec<u32> = (0..all.len() as u32).collect();
    loop {
        let (mut held, mut wanted) = (
            HashSet::<Resource, FxBuildHasher>::default(),
            HashSet::<Resource, FxBuildHasher>::default(),
        );
        for &at in &live {
            let dependency = &all[at as usize];
            wanted.insert(dependency.wants);
            held.extend(dependency.holds.iter().map(|h| h.resource));
            held.extend(dependency.moments.iter().map(|m| Resource::end_of(m.thread)));
        }
        let before = live.len();
        live.retain(|&at| {
            let dependency = &all[at as usize];
            let some_wanted = dependency.holds.iter().any(|h| wanted.contains(&h.resource))
                || dependency
                    .moments
                    .iter()
                    .any(|m| wanted.contains(&Resource::end_of(m.thread)));
            held.contains(&dependency.wants) && some_wanted
        });
        if live.len() == before {
            return live;
        }
    }
}

/// A dependency in the chain, and which of its holds the one before wants.
type Link = (u32, Option<usize>);

struct Search<'a> {
    all: &'a [Dependency],
    holders: HashMap<Resource, Vec<Link>, FxBuildHasher>,
    enders: HashMap<Resource, Vec<Link>, FxBuildHasher>,
    chain: Vec<Link>,
    steps: u64,
    /// Places of the cycles found.
    seen: HashSet<Vec<(u32, u32)>, FxBuildHasher>,
    found: Cycles,
}

impl<'a> Search<'a> {
    fn extend(&mut self, first: u32) {
        let all = self.all;
        let Some(&(last, _)) = self.chain.last() else { return };
        let wants = all[last as usize].wants;
        let table = if wants.kind == deadheat_model::ObjectKind::Thread {
            &self.enders
        } else {
            &self.holders
        };
        let next: Vec<Link> = table.get(&wants).cloned().unwrap_or_default();
        for link in next {
            if self.steps == STEPS || self.found.cycles.len() == CYCLES {
                self.found.cut += 1;
                return;
            }
            self.steps += 1;
            if link.0 < first || !self.conflicts(last, link) {
                continue;
            }
            if link.0 == first {
                if self.chain.len() > 1 {
                    self.close(link.1);
                }
                continue;
            }
            if self
                .chain
                .iter()
                .any(|c| c.0 == link.0 || !self.compatible(c.0, link.0))
            {
                continue;
            }
            if self.chain.len() == LENGTH {
                self.found.cut += 1;
                continue;
            }
            self.chain.push(link);
            if self.choose(&mut Vec::new(), false) {
                self.extend(first);
            }
            self.chain.pop();
        }
    }

    /// Whether what one wants is kept from it by how the other holds it.
    fn conflicts(&self, waiting: u32, (holding, at): Link) -> bool {
        let hold = at.and_then(|at| self.all[holding as usize].holds.get(at));
        let shared = |h: &Hold| h.mode == LockMode::Read && self.all[waiting as usize].mode == LockMode::Read;
        !hold.is_some_and(shared)
    }

    /// Whether two threads can hold what these hold at the same time, and wait for different things.
    fn compatible(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.all[a as usize], &self.all[b as usize]);
        let apart = |x: &Hold, y: &Hold| {
            let shared = x.mode == LockMode::Read && y.mode == LockMode::Read;
            x.resource != y.resource || shared || !x.resource.is_lock()
        };
        a.holds.iter().all(|x| b.holds.iter().all(|y| apart(x, y)))
    }

    /// The chain leads back to its first dependency, by this hold of it.
    fn close(&mut self, wanted: Option<usize>) {
        self.chain[0].1 = wanted;
        // Threads that only owe each other signals are a queue at work, not a ring.
        let taken = |&(at, wanted): &Link| wanted.is_none_or(|n| self.all[at as usize].holds[n].taken);
        if !self.chain.iter().any(taken) {
            return;
        }
        let mut threads = Vec::new();
        if !self.choose(&mut threads, true) {
            return;
        }
        let part = |(&(at, wanted), moment): (&Link, &&Moment)| {
            let d = &self.all[at as usize];
            Part {
                thread: moment.thread,
                wants: Hold {
                    resource: d.wants,
                    mode: d.mode,
                    place: d.place,
                    taken: true,
                },
                holds: d.holds.clone(),
                wanted,
            }
        };
        let cycle: Vec<Part> = self.chain.iter().zip(&threads).map(part).collect();
        let place = |p: &Part| (p.wants.place, p.wanted.map_or(u32::MAX, |at| p.holds[at].place));
        let mut places: Vec<(u32, u32)> = cycle.iter().map(place).collect();
        places.sort_unstable();
        if self.seen.insert(places) {
            self.found.cycles.push(cycle);
        }
    }

    /// Threads for the chain, `closed` or still growing, pairwise different and unordered; a part that is waited for to end is of that thread.
    fn choose(&self, threads: &mut Vec<&'a Moment>, closed: bool) -> bool {
        let at = threads.len();
        let Some(&(dependency, wanted)) = self.chain.get(at) else {
            return true;
        };
        let ends = wanted.is_none() && (closed || at > 0);
        let before = self.chain[(at + self.chain.len() - 1) % self.chain.len()].0;
        let joined = self.all[before as usize].wants;
        let all: &'a [Dependency] = self.all;
        for moment in &all[dependency as usize].moments {
            if ends && Resource::end_of(moment.thread) != joined {
                continue;
            }
            if threads.iter().all(|t| t.unordered(moment)) {
                threads.push(moment);
                if self.choose(threads, closed) {
                    return true;
                }
                threads.pop();
            }
        }
        false
    }
}
