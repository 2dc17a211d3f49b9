//! The report: findings in words and places, no longer in addresses. This is the JSON format, version 1.
//!
//! Optional parts are always present in JSON, as `null` or an empty list, so that readers need no
//! guesses. What is known only of one kind of finding (`threads` of a deadlock) is empty for others.

use deadheat_model::{AccessKind, Evidence, FindingKind, Harm, MisuseKind, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::schema;

/// Version of the JSON format.
pub const VERSION: u32 = 1;

/// Everything that one command reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Version of this format: 1.
    pub version: u32,
    /// What was run.
    pub program: Program,
    /// Real findings first, each kind in order of its id.
    pub findings: Vec<Finding>,
    /// What the work amounted to.
    pub stats: Stats,
    /// What limits these results.
    pub notices: Vec<String>,
}

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// The executable.
    pub file: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Hash of its contents, in hexadecimal.
    pub hash: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Label in the store, `F1`; never reused.
    pub id: String,
    /// Kind of bug.
    #[schemars(schema_with = "schema::finding_kind")]
    pub kind: FindingKind,
    /// How far it is established.
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Verdict,
    /// On what ground; null while suspected.
    #[schemars(schema_with = "schema::evidence")]
    pub evidence: Option<Evidence>,
    /// The accesses (two for a data race).
    pub accesses: Vec<Access>,
    /// What they touch.
    pub object: Option<Object>,
    /// What happens in each order of the accesses, as far as it was seen.
    pub orders: Vec<Order>,
    /// The threads of a deadlock or hang: what each holds and wants.
    pub threads: Vec<Waiting>,
    /// Further threads that wait, for want of room not in `threads`.
    #[serde(default, skip_serializing_if = "none")]
    pub threads_left_out: u32,
    /// What a call did, for misuses of synchronisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misuse: Option<Misuse>,
    /// Where the program ended, for crashes.
    pub ended_at: Option<Place>,
    /// The freed block that is used or freed again, for such harms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freed: Option<FreedBlock>,
    /// What happens in the run that shows it, if that run is minimised.
    #[serde(default)]
    pub story: Option<Story>,
    /// What the bug does.
    #[schemars(schema_with = "schema::harm")]
    pub harm: Option<Harm>,
    /// The input that shows it, where an exploration or a selection chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<ChosenInput>,
    /// Further inputs under which its statements are suspicious, of those that were looked at: names in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Runs that were made for it, some of which hold nobody back.
    pub tries: u32,
    /// Those of them that showed it.
    pub hits: u32,
    /// Those of `tries` that held threads back at its statements; 0 where that was not counted.
    #[serde(default, skip_serializing_if = "none")]
    pub directed_tries: u32,
    /// Those of them that showed it.
    #[serde(default, skip_serializing_if = "none")]
    pub directed_hits: u32,
    /// 95 % confidence interval (Wilson) of the probability that a run directed at it shows it; null if none was.
    #[serde(default)]
    pub probability: Option<Interval>,
    /// Replay token; null while suspected.
    pub replay: Option<String>,
    /// What speaks for a suspicion of the static stage, and against it.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Hash of kind and sites: the finding's name across builds and stores.
    pub fingerprint: String,
}

/// An input that an exploration chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenInput {
    /// Its name in the store, for `--input`.
    pub id: String,
    /// What differs from what the user gave, in words.
    pub differences: Vec<String>,
}

/// One access of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Its part: `first` or `second` of a pair.
    pub role: String,
    /// Source file, as the compiler named it.
    pub file: String,
    /// Directory in which it was compiled.
    pub directory: String,
    /// Line, from 1; 0 unknown.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
    /// Function, demangled.
    pub function: String,
    /// What the statement does.
    #[schemars(schema_with = "schema::access_kind")]
    #[serde(with = "schema::access_kind_name")]
    pub kind: AccessKind,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Bytes.
    pub size: u64,
    /// Who.
    pub thread: Thread,
    /// Where the thread stood, innermost first.
    pub stack: Vec<Frame>,
    /// Locks held.
    pub locks: Vec<Lock>,
}

/// A thread, named by how it came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Number in its run, in order of creation; 0 is the main thread.
    pub number: u32,
    /// Function that it started in, or the outermost one known.
    pub start: Option<String>,
    /// Number of its creator.
    pub parent: Option<u32>,
    /// Where it was created, innermost first.
    pub created: Vec<Frame>,
}

/// A place on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Function, demangled; or the address if nothing is known.
    pub function: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line; 0 if unknown.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
    /// Whether it was inlined into the next one.
    pub inlined: bool,
    /// The loaded file that holds the code; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
}

/// A lock held or wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    /// `mutex`, `rwlock`, and so on.
    pub kind: String,
    /// Its name, if it has one.
    pub name: String,
    /// Whether it is held for reading only.
    pub shared: bool,
}

/// What is raced for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Object {
    /// `global`, `heap`, `stack`, `thread-local`, `mapping` or `unknown`.
    pub kind: String,
    /// Name with members and indices, for variables; path of a mapped file.
    pub name: Option<String>,
    /// Size of the whole object in bytes; 0 unknown.
    pub size: u64,
    /// Where in it the accesses are; in a mapped file, from its start.
    pub offset: u64,
    /// The thread that allocated it or whose stack it is on.
    pub thread: Option<u32>,
    /// Where it was allocated.
    pub allocated: Vec<Frame>,
    /// Whether it was freed by then.
    pub freed: bool,
}

/// What one order of the accesses does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// Role of the access that goes first.
    pub first: String,
    /// The bytes before both, as a little-endian number.
    pub before: Option<String>,
    /// The bytes after both.
    pub after: Option<String>,
    /// How the run ended.
    pub outcome: String,
}

/// What happens in a minimised run, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Story {
    /// Times that a thread lost the turn though it could have gone on.
    pub preemptions: u32,
    /// What the threads do, in order: the beginning, what is around the swap, the end. A gap in their numbers is what
    /// is left out.
    pub events: Vec<Event>,
    /// Events that are left out.
    pub left_out: u32,
    /// The two events whose swap makes it go away.
    pub swap: Option<Swap>,
}

/// Something that a thread does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// From 1, those that are left out counted.
    pub number: u32,
    /// Who; 0 is the main thread.
    pub thread: u32,
    /// What: `takes mutex `a``.
    pub does: String,
    /// Where.
    pub at: Option<Frame>,
}

/// Two events and what comes of it the other way round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Swap {
    /// Number of the event that comes first in the story.
    pub first: u32,
    /// Number of the one that comes second, or would have.
    pub second: u32,
    /// How the run ended in which the second came first.
    pub outcome: String,
}

fn none(count: &u32) -> bool {
    *count == 0
}

/// A thread that waits for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Who.
    pub thread: Thread,
    /// What for.
    pub wants: String,
    /// The thread that has it.
    pub holder: Option<u32>,
    /// What it holds itself.
    pub locks: Vec<Lock>,
    /// Where it waits.
    pub stack: Vec<Frame>,
}

/// A synchronisation call that breaks its contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misuse {
    /// The way in which it does, `unlock-by-another` for one.
    #[schemars(schema_with = "schema::misuse_kind")]
    pub kind: MisuseKind,
    /// What the thread does: `unlocks mutex `m`, which thread T2 holds`.
    pub what: String,
    /// Who.
    pub thread: Thread,
    /// Where; empty at the end of a thread or process.
    pub stack: Vec<Frame>,
    /// What is misused, by kind and name; null for a thread.
    pub object: Option<Lock>,
    /// The thread that holds it, waits for it, or is joined or detached.
    pub other: Option<Thread>,
    /// Where that thread took it, or waits.
    pub taken: Vec<Frame>,
    /// In how many ordinary runs it was seen.
    pub ordinary: u32,
}

/// A place in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Which thread.
    pub thread: Thread,
    /// Where it stood.
    pub stack: Vec<Frame>,
}

/// A freed block, and what is done with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreedBlock {
    /// Its size in bytes; 0 unknown.
    pub size: u64,
    /// What is done with it: `uses the freed block`.
    pub does: String,
    /// Where it is used, or freed again.
    pub used: Place,
    /// Where it was freed.
    pub freed: Option<Place>,
    /// Where it was allocated.
    pub allocated: Option<Place>,
}

/// What the work amounted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Runs of the program.
    pub runs: u64,
    /// Seconds.
    pub seconds: f64,
    /// Schedules under which phase 1 looked.
    pub schedules: u32,
    /// Candidate pairs.
    pub candidates: u32,
    /// Different causes that they may have: two functions and an object; 0 unknown.
    #[serde(default)]
    pub causes: u32,
    /// Candidates that are settled.
    pub settled: u32,
    /// Candidates that no run was directed at.
    #[serde(default)]
    pub untried: u32,
    /// Runs that were stopped and say nothing.
    pub inconclusive: u32,
    /// Candidates and findings that are left out since a suppression matches them.
    #[serde(default)]
    pub suppressed: u32,
    /// Whether the work was cut short, and by what.
    pub stopped: Option<String>,
    /// Seconds of the run without deadheat.
    #[serde(default)]
    pub plain_seconds: f64,
    /// Seconds of phase 1: detection under all schedules.
    #[serde(default)]
    pub detecting_seconds: f64,
    /// Seconds of phase 2 and all that follows it: confirming, undirected runs, minimising.
    #[serde(default)]
    pub confirming_seconds: f64,
    /// Runs without deadheat, where more than one was asked for.
    #[serde(default)]
    pub plain_runs: u32,
    /// Those of them that ended badly.
    #[serde(default)]
    pub plain_failures: u32,
    /// Number, from 1, of the first run under control that ended badly; none if none did. With several runs at the same
    /// time those that end first are counted first, so it may differ from hunt to hunt.
    #[serde(default)]
    pub first_failure: Option<u64>,
    /// What an exploration of inputs came to, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<Exploration>,
}

/// An exploration of inputs, in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exploration {
    /// Inputs that were run.
    pub inputs: u64,
    /// Different paths that they took.
    pub paths: u64,
    /// Turns that no input takes on their paths.
    pub infeasible: u64,
    /// Questions that the solver gave up.
    pub undecided: u64,
    /// Questions to the solver, in this run of deadheat.
    pub queries: u64,
    /// Conflicts that it met.
    pub conflicts: u64,
    /// Inputs that were made by changing others by chance, and run without expressions.
    #[serde(default)]
    pub made_by_chance: u64,
    /// What was pruned.
    pub pruning: Pruning,
}

/// Turns of paths that were not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pruning {
    /// `off`, `branch` or `race-safe`.
    pub mode: String,
    /// The turns.
    pub turns: u64,
    /// The paths.
    pub paths: u64,
    /// Paths that were pruned and taken up again.
    pub taken_back: u64,
    /// Runs that accessed too much to take part.
    pub too_large: u64,
    /// Questions to the solver that pruning took.
    pub queries: u64,
}

impl Stats {
    /// Adds those of a hunt with another input.
    pub fn take_in(&mut self, one: &Stats) {
        self.runs += one.runs;
        self.schedules += one.schedules;
        self.candidates += one.candidates;
        self.causes += one.causes;
        self.settled += one.settled;
        self.untried += one.untried;
        self.inconclusive += one.inconclusive;
        self.suppressed += one.suppressed;
        self.plain_seconds += one.plain_seconds;
        self.detecting_seconds += one.detecting_seconds;
        self.confirming_seconds += one.confirming_seconds;
        self.stopped = self.stopped.take().or_else(|| one.stopped.clone());
    }
}

impl Report {
    /// Puts harmful findings first, then real, then suspected ones, each in order of their ids.
    pub fn sort(&mut self) {
        self.findings
            .sort_by_key(|f| (std::cmp::Reverse(f.verdict), f.number(), f.id.clone()));
    }

    /// How many findings have at least this verdict.
    pub fn count(&self, least: Verdict) -> usize {
        self.findings.iter().filter(|f| f.verdict >= least).count()
    }
}

impl Finding {
    /// Computes the probability from hits and tries; those of a stored finding may have grown since.
    pub(crate) fn counted(mut self) -> Finding {
        let (hits, tries) = self.share();
        self.probability = Interval::wilson(hits, tries);
        self
    }

    /// Hits and tries: of the directed ones, where these were counted.
    pub(crate) fn share(&self) -> (u32, u32) {
        match self.directed_tries {
            0 => (self.hits, self.tries),
            tries => (self.directed_hits, tries),
        }
    }

    /// The number in its label.
    pub fn number(&self) -> u64 {
        self.id.trim_start_matches('F').parse().unwrap_or(u64::MAX)
    }
}

impl Access {
    /// `file:line:column`.
    pub fn place(&self) -> String {
        place(&self.file, self.line, self.column)
    }
}

impl Frame {
    /// `file:line:column`, or nothing.
    pub fn place(&self) -> String {
        place(&self.file, self.line, self.column)
    }
}

/// The innermost frame with a line that is the user's own; of any code if none is.
pub fn own(stack: &[Frame]) -> Option<&Frame> {
    let mut known = stack.iter().filter(|f| f.line > 0);
    let first = known.clone().next();
    known.find(|f| !f.of_system()).or(first)
}

impl Frame {
    /// Whether it is in a header of the system or in Rust's library: not the user's code.
    pub fn of_system(&self) -> bool {
        ["/usr/", "/rustc/", "/rust/deps/"]
            .iter()
            .any(|d| self.file.starts_with(d))
            || self.file.contains("/rustlib/src/rust/library/")
    }
}

fn place(file: &str, line: u32, column: u32) -> String {
    match (file, line, column) {
        ("", ..) => String::new(),
        (file, 0, _) => file.into(),
        (file, line, 0) => format!("{file}:{line}"),
        (file, line, column) => format!("{file}:{line}:{column}"),
    }
}

impl Thread {
    /// `T1`, or `the main thread`.
    pub fn label(&self) -> String {
        if self.number == 0 {
            "main thread".into()
        } else {
            format!("thread T{}", self.number)
        }
    }
}

/// Bytes as a person reads them: little-endian numbers, small ones in decimal.
pub fn value(bytes: &[u8], size: u64) -> Option<String> {
    let bytes = bytes
        .get(..(size as usize).min(bytes.len()))
        .filter(|b| !b.is_empty())?;
    if !matches!(bytes.len(), 1 | 2 | 4 | 8) {
        return Some(bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "));
    }
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let unsigned = u64::from_le_bytes(wide);
    let shift = 64 - 8 * bytes.len() as u32;
    let signed = ((unsigned << shift) as i64) >> shift;
    Some(if (-1_000_000..1_000_000_000).contains(&signed) {
        signed.to_string()
    } else {
        format!("{unsigned:#x}")
    })
}
