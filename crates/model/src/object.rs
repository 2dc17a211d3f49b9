//! Synchronisation objects.

use serde::{Deserialize, Serialize};

/// A synchronisation object of one run: its address, and how often something was freed or destroyed
/// at that address before, so that a reused address is another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId {
    /// Address of the object, or a small number for what has no address (a thread, a descriptor).
    pub address: u64,
    /// Generation at that address.
    pub generation: u32,
}

/// What kind of object synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// `pthread_mutex_t`.
    Mutex,
    /// `pthread_rwlock_t`.
    RwLock,
    /// `pthread_spinlock_t`.
    SpinLock,
    /// `pthread_cond_t`.
    Condition,
    /// `pthread_barrier_t`.
    Barrier,
    /// `sem_t`.
    Semaphore,
    /// `pthread_once_t` or a C++ guard.
    Once,
    /// A futex word.
    Futex,
    /// A thread (joined).
    Thread,
    /// An atomic variable.
    Atomic,
    /// A word that an atomic compare-exchange takes and a store gives back: a hand-made lock.
    LockWord,
    /// A file descriptor.
    Descriptor,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LockMode {
    /// Shared with other readers.
    Read,
    /// Alone.
    Write,
}
