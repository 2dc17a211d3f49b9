//! Range checks: loops that walk memory, and block copies, checked at once.
//!
//! Run 1 compares eight cells at a time with the running context, then with the context's memo; a 512-byte
//! block whose cells are all equal becomes uniform (one word stands for 64 cells), and a walk over
//! uniform blocks touches 16 bytes per 512. Run 2 looks for cells that are not zero.
//! The walks are written once and compiled twice, for baseline x86-64 and for AVX2: ranges come by ordinary
//! calls, where vector registers are the caller's to save.

use crate::check;
use crate::granules;
use crate::held::Held;
use crate::memo;
use crate::shadow::{self, BLOCK, UNIFORM, block, cell, side};
use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};

/// Whether AVX2 may be used.
static WIDE: Held<bool> = Held::new(false);

/// Finds out what the processor has.
pub fn start() {
    *WIDE.get() = avx2();
}

fn avx2() -> bool {
    const OSXSAVE_AVX: u32 = 1 << 27 | 1 << 28;
    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE_AVX != OSXSAVE_AVX {
        return false;
    }
    let state: u32;
    // SAFETY: the processor says that the instruction is there; it reads which state the kernel saves.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") state, out("edx") _, options(nostack, nomem, preserves_flags)) };
    state & 6 == 6 && __cpuid_count(7, 0).ebx & 1 << 5 != 0
}

/// Run 1: the running thread reads or writes a range.
#[inline]
pub fn granules<const WRITE: bool>(address: u64, len: i64, site: u64) {
    let context = check::context();
    if len <= 0 || context == 0 {
        return;
    }
    let covered = shadow::covered(address, len as u64);
    if covered.end - covered.start < len as u64 {
        granules::outside(1);
    }
    // SAFETY: the range has a shadow; AVX2 only where it is there.
    unsafe {
        if *WIDE.get() {
            walk_wide::<WRITE>(covered.start, covered.end, context, site);
        } else {
            walk::<WRITE>(covered.start, covered.end, context, site);
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn walk_wide<const WRITE: bool>(address: u64, end: u64, context: u32, site: u64) {
    // SAFETY: as our caller.
    unsafe { walk::<WRITE>(address, end, context, site) }
}

/// The half of a cell that an access of this kind compares.
const fn half<const WRITE: bool>() -> u64 {
    if WRITE { 0xffff_ffff } else { 0xffff_ffff << 32 }
}

/// # Safety
/// `address..end` has a shadow.
#[inline(always)]
unsafe fn walk<const WRITE: bool>(address: u64, end: u64, context: u32, site: u64) {
    let want = u64::from(context) << 32 | u64::from(context);
    let mask = half::<WRITE>();
    let mut at = address & !7;
    // SAFETY: all addresses lie in `address & !7..end`.
    unsafe {
        while at < end && at & 63 != 0 {
            one::<WRITE>(at, want, mask, site);
            at += 8;
        }
        while at + 64 <= end {
            if at & (BLOCK - 1) == 0 && at + BLOCK <= end && whole_block::<WRITE>(at, want, mask) {
                at += BLOCK;
                continue;
            }
            let cells = cell(at).cast::<[u64; 8]>();
            let found = *cells;
            if found.iter().fold(0, |all, c| all | (c ^ want)) & mask != 0 {
                let uniform = found.iter().fold(0, |all, c| all | (c ^ found[0])) == 0 && *side(at) == 0;
                if let Some(next) = uniform.then(|| plain_step::<WRITE>(found[0])).flatten() {
                    *cells = [next; 8];
                } else {
                    for n in 0..8 {
                        one::<WRITE>(at + 8 * n, want, mask, site);
                    }
                }
            }
            at += 64;
        }
        while at < end {
            one::<WRITE>(at, want, mask, site);
            at += 8;
        }
    }
}

/// The known step from a cell without a set to one without.
#[inline(always)]
fn plain_step<const WRITE: bool>(cell: u64) -> Option<u64> {
    memo::find(cell, 0, WRITE).filter(|s| s.next_set == 0).map(|s| s.next)
}

/// # Safety
/// The granule has a shadow.
#[inline(always)]
unsafe fn one<const WRITE: bool>(granule: u64, want: u64, mask: u64, site: u64) {
    // SAFETY: as our caller.
    unsafe {
        if (*cell(granule) ^ want) & mask != 0 {
            granules::granule(granule, WRITE, site);
        }
    }
}

/// A whole block: whether it is done with as one.
///
/// # Safety
/// The block has a shadow.
#[inline(always)]
unsafe fn whole_block<const WRITE: bool>(at: u64, want: u64, mask: u64) -> bool {
    // SAFETY: as our caller.
    unsafe {
        let sides = side(at).cast::<u64>();
        if *sides == 0 {
            let cells = &*cell(at).cast::<[u64; 64]>();
            let first = cells[0];
            if cells.iter().fold(0, |all, c| all | (c ^ first)) != 0 {
                return false;
            }
            *sides = UNIFORM;
            *block(at) = first;
        } else if *sides != UNIFORM {
            return false;
        }
        let word = *block(at);
        if (word ^ want) & mask == 0 {
            return true;
        }
        match plain_step::<WRITE>(word).or_else(|| granules::plain_successor(word, WRITE)) {
            Some(next) => {
                *block(at) = next;
                true
            }
            None => {
                shadow::expand(at);
                false
            }
        }
    }
}

/// Run 2: calls `found` for each granule of the range whose cell is not zero.
#[inline]
pub fn flagged(address: u64, len: u64, mut found: impl FnMut(u64)) {
    let covered = shadow::covered(address, len);
    let (mut at, end) = (covered.start & !7, covered.end);
    // SAFETY: the range has a shadow.
    unsafe {
        while at < end {
            if at & 511 == 0 {
                // Most memory has no flagged granule: eight side bytes at a time.
                while at + BLOCK <= end && *side(at).cast::<u64>() == 0 {
                    at += BLOCK;
                }
                if at >= end {
                    break;
                }
            }
            if *side(at) == 0 {
                at = (at & !63) + 64;
                continue;
            }
            if *cell(at) != 0 {
                found(at);
            }
            at += 8;
        }
    }
}
