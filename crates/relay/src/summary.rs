//! Summaries: what a function does to the locks, memory and threads of whoever calls it, in terms of its formals and of
//! globals (RELAY, section 3.2, `LockSummary`).
//!
//! A summary has several cases where the function does different things to locks and tells its caller which by the
//! value it gives back (RELAY's conditional locking): the cases differ in the signs of that value or in their
//! locksets, and there are at most [`CASES`]. A case may also require something of the values on entry: then it cannot
//! be what happened to a caller of whom the contrary is known.

use crate::access_path::{Path, Root, Site};
use crate::execution::Execution;
use crate::fact::Fact;
use crate::path_map::{PathMap, PathSet};
use crate::relative_lockset::RelativeLockset;
use crate::state::{Disjunct, Status, Threads};
use crate::symbolic_value::SymbolicValue::{self, Top};
use crate::waited::Waited;
use deadheat_ir::SymbolId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Cases at most.
pub const CASES: usize = 6;
/// Locations that a case says something of, and requirements.
const LOCATIONS: usize = 48;

/// Locations that a case of many functions says something of.
const ANY_LOCATIONS: usize = 2 * LOCATIONS;

/// The number of no function: results that several give are merged where they are called.
const NOBODY: u32 = u32::MAX;

/// A way on which a function returns.
#[derive(Clone, Debug)]
pub struct Exit {
    /// The way.
    pub way: Disjunct,
    /// What it gives back.
    pub result: SymbolicValue,
    /// What is known of that.
    pub fact: Fact,
}

/// A handle of the caller's that is joined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JoinedHandle {
    /// The handle.
    pub handle: Path,
    /// In a loop: one after the other.
    pub in_loop: bool,
}

/// What happens in one kind of return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Changes of locks.
    pub locks: RelativeLockset,
    /// What is given back.
    pub result: SymbolicValue,
    /// What is known of that.
    pub fact: Fact,
    /// What holds of values on entry.
    pub requires: PathMap<Fact>,
    /// What is stored where.
    pub memory: PathMap<SymbolicValue>,
    /// What other threads may know of now.
    pub published: PathSet,
    /// Threads created.
    pub threads: Threads,
    /// Barriers passed.
    pub barriers: Option<u8>,
    /// Whether it waits.
    pub waited: Waited,
    /// Whether it waits for more than a condition.
    pub settled: Waited,
}

/// What calls of a function do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The cases; none: it does not return.
    pub cases: Vec<Case>,
    /// What each creation in it, and below it, starts.
    #[serde(skip)]
    pub creations: BTreeMap<Site, BTreeSet<SymbolId>>,
    /// Those whose function its caller decides on.
    pub decided_by_caller: BTreeSet<Site>,
    /// Handles that it is given and joins.
    pub joined: BTreeSet<JoinedHandle>,
    /// It creates threads or waits for some, here or in a callee.
    pub threads_matter: bool,
    /// Creations whose threads may run when it returns, or have run.
    pub started: BTreeSet<Site>,
    /// Of these, those whose threads are over then in all cases.
    pub over: BTreeSet<Site>,
    /// Ways were joined early, since the function takes too long to go through.
    pub widened: bool,
    /// Changes of locks without a name, and places and requirements beyond [`LOCATIONS`], that callers are not told of.
    pub unsaid: u32,
    /// Blocks that did not settle.
    pub unsettled: u32,
}

impl Summary {
    /// Whether a creation goes by the name of the call: the caller decides what is started, and that is one thread. Of
    /// several that one call starts each keeps a name of its own.
    pub fn is_named_by_caller(&self, site: &Site) -> bool {
        self.decided_by_caller.len() == 1 && self.decided_by_caller.contains(site)
    }

    /// Whether it holds nothing that another program may not have: no creations.
    pub(crate) fn is_portable(&self) -> bool {
        self.creations.is_empty()
    }

    /// What a call does that may call functions with these summaries.
    pub fn any_of<'s>(summaries: impl Iterator<Item = &'s Summary>) -> Summary {
        let mut any = Summary::default();
        // Which of them is called is not known: what only some of them join may run on.
        let mut joined: Option<BTreeSet<JoinedHandle>> = None;
        for summary in summaries {
            for case in &summary.cases {
                any.add(case);
            }
            for (site, started) in &summary.creations {
                any.creations.entry(*site).or_default().extend(started);
            }
            any.decided_by_caller.extend(&summary.decided_by_caller);
            joined = Some(match joined {
                None => summary.joined.clone(),
                Some(all) => all.intersection(&summary.joined).cloned().collect(),
            });
            any.threads_matter |= summary.threads_matter;
        }
        any.joined = joined.unwrap_or_default();
        any
    }

    /// Adds a case of one of several functions, to one that does the same to locks if there is such.
    fn add(&mut self, case: &Case) {
        let alike = |c: &Case| c.locks.holds_the_same(&case.locks);
        let full = self.cases.len() == CASES;
        let known = self.cases.iter().position(alike).or(full.then_some(CASES - 1));
        match known {
            Some(known) => {
                let mut both = self.cases[known].join(case, NOBODY);
                self.unsaid += both.truncate(ANY_LOCATIONS);
                self.cases[known] = both;
            }
            None => self.cases.push(case.clone()),
        }
    }

    /// The summary of an execution that was relative to its entry.
    pub fn of(mut execution: Execution<'_>) -> Summary {
        let exits = execution.exits();
        let widened = execution.overdone() > 0;
        let function = execution.function.number();
        let mut cases: Vec<Case> = Vec::new();
        let mut unsaid = execution.nameless + execution.any_of.values().map(|(_, any)| any.unsaid).sum::<u32>();
        for exit in exits {
            let case = Case::of(exit, function, &mut unsaid);
            let alike = |c: &Case| c.locks.holds_the_same(&case.locks) && c.fact.class() == case.fact.class();
            match cases.iter_mut().find(|c| alike(c)) {
                Some(known) => *known = known.join(&case, function),
                None => cases.push(case),
            }
        }
        // Where all ways agree on locks, what is given back tells nothing about them.
        if let [first, rest @ ..] = &cases[..] {
            let alike = |c: &Case| c.locks.holds_the_same(&first.locks) && c.threads == first.threads;
            let tells = |c: &Case| c.result != first.result && matches!(c.result, SymbolicValue::Integer(_));
            if cases.len() > CASES || rest.iter().all(|c| alike(c) && !tells(c)) {
                let joined = rest.iter().fold(first.clone(), |all, c| all.join(c, function));
                cases = vec![joined];
            }
        }
        let started: BTreeSet<Site> = cases.iter().flat_map(|c| c.threads.keys().copied()).collect();
        let is_over = |site: &Site| {
            let over = |c: &Case| c.threads.get(site).is_none_or(|s| *s == Status::Joined);
            cases.iter().all(over)
        };
        let over = started.iter().copied().filter(is_over).collect();
        Summary {
            cases,
            started,
            over,
            creations: execution.creations,
            decided_by_caller: execution.decided_by_caller,
            joined: execution.joined,
            threads_matter: execution.threads_matter,
            widened,
            unsaid,
            unsettled: execution.unsettled,
        }
    }
}

impl Case {
    fn of(exit: Exit, function: u32, unsaid: &mut u32) -> Case {
        let Exit { way, result, fact } = exit;
        let given = result.paths().iter().map(|p| p.root).collect::<Vec<_>>();
        // The caller sees what hangs on formals, globals, and on what it is given.
        let is_seen = |root: Root| match root {
            Root::Formal(_) | Root::Global(_) => true,
            Root::Fresh(_) => given.contains(&root),
            _ => false,
        };
        // A frame is gone.
        let outlives = |v: &SymbolicValue| {
            let local = |r: Root| matches!(r, Root::Local(site) if site.function == function);
            !v.paths().iter().any(|p| p.mentions(local))
        };
        let mut memory = PathMap::default();
        // What hangs on something new that is stored in something seen is seen too.
        let mut seen: BTreeSet<Root> = way.memory.keys().map(|p| p.root).filter(|r| is_seen(*r)).collect();
        seen.extend(given.iter().copied());
        loop {
            let reached = |(p, v): (&Path, &SymbolicValue)| match seen.contains(&p.root) {
                true => v
                    .paths()
                    .iter()
                    .map(|p| p.root)
                    .filter(|r| matches!(r, Root::Fresh(_)))
                    .collect(),
                false => Vec::new(),
            };
            let more: Vec<Root> = way
                .memory
                .iter()
                .flat_map(reached)
                .filter(|r| !seen.contains(r))
                .collect();
            if more.is_empty() {
                break;
            }
            seen.extend(more);
        }
        for (path, value) in way.memory.iter() {
            if !seen.contains(&path.root) || matches!(path.root, Root::Local(_) | Root::Opaque(_)) {
                continue;
            }
            if memory.len() >= LOCATIONS {
                *unsaid += 1;
                continue;
            }
            memory.insert(path.clone(), if outlives(value) { value.clone() } else { Top });
        }
        let on_entry = |r: Root| matches!(r, Root::Formal(_) | Root::Global(_));
        let required = || way.facts.iter().filter(|(key, _)| on_entry(key.root));
        *unsaid += required().count().saturating_sub(LOCATIONS) as u32;
        let requires = required()
            .take(LOCATIONS)
            .map(|(key, fact)| (key.clone(), *fact))
            .collect();
        // What was taken and given back leaves the caller's locks as they are.
        let mut locks = way.locks;
        locks.drop_given_back(|_| true);
        locks.summarise();
        let mut published = way.published;
        // Of what the caller cannot get at it does not matter who knows it.
        published.retain(|p, ()| match p.root {
            Root::Fresh(_) => seen.contains(&p.root),
            root => is_seen(root),
        });
        if published.len() > LOCATIONS {
            *unsaid += (published.len() - LOCATIONS) as u32;
            published = published.keys().take(LOCATIONS).map(|p| (p.clone(), ())).collect();
        }
        Case {
            locks,
            result: if outlives(&result) { result } else { Top },
            fact,
            requires,
            memory,
            published,
            threads: way.threads,
            barriers: way.barriers,
            waited: way.waited,
            settled: way.settled,
        }
    }

    /// Leaves so many locations, and as many that others may know of; says how many are left out.
    fn truncate(&mut self, most: usize) -> u32 {
        let over = |len: usize| len.saturating_sub(most);
        let cut = over(self.memory.len()) + over(self.published.len());
        self.memory.truncate(most);
        self.published.truncate(most);
        cut as u32
    }

    /// One or the other.
    fn join(&self, other: &Case, function: u32) -> Case {
        let as_way = |c: &Case| Disjunct {
            memory: c.memory.clone(),
            facts: c.requires.clone(),
            locks: c.locks.clone(),
            published: c.published.clone(),
            threads: c.threads.clone(),
            barriers: c.barriers,
            waited: c.waited,
            settled: c.settled,
            decided: 0,
        };
        let way = as_way(self).join(&as_way(other));
        // The name that a merged result gets is no instruction's: the caller names it by its call.
        let merge = Site {
            function,
            instruction: u32::MAX,
        };
        Case {
            locks: way.locks,
            result: self.result.join(&other.result, merge),
            fact: self.fact.or(other.fact),
            requires: way.facts,
            memory: way.memory,
            published: way.published,
            threads: way.threads,
            barriers: way.barriers,
            waited: way.waited,
            settled: way.settled,
        }
    }
}
