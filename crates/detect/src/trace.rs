//! The detector offline: an execution as a list of events, through the same code as in process.
//!
//! Condition variables, semaphores, barriers and once are release and acquire edges with a key; a barrier's
//! key names the round, each thread releasing as it arrives and acquiring as it leaves.

use crate::atomics::{AtomicEvent, parts};
use crate::granules::{Covered, Granules};
use crate::happens_before::{HappensBefore, Keep};
use crate::lockset::LockId;
use crate::statements::{AccessFlags, StatementPair, Statements};
use alloc::vec::Vec;
use deadheat_model::{LockMode, MemoryOrder, ObjectId, ObjectKind, ThreadId};
use hashbrown::HashMap;

/// Threads in a trace; events of others are skipped.
pub const MAX_THREADS: u32 = 1 << 16;
/// Bytes of one access in a trace; the rest is left out.
pub const MAX_SIZE: u64 = 1 << 24;

/// One event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Created this thread.
    Create(ThreadId),
    /// Ended.
    End,
    /// Joined this thread, which has ended.
    Join(ThreadId),
    /// Took a lock.
    Acquire(u32, LockMode),
    /// Gave a lock back.
    Release(u32, LockMode),
    /// Gave its knowledge under this key.
    ReleaseEdge(u64),
    /// Took what was given under this key.
    AcquireEdge(u64),
    /// A fence.
    Fence(MemoryOrder),
    /// An atomic operation by a statement.
    Atomic(u64, AtomicEvent),
    /// A plain access by a statement.
    Access {
        /// The statement.
        site: u64,
        /// First byte.
        address: u64,
        /// Number of bytes.
        size: u64,
        /// Whether it writes.
        write: bool,
    },
    /// Freed these bytes (start, length): they are another object's from now on.
    Forget(u64, u64),
}

/// What an analysis found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Granules that run 1 flagged, ascending.
    pub granules: Vec<u64>,
    /// Suspicious pairs; a witness is the event's index.
    pub pairs: Vec<StatementPair<usize>>,
    /// Hand-made locks learned.
    pub lock_words: Vec<u64>,
}

/// Run 1, then run 2 on the granules that it flagged.
pub fn analyse(events: &[(ThreadId, Event)]) -> Analysis {
    let (granules, lock_words) = run1(events, 0);
    let mut analysis = run2(events, Statements::new(&granules), &lock_words);
    analysis.granules = granules;
    analysis.lock_words = lock_words;
    analysis
}

/// Run 1 alone: the flagged granules, and the hand-made locks learned.
pub fn run1(events: &[(ThreadId, Event)], per_signature: u32) -> (Vec<u64>, Vec<u64>) {
    let mut run = Run1 {
        hb: HappensBefore::new(Keep::Hybrid),
        granules: Granules::new(per_signature),
        cells: HashMap::new(),
    };
    replay(events, &mut run);
    (run.granules.flags().granules(), run.hb.lock_words())
}

/// Run 2 alone, on the granules that `statements` watches.
pub fn run2(events: &[(ThreadId, Event)], statements: Statements<usize>, lock_words: &[u64]) -> Analysis {
    let mut run = Run2 {
        hb: HappensBefore::new(Keep::Both),
        statements,
    };
    run.hb.know_lock_words(lock_words);
    replay(events, &mut run);
    Analysis {
        granules: Vec::new(),
        pairs: run.statements.pairs().to_vec(),
        lock_words: run.hb.lock_words(),
    }
}

/// An access as a detector sees it.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Who.
    pub thread: ThreadId,
    /// The statement.
    pub site: u64,
    /// First byte.
    pub address: u64,
    /// Number of bytes.
    pub size: u64,
    /// What it does.
    pub flags: AccessFlags,
    /// The event's index.
    pub event: usize,
}

/// What runs over a trace: it owns the clocks and is told of accesses.
pub trait Detector {
    /// The clocks.
    fn clocks(&mut self) -> &mut HappensBefore;
    /// An access, in this context.
    fn touch(&mut self, touch: Touch, context: u32);
    /// Bytes were freed.
    fn forget(&mut self, address: u64, len: u64);
}

/// Feeds a trace to a detector.
pub fn replay(events: &[(ThreadId, Event)], detector: &mut impl Detector) {
    let mut locks: HashMap<u32, LockId> = HashMap::new();
    for (index, (thread, event)) in events.iter().enumerate() {
        let thread = *thread;
        let known = |t: ThreadId| t.0 < MAX_THREADS;
        if !known(thread) {
            continue;
        }
        let hb = detector.clocks();
        let mut lock = |hb: &mut HappensBefore, number: u32| {
            let object = ObjectId {
                address: number as u64,
                generation: 0,
            };
            *locks
                .entry(number)
                .or_insert_with(|| hb.lock(ObjectKind::Mutex, object))
        };
        match *event {
            Event::Create(child) if known(child) => hb.created(thread, child),
            Event::Join(child) if known(child) => hb.joined(thread, child),
            Event::Create(_) | Event::Join(_) => {}
            Event::End => hb.ended(thread),
            Event::Acquire(number, mode) => {
                let id = lock(hb, number);
                hb.acquired(thread, id, mode);
            }
            Event::Release(number, mode) => {
                let id = lock(hb, number);
                hb.released(thread, id, mode);
            }
            Event::ReleaseEdge(key) => hb.release_edge(thread, key),
            Event::AcquireEdge(key) => hb.acquire_edge(thread, key),
            Event::Fence(order) => hb.fence(thread, order),
            Event::Atomic(site, mut atomic) => {
                atomic.size = atomic.size.min(64);
                let context = hb.atomic_begin(thread, atomic);
                let flags = AccessFlags {
                    write: atomic.writes(),
                    atomic: true,
                    inexact: false,
                };
                let touch = Touch {
                    thread,
                    site,
                    address: atomic.address,
                    size: atomic.size as u64,
                    flags,
                    event: index,
                };
                detector.touch(touch, context);
                detector.clocks().atomic_end(thread, atomic);
            }
            Event::Access {
                site,
                address,
                size,
                write,
            } => {
                let context = hb.context(thread, false);
                let flags = AccessFlags {
                    write,
                    ..AccessFlags::default()
                };
                let touch = Touch {
                    thread,
                    site,
                    address,
                    size: size.min(MAX_SIZE),
                    flags,
                    event: index,
                };
                detector.touch(touch, context);
            }
            Event::Forget(address, len) => {
                hb.forgotten(address, len);
                detector.forget(address, len);
            }
        }
    }
}

struct Run1 {
    hb: HappensBefore,
    granules: Granules,
    /// W, R and history set of each granule.
    cells: HashMap<u64, [u32; 3]>,
}

impl Detector for Run1 {
    fn clocks(&mut self) -> &mut HappensBefore {
        &mut self.hb
    }

    fn touch(&mut self, touch: Touch, context: u32) {
        let write = touch.flags.write;
        for (granule, _) in parts(touch.address, touch.size) {
            let cell = self.cells.entry(granule).or_insert([0; 3]);
            let [w, r, set] = *cell;
            // What the inlined check does.
            if (if write { w } else { r }) == context {
                continue;
            }
            // The caller's choice must not matter: here it changes from access to access.
            let covered = if touch.event.is_multiple_of(3) {
                Covered::Move
            } else {
                Covered::Stay
            };
            let next = self
                .granules
                .transition(&mut self.hb, context, w, r, set, write, covered);
            if next.suspicious {
                self.granules
                    .flag(&mut self.hb, granule, context, w, r, set, write, touch.site);
            }
            *cell = [next.w, next.r, next.set];
        }
    }

    fn forget(&mut self, address: u64, len: u64) {
        let end = address.saturating_add(len);
        self.cells.retain(|granule, _| granule | 7 < address || *granule >= end);
    }
}

struct Run2 {
    hb: HappensBefore,
    statements: Statements<usize>,
}

impl Detector for Run2 {
    fn clocks(&mut self) -> &mut HappensBefore {
        &mut self.hb
    }

    fn touch(&mut self, t: Touch, context: u32) {
        for (granule, mask) in parts(t.address, t.size) {
            self.statements
                .record(&mut self.hb, t.thread, t.site, granule, mask, t.flags, context, || {
                    t.event
                });
        }
    }

    fn forget(&mut self, address: u64, len: u64) {
        self.statements.forgotten(address, len);
    }
}
