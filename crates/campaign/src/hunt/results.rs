//! From cases to a report: findings described, labelled, stored, and joined with what is known already.

use super::suspects::Suspects;
use super::{Extent, Hunt, Work, ordinary};
use crate::bad_end;
use crate::candidate::{Candidate, Context};
use crate::describe::Names;
use crate::phase_one::PhaseOne;
use crate::store::{Execution, StoreError};
use crate::token::Token;
use crate::waiting_cycle::WaitingCycle;
use deadheat_confirm::candidate::{BadRun, Shown};
use deadheat_confirm::deadlock::CycleCase;
use deadheat_confirm::misuse::SeenMisuse;
use deadheat_confirm::{Case, Outcome};
use deadheat_model::{FindingKind, Harm, HarmKind, Verdict};
use deadheat_report::finding::{self, Finding, Report, Stats};

/// What a hunt has judged.
pub(super) struct Judged {
    pub candidates: Vec<Candidate>,
    /// One each.
    pub cases: Vec<Case>,
    pub cycles: Vec<WaitingCycle>,
    /// One each.
    pub rings: Vec<CycleCase>,
    /// Bad ends of other runs.
    pub bad: Vec<BadRun>,
    /// The end of every run, whatever the schedule.
    pub crash: Option<BadRun>,
    /// Misuses of synchronisation, of all runs.
    pub misuses: Vec<SeenMisuse>,
    /// Warnings of the static stage.
    pub suspects: Suspects,
}

/// A finding and the execution that shows it.
pub(super) type Found = (Finding, Option<Execution>);

impl Work<'_> {
    pub(super) fn report(mut self, judged: Judged, phase: &PhaseOne) -> Hunt {
        let Judged {
            candidates,
            cases,
            cycles,
            rings,
            bad,
            crash,
            misuses,
            suspects,
        } = &judged;
        let mut names = Names::new(&phase.sites);
        let mut found: Vec<Found> = Vec::new();
        for (cycle, case) in cycles.iter().zip(rings) {
            found.push(self.cycle(&mut names, cycle, case));
        }
        for (candidate, case) in candidates.iter().zip(cases) {
            let finding = names.race(candidate, case);
            let execution = case.shown.as_ref().map(|s| self.execution(s));
            found.push((finding, execution));
        }
        let ends = bad.iter().chain(cases.iter().flat_map(|c| &c.bad));
        for end in ends.chain(rings.iter().flat_map(|c| &c.bad)) {
            let finding = bad_end::finding(&mut names, end);
            if !shown_cycle(&finding, cycles, rings) {
                found.push((finding, Some(self.execution(&end.shown))));
            }
        }
        if let Some(end) = crash {
            found.push((bad_end::crash(&mut names, end), Some(self.execution(&end.shown))));
        }
        // One that repeated stands for all at its statement.
        let (repeated, others): (Vec<&SeenMisuse>, Vec<_>) = misuses.iter().partition(|m| m.repeated);
        for misuse in repeated.into_iter().chain(others) {
            let execution = misuse.repeated.then(|| Execution {
                meeting: Some(misuse.misuse.number),
                ..self.execution(&misuse.shown)
            });
            found.push((names.misuse(misuse), execution));
        }
        found.extend(suspects.unproven().map(|finding| (finding, None)));
        if !self.options.warnings.is_empty() {
            self.notices.push(suspects.told());
        }
        let cut = self.stage.misuses_cut();
        if cut > 0 {
            let told = format!("misuses of synchronisation: {cut} left out for want of room");
            self.notices.push(told);
        }
        let mut seen = std::collections::HashSet::new();
        found.retain(|(f, _)| seen.insert(f.fingerprint.clone()));
        self.suppress_found(&mut found);
        bad_end::leave_out_laid(&mut found, |(f, _)| f);
        if let Err(error) = self.keep(&judged, &mut found) {
            self.trouble = self.trouble.take().or(Some(error.to_string()));
        }
        let findings = self.joined(found);
        let ordinary = self.stage.freed_uses.told();
        self.notices.extend(ordinary.iter().map(|(freed_use, records)| {
            let context = Context::of(records, freed_use.process);
            ordinary::freed_use(&names.of(&context).freed_use(freed_use))
        }));
        let stats = self.stats(&judged, phase);
        self.notices.extend(self.suppressed.told());
        let mut report = Report {
            version: finding::VERSION,
            program: self.program(),
            findings,
            stats,
            notices: std::mem::take(&mut self.notices),
        };
        report.sort();
        let seconds = report.stats.seconds;
        let noted = self
            .store
            .save_hunt(self.input.program, self.input.hash(), self.stage.runs(), seconds);
        self.trouble = self.trouble.take().or(noted.err().map(|e| e.to_string()));
        let store = self.store.directory().map(Into::into);
        Hunt {
            report,
            interrupted: self.interrupted(),
            trouble: self.trouble.take(),
            store,
            reached: std::mem::take(&mut self.reached),
        }
    }

    pub(super) fn execution(&self, shown: &Shown) -> Execution {
        Execution {
            program: self.input.program,
            input: self.input.hash(),
            plan: shown.plan.clone(),
            switches: shown.run.records.switches.clone(),
            schedule_hash: shown.hash,
            meeting: shown.meeting,
        }
    }

    pub(super) fn token(&self, e: &Execution) -> String {
        Token::new(self.input.program, self.input.hash(), &e.plan, e.schedule_hash).encode()
    }

    /// The finding of a cycle of waiting: the deadlock it ended in, or the suspicion.
    pub(super) fn cycle(&self, names: &mut Names<'_>, cycle: &WaitingCycle, case: &CycleCase) -> Found {
        let Some(shown) = &case.shown else {
            return (cycle.suspected(names, case), None);
        };
        let outcome = deadheat_confirm::Outcome::of(&shown.run);
        let harm = outcome.as_harm().unwrap_or(Harm {
            kind: HarmKind::Deadlock,
            detail: String::new(),
        });
        let end = BadRun {
            outcome,
            harm,
            shown: shown.clone(),
            met: false,
        };
        let finding = Finding {
            kind: FindingKind::Deadlock,
            tries: case.tries,
            hits: case.hits,
            fingerprint: cycle.fingerprint.clone(),
            ..bad_end::finding(names, &end)
        };
        (finding, Some(self.execution(shown)))
    }

    /// Gives labels and replay tokens, and stores everything.
    fn keep(&self, judged: &Judged, found: &mut [Found]) -> Result<(), StoreError> {
        let (program, input) = (self.input.program, self.input.hash());
        let mut number = 0;
        for (finding, execution) in found.iter_mut() {
            number += 1;
            finding.id = format!("F{number}");
            finding.replay = execution.as_ref().map(|e| self.token(e));
        }
        self.store.together(|| {
            self.store.save_input(self.input)?;
            for candidate in &judged.candidates {
                self.store.save_suspicion(candidate, program, input)?;
            }
            for cycle in &judged.cycles {
                self.store.save_cycle(cycle, program, input)?;
            }
            // What is shown has the first labels.
            let (shown, suspected): (Vec<&mut Found>, Vec<&mut Found>) =
                found.iter_mut().partition(|(f, _)| f.verdict > Verdict::Suspected);
            for (finding, execution) in shown.into_iter().chain(suspected) {
                finding.id = self.store.label(&finding.fingerprint)?;
                self.store.save(finding, program, input, execution.as_ref())?;
            }
            Ok(())
        })
    }

    /// What was found now, with what the store knows of the same program and input. A stored verdict
    /// that is stronger stands.
    fn joined(&mut self, found: Vec<Found>) -> Vec<Finding> {
        let mut all: Vec<Finding> = found.into_iter().map(|(f, _)| f).collect();
        if let Extent::Confirm(labels) = &self.options.extent
            && !labels.is_empty()
        {
            return all;
        }
        let stored = self.store.findings(self.input.program, self.input.hash());
        let (mut stored, mut unasked) = (stored.unwrap_or_default(), 0);
        stored.retain_mut(|known| {
            let asked = !self.options.oracle.is_empty() || !harms_by_oracle(known);
            unasked += usize::from(!asked);
            asked || without_oracle(known)
        });
        if unasked > 0 {
            let told = format!(
                "{unasked} findings of earlier hunts harm only by what `--check` or `--expect-output` said, which is not asked now: `deadheat report` tells them"
            );
            self.notices.push(told);
        }
        for known in stored {
            match all.iter_mut().find(|f| f.fingerprint == known.fingerprint) {
                Some(now) if known.verdict > now.verdict => {
                    let most = std::cmp::max_by_key(&*now, &known, |f| f.tries).clone();
                    *now = Finding {
                        tries: most.tries,
                        hits: most.hits,
                        directed_tries: most.directed_tries,
                        directed_hits: most.directed_hits,
                        ..known
                    };
                }
                Some(_) => {}
                None if self.suppresses(&known) => {}
                None => all.push(known),
            }
        }
        bad_end::leave_out_laid(&mut all, |f| f);
        all
    }

    fn program(&self) -> finding::Program {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        finding::Program {
            file: lossy(&self.input.file),
            args: self.input.args.iter().map(|a| lossy(a)).collect(),
            hash: format!("{:016x}", self.input.program),
        }
    }

    fn stats(&self, judged: &Judged, phase: &PhaseOne) -> Stats {
        let Judged { cases, rings, .. } = judged;
        let cases = || cases.iter().chain(&judged.suspects.cases);
        let settled =
            cases().filter(|c| c.settled.is_some()).count() + rings.iter().filter(|c| c.settled.is_some()).count();
        let candidates = cases().count() + rings.len();
        let done = settled == candidates && (phase.done(true) || self.options.extent != Extent::Hunt);
        let stopped = match () {
            () if self.interrupted() => Some("interrupted".to_string()),
            () if self.trouble.is_some() => self.trouble.clone(),
            () if self.options.extent == Extent::Detect || done => None,
            () if self.options.runs.is_some() => Some("the tries asked for are used up".to_string()),
            () => Some("the budget is used up".to_string()),
        };
        Stats {
            runs: self.stage.runs(),
            seconds: self.begun.elapsed().as_secs_f64(),
            schedules: phase.schedules,
            candidates: candidates as u32,
            causes: self.causes as u32,
            settled: settled as u32,
            untried: cases().filter(|c| c.tries == 0).count() as u32,
            inconclusive: phase.inconclusive
                + cases().map(|c| c.inconclusive).sum::<u32>()
                + rings.iter().map(|c| c.inconclusive).sum::<u32>(),
            suppressed: self.suppressed.count(),
            stopped,
            plain_seconds: self.baseline.native_elapsed.as_secs_f64(),
            detecting_seconds: self.detecting.as_secs_f64(),
            confirming_seconds: self.confirming.as_secs_f64(),
            plain_runs: self.options.plain,
            plain_failures: self.failures,
            first_failure: self.first_failure(),
            exploration: None,
        }
    }

    /// The first run that ended badly, whatever other schedules lead to.
    pub(super) fn first_failure(&self) -> Option<u64> {
        let always = self.baseline.always_fails();
        self.stage.ends.first(|end| match end {
            Outcome::Deadlock => true,
            Outcome::Hang => self.stage.hangs_for_good(),
            _ => self.baseline.harm(end).is_some() || always.is_some_and(|bad| bad.alike(end)),
        })
    }
}

/// Whether a finding is harmful by the word of an oracle alone.
fn harms_by_oracle(finding: &Finding) -> bool {
    finding.harm.as_ref().is_some_and(|h| h.kind == HarmKind::Check)
}

/// Makes of such a finding what it is without the oracle: a race is real; of others nothing is left.
fn without_oracle(finding: &mut Finding) -> bool {
    finding.verdict = Verdict::Real;
    finding.harm = None;
    finding.orders.clear();
    finding.story = None;
    finding.kind == FindingKind::DataRace
}

/// Whether a bad end is a deadlock that was shown already.
fn shown_cycle(end: &Finding, cycles: &[WaitingCycle], rings: &[CycleCase]) -> bool {
    let mut shown = cycles.iter().zip(rings).filter(|(_, case)| case.shown.is_some());
    let stuck = matches!(end.kind, FindingKind::Deadlock | FindingKind::LostWakeup);
    stuck && shown.any(|(cycle, _)| cycle.is(end))
}
