//! The shadow: a tag a byte ("has an expression") that instrumented code tests inline, and a number a byte.
//!
//! Both lie at a fixed distance, reserved and touched only where something is symbolic. An address beyond
//! the low 43 bits shares its shadow with the one below; since expressions know their values, that costs
//! precision and never soundness, and with addresses fixed it does not happen.

use super::nodes::{self, constant, extract, mask, node, valid};
use crate::sys::sys;
use deadheat_wire::trace::{self, op};

const SPAN: u64 = 1 << 43;
/// Start of the tags; the instrumentation knows it, too.
const TAGS: u64 = 0x1800_0000_0000;
/// Start of the numbers.
const IDS: u64 = 0x2000_0000_0000;

/// Reserves the shadow; whether that worked.
pub fn map() -> bool {
    [(TAGS, SPAN), (IDS, 4 * SPAN)].iter().all(|&(at, len)| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping that replaces nothing; the advice changes no contents.
        unsafe {
            let got = sys!(libc::SYS_mmap, at, len, prot, flags, -1i32, 0usize);
            sys!(libc::SYS_madvise, at, len, libc::MADV_DONTDUMP);
            got as u64 == at
        }
    })
}

#[inline(always)]
pub fn tag(address: u64) -> *mut u8 {
    (address & (SPAN - 1) | TAGS) as *mut u8
}

#[inline(always)]
fn id(address: u64) -> *mut u32 {
    (((address & (SPAN - 1)) << 2) + IDS) as *mut u32
}

/// Whether any of these bytes has a tag.
pub fn any(address: u64, len: u64) -> bool {
    // SAFETY: the shadow covers every address.
    unsafe { core::slice::from_raw_parts(tag(address), len as usize) }
        .iter()
        .any(|t| *t != 0)
}

/// Gives one byte an expression (0: none).
pub fn set(address: u64, number: u32) {
    // SAFETY: the shadow covers every address.
    unsafe {
        *tag(address) = u8::from(number != 0);
        if number != 0 {
            *id(address) = number;
        }
    }
}

/// One byte's expression, if it is still that of the byte's value.
///
/// # Safety
/// The byte is readable.
unsafe fn get(address: u64) -> u32 {
    // SAFETY: the shadow covers every address; the byte is readable.
    unsafe {
        if *tag(address) == 0 {
            return 0;
        }
        let number = valid(*id(address), (*(address as *const u8)).into(), 8);
        if number == 0 {
            *tag(address) = 0;
        }
        number
    }
}

/// The expressions of eight bytes with these values. What does not fit any more is left for who uses it to notice.
pub fn numbers(granule: u64, values: u64) -> [u32; 8] {
    let mut numbers = [0; 8];
    // SAFETY: the shadow covers every address, and the tags of a granule lie side by side.
    let tags = unsafe { (tag(granule) as *const u64).read() }.to_le_bytes();
    for (n, (number, value)) in numbers.iter_mut().zip(values.to_le_bytes()).enumerate() {
        if tags[n] != 0 {
            // SAFETY: the shadow covers every address.
            let known = unsafe { *id(granule + n as u64) };
            let expression = node(known);
            if expression.width == 8 && expression.value == value.into() {
                *number = known;
            }
        }
    }
    numbers
}

/// These bytes are concrete from now on.
pub fn clear(address: u64, len: u64) {
    if any(address, len) {
        // SAFETY: the shadow covers every address.
        unsafe { core::ptr::write_bytes(tag(address), 0, len as usize) };
    }
}

/// The expressions of bytes move with them; called before the bytes do.
pub fn copy(to: u64, from: u64, len: u64) {
    if !any(from, len) {
        clear(to, len);
        return;
    }
    // SAFETY: the shadow covers every address; the ranges may overlap.
    unsafe {
        core::ptr::copy(id(from), id(to), len as usize);
        core::ptr::copy(tag(from), tag(to), len as usize);
    }
}

/// The expression of a value in memory.
///
/// # Safety
/// The bytes are readable.
pub unsafe fn load(address: u64, width: u32) -> u32 {
    let size = width.div_ceil(8) as usize;
    let (mut ids, mut bytes) = ([0u32; 8], [0u8; 8]);
    // SAFETY: the caller's bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size);
        for (n, slot) in ids[..size].iter_mut().enumerate() {
            *slot = get(address + n as u64);
        }
    }
    let (ids, value) = (&ids[..size], u64::from_le_bytes(bytes));
    if ids.iter().all(|i| *i == 0) {
        return 0;
    }
    if width == 1 {
        return extract(ids[0], 0, 1, value);
    }
    if size == 1 {
        return ids[0];
    }
    if let Some(whole) = whole(ids, width, value) {
        return whole;
    }
    let byte = |n: usize| {
        if ids[n] != 0 {
            ids[n]
        } else {
            constant(bytes[n].into(), 8)
        }
    };
    let mut joined = byte(0);
    for n in 1..size {
        let so_far = 8 * (n as u32 + 1);
        joined = nodes::apply(op::CONCAT, so_far, (byte(n), joined, 0), mask(value, so_far));
    }
    joined
}

/// The expression that these bytes are the parts of, in order, if there is one.
fn whole(ids: &[u32], width: u32, value: u64) -> Option<u32> {
    let first = node(*ids.first().filter(|i| **i != 0)?);
    if first.op != op::EXTRACT || first.low != 0 {
        return None;
    }
    let parts = ids.iter().enumerate().all(|(n, i)| {
        let part = if *i == 0 { return false } else { node(*i) };
        part.op == op::EXTRACT && part.a == first.a && usize::from(part.low) == 8 * n
    });
    let from = u32::from(node(first.a).width);
    match parts {
        true if from == width => Some(first.a),
        true if from > width => Some(extract(first.a, 0, width, value)),
        _ => None,
    }
}

/// A value with this expression is about to be written.
pub fn store(address: u64, width: u32, number: u32, value: u64) {
    let size = width.div_ceil(8);
    let number = valid(number, value, width);
    if number == 0 {
        clear(address, size.into());
        return;
    }
    if !width.is_multiple_of(8) {
        // Booleans and odd widths are stored with zeros above.
        let wide = nodes::apply(op::ZERO_EXTEND, size * 8, (number, 0, 0), mask(value, width));
        return store(address, size * 8, wide, mask(value, width));
    }
    if size == 1 {
        set(address, number);
        return;
    }
    let whole = node(number);
    if whole.op == op::ZERO_EXTEND && node(whole.a).width == 8 {
        set(address, whole.a);
        clear(address + 1, u64::from(size) - 1);
        return;
    }
    for n in 0..size {
        set(address + u64::from(n), extract(number, 8 * n, 8, value >> (8 * n)));
    }
}

/// Every byte becomes `value`, which has this expression.
pub fn fill(address: u64, number: u32, value: u64, len: u64) {
    let number = valid(number, value, 8);
    if number == 0 {
        clear(address, len);
        return;
    }
    (0..len).for_each(|n| set(address + n, number));
}

/// Counts a value that became concrete.
pub fn lost() {
    nodes::count(trace::LOST_AT);
}
