//! Interned call stacks: a moment keeps a number.

use crate::held::Held;
use crate::thread::{FixedState, Frame};
use alloc::vec::Vec;
use deadheat_wire::record::Stack;
use hashbrown::HashMap;

/// Frames kept of an interned stack.
const DEPTH: usize = 24;

/// Slots of the cache of walks.
const WALKS: usize = 256;

/// A walk: where it began, the words that it went by, and what it came to. As long as they are the same, so is the
/// stack.
struct Walk {
    at: Frame,
    exact: bool,
    bounds: (u64, u64),
    words: Vec<(u64, u64)>,
    number: u32,
}

impl Walk {
    fn holds(&self, at: Frame, exact: bool, bounds: (u64, u64)) -> bool {
        self.at == at
            && self.exact == exact
            && self.bounds == bounds
            // SAFETY: within the bounds, which are those of the calling thread's stack.
            && self.words.iter().all(|&(at, word)| unsafe { (at as *const u64).read() } == word)
    }
}

struct Stacks {
    list: Vec<Stack>,
    numbers: HashMap<Stack, u32, FixedState>,
    walks: Vec<Walk>,
}

static STACKS: Held<Stacks> = Held::new(Stacks {
    list: Vec::new(),
    numbers: HashMap::with_hasher(FixedState),
    walks: Vec::new(),
});

/// How stacks are followed changed.
pub fn rules_changed() {
    STACKS.get().walks.clear();
}

/// The number of the stack from a frame on; see [`crate::stack::walk`].
pub fn number(at: Frame, exact: bool, bounds: (u64, u64)) -> u32 {
    let stacks = STACKS.get();
    let mixed = (at.pc ^ at.frame.rotate_left(23) ^ at.stack).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let slot = (mixed >> 56) as usize % WALKS;
    if stacks.walks.get(slot).is_some_and(|walk| walk.holds(at, exact, bounds)) {
        return stacks.walks[slot].number;
    }
    if stacks.walks.is_empty() {
        stacks.walks.resize_with(WALKS, || Walk {
            at: Frame::default(),
            exact: false,
            bounds: (1, 0),
            words: Vec::with_capacity(2 * DEPTH),
            number: 0,
        });
    }
    let mut frames = ([0; DEPTH], 0);
    let mut words = core::mem::take(&mut stacks.walks[slot].words);
    words.clear();
    let visit = |frame: Frame| {
        frames.0[frames.1] = frame.pc;
        frames.1 += 1;
    };
    crate::stack::frames_by(at, exact, bounds, DEPTH, visit, |at, word| words.push((at, word)));
    let number = stacks.intern(&frames.0[..frames.1]);
    stacks.walks[slot] = Walk {
        at,
        exact,
        bounds,
        words,
        number,
    };
    number
}

impl Stacks {
    fn intern(&mut self, frames: &[u64]) -> u32 {
        if let Some(number) = self.numbers.get(frames) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.list.push(frames.to_vec());
        self.numbers.insert(frames.to_vec(), number);
        number
    }
}

/// The stack with this number.
pub fn get(number: u32) -> Stack {
    STACKS.get().list.get(number as usize).cloned().unwrap_or_default()
}
