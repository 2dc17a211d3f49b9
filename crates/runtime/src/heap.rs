//! Heap blocks: who allocated the block around an address, and where.
//!
//! Kept only in the runs whose records name memory (phase 1's second run keeps only blocks with flagged
//! granules). Blocks are found by their start, which is a multiple of 16; the block around an address is
//! looked for downwards, and large blocks are kept in a list of their own. A freed block stays known
//! until its start is allocated again.
//!
//! Cost: an allocation or a free is noted in a log, in a few instructions and without a miss in the cache; the
//! table is brought up to date when it is asked, or the log is full.

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

/// Most entries of the log.
const LOG: usize = 1 << 20;
/// Size of a log entry that is a free.
const FREED: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    size: u64,
    thread: ThreadId,
    stack: u32,
}

struct Heap {
    log: Vec<Entry>,
    blocks: HashMap<u64, Block, FixedState>,
    large: Vec<u64>,
    dropped: u64,
}

static HEAP: Held<Heap> = Held::new(Heap {
    log: Vec::new(),
    blocks: HashMap::with_hasher(FixedState),
    large: Vec::new(),
    dropped: 0,
});

/// A block was allocated by the running thread.
pub fn allocated(thread: ThreadId, start: u64, size: u64) {
    // Where the thread left the program's code.
    let at = token::thread(thread).map_or(Frame::default(), |t| t.frame);
    let stack = stacks::number(at, false, stack::bounds(at.stack));
    HEAP.get().note(Entry {
        start,
        size,
        thread,
        stack,
    });
}

impl Heap {
    fn note(&mut self, entry: Entry) {
        if self.log.len() >= LOG {
            self.settle();
        }
        self.log.push(entry);
    }

    /// Brings the table up to date.
    fn settle(&mut self) {
        let mut log = core::mem::take(&mut self.log);
        for entry in log.drain(..) {
            if entry.size == FREED {
                if let Some(block) = self.blocks.get_mut(&entry.start) {
                    block.freed = true;
                }
                continue;
            }
            if self.blocks.len() >= MOST && !self.blocks.contains_key(&entry.start) {
                self.dropped += 1;
                continue;
            }
            if entry.size > LARGE && !self.large.contains(&entry.start) {
                self.large.push(entry.start);
            }
            let block = Block {
                size: entry.size,
                thread: entry.thread,
                stack: entry.stack,
                freed: false,
            };
            self.blocks.insert(entry.start, block);
        }
        self.log = log;
    }
}

/// The block is given back.
pub fn freed(start: u64) {
    let heap = HEAP.get();
    if !heap.log.is_empty() {
        heap.note(Entry {
            start,
            size: FREED,
            thread: ThreadId::MAIN,
            stack: 0,
        });
    } else if let Some(block) = heap.blocks.get_mut(&start) {
        block.freed = true;
    }
}

/// The block around an address.
pub fn containing(address: u64) -> Option<Memory> {
    let heap = HEAP.get();
    heap.settle();
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
    let heap = HEAP.get();
    if heap.blocks.len() + heap.log.len() > MOST {
        heap.settle();
    }
    heap.dropped
}

/// Usable bytes of a block of the program's allocator.
pub fn usable(start: u64) -> u64 {
    if start == 0 {
        0
    } else {
        // SAFETY: the program is about to free this block, so it is one.
        unsafe { libc::malloc_usable_size(start as *mut _) as u64 }
    }
}
