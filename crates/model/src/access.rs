//! Accesses to memory and when two of them conflict.

use crate::{SiteId, SiteKind, ThreadId};
use serde::{Deserialize, Serialize};

/// Bytes of memory: `start..start + len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ByteRange {
    /// First byte's address.
    pub start: u64,
    /// Number of bytes.
    pub len: u64,
}

impl ByteRange {
    /// Whether the two share a byte.
    pub fn overlaps(self, other: ByteRange) -> bool {
        self.len > 0
            && other.len > 0
            && self.start < other.start.saturating_add(other.len)
            && other.start < self.start.saturating_add(self.len)
    }
}

/// What an access does to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one statement.
    ReadWrite,
    /// Frees the block.
    Free,
}

/// One access that a thread made or is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// Who.
    pub thread: ThreadId,
    /// Where in the code.
    pub site: SiteId,
    /// What the statement is.
    pub kind: SiteKind,
    /// Which bytes.
    pub bytes: ByteRange,
}

impl Access {
    /// The access's kind without regard to atomicity.
    pub fn access_kind(&self) -> AccessKind {
        match self.kind {
            SiteKind::Free => AccessKind::Free,
            SiteKind::Write | SiteKind::AtomicStore => AccessKind::Write,
            k if k.writes() => AccessKind::ReadWrite,
            _ => AccessKind::Read,
        }
    }

    /// Whether the two are a data race if nothing orders them: different threads, a common byte, at
    /// least one write, at least one not atomic.
    pub fn conflicts(&self, other: &Access) -> bool {
        self.thread != other.thread
            && self.bytes.overlaps(other.bytes)
            && (self.kind.writes() || other.kind.writes())
            && !(self.kind.is_atomic() && other.kind.is_atomic())
    }
}
