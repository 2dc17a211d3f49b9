//! The plan of one run: what the tool asks of the runtime.
//!
//! A plan is a file; its path is in the environment variable [`PLAN_VARIABLE`], the path of the
//! record file in [`RECORD_VARIABLE`]. Without the first a program runs plainly. Both paths must have
//! the same length in every run of a program, since the environment shifts the stack's addresses.

use alloc::{string::String, vec::Vec};
use deadheat_model::{SiteId, ThreadId};
use serde::{Deserialize, Serialize};

/// Environment variable with the path of the plan.
pub const PLAN_VARIABLE: &str = "DEADHEAT_PLAN";
/// Environment variable with the path of the record file.
pub const RECORD_VARIABLE: &str = "DEADHEAT_RECORD";
/// First bytes of a plan file; the postcard encoding of [`Plan`] follows.
pub const MAGIC: [u8; 8] = *b"DHPLAN\x01\0";

/// What the runtime is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Layout version, [`crate::VERSION`].
    pub version: u32,
    /// What is watched.
    pub mode: Mode,
    /// Who runs next.
    pub policy: Policy,
    /// Seed of everything random that the program asks for (`getrandom`, `rand` seeds).
    pub input_seed: u64,
    /// A thread yields after this many scheduling points in a row (0: never).
    pub quantum: u32,
    /// A thread in a loop yields after this many back edges without a scheduling point.
    pub back_edges: u32,
    /// The run is a hang when this many yields in a row brought no progress (no lock taken, no wait
    /// ended, no output, no thread begun or ended).
    pub hang_yields: u64,
    /// Virtual real-time clock at start, nanoseconds since the epoch.
    pub epoch_ns: u64,
    /// Record every switch, for replay.
    pub record_schedule: bool,
    /// Where to stop (raise SIGTRAP) for a debugger.
    pub stop_at: Option<StopAt>,
    /// Record the events of the run in order, for the story of a finding.
    pub trace: bool,
    /// Record from where threads came to objects of synchronisation; under policies that may switch anywhere.
    pub places: bool,
    /// The soft limit of the main thread's stack that the program is to have, if it is not started under it.
    pub stack_limit: Option<u64>,
    /// Follow children of `fork` and `exec` (their own records go into the same file).
    pub follow: bool,
    /// Values of input that is in no file: source (see [`crate::trace::source`]), then a value for each byte, or
    /// none where the program gets what it would get anyway.
    pub values: Vec<(u32, Vec<Option<u8>>)>,
    /// Write a symbolic trace; for a program's symbolic flavour.
    pub symbolic: Option<Symbolic>,
    /// Phase 1 looks into these functions only, measuring leaves these out: entry sites, ascending. None: all are looked
    /// into, and measured.
    pub functions: Option<Vec<SiteId>>,
    /// Phase 2 overwrites freed blocks, so that what is done with their contents shows.
    pub poison: bool,
    /// The program in which threads may be exchanged in user space: a path without links. Those that it starts are others.
    pub exchanges: Option<String>,
}

/// What a symbolic run is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbolic {
    /// Path of the trace file, which has its full size.
    pub trace: String,
    /// Bytes by which an argument or a variable may grow.
    pub room: u32,
    /// Longest standard input, in bytes. Not relative to the input's length, or the bound would be another constraint
    /// for each input.
    pub longest: u32,
    /// Most arguments, the program's name counted.
    pub most_arguments: u32,
    /// Whether accesses are told, too; the flavour must be made for that.
    pub touches: bool,
    /// Whether only the hits of the program's branches are told: the run goes as without expressions.
    pub hits_alone: bool,
    /// Largest file that is input, before it is changed; none is if this is 0.
    pub largest_file: u32,
    /// Files that are input wherever they lie, and those that were changed: their names, relative to the working
    /// directory where they lie in it, and the longest that each may become.
    pub files: Vec<(Vec<u8>, u32)>,
}

/// Where a run is stopped for a debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopAt {
    /// At the meeting with this number, both threads before their accesses.
    Meeting(u32),
    /// At the first meeting, or before the second access of the first pair that happens-before does not order.
    FirstRace,
    /// At the misuse of synchronisation with this number, before its call does anything.
    Misuse(u32),
}

/// What is watched during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Scheduling only.
    Schedule,
    /// Phase 1, run 1: find granules with a suspicious pair.
    Granules {
        /// Flag at most this many granules per signature (pair of thread, lockset, kind); 0: no limit.
        per_signature: u32,
    },
    /// Phase 1, run 2: record the statements that touch these granules.
    Statements {
        /// 8-byte granule addresses, ascending.
        granules: Vec<u64>,
        /// Words that run 1 learned to be hand-made locks.
        lock_words: Vec<u64>,
    },
    /// Phase 2: watch these statements.
    Confirm(Targets),
    /// When functions run: entries, exits and synchronisation only.
    Functions,
}

/// The statements that phase 2 watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Targets {
    /// All copies of the first statement.
    pub first: Vec<SiteId>,
    /// All copies of the second statement (equal to `first` when a statement races with itself).
    pub second: Vec<SiteId>,
    /// Switch on atomics, fences and back edges too (needed for happens-before and for spin loops).
    pub atomics: bool,
    /// Report pairs of executed target accesses that happens-before does not order.
    pub unordered: bool,
    /// A target that reads and writes in one statement, before which a thread was held back, works on the value that it
    /// found when it came: what others wrote meanwhile is lost, as it is between the load and the store that the
    /// statement stands for.
    pub torn: bool,
    /// The cycle of waiting that the run is directed at; each place waits for what the next one holds.
    pub cycle: Vec<CyclePlace>,
    /// Look for cycles of waiting: in plain bodies, whose addresses are those of a directed run.
    pub lock_order: bool,
}

impl Targets {
    /// Whether these two sites are one of the first statement and one of the second. (A run meets at all of its targets:
    /// two copies of one statement are another pair's business.) Both sides are sorted.
    pub fn is_pair(&self, a: SiteId, b: SiteId) -> bool {
        let within = |sites: &[SiteId], site| sites.binary_search(&site).is_ok();
        let (first, second) = (&self.first, &self.second);
        within(first, a) && within(second, b) || within(first, b) && within(second, a)
    }
}

/// A place of a cycle of waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CyclePlace {
    /// Calls that wait.
    pub wants: Vec<Spot>,
    /// Where the lock was taken that the thread before waits for; empty if that is no lock.
    pub holds: Vec<Spot>,
}

/// A call in the program, by addresses of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// Return address of the call.
    pub call: u64,
    /// Where the function that made it returns to, if that lies in a library; else 0.
    pub caller: u64,
}

/// What decides who runs in a run, so that a run in another mode has the same schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    /// [`Plan::policy`].
    pub policy: Policy,
    /// [`Plan::quantum`].
    pub quantum: u32,
    /// [`Plan::back_edges`].
    pub back_edges: u32,
}

/// Who runs next at a scheduling point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Deterministic: the current thread goes on until it blocks, ends, yields or has used its quantum.
    Fifo,
    /// At each scheduling point, with this probability (in 1/1024), a random enabled thread.
    Random {
        /// Seed.
        seed: u64,
        /// Probability of a switch, in 1/1024.
        switch: u32,
    },
    /// RaceFuzzer's algorithm 1.
    RaceDirected {
        /// Seed.
        seed: u64,
        /// Probability of a switch at scheduling points that are not targets, in 1/1024.
        switch: u32,
        /// Postpone a thread at one statement at most this many times.
        postponements: u32,
        /// Resolve the meeting with this number the other way; nothing else changes.
        flip: Option<u32>,
        /// Runs only where nobody else can, until some thread stands before a target, and is let go last.
        last: Option<ThreadId>,
    },
    /// A recorded schedule.
    Replay {
        /// The recorded switches.
        switches: Vec<Switch>,
    },
    /// Threads are brought into the cycle of waiting of the targets.
    CycleDirected {
        /// Seed.
        seed: u64,
        /// Probability of a switch at scheduling points outside the cycle, in 1/1024.
        switch: u32,
        /// Postpone a thread at one place at most this many times.
        postponements: u32,
    },
    /// Priorities with random changes (PCT).
    Pct {
        /// Seed.
        seed: u64,
        /// Ordered events that a bug needs.
        depth: u32,
        /// Scheduling points of a run, about.
        steps: u64,
    },
    /// Partial order sampling.
    Pos {
        /// Seed.
        seed: u64,
    },
    /// A walk weighted by remaining work.
    Surw {
        /// Seed.
        seed: u64,
        /// Scheduling points of each thread in an earlier run.
        counts: Vec<u64>,
    },
    /// Operations at some places are overtaken by those at others.
    Overtaken {
        /// Seed.
        seed: u64,
        /// Probability of a switch, in 1/1024.
        switch: u32,
        /// Only at these places, ascending, and there whoever comes to an object again; everywhere if there are none.
        places: Vec<u64>,
    },
    /// `Fifo`, but for some switches: a minimised schedule.
    Deviations {
        /// The switches.
        switches: Vec<Deviation>,
    },
}

/// A switch named by the thread that loses the turn and that thread's own count of scheduling points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    /// Who has the turn.
    pub of: ThreadId,
    /// How many scheduling points it has had by then; waits are none.
    pub point: u64,
    /// Whether it waits there.
    pub waits: bool,
    /// Who gets the turn.
    pub to: ThreadId,
    /// Whether its timed wait is let run out.
    pub timeout: bool,
}

/// One switch of a recorded schedule: at this scheduling point the turn went to this thread, or stayed with it where it
/// waited or gave way and others could run. At points not listed the running thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Number of the scheduling point.
    pub step: u64,
    /// The thread that ran next.
    pub to: ThreadId,
    /// Whether a timed wait of that thread was let run out here.
    pub timeout: bool,
    /// Whether the thread that lost the turn could have gone on, and did not give way.
    pub preempts: bool,
    /// How many scheduling points of its own that thread had had; waits are none.
    pub point: u64,
    /// Whether that thread waits.
    pub waits: bool,
}

/// Why bytes are not a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// Not a plan file.
    Magic,
    /// Written for another version.
    Version(u32),
    /// Does not decode.
    Damaged(String),
}

impl core::fmt::Display for PlanError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PlanError::Magic => out.write_str("it is no plan"),
            PlanError::Version(found) => write!(out, "its layout is {found}, not {}", crate::VERSION),
            PlanError::Damaged(what) => write!(out, "it does not decode: {what}"),
        }
    }
}

impl Plan {
    /// A plan with the usual bounds.
    pub fn new(mode: Mode, policy: Policy) -> Plan {
        // Each switch fills the processor's caches anew, and makes every check of shared data a miss once; a thread
        // that polls under a lock uses its turn up each time.
        let (quantum, back_edges) = match mode {
            Mode::Confirm(_) => (500_000, 20_000),
            Mode::Granules { .. } | Mode::Statements { .. } | Mode::Functions => (100_000, 60_000),
            Mode::Schedule => (50, 20_000),
        };
        Plan {
            version: crate::VERSION,
            mode,
            policy,
            input_seed: 1,
            quantum,
            back_edges,
            hang_yields: 20_000,
            epoch_ns: 1_700_000_000_000_000_000,
            record_schedule: true,
            stop_at: None,
            trace: false,
            places: false,
            stack_limit: None,
            follow: true,
            values: Vec::new(),
            symbolic: None,
            functions: None,
            poison: true,
            exchanges: None,
        }
    }

    /// What decides who runs in this plan's run.
    pub fn scheduling(&self) -> Scheduling {
        Scheduling {
            policy: self.policy.clone(),
            quantum: self.quantum,
            back_edges: self.back_edges,
        }
    }

    /// The bytes of a plan file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(postcard::to_allocvec(self).unwrap_or_default());
        bytes
    }

    /// Reads a plan file.
    pub fn decode(bytes: &[u8]) -> Result<Plan, PlanError> {
        let body = bytes.strip_prefix(&MAGIC).ok_or(PlanError::Magic)?;
        let (version, _) =
            postcard::take_from_bytes::<u32>(body).map_err(|e| PlanError::Damaged(alloc::format!("{e}")))?;
        if version != crate::VERSION {
            return Err(PlanError::Version(version));
        }
        postcard::from_bytes(body).map_err(|e| PlanError::Damaged(alloc::format!("{e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout of what most plans hold: if this fails, raise [`crate::VERSION`] and write the new bytes here.
    #[test]
    fn a_layout_has_one_version() {
        let mut plan = Plan::new(Mode::Confirm(Targets::default()), Policy::Fifo);
        plan.symbolic = Some(Symbolic::default());
        let body = plan.encode().split_off(MAGIC.len());
        let text: String = body.iter().map(|byte| alloc::format!("{byte:02x}")).collect();
        assert_eq!(
            (crate::VERSION, text.as_str()),
            (
                18,
                "1203000000000000000001a0c21ea09c01a09c018080a8b1e39fe7cb1701000000000100010000000000000000000100"
            )
        );
    }

    #[test]
    fn another_version_is_named() {
        let mut plan = Plan::new(Mode::Schedule, Policy::Fifo);
        plan.version = crate::VERSION + 1;
        assert_eq!(
            Plan::decode(&plan.encode()),
            Err(PlanError::Version(crate::VERSION + 1))
        );
        assert_eq!(Plan::decode(b"text"), Err(PlanError::Magic));
    }
}
