//! Cycles of waiting as candidates: what phase 1 predicts, merged by the places at which threads wait.

use crate::bad_end::place_names;
use crate::candidate::Context;
use crate::confirmation::in_parallel;
use crate::describe::Names;
use crate::hash::Fnv;
use deadheat_confirm::deadlock::CycleCase;
use deadheat_confirm::judge::Judge;
use deadheat_confirm::{Records, RunError};
use deadheat_model::{FindingKind, ObjectKind, ThreadId, Verdict, WaitReason};
use deadheat_report::finding::Finding;
use deadheat_wire::plan::{CyclePlace, Spot};
use deadheat_wire::record::{CycleLink, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most cycles that are tried; the others are counted.
const MOST: usize = 64;

/// A predicted cycle.
#[derive(Clone, Debug)]
pub struct WaitingCycle {
    /// One of its occurrences.
    pub links: Vec<CycleLink>,
    /// That run's modules and threads.
    pub context: Arc<Context>,
    /// All occurrences' calls.
    pub places: Vec<CyclePlace>,
    /// The names of those, in order.
    pub names: Vec<String>,
    /// Its name across builds and stores.
    pub fingerprint: String,
}

/// A cycle as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCycle {
    /// One of its occurrences.
    pub links: Vec<CycleLink>,
    /// Its run.
    pub context: Context,
    /// All occurrences' calls.
    pub places: Vec<CyclePlace>,
}

/// The calls of a cycle, from the least on.
type Key = Vec<(Spot, Option<Spot>)>;

/// Cycles by their calls alone.
#[derive(Debug, Default)]
pub struct Seen(BTreeSet<Key>);

impl Seen {
    /// Adds the cycles of one run; says whether some are new.
    pub fn add(&mut self, records: &Records) -> bool {
        let before = self.0.len();
        self.0
            .extend(records.cycles.iter().map(|links| key(&from_least(links))));
        self.0.len() > before
    }
}

fn key(links: &[CycleLink]) -> Key {
    links.iter().map(|l| (l.at, l.wanted)).collect()
}

/// What phase 1 predicted so far.
#[derive(Debug, Default)]
pub struct WaitingCycles {
    by_calls: BTreeMap<Key, (Vec<CycleLink>, Arc<Context>)>,
}

impl WaitingCycles {
    /// Adds the cycles of one run; says how many are new.
    pub fn add(&mut self, records: &Records) -> usize {
        let before = self.by_calls.len();
        if records.cycles.is_empty() {
            return 0;
        }
        for cycle in &records.cycles {
            let links = from_least(cycle);
            self.by_calls.entry(key(&links)).or_insert_with(|| {
                let context = Context::of(records, cycle.process);
                (links, Arc::new(context))
            });
        }
        self.by_calls.len() - before
    }

    /// The candidates, by name of their places, and how many are left out.
    pub fn in_order(self, names: &mut Names<'_>) -> (Vec<WaitingCycle>, usize) {
        let mut by_name: BTreeMap<String, WaitingCycle> = BTreeMap::new();
        let mut left_out = 0;
        for (links, context) in self.by_calls.into_values() {
            let places: Vec<CyclePlace> = links.iter().map(place).collect();
            let cycle = WaitingCycle::new(links, context, places, names);
            if let Some(known) = by_name.get_mut(&cycle.fingerprint) {
                known.merge(&cycle);
            } else if by_name.len() < MOST {
                by_name.insert(cycle.fingerprint.clone(), cycle);
            } else {
                left_out += 1;
            }
        }
        (by_name.into_values().collect(), left_out)
    }
}

/// The same cycle, begun at its least call.
fn from_least(links: &[CycleLink]) -> Vec<CycleLink> {
    let least = (0..links.len())
        .min_by_key(|&n| (links[n].at, links[n].wanted))
        .unwrap_or(0);
    let mut links = links.to_vec();
    links.rotate_left(least);
    links
}

fn place(link: &CycleLink) -> CyclePlace {
    CyclePlace {
        wants: vec![link.at],
        holds: link.wanted.into_iter().collect(),
    }
}

impl WaitingCycle {
    fn new(
        links: Vec<CycleLink>,
        context: Arc<Context>,
        places: Vec<CyclePlace>,
        names: &mut Names<'_>,
    ) -> WaitingCycle {
        let mut described = names.of(&context);
        let stacks: Vec<_> = links.iter().map(|l| described.stack(&l.stack, false)).collect();
        let mut hash = Fnv::default();
        hash.text(&deadheat_report::schema::name(&FindingKind::Deadlock));
        let names = place_names(stacks.iter());
        names.iter().for_each(|name| {
            hash.text(name);
        });
        WaitingCycle {
            links,
            context,
            places,
            names,
            fingerprint: hash.hex(),
        }
    }

    /// Takes the calls of another occurrence in, where it has as many.
    fn merge(&mut self, other: &WaitingCycle) {
        if self.places.len() != other.places.len() {
            return;
        }
        for (own, more) in self.places.iter_mut().zip(&other.places) {
            own.wants.extend(&more.wants);
            own.holds.extend(&more.holds);
            for list in [&mut own.wants, &mut own.holds] {
                list.sort_unstable();
                list.dedup();
            }
        }
    }

    /// As it is stored.
    pub fn stored(&self) -> StoredCycle {
        StoredCycle {
            links: self.links.clone(),
            context: (*self.context).clone(),
            places: self.places.clone(),
        }
    }

    /// Whether the threads of a finding wait at all its places.
    pub fn is(&self, finding: &Finding) -> bool {
        let at = place_names(finding.threads.iter().map(|t| &t.stack));
        !self.names.is_empty() && self.names.iter().all(|name| at.contains(name))
    }

    /// The finding while it was not shown: each thread as it was seen, waiting for the next.
    pub fn suspected(&self, names: &mut Names<'_>, case: &CycleCase) -> Finding {
        let waiting = |(n, link): (usize, &CycleLink)| Waiting {
            thread: link.thread,
            reason: match link.wants.kind {
                ObjectKind::Thread => WaitReason::Join(ThreadId(link.wants.object.address as u32)),
                kind => WaitReason::Object(kind, link.wants.object),
            },
            holder: match link.wants.kind {
                ObjectKind::Condition | ObjectKind::Semaphore => None,
                _ => Some(self.links[(n + 1) % self.links.len()].thread),
            },
            stack: link.stack.clone(),
            held: link.holds.clone(),
        };
        let threads: Vec<Waiting> = self.links.iter().enumerate().map(waiting).collect();
        Finding {
            id: String::new(),
            kind: FindingKind::Deadlock,
            verdict: Verdict::Suspected,
            evidence: None,
            accesses: Vec::new(),
            object: None,
            orders: Vec::new(),
            threads: names.of(&self.context).waiting(&threads),
            threads_left_out: 0,
            misuse: None,
            ended_at: None,
            freed: None,
            story: None,
            harm: None,
            input: None,
            inputs: Vec::new(),
            tries: case.tries,
            hits: case.hits,
            directed_tries: 0,
            directed_hits: 0,
            probability: None,
            replay: None,
            reasons: vec![],
            fingerprint: self.fingerprint.clone(),
        }
    }
}

impl StoredCycle {
    /// The candidate, with names from the program as it is.
    pub fn candidate(self, names: &mut Names<'_>) -> WaitingCycle {
        WaitingCycle::new(self.links, Arc::new(self.context), self.places, names)
    }
}

/// Tries all cases until they are settled or `stop` says so.
pub fn settle(
    judge: Judge<'_>,
    cases: &mut [CycleCase],
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), RunError> {
    let todo = cases.iter_mut().filter(|c| c.settled.is_none()).collect();
    in_parallel(todo, jobs, stop, &|case, halt| {
        judge.advance_cycle(case, judge.rules.tries, halt)
    })
}
