//! Phase 1, run 1: which granules have a suspicious pair.
//!
//! A granule's state is its cell {last write, last access} and, rarely, a set of older contexts that the
//! cell's do not stand for. The next state is a function of the present one, the running context and the
//! kind of access; the detector computes it, and what flagged nothing is remembered per context ([`memo`]).
//! Until the first thread is created nothing is checked: creation orders all of it before everything else. Nor is it
//! while every thread that was created has been joined: what they did is ordered before what comes, so it is forgotten.

use crate::check;
use crate::held::Held;
use crate::memo::{self, Step};
use crate::observe;
use crate::shadow::{self, HAS_SETS, IS_UNIFORM, cell, set, side};
use deadheat_detect::{AtomicEvent, Covered, Flags, Granules, HappensBefore};
use deadheat_model::ThreadId;
use deadheat_wire::record::{self, Record};

/// What a step came to.
#[derive(Clone, Copy)]
enum Verdict {
    Clean,
    /// Suspicious, and the granule is flagged now.
    Flagged,
    /// Suspicious, and the granule was flagged before.
    Known,
    /// Suspicious, but the signature had its share.
    Cut,
}

/// A suspicious step that was cut so often in a row that it is made without asking.
#[derive(Clone, Copy)]
struct Refused {
    /// (cell, set, context, version, whether it writes, site)
    key: (u64, u32, u32, u32, bool, u64),
    next: u64,
    next_set: u32,
    count: u32,
}

/// Cuts in a row of one step after which the detector is no longer asked.
const REFUSALS: u32 = 16;
/// A statement that was asked for so often in a row and flagged nothing new is asked for once per step: what the
/// share of a signature leaves to chance is flagged by then. A signature that has not had its first flags takes one
/// at that, and the statement is asked for as before; if the granule asked for is flagged already, run 2 sees the
/// pair there.
const EXHAUSTED: u32 = 1024;
/// Statements whose asking is counted at once.
const ASKED: usize = 4096;
/// Such steps known at once.
const REFUSED: usize = 1024;

/// Slots of the cache of contexts.
const CONTEXTS: usize = 1024;

struct Run {
    detector: Option<Granules>,
    /// Contexts by (thread, lockset, epoch).
    contexts: [((u32, u32, u32), u32); CONTEXTS],
    refused: [Refused; REFUSED],
    /// Statements by [`memo::statement`], and how often in a row they were asked for and flagged nothing.
    asked: [(u64, u32); ASKED],
    /// Suspicious steps made without asking.
    cut: u64,
    /// Version of the running thread's clock.
    version: u32,
    /// Whether all other threads that ever ran have been joined.
    alone: bool,
    outside: u64,
}

static RUN: Held<Run> = Held::new(Run {
    detector: None,
    contexts: [((u32::MAX, 0, 0), 0); CONTEXTS],
    refused: [Refused {
        key: (0, 0, 0, 0, false, 0),
        next: 0,
        next_set: 0,
        count: 0,
    }; REFUSED],
    asked: [(0, 0); ASKED],
    cut: 0,
    version: 0,
    alone: true,
    outside: 0,
});

/// Starts run 1; at most so many granules are flagged per signature (0: no limit).
pub fn start(per_signature: u32) {
    RUN.get().detector = Some(Granules::new(per_signature));
}

/// A second thread exists from now on.
pub fn not_alone() {
    RUN.get().alone = false;
}

/// Every thread that was ever created has been joined.
pub fn alone_again() {
    RUN.get().alone = true;
    check::set_context(0);
    shadow::clear_all();
}

/// So many accesses had no shadow.
#[cold]
pub fn outside(accesses: u64) {
    RUN.get().outside += accesses;
}

/// The running thread's moment changed: its context goes into the modules' words.
#[inline]
pub fn refresh(thread: ThreadId) {
    let run = RUN.get();
    if run.alone {
        return;
    }
    let Some(clocks) = observe::clocks() else { return };
    let version = clocks.version(thread);
    let key = (thread.0, clocks.lockset(thread).0, clocks.hybrid_epoch(thread));
    let slot = &mut run.contexts[(key.1.wrapping_mul(2) ^ key.0) as usize % CONTEXTS];
    if slot.0 != key {
        *slot = (key, clocks.context(thread, false));
    }
    let context = slot.1;
    let old = check::context();
    if context == old && version == run.version {
        return;
    }
    memo::enter(context, version);
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
        let had = if *side(at) & HAS_SETS != 0 { *set(at) } else { 0 };
        let covered = memo::covered();
        if let Some(step) = memo::find(found, had, write)
            && (covered == Covered::Stay || !step.stays())
        {
            put(at, step.next, had, step.next_set);
            return;
        }
        let key = (found, had, context, run.version, write, site);
        let refused = &mut run.refused[refused_slot(found, site)];
        let statement = memo::statement(site, write);
        let asked = &mut run.asked[(statement.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % ASKED];
        if asked.0 != statement {
            *asked = (statement, 0);
        }
        let late = asked.1 >= EXHAUSTED;
        if refused.key == key && refused.count >= REFUSALS && !Flags::samples(at) {
            let Refused { next, next_set, .. } = *refused;
            memo::refuse(
                site,
                write,
                &Step {
                    cell: found,
                    next,
                    set: had,
                    next_set,
                    version: 0,
                },
            );
            run.cut += 1;
            put(at, next, had, next_set);
            return;
        }
        if let (Some(detector), Some(clocks)) = (&mut run.detector, observe::clocks()) {
            let (Step { next, next_set, .. }, verdict) = step(detector, clocks, at, context, write, site, covered);
            match verdict {
                Verdict::Clean => memo::learn(
                    write,
                    Step {
                        cell: found,
                        next,
                        set: had,
                        next_set,
                        version: 0,
                    },
                ),
                Verdict::Flagged => (asked.1, refused.count) = (0, 0),
                Verdict::Known if !late => {
                    asked.1 += 1;
                    refused.count = 0;
                }
                Verdict::Known | Verdict::Cut => {
                    asked.1 = asked.1.saturating_add(1);
                    let count = if refused.key == key { refused.count + 1 } else { 1 };
                    *refused = Refused {
                        key,
                        next,
                        next_set,
                        count: if late { REFUSALS } else { count },
                    };
                }
            }
        }
    }
}

fn refused_slot(cell: u64, site: u64) -> usize {
    ((cell ^ site).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % REFUSED
}

/// Gives the granule its next state.
///
/// # Safety
/// The granule has a shadow with valid cells, and `had` is its set.
#[inline]
unsafe fn put(at: u64, next: u64, had: u32, next_set: u32) {
    // SAFETY: as our caller.
    unsafe {
        *cell(at) = next;
        if next_set != had {
            if *side(at) & HAS_SETS == 0 {
                // The line's other numbers may be left from other memory.
                set(at & !63).cast::<[u32; 8]>().write([0; 8]);
                *side(at) |= HAS_SETS;
            }
            *set(at) = next_set;
        }
    }
}

/// Makes the granule's next step.
///
/// # Safety
/// The granule has a shadow with valid cells.
#[allow(clippy::too_many_arguments)]
unsafe fn step(
    detector: &mut Granules,
    clocks: &mut HappensBefore,
    at: u64,
    context: u32,
    write: bool,
    site: u64,
    covered: Covered,
) -> (Step, Verdict) {
    // SAFETY: as our caller.
    unsafe {
        let found = *cell(at);
        let (w, r) = (found as u32, (found >> 32) as u32);
        let had = if *side(at) & HAS_SETS != 0 { *set(at) } else { 0 };
        let next = detector.transition(clocks, context, w, r, had, write, covered);
        let to = u64::from(next.r) << 32 | u64::from(next.w);
        put(at, to, had, next.set);
        let verdict = if !next.suspicious {
            Verdict::Clean
        } else if detector.flag(clocks, at, context, w, r, had, write, site) {
            Verdict::Flagged
        } else if detector.flags().contains(at) {
            Verdict::Known
        } else {
            Verdict::Cut
        };
        (
            Step {
                cell: found,
                next: to,
                set: had,
                next_set: next.set,
                version: 0,
            },
            verdict,
        )
    }
}

/// The next value of a uniform block's word, if it needs no set and flags nothing.
pub fn plain_successor(word: u64, write: bool) -> Option<u64> {
    let detector = RUN.get().detector.as_mut()?;
    let clocks = observe::clocks()?;
    let (w, r) = (word as u32, (word >> 32) as u32);
    let next = detector.transition(clocks, check::context(), w, r, 0, write, Covered::Move);
    if next.suspicious || next.set != 0 {
        return None;
    }
    let to = u64::from(next.r) << 32 | u64::from(next.w);
    memo::learn(
        write,
        Step {
            cell: word,
            next: to,
            set: 0,
            next_set: 0,
            version: 0,
        },
    );
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
                step(detector, clocks, at, context, write, site, Covered::Move);
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
        cut: flags.cut() + run.cut + *memo::CUT.get(),
        outside: run.outside,
        lock_words: observe::clocks().map(|c| c.lock_words()).unwrap_or_default(),
    }));
}
