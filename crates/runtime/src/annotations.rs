//! What the program says of its own accesses: races that it means to have, and stretches in which it asks not to look.
//!
//! Kept apart from the detector, whose hot paths ask nothing: where an access would be noted for a report it is asked
//! whether the program excused it. So excused accesses still cost what others do, and are counted.

use crate::held::Held;
use crate::token;
use alloc::vec::Vec;
use core::ops::Range;
use deadheat_model::{ByteRange, ThreadId};
use deadheat_wire::record::{Notice, Record};

/// Most ranges of memory that are excused.
const MOST: usize = 4096;

struct Annotations {
    /// Whether anything was ever said.
    any: bool,
    benign: Vec<Range<u64>>,
    hidden: u64,
    cut: u64,
}

static ANNOTATIONS: Held<Annotations> = Held::new(Annotations {
    any: false,
    benign: Vec::new(),
    hidden: 0,
    cut: 0,
});

/// Races on these bytes are meant.
pub fn benign(start: u64, len: u64) {
    let all = ANNOTATIONS.get();
    all.any = true;
    let range = start..start.saturating_add(len.max(1));
    if all.benign.contains(&range) {
        return;
    }
    if all.benign.len() >= MOST {
        all.cut += 1;
        return;
    }
    all.benign.push(range);
}

/// The memory is another object's from now on.
#[inline(always)]
pub fn forgotten(start: u64, len: u64) {
    let all = ANNOTATIONS.get();
    if !all.benign.is_empty() {
        let end = start.saturating_add(len);
        all.benign.retain(|range| range.start < start || range.end > end);
    }
}

/// The running thread's accesses are not to be looked at, or are again.
pub fn ignore(reads: i32, writes: i32) {
    ANNOTATIONS.get().any = true;
    if let Some(t) = token::me() {
        t.ignores[0] = t.ignores[0].saturating_add_signed(reads);
        t.ignores[1] = t.ignores[1].saturating_add_signed(writes);
    }
}

/// Whether the program excused this access, which is counted.
#[inline(always)]
pub fn excuse(thread: ThreadId, writes: bool, bytes: ByteRange) -> bool {
    ANNOTATIONS.get().any && is_excused(thread, writes, bytes)
}

#[cold]
fn is_excused(thread: ThreadId, writes: bool, bytes: ByteRange) -> bool {
    let all = ANNOTATIONS.get();
    let end = bytes.start.saturating_add(bytes.len);
    let ignored = token::thread(thread).is_some_and(|t| t.ignores[usize::from(writes)] > 0);
    let excused = ignored || all.benign.iter().any(|r| bytes.start < r.end && r.start < end);
    all.hidden += u64::from(excused);
    excused
}

/// The run ends: says how much was excused.
pub fn finish() {
    let Annotations { hidden, cut, .. } = *ANNOTATIONS.get();
    if hidden > 0 {
        crate::report::write(&Record::Notice(Notice::Excused { count: hidden }));
    }
    if cut > 0 {
        let what = "ranges of benign races".into();
        crate::report::write(&Record::Notice(Notice::Cut { what, count: cut }));
    }
}
