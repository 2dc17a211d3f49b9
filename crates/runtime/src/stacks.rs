//! Interned call stacks: a moment keeps a number.

use crate::held::Held;
use crate::thread::{FixedState, Frame};
use alloc::vec::Vec;
use deadheat_wire::record::Stack;
use hashbrown::HashMap;

/// Frames kept of an interned stack.
const DEPTH: usize = 24;

/// Slots of the cache of stacks that differ from the last one in their first address only.
const RECENT: usize = 64;

struct Stacks {
    list: Vec<Stack>,
    numbers: HashMap<Stack, u32, FixedState>,
    /// The last stack, and how deep it was.
    last: ([u64; DEPTH], usize),
    /// Numbers by first address, of stacks that are otherwise the last one.
    recent: [(u64, u32); RECENT],
}

static STACKS: Held<Stacks> = Held::new(Stacks {
    list: Vec::new(),
    numbers: HashMap::with_hasher(FixedState),
    last: ([0; DEPTH], 0),
    recent: [(0, 0); RECENT],
});

/// The number of the stack from a frame on; see [`crate::stack::walk`].
pub fn number(at: Frame, exact: bool, bounds: (u64, u64)) -> u32 {
    let stacks = STACKS.get();
    let (frames, last) = &mut stacks.last;
    let (mut depth, mut same, pc) = (0, true, at.pc);
    crate::stack::frames(at, exact, bounds, DEPTH, |frame| {
        same &= depth == 0 || frames[depth] == frame.pc;
        frames[depth] = frame.pc;
        depth += 1;
    });
    let slot = (pc ^ pc >> 6) as usize % RECENT;
    if !same || depth != *last {
        stacks.recent = [(0, 0); RECENT];
    } else if stacks.recent[slot].0 == pc && pc != 0 {
        return stacks.recent[slot].1;
    }
    *last = depth;
    frames[0] = pc;
    let frames = &frames[..depth];
    let number = match stacks.numbers.get(frames) {
        Some(number) => *number,
        None => {
            let number = stacks.list.len() as u32;
            stacks.list.push(frames.to_vec());
            stacks.numbers.insert(frames.to_vec(), number);
            number
        }
    };
    stacks.recent[slot] = (pc, number);
    number
}

/// The stack with this number.
pub fn get(number: u32) -> Stack {
    STACKS.get().list.get(number as usize).cloned().unwrap_or_default()
}
