//! What a waiting thread waits for, as a condition that the token holder can evaluate.
//!
//! Lock state lies in glibc's own fields (first words of the objects), so that static initialisers and
//! destroy functions need nothing of ours.

use crate::thread::{NEVER, Thread};
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use deadheat_model::{ObjectKind, ThreadId, WaitReason};

/// A condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// None: the thread can run.
    None,
    /// The mutex (or spin lock, file lock: a zero word) at this address is free.
    Lock(ObjectKind, u64),
    /// Signalled on this condition variable.
    Condition(u64),
    /// The thread has ended.
    Join(ThreadId),
    /// The barrier's round is no longer this one.
    Barrier(u64, i32),
    /// The semaphore is positive.
    Semaphore(u64),
    /// No writer holds the read-write lock (nor waits for it, if that counts).
    ReadLock(u64),
    /// Nobody holds the read-write lock.
    WriteLock(u64),
    /// The once control is not in progress.
    Once(u64),
    /// The C++ guard is not in progress.
    Guard(u64),
    /// Woken on this futex; the bit set it waits with.
    Futex(u64, u32),
    /// Time passes.
    Sleep,
    /// One of its descriptors is ready.
    Descriptors,
    /// The aligned 8 bytes at this address no longer hold this value.
    Spin(u64, u64),
    /// A signal is delivered.
    Signal,
    /// One of these signals is pending.
    SignalSet(u64),
    /// Worth another try now and then (file locks, other processes).
    Retry,
}

/// Why a wait was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The condition held.
    Ready,
    /// The deadline passed.
    TimedOut,
    /// A signal (or cancellation) came first.
    Interrupted,
}

/// The 32-bit word at an address of the program.
///
/// # Safety
/// The address holds a live synchronisation object of at least that size.
pub unsafe fn word(address: u64) -> &'static AtomicI32 {
    // SAFETY: the caller's promise; aligned as the object is.
    unsafe { &*(address as *const AtomicI32) }
}

/// The aligned 8 bytes around an address.
///
/// # Safety
/// The address is mapped.
pub unsafe fn granule(address: u64) -> u64 {
    // SAFETY: an aligned granule lies within the page of the address.
    unsafe { (*((address & !7) as *const AtomicU64)).load(Relaxed) }
}

impl Wait {
    /// Whether the condition holds.
    pub fn holds(self, thread: &Thread) -> bool {
        // SAFETY: a thread waits on objects that must live while it waits; a program that frees them
        // has the crash coming.
        unsafe {
            match self {
                Wait::None => true,
                Wait::Lock(kind, a) => {
                    let free = word(a).load(Relaxed) == 0;
                    free || thread.shared && kind == ObjectKind::Mutex && crate::intercept::mutex::owner_died(a)
                }
                Wait::Condition(c) => {
                    thread.woken || thread.shared && crate::intercept::shared::signals(c) != thread.signals_seen
                }
                Wait::Futex(..) => thread.woken,
                Wait::Join(other) => crate::token::thread(other).is_none_or(|t| t.ended),
                Wait::Barrier(a, round) => word(a + 4).load(Relaxed) != round,
                Wait::Semaphore(a) => word(a).load(Relaxed) > 0,
                Wait::ReadLock(a) => crate::intercept::rwlock::readable(a),
                Wait::WriteLock(a) => crate::intercept::rwlock::writable(a),
                Wait::Once(a) => crate::intercept::once::settled(a),
                Wait::Guard(a) => *((a + 1) as *const u8) == 0,
                Wait::Sleep | Wait::Signal => false,
                Wait::Descriptors | Wait::Retry => thread.ready,
                Wait::Spin(a, value) => granule(a) != value,
                Wait::SignalSet(set) => thread.ready || thread.pending & set != 0,
            }
        }
    }

    /// Whether a cancellation request ends this wait.
    pub fn cancellable(self) -> bool {
        use Wait::*;
        matches!(
            self,
            Condition(_) | Sleep | Descriptors | Semaphore(_) | Join(_) | Signal | Retry | SignalSet(_)
        )
    }

    /// Whether the world outside the process may end this wait.
    pub fn external(self) -> bool {
        matches!(
            self,
            Wait::Descriptors | Wait::Retry | Wait::Signal | Wait::SignalSet(_)
        )
    }

    /// The record's word for it.
    pub fn reason(self) -> WaitReason {
        let object = |kind, a| WaitReason::Object(kind, crate::observe::object(a));
        match self {
            Wait::Lock(kind, a) => object(kind, a),
            Wait::Condition(a) => object(ObjectKind::Condition, a),
            Wait::Join(t) => WaitReason::Join(t),
            Wait::Barrier(a, _) => object(ObjectKind::Barrier, a),
            Wait::Semaphore(a) => object(ObjectKind::Semaphore, a),
            Wait::ReadLock(a) | Wait::WriteLock(a) => object(ObjectKind::RwLock, a),
            Wait::Once(a) | Wait::Guard(a) => object(ObjectKind::Once, a),
            Wait::Futex(a, _) => object(ObjectKind::Futex, a),
            Wait::None => WaitReason::Spin(0),
            Wait::Spin(a, _) => WaitReason::Spin(a),
            Wait::Sleep => WaitReason::Sleep,
            Wait::Descriptors | Wait::Retry | Wait::Signal | Wait::SignalSet(_) => WaitReason::External,
        }
    }

    /// Kind of the object that it is about.
    pub fn kind(self) -> ObjectKind {
        match self {
            Wait::Lock(kind, _) => kind,
            Wait::Condition(_) => ObjectKind::Condition,
            Wait::Join(_) => ObjectKind::Thread,
            Wait::Barrier(..) => ObjectKind::Barrier,
            Wait::Semaphore(_) => ObjectKind::Semaphore,
            Wait::ReadLock(_) | Wait::WriteLock(_) => ObjectKind::RwLock,
            Wait::Once(_) | Wait::Guard(_) => ObjectKind::Once,
            Wait::Futex(..) => ObjectKind::Futex,
            _ => ObjectKind::Descriptor,
        }
    }

    /// The address that it is about, 0 if none.
    pub fn address(self) -> u64 {
        match self {
            Wait::Lock(_, a)
            | Wait::Condition(a)
            | Wait::Barrier(a, _)
            | Wait::Semaphore(a)
            | Wait::ReadLock(a)
            | Wait::WriteLock(a)
            | Wait::Once(a)
            | Wait::Guard(a)
            | Wait::Futex(a, _)
            | Wait::Spin(a, _) => a,
            _ => 0,
        }
    }
}

impl Thread {
    /// Whether the thread can run now; notes why.
    pub fn enabled(&mut self, now: u64) -> bool {
        if self.wait.holds(self) {
            self.outcome = Outcome::Ready;
        } else if self.pending & !self.mask != 0 || self.cancelled && !self.uncancellable && self.wait.cancellable() {
            self.outcome = Outcome::Interrupted;
        } else if self.deadline <= now {
            self.outcome = Outcome::TimedOut;
        } else {
            return false;
        }
        true
    }

    /// Whether the world outside the process may end its wait.
    pub fn waits_outside(&self) -> bool {
        self.wait.external() || self.shared && self.wait != Wait::None
    }

    /// Whether it waits with a deadline.
    pub fn timed(&self) -> bool {
        self.wait != Wait::None && self.deadline != NEVER
    }
}
