//! The pair of statements that a run is about, and the paper's algorithm 2, `Racing`: which of the threads
//! that stand before one statement race with a thread that arrives at the other.
//!
//! The paper compares addresses; we compare bytes, ask for one access that is not atomic, and for the two
//! sides of the pair: two threads at the same side of a pair of different statements are another pair's
//! business. Both sides may name the same sites (a statement that races with itself), and each names all
//! copies that inlining made of its statement.
//!
//! Racing looks at all threads that stand before a target, not only at those in the postponed set: a thread
//! that was released but has not run yet stands there as truly. So a meeting depends on where threads stand
//! and on nothing else, and every policy, replay too, numbers the meetings of one schedule alike.

use crate::{Enabled, Met, Question};
use alloc::vec::Vec;
use deadheat_model::{Access, SiteId, ThreadId};

/// The two statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RacingPair {
    first: Vec<SiteId>,
    second: Vec<SiteId>,
}

impl RacingPair {
    /// All copies of the first and of the second statement, in any order. Without sites nothing ever meets.
    pub fn new(mut first: Vec<SiteId>, mut second: Vec<SiteId>) -> RacingPair {
        first.sort_unstable();
        second.sort_unstable();
        RacingPair { first, second }
    }

    /// Whether one site is the first statement and the other the second.
    pub fn are_sides(&self, a: SiteId, b: SiteId) -> bool {
        (self.is_first(a) && self.is_second(b)) || (self.is_second(a) && self.is_first(b))
    }

    /// Whether the site is one of the pair's.
    pub fn contains(&self, site: SiteId) -> bool {
        self.is_first(site) || self.is_second(site)
    }

    fn is_first(&self, site: SiteId) -> bool {
        self.first.binary_search(&site).is_ok()
    }

    fn is_second(&self, site: SiteId) -> bool {
        self.second.binary_search(&site).is_ok()
    }

    /// The access at which the running thread has just arrived, if its statement is one of the pair's.
    pub(crate) fn arrival(&self, q: &Question<'_>) -> Option<Access> {
        q.arrival().copied().filter(|access| self.contains(access.site))
    }

    /// The set R of the paper, ascending: the threads that stand before an access that races with this one.
    pub(crate) fn racing<'q>(&'q self, arriving: &'q Access, enabled: &'q [Enabled]) -> impl Iterator<Item = ThreadId> {
        let races = |other: &Access| self.are_sides(arriving.site, other.site) && arriving.conflicts(other);
        enabled
            .iter()
            .filter(move |e| e.access().is_some_and(races))
            .map(|e| e.thread)
    }
}

/// Numbers the meetings of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meetings {
    next: u32,
}

impl Meetings {
    /// The number that the next meeting will have.
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// The next meeting.
    pub fn meet(&mut self, arriving: ThreadId, postponed: ThreadId, arriving_first: bool) -> Met {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        Met {
            arriving,
            postponed,
            arriving_first,
            number,
        }
    }
}
