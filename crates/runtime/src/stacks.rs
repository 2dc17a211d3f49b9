//! Interned call stacks: a moment keeps a number.

use crate::held::Held;
use crate::thread::{FixedState, Frame};
use alloc::vec::Vec;
use deadheat_wire::record::Stack;
use hashbrown::HashMap;

/// Frames kept of an interned stack.
const DEPTH: usize = 24;

struct Stacks {
    list: Vec<Stack>,
    numbers: HashMap<Stack, u32, FixedState>,
}

static STACKS: Held<Stacks> = Held::new(Stacks {
    list: Vec::new(),
    numbers: HashMap::with_hasher(FixedState),
});

/// The number of the stack from a frame on; see [`crate::stack::walk`].
pub fn number(at: Frame, exact: bool, bounds: (u64, u64)) -> u32 {
    let mut frames = [0; DEPTH];
    let mut depth = 0;
    crate::stack::frames(at, exact, bounds, |frame| {
        if depth < DEPTH {
            frames[depth] = frame.pc;
            depth += 1;
        }
    });
    let stacks = STACKS.get();
    if let Some(number) = stacks.numbers.get(&frames[..depth]) {
        return *number;
    }
    let number = stacks.list.len() as u32;
    stacks.list.push(frames[..depth].to_vec());
    stacks.numbers.insert(frames[..depth].to_vec(), number);
    number
}

/// The stack with this number.
pub fn get(number: u32) -> Stack {
    STACKS.get().list.get(number as usize).cloned().unwrap_or_default()
}
