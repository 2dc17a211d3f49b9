//! What a context's last steps were: granule states with what became of them.
//!
//! A step of a granule's state is a function of (cell, set) and the running context as long as its thread
//! learns nothing of others. Each context has a small table of the steps that flagged nothing, one for
//! reads and one for writes; thunks and ranges look a state up there before they ask the detector.

use crate::held::Held;
use alloc::boxed::Box;
use alloc::vec::Vec;

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
}

/// No cell is ever this.
const NEVER: Step = Step {
    cell: u64::MAX,
    next: 0,
    set: 0,
    next_set: 0,
};

/// The steps of a context: reads, then writes.
#[repr(C, align(64))]
pub struct Table([Step; 2 * STEPS], u32, bool);

static NONE: Table = Table([NEVER; 2 * STEPS], 0, false);

/// The running context's table.
pub static CURRENT: Held<*const Table> = Held::new(&raw const NONE);

// SAFETY: see `Held`; the pointer is to a table that lives as long as the process.
unsafe impl Sync for Table {}

static TABLES: Held<Vec<Option<Box<Table>>>> = Held::new(Vec::new());

/// Makes this context's table the running one; its steps are good for this version of the thread's clock.
pub fn enter(context: u32, version: u32) {
    let tables = TABLES.get();
    if tables.len() <= context as usize {
        tables.resize_with(context as usize + 64, || None);
    }
    let table = tables[context as usize].get_or_insert_with(|| Box::new(Table([NEVER; 2 * STEPS], version, false)));
    if table.1 != version {
        if table.2 {
            table.0 = [NEVER; 2 * STEPS];
            table.2 = false;
        }
        table.1 = version;
    }
    *CURRENT.get() = &raw const **table;
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
    (step.cell == cell && step.set == set).then_some(step)
}

/// Remembers a step of the running context.
pub fn learn(write: bool, step: Step) {
    let current = *CURRENT.get();
    if current != &raw const NONE {
        // SAFETY: one of our own boxes; the holder of the turn alone uses it.
        let table = unsafe { &mut *current.cast_mut() };
        table.0[slot(step.cell, step.set, write)] = step;
        table.2 = true;
    }
}
