//! Whether an execution repeats: by the same policy and seed, and by its recorded switches.

use crate::stage::{Run, RunError, Stage};
use deadheat_model::ThreadId;
use deadheat_wire::plan::{Plan, Policy, Switch};

/// What a repetition showed.
#[derive(Clone, Debug)]
pub enum Repetition {
    /// The same schedule.
    Same(Run),
    /// Another schedule hash, or none.
    Different(Run),
    /// The recorded schedule could not be followed from this step on, where the thread could not run.
    Diverged(Run, u64, ThreadId),
}

impl Repetition {
    /// The run, however it went.
    pub fn run(&self) -> &Run {
        match self {
            Repetition::Same(run) | Repetition::Different(run) | Repetition::Diverged(run, ..) => run,
        }
    }

    /// Whether the execution repeated.
    pub fn same(&self) -> bool {
        matches!(self, Repetition::Same(_))
    }
}

/// Runs the plan again, with switches by the kernel, and compares the schedule's hash.
pub fn by_policy(stage: &Stage, plan: &Plan, hash: u64) -> Result<Repetition, RunError> {
    let run = stage.repeat(plan)?;
    // A schedule that is given only up to a meeting leaves the record there, in the same way each time.
    Ok(match (run.records.diverged, run.records.schedule_hash()) {
        (_, Some(h)) if h == hash => Repetition::Same(run),
        (Some((step, thread)), _) => Repetition::Diverged(run, step, thread),
        _ => Repetition::Different(run),
    })
}

/// The plan that follows recorded switches instead of a policy.
pub fn schedule_plan(plan: &Plan, switches: &[Switch]) -> Plan {
    Plan {
        policy: Policy::Replay {
            switches: switches.to_vec(),
        },
        ..plan.clone()
    }
}

/// The same plan under another policy, with nothing recorded or stopped for.
pub(crate) fn schedule_free(plan: &Plan, policy: Policy) -> Plan {
    let usual = Plan::new(plan.mode.clone(), policy);
    Plan {
        poison: plan.poison,
        input_seed: plan.input_seed,
        hang_yields: plan.hang_yields,
        values: plan.values.clone(),
        stack_limit: plan.stack_limit,
        follow: plan.follow,
        ..usual
    }
}

/// Follows recorded switches and compares the schedule's hash.
pub fn by_schedule(stage: &Stage, plan: &Plan, switches: &[Switch], hash: u64) -> Result<Repetition, RunError> {
    by_policy(stage, &schedule_plan(plan, switches), hash)
}
