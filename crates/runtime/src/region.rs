//! The runtime's own memory: one fixed region far from everything the program maps, so that the
//! program's address layout is the same in every mode, and so that its `malloc` is never used.
//!
//! Power-of-two size classes with free lists over a bump pointer; blocks are never given back to the
//! kernel. Only the token holder allocates, but threads may crash anywhere, so a spin lock guards it;
//! a crash handler that finds the lock held by its own thread goes on with a fresh bump area.

use crate::sys::sys;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Where the region lies if the kernel grants it.
const BASE: usize = 0x1000_0000_0000;
/// Its reserved size; pages are used as touched.
const SIZE: usize = 1 << 38;
const CLASSES: usize = 40;
/// Blocks of this class and above are whole large pages.
const LARGE: usize = 21;

struct Region {
    locked: AtomicBool,
    next: AtomicUsize,
    end: AtomicUsize,
    free: UnsafeCell<[usize; CLASSES]>,
}

// SAFETY: `free` is touched only with `locked` held.
unsafe impl Sync for Region {}

#[global_allocator]
static REGION: Region = Region {
    locked: AtomicBool::new(false),
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
    free: UnsafeCell::new([0; CLASSES]),
};

/// Maps anonymous, unreserved memory; 0 if the kernel refuses.
fn map(address: usize, len: usize, flags: i32) -> usize {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping that replaces nothing.
    let at = unsafe { sys!(libc::SYS_mmap, address, len, 3i32, flags, -1i32, 0usize) };
    if at < 0 && at > -4096 { 0 } else { at as usize }
}

impl Region {
    /// Locks; gives up after very many tries, which only a crash inside the allocator can cause.
    fn lock(&self) {
        for _ in 0..1 << 20 {
            if self.locked.compare_exchange_weak(false, true, Acquire, Relaxed).is_ok() {
                return;
            }
            core::hint::spin_loop();
        }
    }

    fn open(&self) {
        let mut size = SIZE;
        while size >= 1 << 28 {
            let at = map(BASE, size, libc::MAP_FIXED_NOREPLACE);
            if at != 0 {
                // SAFETY: our own mapping; core dumps need not hold it. Failure does not matter.
                unsafe { sys!(libc::SYS_madvise, at, size, libc::MADV_DONTDUMP) };
                self.next.store(at, Relaxed);
                self.end.store(at + size, Relaxed);
                return;
            }
            size /= 4;
        }
        crate::sys::say(
            "deadheat: no memory for the runtime: lift the limits on virtual memory (ulimit -v, ulimit -d)",
        );
        crate::sys::exit_group(crate::start::REFUSED)
    }

    fn class(layout: Layout) -> usize {
        let size = layout.size().max(layout.align()).max(16);
        size.next_power_of_two().trailing_zeros() as usize
    }
}

// SAFETY: blocks are disjoint, aligned to their power-of-two size, and come from zeroed mappings.
unsafe impl GlobalAlloc for Region {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout).0 as *mut u8
    }

    /// A block that was never used has no pages yet: writing zeroes to it would give it all of them.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (block, fresh) = self.take(layout);
        let block = block as *mut u8;
        if !fresh && !block.is_null() {
            // SAFETY: a block of at least this size.
            unsafe { core::ptr::write_bytes(block, 0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = Region::class(layout);
        if class >= LARGE {
            // SAFETY: the block is ours and dead; its pages go back, its addresses stay.
            unsafe { sys!(libc::SYS_madvise, block, 1usize << class, libc::MADV_DONTNEED) };
        }
        self.lock();
        // SAFETY: the lock is held and the block is at least a word long.
        unsafe {
            let head = &mut (*self.free.get())[class];
            *(block as *mut usize) = *head;
            *head = block as usize;
        }
        self.locked.store(false, Release);
    }
}

impl Region {
    /// A block, 0 if there is none; and whether it was never used.
    fn take(&self, layout: Layout) -> (usize, bool) {
        let class = Region::class(layout);
        if class >= CLASSES {
            return (0, false);
        }
        self.lock();
        // SAFETY: the lock is held; free blocks hold the next free block's address in their first word.
        let taken = unsafe {
            let head = &mut (*self.free.get())[class];
            if *head != 0 {
                let block = *head;
                *head = *(block as *const usize);
                (block, false)
            } else {
                (self.bump(class), true)
            }
        };
        self.locked.store(false, Release);
        taken
    }

    fn bump(&self, class: usize) -> usize {
        if self.next.load(Relaxed) == 0 {
            self.open();
        }
        let size = 1usize << class;
        let at = (self.next.load(Relaxed) + size - 1) & !(size - 1);
        if at + size > self.end.load(Relaxed) {
            return 0;
        }
        self.next.store(at + size, Relaxed);
        if class >= LARGE {
            // SAFETY: our own mapping. Failure does not matter.
            unsafe { sys!(libc::SYS_madvise, at, size, libc::MADV_HUGEPAGE) };
        }
        at
    }
}
