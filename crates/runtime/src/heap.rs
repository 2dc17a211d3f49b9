//! Heap blocks: who allocated the block around an address, and where.
//!
//! Kept only in the runs whose records name memory (phase 1's second run keeps only blocks with flagged
//! granules). Blocks are found by their start, which is a multiple of 16; the block around an address is
//! looked for downwards, and large blocks are kept in a set of their own. A freed block stays known
//! until its start is allocated again.
//!
//! Cost: an allocation or a free is noted in a log, in a few instructions and without a miss in the cache; the
//! table is brought up to date when it is asked, or the log is full.

use crate::held::Held;
use crate::thread::{FixedState, Frame};
use crate::{stack, stacks};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;
use deadheat_model::ThreadId;
use deadheat_wire::record::Memory;
use hashbrown::HashMap;

/// Blocks larger than this are found by the set.
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
/// Entries of the log's first piece; each further one is twice as large, so none ever moves.
const PIECE: usize = 1 << 12;

/// An entry of the log: a block allocated, or given back (all ones beside the start). Packed, since the program's own
/// memory has to make room for it in the cache.
#[derive(Clone, Copy)]
struct Entry {
    /// The start's lower 48 bits, then the thread.
    start: u64,
    /// The stack's number in 24 bits, then the size.
    rest: u64,
}

impl Entry {
    const FREED: u64 = u64::MAX;

    /// `None` if the block does not fit.
    #[inline(always)]
    fn of(start: u64, block: &Block) -> Option<Entry> {
        let fits = start >> 48 == 0 && block.thread.0 >> 16 == 0 && block.stack >> 24 == 0 && block.size >> 40 == 0;
        let entry = Entry {
            start: start | u64::from(block.thread.0) << 48,
            rest: u64::from(block.stack) | block.size << 24,
        };
        (fits && entry.rest != Entry::FREED).then_some(entry)
    }

    fn start(self) -> u64 {
        self.start & ((1 << 48) - 1)
    }

    /// `None` for a free.
    fn block(self) -> Option<Block> {
        (self.rest != Entry::FREED).then_some(Block {
            size: self.rest >> 24,
            thread: ThreadId((self.start >> 48) as u32),
            stack: (self.rest & ((1 << 24) - 1)) as u32,
            freed: false,
        })
    }
}

struct Heap {
    /// The piece of the log that is being filled, and the full ones before it.
    log: Vec<Entry>,
    full: Vec<Vec<Entry>>,
    /// Entries of the full ones.
    before: usize,
    blocks: HashMap<u64, Block, FixedState>,
    large: BTreeSet<u64>,
    /// From the lowest start of a block to the highest end.
    extent: Range<u64>,
    dropped: u64,
}

static HEAP: Held<Heap> = Held::new(Heap {
    log: Vec::new(),
    full: Vec::new(),
    before: 0,
    blocks: HashMap::with_hasher(FixedState),
    large: BTreeSet::new(),
    extent: u64::MAX..0,
    dropped: 0,
});

/// A block was allocated by the running thread, at a call from this frame.
pub fn allocated(thread: ThreadId, at: Frame, start: u64, size: u64) {
    let block = Block {
        size,
        thread,
        stack: stacks::number(at, false, stack::bounds(at.stack)),
        freed: false,
    };
    let heap = HEAP.get();
    match Entry::of(start, &block) {
        Some(entry) => heap.note(entry),
        None => {
            heap.settle();
            heap.insert(start, block);
        }
    }
}

impl Heap {
    #[inline(always)]
    fn note(&mut self, entry: Entry) {
        if self.log.len() == self.log.capacity() {
            self.next_piece();
        }
        self.log.push(entry);
    }

    #[cold]
    fn next_piece(&mut self) {
        let piece = core::mem::take(&mut self.log);
        self.before += piece.len();
        let mut next = (2 * piece.len()).max(PIECE);
        if !piece.is_empty() {
            self.full.push(piece);
        }
        if self.before >= LOG {
            self.settle();
            next = PIECE;
        }
        self.log = Vec::with_capacity(next.min(LOG - self.before));
    }

    fn is_settled(&self) -> bool {
        self.log.is_empty() && self.full.is_empty()
    }

    /// Brings the table up to date.
    fn settle(&mut self) {
        if self.is_settled() {
            return;
        }
        let (full, mut log) = (core::mem::take(&mut self.full), core::mem::take(&mut self.log));
        for &entry in full.iter().flatten().chain(&log) {
            match entry.block() {
                Some(block) => self.insert(entry.start(), block),
                None => self.free(entry.start()),
            }
        }
        log.clear();
        (self.log, self.before) = (log, 0);
    }

    fn free(&mut self, start: u64) {
        if let Some(block) = self.blocks.get_mut(&start) {
            block.freed = true;
        }
    }

    fn insert(&mut self, start: u64, block: Block) {
        if self.blocks.len() >= MOST && !self.blocks.contains_key(&start) {
            self.dropped += 1;
            return;
        }
        if block.size > LARGE {
            self.large.insert(start);
        }
        self.extent.start = self.extent.start.min(start);
        self.extent.end = self.extent.end.max(start.saturating_add(block.size));
        self.blocks.insert(start, block);
    }
}

/// The block is given back.
pub fn freed(start: u64) {
    let heap = HEAP.get();
    if heap.is_settled() {
        heap.free(start);
    } else if start >> 48 == 0 {
        let rest = Entry::FREED;
        heap.note(Entry { start, rest });
    }
}

/// The block around an address.
pub fn containing(address: u64) -> Option<Memory> {
    let heap = HEAP.get();
    heap.settle();
    if !heap.extent.contains(&address) {
        return None;
    }
    let holds = |start: &u64| {
        heap.blocks
            .get(start)
            .is_some_and(|b| address >= *start && address - *start < b.size)
    };
    let near = (0..=LARGE / 16)
        .map(|n| (address & !15).wrapping_sub(n * 16))
        .find(holds);
    let start = near.or_else(|| heap.large.range(..=address).rev().copied().find(holds))?;
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
    if heap.blocks.len() + heap.before + heap.log.len() > MOST {
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
