//! What a context's last steps were: granule states with what became of them.
//!
//! A step of a granule's state is a function of (cell, set) and the running context as long as its thread
//! learns nothing of others. Each context has a small table of the steps that flagged nothing, one for
//! reads and one for writes; thunks and ranges look a state up there before they ask the detector.
//! A step says which version of the thread's clock it is good for, so that a context is entered without a
//! look at its table: with many locks that would be a cache miss each time.
//!
//! Suspicious steps depend on the statement too. Those that were refused a flag often are known in one
//! table by statement; they are made and counted without asking the detector.

use crate::held::Held;
use alloc::boxed::Box;
use alloc::vec::Vec;
use deadheat_detect::Covered;

/// Steps per kind; a power of two.
const STEPS: usize = 8;
/// log2 of the bytes of a step.
pub const STEP_SHIFT: u8 = 5;
/// Bytes of the steps of one kind.
pub const KIND_SIZE: usize = STEPS << STEP_SHIFT;
/// What a slot's number is masked with.
pub const SLOT_MASK: usize = STEPS - 1;

/// A step.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
pub struct Step {
    /// The cell before.
    pub cell: u64,
    /// The cell after.
    pub next: u64,
    /// The history set before.
    pub set: u32,
    /// The history set after.
    pub next_set: u32,
    /// The version of the thread's clock; [`learn`] fills it in.
    pub version: u32,
}

impl Step {
    /// Whether the access left the state as it was.
    #[inline(always)]
    pub fn stays(&self) -> bool {
        self.cell == self.next && self.set == self.next_set
    }
}

/// No cell is ever this.
const NEVER: Step = Step {
    cell: u64::MAX,
    next: 0,
    set: 0,
    next_set: 0,
    version: 0,
};

/// The steps of a context: reads, then writes.
#[repr(C, align(64))]
pub struct Table([Step; 2 * STEPS]);

static NONE: Table = Table([NEVER; 2 * STEPS]);

/// The running context's table.
pub static CURRENT: Held<*const Table> = Held::new(&raw const NONE);

// SAFETY: see `Held`; the pointer is to a table that lives as long as the process.
unsafe impl Sync for Table {}

/// The version of the running thread's clock.
pub static VERSION: Held<u32> = Held::new(0);

/// Accesses in a row of one context that may leave a state as it is; after that the context goes into the
/// cells, for it is one that stays long.
const STAY: i32 = 48;

/// How many of them are left, negative when none; counted by the thunks.
pub static STAYS: Held<i32> = Held::new(STAY);

/// What the running context asks of the detector.
#[inline(always)]
pub fn covered() -> Covered {
    if *STAYS.get() < 0 { Covered::Move } else { Covered::Stay }
}

static TABLES: Held<Vec<Option<Box<Table>>>> = Held::new(Vec::new());

/// Makes this context's table the running one; its steps are good for this version of the thread's clock.
pub fn enter(context: u32, version: u32) {
    let tables = TABLES.get();
    if tables.len() <= context as usize {
        tables.resize_with(context as usize + 64, || None);
    }
    let table = tables[context as usize].get_or_insert_with(|| Box::new(Table([NEVER; 2 * STEPS])));
    *CURRENT.get() = &raw const **table;
    *VERSION.get() = version;
    *STAYS.get() = STAY;
    *MOMENT.get() = u64::from(context) << 32 | u64::from(version);
}

/// Makes a context known to have this table the running one.
#[inline(always)]
pub fn enter_table(table: *const Table, context: u32, version: u32) {
    *CURRENT.get() = table;
    *STAYS.get() = STAY;
    *MOMENT.get() = u64::from(context) << 32 | u64::from(version);
}

#[inline(always)]
fn slot(cell: u64, set: u32, write: bool) -> usize {
    let (w, r) = (cell as u32, (cell >> 32) as u32);
    let mixed = r.wrapping_mul(5).wrapping_add(w).wrapping_add(set.wrapping_mul(3));
    mixed as usize & SLOT_MASK | if write { STEPS } else { 0 }
}

/// The known step from a state.
#[inline(always)]
pub fn find(cell: u64, set: u32, write: bool) -> Option<&'static Step> {
    // SAFETY: `CURRENT` points to a table that lives as long as the process.
    let step = unsafe { &(**CURRENT.get()).0[slot(cell, set, write)] };
    (step.cell == cell && step.set == set && step.version == *VERSION.get()).then_some(step)
}

/// Remembers a step of the running context.
pub fn learn(write: bool, step: Step) {
    let current = *CURRENT.get();
    if current != &raw const NONE {
        // SAFETY: one of our own boxes; the holder of the turn alone uses it.
        let table = unsafe { &mut *current.cast_mut() };
        let version = *VERSION.get();
        table.0[slot(step.cell, step.set, write)] = Step { version, ..step };
    }
}

/// A suspicious step that is made without asking.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Refused {
    /// The cell before.
    pub cell: u64,
    /// The statement, and whether the access writes, as [`statement`] says.
    pub statement: u64,
    /// Context and version.
    pub moment: u64,
    /// The cell after.
    pub next: u64,
    /// The history set before.
    pub set: u32,
    /// The history set after.
    pub next_set: u32,
}

/// Such steps known at once; a power of two.
const REFUSED: usize = 1024;
/// What a slot's number is made with: the high bits of a product mod 2^32.
pub const REFUSED_SHIFT: u32 = 32 - REFUSED.trailing_zeros();
/// Odd number that spreads them.
pub const MIX: u32 = 0x9e37_79b1;
/// log2 of the bytes of one.
pub const REFUSED_SIZE_SHIFT: u8 = 6;

/// The running moment, as in [`Refused`].
pub static MOMENT: Held<u64> = Held::new(0);
/// The steps, by cell and statement.
pub static KNOWN: Held<[Refused; REFUSED]> = Held::new(
    [Refused {
        cell: 0,
        statement: 0,
        moment: 0,
        next: 0,
        set: 0,
        next_set: 0,
    }; REFUSED],
);
/// How many were made.
pub static CUT: Held<u64> = Held::new(0);

/// A statement with its kind of access; descriptors are aligned.
#[inline(always)]
pub fn statement(site: u64, write: bool) -> u64 {
    site ^ u64::from(write)
}

/// Makes a step of the running moment known as refused.
pub fn refuse(site: u64, write: bool, step: &Step) {
    let statement = statement(site, write);
    let at = (step.cell as u32 ^ statement as u32).wrapping_mul(MIX) >> REFUSED_SHIFT;
    KNOWN.get()[at as usize] = Refused {
        cell: step.cell,
        statement,
        moment: *MOMENT.get(),
        next: step.next,
        set: step.set,
        next_set: step.next_set,
    };
}
