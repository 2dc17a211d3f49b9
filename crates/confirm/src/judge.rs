//! Phase 2: the verdict on a candidate (RaceFuzzer, PLDI 2008, section 2 and algorithm 1).
//!
//! Each try is a run under the race-directed policy with the next seed. What we add to the paper: a hit
//! counts only once its run was repeated with the same schedule hash; harm is laid to a pair only if the
//! other order of one meeting, from the same prefix and with the same policy afterwards, is clean, and so is the
//! run with nothing but that order changed (`cause.rs`); a bad run whose other order is bad too is a finding of its own. Both orders are continued in two ways: by the same
//! random policy (the meeting is flipped), and, in the first tries, by an ordinary schedule (`orders.rs`),
//! since a program that races often is seldom clean under a policy that makes it race all the time. Tries
//! depend only on the candidate and the seed, never on what else runs.

use crate::bad_end::BadEnd;
use crate::baseline::Baseline;
use crate::candidate::{BAD_RUNS, BadRun, Case, Rules, Shown, flipped, meetings};
use crate::cause;
use crate::hang;
use crate::orders;
use crate::outcome::Outcome;
use crate::replay;
use crate::stage::{Run, RunError, Stage};
use deadheat_model::{Evidence, Harm, HarmKind, SiteKind};
use deadheat_wire::plan::{Mode, Plan, Scheduling, Targets};

/// A hit that does not repeat is looked for again this often.
const UNREPEATED: u32 = 3;

/// The plan with statements that read and write apart or whole.
pub(crate) fn with_torn(plan: &Plan, torn: bool) -> Plan {
    let mut plan = plan.clone();
    if let Mode::Confirm(targets) = &mut plan.mode {
        targets.torn = torn;
    }
    plan
}

/// The judge of one program.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// Starts runs.
    pub stage: &'a Stage,
    /// The ordinary runs.
    pub baseline: &'a Baseline,
    /// How to try.
    pub rules: &'a Rules,
}

impl Judge<'_> {
    /// Tries the case until it had `until` tries or is settled, or `stop` says so.
    pub fn advance(&self, case: &mut Case, until: u32, stop: &dyn Fn() -> bool) -> Result<(), RunError> {
        while case.settled.is_none() && case.tries < until && !stop() {
            self.attempt(case)?;
            case.settle(self.rules);
        }
        Ok(())
    }

    fn attempt(&self, case: &mut Case) -> Result<(), RunError> {
        let plan = self.rules.try_plan(case);
        let run = match self.stage.run(&plan) {
            Err(RunError::NoRuntime(_)) => None,
            other => Some(other?),
        };
        case.tries += 1;
        let Some(run) = run else {
            case.inconclusive += 1;
            return Ok(());
        };
        let outcome = Outcome::of(&run);
        let ended = run.records.ended.as_ref();
        case.reached |= ended.is_none_or(|e| e.target_hits > 0) || !run.records.meetings.is_empty();
        if outcome.inconclusive() {
            case.inconclusive += 1;
            return Ok(());
        }
        if outcome == Outcome::Hang && case.hang_lasts.is_none() {
            let lasts = hang::lasts(self.stage, &plan, &run)?;
            case.hang_lasts = Some(lasts);
            if !lasts {
                case.inconclusive += 1;
                return Ok(());
            }
        }
        let met = meetings(&case.targets, &run).next().is_some();
        let hit = met || case.unordered(&run).is_some();
        case.met += u32::from(met);
        case.hits += u32::from(hit);
        let harm = self.baseline.harm(&outcome);
        case.note_directed(&plan, &run, hit, met || harm.is_some());
        if let Some(harm) = harm {
            case.harms += 1;
            if case.harm.is_none() || !met {
                self.weigh(case, &plan, &run, outcome, harm)?;
            }
        }
        if met && case.harm.is_none() && case.tries <= self.rules.ordered() {
            self.both_orders(case, &plan, &run)?;
            if case.harm.is_none() {
                self.torn(case, &plan, &run)?;
            }
        }
        let better = case
            .shown
            .as_ref()
            .is_none_or(|s| s.evidence == Evidence::Unordered && met);
        if hit && better && case.harm.is_none() && case.unrepeated < UNREPEATED {
            self.show(case, &plan, run)?;
        }
        Ok(())
    }

    /// Lets the first and the last meeting of a run go either way, and the run then go on as an ordinary
    /// one. Harm in one order alone is laid to the pair.
    fn both_orders(&self, case: &mut Case, plan: &Plan, run: &Run) -> Result<(), RunError> {
        let ends = orders::ends(&case.targets, run);
        let ways = ends.iter().flat_map(|m| [(*m, false), (*m, true)]);
        for (meeting, interrupted) in ways {
            let plans = [true, false].map(|first| orders::plan(plan, run, meeting, first, interrupted));
            let runs = [self.stage.run(&plans[0])?, self.stage.run(&plans[1])?];
            let outcomes = [Outcome::of(&runs[0]), Outcome::of(&runs[1])];
            let turned = match (orders::resolved(&runs[0], meeting), orders::resolved(&runs[1], meeting)) {
                (Some(a), Some(b)) => a != b,
                _ => false,
            };
            if !turned || outcomes.iter().any(Outcome::inconclusive) {
                continue;
            }
            let [first, second] = &outcomes;
            let harms = [
                self.baseline.harm_beside(first, second),
                self.baseline.harm_beside(second, first),
            ];
            let (bad, harm) = match harms {
                [Some(harm), None] => (0, harm),
                [None, Some(harm)] => (1, harm),
                _ => continue,
            };
            if !self.decides(case, &plans[bad], &runs[bad], meeting.number)? {
                continue;
            }
            let Some(hash) = self.stands(&plans[bad], &runs[bad])? else {
                case.unrepeated += 1;
                continue;
            };
            let (plan, run, other) = (plans[bad].clone(), runs[bad].clone(), Some(runs[1 - bad].clone()));
            let meeting = Some(meeting.number);
            case.shown = Some(Shown {
                evidence: Evidence::Created,
                plan,
                run,
                hash,
                meeting,
                other,
                story: None,
            });
            case.harm = Some(harm);
            return Ok(());
        }
        Ok(())
    }

    /// Lets a statement that reads and writes come apart at the first and the last meeting of a run: the other access
    /// comes between its read and its write. Harm in that, and none in the same run with the statement whole, is laid
    /// to the pair.
    fn torn(&self, case: &mut Case, plan: &Plan, run: &Run) -> Result<(), RunError> {
        for meeting in orders::ends(&case.targets, run) {
            for arriving_first in [true, false] {
                let held = if arriving_first {
                    &meeting.postponed
                } else {
                    &meeting.arriving
                };
                let between = if arriving_first {
                    &meeting.arriving
                } else {
                    &meeting.postponed
                };
                // A read between the two is one before or after both.
                if held.access.kind != SiteKind::ReadWrite || !between.access.kind.writes() {
                    continue;
                }
                let whole = orders::plan(plan, run, meeting, arriving_first, false);
                let apart = with_torn(&whole, true);
                let bad = self.stage.run(&apart)?;
                let outcome = Outcome::of(&bad);
                let came = meetings(&case.targets, &bad).find(|m| m.torn);
                let (Some(harm), Some(came)) = (self.baseline.harm(&outcome), came) else {
                    continue;
                };
                let number = came.number;
                let other = self.stage.run(&whole)?;
                let end = Outcome::of(&other);
                if end.inconclusive() || self.baseline.harm(&end).is_some() {
                    continue;
                }
                let Some(hash) = self.stands(&apart, &bad)? else {
                    case.unrepeated += 1;
                    continue;
                };
                case.shown = Some(Shown {
                    evidence: Evidence::Created,
                    plan: apart,
                    run: bad,
                    hash,
                    meeting: Some(number),
                    other: Some(other),
                    story: None,
                });
                case.harm = Some(harm);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Repeats a run and keeps it if the schedule was the same.
    fn repeated(&self, plan: &Plan, run: &Run) -> Result<Option<u64>, RunError> {
        let Some(hash) = run.records.schedule_hash() else {
            return Ok(None);
        };
        let again = replay::by_policy(self.stage, plan, hash)?;
        let same = again.same() && Outcome::of(again.run()).alike(&Outcome::of(run));
        Ok(same.then_some(hash))
    }

    /// As [`repeated`](Self::repeated), for a run whose end counts: a hang must last.
    fn stands(&self, plan: &Plan, run: &Run) -> Result<Option<u64>, RunError> {
        let Some(hash) = self.repeated(plan, run)? else {
            return Ok(None);
        };
        let stands = Outcome::of(run) != Outcome::Hang || hang::lasts(self.stage, plan, run)?;
        Ok(stands.then_some(hash))
    }

    /// Takes a hit as the execution that shows the pair, with the other order beside it.
    pub(crate) fn show(&self, case: &mut Case, plan: &Plan, run: Run) -> Result<(), RunError> {
        let Some(hash) = self.repeated(plan, &run)? else {
            case.unrepeated += 1;
            return Ok(());
        };
        let meeting = meetings(&case.targets, &run).next().map(|m| m.number);
        let evidence = if meeting.is_some() {
            Evidence::Created
        } else {
            Evidence::Unordered
        };
        let other = match meeting {
            Some(number) => self.other_order(&case.targets, plan, &run, number)?,
            None => None,
        };
        case.shown = Some(Shown {
            evidence,
            plan: plan.clone(),
            run,
            hash,
            meeting,
            other,
            story: None,
        });
        Ok(())
    }

    /// The run with one meeting resolved the other way, if it was.
    fn other_order(&self, pair: &Targets, plan: &Plan, run: &Run, number: u32) -> Result<Option<Run>, RunError> {
        let other = match self.stage.run(&flipped(plan, number)) {
            Err(RunError::NoRuntime(_)) => return Ok(None),
            other => other?,
        };
        let of_pair = |r: &Run| {
            let own = meetings(pair, r).find(|m| m.number == number);
            // Each process has numbers of its own.
            own.map(|m| (m.process, m.arriving_first))
        };
        let turned = matches!((of_pair(run), of_pair(&other)), (Some(a), Some(b)) if a.0 == b.0 && a.1 != b.1);
        Ok(turned.then_some(other))
    }

    /// Whether a bad run ends well if nothing but the order of this meeting's accesses is changed. What cannot be tried
    /// speaks for it.
    fn decides(&self, case: &Case, plan: &Plan, run: &Run, number: u32) -> Result<bool, RunError> {
        let Some(meeting) = meetings(&case.targets, run).find(|m| m.number == number) else {
            return Ok(true);
        };
        let other = cause::swapped(self.stage, plan, &case.targets, run, meeting)?;
        let ends_badly = |run: &Run| self.baseline.harm(&Outcome::of(run)).is_some();
        Ok(!other.is_some_and(|other| ends_badly(&other)))
    }

    /// Decides whether a bad run is laid to the pair: the last meeting, or else the first, decided it.
    fn weigh(&self, case: &mut Case, plan: &Plan, run: &Run, outcome: Outcome, harm: Harm) -> Result<(), RunError> {
        let ends: Vec<u32> = orders::ends(&case.targets, run).iter().map(|m| m.number).collect();
        let met = !ends.is_empty();
        let came_to = BadEnd::of(run);
        let known = |b: &BadRun| b.end().same(&came_to) && b.met == met;
        for number in ends.into_iter().rev() {
            let Some(other) = self.other_order(&case.targets, plan, run, number)? else {
                continue;
            };
            let end = Outcome::of(&other);
            if end.inconclusive() || self.baseline.harm(&end).is_some() || !self.decides(case, plan, run, number)? {
                continue;
            }
            let Some(hash) = self.stands(plan, run)? else {
                case.unrepeated += 1;
                return Ok(());
            };
            let (plan, run) = (plan.clone(), run.clone());
            case.shown = Some(Shown {
                evidence: Evidence::Created,
                plan,
                run,
                hash,
                meeting: Some(number),
                other: Some(other),
                story: None,
            });
            case.harm = Some(harm);
            return Ok(());
        }
        if !case.bad.iter().any(known) {
            self.note_bad(case, plan, run, outcome, harm, met)?;
        }
        Ok(())
    }

    /// Keeps a bad run that is laid to no pair, if it repeats.
    pub(crate) fn note_bad(
        &self,
        case: &mut Case,
        plan: &Plan,
        run: &Run,
        outcome: Outcome,
        harm: Harm,
        met: bool,
    ) -> Result<(), RunError> {
        if case.bad.len() < BAD_RUNS
            && let Some(shown) = self.happened(plan, run)?
        {
            case.bad.push(BadRun {
                outcome,
                harm,
                shown,
                met,
            });
        }
        Ok(())
    }

    /// A bad run as an execution that shows itself, if it repeats.
    pub fn happened(&self, plan: &Plan, run: &Run) -> Result<Option<Shown>, RunError> {
        let hash = self.stands(plan, run)?;
        Ok(hash.map(|hash| Shown {
            evidence: Evidence::Happened,
            plan: plan.clone(),
            run: run.clone(),
            hash,
            meeting: None,
            other: None,
            story: None,
        }))
    }

    /// A bad end of phase 1, whose runs do not look after freed blocks, under the same schedule in a run that does: the
    /// use of a freed block that led to it, if there is one. Only an end that one leads to is asked about.
    pub fn as_freed_use(&self, plan: &Plan, harm: &Harm) -> Result<Option<BadRun>, RunError> {
        if !matches!(
            harm.kind,
            HarmKind::Signal | HarmKind::Abort | HarmKind::Deadlock | HarmKind::Hang
        ) {
            return Ok(None);
        }
        let Scheduling {
            policy,
            quantum,
            back_edges,
        } = plan.scheduling();
        let watched = Targets {
            atomics: true,
            ..Targets::default()
        };
        let plan = Plan {
            mode: Mode::Confirm(watched),
            policy,
            quantum,
            back_edges,
            ..self.rules.plan.clone()
        };
        let run = self.stage.run(&plan)?;
        let outcome = Outcome::of(&run);
        let (Outcome::FreedUse { .. }, Some(harm)) = (&outcome, self.baseline.harm(&outcome)) else {
            return Ok(None);
        };
        Ok(self.happened(&plan, &run)?.map(|shown| BadRun {
            outcome,
            harm,
            shown,
            met: false,
        }))
    }
}
