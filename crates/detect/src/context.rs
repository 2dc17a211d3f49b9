//! Contexts: all that run 1 need know of the moment of an access, as one number for a shadow cell.
//!
//! A context is (thread, hybrid epoch, lockset, atomic or plain), interned: a thread that enters the
//! same lockset again in the same epoch has the same context again, so millions of lock operations
//! make few contexts. Numbers are at least 1; 0 means "no access yet".
//!
//! Contexts are never dropped, for cells hold their numbers. Two things bound their number: a context
//! that no transition or record has used yet is carried over into the next epoch, and beyond
//! [`Contexts::limit`] a used one is too, which orders too much from then on (counted; pairs may be
//! missed, none is made up).

use crate::lockset::Lockset;
use crate::vector_clock::Epoch;
use alloc::{vec, vec::Vec};
use deadheat_model::ThreadId;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What a context's number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Who.
    pub thread: ThreadId,
    /// The thread's hybrid epoch.
    pub epoch: Epoch,
    /// Locks held.
    pub lockset: Lockset,
    /// Whether the access is atomic.
    pub atomic: bool,
    used: bool,
}

/// Where a thread looks its contexts up: by lockset and atomicity, with the epoch they belong to.
#[derive(Default)]
pub(crate) struct ThreadContexts {
    by_set: HashMap<u32, u32, FxBuildHasher>,
    last: [(u32, Epoch, u32); 2],
}

/// All contexts of a run.
pub struct Contexts {
    table: Vec<Context>,
    /// Number of contexts beyond which epochs are no longer told apart.
    pub limit: usize,
    /// How often an epoch was not told apart.
    pub cut: u64,
}

impl Default for Contexts {
    fn default() -> Self {
        Contexts::new()
    }
}

impl Contexts {
    /// None yet.
    pub fn new() -> Contexts {
        let none = Context {
            thread: ThreadId(u32::MAX),
            epoch: 0,
            lockset: Lockset::EMPTY,
            atomic: false,
            used: true,
        };
        Contexts {
            table: vec![none],
            limit: 1 << 23,
            cut: 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.table.len() - 1
    }

    /// What a number stands for; 0 and unknown numbers stand for no thread's epoch 0, which is ordered
    /// before everything.
    #[inline]
    pub fn get(&self, context: u32) -> Context {
        self.table.get(context as usize).copied().unwrap_or(self.table[0])
    }

    pub(crate) fn mark_used(&mut self, context: u32) {
        if let Some(c) = self.table.get_mut(context as usize) {
            c.used = true;
        }
    }

    #[inline]
    pub(crate) fn enter(
        &mut self,
        cache: &mut ThreadContexts,
        thread: ThreadId,
        epoch: Epoch,
        lockset: Lockset,
        atomic: bool,
    ) -> u32 {
        let key = lockset.0 << 1 | atomic as u32;
        let (last_key, last_epoch, last) = cache.last[atomic as usize];
        if last_key == key && last_epoch == epoch && last != 0 {
            return last;
        }
        let context = self.look_up(cache, key, thread, epoch, lockset, atomic);
        cache.last[atomic as usize] = (key, epoch, context);
        context
    }

    fn look_up(
        &mut self,
        cache: &mut ThreadContexts,
        key: u32,
        thread: ThreadId,
        epoch: Epoch,
        lockset: Lockset,
        atomic: bool,
    ) -> u32 {
        let number = self.table.len();
        if let Some(old) = cache.by_set.get(&key)
            && let Some(context) = self.table.get_mut(*old as usize)
        {
            if context.epoch == epoch {
                return *old;
            }
            if !context.used {
                context.epoch = epoch;
                return *old;
            }
            if number > self.limit {
                self.cut += 1;
                return *old;
            }
        }
        self.table.push(Context {
            thread,
            epoch,
            lockset,
            atomic,
            used: false,
        });
        cache.by_set.insert(key, number as u32);
        number as u32
    }
}
