//! Locks: who holds what and how often, and the edges that they give to the full clock.
//!
//! A lock for writing learns from all that held it before; a lock for reading only from those that held
//! it for writing. Only the outermost of recursive holds counts. Locks are numbered by
//! (kind, address, generation), so a new lock at an old address is another lock.

use crate::happens_before::HappensBefore;
use crate::lockset::{LockId, Lockset};
use crate::vector_clock::{Epoch, VectorClock};
use alloc::vec::Vec;
use deadheat_model::{LockMode, ObjectId, ObjectKind, ThreadId};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub lock: LockId,
    /// How.
    pub mode: LockMode,
    /// How often (recursive locks).
    pub count: u32,
    /// Which taking of a lock it was, of the thread's, from 1.
    pub taken: u64,
    /// The thread's lockset before, as long as no lock below was given back.
    before: Option<Lockset>,
}

struct Lock {
    kind: ObjectKind,
    object: ObjectId,
    /// What those that held it for writing gave.
    written: VectorClock,
    /// What those that held it for reading since then gave.
    read: VectorClock,
    /// The last to give it back.
    last: Option<ThreadId>,
}

/// A thread that passed through a lock: while it learns nothing of others, to pass again changes `written` in its
/// own component alone, which is kept here until someone looks.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// Number of the thread, plus one; 0: nothing is kept.
    thread: u32,
    /// What the thread had learned of others, by [`Thread::learned`].
    ///
    /// [`Thread::learned`]: crate::happens_before::Thread::learned
    learned: u32,
    /// Its own epoch then.
    epoch: Epoch,
}

#[derive(Default)]
pub(crate) struct LockTable {
    locks: Vec<Lock>,
    /// One each.
    passed: Vec<Passed>,
    index: HashMap<(ObjectKind, ObjectId), LockId, FxBuildHasher>,
}

impl LockTable {
    pub fn make(&mut self, kind: ObjectKind, object: ObjectId) -> LockId {
        let id = LockId(self.locks.len() as u32);
        self.locks.push(Lock {
            kind,
            object,
            written: VectorClock::new(),
            read: VectorClock::new(),
            last: None,
        });
        self.passed.push(Passed::default());
        id
    }

    /// The lock, with nothing kept aside.
    fn settled(&mut self, lock: LockId) -> Option<&mut Lock> {
        let l = self.locks.get_mut(lock.0 as usize)?;
        let passed = core::mem::take(&mut self.passed[lock.0 as usize]);
        if passed.thread > 0 {
            l.written.set(ThreadId(passed.thread - 1), passed.epoch);
        }
        Some(l)
    }
}

impl HappensBefore {
    /// The number of a lock.
    pub fn lock(&mut self, kind: ObjectKind, object: ObjectId) -> LockId {
        if let Some(id) = self.locks.index.get(&(kind, object)) {
            return *id;
        }
        let id = self.locks.make(kind, object);
        self.locks.index.insert((kind, object), id);
        id
    }

    /// What a lock's number stands for.
    pub fn lock_object(&self, lock: LockId) -> Option<(ObjectKind, ObjectId)> {
        self.locks.locks.get(lock.0 as usize).map(|l| (l.kind, l.object))
    }

    /// The lock was destroyed: its number is not used again.
    pub fn lock_destroyed(&mut self, kind: ObjectKind, object: ObjectId) {
        if let Some(id) = self.locks.index.remove(&(kind, object))
            && let Some(lock) = self.locks.settled(id)
        {
            lock.written = VectorClock::new();
            lock.read = VectorClock::new();
        }
    }

    /// The locks that a thread holds, in order of acquisition.
    pub fn held(&self, thread: ThreadId) -> &[Held] {
        self.threads.get(thread.index()).map_or(&[], |t| &t.held)
    }

    /// The thread has taken the lock.
    pub fn acquired(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        if !self.hold(thread, lock, mode) || !self.keeps_full() {
            return;
        }
        let Some(l) = self.locks.settled(lock) else {
            return;
        };
        let t = &mut self.threads[thread.index()];
        if l.last != Some(thread) && t.clocks.full.join(&l.written) {
            t.learned += 1;
        }
        if mode == LockMode::Write && t.clocks.full.join(&l.read) {
            t.learned += 1;
        }
    }

    /// The thread is about to give the lock back.
    pub fn released(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        self.ensure(thread);
        let Some(mode) = self.drop_hold(thread, lock, mode) else {
            return;
        };
        if !self.keeps_full() {
            return;
        }
        if let Some(l) = self.locks.settled(lock) {
            let full = &self.threads[thread.index()].clocks.full;
            match mode {
                LockMode::Write => {
                    // Joined, not copied: a lock given back by a thread that did not take it has taught
                    // that thread nothing.
                    l.written.join(full);
                    l.read.clear();
                    l.last = Some(thread);
                }
                LockMode::Read => {
                    l.read.join(full);
                }
            }
        }
        self.advance(thread, false);
    }

    /// The thread, which does not hold the lock, takes it for writing and gives it back, with nothing in between
    /// that depends on locks: what [`acquired`](Self::acquired) and [`released`](Self::released) do together.
    #[inline]
    pub fn passed_through(&mut self, thread: ThreadId, lock: LockId) {
        self.ensure(thread);
        if !self.keeps_full() {
            return;
        }
        let t = &mut self.threads[thread.index()];
        let own = t.clocks.full.get(thread);
        match self.locks.passed.get_mut(lock.0 as usize) {
            Some(passed) if passed.thread == thread.0 + 1 && passed.learned == t.learned => passed.epoch = own,
            _ => self.passed_first(thread, lock),
        }
        self.threads[thread.index()]
            .clocks
            .full
            .set(thread, own.saturating_add(1));
    }

    fn passed_first(&mut self, thread: ThreadId, lock: LockId) {
        let t = &mut self.threads[thread.index()];
        let Some(l) = self.locks.settled(lock) else { return };
        if t.clocks.full.join(&l.read) {
            t.learned += 1;
        }
        l.read.clear();
        if t.clocks.full.join(&l.written) {
            t.learned += 1;
        }
        l.written.join(&t.clocks.full);
        l.last = Some(thread);
        self.locks.passed[lock.0 as usize] = Passed {
            thread: thread.0 + 1,
            learned: t.learned,
            epoch: t.clocks.full.get(thread),
        };
    }

    /// Enters a lock into the thread's holds; tells whether it was not held before.
    pub(crate) fn hold(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) -> bool {
        self.ensure(thread);
        let t = &mut self.threads[thread.index()];
        if let Some(held) = t.held.iter_mut().rev().find(|h| h.lock == lock && h.mode == mode) {
            held.count += 1;
            return false;
        }
        t.takings += 1;
        t.held.push(Held {
            lock,
            mode,
            count: 1,
            taken: t.takings,
            before: Some(t.lockset),
        });
        t.lockset = self.locksets.with(t.lockset, lock, mode);
        true
    }

    /// Takes a lock out of the thread's holds; the mode if that was the outermost hold, or if the thread
    /// did not hold it at all. Where the caller is wrong about the mode, the hold decides.
    pub(crate) fn drop_hold(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) -> Option<LockMode> {
        let t = &mut self.threads[thread.index()];
        let exact = t.held.iter().rposition(|h| h.lock == lock && h.mode == mode);
        let Some(at) = exact.or_else(|| t.held.iter().rposition(|h| h.lock == lock)) else {
            return Some(mode);
        };
        let held = &mut t.held[at];
        held.count -= 1;
        if held.count > 0 {
            return None;
        }
        let Held { mode, before, .. } = *held;
        // Mostly the lock taken last is given back first.
        if at + 1 == t.held.len() {
            t.held.pop();
        } else {
            t.held.remove(at);
            t.held[at..].iter_mut().for_each(|above| above.before = None);
        }
        t.lockset = match before {
            Some(before) if at == t.held.len() => before,
            _ => self.locksets.without(t.lockset, lock, mode),
        };
        Some(mode)
    }
}
