//! Phase 1, run 2: which statements touch the flagged granules.
//!
//! The same execution again. The context word is 0 and so is every cell but those of flagged granules, so
//! only they reach the slow path; there the check is taken apart into its statements (a group stands for
//! several) and their exact bytes, which the detector pairs up. Only blocks of the heap that hold a flagged
//! granule are kept.

use crate::annotations;
use crate::held::Held;
use crate::shadow::{self, HAS_SETS, cell, side};
use crate::site::{self, Site};
use crate::thread::Frame;
use crate::{heap, memory, observe, range, stack, stacks, targets, token};
use alloc::vec::Vec;
use deadheat_detect::{AccessFlags, AtomicEvent, Lockset, News, Side, Statements};
use deadheat_model::{Access, ByteRange, SiteId, SiteKind, ThreadId};
use deadheat_wire::object::FLAG_INEXACT;
use deadheat_wire::record::{Held as HeldLock, Memory, Notice, Pair, Record, Witness};

/// What is kept of the moment of an access.
#[derive(Clone, Copy)]
struct Moment {
    kind: SiteKind,
    bytes: ByteRange,
    stack: u32,
    before: [u8; 16],
    /// How many of those are known.
    known: u8,
}

/// A statement as the detector numbers it.
#[derive(Clone, Copy)]
struct Statement {
    id: SiteId,
    nop: u64,
    kind: SiteKind,
    flags: AccessFlags,
}

/// Number of the running thread's moment; 0 but in run 2. Changes with each event that changes an epoch, a
/// lockset or the thread.
pub static MOMENT: Held<u32> = Held::new(0);
/// Checks made lately: (address, low half of the descriptor's address, moment).
pub static SEEN: Held<[(u64, u32, u32); SLOTS]> = Held::new([(0, 0, 0); SLOTS]);
const SLOTS: usize = 1 << 12;
/// What a slot's number is made with.
pub const SLOT_SHIFT: u32 = 32 - SLOTS.trailing_zeros();
/// Odd number that spreads addresses over the slots.
pub const MIX: u32 = 0x9e37_79b1;

/// Slots of the cache of decoded descriptors.
const CACHE: usize = 1024;

struct Run {
    detector: Option<Statements<Moment>>,
    /// Memory of each pair, as of when it was found.
    memories: Vec<Memory>,
    cache: Vec<(u64, Option<Site>)>,
}

static RUN: Held<Run> = Held::new(Run {
    detector: None,
    memories: Vec::new(),
    cache: Vec::new(),
});

/// Starts run 2 on these granules.
pub fn start(granules: &[u64]) {
    let run = RUN.get();
    run.detector = Some(Statements::new(granules));
    run.cache.resize(CACHE, (0, None));
    *MOMENT.get() = 1;
    for &granule in granules {
        if !shadow::covered(granule, 8).is_empty() {
            // SAFETY: the granule has a shadow.
            unsafe {
                *cell(granule) = 1 << 32 | 1;
                *side(granule) = HAS_SETS;
            }
        }
    }
}

/// The site of a descriptor.
fn decode(run: &mut Run, desc: u64) -> Option<Site> {
    let slot = &mut run.cache[(desc / 8) as usize % CACHE];
    if slot.0 != desc {
        let site = site::of_desc(desc);
        *slot = (
            desc,
            site.map(|s| Site {
                nop: site::nop_of(s.id),
                ..s
            }),
        );
    }
    slot.1
}

/// A detecting body's check of bytes some of which lie in a flagged granule.
pub fn check(address: u64, len: u64, desc: u64, frame: Frame) {
    if !token::running() || shadow::covered(address, len).is_empty() {
        return;
    }
    let run = RUN.get();
    let Some(whole) = decode(run, desc) else { return };
    if address & 7 <= 8u64.wrapping_sub(len) && len <= 8 && whole.kind != SiteKind::Group {
        let granule = address & !7;
        // SAFETY: the access lies within a granule that has a shadow.
        if unsafe { *cell(granule) } != 0 {
            let bytes = ByteRange { start: address, len };
            record(run, &whole, 0, granule, mask(bytes, granule), bytes, frame);
        }
        return;
    }
    range::flagged(address, len, |granule| {
        if whole.kind != SiteKind::Group {
            let bytes = ByteRange { start: address, len };
            record(run, &whole, 0, granule, mask(bytes, granule), bytes, frame);
            return;
        }
        for part in site::group(desc) {
            let Some(site) = decode(run, part.desc) else { continue };
            let (mask, bytes) = part.touches(address, len, granule);
            if mask != 0 {
                record(run, &site, whole.flags, granule, mask, bytes, frame);
            }
        }
    });
}

/// Whether this check has not been made in this moment of the running thread; it has then.
#[inline(always)]
pub fn first_check(address: u64, desc: u64) -> bool {
    let moment = *MOMENT.get();
    let slot = (address as u32 ^ desc as u32).wrapping_mul(MIX) >> SLOT_SHIFT;
    let seen = &mut SEEN.get()[slot as usize];
    let new = *seen != (address, desc as u32, moment);
    *seen = (address, desc as u32, moment);
    new
}

/// The bytes of a granule that lie in a range.
#[inline]
pub fn mask(bytes: ByteRange, granule: u64) -> u8 {
    let low = bytes.start.max(granule) - granule;
    let high = (bytes.start + bytes.len).min(granule + 8).saturating_sub(granule);
    if low >= high {
        0
    } else {
        ((0xff_u64 << low) & (0xff_u64 >> (8 - high))) as u8
    }
}

fn record(run: &mut Run, site: &Site, extra: u8, granule: u64, mask: u8, bytes: ByteRange, frame: Frame) {
    let Some(clocks) = observe::clocks() else { return };
    let thread = token::current();
    let context = clocks.context(thread, false);
    let flags = AccessFlags {
        write: site.kind.writes(),
        atomic: false,
        inexact: (site.flags | extra) & FLAG_INEXACT != 0,
    };
    let statement = Statement {
        id: site.id,
        nop: site.nop,
        kind: site.kind,
        flags,
    };
    note(run, statement, thread, context, granule, mask, bytes, frame);
}

/// The running thread's atomic operation.
pub fn atomic(thread: ThreadId, context: u32, site: &Site, event: &AtomicEvent) {
    let run = RUN.get();
    let flags = AccessFlags {
        write: event.writes(),
        atomic: true,
        inexact: site.flags & FLAG_INEXACT != 0,
    };
    let kind = match site.kind {
        SiteKind::AtomicCompareExchange if !event.writes() => SiteKind::AtomicLoad,
        kind => kind,
    };
    let statement = Statement {
        id: site.id,
        nop: site.nop,
        kind,
        flags,
    };
    let bytes = ByteRange {
        start: event.address,
        len: event.size.into(),
    };
    let frame = token::thread(thread).map_or(Frame::default(), |t| t.frame);
    for (granule, mask) in event.parts() {
        // SAFETY: read only where there is a shadow.
        if !shadow::covered(granule, 8).is_empty() && unsafe { *cell(granule) } != 0 {
            note(run, statement, thread, context, granule, mask, bytes, frame);
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn note(
    run: &mut Run,
    statement: Statement,
    thread: ThreadId,
    context: u32,
    granule: u64,
    mask: u8,
    bytes: ByteRange,
    frame: Frame,
) {
    if annotations::excuse(thread, statement.flags.write, bytes) {
        return;
    }
    let (Some(detector), Some(clocks)) = (&mut run.detector, observe::clocks()) else {
        return;
    };
    let number = u64::from(statement.id.module) << 32 | u64::from(statement.id.index);
    let moment = || {
        let known = bytes.len.min(16) as u8;
        let pc = match statement.nop {
            0 => site::nop_of(statement.id),
            nop => nop,
        };
        let at = Frame { pc, ..frame };
        // SAFETY: the bytes have a shadow and the program's own instruction accesses them next.
        let before = unsafe { first_bytes(bytes.start, known) };
        Moment {
            kind: statement.kind,
            bytes,
            stack: stacks::number(at, true, stack::bounds(frame.frame)),
            before,
            known,
        }
    };
    let news = detector.record(clocks, thread, number, granule, mask, statement.flags, context, moment);
    if !news.is_empty() {
        targets::note_frame(frame);
    }
    for &News { pair, .. } in news {
        let low = granule + u64::from(mask.trailing_zeros());
        if run.memories.len() <= pair {
            run.memories.resize(pair + 1, Memory::Static);
        }
        run.memories[pair] = memory::of(low);
    }
}

/// So many bytes, at most 16, and zeros.
///
/// # Safety
/// They can be read.
#[inline]
unsafe fn first_bytes(start: u64, len: u8) -> [u8; 16] {
    // SAFETY: as our caller; no call to copy the sizes that come often.
    unsafe {
        let one = match len {
            1 => u64::from((start as *const u8).read()),
            2 => u64::from((start as *const u16).read_unaligned()),
            4 => u64::from((start as *const u32).read_unaligned()),
            8 => (start as *const u64).read_unaligned(),
            _ => {
                let mut bytes = [0; 16];
                core::ptr::copy_nonoverlapping(start as *const u8, bytes.as_mut_ptr(), len.into());
                return bytes;
            }
        };
        u128::from(one).to_le_bytes()
    }
}

/// The running thread's moment changed.
#[inline]
pub fn refresh() {
    let moment = MOMENT.get();
    *moment = moment.wrapping_add(1).max(1);
    if *moment == 1 {
        // Numbers come again.
        *SEEN.get() = [(0, 0, 0); SLOTS];
    }
}

/// The running thread's moment changed; false: its number must come from [`refresh`].
#[inline(always)]
pub fn try_refresh() -> bool {
    let moment = MOMENT.get();
    if *moment == u32::MAX {
        return false;
    }
    *moment += 1;
    true
}

/// The program got a block of `size` bytes, `whole` with rounding: what its granules held before is another
/// object's.
pub fn allocated(t: ThreadId, at: Frame, start: u64, size: u64, whole: u64) {
    let mut any = false;
    range::flagged(start, whole, |_| any = true);
    if any {
        heap::allocated(t, at, start, size);
        forget(start, whole);
    }
}

/// The bytes are another object's from now on.
pub fn forget(start: u64, len: u64) {
    if let Some(detector) = &mut RUN.get().detector {
        detector.forgotten(start, len);
        refresh();
    }
}

/// The run ends: records the pairs.
pub fn finish() {
    let run = RUN.get();
    let Some(detector) = &run.detector else { return };
    for (n, pair) in detector.pairs().iter().enumerate() {
        crate::report::write(&Record::Pair(Pair {
            first: witness(&pair.first),
            second: witness(&pair.second),
            precise: pair.precise,
            memory: run.memories.get(n).cloned().unwrap_or(Memory::Static),
            count: pair.count,
        }));
    }
    for (what, count) in [
        ("accesses not kept", detector.cut),
        ("pairs not told apart", detector.pairs_cut),
    ] {
        if count > 0 {
            crate::report::write(&Record::Notice(Notice::Cut {
                what: what.into(),
                count,
            }));
        }
    }
}

fn witness(side: &Side<Moment>) -> Witness {
    let Moment {
        kind,
        bytes,
        stack,
        before,
        known,
    } = side.witness;
    let site = SiteId {
        module: (side.site >> 32) as u16,
        index: side.site as u32,
    };
    Witness {
        access: Access {
            thread: side.thread,
            site,
            kind,
            bytes,
        },
        stack: stacks::get(stack),
        held: locks(side.lockset),
        before: before[..known as usize].to_vec(),
    }
}

/// The locks of a lockset.
pub fn locks(lockset: Lockset) -> Vec<HeldLock> {
    let Some(clocks) = observe::clocks() else {
        return Vec::new();
    };
    clocks
        .locksets()
        .locks(lockset)
        .filter_map(|(lock, mode)| {
            let (kind, object) = clocks.lock_object(lock)?;
            Some(HeldLock { kind, object, mode })
        })
        .collect()
}
