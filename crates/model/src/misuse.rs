//! Ways in which a synchronisation call breaks its contract.

use serde::{Deserialize, Serialize};

/// What is wrong with a call: what POSIX leaves undefined, or what leaves a lock taken for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MisuseKind {
    /// A lock is given back by another thread than took it.
    UnlockByAnother,
    /// A lock is given back that nobody holds.
    UnlockUnlocked,
    /// A lock is destroyed while a thread holds it.
    DestroyHeld,
    /// An object is destroyed while threads wait for it.
    DestroyAwaited,
    /// A mutex is used that was destroyed and not initialised again.
    UseDestroyed,
    /// A wait for a condition variable with a mutex that the caller does not hold.
    WaitUnheld,
    /// A wait for a condition variable on which another thread waits with another mutex.
    TwoMutexes,
    /// A thread is joined that was joined before.
    JoinJoined,
    /// A thread is joined while another joins it.
    JoinJoining,
    /// A thread is joined that is detached.
    JoinDetached,
    /// A thread is detached that is detached.
    DetachDetached,
    /// A thread is detached that was joined before.
    DetachJoined,
    /// The memory of a lock is given back while a thread holds it.
    FreeHeld,
    /// A thread ends on whose stack a lock lies that another thread holds.
    StackOfHeld,
    /// A thread ends and holds a lock that nobody can give back.
    EndHolding,
    /// A process ends and holds a lock that other processes use.
    ExitHolding,
}
