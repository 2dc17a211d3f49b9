//! Points that the running thread passed by itself ([`crate::journal`]): how many it may, and what they amount to.

use super::Scheduler;
use crate::journal::Entry;
use crate::thread::Thread;
use crate::{clock, lock_order, observe, targets};
use deadheat_model::{Access, LockMode, ObjectId, ObjectKind, Operation};
use deadheat_schedule::Policy;
use deadheat_wire::plan::Spot;

/// A lock taken or given back; the trail knows objects by address alone.
fn object(address: u64) -> ObjectId {
    ObjectId { address, generation: 0 }
}

impl Scheduler {
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
    /// past the highest.
    pub fn stood(&self, own: &Thread) -> (u64, u64) {
        let (mut low, mut high) = (u64::MAX, 0);
        if self.standing > 0 {
            for t in self.threads.iter().filter(|t| t.id != own.id) {
                if let Operation::Access(Access { bytes, .. }) = t.next {
                    low = low.min(bytes.start);
                    high = high.max(bytes.start.saturating_add(bytes.len));
                }
            }
        }
        (low, high)
    }

    /// Makes up for points passed, in their order.
    pub fn account(&mut self, t: &mut Thread, passed: &[Entry], counted: bool, ordered: bool) {
        let first = self.step;
        let mut at = 0;
        while let Some(entry) = passed.get(at) {
            at += 1;
            if !entry.site.is_null() {
                // SAFETY: the sites of stubs live as long as the process.
                self.account_target(t, entry.address, unsafe { &*entry.site });
                continue;
            }
            let address = entry.address & !1;
            if entry.address != address {
                self.passes(t, &Operation::Release(ObjectKind::Mutex, object(address)));
                self.passes(t, &Operation::Continue);
                let held = t.locks.iter().rposition(|l| (l.0, l.1) == (ObjectKind::Mutex, address));
                if let Some(at) = held {
                    t.locks.remove(at);
                }
                lock_order::gave(t.id, ObjectKind::Mutex, address);
                observe::gave(t.id, ObjectKind::Mutex, address);
                continue;
            }
            let acquires = Operation::Acquire(ObjectKind::Mutex, object(address));
            self.passes(t, &acquires);
            self.yields = 0;
            self.loops = 0;
            t.idle_calls = 0;
            if ordered {
                lock_order::passed(t.id, address, entry.place as u32);
            }
            // Mostly it is given back before anything else happens.
            let given = passed[at..].iter().position(|e| e.site.is_null());
            let given = given.filter(|n| passed[at + n].address == address + 1);
            let Some(given) = given else {
                let spot = if ordered {
                    lock_order::spot_of(entry.place as u32)
                } else {
                    let call = entry.place;
                    Spot { call, caller: 0 }
                };
                t.locks.push((ObjectKind::Mutex, address, LockMode::Write, spot));
                observe::took(t.id, ObjectKind::Mutex, address);
                continue;
            };
            for target in &passed[at..at + given] {
                // SAFETY: as above.
                self.account_target(t, target.address, unsafe { &*target.site });
            }
            at += given + 1;
            self.passes(t, &Operation::Release(ObjectKind::Mutex, object(address)));
            self.passes(t, &Operation::Continue);
            lock_order::gave(t.id, ObjectKind::Mutex, address);
            observe::passed_through(t.id, ObjectKind::Mutex, address);
        }
        if counted && let Some(policy) = &mut self.policy {
            policy.passed(passed.len() as u32);
        }
        if first >> 10 != self.step >> 10 {
            crate::report::heartbeat(self.step);
        }
    }

    /// A point without a decision.
    #[inline(always)]
    fn passes(&mut self, t: &Thread, next: &Operation) {
        self.step += 1;
        let detail = self.trail.detail(next);
        self.trail.mix(t.id, crate::trail::Event::Comes, detail);
        clock::tick();
    }

    fn account_target(&mut self, t: &mut Thread, address: u64, site: &crate::site::Site) {
        let access = site.access(t.id, address, site.size.into());
        self.passes(t, &Operation::Access(access));
        targets::passed();
    }
}
