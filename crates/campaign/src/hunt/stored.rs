//! What earlier hunts left in the store: suspicions to confirm, and how far each was tried.

use super::results::Found;
use super::{HuntError, Work};
use crate::candidate::Candidate;
use crate::describe::{Names, unordered_proves};
use crate::input::Input;
use crate::phase_one::PhaseOne;
use crate::store::{Store, StoreError, Stored, Tried};
use crate::waiting_cycle::WaitingCycle;
use deadheat_confirm::Case;
use deadheat_confirm::candidate::Settled;
use deadheat_confirm::deadlock::CycleCase;
use deadheat_model::Verdict;
use std::collections::HashSet;
use std::sync::Arc;

/// Whether every label names a suspicion of this program and input.
pub(super) fn known(store: &Store, input: &Input, labels: &[String]) -> Result<(), HuntError> {
    for label in labels {
        let owners = store.owners(label)?;
        if owners
            .iter()
            .any(|o| o.program == input.program && o.hash() == input.hash())
        {
            continue;
        }
        return Err(HuntError::Label(match owners.first() {
            Some(owner) => format!("{label} is not of this program and input, but of {}", owner.told()),
            None => format!("there is no suspicion {label} in this store; `deadheat report --suspected` lists them"),
        }));
    }
    Ok(())
}

impl Work<'_> {
    /// The suspicions with these labels, or all, as candidates.
    pub(super) fn stored_candidates(
        &mut self,
        labels: &[String],
        phase: &mut PhaseOne,
    ) -> (Vec<Candidate>, Vec<WaitingCycle>) {
        let stored = self
            .store
            .suspicions(self.input.program, self.input.hash())
            .unwrap_or_default();
        if stored.is_empty() {
            self.notices
                .push("no suspicions are stored for this program and input; run `deadheat detect` first".into());
        }
        let (mut wanted, mut cycles) = (Vec::new(), Vec::new());
        let named = |print: &str| {
            let label = self.store.known_label(print).ok().flatten().unwrap_or_default();
            labels.is_empty() || labels.contains(&label)
        };
        for suspicion in stored {
            let context = match &suspicion {
                Stored::Pair(pair) => &pair.context,
                Stored::Cycle(cycle) => &cycle.context,
            };
            Arc::make_mut(&mut phase.sites).extend(&context.modules);
            self.stage.know_modules(&context.modules);
            match suspicion {
                Stored::Pair(pair) => {
                    wanted.extend(pair.candidate(&phase.sites).filter(|c| named(&c.fingerprint())));
                }
                Stored::Cycle(cycle) => {
                    let cycle = cycle.candidate(&mut Names::new(&phase.sites));
                    cycles.extend(Some(cycle).filter(|c| named(&c.fingerprint)));
                }
            }
        }
        wanted.sort_by(|a, b| (!a.precise, &a.first, &a.second).cmp(&(!b.precise, &b.first, &b.second)));
        (wanted, cycles)
    }

    /// Whether the store has the finding of a candidate that was shown: a hunt that was killed may have left it out.
    fn stored_as_real(&self, fingerprint: &str) -> bool {
        let known = self.store.finding(fingerprint, self.input.program, self.input.hash());
        known.ok().flatten().is_some_and(|f| f.verdict > Verdict::Suspected)
    }

    /// The case of a cycle, going on from what the store knows of it.
    pub(super) fn cycle_case(&self, cycle: &WaitingCycle) -> CycleCase {
        let mut case = CycleCase::new(cycle.places.clone());
        let known = self
            .store
            .tried(&cycle.fingerprint, self.input.program, self.input.hash());
        if let Some(t) = known
            .ok()
            .flatten()
            .filter(|t| t.tries > 0 && self.options.oracle.is_empty())
        {
            let done = t.is_done(self.judge.rules.tries);
            if (t.settled || done) && t.hits > 0 && !self.stored_as_real(&cycle.fingerprint) {
                return case;
            }
            (case.tries, case.hits) = (t.tries, t.hits);
            if done {
                case.settled = Some(Settled::Tried);
            }
        }
        case
    }

    /// The case of a candidate, going on from what the store knows of it.
    pub(super) fn case(&self, candidate: &Candidate, phase: &PhaseOne) -> Case {
        let mut targets = candidate.targets.clone();
        targets.unordered = unordered_proves(&self.baseline.opaque_libraries, &phase.sites);
        let mut case = Case::new(targets);
        if candidate.precise {
            case.seen = candidate.context.schedule.clone();
        }
        let print = candidate.fingerprint();
        let known = self
            .store
            .tried(&print, self.input.program, self.input.hash())
            .ok()
            .flatten();
        // What was settled may be so without the oracle.
        if let Some(t) = known.filter(|t| t.tries > 0 && self.options.oracle.is_empty()) {
            let done = t.is_done(self.judge.rules.tries);
            if (t.settled || done) && t.hits > 0 && !self.stored_as_real(&print) {
                return case;
            }
            (case.tries, case.met, case.hits) = (t.tries, t.met, t.hits);
            case.reached = t.hits > 0;
            if done {
                case.settled = Some(Settled::Tried);
            }
        }
        case
    }

    /// Keeps how far each candidate was tried, and what was shown meanwhile: whoever ends this process, it is not lost.
    pub(super) fn save_round(
        &self,
        candidates: &[Candidate],
        cases: &[Case],
        shown: Vec<Found>,
    ) -> Result<(), StoreError> {
        self.store.together(|| {
            for (candidate, case) in candidates.iter().zip(cases) {
                let tried = Tried {
                    tries: case.tries,
                    met: case.met,
                    hits: case.hits,
                    settled: case.settled.is_some(),
                    allowed: self.judge.rules.tries,
                };
                self.store
                    .save_tried(&candidate.fingerprint(), self.input.program, self.input.hash(), &tried)?;
            }
            self.save_shown(shown)
        })
    }

    /// Keeps findings as they are now; within a transaction.
    pub(super) fn save_shown(&self, shown: Vec<Found>) -> Result<(), StoreError> {
        if !shown.is_empty() {
            self.store.save_input(self.input)?;
        }
        for (mut finding, execution) in shown {
            finding.replay = execution.as_ref().map(|e| self.token(e));
            finding.id = self.store.label(&finding.fingerprint)?;
            self.store
                .save(&finding, self.input.program, self.input.hash(), execution.as_ref())?;
        }
        Ok(())
    }

    /// Findings of the candidates that are shown and not in `saved`, to which they are added.
    pub(super) fn newly_shown(
        &self,
        candidates: &[Candidate],
        cases: &[Case],
        phase: &PhaseOne,
        saved: &mut HashSet<usize>,
    ) -> Vec<Found> {
        let mut names = Names::new(&phase.sites);
        let mut found = Vec::new();
        for (n, (candidate, case)) in candidates.iter().zip(cases).enumerate() {
            if let Some(shown) = &case.shown
                && saved.insert(n)
            {
                found.push((names.race(candidate, case), Some(self.execution(shown))));
            }
        }
        found
    }

    /// Findings of the cycles of waiting that happened.
    pub(super) fn shown_cycles(&self, cycles: &[WaitingCycle], cases: &[CycleCase], phase: &PhaseOne) -> Vec<Found> {
        let mut names = Names::new(&phase.sites);
        let all = cycles.iter().zip(cases).filter(|(_, case)| case.shown.is_some());
        all.map(|(cycle, case)| self.cycle(&mut names, cycle, case)).collect()
    }
}
