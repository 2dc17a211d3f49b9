//! The threads of the program as the scheduler sees them, and the table of them.
//!
//! A record is made by the creating thread, lives as long as the process (threads that were joined
//! leave a few hundred bytes) and is touched by the token holder only, except for the word that its
//! own thread waits on. Records are numbered in order of creation.

use crate::wait::{Outcome, Wait};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use deadheat_model::{LockMode, ObjectKind, Operation, ThreadId};
use deadheat_wire::plan::Spot;
use hashbrown::HashMap;

/// No deadline.
pub const NEVER: u64 = u64::MAX;

/// Start routine of a thread.
pub type StartRoutine = extern "C" fn(*mut c_void) -> *mut c_void;

/// A place on a stack, such as where a thread left the program's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Code address, mostly a return address.
    pub pc: u64,
    /// The frame pointer there.
    pub frame: u64,
    /// The stack pointer there; 0 if unknown.
    pub stack: u64,
}

/// A thread.
pub struct Thread {
    /// Number.
    pub id: ThreadId,
    /// Hand-off word ([`crate::switching`]).
    pub turn: AtomicU32,
    /// What passing the turn keeps of it.
    pub switching: crate::switching::Own,
    /// Kernel id; 0 until the thread has begun.
    pub kernel_id: i32,
    /// `pthread_t`; 0 once joined.
    pub pthread: u64,
    /// What it waits for.
    pub wait: Wait,
    /// Whether it has ended.
    pub ended: bool,
    /// Why its last wait was over.
    pub outcome: Outcome,
    /// What it does when it goes on.
    pub next: Operation,
    /// Place in the queue.
    pub stamp: u64,
    /// Deadline of its wait on the virtual clock.
    pub deadline: u64,
    /// Whether a signal, post or wake reached it in its present wait.
    pub woken: bool,
    /// Whether a descriptor it waits for is ready.
    pub ready: bool,
    /// Whether the object it waits for is shared with other processes.
    pub shared: bool,
    /// Descriptors it waits for.
    pub descriptors: Vec<libc::pollfd>,
    /// Futex words that it waits for, if for several.
    pub futexes: Vec<u64>,
    /// The futex word by which it was woken last.
    pub woken_by: Option<u64>,
    /// The mutex of its last wait for a condition variable.
    pub with_mutex: u64,
    /// Blocked signals (bit `n - 1`).
    pub mask: u64,
    /// Pending signals directed at it.
    pub pending: u64,
    /// Flags of the handler that ran last, for restarting calls.
    pub handler_flags: i32,
    /// Handlers of signals that it runs, one within another, in the midst of whatever it was at.
    pub handlers: u32,
    /// Cancellation was asked for.
    pub cancelled: bool,
    /// Cancellation is switched off.
    pub uncancellable: bool,
    /// Nobody will join it.
    pub detached: bool,
    /// Somebody is joining it.
    pub joining: bool,
    /// Round of key destructors.
    pub rounds: u32,
    /// Above zero: keeps the token at mere scheduling points (inside the loader, inside handlers of ours).
    pub keep: u32,
    /// Above zero: its reads, its writes are not to be looked at.
    pub ignores: [u32; 2],
    /// How long it idled, in yields, and since which progress of the program.
    pub idled: u64,
    /// See `idled`.
    pub idle_since: u64,
    /// Scheduling points of its own before this turn. How often it waits depends on the others, so waits are none.
    pub points: u64,
    /// The run's scheduling point at which it got the turn, and one for each wait since.
    pub since: u64,
    /// Back edges of the turns that it has had, less those for which it idled.
    pub spent: i64,
    /// Clock reads, or failed tries, in a row.
    pub idle_calls: u32,
    /// Where it left the program's code last.
    pub frame: Frame,
    /// Start routine.
    pub start: Option<StartRoutine>,
    /// Its argument.
    pub argument: *mut c_void,
    /// Bounds of its stack (0..0: unknown).
    pub stack: (u64, u64),
    /// Stack for its crash handlers.
    pub alternate: *mut u8,
    /// Address of the kernel id that the kernel clears when the thread is gone.
    pub gone_word: *const AtomicU32,
    /// Initialisers that it is about to run: control and routine.
    pub once: Vec<(u64, extern "C" fn())>,
    /// Robust mutexes that it holds, and whether each is consistent.
    pub robust: Vec<(u64, bool)>,
    /// What a shared condition variable's count was when it began to wait ([`crate::intercept::shared::signals`]).
    pub signals_seen: i32,
    /// Locks that it holds, in order of acquisition, and where it took them.
    pub locks: Vec<(ObjectKind, u64, LockMode, Spot)>,
}

impl Thread {
    /// Where it called the runtime, as a number that differs between places of a page and is the same wherever the
    /// module lies.
    pub fn place(&self) -> u64 {
        self.frame.pc & 0xfff
    }
}

/// All threads.
pub struct Threads {
    all: Vec<*mut Thread>,
    /// Those that have not ended, ascending.
    pub live: Vec<*mut Thread>,
    by_pthread: HashMap<u64, u32, FixedState>,
}

impl Threads {
    /// No threads.
    pub const fn new() -> Threads {
        Threads {
            all: Vec::new(),
            live: Vec::new(),
            by_pthread: HashMap::with_hasher(FixedState),
        }
    }

    /// Makes the record of a new thread.
    pub fn add(&mut self, stamp: u64) -> *mut Thread {
        let id = ThreadId(self.all.len() as u32);
        let thread = Box::into_raw(Box::new(Thread {
            id,
            turn: AtomicU32::new(0),
            switching: crate::switching::Own::new(),
            kernel_id: 0,
            pthread: 0,
            wait: Wait::None,
            ended: false,
            outcome: Outcome::Ready,
            next: Operation::Start,
            stamp,
            deadline: NEVER,
            woken: false,
            ready: false,
            shared: false,
            descriptors: Vec::new(),
            futexes: Vec::new(),
            woken_by: None,
            with_mutex: 0,
            mask: 0,
            pending: 0,
            handler_flags: libc::SA_RESTART,
            handlers: 0,
            cancelled: false,
            uncancellable: false,
            detached: false,
            joining: false,
            rounds: 0,
            keep: 0,
            ignores: [0; 2],
            idled: 0,
            idle_since: 0,
            points: 0,
            since: 0,
            spent: 0,
            idle_calls: 0,
            frame: Frame::default(),
            start: None,
            argument: core::ptr::null_mut(),
            stack: (0, 0),
            alternate: core::ptr::null_mut(),
            gone_word: core::ptr::null(),
            once: Vec::new(),
            robust: Vec::new(),
            signals_seen: 0,
            locks: Vec::new(),
        }));
        self.all.push(thread);
        self.live.push(thread);
        thread
    }

    /// Takes a record back that `add` made last (creation failed).
    pub fn remove_last(&mut self) {
        self.live.pop();
        self.all.pop();
    }

    /// The thread with this number.
    pub fn get(&self, id: ThreadId) -> Option<&'static mut Thread> {
        // SAFETY: records live as long as the process; the token holder alone uses them.
        self.all.get(id.index()).map(|t| unsafe { &mut **t })
    }

    /// Number of threads created, main included.
    pub fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// Live threads.
    pub fn iter(&self) -> impl Iterator<Item = &'static mut Thread> + '_ {
        // SAFETY: as in `get`.
        self.live.iter().map(|t| unsafe { &mut **t })
    }

    /// Names a thread by its `pthread_t`.
    pub fn name(&mut self, thread: &mut Thread, pthread: u64) {
        thread.pthread = pthread;
        self.by_pthread.insert(pthread, thread.id.0);
    }

    /// The thread with this `pthread_t` that was not joined yet.
    pub fn find(&self, pthread: u64) -> Option<&'static mut Thread> {
        self.get(ThreadId(*self.by_pthread.get(&pthread)?))
    }

    /// Forgets the `pthread_t` of a thread that was joined.
    pub fn forget(&mut self, thread: &mut Thread) {
        self.by_pthread.remove(&thread.pthread);
        thread.pthread = 0;
    }

    /// The thread has ended.
    pub fn end(&mut self, thread: &mut Thread) {
        thread.ended = true;
        thread.wait = Wait::None;
        if let Ok(at) = self.live.binary_search_by_key(&thread.id, |t| {
            // SAFETY: as in `get`.
            unsafe { (**t).id }
        }) {
            self.live.remove(at);
        }
    }
}

/// A hasher without random state: the same keys give the same table in every run.
#[derive(Clone, Copy, Default)]
pub struct FixedState;

/// See [`FixedState`].
pub struct FixedHasher(u64);

impl core::hash::BuildHasher for FixedState {
    type Hasher = FixedHasher;
    fn build_hasher(&self) -> FixedHasher {
        FixedHasher(0)
    }
}

impl core::hash::Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 29;
    }
}
