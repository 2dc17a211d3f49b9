//! Freed blocks, kept from reuse for a while: the quarantine of AddressSanitizer (Serebryany et al., USENIX ATC 2012),
//! and what is done with blocks that are free.
//!
//! On in the runs that confirm. A freed block goes to the C library only once [`BLOCKS`] others or [`BYTES`] bytes were
//! freed after it; until then its bytes are no other object's, so an access to them is a use after free by
//! construction. What the program allocates itself from (a pool's chunk) is no freed block, whatever the pool does in it.
//! Larger blocks than [`LARGEST`] are given back at once.
//!
//! The bytes of a kept block are overwritten with addresses that are mapped nowhere and name the block: a pointer that
//! is read from it faults, and the fault tells which block it was. A right program never looks.
//!
//! That a block is free is also known by one bit for its start, from its free until the address is allocated again:
//! a second free is seen however late it comes, and never reaches the C library.
//!
//! Cost: a free is a bit, an entry of a ring and of a tree, and the overwriting; the bytes of kept blocks are counted by
//! small lines, so an access asks one or two counters, and the tree only near a kept block.

use crate::held::Held;
use crate::sys::sys;
use crate::thread::{FixedState, Frame, Thread};
use crate::{heap, memory, stack, stacks, token};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering::*};
use deadheat_model::{Access, ObjectKind, SiteId, ThreadId};
use deadheat_wire::record::{FreedUse, FreedUseKind, Record};
use hashbrown::HashSet;

/// Most blocks that are kept.
const BLOCKS: usize = 1024;
/// Most bytes that are kept.
const BYTES: u64 = 4 << 20;
/// Usable bytes of the largest block that is kept.
pub const LARGEST: u64 = 64 << 10;
/// So many bytes of a kept block are overwritten.
const POISONED: u64 = 1024;
/// Addresses with which kept blocks are overwritten: nothing is ever mapped there. Each block has [`SPAN`] of them.
const POISON: u64 = 0x3000_0000_0000;
/// Where in its span a block's address lies, so that a member at an offset of either sign still tells the block.
const MIDDLE: u64 = SPAN / 2;
const SPAN: u64 = 1 << 24;
/// Spans.
const NUMBERS: u64 = 1 << 16;
/// Bytes of the lines by which kept blocks are found, and the number of their counters.
const LINE: u64 = 128;
const COUNTERS: usize = 8192;
/// Records of one run.
const RECORDS: usize = 32;

/// A block that is kept.
#[derive(Clone, Copy)]
struct Kept {
    start: u64,
    end: u64,
}

struct Quarantine {
    poison: bool,
    /// The kept blocks; the one with number `n` is at `n % BLOCKS`.
    ring: Vec<Kept>,
    /// The same by their starts, with their ends; no two overlap.
    by_start: BTreeMap<u64, u64>,
    /// Numbers of the oldest kept block, and of the next one.
    first: u64,
    next: u64,
    bytes: u64,
    /// Kept blocks that touch a line, by a hash of it.
    lines: Vec<u16>,
    /// What was recorded: kind, site of the use, code address, start of the block.
    told: HashSet<(FreedUseKind, Option<SiteId>, u64, u64), FixedState>,
    /// Uses and frees that were not recorded for want of room.
    cut: u64,
}

static QUARANTINE: Held<Quarantine> = Held::new(Quarantine {
    poison: false,
    ring: Vec::new(),
    by_start: BTreeMap::new(),
    first: 0,
    next: 0,
    bytes: 0,
    lines: Vec::new(),
    told: HashSet::with_hasher(FixedState),
    cut: 0,
});

static ON: AtomicBool = AtomicBool::new(false);

/// Whether freed blocks are kept.
#[inline(always)]
pub fn on() -> bool {
    ON.load(Relaxed)
}

/// Whether a kept block may be at this address or near it.
#[inline(always)]
pub fn is_near(address: u64) -> bool {
    on() && QUARANTINE.get().lines[Quarantine::counter(address / LINE)] != 0
}

/// Whether no block is kept.
pub fn is_empty() -> bool {
    let quarantine = QUARANTINE.get();
    quarantine.first == quarantine.next
}

/// Switches it on. Called once, single-threaded.
pub fn start(poison: bool) {
    let quarantine = QUARANTINE.get();
    quarantine.poison = poison;
    quarantine.ring = alloc::vec![Kept { start: 0, end: 0 }; BLOCKS];
    quarantine.lines = alloc::vec![0; COUNTERS];
    ON.store(true, Relaxed);
}

/// Uses of freed blocks that were not recorded.
pub fn cut() -> u64 {
    QUARANTINE.get().cut
}

/// The starts of free blocks: a bit for each 16 bytes, in leaves of 64 MiB of addresses.
mod starts {
    use super::*;
    use crate::shadow::RANGES;

    const LEAF: u64 = 64 << 20;
    const LEAVES: usize = ((RANGES[0].end - RANGES[0].start + RANGES[1].end - RANGES[1].start) / LEAF) as usize;
    const LEAF_BYTES: usize = (LEAF / 16 / 8) as usize;

    /// The leaves' table, mapped with the first free.
    static TABLE: AtomicPtr<AtomicPtr<AtomicU8>> = AtomicPtr::new(core::ptr::null_mut());

    fn map(bytes: usize) -> *mut u8 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // Near the runtime's other memory, far from the program's.
        let hint = 0x1280_0000_0000usize;
        // SAFETY: a new mapping that replaces nothing.
        let at = unsafe { sys!(libc::SYS_mmap, hint, bytes, 3i32, flags, -1i32, 0usize) };
        if at < 0 && at > -4096 {
            core::ptr::null_mut()
        } else {
            at as *mut u8
        }
    }

    fn place(start: u64) -> Option<(usize, usize, u8)> {
        let [low, high] = &RANGES;
        let at = if high.contains(&start) {
            start - high.start + (low.end - low.start)
        } else if low.contains(&start) {
            start - low.start
        } else {
            return None;
        };
        let (leaf, within) = ((at / LEAF) as usize, at % LEAF / 16);
        Some((leaf, (within / 8) as usize, 1 << (within % 8)))
    }

    /// The byte with a start's bit, if there ever was a free block near it.
    fn byte(start: u64) -> Option<(&'static AtomicU8, u8)> {
        let table = TABLE.load(Acquire);
        if table.is_null() {
            return None;
        }
        let (leaf, byte, bit) = place(start)?;
        // SAFETY: the table has `LEAVES` entries, a leaf `LEAF_BYTES`; neither is ever unmapped.
        unsafe {
            let leaf = (*table.add(leaf)).load(Acquire);
            (!leaf.is_null()).then(|| (&*leaf.add(byte), bit))
        }
    }

    pub fn is_free(start: u64) -> bool {
        byte(start).is_some_and(|(byte, bit)| byte.load(Relaxed) & bit != 0)
    }

    /// The address is another block's.
    pub fn clear(start: u64) {
        if let Some((byte, bit)) = byte(start)
            && byte.load(Relaxed) & bit != 0
        {
            byte.fetch_and(!bit, Relaxed);
        }
    }

    /// Only the holder of the turn frees here.
    pub fn set(start: u64) {
        let Some((leaf, at, bit)) = place(start) else { return };
        if TABLE.load(Relaxed).is_null() {
            TABLE.store(map(LEAVES * size_of::<AtomicPtr<AtomicU8>>()).cast(), Release);
        }
        let table = TABLE.load(Relaxed);
        if table.is_null() {
            return;
        }
        // SAFETY: as in `byte`; fresh mappings are zero, which is null or clear.
        unsafe {
            let slot = &*table.add(leaf);
            if slot.load(Relaxed).is_null() {
                slot.store(map(LEAF_BYTES).cast(), Release);
            }
            let leaf = slot.load(Relaxed);
            if !leaf.is_null() {
                (*leaf.add(at)).fetch_or(bit, Relaxed);
            }
        }
    }
}

/// Whether a block that was freed started here, and none was allocated here since.
#[inline(always)]
pub fn is_free(start: u64) -> bool {
    on() && starts::is_free(start)
}

/// A block was allocated here, by whomever.
#[inline(always)]
pub fn allocated(start: u64) {
    if on() {
        starts::clear(start);
    }
}

/// The running thread frees the block, which is not free yet; its contents are the C library's from now on.
pub fn gone(start: u64) {
    if on() {
        starts::set(start);
    }
}

/// Keeps a block that the running thread frees, if it is not too large; `give_back` is called with each block whose
/// time is over. Whether it is kept.
pub fn keep(start: u64, len: u64, mut give_back: impl FnMut(u64)) -> bool {
    if !on() {
        return false;
    }
    starts::set(start);
    let quarantine = QUARANTINE.get();
    if len > LARGEST || len == 0 {
        return false;
    }
    while quarantine.next - quarantine.first >= BLOCKS as u64 || quarantine.bytes + len > BYTES {
        let oldest = quarantine.ring[quarantine.first as usize % BLOCKS];
        quarantine.first += 1;
        quarantine.bytes -= oldest.end - oldest.start;
        quarantine.by_start.remove(&oldest.start);
        quarantine.count(oldest, u16::wrapping_sub);
        give_back(oldest.start);
    }
    let block = Kept {
        start,
        end: start + len,
    };
    if is_empty() {
        // Locks in freed blocks are to be seen from now on.
        crate::journal::no_plain();
    }
    quarantine.ring[quarantine.next as usize % BLOCKS] = block;
    quarantine.by_start.insert(block.start, block.end);
    quarantine.bytes += len;
    quarantine.count(block, u16::wrapping_add);
    // The C library's own lists begin in the first 16 bytes.
    let over = if quarantine.poison { len.min(POISONED) } else { 16 };
    let word = POISON + quarantine.next % NUMBERS * SPAN + MIDDLE;
    // SAFETY: within the block, which is the program's no more and not yet the C library's; blocks are aligned to 16.
    unsafe { core::slice::from_raw_parts_mut(start as *mut u64, over as usize / 8) }.fill(word);
    quarantine.next += 1;
    true
}

impl Quarantine {
    fn counter(line: u64) -> usize {
        (line ^ line >> 13) as usize % COUNTERS
    }

    fn count(&mut self, block: Kept, change: fn(u16, u16) -> u16) {
        for line in block.start / LINE..=(block.end - 1) / LINE {
            let counter = &mut self.lines[Self::counter(line)];
            *counter = change(*counter, 1);
        }
    }

    /// The last kept block of which these bytes touch one. Of more than a few lines, only the ends are looked at first.
    fn touched(&self, start: u64, len: u64) -> Option<Kept> {
        let end = start.saturating_add(len.max(1));
        let (low, high) = (start / LINE, (end - 1) / LINE);
        let near = high - low > 64 || (low..=high).any(|line| self.lines[Self::counter(line)] != 0);
        if !near {
            return None;
        }
        let (&start, &end) = self
            .by_start
            .range(..end)
            .next_back()
            .filter(|block| start < *block.1)?;
        Some(Kept { start, end })
    }

    /// The kept block from which this address was read.
    fn named_by(&self, address: u64) -> Option<Kept> {
        let number = address.checked_sub(POISON)? / SPAN;
        (number < NUMBERS).then_some(())?;
        (self.first..self.next)
            .find(|n| n % NUMBERS == number)
            .map(|n| self.ring[n as usize % BLOCKS])
    }

    fn tell(&mut self, freed_use: FreedUse) {
        let site = freed_use.access.map(|access| access.site);
        let key = (
            freed_use.kind,
            site,
            freed_use.stack.first().copied().unwrap_or(0),
            freed_use.start,
        );
        if self.told.contains(&key) {
            return;
        }
        if self.told.len() >= RECORDS {
            self.cut += 1;
            return;
        }
        self.told.insert(key);
        crate::report::write(&Record::FreedUse(freed_use));
    }
}

fn freed_use(kind: FreedUseKind, thread: ThreadId, stack: Vec<u64>, start: u64, len: u64) -> FreedUse {
    let known = heap::starting(start);
    FreedUse {
        kind,
        thread,
        stack,
        access: None,
        start,
        len: known.as_ref().map_or(len, |known| known.len),
        freed: known.as_ref().and_then(|known| known.freed.clone()),
        allocated: known.map(|known| known.allocated),
        step: token::step(),
    }
}

/// The running thread is about to access memory.
#[inline(always)]
pub fn accessed(access: &Access, at: Frame, bounds: (u64, u64)) {
    if on()
        && let Some(block) = QUARANTINE.get().touched(access.bytes.start, access.bytes.len)
    {
        used(access, block, at, bounds);
    }
}

#[cold]
fn used(access: &Access, block: Kept, at: Frame, bounds: (u64, u64)) {
    let stack = stack::walk(at, true, bounds);
    let found = freed_use(
        FreedUseKind::Use,
        access.thread,
        stack,
        block.start,
        block.end - block.start,
    );
    QUARANTINE.get().tell(FreedUse {
        access: Some(*access),
        ..found
    });
}

/// A thread takes, gives back or waits for an object at this address, where it left the program's code. A futex may be
/// woken after its memory was freed: that looks at no memory, and locks rely on it.
#[inline(always)]
pub fn synchronised(t: &Thread, kind: ObjectKind, address: u64) {
    use ObjectKind::{Barrier, Condition, Mutex, RwLock, Semaphore, SpinLock};
    if on()
        && matches!(kind, Mutex | RwLock | SpinLock | Condition | Semaphore | Barrier)
        && let Some(block) = QUARANTINE.get().touched(address, 1)
    {
        let stack = stack::walk(t.frame, false, t.stack);
        let found = freed_use(
            FreedUseKind::Synchronisation,
            t.id,
            stack,
            block.start,
            block.end - block.start,
        );
        QUARANTINE.get().tell(found);
    }
}

/// The running thread frees a block that is free already, or changes its size.
#[cold]
pub fn freed_again(kind: FreedUseKind, thread: ThreadId, at: Frame, start: u64) {
    let stack = stack::walk(at, false, stack::bounds(at.stack));
    let found = freed_use(kind, thread, stack, start, 0);
    QUARANTINE.get().tell(found);
}

/// The process dies of a fault at this address: tells if it was read from a kept block, or lies in a free one.
pub fn faulted(address: u64, thread: ThreadId, stack: &[u64]) {
    if !on() {
        return;
    }
    let quarantine = QUARANTINE.get();
    let named = quarantine
        .named_by(address)
        .map(|block| (block.start, block.end - block.start));
    let inside = || match memory::allocated(address) {
        Some(deadheat_wire::record::Memory::Heap {
            start,
            len,
            freed: true,
            ..
        }) => Some((start, len)),
        _ => None,
    };
    if let Some((start, len)) = named.or_else(inside) {
        let found = freed_use(FreedUseKind::Fault, thread, stack.to_vec(), start, len);
        quarantine.tell(found);
    }
}

/// The number of the stack on which the running thread frees a block.
pub fn stack_of(at: Frame) -> u32 {
    if on() {
        stacks::number(at, false, stack::bounds(at.stack)).min(heap::NO_STACK)
    } else {
        heap::NO_STACK
    }
}
