//! The ordinary runs: three under `fifo`, one without deadheat. Harm is what they do not show.
//!
//! The run without deadheat may well show a bug by itself: its schedule is anybody's guess. So it has a say only where
//! those under `fifo` do not repeat; where they do, what they do not show is the schedule's doing.

use crate::outcome::Outcome;
use crate::stage::{End, Run, RunError, Stage, StopReason};
use deadheat_model::{Harm, HarmKind};
use deadheat_wire::plan::{Mode, Plan, Policy, Targets};
use std::time::Duration;

/// What the ordinary runs showed.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Outcomes under `fifo`.
    pub fifo: Vec<Outcome>,
    /// Outcome without a plan.
    pub native: Outcome,
    /// How long the run without a plan took.
    pub native_elapsed: Duration,
    /// Whether every `fifo` run had the same schedule hash.
    pub repeatable: bool,
    /// Whether addresses are the same in every run.
    pub fixed_addresses: bool,
    /// Longest time of an ordinary run that ended.
    pub elapsed: Duration,
    /// Whether runs start from the same files, so that exit statuses can be compared.
    pub same_files: bool,
    /// Libraries whose synchronisation is unseen.
    pub opaque_libraries: Vec<String>,
    /// Whether freed blocks are overwritten in the runs that confirm; not where ordinary runs would end otherwise.
    pub poison: bool,
    /// The last `fifo` run that ended.
    pub run: Run,
}

/// Number of ordinary runs under `fifo` where something is to be proven: they tell what differs by itself.
pub const FIFO_RUNS: usize = 3;

impl Baseline {
    /// Makes the ordinary runs, so many under `fifo`.
    pub fn take(stage: &Stage, fifo_runs: usize) -> Result<Baseline, RunError> {
        let mut plan = Baseline::plan();
        let mut runs = fifo(stage, &plan, fifo_runs)?;
        let native = stage.run_natively()?;
        ready(&native)?;
        let end = Outcome::of(&native);
        let as_native = |runs: &[Run]| runs.iter().all(|run| Outcome::of(run).alike(&end));
        if !end.inconclusive() && !as_native(&runs) {
            let kept = Plan {
                poison: false,
                ..plan.clone()
            };
            let again = fifo(stage, &kept, fifo_runs)?;
            if as_native(&again) {
                (plan, runs) = (kept, again);
            }
        }
        let ended = |r: &&Run| !Outcome::of(r).inconclusive();
        let elapsed = runs
            .iter()
            .chain([&native])
            .filter(ended)
            .map(|r| r.elapsed)
            .max()
            .unwrap_or_default();
        let hashes: Vec<_> = runs.iter().filter(ended).map(|r| r.records.schedule_hash()).collect();
        let fifo = runs.iter().map(Outcome::of).collect();
        let last = runs.iter().rposition(|r| ended(&r)).or(runs.len().checked_sub(1));
        let run = last.map_or_else(|| native.clone(), |n| runs.swap_remove(n));
        let started = run.records.started.as_ref();
        Ok(Baseline {
            fifo,
            native: Outcome::of(&native),
            native_elapsed: native.elapsed,
            repeatable: hashes.windows(2).all(|w| w[0] == w[1]) && hashes.iter().all(Option::is_some),
            fixed_addresses: started.is_some_and(|s| s.fixed_addresses),
            elapsed,
            same_files: stage.isolation.same_files(),
            poison: plan.poison,
            opaque_libraries: started.map(|s| s.opaque_libraries.clone()).unwrap_or_default(),
            run,
        })
    }

    /// The plan of the ordinary runs under `fifo`, as long as no other is needed: with atomics and back edges on, as in phase 2, so that spin loops
    /// give way and loops are counted.
    pub fn plan() -> Plan {
        let watched = Targets {
            atomics: true,
            ..Targets::default()
        };
        Plan::new(Mode::Confirm(watched), Policy::Fifo)
    }

    /// The bound of idling after which a run is a hang: ten times the back edges of a whole ordinary run,
    /// so that a long computation is told from a loop without end, and short programs are soon done.
    pub fn hang_yields(&self, plan: &Plan) -> u64 {
        let back_edges = self.run.records.ended.as_ref().map_or(0, |e| e.back_edges);
        let least = plan.hang_yields / 20;
        (back_edges / u64::from(plan.back_edges.max(1)) * 10).clamp(least, plan.hang_yields)
    }

    /// How many of how many ordinary runs did not end.
    pub fn endless(&self) -> (usize, usize) {
        (self.all().filter(|o| o.inconclusive()).count(), self.all().count())
    }

    /// How many of them were stopped, and did not sleep for good.
    pub fn stopped(&self) -> usize {
        let asleep = Outcome::Inconclusive(StopReason::Asleep);
        self.all().filter(|o| o.inconclusive() && **o != asleep).count()
    }

    fn all(&self) -> impl Iterator<Item = &Outcome> {
        self.fifo.iter().chain([&self.native])
    }

    /// The outcomes that say what is ordinary.
    fn ordinary(&self) -> impl Iterator<Item = &Outcome> {
        let native = (!self.repeatable).then_some(&self.native);
        self.fifo.iter().chain(native)
    }

    /// What the run without deadheat had against the program that those under `fifo` had not.
    pub fn fails_natively(&self) -> Option<&Outcome> {
        let asleep = self.native == Outcome::Inconclusive(StopReason::Asleep);
        let shows = |o: &Outcome| o.alike(&self.native) || asleep && *o == Outcome::Deadlock;
        let badly = asleep || self.native.as_harm().is_some();
        (badly && !self.fifo.iter().any(shows)).then_some(&self.native)
    }

    /// Whether a run without deadheat ended badly: in a way in which programs do not end, or with another status than
    /// the ordinary runs.
    pub fn is_failure(&self, outcome: &Outcome) -> bool {
        let ends = matches!(outcome, Outcome::Exit(_));
        let asleep = *outcome == Outcome::Inconclusive(StopReason::Asleep);
        asleep || !ends && outcome.as_harm().is_some() || self.harm(outcome).is_some()
    }

    /// The bad end that every run under `fifo` came to, if they repeat, and the files are the same in case it is an exit
    /// status. Not what an oracle or a client says, and not threads that all wait (a deadlock is one whatever other runs
    /// do).
    pub fn always_fails(&self) -> Option<&Outcome> {
        let first = self.fifo.first().filter(|o| o.as_harm().is_some())?;
        let told = match first {
            Outcome::Client(_) | Outcome::Check(_) | Outcome::Deadlock | Outcome::Hang => false,
            Outcome::Exit(_) => self.same_files,
            _ => true,
        };
        (told && self.repeatable && self.fifo.iter().all(|o| o.alike(first))).then_some(first)
    }

    /// What of two runs that differ in one order alone harms: as [`harm`](Self::harm), and the failure of every ordinary
    /// run beside an order that ends well.
    pub fn harm_beside(&self, outcome: &Outcome, other: &Outcome) -> Option<Harm> {
        let always = self
            .always_fails()
            .filter(|o| o.alike(outcome) && *other == Outcome::Exit(0));
        self.harm(outcome).or_else(|| always.and_then(Outcome::as_harm))
    }

    /// The exit status that the ordinary runs agree on.
    pub fn status(&self) -> Option<i32> {
        let mut statuses = self
            .ordinary()
            .map(|o| if let Outcome::Exit(n) = o { Some(*n) } else { None });
        let first = statuses.next()??;
        statuses.all(|s| s == Some(first)).then_some(first)
    }

    /// What of this outcome harms, by the rules of design section 1: nothing that an ordinary run shows;
    /// an exit status only if it is not 0, the ordinary runs agree on another and every run starts from the same files; what an
    /// oracle has against a run only if they do. An oracle, or a client, may mind what differs from run to run (a time
    /// that the program prints): what it has against the run without deadheat it has against any.
    pub fn harm(&self, outcome: &Outcome) -> Option<Harm> {
        let judged = matches!(outcome, Outcome::Client(_) | Outcome::Check(_));
        let native = judged.then_some(&self.native);
        if self.ordinary().chain(native).any(|o| o.alike(outcome)) {
            return None;
        }
        let harm = outcome.as_harm();
        match (&harm, self.status(), outcome) {
            (Some(h), None, _) if h.kind == HarmKind::ExitStatus => None,
            (_, Some(_), Outcome::Exit(_) | Outcome::Client(_)) if !self.same_files => None,
            (_, _, Outcome::Check(_)) if !self.same_files => None,
            (Some(_), Some(usual), Outcome::Exit(n)) if *n != usual => Some(Harm {
                kind: HarmKind::ExitStatus,
                detail: format!("exit status {n} instead of {usual}"),
            }),
            _ => harm,
        }
    }
}

/// The runs under `fifo`. What they do with freed blocks is ordinary.
fn fifo(stage: &Stage, plan: &Plan, number: usize) -> Result<Vec<Run>, RunError> {
    let mut runs = Vec::new();
    for _ in 0..number {
        let mut run = stage.run(plan)?;
        ready(&run)?;
        stage.freed_uses.learn(&mut run.records);
        runs.push(run);
        // A run that does not end is not waited for again.
        if stage.interrupted() || matches!(runs.last(), Some(r) if Outcome::of(r).inconclusive()) {
            break;
        }
    }
    Ok(runs)
}

/// Whether the program was ever ready for its client.
fn ready(run: &Run) -> Result<(), RunError> {
    let never = run.client.as_ref().is_some_and(|client| !client.started);
    let stopped = |reason| matches!(run.end, End::Stopped(given) if given == reason);
    if !never || stopped(StopReason::Interrupted) {
        return Ok(());
    }
    let said = run.stderr.text();
    let said = said.lines().rev().find(|line| !line.trim().is_empty());
    let how = match run.end {
        End::Exit(status) => format!("it ended with status {status}"),
        End::Signal(signal) => format!("it died of {}", crate::outcome::signal_name(signal)),
        End::Stopped(_) => format!("it was waited for {:.0?}", run.elapsed),
    };
    Err(RunError::NotReady(
        said.map_or(how.clone(), |said| format!("{how}: {}", said.trim())),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Output, Records};

    fn baseline(fifo: [Outcome; 3], native: Outcome) -> Baseline {
        let output = Output::default();
        let run = Run {
            trace: None,
            client: None,
            objection: None,
            records: Records::default(),
            end: End::Exit(0),
            stdout: output.clone(),
            stderr: output,
            elapsed: Duration::ZERO,
        };
        Baseline {
            fifo: fifo.to_vec(),
            native,
            native_elapsed: Duration::ZERO,
            repeatable: true,
            fixed_addresses: true,
            elapsed: Duration::ZERO,
            same_files: true,
            poison: true,
            opaque_libraries: vec![],
            run,
        }
    }

    #[test]
    fn harm_is_what_ordinary_runs_do_not_show() {
        let calm = baseline([Outcome::Exit(0), Outcome::Exit(0), Outcome::Exit(0)], Outcome::Exit(0));
        assert!(calm.harm(&Outcome::Abort).is_some());
        assert!(calm.harm(&Outcome::Exit(1)).is_some());
        assert!(calm.harm(&Outcome::Exit(0)).is_none());
        let failing = baseline([Outcome::Exit(2), Outcome::Exit(2), Outcome::Exit(2)], Outcome::Exit(2));
        assert!(failing.harm(&Outcome::Exit(2)).is_none());
        assert!(failing.harm(&Outcome::Exit(0)).is_none());
        assert!(failing.harm(&Outcome::Exit(3)).is_some());
        assert!(failing.harm_beside(&Outcome::Exit(2), &Outcome::Exit(0)).is_some());
        assert!(failing.harm_beside(&Outcome::Exit(2), &Outcome::Exit(2)).is_none());
        assert!(failing.harm_beside(&Outcome::Exit(0), &Outcome::Exit(2)).is_none());
        let mut wavering = baseline([Outcome::Exit(0), Outcome::Exit(0), Outcome::Exit(0)], Outcome::Exit(1));
        wavering.repeatable = false;
        assert!(wavering.harm(&Outcome::Exit(3)).is_none());
        assert!(wavering.harm(&Outcome::Deadlock).is_some());
        let flaky = baseline([Outcome::Exit(0), Outcome::Exit(0), Outcome::Exit(0)], Outcome::Abort);
        assert!(flaky.harm(&Outcome::Abort).is_some());
        assert!(flaky.harm(&Outcome::Exit(1)).is_some());
        assert_eq!(flaky.fails_natively(), Some(&Outcome::Abort));
        let told = Outcome::Check("the output differs".into());
        assert!(flaky.harm(&told).is_some());
        let minded = baseline([Outcome::Exit(0), Outcome::Exit(0), Outcome::Exit(0)], told.clone());
        assert!(minded.harm(&told).is_none());
        let crashing = baseline([Outcome::Abort, Outcome::Abort, Outcome::Abort], Outcome::Abort);
        assert!(crashing.harm(&Outcome::Abort).is_none());
    }

    #[test]
    fn without_isolation_no_exit_status_harms() {
        let mut calm = baseline([Outcome::Exit(0), Outcome::Exit(0), Outcome::Exit(0)], Outcome::Exit(0));
        calm.same_files = false;
        assert!(calm.harm(&Outcome::Exit(1)).is_none());
        assert!(calm.harm(&Outcome::Deadlock).is_some());
    }
}
