//! The detector: which accesses of one execution could be data races.
//!
//! Events in, suspicions out; the same code runs inside the program under test (phase 1 and phase 2) and
//! offline over a [`trace`]. Architecture invariant: `no_std` with `alloc`, no unsafe, no I/O, no clock, no
//! threads, no randomness; equal events give equal answers, in equal order.
//!
//! # Who calls what
//!
//! One [`HappensBefore`] per run, told of every synchronisation in the order of execution:
//!
//! ```
//! use deadheat_detect::*;
//! use deadheat_model::*;
//! let mut hb = HappensBefore::new(Keep::Both); // Hybrid: run 1, Both: run 2, Full: confirm
//! let (main, child) = (ThreadId::MAIN, ThreadId(1));
//! hb.created(main, child);
//! let object = ObjectId { address: 0x1000, generation: 0 };
//! let mutex = hb.lock(ObjectKind::Mutex, object); // LockId; lock_object() goes back, lock_destroyed() ends it
//! hb.acquired(main, mutex, LockMode::Write);
//! hb.released(main, mutex, LockMode::Write);
//! hb.release_edge(main, 7); // signal with a waiter, post, barrier arrival, once done: any key of the caller's
//! hb.acquire_edge(child, 7); // and edge_forgotten(7) when nobody can acquire it any more
//! hb.fence(main, MemoryOrder::AcquireRelease);
//! let store = AtomicEvent {
//!     address: 0x2000, size: 4, kind: AtomicKind::Store, order: MemoryOrder::Release, before: Some(0),
//! };
//! let context = hb.atomic_begin(main, store); // what it acquires; check its access in this context;
//! hb.atomic_end(main, store); // then what it gives. `atomic` does both when the access is not checked.
//! hb.ended(child);
//! hb.joined(main, child);
//! hb.forgotten(0x2000, 64); // freed memory: atomics there are other objects from now on
//! ```
//!
//! A compare-exchange is told once its success is known, with the value before it; it switches nothing in
//! between. After any of these calls the running thread's [`context`](HappensBefore::context) may differ
//! (locks, releases), and its [`version`](HappensBefore::version) (acquisitions: memos are then void); other
//! threads' contexts may differ when they run again.
//!
//! - **Run 1**: [`Granules::transition`] on each mismatch of the inlined check, [`Granules::flag`] when
//!   suspicious; at the end `granules.flags().granules()` and [`HappensBefore::lock_words`].
//! - **Run 2**: [`HappensBefore::know_lock_words`], then [`Statements::record`] for each access to a flagged
//!   granule; new pairs come back at once, all with counts from [`Statements::pairs`].
//! - **Confirm**: [`Exact::access`] for each exact access of a target, between the halves if it is atomic.
//!
//! Deadlocks: a [`LockOrder`] is told of waits, locks taken and given back, and signals; [`cycles`] of waiting are
//! candidates.
//!
//! Function instances: [`FunctionInstances`] groups them as they end, from entries and exits.
//!
//! Freed memory: `forgotten` of [`HappensBefore`], [`Statements`] and [`Exact`]; in run 1 the caller zeroes the
//! cells and sets. [`parts`] cuts a range into granules and byte masks.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access_records;
mod atomic_edges;
mod atomics;
mod context;
mod exact;
mod function_instances;
mod granules;
mod happens_before;
mod history_set;
mod lock_cycle;
mod lock_order;
mod lock_word;
mod locks;
mod lockset;
mod signature;
mod statements;
pub mod trace;
mod vector_clock;

pub use atomics::{AtomicEvent, AtomicKind, parts};
pub use context::{Context, Contexts};
pub use exact::{Exact, TargetAccess};
pub use function_instances::{Ended, Entered, FunctionInstances, Limits};
pub use granules::{Covered, Granules, Transition};
pub use happens_before::{HappensBefore, Keep};
pub use history_set::{Entry, HistorySets};
pub use lock_cycle::{Cycles, Part, cycles};
pub use lock_order::{Dependency, Hold, LockOrder, Moment, Place, Resource};
pub use locks::Held;
pub use lockset::{LockId, Lockset, Locksets};
pub use signature::Flags;
pub use statements::{AccessFlags, News, Side, StatementPair, Statements};
pub use vector_clock::{Epoch, VectorClock};
