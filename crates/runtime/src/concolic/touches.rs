//! What each segment of a run accesses, for the pruning of paths: which bytes it read before it wrote them, which it
//! wrote, and what they are then; and where the program stands at a branch.
//!
//! The instrumentation tells of a read before it happens and of a write after it, while the memory is surely there. A
//! row covers eight bytes of one segment; a number a granule says which row is the last, and a row of an earlier
//! segment counts as none. The *history* is a hash of all that threads asked of code without instrumentation, so that
//! equal histories mean equal locks, threads, descriptors and positions. Nothing here runs unless the plan asks for it.

use super::memory;
use super::nodes::{self, file, segment};
use crate::held::Held;
use crate::sys::sys;
use deadheat_wire::trace::{self, OPAQUE, SHARED, Touch};

/// Bytes of the program's that numbers exist for, as of the other shadows.
const SPAN: u64 = 1 << 43;
/// Start of the numbers of rows, four bytes for eight.
const ROWS: u64 = 0x4000_0000_0000;

/// Accesses of a run that are told: computing in loops would take many times as long.
const MOST: u32 = 1 << 24;
/// Bytes written at once that are told one by one.
const LARGE: u64 = 1 << 18;

struct Touches {
    on: bool,
    rows: u32,
    /// First row of the segment, whose rows lie behind it.
    first: u32,
    segment: u32,
    history: u64,
    place: u64,
    /// The segment in which something opaque happened last, plus one.
    opaque: u32,
    left: u32,
}

static TOUCHES: Held<Touches> = Held::new(Touches {
    on: false,
    rows: 0,
    first: 0,
    segment: 0,
    history: 0,
    place: 0,
    opaque: 0,
    left: MOST,
});

/// Reserves the numbers; whether that worked.
pub fn start() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping that replaces nothing; the advice changes no contents.
    let got = unsafe {
        let got = sys!(libc::SYS_mmap, ROWS, SPAN / 2, prot, flags, -1i32, 0usize);
        sys!(libc::SYS_madvise, ROWS, SPAN / 2, libc::MADV_DONTDUMP);
        got as u64
    };
    TOUCHES.get().on = got == ROWS;
    got == ROWS
}

/// A child process is not traced.
pub fn stop() {
    TOUCHES.get().on = false;
}

fn mixed(hash: u64, with: u64) -> u64 {
    let hash = (hash.rotate_left(23) ^ with).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}

fn thread() -> u16 {
    // SAFETY: the thread's record is ours or null.
    unsafe { crate::tls::thread().as_ref() }.map_or(0, |t| t.id.0 as u16)
}

/// Whether an input went on is part of where its reader stands.
pub fn input_went(site: u64, on: bool) {
    let t = TOUCHES.get();
    if t.on {
        t.history = mixed(mixed(t.history, site), on.into());
    }
}

/// Where the program stands at the branch whose constraint comes now.
pub fn place() -> u64 {
    core::mem::take(&mut TOUCHES.get().place)
}

fn number(granule: u64) -> *mut u32 {
    (((granule & (SPAN - 1)) >> 1) + ROWS) as *mut u32
}

fn row(n: u32) -> *mut Touch {
    file().wrapping_add(trace::TOUCHES_AT + n as usize * trace::TOUCH_SIZE) as *mut Touch
}

/// A new row; null if there is no room.
fn add(at: u64) -> *mut Touch {
    let t = TOUCHES.get();
    if t.rows >= trace::MOST_TOUCHES {
        nodes::once(trace::CUT_TOUCHES_AT, t.segment + 1);
        return core::ptr::null_mut();
    }
    let new = row(t.rows);
    // SAFETY: within the mapped file.
    unsafe {
        new.write(Touch {
            at,
            segment: t.segment,
            thread: thread(),
            ..Touch::default()
        });
    }
    t.rows += 1;
    nodes::write_word(trace::TOUCH_COUNT_AT, t.rows);
    new
}

/// The row of a granule in this segment; null if there is no room.
fn of(granule: u64) -> *mut Touch {
    let t = TOUCHES.get();
    // SAFETY: the shadow covers every address; rows below the count lie within the mapped file.
    unsafe {
        let last = *number(granule);
        if last > t.first && (*row(last - 1)).at == granule {
            let known = row(last - 1);
            if (*known).thread != thread() {
                (*known).thread = SHARED;
            }
            return known;
        }
        let new = add(granule);
        if !new.is_null() {
            *number(granule) = t.rows;
        }
        new
    }
}

fn begin() -> bool {
    let t = TOUCHES.get();
    if !t.on {
        return false;
    }
    t.left -= 1;
    if t.left == 0 {
        t.on = false;
        nodes::once(trace::CUT_TOUCHES_AT, t.segment + 1);
        return false;
    }
    let now = segment();
    if now != t.segment {
        (t.segment, t.first) = (now, t.rows);
    }
    true
}

/// Calls `each` with every granule of a range and a bit for each of its bytes that is in the range.
fn granules(address: u64, length: u64, mut each: impl FnMut(u64, u8)) {
    let end = address.saturating_add(length);
    let mut granule = address & !7;
    while granule < end {
        let (from, to) = (address.max(granule) - granule, end.min(granule + 8) - granule);
        each(granule, (0xffu32 << from) as u8 & (0xffu32 >> (8 - to)) as u8);
        granule += 8;
    }
}

/// The hash of an access by a statement, at what was asked so far.
fn access(statement: u64) -> u64 {
    mixed(mixed(TOUCHES.get().history, statement), thread().into())
}

/// Bytes are about to be read by a statement.
pub fn read(address: u64, length: u64, statement: u64) {
    if !begin() {
        return;
    }
    let access = access(statement);
    granules(address, length, |granule, bytes| {
        let row = of(granule);
        if !row.is_null() {
            // SAFETY: a row of the mapped file.
            unsafe {
                (*row).read |= bytes & !(*row).written;
                (*row).statements = (*row).statements.wrapping_add(access);
            }
        }
    });
}

/// Bytes were written by a statement.
pub fn written(address: u64, length: u64, statement: u64) {
    if !begin() {
        return;
    }
    let access = access(statement);
    granules(address, length, |granule, bytes| {
        let row = of(granule);
        if row.is_null() {
            return;
        }
        // SAFETY: a row of the mapped file; the granule lies in one page, of which bytes were just written.
        unsafe {
            (*row).written |= bytes;
            (*row).statements = (*row).statements.wrapping_add(access);
            (*row).value = (granule as *const u64).read();
            (*row).numbers = memory::numbers(granule, (*row).value);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_reads(address: u64, length: u64, statement: u64) {
    read(address, length, statement);
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_wrote(address: u64, length: u64, statement: u64) {
    const PAGE: u64 = 4096;
    match length {
        // A result that was not wanted, or that did not come.
        _ if address < PAGE => {}
        ..=LARGE => written(address, length, statement),
        _ => dh_sym_opaque(),
    }
}

/// Something is asked of code without instrumentation: a hash of what, and from where.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_asks(what: u64) {
    let t = TOUCHES.get();
    if t.on {
        t.history = mixed(mixed(t.history, what), thread().into());
    }
}

/// Code of which nothing is known runs here.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_opaque() {
    if begin() && TOUCHES.get().opaque != TOUCHES.get().segment + 1 {
        TOUCHES.get().opaque = TOUCHES.get().segment + 1;
        add(OPAQUE);
    }
}

/// A branch on input comes next; `calls` is a hash of the calls that led there.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_stands(calls: u64) {
    let t = TOUCHES.get();
    if t.on {
        t.place = mixed(mixed(t.history, calls), thread().into()).max(1);
    }
}
