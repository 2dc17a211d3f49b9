//! Sites: the places in the program's code that the runtime can watch.

use serde::{Deserialize, Serialize};

/// A site of one run: the module (in load order, 0 is the executable) and the index of its
/// descriptor in that module's `dh_descs` section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId {
    /// Index of the linked module.
    pub module: u16,
    /// Index into the module's descriptors.
    pub index: u32,
}

/// What a site's statement does. The numbers are part of the object format (`deadheat-wire`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SiteKind {
    /// A load.
    Read = 1,
    /// A store.
    Write = 2,
    /// A load and a store of the same bytes in one statement (`x++`).
    ReadWrite = 3,
    /// An atomic load.
    AtomicLoad = 4,
    /// An atomic store.
    AtomicStore = 5,
    /// An atomic read-modify-write other than compare-exchange.
    AtomicUpdate = 6,
    /// A compare-exchange; whether it wrote is known only afterwards.
    AtomicCompareExchange = 7,
    /// A stand-alone fence.
    Fence = 8,
    /// A loop back edge whose trip count is unknown at loop entry.
    BackEdge = 9,
    /// Function entry.
    Entry = 10,
    /// Function exit.
    Exit = 11,
    /// A call that frees the block at the operand.
    Free = 12,
    /// After a compare-exchange: carries whether it succeeded.
    CompareExchangeResult = 13,
    /// Not a statement: one check that stands for several statements (detecting bodies only).
    Group = 14,
    /// Inline assembly that reads and writes a memory operand, taken as an atomic update of it.
    Assembly = 15,
}

impl SiteKind {
    /// The kind with this number.
    pub fn from_u8(n: u8) -> Option<SiteKind> {
        use SiteKind::*;
        [
            Read,
            Write,
            ReadWrite,
            AtomicLoad,
            AtomicStore,
            AtomicUpdate,
            AtomicCompareExchange,
            Fence,
            BackEdge,
            Entry,
            Exit,
            Free,
            CompareExchangeResult,
            Group,
            Assembly,
        ]
        .into_iter()
        .find(|k| *k as u8 == n)
    }

    /// Whether the statement is an atomic operation on memory.
    pub fn is_atomic(self) -> bool {
        use SiteKind::*;
        matches!(
            self,
            AtomicLoad | AtomicStore | AtomicUpdate | AtomicCompareExchange | Assembly
        )
    }

    /// Whether the statement touches memory at its operand.
    pub fn is_access(self) -> bool {
        use SiteKind::*;
        self.is_atomic() || matches!(self, Read | Write | ReadWrite | Free)
    }

    /// Whether the statement writes, or may write, the bytes at its operand.
    pub fn writes(self) -> bool {
        use SiteKind::*;
        matches!(
            self,
            Write | ReadWrite | AtomicStore | AtomicUpdate | AtomicCompareExchange | Free | Assembly
        )
    }
}

/// Memory order of an atomic operation or fence, numbered as in `__ATOMIC_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum MemoryOrder {
    /// `memory_order_relaxed`.
    Relaxed = 0,
    /// `memory_order_consume`, treated as acquire (as every compiler does).
    Consume = 1,
    /// `memory_order_acquire`.
    Acquire = 2,
    /// `memory_order_release`.
    Release = 3,
    /// `memory_order_acq_rel`.
    AcquireRelease = 4,
    /// `memory_order_seq_cst`.
    SequentiallyConsistent = 5,
}

impl MemoryOrder {
    /// The order with this number; unknown numbers give the strongest.
    pub fn from_u8(n: u8) -> MemoryOrder {
        use MemoryOrder::*;
        match n {
            0 => Relaxed,
            1 => Consume,
            2 => Acquire,
            3 => Release,
            4 => AcquireRelease,
            _ => SequentiallyConsistent,
        }
    }

    /// Whether a load with this order acquires.
    pub fn acquires(self) -> bool {
        use MemoryOrder::*;
        matches!(self, Consume | Acquire | AcquireRelease | SequentiallyConsistent)
    }

    /// Whether a store with this order releases.
    pub fn releases(self) -> bool {
        use MemoryOrder::*;
        matches!(self, Release | AcquireRelease | SequentiallyConsistent)
    }
}
