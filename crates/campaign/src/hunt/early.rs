//! What is tried when phase 1 has looked under one schedule, before it looks under others: a few undirected runs, and a
//! few tries of the first candidates. Much of what a hunt shows is shown here, and phase 1 takes longest. Until a run has
//! failed, the first of the candidates that a later schedule adds are tried as soon as it did.

use super::{PHASE_ONE, Work};
use crate::candidate::Candidate;
use crate::exploration::{self, Explored};
use crate::phase_one::PhaseOne;
use crate::{cause, confirmation};
use deadheat_confirm::{Case, RunError};
use deadheat_wire::plan::Targets;
use std::collections::HashMap;
use std::time::Instant;

/// Candidates that are tried early.
const CANDIDATES: usize = 4;
/// Tries of each.
const TRIES: u32 = 2;

/// What the early runs came to.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// Those that are no tries of one candidate before the judge.
    pub explored: Explored,
    /// Candidates that were tried, by their fingerprints.
    tried: HashMap<String, Case>,
    /// Candidates that phase 1 had found by then.
    found: usize,
}

impl Work<'_> {
    /// Makes the early runs; with a budget, in half of phase 1's share of it.
    pub(super) fn try_early(&mut self, phase: &PhaseOne) {
        let found = std::mem::replace(&mut self.early.found, phase.candidates.len());
        if phase.schedules > 1 && (found == phase.candidates.len() || self.first_failure().is_some()) {
            return;
        }
        let mut candidates = phase.candidates.clone().in_order();
        candidates.retain(|c| {
            let fingerprint = c.fingerprint();
            !self.options.proven.contains(&fingerprint) && !self.early.tried.contains_key(&fingerprint)
        });
        self.suppress(&mut candidates, &mut Vec::new(), phase);
        if let Err(error) = self.early_runs(&candidates, phase) {
            self.trouble = self.trouble.take().or(Some(error.to_string()));
        }
    }

    fn early_runs(&mut self, candidates: &[Candidate], phase: &PhaseOne) -> Result<(), RunError> {
        let judge = self.judge;
        let budget = self.options.budget.filter(|_| self.options.runs.is_none());
        let until = budget.map(|b| self.begun + b / PHASE_ONE / 2);
        let stage = self.stage;
        let stop = || stage.stopped() || until.is_some_and(|until| Instant::now() >= until);
        let watched = exploration::watched(candidates.iter().map(|c| &c.targets));
        let order = cause::order(candidates, &phase.sites);
        let first = order.alone.iter().chain(order.together.iter().flatten());
        let first: Vec<&Candidate> = first.take(CANDIDATES).map(|i| &candidates[*i]).collect();
        let pairs: Vec<&Targets> = first.iter().map(|c| &c.targets).collect();
        // Of what an earlier hunt laid to a pair other runs would tell once more.
        if phase.schedules == 1 && !self.is_harmed(&[]) {
            let walks = self.walks(u32::MAX);
            self.early.explored = exploration::early(judge, &pairs, &watched, walks, self.jobs(), &stop)?;
        }
        let mut cases: Vec<Case> = first.iter().map(|c| self.case(c, phase)).collect();
        let tries = judge.rules.tries.min(TRIES);
        let result = confirmation::in_parallel(cases.iter_mut().collect(), self.jobs(), &stop, &|case, halt| {
            judge.advance(case, tries, halt)
        });
        self.early
            .tried
            .extend(first.iter().map(|c| c.fingerprint()).zip(cases));
        result
    }

    /// The candidate before the judge, who may have tried it early.
    pub(super) fn case_so_far(&mut self, candidate: &Candidate, phase: &PhaseOne) -> Case {
        let tried = self.early.tried.remove(&candidate.fingerprint());
        tried.unwrap_or_else(|| self.case(candidate, phase))
    }
}
