//! Interned call stacks: a moment keeps a number.

use crate::held::Held;
use crate::thread::FixedState;
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

/// The number of the stack from a code address and a frame pointer, both within the bounds.
pub fn number(pc: u64, frame: u64, (low, high): (u64, u64)) -> u32 {
    let mut frames = [0; DEPTH];
    frames[0] = pc;
    let mut depth = 1;
    crate::stack::frames(frame, low, high, |_, back| {
        if depth < DEPTH {
            frames[depth] = back;
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
