//! `replay`: a stored execution again, and whether it is the same.

use super::arguments::Replay as Arguments;
use super::hunting::interrupts;
use super::{failed, misused, stdin};
use deadheat_campaign::Store;
use deadheat_campaign::confirm::replay::Repetition;
use deadheat_campaign::confirm::{Oracle, Program, Stage, StageOptions};
use deadheat_campaign::describe::ending;
use deadheat_campaign::input::{Input, hash_file};
use deadheat_campaign::replay::{self, ReplayError};
use deadheat_campaign::report::{Finding, exit};
use deadheat_campaign::store::{Execution, StoreError};
use deadheat_campaign::token::{Token, TokenError};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Why there is nothing to replay.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("there is no {0} in {1}; `deadheat report --suspected` lists what there is")]
    Unknown(String, String),
    #[error("{0} was not shown yet, so there is no execution to repeat; `deadheat confirm {0} -- PROGRAM` tries it")]
    Suspected(String),
    #[error("the input of {0} is not in the store")]
    NoInput(String),
    #[error("{0}")]
    Other(String),
}

/// `deadheat replay`.
pub fn replay(arguments: Arguments) -> ExitCode {
    let token = arguments.id.starts_with("dh1.");
    if token && arguments.program.is_empty() {
        return misused(&"with a token, name the program: deadheat replay TOKEN -- PROGRAM ARGS");
    }
    let found = if token {
        from_token(&arguments)
    } else {
        from_store(&arguments)
    };
    match found.and_then(|(input, execution, finding)| run(&arguments, &input, &execution, finding.as_ref())) {
        Ok(status) => status,
        Err(error) => failed(&error),
    }
}

fn from_store(arguments: &Arguments) -> Result<(Input, Execution, Option<Finding>), Error> {
    let beside = || {
        let program = arguments.program.first().and_then(|p| Program::find(p, vec![]).ok());
        program.and_then(|p| p.file.parent().map(|d| d.join(".deadheat")))
    };
    let directory = arguments
        .store
        .clone()
        .or_else(beside)
        .unwrap_or_else(|| PathBuf::from(".deadheat"));
    let store = Store::read(&directory)?;
    let Some(execution) = store.execution(&arguments.id)? else {
        let label = arguments.id.clone();
        return Err(match store.owners(&label)?.is_empty() {
            true => Error::Unknown(label, directory.display().to_string()),
            false => Error::Suspected(label),
        });
    };
    let input = store
        .input(execution.program, execution.input)?
        .ok_or_else(|| Error::NoInput(arguments.id.clone()))?;
    replay::unchanged(&input)?;
    if let Some(name) = arguments.program.first() {
        same_program(&arguments.id, name, &input)?;
    }
    let finding = store.shown(&arguments.id)?;
    Ok((input, execution, finding))
}

/// Whether the program that the user names is the one that the store tells of.
fn same_program(label: &str, name: &std::ffi::OsStr, input: &Input) -> Result<(), Error> {
    let other = |e: &dyn std::fmt::Display| Error::Other(e.to_string());
    let program = Program::find(name, vec![]).map_err(|e| other(&e))?;
    match hash_file(&program.file).map_err(|e| other(&e))? == input.program {
        true => Ok(()),
        false => Err(Error::Other(format!(
            "{label} is of {}, not of {}: `deadheat replay {label}` repeats it",
            input.told(),
            name.to_string_lossy()
        ))),
    }
}

fn from_token(arguments: &Arguments) -> Result<(Input, Execution, Option<Finding>), Error> {
    let token = Token::decode(&arguments.id)?;
    let other = |e: &dyn std::fmt::Display| Error::Other(e.to_string());
    let (name, rest) = arguments
        .program
        .split_first()
        .ok_or_else(|| other(&"name the program"))?;
    let mut program = Program::find(name, rest.to_vec()).map_err(|e| other(&e))?;
    program.stdin = stdin::capture(arguments.stdin.as_deref()).map_err(|e| other(&e))?;
    let input = Input::of(&program, arguments.setup.clone()).map_err(|e| other(&e))?;
    let input = input.served(arguments.serving.client(), !arguments.serving.no_follow);
    let execution = replay::of_token(&token, &input)?;
    Ok((input, execution, None))
}

fn run(
    arguments: &Arguments,
    input: &Input,
    execution: &Execution,
    finding: Option<&Finding>,
) -> Result<ExitCode, Error> {
    let options = StageOptions {
        isolate: !arguments.no_isolation && !arguments.gdb,
        setup: input.setup.clone(),
        client: input.client.clone(),
        oracle: Oracle::default(),
        follow: input.follow,
        limit: arguments.timeout.unwrap_or(Duration::from_secs(600)),
        deadline: None,
        interrupted: interrupts(),
    };
    let stage = Stage::new(input.program(), options).map_err(|e| Error::Other(e.to_string()))?;
    if arguments.gdb {
        let plan = replay::debugged(execution, finding);
        if let Some(told) = finding.and_then(replay::made_before) {
            anstream::eprintln!("deadheat: {told}");
        }
        let status = stage.debug(&plan).map_err(|e| Error::Other(e.to_string()))?;
        return Ok(if status.success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(exit::FAILED)
        });
    }
    let again = replay::again(&stage, execution)?;
    let shown = again.by_policy.run();
    let _ = std::io::stdout().write_all(&shown.stdout.kept);
    let _ = std::io::stderr().write_all(&shown.stderr.kept);
    let name = if arguments.id.starts_with("dh1.") {
        "the execution"
    } else {
        arguments.id.as_str()
    };
    anstream::eprintln!("deadheat: {name}: {}", ending(shown));
    if let Some(misuse) = finding.and_then(|f| f.misuse.as_ref()) {
        let label = misuse.thread.label();
        if shown.records.misuses.iter().any(|m| m.kind == misuse.kind) {
            anstream::eprintln!("deadheat: {name}: {label} {}", misuse.what);
        } else {
            anstream::eprintln!("deadheat: {name}: this run does not show that {label} {}", misuse.what);
        }
    }
    let mut same = tell("decided anew from the seed", &again.by_policy, execution.schedule_hash);
    if let Some(by_schedule) = &again.by_schedule {
        let how = format!("following its {} recorded switches", execution.switches.len());
        same &= tell(&how, by_schedule, execution.schedule_hash);
    }
    Ok(if same {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::FAILED)
    })
}

/// Says whether a repetition was the same execution.
fn tell(how: &str, repetition: &Repetition, hash: u64) -> bool {
    match repetition {
        Repetition::Same(_) => {
            anstream::eprintln!("deadheat: {how}: repeated exactly, the same schedule (hash {hash:016x})")
        }
        Repetition::Different(run) => match run.records.schedule_hash() {
            Some(other) => {
                anstream::eprintln!("deadheat: {how}: ANOTHER schedule (hash {other:016x}, not {hash:016x})")
            }
            None => anstream::eprintln!("deadheat: {how}: the end of the run was not seen"),
        },
        Repetition::Diverged(_, step, thread) => {
            anstream::eprintln!(
                "deadheat: {how}: DIVERGED at step {step}, where thread T{} could not run",
                thread.0
            );
        }
    }
    repetition.same()
}
