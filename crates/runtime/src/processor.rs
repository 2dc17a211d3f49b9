//! One processor for a controlled process. Its threads run one at a time, and handing the turn to a thread on another
//! processor takes an interrupt there: on the same one it takes half the time and less.
//!
//! The program does not see it: who asks for the processors of a thread is told what the process was started with, and
//! programs that it starts get that. What a program sets for its own threads holds.

use crate::held::Held;
use crate::sys::sys;

/// Processors that fit into a mask: 1,024, as in the C library's.
const WORDS: usize = 16;
type Mask = [u64; WORDS];

struct Pinned {
    /// What the process was started with.
    all: Mask,
    /// The one that it runs on.
    one: Mask,
    /// The program itself gave a thread just that one.
    asked: bool,
}

static PINNED: Held<Option<Pinned>> = Held::new(None);

/// The processors of the calling thread.
fn own() -> Option<Mask> {
    let mut mask = [0; WORDS];
    // SAFETY: a buffer of ours.
    let got = unsafe { sys!(libc::SYS_sched_getaffinity, 0i32, size_of::<Mask>(), mask.as_mut_ptr()) };
    (got > 0).then_some(mask)
}

fn set(mask: &Mask) -> bool {
    // SAFETY: a buffer of ours.
    unsafe { sys!(libc::SYS_sched_setaffinity, 0i32, size_of::<Mask>(), mask.as_ptr()) == 0 }
}

/// Keeps the process, which has one thread yet, on the processor that the kernel chose for it.
pub fn start() {
    let Some(all) = own() else { return };
    let mut at = 0u32;
    // SAFETY: a buffer of ours.
    let got = unsafe { sys!(libc::SYS_getcpu, &raw mut at, 0usize, 0usize) };
    let mut one = [0; WORDS];
    if got < 0 || at as usize >= WORDS * 64 {
        return;
    }
    one[at as usize / 64] = 1 << (at % 64);
    if all != one && set(&one) {
        *PINNED.get() = Some(Pinned { all, one, asked: false });
    }
}

/// A process that was forked runs beside its parent.
pub fn forked() {
    if let Some(pinned) = PINNED.get().take() {
        set(&pinned.all);
    }
}

/// Makes a call that starts another program, which gets the processors that this one was started with.
pub fn lent<T>(call: impl FnOnce() -> T) -> T {
    let before = PINNED
        .get()
        .as_ref()
        .filter(|pinned| !pinned.asked && own() == Some(pinned.one));
    let Some(pinned) = before else { return call() };
    set(&pinned.all);
    let result = call();
    set(&pinned.one);
    result
}

/// Puts what the process was started with in the place of the one processor, in a mask of so many bytes that the kernel
/// wrote.
///
/// # Safety
/// The mask has this size.
pub unsafe fn show(mask: *mut u8, size: usize) {
    let Some(pinned) = PINNED.get().as_ref().filter(|pinned| !pinned.asked) else {
        return;
    };
    let size = size.min(size_of::<Mask>());
    // SAFETY: as demanded.
    let told = unsafe { core::slice::from_raw_parts_mut(mask, size) };
    let bytes = |mask: &Mask| mask.map(u64::to_le_bytes);
    if *told == bytes(&pinned.one).as_flattened()[..size] {
        told.copy_from_slice(&bytes(&pinned.all).as_flattened()[..size]);
    }
}

/// The program gave a thread these processors.
///
/// # Safety
/// The mask has this size.
pub unsafe fn given(mask: *const u8, size: usize) {
    let Some(pinned) = PINNED.get().as_mut() else { return };
    let size = size.min(size_of::<Mask>());
    // SAFETY: as demanded.
    let mask = unsafe { core::slice::from_raw_parts(mask, size) };
    pinned.asked |= *mask == pinned.one.map(u64::to_le_bytes).as_flattened()[..size];
}
