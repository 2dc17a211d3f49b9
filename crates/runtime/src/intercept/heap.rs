//! The malloc family: passed through, with the detector told of blocks. `operator new` and `delete` of the
//! C++ library come through here. They are also called from within libc on behalf of another interposer,
//! so the place where that one left the program is kept.
//!
//! These are called by the loader before anything is set up, and by `dlsym` while it looks for the real
//! `malloc`: such early calls are served from a small static buffer, which is never freed.

use super::frame;
use crate::observe;
use crate::real::{find, real, resolving};
use crate::token;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
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
    if let Some(t) = token::me() {
        let outer = core::mem::replace(&mut t.frame, frame!());
        observe::before_free(block as u64);
        t.frame = outer;
    }
    // SAFETY: the caller's block.
    unsafe { real!(free: fn(*mut c_void) -> ())(block) }
}

/// Changes a block's size.
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
            return real!(realloc: fn(*mut c_void, usize) -> *mut c_void)(block, size);
        };
        let outer = core::mem::replace(&mut t.frame, frame!());
        observe::before_move(block as u64);
        let moved = real!(realloc: fn(*mut c_void, usize) -> *mut c_void)(block, size);
        if !moved.is_null() {
            observe::allocated(t.id, frame!(), moved as u64, size as u64);
        } else if size != 0 {
            let kept = libc::malloc_usable_size(block) as u64;
            observe::allocated(t.id, frame!(), block as u64, kept);
        }
        t.frame = outer;
        moved
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
