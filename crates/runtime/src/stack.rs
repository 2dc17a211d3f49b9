//! Call stacks by frame pointers.
//!
//! Everything that the drivers compile keeps frame pointers, so a stack is a chain of (caller's frame,
//! return address). The chain is followed upwards only, within the thread's stack, so a frame of foreign
//! code that used `rbp` for something else ends the walk and cannot make it fault.

use crate::held::Held;
use alloc::vec::Vec;
use core::arch::asm;
use deadheat_wire::record::Stack;

/// Most frames of a stack.
const DEPTH: usize = 64;
/// No thread's stack is larger than this.
const LARGEST: u64 = 1 << 36;

/// One past the highest address of the main thread's stack.
static MAIN_END: Held<u64> = Held::new(0);

/// Notes where the main thread's stack ends; called on it.
pub fn start() {
    *MAIN_END.get() = crate::memory::mapping(frame_pointer()).end;
}

/// The stack from a code address and a frame pointer: `pc` first, then the return addresses up the
/// frame chain. Never faults: `low..high` bounds what may be read (a thread's stack; 0..0: unknown).
pub fn walk(pc: u64, frame: u64, low: u64, high: u64) -> Stack {
    let mut stack = Vec::with_capacity(16);
    stack.push(pc);
    frames(frame, low, high, |_, back| stack.push(back));
    stack
}

/// Calls `visit` with (frame pointer, return address) for each frame from the innermost on.
pub fn frames(mut frame: u64, low: u64, high: u64, mut visit: impl FnMut(u64, u64)) {
    let mut low = low.max(1);
    for _ in 0..DEPTH {
        if frame & 7 != 0 || frame < low || frame.saturating_add(16) > high {
            return;
        }
        // SAFETY: both words lie within the stack.
        let (up, back) = unsafe { ((frame as *const u64).read(), (frame as *const u64).add(1).read()) };
        if back < 4096 {
            return;
        }
        visit(frame, back);
        low = frame + 16;
        frame = up;
    }
}

/// What may be read of the calling thread's stack from this frame up.
pub fn bounds(frame: u64) -> (u64, u64) {
    let pointer = thread_pointer();
    let main = *MAIN_END.get();
    // glibc puts a thread's control block at the top of its stack; the main thread's lies elsewhere.
    if frame < pointer && pointer - frame < LARGEST && !(frame < main && main < pointer) {
        (frame, pointer)
    } else if frame < main && main - frame < LARGEST {
        (frame, main)
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
#[inline(always)]
pub fn frame_pointer() -> u64 {
    let frame;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rbp", out(reg) frame, options(nostack, nomem, preserves_flags)) };
    frame
}

/// The frame pointer of the function that called the one this is inlined into.
#[inline(always)]
pub fn callers_frame() -> u64 {
    // SAFETY: the runtime is compiled with frame pointers, so the register points to the caller's.
    unsafe { (frame_pointer() as *const u64).read() }
}
