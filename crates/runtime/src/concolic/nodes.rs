//! The trace in the making: nodes and constraints.

use super::touches;
use crate::held::Held;
use crate::sys::sys;
use core::ptr::null_mut;
use deadheat_wire::plan::Symbolic;
use deadheat_wire::trace::{self, Constraint, Node, constraint, op};

struct Trace {
    /// Null where no expressions are made.
    file: *mut u8,
    /// The same file; in every run that is to tell of hits.
    hits: *mut u8,
    nodes: u32,
    constraints: u32,
}

static TRACE: Held<Trace> = Held::new(Trace {
    file: null_mut(),
    hits: null_mut(),
    nodes: 1,
    constraints: 0,
});

/// Whether this run is traced.
#[inline(always)]
pub fn on() -> bool {
    !TRACE.get().file.is_null()
}

/// Maps the trace file and the shadow; says why not.
pub fn start(symbolic: &Symbolic) -> Result<(), &'static str> {
    let mut path = symbolic.trace.clone().into_bytes();
    path.push(0);
    // SAFETY: plain file calls; the mapping is ours.
    let at = unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC, 0i32) as i32;
        if fd < 0 {
            return Err("the trace file cannot be opened");
        }
        let hint = 0x1180_0000_0000usize;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let at = sys!(
            libc::SYS_mmap,
            hint,
            trace::FILE_SIZE,
            prot,
            libc::MAP_SHARED,
            fd,
            0usize
        );
        sys!(libc::SYS_close, fd);
        if at < 0 && at > -4096 {
            return Err("the trace file cannot be mapped");
        }
        sys!(libc::SYS_madvise, at, trace::FILE_SIZE, libc::MADV_DONTDUMP);
        at as *mut u8
    };
    if !super::memory::map() || symbolic.touches && !touches::start() {
        return Err("no room for the shadow of symbolic memory");
    }
    let t = TRACE.get();
    t.hits = at;
    if symbolic.hits_alone {
        return Ok(());
    }
    t.file = at;
    write_word(trace::NODE_COUNT_AT, 1);
    Ok(())
}

/// A child process has its own memory, but the trace is its parent's.
pub fn forked() {
    let t = TRACE.get();
    (t.file, t.hits) = (null_mut(), null_mut());
    touches::stop();
}

/// The mapped file.
pub fn file() -> *mut u8 {
    TRACE.get().file
}

/// Constraints so far.
pub fn segment() -> u32 {
    TRACE.get().constraints
}

fn word(at: usize) -> *mut u32 {
    TRACE.get().file.wrapping_add(at) as *mut u32
}

pub fn write_word(at: usize, value: u32) {
    // SAFETY: the header of the mapped file.
    unsafe { word(at).write(value) };
}

/// Counts something in the header.
pub fn count(at: usize) {
    if on() {
        // SAFETY: the header of the mapped file.
        unsafe { *word(at) = (*word(at)).wrapping_add(1) };
        if at != trace::TABLES_AT {
            write_word(trace::LAST_LOSS_AT, segment() + 1);
            once(trace::FIRST_LOSS_AT, segment() + 1);
        }
    }
}

/// Writes a word of the header that is still 0.
pub fn once(at: usize, value: u32) {
    // SAFETY: the header of the mapped file.
    if on() && unsafe { *word(at) } == 0 {
        write_word(at, value);
    }
}

/// Appends to the names.
pub fn name(source: u32, name: &[u8]) {
    if !on() {
        return;
    }
    // SAFETY: the header and the names' part of the mapped file; the room is checked.
    unsafe {
        let used = *word(trace::NAME_BYTES_AT) as usize;
        if used + 8 + name.len() > trace::NAME_ROOM {
            return;
        }
        let to = TRACE.get().file.add(trace::NAMES_AT + used);
        core::ptr::copy_nonoverlapping(source.to_le_bytes().as_ptr(), to, 4);
        core::ptr::copy_nonoverlapping((name.len() as u32).to_le_bytes().as_ptr(), to.add(4), 4);
        core::ptr::copy_nonoverlapping(name.as_ptr(), to.add(8), name.len());
        *word(trace::NAME_BYTES_AT) = (used + 8 + name.len()) as u32;
    }
}

/// Writes the hits of the program's branches.
///
/// # Safety
/// `rows..end` are the rows.
pub unsafe fn hits(rows: *const u8, end: *const u8) {
    const ROW: usize = 40;
    const HITS: usize = 32;
    let file = TRACE.get().hits;
    if file.is_null() {
        return;
    }
    // SAFETY: within the rows and the hits' part of the file.
    unsafe {
        let count = (end.offset_from(rows) as usize / ROW).min(trace::HIT_ROOM / 2);
        let to = file.add(trace::HITS_AT);
        for n in 0..count {
            core::ptr::copy_nonoverlapping(rows.add(n * ROW + HITS), to.add(2 * n), 2);
        }
        (file.add(trace::HIT_BYTES_AT) as *mut u32).write(2 * count as u32);
    }
}

/// The low `width` bits.
pub fn mask(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

/// With the highest of `width` bits as sign.
pub fn signed(value: u64, width: u32) -> i64 {
    let shift = 64 - width.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

/// A node; `id` is one that was made.
pub fn node(id: u32) -> Node {
    // SAFETY: numbers given out lie below the count, within the mapped file.
    unsafe {
        let nodes = TRACE.get().file.add(trace::NODES_AT) as *const Node;
        nodes.add(id as usize).read()
    }
}

/// A new node; 0 (concrete) when the trace is full.
pub fn make(node: Node) -> u32 {
    let t = TRACE.get();
    if t.file.is_null() {
        return 0;
    }
    if t.nodes >= trace::MOST_NODES {
        count(trace::CUT_NODES_AT);
        return 0;
    }
    let id = t.nodes;
    // SAFETY: below the bound, within the mapped file.
    unsafe {
        let nodes = t.file.add(trace::NODES_AT) as *mut Node;
        nodes.add(id as usize).write(Node {
            value: mask(node.value, node.width.into()),
            ..node
        });
    }
    t.nodes += 1;
    write_word(trace::NODE_COUNT_AT, t.nodes);
    id
}

/// A node with up to three operands.
pub fn apply(op: u8, width: u32, (a, b, c): (u32, u32, u32), value: u64) -> u32 {
    // An operand that did not fit makes the whole concrete.
    let operands = match op {
        op::ZERO_EXTEND | op::SIGN_EXTEND | op::EXTRACT => 1,
        op::IF_THEN_ELSE => 3,
        _ => 2,
    };
    if [a, b, c][..operands].contains(&0) {
        return 0;
    }
    make(Node {
        op,
        width: width as u8,
        low: 0,
        a,
        b,
        c,
        value,
    })
}

/// A constant.
pub fn constant(value: u64, width: u32) -> u32 {
    make(Node {
        op: op::CONST,
        width: width as u8,
        value,
        ..Node::default()
    })
}

/// `width` bits from `low` on.
pub fn extract(of: u32, low: u32, width: u32, value: u64) -> u32 {
    if of == 0 {
        return 0;
    }
    make(Node {
        op: op::EXTRACT,
        width: width as u8,
        low: low as u16,
        a: of,
        value,
        ..Node::default()
    })
}

/// The number if its expression has this value and width now, else 0.
pub fn valid(id: u32, value: u64, width: u32) -> u32 {
    if id == 0 || !on() {
        return 0;
    }
    let known = node(id);
    if u32::from(known.width) == width && known.value == mask(value, width) {
        return id;
    }
    count(trace::STALE_AT);
    0
}

/// The number of an operand, made a constant if it is concrete.
pub fn or_constant(id: u32, value: u64, width: u32) -> u32 {
    if id != 0 { id } else { constant(value, width) }
}

/// A constraint of the path.
pub fn constrain(site: u64, id: u32, taken: bool, kind: u8) {
    let t = TRACE.get();
    if t.file.is_null() || id == 0 {
        return;
    }
    if t.constraints >= trace::MOST_CONSTRAINTS {
        count(trace::CUT_CONSTRAINTS_AT);
        return;
    }
    if kind == constraint::LENGTH {
        touches::input_went(site, taken);
    }
    // SAFETY: the thread's record is ours or null.
    let thread = unsafe { crate::tls::thread().as_ref() }.map_or(0, |t| t.id.0 as u16);
    // SAFETY: below the bound, within the mapped file.
    unsafe {
        let rows = t.file.add(trace::CONSTRAINTS_AT) as *mut Constraint;
        rows.add(t.constraints as usize).write(Constraint {
            site,
            node: id,
            thread,
            kind,
            taken: taken.into(),
            place: if kind == constraint::BRANCH {
                touches::place()
            } else {
                0
            },
        });
    }
    t.constraints += 1;
    write_word(trace::CONSTRAINT_COUNT_AT, t.constraints);
}
