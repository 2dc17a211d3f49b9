//! Heap blocks: who allocated the block around an address, and where.
//!
//! Kept only in the runs whose records name memory (phase 1's second run keeps only blocks with flagged
//! granules). Blocks are found by their start, which is a multiple of 16; the block around an address is
//! looked for downwards, and large blocks are kept in a list of their own. A freed block stays known
//! until its start is allocated again.

use crate::held::Held;
use crate::thread::{FixedState, Frame};
use crate::{stack, stacks, token};
use alloc::vec::Vec;
use deadheat_model::ThreadId;
use deadheat_wire::record::Memory;
use hashbrown::HashMap;

/// Blocks larger than this are found by the list.
const LARGE: u64 = 16 << 10;
/// Most blocks kept.
const MOST: usize = 1 << 22;

struct Block {
    size: u64,
    thread: ThreadId,
    /// Number of the interned stack.
    stack: u32,
    freed: bool,
}

struct Heap {
    blocks: HashMap<u64, Block, FixedState>,
    large: Vec<u64>,
    dropped: u64,
}

static HEAP: Held<Heap> = Held::new(Heap {
    blocks: HashMap::with_hasher(FixedState),
    large: Vec::new(),
    dropped: 0,
});

/// A block was allocated by the running thread.
pub fn allocated(thread: ThreadId, start: u64, size: u64) {
    let heap = HEAP.get();
    if heap.blocks.len() >= MOST && !heap.blocks.contains_key(&start) {
        heap.dropped += 1;
        return;
    }
    // Where the thread left the program's code.
    let at = token::thread(thread).map_or(Frame::default(), |t| t.frame);
    let stack = stacks::number(at.pc, at.frame, stack::bounds(at.frame));
    if size > LARGE && !heap.large.contains(&start) {
        heap.large.push(start);
    }
    heap.blocks.insert(
        start,
        Block {
            size,
            thread,
            stack,
            freed: false,
        },
    );
}

/// The block is given back.
pub fn freed(start: u64) {
    if let Some(block) = HEAP.get().blocks.get_mut(&start) {
        block.freed = true;
    }
}

/// The block around an address.
pub fn containing(address: u64) -> Option<Memory> {
    let heap = HEAP.get();
    let holds = |start: &u64| {
        heap.blocks
            .get(start)
            .is_some_and(|b| address >= *start && address - *start < b.size)
    };
    let near = (0..=LARGE / 16)
        .map(|n| (address & !15).wrapping_sub(n * 16))
        .find(holds);
    let start = near.or_else(|| heap.large.iter().copied().rev().find(holds))?;
    let block = heap.blocks.get(&start)?;
    Some(Memory::Heap {
        start,
        len: block.size,
        thread: block.thread,
        stack: stacks::get(block.stack),
        freed: block.freed,
    })
}

/// Blocks that were not kept for want of room.
pub fn dropped() -> u64 {
    HEAP.get().dropped
}

/// Usable bytes of a block of the program's allocator.
pub fn usable(start: u64) -> u64 {
    // SAFETY: the program is about to free this block, so it is one.
    if start == 0 {
        0
    } else {
        unsafe { libc::malloc_usable_size(start as *mut _) as u64 }
    }
}
