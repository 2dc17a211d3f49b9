//! What a hunt may do, what it comes to, and why it could not begin.

use crate::input::Input;
use crate::store::StoreError;
use deadheat_confirm::{Client, Oracle, Program, ProgramError, RunError, StageError};
use deadheat_model::SiteId;
use deadheat_report::{Finding, Report, Suppressions};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How much of the pipeline is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Hunt,
    /// Phase 1 under `fifo` alone.
    Detect,
    /// Phase 2 alone, for stored suspicions: those with these labels, or all.
    Confirm(Vec<String>),
}

/// What a hunt may do.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much of the pipeline.
    pub extent: Extent,
    /// Most time.
    pub budget: Option<Duration>,
    /// Tries per candidate, exactly, and no clock.
    pub runs: Option<u32>,
    /// Runs without deadheat, to see how often the program fails by itself; 0: only the one that every hunt makes.
    pub plain: u32,
    /// Most undirected runs.
    pub walks: Option<u32>,
    /// Runs at the same time.
    pub jobs: usize,
    /// First seed.
    pub seed: u64,
    /// Probability of a switch at scheduling points, in 1/1024.
    pub switch: u32,
    /// Keep runs apart.
    pub isolate: bool,
    /// Shell command that prepares each run.
    pub setup: Option<String>,
    /// Who talks to the program, if it serves.
    pub client: Option<Client>,
    /// What the user says of a good run.
    pub oracle: Oracle,
    /// Follow child processes.
    pub follow: bool,
    /// Wall-clock limit of a run.
    pub limit: Option<Duration>,
    /// No progress line.
    pub quiet: bool,
    /// Directory of the store; beside the program if none.
    pub store: Option<PathBuf>,
    /// What the user does not want to hear of.
    pub suppressions: Arc<Suppressions>,
    /// Set by the user's interrupt.
    pub interrupted: Arc<AtomicBool>,
    /// Detect in these functions only (entry sites, ascending); in all if none.
    pub functions: Option<Arc<[SiteId]>>,
    /// What the static stage warned of.
    pub warnings: Arc<[Finding]>,
    /// Fingerprints of candidates that need no confirmation: they were shown with another input.
    pub proven: Arc<[String]>,
}

impl Options {
    /// A program as it is stored with these options.
    pub fn input(&self, program: &Program) -> std::io::Result<Input> {
        Ok(Input::of(program, self.setup.clone())?.served(self.client.clone(), self.follow))
    }
}

/// Why a hunt could not begin.
#[derive(Debug, thiserror::Error)]
pub enum HuntError {
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The stage.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An ordinary run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program's file.
    #[error("the program cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// The program does not end.
    #[error(
        "the program did not end within {0:.0?} in its ordinary run; give it arguments with which it ends, or a longer limit: --timeout DURATION"
    )]
    Endless(Duration),
    /// The budget ended before the ordinary runs did.
    #[error("the budget was used up in the program's ordinary runs; give more: --budget DURATION")]
    Spent,
    /// A label that cannot be tried.
    #[error("{0}")]
    Label(String),
    /// Interrupted before anything was found.
    #[error("interrupted before anything was found")]
    Interrupted,
}

/// What a hunt came to.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The report.
    pub report: Report,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// What kept it from doing its whole job.
    pub trouble: Option<String>,
    /// Where results are kept; none in memory.
    pub store: Option<PathBuf>,
    /// Candidates that were left out, see [`Options::proven`].
    pub reached: Vec<String>,
}
