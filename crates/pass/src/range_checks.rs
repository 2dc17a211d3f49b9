//! Checks before a loop that stand for those inside it; the analysis is in `cpp/loops.cc`.

use crate::covered_checks::Check;
use crate::ir::{Value, llvm};
use crate::shim::{RawAccess, RawCovered, RawHoisted, dh_hoist};
use crate::tables::GroupEntry;
use std::ffi::c_void;

/// A check that was moved out of its loop.
pub struct Hoisted {
    pub before: Value,
    /// Its first byte: a number if `length` is given, else a pointer.
    pub start: Value,
    /// Bytes; none for one access to an invariant address.
    pub length: Option<Value>,
    pub write: bool,
    pub inexact: bool,
    /// The check it is like (for size, alignment, location).
    pub like: usize,
    pub entries: Vec<GroupEntry>,
}

/// Inlined checks of at most this size take part.
const LARGEST: u32 = 64;

/// Moves checks out of loops and marks those that are thereby left out.
pub fn hoist(function: Value, checks: &mut [Check]) -> Vec<Hoisted> {
    let offered: Vec<usize> = (0..checks.len())
        .filter(|n| {
            let c = &checks[*n];
            !c.volatile && !c.inexact && c.size <= LARGEST
        })
        .collect();
    let raw: Vec<RawAccess> = offered
        .iter()
        .map(|n| {
            let c = &checks[*n];
            RawAccess {
                at: c.before,
                pointer: c.pointer,
                size: c.size,
                write: c.write.into(),
            }
        })
        .collect();
    let mut taken = Collector {
        offered: &offered,
        checks,
        hoisted: Vec::new(),
    };
    llvm!(dh_hoist(
        function,
        raw.as_ptr(),
        raw.len(),
        collect,
        (&raw mut taken).cast()
    ));
    taken.hoisted
}

struct Collector<'a> {
    offered: &'a [usize],
    checks: &'a mut [Check],
    hoisted: Vec<Hoisted>,
}

unsafe extern "C" fn collect(context: *mut c_void, found: *const RawHoisted) {
    // SAFETY: the context is `hoist`'s collector; the report and its array live until this returns.
    let (collector, found, covered) = unsafe {
        let found = &*found;
        let covered: &[RawCovered] = std::slice::from_raw_parts(found.covered, found.covered_count);
        (&mut *context.cast::<Collector<'_>>(), found, covered)
    };
    let mut entries = Vec::new();
    for part in covered {
        let check = &mut collector.checks[collector.offered[part.access as usize]];
        check.hoisted = true;
        entries.extend(
            check
                .members
                .iter()
                .map(|(desc, size)| (*desc, part.offset, *size, part.stride)),
        );
    }
    let Some(first) = covered.first() else { return };
    collector.hoisted.push(Hoisted {
        before: found.before,
        start: found.start,
        length: (!found.length.is_null()).then_some(found.length),
        write: found.write != 0,
        inexact: found.inexact != 0,
        like: collector.offered[first.access as usize],
        entries,
    });
}
