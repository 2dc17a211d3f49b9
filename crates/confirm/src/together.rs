//! Tries that are directed at several candidates at once.
//!
//! The race-directed policy takes any set of statements on either side, so one run can look for many pairs; the
//! runtime's meetings and unordered pairs name their sites, and so the candidate. Nothing is weaker in what
//! such a run shows: it is repeated and kept like any other. What it is worse at is directing: a thread stands
//! at the first of the statements that it comes to. So it serves to find, among thousands that are
//! unlikely, those that deserve tries of their own; harm is left to these.

use crate::candidate::{Case, meetings};
use crate::judge::Judge;
use crate::outcome::Outcome;
use crate::stage::{Run, RunError};
use deadheat_model::{Evidence, SiteId};
use deadheat_wire::plan::{Plan, Targets};

impl Judge<'_> {
    /// Tries the cases together until each was shown, is settled or had `until` tries, or `stop` says so.
    pub fn advance_together(
        &self,
        cases: &mut [&mut Case],
        until: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), RunError> {
        while !stop() {
            let waiting = |c: &&&mut Case| c.settled.is_none() && c.hits == 0 && c.tries < until;
            let Some(number) = cases.iter().filter(waiting).map(|c| c.tries).min() else {
                break;
            };
            let mut turn: Vec<&mut Case> = cases
                .iter_mut()
                .map(|c| &mut **c)
                .filter(|c| c.settled.is_none() && c.hits == 0 && c.tries == number)
                .collect();
            self.attempt_together(&mut turn, number)?;
            turn.iter_mut().for_each(|case| case.settle(self.rules));
        }
        Ok(())
    }

    fn attempt_together(&self, cases: &mut [&mut Case], number: u32) -> Result<(), RunError> {
        let plan = self.rules.directed_or_walk(&joined(cases), number);
        let run = match self.stage.run(&plan) {
            Err(RunError::NoRuntime(_)) => None,
            other => Some(other?),
        };
        let outcome = run.as_ref().map(Outcome::of).filter(|o| !o.inconclusive());
        let reached = run.as_ref().is_some_and(|run| {
            let ended = run.records.ended.as_ref();
            ended.is_none_or(|e| e.target_hits > 0) || !run.records.meetings.is_empty()
        });
        for case in cases.iter_mut() {
            case.tries += 1;
            case.together += 1;
            case.reached |= reached;
            case.inconclusive += u32::from(outcome.is_none());
        }
        let (Some(run), Some(outcome)) = (run, outcome) else {
            return Ok(());
        };
        let nobody_met = run.records.meetings.is_empty();
        if let (Some(harm), Some(first), true) = (self.baseline.harm(&outcome), cases.first_mut(), nobody_met) {
            first.harms += 1;
            self.note_bad(first, &plan, &run, outcome, harm, false)?;
        }
        for case in cases.iter_mut() {
            self.credit(case, &plan, &run)?;
        }
        Ok(())
    }

    fn credit(&self, case: &mut Case, plan: &Plan, run: &Run) -> Result<(), RunError> {
        let met = meetings(&case.targets, run).next().is_some();
        if !met && case.unordered(run).is_none() {
            return Ok(());
        }
        case.met += u32::from(met);
        case.hits += 1;
        let better = |shown: Evidence| shown == Evidence::Unordered && met;
        if case.shown.as_ref().is_none_or(|s| better(s.evidence)) {
            self.show(case, plan, run.clone())?;
        }
        Ok(())
    }
}

/// The statements of all cases, each side sorted.
fn joined(cases: &[&mut Case]) -> Targets {
    let side = |of: fn(&Targets) -> &Vec<SiteId>| {
        let mut sites: Vec<SiteId> = cases.iter().flat_map(|c| of(&c.targets)).copied().collect();
        sites.sort_unstable();
        sites.dedup();
        sites
    };
    Targets {
        first: side(|t| &t.first),
        second: side(|t| &t.second),
        atomics: cases.iter().any(|c| c.targets.atomics),
        unordered: cases.iter().any(|c| c.targets.unordered),
        ..Targets::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(first: &[u32], second: &[u32]) -> Case {
        let sites = |numbers: &[u32]| {
            numbers
                .iter()
                .map(|index| SiteId {
                    module: 0,
                    index: *index,
                })
                .collect()
        };
        Case::new(Targets {
            first: sites(first),
            second: sites(second),
            atomics: true,
            ..Targets::default()
        })
    }

    #[test]
    fn a_run_is_directed_at_all_and_credited_to_one() {
        let (mut a, mut b) = (case(&[3], &[1, 9]), case(&[2], &[2]));
        let targets = joined(&[&mut a, &mut b]);
        let numbers = |sites: &[SiteId]| sites.iter().map(|s| s.index).collect::<Vec<_>>();
        assert_eq!(
            (numbers(&targets.first), numbers(&targets.second)),
            (vec![2, 3], vec![1, 2, 9])
        );
        let site = |index| SiteId { module: 0, index };
        assert!(
            a.targets.is_pair(site(9), site(3))
                && !a.targets.is_pair(site(2), site(9))
                && !a.targets.is_pair(site(1), site(9))
        );
        assert!(b.targets.is_pair(site(2), site(2)));
    }
}
