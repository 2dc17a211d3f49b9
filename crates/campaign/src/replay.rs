//! A stored execution again.

use crate::input::{Input, hash_file};
use crate::store::Execution;
use crate::token::Token;
use deadheat_confirm::replay::{Repetition, by_policy, by_schedule};
use deadheat_confirm::{RunError, Stage};
use deadheat_model::{Evidence, FindingKind};
use deadheat_report::Finding;
use deadheat_wire::plan::{Plan, PlanError, StopAt};

/// Why an execution cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The program is another one now.
    #[error("`{0}` has changed since: the execution was recorded with another build of it. Hunt again.")]
    Changed(String),
    /// The program is gone.
    #[error("`{0}` cannot be read: {1}")]
    Gone(String, std::io::Error),
    /// The token belongs to another program.
    #[error("the token is of another program or build than `{0}`")]
    OtherProgram(String),
    /// The token was made with another input.
    #[error("the token was made with other arguments, another standard input or another setup command")]
    OtherInput,
    /// The plan is of another version.
    #[error("the plan was made by another version of deadheat: {0}")]
    Plan(PlanError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Checks that the stored program is still the one that was run.
pub fn unchanged(input: &Input) -> Result<(), ReplayError> {
    let program = input.program();
    let shown = program.file.display().to_string();
    match hash_file(&program.file) {
        Ok(hash) if hash == input.program => Ok(()),
        Ok(_) => Err(ReplayError::Changed(shown)),
        Err(error) => Err(ReplayError::Gone(shown, error)),
    }
}

/// The execution that a token names, for a program and input given by the user.
pub fn of_token(token: &Token, input: &Input) -> Result<Execution, ReplayError> {
    if token.program != input.program {
        return Err(ReplayError::OtherProgram(input.program().file.display().to_string()));
    }
    if token.input != input.hash() {
        return Err(ReplayError::OtherInput);
    }
    let plan = Plan::decode(&token.plan).map_err(ReplayError::Plan)?;
    Ok(Execution {
        program: token.program,
        input: token.input,
        plan,
        switches: Vec::new(),
        schedule_hash: token.schedule_hash,
        meeting: None,
    })
}

/// Both ways of running an execution again: by policy and seed, and by its recorded switches.
#[derive(Clone, Debug)]
pub struct Again {
    /// By policy and seed.
    pub by_policy: Repetition,
    /// By the recorded switches, if they are kept.
    pub by_schedule: Option<Repetition>,
}

/// Runs an execution again, both ways.
pub fn again(stage: &Stage, execution: &Execution) -> Result<Again, ReplayError> {
    let hash = execution.schedule_hash;
    let by_policy = by_policy(stage, &execution.plan, hash)?;
    let by_schedule = if execution.switches.is_empty() {
        None
    } else {
        Some(by_schedule(stage, &execution.plan, &execution.switches, hash)?)
    };
    Ok(Again { by_policy, by_schedule })
}

/// The plan of an execution for a debugger: it stops at the race or the misuse that the finding is about. What happened by
/// itself (a deadlock, a crash) stops by itself. Of a token's execution the finding is not known.
pub fn debugged(execution: &Execution, finding: Option<&Finding>) -> Plan {
    let misuse = finding.is_some_and(|f| f.kind == FindingKind::SyncMisuse);
    let stop_at = match (execution.meeting, finding.and_then(|f| f.evidence)) {
        (Some(number), _) if misuse => Some(StopAt::Misuse(number)),
        (Some(number), _) => Some(StopAt::Meeting(number)),
        (None, Some(Evidence::Unordered) | None) => Some(StopAt::FirstRace),
        (None, Some(_)) => None,
    };
    Plan {
        stop_at,
        ..execution.plan.clone()
    }
}

/// What a debugger cannot show of an unordered pair: its first access is made when the second stops.
pub fn made_before(finding: &Finding) -> Option<String> {
    let [first, second] = finding.accesses.as_slice() else {
        return None;
    };
    (finding.evidence == Some(Evidence::Unordered)).then(|| {
        format!(
            "{} has made its access at {} by the time {} stops at {}: nothing orders the two",
            first.thread.label(),
            first.place(),
            second.thread.label(),
            second.place()
        )
    })
}
