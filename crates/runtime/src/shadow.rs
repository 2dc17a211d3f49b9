//! Shadow memory of phase 1.
//!
//! Each 8-byte granule has a cell {W, R}: the contexts of its last write and last read. Cells lie one to
//! one beside the program's memory at a constant distance, so that a check needs only the access's own
//! address and the GS base. Per 64 bytes there is a side byte (bit 0: some granule has a history set;
//! bit 1: the cells of the 512-byte block are not valid, the block's one word stands for all). Per granule
//! a set number, per block a word; both are touched only where a side byte says so.
//! The distance is not a multiple of 4 KiB: cells would compete with their data for cache sets.
//! The GS base needs FSGSBASE. Only two ranges of addresses have a shadow: position-independent executables with their heap, and
//! mappings with stacks; accesses elsewhere are let through ([`crate::outside`]). Everything is reserved without commitment and stays out of core dumps.

use crate::sys::sys;
use alloc::format;
use alloc::string::String;
use core::arch::asm;
use core::ops::Range;

/// Bytes of a granule.
pub const GRANULE: u64 = 8;
/// Bytes of a block.
pub const BLOCK: u64 = 512;
/// Side bytes of a whole block that is uniform.
pub const UNIFORM: u64 = 0x0202_0202_0202_0202;
/// Side bit: a granule of the 64 bytes has a history set.
pub const HAS_SETS: u8 = 1;
/// Side bit: the block's word stands for the cells.
pub const IS_UNIFORM: u8 = 2;

/// Distance from the program's memory to its cells, to be added with wrap-around.
pub const CELLS: u64 = 0x1540u64.wrapping_sub(0x1000_0000_0000);
/// Start of the side bytes.
pub const SIDE: u64 = 0x0100_0000_0000;
/// Start of the set numbers.
pub const SETS: u64 = 0x1000_0000_0000;
const BLOCKS: u64 = 0x0e00_0000_0000;

/// Addresses that have a shadow.
pub const RANGES: [Range<u64>; 2] = [0x5500_0000_0000..0x5700_0000_0000, 0x7d00_0000_0000..0x8000_0000_0000];

/// Beyond this many bytes pages of the shadow are given back rather than zeroed.
const GIVE_BACK: u64 = 256 << 10;
const PAGE: u64 = 4096;

/// A cell: the contexts of the last write (low half) and the last read.
#[inline(always)]
pub fn cell(address: u64) -> *mut u64 {
    (address & !7).wrapping_add(CELLS) as *mut u64
}

/// The side byte of the 64 bytes around an address.
#[inline(always)]
pub fn side(address: u64) -> *mut u8 {
    ((address >> 6) + SIDE) as *mut u8
}

/// The set number of a granule.
#[inline(always)]
pub fn set(address: u64) -> *mut u32 {
    ((address >> 3) * 4 + SETS) as *mut u32
}

/// The word of a block.
#[inline(always)]
pub fn block(address: u64) -> *mut u64 {
    ((address >> 9 << 3) + BLOCKS) as *mut u64
}

/// The part of `address..address + len` that has a shadow (accesses do not straddle ranges).
pub fn covered(address: u64, len: u64) -> Range<u64> {
    let end = address.saturating_add(len);
    for range in RANGES {
        if address < range.end && end > range.start {
            return address.max(range.start)..end.min(range.end);
        }
    }
    0..0
}

/// Reserves the shadow. Says why not if it is refused.
pub fn start() -> Result<(), String> {
    const FSGSBASE: u64 = 2;
    // SAFETY: reads what the kernel told the process at its start.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE == 0 {
        return Err(
            "this processor or kernel has no FSGSBASE (Linux 5.9 and later on processors since 2012 have)".into(),
        );
    }
    for (at, bytes) in RANGES.into_iter().flat_map(parts) {
        if !reserve(at, bytes) {
            return Err(format!(
                "no room for shadow memory: {} GiB of address space at {at:#x} were refused; lift the limit on \
                 virtual memory (ulimit -v) or strict overcommit (sysctl vm.overcommit_memory=2), whichever is set",
                bytes >> 30
            ));
        }
    }
    Ok(())
}

/// Where the shadow of a range lies, and its bytes.
fn parts(range: Range<u64>) -> [(u64, u64); 4] {
    let len = range.end - range.start;
    [
        // Pages more for the distance that is not a multiple of one.
        (cell(range.start) as u64 & !(PAGE - 1), len + 2 * PAGE),
        (side(range.start) as u64, len >> 6),
        (set(range.start) as u64, len >> 1),
        (block(range.start) as u64, len >> 6),
    ]
}

/// Forgets all accesses. Costs time for the pages that were touched, not for the range.
pub fn clear_all() {
    for (at, bytes) in RANGES.into_iter().flat_map(parts) {
        // SAFETY: shadow.
        unsafe { give_back(at, bytes) };
    }
}

fn reserve(at: u64, bytes: u64) -> bool {
    // SAFETY: a new mapping that replaces nothing; the advice changes no contents.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let got = sys!(
            libc::SYS_mmap,
            at,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1i32,
            0usize
        );
        if got as u64 != at {
            return false;
        }
        sys!(libc::SYS_madvise, at, bytes, libc::MADV_DONTDUMP);
    }
    true
}

/// Sets this thread's GS base; every controlled thread needs it before it runs a detecting body.
/// The distance is negative, which the system call for it refuses, so the instruction must be there.
pub fn enter_thread() {
    // SAFETY: the instruction is there (see `start`); the program does not use GS, and the base matters
    // to our own checks only.
    unsafe { asm!("wrgsbase {}", in(reg) CELLS, options(nostack, nomem, preserves_flags)) };
}

/// Makes the cells of a uniform block valid.
#[cold]
pub fn expand(address: u64) {
    let start = address & !(BLOCK - 1);
    // SAFETY: shadow of an address within the ranges.
    unsafe {
        let word = block(start).read();
        let cells = cell(start);
        for n in 0..(BLOCK / GRANULE) as usize {
            cells.add(n).write(word);
        }
        side(start).cast::<u64>().write(0);
    }
}

/// Forgets all accesses to these bytes: the memory is new.
pub fn clear(address: u64, len: u64) {
    let Range { start, end } = covered(address, len);
    if start >= end {
        return;
    }
    let (start, end) = (start & !7, end.next_multiple_of(8));
    // SAFETY: shadow of addresses within the ranges.
    unsafe {
        for edge in [start, end - 1] {
            if *side(edge) & IS_UNIFORM != 0 {
                expand(edge);
            }
        }
        if end - start < 4 * BLOCK {
            let mut line = start & !63;
            while line < end {
                if *side(line) & HAS_SETS != 0 {
                    clear_sets(line.max(start), (line + 64).min(end));
                }
                if *side(line) & IS_UNIFORM != 0 {
                    *side(line) = 0;
                }
                line += 64;
            }
            core::ptr::write_bytes(cell(start), 0, ((end - start) / 8) as usize);
            return;
        }
        let (first, last) = (start.next_multiple_of(BLOCK), end & !(BLOCK - 1));
        for (low, high) in [(start, first), (last, end)] {
            clear_sets(low, high);
        }
        give_back_or_zero(cell(start) as u64, end - start);
        // Sets are read only where the side byte says so.
        give_back_or_zero(side(first) as u64, (last - first) >> 6);
        if end - start >= GIVE_BACK {
            give_back(set(first) as u64, (last - first) >> 1);
        }
    }
}

/// # Safety
/// `low..high` lies within the ranges.
unsafe fn clear_sets(low: u64, high: u64) {
    let mut granule = low;
    while granule < high {
        // SAFETY: shadow of an address within the ranges.
        unsafe {
            if *side(granule) & HAS_SETS != 0 {
                *set(granule) = 0;
            }
        }
        granule += GRANULE;
    }
}

/// # Safety
/// The bytes are shadow.
unsafe fn give_back_or_zero(at: u64, len: u64) {
    // SAFETY: as the caller promises.
    unsafe {
        if len < GIVE_BACK {
            core::ptr::write_bytes(at as *mut u8, 0, len as usize);
            return;
        }
        let (low, high) = (at.next_multiple_of(PAGE), (at + len) & !(PAGE - 1));
        core::ptr::write_bytes(at as *mut u8, 0, (low - at) as usize);
        core::ptr::write_bytes(high as *mut u8, 0, (at + len - high) as usize);
        give_back(low, high - low);
    }
}

/// # Safety
/// The bytes are shadow; parts of pages at the ends stay.
unsafe fn give_back(at: u64, len: u64) {
    let (low, high) = (at.next_multiple_of(PAGE), (at + len) & !(PAGE - 1));
    if low < high {
        // SAFETY: private anonymous memory of ours: reads as zero afterwards.
        unsafe { sys!(libc::SYS_madvise, low, high - low, libc::MADV_DONTNEED) };
    }
}
