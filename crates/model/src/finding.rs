//! Findings: what is reported, and on what ground.

use serde::{Deserialize, Serialize};

/// Kind of concurrency bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Two conflicting accesses that nothing orders.
    DataRace,
    /// Three accesses in an unserialisable order.
    AtomicityViolation,
    /// Every thread waits for another.
    Deadlock,
    /// Every thread waits and no one is left to wake it.
    LostWakeup,
    /// A failure that only some order of events shows.
    OrderViolation,
    /// A synchronisation call that breaks its contract.
    SyncMisuse,
    /// The program ended by a signal.
    Crash,
    /// The program made no progress.
    Hang,
}

/// How far a finding is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Predicted, not shown.
    Suspected,
    /// Shown in an execution.
    Real,
    /// Real, and an outcome harms.
    Harmful,
}

/// On what ground a finding is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Two threads stood at once before the conflicting accesses.
    Created,
    /// In an execution the two accesses were not ordered by happens-before.
    Unordered,
    /// It happened.
    Happened,
}

/// What an outcome did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HarmKind {
    /// Ended by a signal such as SIGSEGV.
    Signal,
    /// A failed assertion.
    Assertion,
    /// `abort` without an assertion's message.
    Abort,
    /// An uncaught C++ exception.
    UncaughtException,
    /// A Rust panic that ended the program.
    Panic,
    /// Every thread waits.
    Deadlock,
    /// No progress.
    Hang,
    /// An exit status that the ordinary runs do not show.
    ExitStatus,
    /// Report of a sanitizer.
    Sanitizer,
    /// The user's check failed.
    Check,
    /// A freed block was accessed.
    UseAfterFree,
    /// A freed block was freed again.
    DoubleFree,
}

/// An outcome that harms, and its details for the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Harm {
    /// What happened.
    pub kind: HarmKind,
    /// For the reader: the assertion's text, the signal's name, the exit status.
    pub detail: alloc::string::String,
}
