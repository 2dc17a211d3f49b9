//! Bad ends of explored inputs: crashes, failed assertions, hangs, each repeated and made a finding of its own.

use super::Explorer;
use crate::bad_end;
use crate::describe::Names;
use crate::explored_input::told;
use crate::phase_one::Ending;
use crate::store::{Execution, Store};
use crate::token::Token;
use deadheat_confirm::candidate::{BadRun, Rules};
use deadheat_confirm::{Outcome, Program, Stage};
use deadheat_report::Finding;
use deadheat_wire::plan::Plan;

/// The usual bound of a hang is many seconds of looping; so many times less to call it one.
const HANG: u64 = 4;

impl Explorer<'_> {
    /// The findings of bad ends that repeat. The end of the budget, or an interrupt, does not lose them: each takes a run, or two.
    pub(super) fn bad_findings(&mut self, store: &Store, given: &Program) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut unrepeated = 0;
        for (number, ending, phase) in std::mem::take(&mut self.bad) {
            let program = &self.inputs[number].program.clone();
            let (Ok(mut stage), Ok(input)) = (self.plain.with(program.clone()), self.options.input(program)) else {
                unrepeated += 1;
                continue;
            };
            stage.set_undisturbed();
            let Some(ending) = self.patient(&stage, ending) else {
                unrepeated += 1;
                continue;
            };
            let Ok(again) = stage.repeat(&ending.plan) else {
                unrepeated += 1;
                continue;
            };
            self.runs += 1;
            let (Some(hash), Some(harm)) = (ending.run.records.schedule_hash(), ending.outcome.as_harm()) else {
                continue;
            };
            if again.records.schedule_hash() != Some(hash) || !Outcome::of(&again).alike(&ending.outcome) {
                unrepeated += 1;
                continue;
            }
            let shown = deadheat_confirm::candidate::Shown {
                evidence: deadheat_model::Evidence::Happened,
                plan: ending.plan.clone(),
                run: ending.run.clone(),
                hash,
                meeting: None,
                other: None,
                story: None,
            };
            let bad = BadRun {
                outcome: ending.outcome.clone(),
                harm,
                shown,
                met: false,
            };
            let mut finding = bad_end::crash(&mut Names::new(&phase.sites), &bad);
            finding.input = (number > 0).then(|| told(input.id(), given, program));
            let execution = Execution {
                program: input.program,
                input: input.hash(),
                plan: ending.plan.clone(),
                switches: ending.run.records.switches.clone(),
                schedule_hash: hash,
                meeting: None,
            };
            finding.replay = Some(Token::new(input.program, input.hash(), &ending.plan, hash).encode());
            let kept = store.together(|| {
                store.save_input(&input)?;
                finding.id = store.label(&finding.fingerprint)?;
                store.save(&finding, input.program, input.hash(), Some(&execution))
            });
            if let Err(error) = kept {
                self.notices.push(format!("a finding could not be stored: {error}"));
            }
            found.push(finding);
        }
        if unrepeated > 0 {
            self.notices
                .push(format!("{unrepeated} bad ends did not repeat, and are no findings"));
        }
        found
    }

    /// A hang once more, with a bound that a long computation does not reach; other ends as they are.
    fn patient(&mut self, stage: &Stage, ending: Ending) -> Option<Ending> {
        if ending.outcome != Outcome::Hang {
            return Some(ending);
        }
        let plan = Plan {
            hang_yields: Rules::new(self.options.seed).plan.hang_yields / HANG,
            ..ending.plan
        };
        let run = stage.run(&plan).ok()?;
        self.runs += 1;
        let outcome = Outcome::of(&run);
        (outcome == Outcome::Hang).then_some(Ending { plan, run, outcome })
    }
}
