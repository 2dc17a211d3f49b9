//! Executed target accesses that happens-before, locks included, does not order.
//!
//! The detector keeps the last access per (statement, thread, bytes, kind); here the moment of each is
//! kept beside it: stack, locks, memory before. Every pair of sites is recorded once.

use crate::held::Held;
use crate::meeting::{self, witness};
use crate::targets::Place;
use crate::thread::FixedState;
use crate::{memory, observe, shadow, stacks, statements, token};
use deadheat_detect::{AccessFlags, Exact, Lockset, TargetAccess};
use deadheat_model::{Access, SiteId, SiteKind};
use deadheat_wire::record::{Record, Unordered, Witness};
use hashbrown::HashSet;

/// What is kept of the moment of an access.
#[derive(Clone, Copy)]
struct Moment {
    access: Access,
    stack: u32,
    lockset: Lockset,
    before: [u8; 16],
    known: u8,
}

struct History {
    detector: Option<Exact<Moment>>,
    reported: HashSet<(SiteId, SiteId), FixedState>,
}

static HISTORY: Held<History> = Held::new(History {
    detector: None,
    reported: HashSet::with_hasher(FixedState),
});

/// Switches this on.
pub fn start() {
    HISTORY.get().detector = Some(Exact::new());
}

/// Switches it off: code that may synchronise unseen has come in.
pub fn stop() {
    HISTORY.get().detector = None;
}

/// A thread gives libc or libstdc++ a function that any other may be made to run, and nobody sees when: it comes after
/// what was done before, unless that is so anyway since nobody else is there yet.
pub fn publishes_handler() {
    if token::scheduler().threads.live.len() > 1 {
        stop();
    }
}

/// Accesses not kept for want of room.
pub fn dropped() -> u64 {
    HISTORY.get().detector.as_ref().map_or(0, |d| d.cut)
}

/// The bytes belong to another object from now on.
pub fn forget(start: u64, len: u64) {
    if let Some(detector) = &mut HISTORY.get().detector {
        detector.forgotten(start, len);
    }
}

/// A thread makes a target access; `kind` is what it turned out to be.
pub fn executed(place: &Place, kind: SiteKind) {
    let History { detector, reported } = HISTORY.get();
    let (Some(detector), Some(clocks)) = (detector, observe::clocks()) else {
        return;
    };
    let access = Access { kind, ..place.access };
    if crate::annotations::excuse(access.thread, kind.writes(), access.bytes) {
        return;
    }
    let number = u64::from(access.site.module) << 32 | u64::from(access.site.index);
    let flags = AccessFlags {
        write: kind.writes(),
        atomic: kind.is_atomic(),
        inexact: false,
    };
    let target = TargetAccess {
        thread: access.thread,
        site: number,
        address: access.bytes.start,
        size: access.bytes.len,
        flags,
    };
    let lockset = clocks.lockset(access.thread);
    for (_, past) in detector.access(clocks, target, || moment(place, access, lockset)) {
        if reported.insert((past.access.site, access.site)) {
            let low = past.access.bytes.start.max(access.bytes.start);
            crate::report::write(&Record::Unordered(Unordered {
                first: Witness {
                    access: past.access,
                    stack: stacks::get(past.stack),
                    held: statements::locks(past.lockset),
                    before: past.before[..past.known as usize].to_vec(),
                },
                second: Witness {
                    access,
                    ..witness(place)
                },
                memory: memory::of(low),
                step: token::step(),
            }));
            meeting::unordered();
        }
    }
}

fn moment(place: &Place, access: Access, lockset: Lockset) -> Moment {
    let bytes = access.bytes;
    let (mut before, mut known) = ([0; 16], 0);
    if !shadow::covered(bytes.start, bytes.len).is_empty() {
        known = bytes.len.min(16) as u8;
        // SAFETY: the program's own instruction accesses these bytes next.
        unsafe { core::ptr::copy_nonoverlapping(bytes.start as *const u8, before.as_mut_ptr(), known.into()) };
    }
    Moment {
        access,
        stack: stacks::number(place.frame, true, place.bounds),
        lockset,
        before,
        known,
    }
}
