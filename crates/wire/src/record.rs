//! What the runtime records of a run. It records addresses and numbers; the tool symbolises.

use crate::plan::{Spot, Switch};
use alloc::{string::String, vec::Vec};
use deadheat_model::{Access, FunctionSpans, LockMode, MisuseKind, ObjectId, ObjectKind, SiteId, ThreadId, WaitReason};
use serde::{Deserialize, Serialize};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The runtime is in control (first record of each process).
    Started(Started),
    /// A linked module with sites, in the order of [`SiteId::module`].
    Module(u16, Module),
    /// A thread was created.
    Thread(ThreadCreated),
    /// Result of `Mode::Granules`.
    Granules(Granules),
    /// A suspicious pair of `Mode::Statements`.
    Pair(Pair),
    /// Two threads stood at once before conflicting accesses.
    Meeting(Meeting),
    /// Two executed accesses that happens-before does not order.
    Unordered(Unordered),
    /// Every thread waits, none for time, a signal or the outside.
    Deadlock(Deadlock),
    /// No progress within the bound.
    Hang(Hang),
    /// A part of the recorded schedule, in order.
    Switches(Vec<Switch>),
    /// Objects of synchronisation that several threads came to, one of them more than once: from which places, each set
    /// of places once. A place is a number as policies see it.
    Places(Vec<Vec<u64>>),
    /// The replayed schedule could not be followed: at this step the named thread could not run.
    Diverged {
        /// Number of the scheduling point.
        step: u64,
        /// The thread that the recording wants.
        wanted: ThreadId,
    },
    /// Something that the user should know: not instrumented, not modelled, cut.
    Notice(Notice),
    /// The run ended (last record of each process that ended in a way that could be seen).
    Ended(Ended),
    /// Words that turned out to be hand-made locks, ascending: of the lock words that records say are held, the
    /// others are none.
    LockWords(Vec<u64>),
    /// A cycle of waiting that phase 1 predicts: each waits for what the next one holds.
    Cycle(Vec<CycleLink>),
    /// Events of the run, in order, where the plan asks for them.
    Steps(Vec<Step>),
    /// A loaded file, with sites or without: it gives addresses names.
    Library {
        /// Path of the file.
        path: String,
        /// Difference between run-time addresses and the file's virtual addresses.
        bias: u64,
    },
    /// Result of `Mode::Functions`, for one process.
    Functions(Functions),
    /// What objects that records name were allocated in.
    Objects(Vec<(ObjectId, Memory)>),
    /// A synchronisation call broke its contract.
    Misuse(Misuse),
    /// A freed block was used or freed again.
    FreedUse(FreedUse),
    /// Result of `Mode::Functions` too, for one module of one process.
    Reached(Reached),
}

/// A synchronisation call that broke its contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misuse {
    /// Number of the misuse in this run, from 0.
    pub number: u32,
    /// What is wrong.
    pub kind: MisuseKind,
    /// Scheduling point.
    pub step: u64,
    /// Who.
    pub thread: ThreadId,
    /// Where; empty for the end of a thread or process, where no call is to blame.
    pub stack: Stack,
    /// What was misused, a thread apart. For a condition variable: the mutex of the call comes second, that of the other
    /// thread third.
    pub objects: Vec<(ObjectKind, ObjectId)>,
    /// The thread that holds the object, waits for it, or is joined or detached.
    pub other: Option<ThreadId>,
    /// Where that thread took the object, or waits; empty if that is not known.
    pub taken: Stack,
}

/// What a thread does with a block that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FreedUseKind {
    /// Accesses it.
    Use,
    /// Takes, gives back or waits for a mutex or the like in it.
    Synchronisation,
    /// Faults at an address that it read from it, or at one inside it.
    Fault,
    /// Frees it again.
    Free,
    /// Changes its size.
    Resize,
}

/// A freed block is used or freed again. The run goes on, as far as it can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreedUse {
    /// What is done.
    pub kind: FreedUseKind,
    /// By whom.
    pub thread: ThreadId,
    /// Where; of a use the first address is the site's own, of a fault the instruction's.
    pub stack: Stack,
    /// The bytes that a use touches.
    pub access: Option<Access>,
    /// First byte of the block.
    pub start: u64,
    /// Its length in bytes; 0 unknown.
    pub len: u64,
    /// Who allocated it, and where; none if it was not kept.
    pub allocated: Option<(ThreadId, Stack)>,
    /// Who freed it, and where.
    pub freed: Option<(ThreadId, Stack)>,
    /// Scheduling point.
    pub step: u64,
}

/// When functions ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// Entry sites of the functions, by their number in the run.
    pub entries: Vec<SiteId>,
    /// Their instances.
    pub spans: FunctionSpans,
}

/// Statements that ran since there was a second thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The module.
    pub module: u16,
    /// Indexes of the entry of the function and of the statement's site, ascending, and the threads in which it was seen to
    /// run: thread `n` is bit `n % 64`. Of a statement that runs often some may be missing.
    pub sites: Vec<(u32, u32, u64)>,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Scheduling point.
    pub step: u64,
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub kind: StepKind,
    /// On which object.
    pub object: Option<(ObjectKind, ObjectId)>,
    /// Or which access.
    pub access: Option<Access>,
    /// What the accessed bytes were allocated in; static if they were not.
    pub memory: Memory,
    /// Where.
    pub stack: Stack,
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// Comes to take an object, or to wait for it.
    Takes,
    /// Gives an object back or signals it.
    Gives,
    /// Waits, since it did not get what it came for.
    Waits,
    /// Accesses memory.
    Accesses,
    /// Creates a thread.
    Creates,
    /// Ends.
    Ends,
}

/// First record of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Layout version.
    pub version: u32,
    /// Process id.
    pub pid: u32,
    /// Process id of the parent if that is followed too.
    pub parent: Option<u32>,
    /// Whether address randomisation is off, so that addresses repeat.
    pub fixed_addresses: bool,
    /// Shared libraries without sites whose synchronisation would be unseen (not libc and its kin).
    pub opaque_libraries: Vec<String>,
}

/// A linked module with sites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file.
    pub path: String,
    /// Difference between run-time addresses and the file's virtual addresses.
    pub bias: u64,
    /// Number of site descriptors.
    pub sites: u32,
    /// Whether its sites are calls of the `__tsan_*` interface: a site's index is its address in the file, and
    /// there are no descriptors.
    pub calls: bool,
}

/// Code addresses, innermost first, as return addresses (the first is a site's own address when the
/// stack belongs to a site).
pub type Stack = Vec<u64>;

/// A thread's creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCreated {
    /// The new thread.
    pub thread: ThreadId,
    /// Its creator.
    pub parent: ThreadId,
    /// Where it was created.
    pub stack: Stack,
    /// Address of the start routine.
    pub start: u64,
}

/// Result of the first run of phase 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granules {
    /// Flagged 8-byte granules, ascending.
    pub addresses: Vec<u64>,
    /// Granules not flagged since their signature had its share.
    pub cut: u64,
    /// Accesses outside the shadow's ranges.
    pub outside: u64,
    /// Words found to be hand-made locks.
    pub lock_words: Vec<u64>,
}

/// A lock held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Kind of lock.
    pub kind: ObjectKind,
    /// Which.
    pub object: ObjectId,
    /// How.
    pub mode: LockMode,
}

/// One access with what is known of its moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The access.
    pub access: Access,
    /// Where the thread stood.
    pub stack: Stack,
    /// Locks that it held.
    pub held: Vec<Held>,
    /// Up to 16 bytes of memory at the access before it.
    pub before: Vec<u8>,
}

/// What the accessed bytes belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Memory {
    /// A heap block.
    Heap {
        /// First byte.
        start: u64,
        /// Length in bytes.
        len: u64,
        /// Who allocated it.
        thread: ThreadId,
        /// Where.
        stack: Stack,
        /// Whether it was freed at the moment.
        freed: bool,
    },
    /// A thread's stack.
    Stack {
        /// Whose.
        thread: ThreadId,
        /// The frame that holds the address, then the one that it called, whose arguments may lie there.
        frames: Vec<StackFrame>,
    },
    /// A thread's static thread-local storage.
    ThreadLocal {
        /// Whose.
        thread: ThreadId,
        /// Offset from the thread pointer (negative).
        offset: i64,
    },
    /// Static data of a loaded file: the tool looks the address up in the modules.
    Static,
    /// Mapped memory that is no loaded file's, heap's or stack's.
    Mapping {
        /// First byte.
        start: u64,
        /// Length in bytes.
        len: u64,
        /// The file, as the kernel names it; empty for anonymous memory.
        path: String,
        /// Where in the file the mapping starts.
        offset: u64,
    },
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// Code address: a return address, or the address right behind a site's start.
    pub pc: u64,
    /// The frame pointer there.
    pub frame: u64,
    /// The stack pointer there; 0 if unknown.
    pub stack: u64,
}

/// A suspicious pair of statements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The earlier access.
    pub first: Witness,
    /// The later access.
    pub second: Witness,
    /// Whether the clocks with lock edges leave them unordered too.
    pub precise: bool,
    /// What they touch.
    pub memory: Memory,
    /// How many pairs of this kind were seen with it (same two sites).
    pub count: u64,
}

/// Two threads at once about to make conflicting accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// Number of the meeting in this run, from 0.
    pub number: u32,
    /// Scheduling point.
    pub step: u64,
    /// The thread that arrived last.
    pub arriving: Witness,
    /// The thread that stood there (one of possibly several).
    pub postponed: Witness,
    /// Whether the arriving thread went first.
    pub arriving_first: bool,
    /// Whether that was between the read and the write of the other's statement (or the other way round).
    pub torn: bool,
    /// What they touch.
    pub memory: Memory,
    /// Up to 16 bytes of memory after both accesses were made; empty if the run ended before.
    pub after: Vec<u8>,
}

/// Two accesses not ordered by happens-before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unordered {
    /// The earlier access.
    pub first: Witness,
    /// The later access.
    pub second: Witness,
    /// What they touch.
    pub memory: Memory,
    /// Scheduling point of the later access.
    pub step: u64,
}

/// A thread that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Who.
    pub thread: ThreadId,
    /// For what.
    pub reason: WaitReason,
    /// The thread that holds what it waits for, if one does.
    pub holder: Option<ThreadId>,
    /// Where it waits.
    pub stack: Stack,
    /// What it holds.
    pub held: Vec<Held>,
}

/// Every thread waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlock {
    /// All threads that have not ended.
    pub threads: Vec<Waiting>,
}

/// A thread's part in a predicted cycle of waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleLink {
    /// Who was seen there.
    pub thread: ThreadId,
    /// What it waits for, and how.
    pub wants: Held,
    /// Where.
    pub stack: Stack,
    /// That call.
    pub at: Spot,
    /// Locks that it holds there.
    pub holds: Vec<Held>,
    /// Where it took the lock that the thread before it in the cycle waits for; none if that waits for its end or
    /// its signal.
    pub wanted: Option<Spot>,
}

/// No progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hang {
    /// All threads that have not ended.
    pub threads: Vec<Waiting>,
    /// Yields in a row that brought no progress.
    pub yields: u64,
}

/// Something that limits what a run shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// A call that is not modelled was made this often.
    NotModelled {
        /// Name of the call.
        call: String,
        /// How often.
        count: u64,
    },
    /// The run depends on something outside that a replay may not repeat.
    NotReplayable {
        /// What.
        reason: String,
    },
    /// Interposition failed: the named call does not reach the runtime.
    NotInterposed {
        /// Name of the call.
        call: String,
    },
    /// A structure was full; so much was dropped.
    Cut {
        /// What.
        what: String,
        /// How much.
        count: u64,
    },
    /// A target site could not be patched.
    NotPatched {
        /// Which.
        site: SiteId,
    },
    /// So many accesses were not looked at, since the program's annotations say so.
    Excused {
        /// How many.
        count: u64,
    },
    /// Free text.
    Text(String),
    /// A library whose code has no sites, or none that can be used, was loaded: it may synchronise unseen.
    Unwatched {
        /// Its path.
        library: String,
        /// Why, and what to do.
        why: String,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub how: EndKind,
    /// Process id.
    pub pid: u32,
    /// Hash over (thread, event kind, object) of all scheduling points.
    pub schedule_hash: u64,
    /// Hash over which event came right after which other at each object, each pair once; 0 where that was not kept
    /// (under `fifo` and in replays).
    pub order: u64,
    /// Scheduling points.
    pub steps: u64,
    /// Switches between threads.
    pub switches: u64,
    /// Threads created, main included.
    pub threads: u32,
    /// Back edges counted.
    pub back_edges: u64,
    /// Virtual time passed, nanoseconds.
    pub virtual_ns: u64,
    /// Accesses at target sites.
    pub target_hits: u64,
    /// Who was held back before a target and had to be let go, since nobody else could do anything: see the race-directed
    /// policy. It may come last in the next try.
    pub let_go: Option<ThreadId>,
    /// Signals and broadcasts of condition variables: they wake whoever waits at that moment, and nobody who comes
    /// later.
    pub wakes: u64,
    /// Whether it started other processes, or became another program.
    pub others: bool,
    /// Thread and stack that ended it, for signals and aborts.
    pub at: Option<(ThreadId, Stack)>,
    /// Address of a memory fault.
    pub fault_address: Option<u64>,
    /// Message of a failed assertion, if one was seen.
    pub assertion: Option<String>,
}

/// Kind of end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndKind {
    /// `exit`, `_exit`, or return from `main`.
    Exit(i32),
    /// A signal that kills.
    Signal(i32),
    /// Deadlock, see the record.
    Deadlock,
    /// Hang, see the record.
    Hang,
    /// The process replaced itself.
    Exec,
    /// The runtime could not do its job.
    Refused,
}
