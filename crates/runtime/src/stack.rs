//! Call stacks, by unwind tables and frame pointers ([`unwind`]).
//!
//! A stack is followed upwards only, within the thread's stack, so that no wrong table and no frame of code that
//! uses the frame pointer for something else can make the walk fault or go round.
//!
//! [`unwind`]: crate::unwind

use crate::held::Held;
use crate::thread::Frame;
use crate::unwind;
use alloc::vec::Vec;
use core::arch::asm;
use core::mem::MaybeUninit;
use deadheat_wire::record::Stack;

/// Most frames of a stack.
pub const DEPTH: usize = 64;
/// No thread's stack is larger than this.
const LARGEST: u64 = 1 << 36;

/// One past the highest address of the main thread's stack.
static MAIN_END: Held<u64> = Held::new(0);

/// Notes where the main thread's stack ends; called on it.
pub fn start() {
    *MAIN_END.get() = crate::memory::mapping(frame_pointer()).end;
}

/// The code addresses of a stack: `at` first, whose code address is exact if it is no return address. Never
/// faults: `bounds` is what may be read (a thread's stack; 0..0: unknown).
pub fn walk(at: Frame, exact: bool, bounds: (u64, u64)) -> Stack {
    let mut stack = Vec::with_capacity(16);
    frames(at, exact, bounds, DEPTH, |frame| stack.push(frame.pc));
    stack
}

/// Calls `visit` with each frame from `at` on, `most` of them at most.
pub fn frames(at: Frame, exact: bool, bounds: (u64, u64), most: usize, visit: impl FnMut(Frame)) {
    frames_by(at, exact, bounds, most, visit, |_, _| {});
}

/// The same; `read` is told of each word that the walk went by, and what was there.
#[inline]
pub fn frames_by(
    mut at: Frame,
    mut exact: bool,
    bounds: (u64, u64),
    most: usize,
    mut visit: impl FnMut(Frame),
    mut read: impl FnMut(u64, u64),
) {
    visit(at);
    for _ in 1..most {
        let Some(up) = unwind::up_by(at, exact, bounds, &mut read) else {
            return;
        };
        visit(up);
        (at, exact) = (up, false);
    }
}

/// What may be read of the calling thread's stack from this address up.
pub fn bounds(from: u64) -> (u64, u64) {
    let pointer = thread_pointer();
    let main = *MAIN_END.get();
    // glibc puts a thread's control block at the top of its stack; the main thread's lies elsewhere.
    if from < pointer && pointer - from < LARGEST && !(from < main && main < pointer) {
        (from, pointer)
    } else if from < main && main - from < LARGEST {
        (from, main)
    } else {
        (0, 0)
    }
}

/// The thread pointer.
pub fn thread_pointer() -> u64 {
    let pointer;
    // SAFETY: the control block's first word is its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// The frame pointer.
///
/// The prologue that sets it up may be put off until the frame is needed, behind a first test of the arguments,
/// say; a slot of the frame in use makes it needed here.
#[inline(always)]
pub fn frame_pointer() -> u64 {
    let slot = MaybeUninit::<u64>::uninit();
    let frame;
    // SAFETY: reads a register.
    unsafe {
        asm!("/* {} */", "mov {}, rbp", in(reg) slot.as_ptr(), lateout(reg) frame,
             options(nostack, readonly, preserves_flags));
    }
    frame
}

/// The frame pointer of the function that called the one this is inlined into.
#[inline(always)]
pub fn callers_frame() -> u64 {
    // SAFETY: the runtime is compiled with frame pointers, so the register points to the caller's.
    unsafe { (frame_pointer() as *const u64).read() }
}
