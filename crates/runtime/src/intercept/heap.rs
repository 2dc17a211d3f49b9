//! The malloc family: passed through, with the detector told of blocks. `operator new` and `delete` of the
//! C++ library come through here. They are also called from within libc on behalf of another interposer,
//! so the place where that one left the program is kept.
//!
//! These are called by the loader before anything is set up, and by `dlsym` while it looks for the real
//! `malloc`: such early calls are served from a small static buffer, which is never freed.

use super::frame;
use crate::observe;
use crate::quarantine;
use crate::real::{find, real, resolving};
use crate::thread::Thread;
use crate::token;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use deadheat_wire::record::FreedUseKind;
use libc::c_int;

const EARLY: usize = 64 << 10;

#[repr(align(16))]
struct Early(core::cell::UnsafeCell<[u8; EARLY]>);
// SAFETY: handed out in disjoint pieces.
unsafe impl Sync for Early {}
static MEMORY: Early = Early(core::cell::UnsafeCell::new([0; EARLY]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// A piece of the static buffer, zeroed; null when it is used up.
fn early(size: usize) -> *mut c_void {
    let size = (size + 31) & !15;
    let at = USED.fetch_add(size, Relaxed);
    if at + size > EARLY {
        return core::ptr::null_mut();
    }
    // SAFETY: within the buffer and ours alone; the size is kept in front for `realloc`.
    unsafe {
        let piece = MEMORY.0.get().cast::<u8>().add(at);
        *piece.cast::<usize>() = size - 16;
        piece.add(16).cast()
    }
}

fn is_early(block: *mut c_void) -> bool {
    (block as usize).wrapping_sub(MEMORY.0.get() as usize) < EARLY
}

static KNOWN: AtomicBool = AtomicBool::new(false);

/// The program defines `malloc` itself.
static OWN: AtomicBool = AtomicBool::new(false);

/// The program defines `malloc` itself, so that its blocks do not come through here.
pub fn brings_its_own() {
    OWN.store(true, Relaxed);
}

/// Whether the program's allocations do not come through here.
pub fn is_passed_by() -> bool {
    OWN.load(Relaxed)
}

/// Whether a call must be served from the static buffer: `dlsym` is at work and `malloc` not yet found.
#[inline(always)]
fn too_early() -> bool {
    !KNOWN.load(Relaxed) && look_up()
}

#[cold]
fn look_up() -> bool {
    if resolving() {
        return true;
    }
    // The first look-up may set up the loader's own state; later ones do not allocate.
    find(c"malloc");
    KNOWN.store(true, Relaxed);
    false
}

macro_rules! told {
    ($block:expr, $size:expr) => {{
        let block = $block;
        quarantine::allocated(block as u64);
        // A fresh block is no lock's yet, so the journal may stay open.
        if let Some(t) = token::me_unsettled()
            && !block.is_null()
        {
            observe::allocated(t.id, frame!(), block as u64, $size as u64);
            token::progress();
        }
        block
    }};
}

/// Allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if too_early() {
        return early(size);
    }
    // SAFETY: the real function.
    told!(unsafe { real!(malloc: fn(usize) -> *mut c_void)(size) }, size)
}

/// Allocates zeroed memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if too_early() {
        return early(count.saturating_mul(size).min(EARLY));
    }
    told!(
        // SAFETY: the real function.
        unsafe { real!(calloc: fn(usize, usize) -> *mut c_void)(count, size) },
        count * size
    )
}

/// Gives a block back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // A look-up first frees what an earlier, failed one had to say: answering with a look-up would not end.
    if block.is_null() || is_early(block) || resolving() {
        return;
    }
    let Some(t) = token::me() else {
        // SAFETY: the caller's block.
        return unsafe { give_back(block as u64) };
    };
    let outer = core::mem::replace(&mut t.frame, frame!());
    if quarantine::is_free(block as u64) {
        quarantine::freed_again(FreedUseKind::Free, t.id, t.frame, block as u64);
    } else {
        // SAFETY: the caller's block, which is not free.
        unsafe { release(observe::before_free(t.id, t.frame, block as u64), block) };
    }
    t.frame = outer;
}

/// Hands a block to the C library.
unsafe fn give_back(block: u64) {
    // SAFETY: a block of the program's that it has freed.
    unsafe { real!(free: fn(*mut c_void) -> ())(block as *mut c_void) }
}

/// A block of so many usable bytes is the program's no more.
unsafe fn release(len: u64, block: *mut c_void) {
    // SAFETY: blocks whose time is over are handed back once; this one by us only if it is not kept.
    unsafe {
        if !quarantine::keep(block as u64, len, |old| give_back(old)) {
            give_back(block as u64);
        }
    }
}

/// Changes a block's size. In runs that confirm, a block that grows moves: where the C library would extend it in
/// place depends on what else is allocated, and pointers to the old one are as wrong there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's block; early blocks hold their size in front.
    unsafe {
        if block.is_null() {
            return malloc(size);
        }
        if is_early(block) {
            let fresh = malloc(size);
            if !fresh.is_null() {
                let old = *block.cast::<usize>().sub(2);
                core::ptr::copy_nonoverlapping(block.cast::<u8>(), fresh.cast::<u8>(), old.min(size));
            }
            return fresh;
        }
        let Some(t) = token::me() else {
            let moved = real!(realloc: fn(*mut c_void, usize) -> *mut c_void)(block, size);
            quarantine::allocated(moved as u64);
            return moved;
        };
        let outer = core::mem::replace(&mut t.frame, frame!());
        let moved = if quarantine::on() {
            resized(t, block, size)
        } else {
            resized_by_library(t, block, size)
        };
        t.frame = outer;
        moved
    }
}

/// The C library changes a block's size.
unsafe fn resized_by_library(t: &mut Thread, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's block.
    unsafe {
        observe::before_move(t.id, t.frame, block as u64);
        quarantine::gone(block as u64);
        let moved = real!(realloc: fn(*mut c_void, usize) -> *mut c_void)(block, size);
        if !moved.is_null() {
            quarantine::allocated(moved as u64);
            observe::allocated(t.id, t.frame, moved as u64, size as u64);
        } else if size != 0 {
            quarantine::allocated(block as u64);
            let kept = libc::malloc_usable_size(block) as u64;
            observe::allocated(t.id, t.frame, block as u64, kept);
        }
        moved
    }
}

/// A block's size is changed while freed blocks are kept.
unsafe fn resized(t: &mut Thread, block: *mut c_void, size: usize) -> *mut c_void {
    let free = quarantine::is_free(block as u64);
    if free {
        quarantine::freed_again(FreedUseKind::Resize, t.id, t.frame, block as u64);
    }
    let old = if free {
        0
    } else {
        crate::heap::usable(block as u64) as usize
    };
    // SAFETY: the caller's block, which holds `old` bytes if it is not free; the fresh one holds `size`.
    unsafe {
        if !free && (size as u64 > quarantine::LARGEST && old as u64 > quarantine::LARGEST || (1..=old).contains(&size))
        {
            return resized_by_library(t, block, size);
        }
        if size == 0 {
            if !free {
                release(observe::before_free(t.id, t.frame, block as u64), block);
            }
            return core::ptr::null_mut();
        }
        let fresh = real!(malloc: fn(usize) -> *mut c_void)(size);
        if fresh.is_null() {
            return fresh;
        }
        core::ptr::copy_nonoverlapping(block.cast::<u8>(), fresh.cast::<u8>(), old);
        if !free {
            release(observe::before_move(t.id, t.frame, block as u64), block);
        }
        quarantine::allocated(fresh as u64);
        observe::allocated(t.id, t.frame, fresh as u64, size as u64);
        fresh
    }
}

/// Changes an array's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's block.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => {
            crate::sys::set_errno(libc::ENOMEM);
            core::ptr::null_mut()
        }
    }
}

/// Allocates aligned memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        let status = real!(posix_memalign: fn(*mut *mut c_void, usize, usize) -> c_int)(result, alignment, size);
        if status == 0 {
            told!(*result, size);
        }
        status
    }
}

/// Allocates aligned memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    told!(
        // SAFETY: the real function.
        unsafe { real!(aligned_alloc: fn(usize, usize) -> *mut c_void)(alignment, size) },
        size
    )
}

/// Allocates aligned memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    told!(
        // SAFETY: the real function.
        unsafe { real!(memalign: fn(usize, usize) -> *mut c_void)(alignment, size) },
        size
    )
}

/// Allocates page-aligned memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: the real function.
    told!(unsafe { real!(valloc: fn(usize) -> *mut c_void)(size) }, size)
}

/// Allocates whole pages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    // SAFETY: the real function.
    told!(unsafe { real!(pvalloc: fn(usize) -> *mut c_void)(size) }, size)
}
