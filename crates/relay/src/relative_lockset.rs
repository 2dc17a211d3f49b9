//! Relative locksets (RELAY, section 3.2): how the locks held here differ from those held on the function's entry.
//!
//! L+ holds the locks that were acquired since entry on *every* path, L- those that may have been released on *some*
//! path. What differs from the paper: beside the two sets, each lock carries its level, the least number over all
//! paths of acquisitions minus releases since entry. For a lock that is re-entrant the level decides, for others the
//! sets do; which of the two a lock is may be known to the caller only, so both are kept. And a lock that is given back
//! under a long name, which no caller holds it by, is known by its offset in its object alone: it may be any lock at that
//! offset, so that callers are told less of what they hold, never more. Recursion would multiply such names.
//!
//! Invariants: sorted by path, no lock in both sets, no entry that says nothing. Operations are linear in the number
//! of locks.

use crate::access_path::{Path, Root};
use crate::path_map::{Held, PathMap};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Levels are kept between minus this and this, so that loops end.
const LEVELS: i8 = 8;

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Together with other readers.
    Shared,
    /// Alone.
    Exclusive,
}

/// What has become of one lock since the function's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Change {
    /// It is in L+.
    pub acquired: bool,
    /// It is in L-.
    pub released: bool,
    /// Least number of acquisitions minus releases.
    pub level: i8,
    /// The weakest mode in which it was acquired.
    pub mode: Mode,
}

impl Change {
    const NONE: Change = Change {
        acquired: false,
        released: false,
        level: 0,
        mode: Mode::Exclusive,
    };

    /// An acquisition.
    pub fn acquire(mode: Mode) -> Change {
        Change {
            acquired: true,
            released: false,
            level: 1,
            mode,
        }
    }

    /// A release.
    pub const RELEASE: Change = Change {
        acquired: false,
        released: true,
        level: -1,
        mode: Mode::Exclusive,
    };

    fn says_something(&self) -> bool {
        self.acquired || self.released || self.level != 0
    }

    /// One path or the other.
    fn join(self, other: Change) -> Change {
        Change {
            acquired: self.acquired && other.acquired,
            released: self.released || other.released,
            level: self.level.min(other.level),
            mode: self.mode.min(other.mode),
        }
    }

    /// This and then the other (figure 3).
    fn then(self, other: Change) -> Change {
        let mode = if self.acquired || self.level > 0 {
            self.mode.min(other.mode)
        } else {
            other.mode
        };
        Change {
            acquired: (self.acquired || other.acquired) && !other.released,
            released: (self.released || other.released) && !other.acquired,
            level: self.level.saturating_add(other.level).clamp(-LEVELS, LEVELS),
            mode,
        }
    }
}

/// Steps of the longest name by which callers are told of a lock that is given back.
const TOLD: usize = 2;

/// Whether callers are told of a lock that is given back by its offset only: through recursion, long names multiply, and no
/// caller holds a lock by one of them.
fn is_distant(lock: &Path) -> bool {
    lock.steps.len() > TOLD
}

/// Whether the caller may have a name for the lock, too.
fn is_callers(lock: &Path) -> bool {
    matches!(lock.root, Root::Formal(_) | Root::Global(_))
}

impl Held for Change {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::empty()
    }
}

/// The locks that differ from those held on entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RelativeLockset {
    changes: PathMap<Change>,
    /// Offsets in their objects of locks that may have been given back under distant names; sorted.
    distant: SmallVec<[i64; 4]>,
}

impl RelativeLockset {
    /// Nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.distant.is_empty()
    }

    /// How many locks have changed.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// The changes, in order of their paths.
    pub fn changes(&self) -> impl Iterator<Item = (&Path, Change)> {
        self.changes.iter().map(|(path, change)| (path, *change))
    }

    /// L+.
    pub fn acquired(&self) -> impl Iterator<Item = &Path> {
        self.changes().filter(|(_, c)| c.acquired).map(|(path, _)| path)
    }

    /// L-.
    pub fn released(&self) -> impl Iterator<Item = &Path> {
        self.changes().filter(|(_, c)| c.released).map(|(path, _)| path)
    }

    /// What has become of the lock.
    pub fn get(&self, lock: &Path) -> Option<Change> {
        self.changes.get(lock).copied()
    }

    /// Whether a lock's path may mention the root; if not, surely none does.
    pub fn may_mention(&self, root: Root) -> bool {
        self.changes.may_mention(root)
    }

    /// Whether the same locks are held, or owed to the caller, as in the other: what was taken and given back tells no ways
    /// apart.
    pub fn holds_the_same(&self, other: &RelativeLockset) -> bool {
        let lasting = |(_, change): &(&Path, Change)| change.acquired || change.level != 0;
        self.changes == other.changes || self.changes().filter(lasting).eq(other.changes().filter(lasting))
    }

    /// Applies a change of one lock.
    pub fn apply(&mut self, lock: &Path, change: Change) {
        let known = self.get(lock);
        let mut new = known.unwrap_or(Change::NONE).then(change);
        if !is_callers(lock) {
            // Nobody held on entry what has got its name since.
            new.level = new.level.max(0);
        }
        if new.says_something() || known.is_none() {
            self.changes.insert(lock.clone(), new);
        } else {
            self.changes.remove(lock);
        }
    }

    /// `lockUpdate` (figure 3): the changes of a callee, in this function's terms, after these.
    pub fn update(&mut self, callee: &RelativeLockset) {
        self.release_distant(&callee.distant);
        for (lock, change) in callee.changes() {
            self.apply(lock, change);
        }
    }

    /// Shares with another set what both hold alike.
    pub(crate) fn share(&mut self, other: &RelativeLockset) {
        self.changes = self.changes.sharing(&other.changes);
    }

    /// The join of two paths: (L+ ∩ L+', L- ∪ L-').
    pub fn join(&self, other: &RelativeLockset) -> RelativeLockset {
        let changes = self.changes.merge(&other.changes, |a, b| {
            let change = |c: Option<&Change>| c.copied().unwrap_or(Change::NONE);
            Some(change(a).join(change(b))).filter(Change::says_something)
        });
        let mut joined = RelativeLockset {
            changes,
            distant: self.distant.clone(),
        };
        other.distant.iter().for_each(|offset| joined.add_distant(*offset));
        joined
    }

    fn add_distant(&mut self, offset: i64) {
        if let Err(at) = self.distant.binary_search(&offset) {
            self.distant.insert(at, offset);
        }
    }

    /// Locks at these offsets of their objects are given back, and nothing else is known of them: they may be any, but for
    /// those that are variables or parts of them.
    fn release_distant(&mut self, offsets: &[i64]) {
        offsets.iter().for_each(|offset| self.add_distant(*offset));
        let may_be = |held: &Path| offsets.binary_search(&held.last().offset).is_ok();
        let is_gone = |held: &Path| (held.loads() || !held.is_constant()) && may_be(held);
        if self.acquired().any(is_gone) || self.changes().any(|(held, c)| c.level > 0 && is_gone(held)) {
            self.forget(is_gone);
        }
    }

    /// Leaves of locks that are given back, under names by which no caller could hold them, their offset.
    pub fn summarise(&mut self) {
        let distant = |(path, change): &(&Path, Change)| !change.acquired && change.level < 0 && is_distant(path);
        if !self.changes().any(|change| distant(&change)) {
            return;
        }
        let offsets: Vec<i64> = self.changes().filter(distant).map(|(p, _)| p.last().offset).collect();
        offsets.into_iter().for_each(|offset| self.add_distant(offset));
        self.changes.retain(|path, change| !distant(&(path, *change)));
    }

    /// Takes locks out of L+ whose name leads elsewhere from now on, or that may have been released by another name.
    pub fn forget(&mut self, which: impl Fn(&Path) -> bool) {
        self.changes.replace(|path, change| {
            which(path).then_some(Change {
                acquired: false,
                level: change.level.min(0),
                ..*change
            })
        });
        self.changes.retain(|_, c| c.says_something());
    }

    /// Takes locks that were taken and given back out of L-.
    pub fn drop_given_back(&mut self, which: impl Fn(&Path) -> bool) {
        self.changes
            .retain(|path, c| c.acquired || c.level != 0 || !which(path));
    }

    /// The changes in other terms: those of locks that have no name there are dropped from L+, and counted if they are
    /// in L-.
    pub fn rebind(&self, rename: impl Fn(&Path) -> Option<Path>) -> (RelativeLockset, usize) {
        let (mut rebound, mut lost) = (RelativeLockset::default(), 0);
        rebound.distant = self.distant.clone();
        for (path, change) in self.changes() {
            match rename(path) {
                Some(path) => rebound.apply(&path, change),
                None => lost += usize::from(change.released),
            }
        }
        (rebound, lost)
    }
}

#[cfg(test)]
#[path = "relative_lockset_tests.rs"]
mod tests;
