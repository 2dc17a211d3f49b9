//! The bad end that every ordinary run comes to: a schedule's doing, or a crash that the program comes to by itself.

use super::{Extent, Work};
use crate::bad_end;
use crate::describe::Names;
use crate::exploration::Explored;
use crate::minimisation;
use crate::phase_one::PhaseOne;
use deadheat_confirm::candidate::BadRun;
use deadheat_confirm::minimise::Minimiser;
use deadheat_confirm::{BadEnd, Baseline, Case, Outcome};
use deadheat_model::Harm;
use std::time::Instant;

/// A bad end that every ordinary run comes to.
pub(super) enum AlwaysBad {
    /// Another schedule avoids it.
    Schedule(BadRun),
    /// None does.
    Crash(BadRun),
}

impl Work<'_> {
    /// The bad end of all ordinary runs: if a run under another schedule ended well it is a schedule's doing, else it is a
    /// crash that the program comes to by itself, as the run without deadheat must have shown too. A status is told by
    /// the notices on ordinary runs.
    pub(super) fn fails_always(&mut self, explored: Explored, cases: &[Case], phase: &PhaseOne) -> Option<AlwaysBad> {
        let outcome = self.baseline.always_fails()?.clone();
        if self.stage.freed_uses.blocks(&self.baseline.run.records) {
            return None;
        }
        let harm = outcome.as_harm()?;
        let end = BadEnd::of(&self.baseline.run);
        let laid = |c: &Case| {
            let shown = c.shown.as_ref().filter(|_| c.harm.is_some());
            shown.is_some_and(|s| BadEnd::of(&s.run).same_cause(&end))
        };
        // Another harm of some pair does not tell of this one.
        if cases.iter().any(laid) {
            return None;
        }
        let mut bad = self.always_bad(outcome, harm)?;
        let known = self.store.findings(self.input.program, self.input.hash());
        let crash = bad_end::crash(&mut Names::new(&phase.sites), &bad);
        if bad_end::is_laid(&crash, &known.unwrap_or_default()) {
            return None;
        }
        let (outcome, harm) = (&bad.outcome, &bad.harm);
        let told = format!("{}: {}", deadheat_report::words::harm(harm.kind), harm.detail);
        if explored.good.is_none() {
            if matches!(outcome, Outcome::Exit(_)) {
                return None;
            }
            let others = match explored.runs {
                0 => String::new(),
                runs => format!(", and none of {runs} under other schedules ended well"),
            };
            let (by_itself, so) = match self.baseline.native.alike(outcome) {
                true => (true, "the program does it by itself"),
                false => (false, "that is laid to no schedule"),
            };
            self.notices.push(format!(
                "the program's ordinary runs already end badly ({told}){others}: {so}"
            ));
            if !by_itself || self.options.extent == Extent::Detect {
                return None;
            }
        }
        let Some(good) = explored.good else {
            return Some(AlwaysBad::Crash(bad));
        };
        let stage = self.stage;
        let until = self.minimising_until();
        let minimiser = Minimiser {
            stage,
            runs: 0,
            stop: &|| stage.stopped() || until.is_some_and(|until| Instant::now() >= until),
            harm: &|_| None,
        };
        let averted = minimisation::averted(minimiser, &mut bad, &good);
        let averted = averted.unwrap_or_else(|error| {
            self.trouble = self.trouble.take().or(Some(error.to_string()));
            None
        });
        let token = self.token(&self.execution(averted.as_ref().unwrap_or(&good)));
        self.notices.push(format!(
            "every ordinary run ends badly ({told}), but not a run under another schedule; that one is: deadheat replay {token} -- {}",
            self.input.command()
        ));
        Some(AlwaysBad::Schedule(bad))
    }

    /// The end of the ordinary runs as an execution that shows itself.
    fn always_bad(&mut self, outcome: Outcome, harm: Harm) -> Option<BadRun> {
        let judge = self.judge;
        match judge.happened(&Baseline::plan(), &self.baseline.run) {
            Ok(shown) => shown.map(|shown| BadRun {
                outcome,
                harm,
                shown,
                met: false,
            }),
            Err(error) => {
                self.trouble = self.trouble.take().or(Some(error.to_string()));
                None
            }
        }
    }
}
