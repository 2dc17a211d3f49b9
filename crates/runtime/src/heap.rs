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
use deadheat_wire::record::{Memory, Stack};
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
    /// Who gave it back, and the number of that stack.
    freed: Option<(ThreadId, u32)>,
}

/// Number of a stack that was not looked at.
pub const NO_STACK: u32 = (1 << 24) - 1;

/// Most entries of the log.
const LOG: usize = 1 << 20;
/// Entries of the log's first piece; each further one is twice as large, so none ever moves.
const PIECE: usize = 1 << 12;

/// An entry of the log: a block allocated, or given back (its size is all ones). Packed, since the program's own
/// memory has to make room for it in the cache.
#[derive(Clone, Copy)]
struct Entry {
    /// The start's lower 48 bits, then the thread.
    start: u64,
    /// The stack's number in 24 bits, then the size.
    rest: u64,
}

impl Entry {
    /// The size that stands for a free.
    const FREED: u64 = (1 << 40) - 1;

    /// `None` if the block does not fit.
    #[inline(always)]
    fn of(start: u64, block: &Block) -> Option<Entry> {
        (block.size < Entry::FREED)
            .then(|| Entry::packed(start, block.thread, block.stack, block.size))
            .flatten()
    }

    #[inline(always)]
    fn packed(start: u64, thread: ThreadId, stack: u32, size: u64) -> Option<Entry> {
        let fits = start >> 48 == 0 && thread.0 >> 16 == 0 && stack >> 24 == 0;
        fits.then_some(Entry {
            start: start | u64::from(thread.0) << 48,
            rest: u64::from(stack) | size << 24,
        })
    }

    fn thread(self) -> ThreadId {
        ThreadId((self.start >> 48) as u32)
    }

    fn stack(self) -> u32 {
        (self.rest & ((1 << 24) - 1)) as u32
    }

    fn start(self) -> u64 {
        self.start & ((1 << 48) - 1)
    }

    /// `None` for a free.
    fn block(self) -> Option<Block> {
        (self.rest >> 24 != Entry::FREED).then(|| Block {
            size: self.rest >> 24,
            thread: self.thread(),
            stack: self.stack(),
            freed: None,
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

// No block: any start is lower, any end higher.
#[expect(clippy::reversed_empty_ranges)]
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
        freed: None,
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
                None => self.free(entry.start(), (entry.thread(), entry.stack())),
            }
        }
        log.clear();
        (self.log, self.before) = (log, 0);
    }

    fn free(&mut self, start: u64, by: (ThreadId, u32)) {
        if let Some(block) = self.blocks.get_mut(&start) {
            block.freed = Some(by);
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

/// The block is given back by this thread, where the stack with this number stands ([`NO_STACK`]: unknown).
pub fn freed(thread: ThreadId, stack: u32, start: u64) {
    let heap = HEAP.get();
    if !heap.is_settled()
        && let Some(entry) = Entry::packed(start, thread, stack, Entry::FREED)
    {
        heap.note(entry);
    } else {
        heap.settle();
        heap.free(start, (thread, stack));
    }
}

/// A block that is known by its start.
pub struct Known {
    /// Length in bytes.
    pub len: u64,
    /// Who allocated it, and where.
    pub allocated: (ThreadId, Stack),
    /// Who freed it, and where.
    pub freed: Option<(ThreadId, Stack)>,
}

/// The block that starts at an address.
pub fn starting(start: u64) -> Option<Known> {
    let heap = HEAP.get();
    heap.settle();
    heap.blocks.get(&start).map(|block| Known {
        len: block.size,
        allocated: (block.thread, stacks::get(block.stack)),
        freed: block.freed.map(|(thread, stack)| (thread, stacks::get(stack))),
    })
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
        freed: block.freed.is_some(),
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

/// Usable bytes of a block of the program's allocator; 1 if it is free already, since nothing can be asked of it.
pub fn usable(start: u64) -> u64 {
    if start == 0 {
        0
    } else if crate::quarantine::is_free(start) {
        1
    } else {
        // SAFETY: the program is about to free this block, so it is one.
        unsafe { libc::malloc_usable_size(start as *mut _) as u64 }
    }
}
