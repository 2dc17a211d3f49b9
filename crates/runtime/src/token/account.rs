//! Points that the running thread passed by itself ([`crate::journal`]): how many it may, and what they amount to.

use super::Scheduler;
use crate::held::Held;
use crate::journal::{Passed as Point, Points};
use crate::thread::Thread;
use crate::trail::{Event, Trail};
use crate::{clock, lock_order, observe, targets};
use deadheat_detect::LockId;
use deadheat_model::{Access, LockMode, ObjectKind, Operation, ThreadId};
use deadheat_schedule::{AnyPolicy, Policy};
use deadheat_wire::plan::Spot;

/// Slots of the cache of locks passed.
const PASSED: usize = 1024;

/// A lock passed lately: what there is to know of it.
#[derive(Clone, Copy)]
struct Passed {
    address: u64,
    /// The trail's number of it.
    number: u32,
    /// The detector's.
    lock: LockId,
}

static PASSED_LATELY: Held<[Passed; PASSED]> = Held::new(
    [Passed {
        address: 0,
        number: 0,
        lock: LockId(0),
    }; PASSED],
);

#[inline(always)]
fn slot(address: u64) -> &'static mut Passed {
    &mut PASSED_LATELY.get()[(address >> 3 ^ address >> 13) as usize % PASSED]
}

/// The lock at this address is gone.
pub fn forget(address: u64) {
    let passed = slot(address);
    if passed.address == address {
        passed.address = 0;
    }
}

impl Scheduler {
    /// The first thread that the policy held back and had to let go.
    pub fn let_go(&self) -> Option<ThreadId> {
        self.policy.as_ref().and_then(AnyPolicy::let_go)
    }

    /// How many points the thread may pass without a decision: of any kind, and if the last of them is a target.
    pub fn spare(&self, t: &Thread) -> [u32; 2] {
        if t.keep > 0 || t.pending & !t.mask != 0 || self.restless {
            [0; 2]
        } else if self.threads.live.len() == 1 {
            [u32::MAX; 2]
        } else {
            self.policy.as_ref().map_or([0; 2], |policy| policy.spare())
        }
    }

    /// Addresses between which lie all bytes before whose access another thread lost the turn: the lowest, and one
    /// past the highest; `None` if nobody did.
    pub fn stood(&self, own: &Thread) -> Option<(u64, u64)> {
        if self.standing == 0 {
            return None;
        }
        let (mut low, mut high) = (u64::MAX, 0);
        for t in self.threads.iter().filter(|t| t.id != own.id) {
            if let Operation::Access(Access { bytes, .. }) = t.next {
                low = low.min(bytes.start);
                high = high.max(bytes.start.saturating_add(bytes.len));
            }
        }
        Some((low, high))
    }

    /// Makes up for points passed, in their order.
    pub fn account(&mut self, t: &mut Thread, passed: Points) {
        const MUTEX: ObjectKind = ObjectKind::Mutex;
        let first = self.step;
        let ordered = passed.ordered;
        targets::passed(passed.targets);
        // A lock given back goes on from a point of its own.
        let (mut entries, mut given_back) = (passed.targets, 0);
        let mut locks = passed.locks;
        let mut next = locks.next();
        while let Some(point) = next {
            next = locks.next();
            entries += 1;
            let (Point::Taken(address, _) | Point::Given(address)) = point;
            let lately = slot(address);
            if lately.address != address {
                *lately = Passed {
                    address,
                    number: self.trail.number(address),
                    lock: observe::mutex(address),
                };
            }
            let Passed { number, lock, .. } = *lately;
            let Point::Taken(_, place) = point else {
                given_back += 1;
                self.gives(t, number);
                let held = t.locks.iter().rposition(|l| (l.0, l.1) == (MUTEX, address));
                if let Some(at) = held {
                    t.locks.remove(at);
                }
                lock_order::gave(t.id, MUTEX, address);
                observe::gave(t.id, MUTEX, address);
                continue;
            };
            self.trail.mix(t.id, Event::Comes, Trail::takes(MUTEX, number));
            self.idled = 0;
            t.idle_calls = 0;
            // Mostly it is given back before anything else happens.
            if matches!(next, Some(Point::Given(given)) if given == address) {
                if ordered {
                    lock_order::passed_through(t.id, address, place as u32);
                }
                next = locks.next();
                entries += 1;
                given_back += 1;
                self.gives(t, number);
                observe::passed_through(t.id, lock);
                continue;
            }
            if ordered {
                lock_order::passed(t.id, address, place as u32);
            }
            let spot = if ordered {
                lock_order::spot_of(place as u32)
            } else {
                let call = place;
                Spot { call, caller: 0 }
            };
            t.locks.push((MUTEX, address, LockMode::Write, spot));
            observe::took(t.id, MUTEX, address);
        }
        self.step += entries + given_back;
        clock::ticks(entries + given_back);
        if passed.counted
            && let Some(policy) = &mut self.policy
        {
            policy.passed(entries as u32);
        }
        if first >> 10 != self.step >> 10 {
            crate::report::heartbeat(self.step);
        }
    }

    #[inline(always)]
    fn gives(&mut self, t: &Thread, number: u32) {
        let gives = Trail::gives(ObjectKind::Mutex, number);
        self.trail.mix(t.id, Event::Comes, gives);
    }
}
