//! Whether a hang is one: the run once more, with a bound of idling several times larger.
//!
//! A loop that waits for ever and one that computes for long look the same until the second ends. The usual bound is one
//! that most runs can be judged by; before a hang becomes a finding, or a harm that is laid to a pair, what the bound
//! stopped has so many times as long, on the clock too. What ends then was no hang, and of what the clock stops nothing
//! is said. That takes long, so it is asked once of each schedule.

use crate::stage::{Run, RunError, Stage};
use deadheat_wire::plan::Plan;
use deadheat_wire::record::EndKind;
use std::collections::BTreeMap;

/// Of schedules that were stopped as hangs, by hash, and the bound: whether they last.
pub(crate) type Hangs = BTreeMap<(u64, u64), bool>;

/// The bound of idling is so many times larger.
const PATIENCE: u64 = 8;
/// So much slower than before may the longer run be, before the clock stops it.
const SLACK: u32 = 3;

/// The plan with the larger bound.
pub fn patient(plan: Plan) -> Plan {
    Plan {
        hang_yields: plan.hang_yields.saturating_mul(PATIENCE),
        ..plan
    }
}

/// Whether a run that was stopped as a hang goes no further under the larger bound.
pub fn lasts(stage: &Stage, plan: &Plan, run: &Run) -> Result<bool, RunError> {
    let key = run.records.schedule_hash().map(|hash| (hash, plan.hang_yields));
    if let (Some(key), Ok(known)) = (key, stage.hangs.lock())
        && let Some(lasts) = known.get(&key)
    {
        return Ok(*lasts);
    }
    let longer = match stage.with(stage.program.clone()) {
        Ok(longer) => longer,
        Err(_) => return Ok(false),
    };
    longer.set_limit(stage.limit().max(run.elapsed * (PATIENCE as u32 * SLACK)));
    let again = longer.run(&patient(plan.clone()))?;
    let lasts = again
        .records
        .worst_end()
        .is_some_and(|ended| ended.how == EndKind::Hang);
    if let (Some(key), Ok(mut known)) = (key, stage.hangs.lock()) {
        known.insert(key, lasts);
    }
    Ok(lasts)
}
