//! Misuses of synchronisation: what any controlled run showed, and the verdict on it.
//!
//! A stage notes what its runs show, each misuse once by its kind and the code addresses of its call, with the
//! executions of fewest switches (at most [`KEPT`]). One is real exactly if such an execution, run again, has the same
//! schedule hash and shows it again (evidence *happened*). Which executions are kept depends on what was run, not on
//! the order in which runs ended.

use crate::candidate::Shown;
use crate::judge::Judge;
use crate::records::Of;
use crate::replay;
use crate::stage::{Run, RunError};
use crate::{Baseline, Outcome};
use deadheat_model::{Evidence, MisuseKind};
use deadheat_wire::plan::{Mode, Plan, Policy};
use deadheat_wire::record::Misuse;
use std::collections::BTreeMap;

/// Executions kept of each misuse.
const KEPT: usize = 2;
/// Most different misuses; the rest is counted.
const MOST: usize = 256;
/// Addresses of a stack by which calls are told apart.
const FRAMES: usize = 4;

/// What tells misuses apart: the kind, and where; for what no call is to blame, where the object was taken.
type Key = (MisuseKind, Vec<u64>);

fn key(misuse: &Misuse) -> Key {
    let stack = if misuse.stack.is_empty() {
        &misuse.taken
    } else {
        &misuse.stack
    };
    (misuse.kind, stack.iter().take(FRAMES).copied().collect())
}

/// The misuses that the runs of a stage showed.
#[derive(Debug, Default)]
pub struct Sightings {
    seen: BTreeMap<Key, Sighting>,
    cut: u64,
    /// Those that were judged, with what came of it.
    judged: BTreeMap<Key, Option<SeenMisuse>>,
}

/// One misuse.
#[derive(Clone, Debug)]
struct Sighting {
    kept: Vec<Execution>,
    ordinary: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Execution {
    /// Heap blocks have no names in runs of detection, and their switches are of no help.
    detects: bool,
    switches: usize,
    plan_bytes: Vec<u8>,
    hash: u64,
}

/// A misuse with a run that shows it.
#[derive(Clone, Debug)]
pub struct SeenMisuse {
    /// What was seen in that run.
    pub misuse: Of<Misuse>,
    /// The execution.
    pub shown: Shown,
    /// Whether that is a repetition of an execution that showed the same: then it is real.
    pub repeated: bool,
    /// In how many ordinary runs it was seen.
    pub ordinary: u32,
}

impl Sightings {
    /// Notes what a run shows.
    pub fn note(&mut self, plan: &Plan, run: &Run) {
        let Some(hash) = run.records.schedule_hash().filter(|_| !run.records.misuses.is_empty()) else {
            return;
        };
        // Such a plan is as long as the run, and another execution that shows the same is known.
        if matches!(plan.policy, Policy::Replay { .. }) {
            return;
        }
        let execution = Execution {
            detects: !matches!(plan.mode, Mode::Confirm(_)),
            switches: run.records.switches.len(),
            plan_bytes: plan.encode(),
            hash,
        };
        let usual = Plan {
            poison: plan.poison,
            ..Baseline::plan()
        };
        let ordinary = u32::from(*plan == usual);
        let mut keys: Vec<Key> = run.records.misuses.iter().map(|m| key(m)).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            if self.seen.len() >= MOST && !self.seen.contains_key(&key) {
                self.cut += 1;
                continue;
            }
            let empty = || Sighting {
                kept: Vec::new(),
                ordinary: 0,
            };
            let sighting = self.seen.entry(key).or_insert_with(empty);
            sighting.ordinary += ordinary;
            if !sighting.kept.contains(&execution) {
                sighting.kept.push(execution.clone());
                sighting.kept.sort();
                sighting.kept.truncate(KEPT);
            }
        }
    }

    /// How many sightings were not kept for want of room.
    pub fn cut(&self) -> u64 {
        self.cut
    }
}

impl Judge<'_> {
    /// Judges the misuses seen so far that were not judged yet; those that were shown, all so far.
    pub fn misuses(&self, stop: &dyn Fn() -> bool) -> Result<Vec<SeenMisuse>, RunError> {
        let fresh: Vec<(Key, Sighting)> = {
            let Ok(sightings) = self.stage.misuses.lock() else {
                return Ok(Vec::new());
            };
            let open = |key: &Key| !matches!(sightings.judged.get(key), Some(Some(seen)) if seen.repeated);
            let all = sightings.seen.iter().filter(|(key, _)| open(key));
            all.map(|(key, sighting)| (key.clone(), sighting.clone())).collect()
        };
        for (key, sighting) in fresh {
            if stop() {
                break;
            }
            let seen = self.misuse(&key, &sighting)?;
            if let Ok(mut sightings) = self.stage.misuses.lock() {
                sightings.judged.insert(key, seen);
            }
        }
        let Ok(sightings) = self.stage.misuses.lock() else {
            return Ok(Vec::new());
        };
        let judged = sightings.judged.values().flatten();
        Ok(judged.cloned().collect())
    }

    fn misuse(&self, wanted: &Key, sighting: &Sighting) -> Result<Option<SeenMisuse>, RunError> {
        let mut unrepeated = None;
        for execution in &sighting.kept {
            let Ok(plan) = Plan::decode(&execution.plan_bytes) else {
                continue;
            };
            let again = replay::by_policy(self.stage, &plan, execution.hash)?;
            let repeated = again.same();
            let run = again.run();
            let Some(misuse) = run.records.misuses.iter().find(|m| key(m) == *wanted) else {
                continue;
            };
            if Outcome::of(run).inconclusive() {
                continue;
            }
            let seen = SeenMisuse {
                misuse: misuse.clone(),
                shown: Shown {
                    evidence: Evidence::Happened,
                    hash: run.records.schedule_hash().unwrap_or(execution.hash),
                    plan,
                    run: run.clone(),
                    meeting: None,
                    other: None,
                    story: None,
                },
                repeated,
                ordinary: sighting.ordinary,
            };
            if repeated {
                return Ok(Some(seen));
            }
            unrepeated = unrepeated.or(Some(seen));
        }
        Ok(unrepeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Output, Records};
    use deadheat_model::ThreadId;
    use deadheat_wire::record::{EndKind, Ended};
    use std::time::Duration;

    fn run(kind: MisuseKind, at: u64, hash: u64) -> Run {
        let ended = Ended {
            how: EndKind::Exit(0),
            pid: 1,
            schedule_hash: hash,
            steps: 1,
            switches: 0,
            threads: 1,
            back_edges: 0,
            virtual_ns: 0,
            target_hits: 0,
            let_go: None,
            order: 0,
            wakes: 0,
            others: false,
            at: None,
            fault_address: None,
            assertion: None,
        };
        let misuse = Misuse {
            number: 0,
            kind,
            step: 1,
            thread: ThreadId(1),
            stack: vec![at, 2, 3, 4, 5],
            objects: vec![],
            other: None,
            taken: vec![],
        };
        Run {
            records: Records {
                ended: Some(ended.into()),
                misuses: vec![misuse.into()],
                ..Records::default()
            },
            end: End::Exit(0),
            stdout: Output::default(),
            stderr: Output::default(),
            elapsed: Duration::ZERO,
            trace: None,
            client: None,
            objection: None,
        }
    }

    #[test]
    fn the_order_of_runs_does_not_decide_what_is_kept() {
        let plans: Vec<Plan> = (0..5)
            .map(|seed| Plan::new(Mode::Schedule, Policy::Pos { seed }))
            .collect();
        let noted = |order: &[usize]| {
            let mut sightings = Sightings::default();
            for n in order {
                let run = run(MisuseKind::UnlockUnlocked, 1, *n as u64);
                sightings.note(&plans[*n], &run);
            }
            let kept = sightings.seen.into_values().next().map(|s| s.kept);
            kept.unwrap_or_default()
        };
        let kept = noted(&[0, 1, 2, 3, 4]);
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept, noted(&[4, 2, 3, 0, 1, 1]));
    }

    #[test]
    fn ordinary_runs_are_counted_and_calls_told_apart() {
        let mut sightings = Sightings::default();
        for n in 0..3 {
            sightings.note(&Baseline::plan(), &run(MisuseKind::UnlockUnlocked, 1, n));
        }
        sightings.note(&Baseline::plan(), &run(MisuseKind::UnlockUnlocked, 9, 7));
        sightings.note(&Baseline::plan(), &run(MisuseKind::DestroyHeld, 1, 7));
        let ordinary: Vec<u32> = sightings.seen.values().map(|s| s.ordinary).collect();
        assert_eq!(ordinary, [3, 1, 1]);
    }
}
