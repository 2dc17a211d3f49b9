//! What the user does not want to hear of: not tried, not reported, counted by the line that says so.

use super::Work;
use super::results::Found;
use crate::candidate::Candidate;
use crate::describe::Names;
use crate::phase_one::PhaseOne;
use crate::waiting_cycle::WaitingCycle;
use deadheat_confirm::Case;
use deadheat_confirm::deadlock::CycleCase;
use deadheat_report::Finding;
use std::collections::{BTreeMap, BTreeSet};

/// The fingerprints of what each line of the suppression file left out.
#[derive(Debug, Default)]
pub(super) struct Suppressed(BTreeMap<String, BTreeSet<String>>);

impl Suppressed {
    /// How many different findings.
    pub(super) fn count(&self) -> u32 {
        self.0.values().map(|findings| findings.len() as u32).sum()
    }

    /// The lines, with how much each left out.
    pub(super) fn told(&self) -> impl Iterator<Item = String> {
        self.0
            .iter()
            .map(|(line, findings)| format!("suppressed by {line}: {}", findings.len()))
    }
}

impl Work<'_> {
    /// Takes out the candidates and cycles that are suppressed, before anything is tried.
    pub(super) fn suppress(
        &mut self,
        candidates: &mut Vec<Candidate>,
        cycles: &mut Vec<WaitingCycle>,
        phase: &PhaseOne,
    ) {
        if self.options.suppressions.is_empty() {
            return;
        }
        let mut names = Names::new(&phase.sites);
        candidates.retain(|c| !self.suppresses(&names.race(c, &Case::new(c.targets.clone()))));
        cycles.retain(|c| !self.suppresses(&c.suspected(&mut names, &CycleCase::new(c.places.clone()))));
    }

    /// Takes out findings that are suppressed: what a run shows has other stacks than what was predicted.
    pub(super) fn suppress_found(&mut self, found: &mut Vec<Found>) {
        if !self.options.suppressions.is_empty() {
            found.retain(|(finding, _)| !self.suppresses(finding));
        }
    }

    /// Whether a finding is suppressed, which is counted.
    pub(super) fn suppresses(&mut self, finding: &Finding) -> bool {
        let line = self.options.suppressions.suppresses(finding);
        let suppressed = line.map(|line| {
            let findings = self.suppressed.0.entry(line).or_default();
            findings.insert(finding.fingerprint.clone());
        });
        suppressed.is_some()
    }
}
