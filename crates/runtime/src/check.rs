//! Checks of detecting bodies: the running context, and what a check that missed is for.
//!
//! A detecting body compares a granule's cell with its module's context word and calls a thunk
//! ([`crate::thunks`]) when they differ; ranges come here straight, by ordinary calls.

use crate::held::Held;
use crate::intercept::frame;
use crate::thread::Frame;
use crate::{granules, heap, range, statements, targets, token};
use alloc::vec::Vec;

/// What the slow path is for in this run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Nothing: detecting bodies are not entered.
    Nothing,
    /// Run 1.
    Granules,
    /// Run 2.
    Statements,
}

struct Check {
    purpose: Use,
    context: u32,
    words: Vec<*mut u32>,
}

static CHECK: Held<Check> = Held::new(Check {
    purpose: Use::Nothing,
    context: 0,
    words: Vec::new(),
});

/// Says what checks are for.
pub fn start(purpose: Use) {
    CHECK.get().purpose = purpose;
}

/// What checks are for.
#[inline(always)]
pub fn purpose() -> Use {
    CHECK.get().purpose
}

/// The context that cells are compared with.
#[inline(always)]
pub fn context() -> u32 {
    CHECK.get().context
}

/// A module's eight context words.
pub fn module_added(words: *mut u32) {
    let check = CHECK.get();
    if !words.is_null() {
        check.words.push(words);
        fill(words, check.context);
    }
}

/// A module is gone, and its context words with it.
pub fn module_gone(words: *mut u32) {
    CHECK.get().words.retain(|known| *known != words);
}

/// Makes cells be compared with this context from now on.
#[inline(always)]
pub fn set_context(context: u32) {
    let check = CHECK.get();
    check.context = context;
    // Mostly the program is one module.
    if let Some((&first, others)) = check.words.split_first() {
        fill(first, context);
        if !others.is_empty() {
            fill_all(others, context);
        }
    }
}

#[cold]
fn fill_all(words: &[*mut u32], context: u32) {
    words.iter().for_each(|&words| fill(words, context));
}

#[inline(always)]
fn fill(words: *mut u32, context: u32) {
    // SAFETY: a module's aligned block of eight words, used by the holder of the turn.
    unsafe { words.cast::<[u32; 8]>().write([context; 8]) }
}

/// A check that found another context in the cell: `kind` is twice the size plus one for writes.
pub unsafe extern "C" fn slow(address: u64, desc: u64, kind: u32, frame: u64) {
    let (len, write) = (u64::from(kind >> 1), kind & 1 != 0);
    match CHECK.get().purpose {
        Use::Granules => granules::access(address, len, write, desc),
        Use::Statements => statements::check(address, len, desc, detecting_frame(frame)),
        Use::Nothing => {}
    }
}

/// The detecting body's frame behind the thunk that called the function this is inlined into: the thunk's frame
/// holds the return address.
#[inline(always)]
fn detecting_frame(frame: u64) -> Frame {
    let thunk = crate::stack::callers_frame();
    Frame {
        // SAFETY: a thunk makes a frame of its own, and the runtime is compiled with frame pointers.
        pc: unsafe { *((thunk + 8) as *const u64) },
        frame,
        stack: thunk + 16,
    }
}

/// A loop of a detecting body went round often without a scheduling point.
pub unsafe extern "C" fn back_edge(_desc: u64, _: u64, _: u32, frame: u64) {
    if token::running() {
        targets::note_frame(detecting_frame(frame));
        targets::back_edge();
    }
}

/// A detecting body is about to read a range.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_range_r(address: u64, len: i64, desc: u64) {
    match purpose() {
        Use::Granules => range::granules::<false>(address, len, desc),
        Use::Statements => statements::check(address, len.max(0) as u64, desc, frame!()),
        Use::Nothing => {}
    }
}

/// A detecting body is about to write a range.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_range_w(address: u64, len: i64, desc: u64) {
    match purpose() {
        Use::Granules => range::granules::<true>(address, len, desc),
        Use::Statements => statements::check(address, len.max(0) as u64, desc, frame!()),
        Use::Nothing => {}
    }
}

/// A detecting body is about to read a C string, its end included.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_cstring_r(address: u64, desc: u64) {
    let len = targets::string_len(address) as i64;
    // SAFETY: as our caller.
    unsafe { dh_range_r(address, len, desc) }
}

/// A detecting body is about to free a block: a write to all of it.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_free(block: u64, desc: u64) {
    let len = heap::usable(block);
    match purpose() {
        Use::Granules => range::granules::<true>(block, len as i64, desc),
        Use::Statements => statements::check(block, len, desc, frame!()),
        Use::Nothing => {}
    }
}
