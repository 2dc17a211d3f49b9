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

/// The two statements: for each module, by the site's index, which sides it is a copy of. Each arrival asks, in hot
/// loops millions of times, so it is a look-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RacingPair {
    modules: Vec<Vec<u8>>,
}

const FIRST: u8 = 1;
const SECOND: u8 = 2;

impl RacingPair {
    /// All copies of the first and of the second statement, in any order. Without sites nothing ever meets.
    pub fn new(first: Vec<SiteId>, second: Vec<SiteId>) -> RacingPair {
        let mut pair = RacingPair::default();
        for (sites, side) in [(first, FIRST), (second, SECOND)] {
            for site in sites {
                *pair.entry(site) |= side;
            }
        }
        pair
    }

    fn entry(&mut self, site: SiteId) -> &mut u8 {
        let (module, index) = (usize::from(site.module), site.index as usize);
        if self.modules.len() <= module {
            self.modules.resize(module + 1, Vec::new());
        }
        let sides = &mut self.modules[module];
        if sides.len() <= index {
            sides.resize(index + 1, 0);
        }
        &mut sides[index]
    }

    #[inline]
    fn sides(&self, site: SiteId) -> u8 {
        let sides = self.modules.get(usize::from(site.module));
        sides
            .and_then(|sides| sides.get(site.index as usize))
            .copied()
            .unwrap_or(0)
    }

    /// Whether one site is the first statement and the other the second.
    #[inline]
    pub fn are_sides(&self, a: SiteId, b: SiteId) -> bool {
        let (a, b) = (self.sides(a), self.sides(b));
        a & FIRST != 0 && b & SECOND != 0 || a & SECOND != 0 && b & FIRST != 0
    }

    /// Whether the site is one of the pair's.
    #[inline]
    pub fn contains(&self, site: SiteId) -> bool {
        self.sides(site) != 0
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

/// So many meetings of a run are told of; of those after, as many between each number and its double.
const TOLD: u32 = 1 << 8;

/// Numbers the meetings of a run. In a hot loop every round is one, as somebody always stands before the statement: the
/// first are told of, then ever fewer, by their numbers alone, so that every policy tells of the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meetings {
    next: u32,
}

impl Meetings {
    /// The number that the next meeting will have.
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// Whether the next one is told of.
    pub fn tells(&self) -> bool {
        let beyond = (self.next / TOLD).checked_ilog2().map_or(0, |doublings| doublings + 1);
        self.next.trailing_zeros() >= beyond
    }

    /// One that is not told of.
    pub fn pass(&mut self) {
        self.next = self.next.saturating_add(1);
    }

    /// The next meeting.
    pub fn meet(&mut self, arriving: ThreadId, postponed: ThreadId, arriving_first: bool) -> Met {
        let number = self.next;
        self.pass();
        Met {
            arriving,
            postponed,
            arriving_first,
            number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Meetings, TOLD};

    #[test]
    fn of_many_meetings_ever_fewer_are_told() {
        let told = |from: u32, to: u32| (from..to).filter(|&next| Meetings { next }.tells()).count() as u32;
        assert_eq!(told(0, TOLD), TOLD);
        for doublings in 0..10 {
            let from = TOLD << doublings;
            assert_eq!(told(from, 2 * from), TOLD / 2);
        }
    }
}
