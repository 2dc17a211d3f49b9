//! Phase 1, run 1: which granules have a suspicious pair.
//!
//! A granule's state is its cell {last write, last access} and, rarely, a set of older contexts that the
//! cell's do not stand for. The next state is a function of the present one, the running context and the
//! kind of access; the detector computes and caches it, and the last one that involved no set is the
//! context's memo (see `check`): kept per context, so that a thread which comes back to a lockset finds it
//! again, and good as long as the thread learns nothing of others.
//! Until the first thread is created nothing is checked: creation orders all of it before everything else.

use crate::check::{self, MEMO, NEVER};
use crate::held::Held;
use crate::observe;
use crate::shadow::{self, HAS_SETS, IS_UNIFORM, cell, set, side};
use alloc::vec::Vec;
use deadheat_detect::{AtomicEvent, Granules, HappensBefore};
use deadheat_model::ThreadId;
use deadheat_wire::record::{self, Record};

/// A memo that never hits.
const NO_MEMO: [u64; 4] = [NEVER, 0, NEVER, 0];

struct Run {
    detector: Option<Granules>,
    /// Memos by context, each with the version of the thread's clock that it is good for.
    memos: Vec<(u32, [u64; 4])>,
    /// Version that the present memo is good for.
    version: u32,
    /// Whether only the main thread has ever run.
    alone: bool,
    outside: u64,
}

static RUN: Held<Run> =
    Held::new(Run { detector: None, memos: Vec::new(), version: 0, alone: true, outside: 0 });

/// Starts run 1; at most so many granules are flagged per signature (0: no limit).
pub fn start(per_signature: u32) {
    RUN.get().detector = Some(Granules::new(per_signature));
}

/// A second thread exists from now on.
pub fn not_alone() {
    RUN.get().alone = false;
}

/// So many accesses had no shadow.
#[cold]
pub fn outside(accesses: u64) {
    RUN.get().outside += accesses;
}

/// The running thread's moment changed: its context goes into the modules' words, its memo into the thunks.
#[inline]
pub fn refresh(thread: ThreadId) {
    let run = RUN.get();
    if run.alone {
        return;
    }
    let Some(clocks) = observe::clocks() else { return };
    let (context, version) = (clocks.context(thread, false), clocks.version(thread));
    let old = check::context();
    if context == old && version == run.version {
        return;
    }
    let memo = MEMO.get();
    if run.memos.len() <= context.max(old) as usize {
        run.memos.resize(context.max(old) as usize + 64, (0, NO_MEMO));
    }
    run.memos[old as usize] = (run.version, *memo);
    let kept = &run.memos[context as usize];
    *memo = if kept.0 == version { kept.1 } else { NO_MEMO };
    run.version = version;
    if context != old {
        check::set_context(context);
    }
}

/// The running thread accesses bytes whose cell does not hold its context.
pub fn access(address: u64, len: u64, write: bool, site: u64) {
    let context = check::context();
    if context == 0 {
        return;
    }
    let mut at = address & !7;
    while at < address + len {
        granule(at, write, site);
        at += 8;
    }
}

/// The running thread accesses a granule that has a shadow.
pub fn granule(at: u64, write: bool, site: u64) {
    let (run, context) = (RUN.get(), check::context());
    // SAFETY: the granule has a shadow.
    unsafe {
        if *side(at) & IS_UNIFORM != 0 {
            shadow::expand(at);
        }
        let found = *cell(at);
        if (if write { found as u32 } else { (found >> 32) as u32 }) == context {
            return;
        }
        let memo = MEMO.get();
        let kind = if write { 2 } else { 0 };
        if found == memo[kind] && *side(at) == 0 {
            *cell(at) = memo[kind + 1];
            return;
        }
        if let (Some(detector), Some(clocks)) = (&mut run.detector, observe::clocks())
            && step(detector, clocks, at, context, write, site)
        {
            memo[kind] = found;
            memo[kind + 1] = *cell(at);
        }
    }
}

/// The granule's next state. Tells whether the step may be remembered for others.
///
/// # Safety
/// The granule has a shadow with valid cells.
unsafe fn step(
    detector: &mut Granules,
    clocks: &mut HappensBefore,
    at: u64,
    context: u32,
    write: bool,
    site: u64,
) -> bool {
    // SAFETY: as our caller.
    unsafe {
        let found = *cell(at);
        let (w, r) = (found as u32, (found >> 32) as u32);
        let had = if *side(at) & HAS_SETS != 0 { *set(at) } else { 0 };
        let next = detector.transition(clocks, context, w, r, had, write);
        *cell(at) = u64::from(next.r) << 32 | u64::from(next.w);
        if next.set != had {
            if *side(at) & HAS_SETS == 0 {
                // The line's other numbers may be left from other memory.
                set(at & !63).cast::<[u32; 8]>().write([0; 8]);
                *side(at) |= HAS_SETS;
            }
            *set(at) = next.set;
        }
        if next.suspicious {
            detector.flag(clocks, at, context, w, r, had, write, site);
        }
        next.memo
    }
}

/// The next value of a uniform block's word, if it needs no set and flags nothing; becomes the memo.
pub fn plain_successor(word: u64, write: bool) -> Option<u64> {
    let detector = RUN.get().detector.as_mut()?;
    let clocks = observe::clocks()?;
    let next = detector.transition(clocks, check::context(), word as u32, (word >> 32) as u32, 0, write);
    if !next.memo {
        return None;
    }
    let to = u64::from(next.r) << 32 | u64::from(next.w);
    let (memo, kind) = (MEMO.get(), if write { 2 } else { 0 });
    memo[kind] = word;
    memo[kind + 1] = to;
    Some(to)
}

/// The running thread's atomic operation, in its context for atomics.
pub fn atomic(context: u32, event: &AtomicEvent, site: u64) {
    let run = RUN.get();
    if run.alone {
        return;
    }
    for (at, _) in event.parts() {
        if shadow::covered(at, 8).is_empty() {
            run.outside += 1;
            continue;
        }
        // SAFETY: the granule has a shadow.
        unsafe {
            if *side(at) & IS_UNIFORM != 0 {
                shadow::expand(at);
            }
            let write = event.writes();
            let found = *cell(at);
            if (if write { found as u32 } else { (found >> 32) as u32 }) != context
                && let (Some(detector), Some(clocks)) = (&mut run.detector, observe::clocks())
            {
                step(detector, clocks, at, context, write, site);
            }
        }
    }
}

/// The run ends: records the flagged granules.
pub fn finish() {
    let run = RUN.get();
    let Some(detector) = &run.detector else { return };
    let flags = detector.flags();
    crate::report::write(&Record::Granules(record::Granules {
        addresses: flags.granules(),
        cut: flags.cut(),
        outside: run.outside,
        lock_words: observe::clocks().map(|c| c.lock_words()).unwrap_or_default(),
    }));
}
