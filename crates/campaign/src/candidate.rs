//! Candidates: suspicious pairs of statements, all copies merged.

use crate::hash::Fnv;
use crate::site_index::SiteIndex;
use crate::statement::Statement;
use deadheat_confirm::candidate::meetings;
use deadheat_confirm::{Case, Records};
use deadheat_model::{FindingKind, ObjectId};
use deadheat_wire::plan::{Plan, Scheduling, Targets};
use deadheat_wire::record::{Memory, Module, Pair, ThreadCreated, Witness};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is needed of a process of a run to name its addresses and threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The run's modules, by number.
    pub modules: Vec<Module>,
    /// The process's of them: numbers, and where they were put.
    pub loaded: Vec<(u16, u64)>,
    /// Threads.
    pub threads: Vec<ThreadCreated>,
    /// What decided a run of phase 1.
    pub schedule: Option<Scheduling>,
    /// Loaded libraries; not stored.
    #[serde(skip)]
    pub libraries: Vec<(String, u64)>,
    /// What objects lie in; not stored.
    #[serde(skip)]
    pub objects: HashMap<ObjectId, Memory>,
}

impl Context {
    /// The context of a process of a run.
    pub fn of(records: &Records, process: usize) -> Context {
        let lineage = || records.lineage(process);
        let objects = lineage().flat_map(|p| p.objects.clone());
        Context {
            modules: records.modules.clone(),
            loaded: lineage().flat_map(|p| p.modules.clone()).collect(),
            threads: lineage().flat_map(|p| p.threads.clone()).collect(),
            schedule: None,
            libraries: records.libraries(process).cloned().collect(),
            // What a process says itself comes first.
            objects: objects.fold(HashMap::new(), |mut all, (object, memory)| {
                all.entry(object).or_insert(memory);
                all
            }),
        }
    }

    /// The process's modules: number, path, and where it was put.
    pub fn loaded(&self) -> impl Iterator<Item = (usize, &str, u64)> {
        self.loaded.iter().filter_map(|(number, bias)| {
            let number = usize::from(*number);
            Some((number, self.modules.get(number)?.path.as_str(), *bias))
        })
    }
}

/// A candidate: an unordered pair of statements that may race.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The statement that comes first in the source.
    pub first: Statement,
    /// The other one (the same if a statement races with itself).
    pub second: Statement,
    /// Whether some run left the two unordered even with lock edges: the judge's easiest work.
    pub precise: bool,
    /// One such pair of accesses, and its run.
    pub pair: Pair,
    /// That run's modules and threads.
    pub context: Arc<Context>,
    /// All copies of the statements.
    pub targets: Targets,
    /// Schedules of phase 1 in which it was seen.
    pub seen: u32,
}

/// The candidates so far, by their statements.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    by_statements: BTreeMap<(Statement, Statement), Candidate>,
}

impl Candidates {
    /// Adds the pairs of one run; says how many candidates are new.
    pub fn add(&mut self, records: &Records, plan: &Plan, sites: &SiteIndex) -> usize {
        // Of each process once.
        let mut contexts: HashMap<usize, Arc<Context>> = HashMap::new();
        let mut context = |process| {
            let of_process = || {
                Arc::new(Context {
                    schedule: Some(plan.scheduling()),
                    ..Context::of(records, process)
                })
            };
            contexts.entry(process).or_insert_with(of_process).clone()
        };
        let before = self.by_statements.len();
        // Inlining makes thousands of copies of a pair: each is named once, and once more if it is precise.
        let mut named = HashMap::new();
        for pair in &records.pairs {
            let number = |witness: &Witness| sites.number(witness.access.site);
            let (Some(a), Some(b)) = (number(&pair.first), number(&pair.second)) else {
                continue;
            };
            let known = named.get(&(a.min(b), a.max(b))).copied();
            if known.is_some_and(|precise| precise || !pair.precise) {
                continue;
            }
            named.insert((a.min(b), a.max(b)), pair.precise);
            let Some((first, second)) = statements(pair, sites) else {
                continue;
            };
            let key = (first.clone(), second.clone());
            if let Some(candidate) = self.by_statements.get_mut(&key) {
                candidate.seen += u32::from(known.is_none());
                if pair.precise && !candidate.precise {
                    (candidate.precise, candidate.pair, candidate.context) =
                        (true, pair.record.clone(), context(pair.process));
                }
                continue;
            }
            let candidate = Candidate::new(first, second, pair.record.clone(), context(pair.process), sites);
            self.by_statements.insert(key, candidate);
        }
        self.by_statements.len() - before
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.by_statements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_statements.is_empty()
    }

    /// Candidate order: precise ones first, then by source.
    pub fn in_order(self) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = self.by_statements.into_values().collect();
        all.sort_by_key(|c| !c.precise);
        all
    }
}

/// The two statements of a pair, in order.
fn statements(pair: &Pair, sites: &SiteIndex) -> Option<(Statement, Statement)> {
    let (a, b) = (
        sites.statement(pair.first.access.site)?,
        sites.statement(pair.second.access.site)?,
    );
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    Some((a.clone(), b.clone()))
}

/// A candidate as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// The pair of accesses.
    pub pair: Pair,
    /// Its run.
    pub context: Context,
}

impl Suspicion {
    /// The candidate, with names and copies from the program as it is.
    pub fn candidate(self, sites: &SiteIndex) -> Option<Candidate> {
        let (first, second) = statements(&self.pair, sites)?;
        Some(Candidate::new(first, second, self.pair, Arc::new(self.context), sites))
    }
}

impl Candidate {
    fn new(first: Statement, second: Statement, pair: Pair, context: Arc<Context>, sites: &SiteIndex) -> Candidate {
        let (a, b) = (sites.copies(&first), sites.copies(&second));
        let targets = Targets {
            first: a,
            second: b,
            atomics: true,
            unordered: true,
            ..Targets::default()
        };
        Candidate {
            first,
            second,
            precise: pair.precise,
            pair,
            context,
            targets,
            seen: 1,
        }
    }

    /// The candidate of two statements that a case's run showed.
    pub fn shown_by(case: &Case, sites: &SiteIndex) -> Option<Candidate> {
        let shown = case.shown.as_ref()?;
        let met = meetings(&case.targets, &shown.run).find(|m| Some(m.number) == shown.meeting);
        let unordered = case.unordered(&shown.run);
        let process = met.map(|m| m.process).or(unordered.map(|u| u.process))?;
        let pair = match (met, unordered) {
            (Some(m), _) => Pair {
                first: m.postponed.clone(),
                second: m.arriving.clone(),
                precise: false,
                memory: m.memory.clone(),
                count: 1,
            },
            (None, Some(u)) => Pair {
                first: u.first.clone(),
                second: u.second.clone(),
                precise: true,
                memory: u.memory.clone(),
                count: 1,
            },
            (None, None) => return None,
        };
        let (first, second) = statements(&pair, sites)?;
        let context = Arc::new(Context::of(&shown.run.records, process));
        Some(Candidate::new(first, second, pair, context, sites))
    }

    /// The candidate as it is stored.
    pub fn suspicion(&self) -> Suspicion {
        Suspicion {
            pair: self.pair.clone(),
            context: (*self.context).clone(),
        }
    }

    /// The candidate's name across builds and stores: a hash of its kind and statements.
    pub fn fingerprint(&self) -> String {
        let mut hash = Fnv::default();
        hash.text(&deadheat_report::schema::name(&FindingKind::DataRace));
        self.first.mix(&mut hash);
        self.second.mix(&mut hash);
        hash.hex()
    }
}
