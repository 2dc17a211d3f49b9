//! A run that took place, or why none did.

use crate::client::ClientEnd;
use crate::output::Output;
use crate::records::Records;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why no run can be started at all.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// No place for plans and records.
    #[error("no room for plans and records: {0}")]
    Scratch(io::Error),
}

/// Why one run gave nothing to judge.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program could not be started.
    #[error("the program cannot be started: {0}{hint}", hint = way_out(.0))]
    Start(io::Error),
    /// `--setup` failed.
    #[error("the setup command failed: `{0}`")]
    Setup(String),
    /// `--with` failed.
    #[error("the client cannot be started: {0}")]
    Client(io::Error),
    /// `--check` failed to run.
    #[error("the check cannot be run: {0}")]
    Check(io::Error),
    /// The program was never ready for its client.
    #[error("the program was not ready for its client ({0}); say what to wait for: --ready PORT, FILE or LINE")]
    NotReady(String),
    /// Files for the run could not be made.
    #[error("no room for a run's files: {0}{hint}", hint = way_out(.0))]
    Files(io::Error),
    /// The input changes a file that runs share.
    #[error("the input changes `{}`, which runs here do not have for themselves (no private files: see the notes on isolation)", .0.display())]
    NotOwnFile(PathBuf),
    /// The runtime never took control.
    #[error(
        "the program ran, but deadheat's runtime was not in it ({0}); it must be built and linked with `deadheat cc` or `deadheat c++`"
    )]
    NoRuntime(String),
    /// The runtime refused.
    #[error("deadheat's runtime could not control the program: {0}")]
    Refused(String),
}

/// What to do about a limit that an error comes from.
fn way_out(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; raise the limit on open files (ulimit -n), or use fewer jobs: -j 1",
        Some(libc::ENFILE) => "; the machine has too many files open",
        Some(libc::EAGAIN) => "; raise the limit on processes (ulimit -u), or use fewer jobs: -j 1",
        Some(libc::ENOMEM) => "; there is too little memory",
        Some(libc::ENOSPC | libc::EDQUOT) => "; make some room, or name another place: TMPDIR=DIRECTORY",
        _ => "",
    }
}

/// One run that took place.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the runtime wrote.
    pub records: Records,
    /// How the process ended.
    pub end: End,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// What it wrote to standard error.
    pub stderr: Output,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// The symbolic trace, if the plan asked for one.
    pub trace: Option<Vec<u8>>,
    /// How the client ended, if there was one.
    pub client: Option<ClientEnd>,
    /// What an oracle has against it.
    pub objection: Option<String>,
}

/// How a process ended, as its parent saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a status.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It was stopped, which says nothing of the program.
    Stopped(StopReason),
}

impl End {
    /// How a process ended that was stopped for this reason, if for any.
    pub(crate) fn of(status: ExitStatus, stopped: Option<StopReason>) -> End {
        match (stopped, status.code(), status.signal()) {
            (Some(reason), ..) => End::Stopped(reason),
            (_, Some(code), _) => End::Exit(code),
            (_, _, Some(libc::SIGKILL)) => End::Stopped(StopReason::Killed),
            (_, _, signal) => End::Signal(signal.unwrap_or(0)),
        }
    }
}

/// Why a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The wall-clock limit.
    TimeLimit,
    /// The user's interrupt.
    Interrupted,
    /// Someone else killed it.
    Killed,
    /// All its threads waited for one another, as it seems; only of a run without a plan.
    Asleep,
}
