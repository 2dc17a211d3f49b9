//! The symbolic trace of one run: the expressions that the concolic instrumentation made and the path
//! constraints that it met, written into a shared file by the runtime and read by the tool.
//!
//! The file is sparse and mapped whole; its parts lie at fixed offsets, and counts in the header say how
//! much of each is used, so a program may die at any point. Everything is little-endian.
//!
//! | offset | what |
//! |---|---|
//! | 0 | [`MAGIC`], then `u32` words at the `*_AT` offsets |
//! | [`NAMES_AT`] | names of hashed sources: `source u32, length u32, bytes`, end to end |
//! | [`HITS_AT`] | two bytes per row of `dh_branches`: how often not taken, taken, at most 255 |
//! | [`CONSTRAINTS_AT`] | rows of [`CONSTRAINT_SIZE`]: `site u64, node u32, thread u16, kind u8, taken u8, place u64` |
//! | [`NODES_AT`] | rows of [`NODE_SIZE`]: `op u8, width u8, low u16, a u32, b u32, c u32, value u64` |
//! | [`TOUCHES_AT`] | rows of [`TOUCH_SIZE`], if the plan asks for them: see [`Touch`] |
//!
//! Node 0 is no expression: "concrete". Operands stand before the nodes that use them. A *segment* is what a run does
//! between two constraints, by the number of constraints before it. Read from the file, a trace is packed: the used
//! touches follow the used nodes.

/// First bytes of a trace file.
pub const MAGIC: [u8; 8] = *b"DHTRC\x02\0\0";
/// Used nodes, node 0 counted.
pub const NODE_COUNT_AT: usize = 8;
/// Used constraints.
pub const CONSTRAINT_COUNT_AT: usize = 12;
/// Used bytes of names.
pub const NAME_BYTES_AT: usize = 16;
/// Used bytes of hits.
pub const HIT_BYTES_AT: usize = 20;
/// Expressions that were dropped because memory or a register held another value than they had.
pub const STALE_AT: usize = 24;
/// Symbolic addresses that were fixed to their value.
pub const PINNED_AT: usize = 28;
/// Values that became concrete in an operation that is not modelled.
pub const LOST_AT: usize = 32;
/// Expressions that did not fit.
pub const CUT_NODES_AT: usize = 36;
/// Constraints that did not fit.
pub const CUT_CONSTRAINTS_AT: usize = 40;
/// Loads at symbolic addresses that became a table of values.
pub const TABLES_AT: usize = 44;
/// Files that were read and are no input.
pub const FILES_LEFT_OUT_AT: usize = 64;

/// Used touches.
pub const TOUCH_COUNT_AT: usize = 48;
/// The first segment of which touches did not fit, plus one.
pub const CUT_TOUCHES_AT: usize = 52;
/// The last segment in which something that depended on input was taken as it was, plus one.
pub const LAST_LOSS_AT: usize = 56;
/// The first such segment, plus one.
pub const FIRST_LOSS_AT: usize = 60;

/// Start of the names.
pub const NAMES_AT: usize = 4096;
/// Room for names.
pub const NAME_ROOM: usize = 60 << 10;
/// Start of the hits.
pub const HITS_AT: usize = 64 << 10;
/// Room for hits.
pub const HIT_ROOM: usize = 1 << 20;
/// Start of the constraints.
pub const CONSTRAINTS_AT: usize = HITS_AT + HIT_ROOM;
/// Size of a constraint.
pub const CONSTRAINT_SIZE: usize = 24;
/// Most constraints.
pub const MOST_CONSTRAINTS: u32 = 1 << 15;
/// Start of the nodes.
pub const NODES_AT: usize = CONSTRAINTS_AT + MOST_CONSTRAINTS as usize * CONSTRAINT_SIZE;
/// Size of a node.
pub const NODE_SIZE: usize = 24;
/// Most nodes.
pub const MOST_NODES: u32 = 1 << 20;
/// Start of the touches in the file.
pub const TOUCHES_AT: usize = NODES_AT + MOST_NODES as usize * NODE_SIZE;
/// Size of a touch.
pub const TOUCH_SIZE: usize = 64;
/// Most touches.
pub const MOST_TOUCHES: u32 = 1 << 18;
/// Size of a trace file.
pub const FILE_SIZE: usize = TOUCHES_AT + MOST_TOUCHES as usize * TOUCH_SIZE;

/// Operations of nodes. Binary operations and comparisons have operands `a` and `b`.
#[allow(missing_docs)]
pub mod op {
    pub const ADD: u8 = 0;
    pub const SUB: u8 = 1;
    pub const MUL: u8 = 2;
    pub const UDIV: u8 = 3;
    pub const SDIV: u8 = 4;
    pub const UREM: u8 = 5;
    pub const SREM: u8 = 6;
    pub const SHL: u8 = 7;
    pub const LSHR: u8 = 8;
    pub const ASHR: u8 = 9;
    pub const AND: u8 = 10;
    pub const OR: u8 = 11;
    pub const XOR: u8 = 12;
    pub const EQ: u8 = 32;
    pub const NE: u8 = 33;
    pub const UGT: u8 = 34;
    pub const UGE: u8 = 35;
    pub const ULT: u8 = 36;
    pub const ULE: u8 = 37;
    pub const SGT: u8 = 38;
    pub const SGE: u8 = 39;
    pub const SLT: u8 = 40;
    pub const SLE: u8 = 41;
    pub const ZERO_EXTEND: u8 = 64;
    pub const SIGN_EXTEND: u8 = 65;
    /// Bits of `a` from `low` on.
    pub const EXTRACT: u8 = 66;
    /// `a` above `b`.
    pub const CONCAT: u8 = 67;
    /// `a` is the condition, `b` its value where it holds, `c` where not.
    pub const IF_THEN_ELSE: u8 = 68;
    /// `value`.
    pub const CONST: u8 = 69;
    /// Byte `b` of source `a`.
    pub const SYMBOL: u8 = 70;
}

/// Where symbols come from: the kind in the highest byte of a source's number.
pub mod source {
    /// Standard input, by offset.
    pub const STDIN: u8 = 1;
    /// Its length, four bytes.
    pub const STDIN_LENGTH: u8 = 2;
    /// Argument n (low bits), by offset; argument 0 is the program's name and never symbolic.
    pub const ARGUMENT: u8 = 3;
    /// Number of arguments, the name counted; one byte.
    pub const ARGUMENT_COUNT: u8 = 4;
    /// An environment variable (low bits: hash of its name), by offset.
    pub const VARIABLE: u8 = 5;
    /// Whether it is set; one byte, 0 or 1.
    pub const VARIABLE_SET: u8 = 6;
    /// A file (low bits: hash of its name), by offset.
    pub const FILE: u8 = 7;
    /// Its length, four bytes.
    pub const FILE_LENGTH: u8 = 8;
    /// Results of `rand` and `random`, four bytes each.
    pub const RAND: u8 = 9;
    /// Bytes of `getrandom` and its kin.
    pub const RANDOM: u8 = 10;
    /// Seconds since the epoch at the start of the run, eight bytes.
    pub const TIME: u8 = 11;
    /// A buffer that the program marked (low bits: hash of the name), by offset over all calls.
    pub const MARKED: u8 = 12;

    /// A source's number.
    pub const fn number(kind: u8, low: u32) -> u32 {
        (kind as u32) << 24 | (low & 0xff_ffff)
    }

    /// The source whose length this one is.
    pub const fn of_length(source: u32) -> Option<u32> {
        match split(source) {
            (STDIN_LENGTH, low) => Some(number(STDIN, low)),
            (FILE_LENGTH, low) => Some(number(FILE, low)),
            _ => None,
        }
    }

    /// A source's kind and its low bits.
    pub const fn split(source: u32) -> (u8, u32) {
        ((source >> 24) as u8, source & 0xff_ffff)
    }

    /// The low bits that stand for a name.
    pub fn hash(name: &[u8]) -> u32 {
        let hash = name
            .iter()
            .fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193));
        (hash ^ hash >> 24) & 0xff_ffff
    }
}

/// What a constraint is.
pub mod constraint {
    /// A branch on input.
    pub const BRANCH: u8 = 0;
    /// A symbolic address was fixed to its value.
    pub const PIN: u8 = 1;
    /// Always so: the program or a model demands it.
    pub const ASSUMED: u8 = 2;
    /// Whether an input went on.
    pub const LENGTH: u8 = 3;
    /// A divisor that was not zero.
    pub const DIVISOR: u8 = 4;
}

/// One expression of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// One of [`op`].
    pub op: u8,
    /// Bits of the result.
    pub width: u8,
    /// First bit of an extract.
    pub low: u16,
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Third operand.
    pub c: u32,
    /// Its value in this run.
    pub value: u64,
}

/// One path constraint of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Constraint {
    /// The branch, the same in every build of the source.
    pub site: u64,
    /// The condition.
    pub node: u32,
    /// The thread.
    pub thread: u16,
    /// One of [`constraint`].
    pub kind: u8,
    /// 1 if the condition was true.
    pub taken: u8,
    /// Where the program stands: a hash of the thread, its calls, and all that threads asked of others so far; 0 if it
    /// is not known.
    pub place: u64,
}

/// Bytes in eight that a run accessed in one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Touch {
    /// Address of the eight, a multiple of eight; [`OPAQUE`] for code that may have read and written anything.
    pub at: u64,
    /// The segment.
    pub segment: u32,
    /// The thread, or [`SHARED`].
    pub thread: u16,
    /// Those that were read before they were written, a bit each.
    pub read: u8,
    /// Those that were written.
    pub written: u8,
    /// The bytes after the last of these writes.
    pub value: u64,
    /// The expressions of the written ones then.
    pub numbers: [u32; 8],
    /// The sum of a hash for each access: its statement, its thread, and what threads had asked of others before.
    pub statements: u64,
}

/// Address of what is no memory: something happened of which it is not known what it accessed.
pub const OPAQUE: u64 = 0;
/// Several threads.
pub const SHARED: u16 = u16::MAX;

impl Node {
    /// Reads a row; `None` if it is too short.
    pub fn decode(row: &[u8]) -> Option<Node> {
        let word = |at: usize| -> Option<u32> { Some(u32::from_le_bytes(row.get(at..at + 4)?.try_into().ok()?)) };
        let head = word(0)?;
        Some(Node {
            op: head as u8,
            width: (head >> 8) as u8,
            low: (head >> 16) as u16,
            a: word(4)?,
            b: word(8)?,
            c: word(12)?,
            value: u64::from(word(16)?) | u64::from(word(20)?) << 32,
        })
    }

    /// The row.
    pub fn encode(&self) -> [u8; NODE_SIZE] {
        let mut row = [0; NODE_SIZE];
        row[0] = self.op;
        row[1] = self.width;
        row[2..4].copy_from_slice(&self.low.to_le_bytes());
        for (n, word) in [self.a, self.b, self.c].iter().enumerate() {
            row[4 + 4 * n..8 + 4 * n].copy_from_slice(&word.to_le_bytes());
        }
        row[16..24].copy_from_slice(&self.value.to_le_bytes());
        row
    }
}

impl Constraint {
    /// Reads a row; `None` if it is too short.
    pub fn decode(row: &[u8]) -> Option<Constraint> {
        Some(Constraint {
            site: u64::from_le_bytes(row.get(..8)?.try_into().ok()?),
            node: u32::from_le_bytes(row.get(8..12)?.try_into().ok()?),
            thread: u16::from_le_bytes(row.get(12..14)?.try_into().ok()?),
            kind: *row.get(14)?,
            taken: *row.get(15)?,
            place: u64::from_le_bytes(row.get(16..24)?.try_into().ok()?),
        })
    }

    /// The row.
    pub fn encode(&self) -> [u8; CONSTRAINT_SIZE] {
        let mut row = [0; CONSTRAINT_SIZE];
        row[..8].copy_from_slice(&self.site.to_le_bytes());
        row[8..12].copy_from_slice(&self.node.to_le_bytes());
        row[12..14].copy_from_slice(&self.thread.to_le_bytes());
        row[14] = self.kind;
        row[15] = self.taken;
        row[16..24].copy_from_slice(&self.place.to_le_bytes());
        row
    }
}

impl Touch {
    /// Reads a row; `None` if it is too short.
    pub fn decode(row: &[u8]) -> Option<Touch> {
        let word = |at: usize| -> Option<u32> { Some(u32::from_le_bytes(row.get(at..at + 4)?.try_into().ok()?)) };
        let long = |at: usize| -> Option<u64> { Some(u64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?)) };
        let mut numbers = [0; 8];
        for (n, number) in numbers.iter_mut().enumerate() {
            *number = word(24 + 4 * n)?;
        }
        Some(Touch {
            at: long(0)?,
            segment: word(8)?,
            thread: u16::from_le_bytes(row.get(12..14)?.try_into().ok()?),
            read: *row.get(14)?,
            written: *row.get(15)?,
            value: long(16)?,
            numbers,
            statements: long(56)?,
        })
    }

    /// The row.
    pub fn encode(&self) -> [u8; TOUCH_SIZE] {
        let mut row = [0; TOUCH_SIZE];
        row[..8].copy_from_slice(&self.at.to_le_bytes());
        row[8..12].copy_from_slice(&self.segment.to_le_bytes());
        row[12..14].copy_from_slice(&self.thread.to_le_bytes());
        row[14] = self.read;
        row[15] = self.written;
        row[16..24].copy_from_slice(&self.value.to_le_bytes());
        for (n, number) in self.numbers.iter().enumerate() {
            row[24 + 4 * n..28 + 4 * n].copy_from_slice(&number.to_le_bytes());
        }
        row[56..].copy_from_slice(&self.statements.to_le_bytes());
        row
    }
}

/// A trace file's bytes, of which the tail may be missing where nothing was written.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    bytes: &'a [u8],
}

impl<'a> Trace<'a> {
    /// Takes a file; `None` if it is no trace.
    pub fn new(bytes: &'a [u8]) -> Option<Trace<'a>> {
        (bytes.starts_with(&MAGIC) && bytes.len() >= NAMES_AT).then_some(Trace { bytes })
    }

    /// A word of the header.
    pub fn word(&self, at: usize) -> u32 {
        let bytes = self.bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    fn rows(&self, at: usize, size: usize, count: u32) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end = at
            .saturating_add(size.saturating_mul(count as usize))
            .min(self.bytes.len());
        self.bytes.get(at..end).unwrap_or_default().chunks_exact(size)
    }

    /// The nodes, number 0 included.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<'a> {
        let count = self.word(NODE_COUNT_AT).min(MOST_NODES);
        self.rows(NODES_AT, NODE_SIZE, count).filter_map(Node::decode)
    }

    /// The constraints in order.
    pub fn constraints(&self) -> impl Iterator<Item = Constraint> + use<'a> {
        let count = self.word(CONSTRAINT_COUNT_AT).min(MOST_CONSTRAINTS);
        self.rows(CONSTRAINTS_AT, CONSTRAINT_SIZE, count)
            .filter_map(Constraint::decode)
    }

    /// The touches in order of their segments.
    pub fn touches(&self) -> impl Iterator<Item = Touch> + use<'a> {
        let nodes = self.word(NODE_COUNT_AT).min(MOST_NODES) as usize;
        let count = self.word(TOUCH_COUNT_AT).min(MOST_TOUCHES);
        self.rows(NODES_AT + nodes * NODE_SIZE, TOUCH_SIZE, count)
            .filter_map(Touch::decode)
    }

    /// Names of hashed sources.
    pub fn names(&self) -> impl Iterator<Item = (u32, &'a [u8])> + use<'a> {
        let length = (self.word(NAME_BYTES_AT) as usize).min(NAME_ROOM);
        let mut rest = self.bytes.get(NAMES_AT..NAMES_AT + length).unwrap_or_default();
        core::iter::from_fn(move || {
            let (source, after) = rest.split_first_chunk::<4>()?;
            let (length, after) = after.split_first_chunk::<4>()?;
            let (name, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            Some((u32::from_le_bytes(*source), name))
        })
    }

    /// The hits of the branches, two bytes each.
    pub fn hits(&self) -> &'a [u8] {
        let length = (self.word(HIT_BYTES_AT) as usize).min(HIT_ROOM);
        self.bytes.get(HITS_AT..HITS_AT + length).unwrap_or_default()
    }
}
