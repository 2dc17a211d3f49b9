//! Groups: one check of a detecting body that stands for several statements.

use deadheat_model::ByteRange;
use deadheat_wire::object::{GROUP_ENTRY_SIZE, GROUP_HEAD_SIZE};

/// A statement of a group: it touches `size` bytes at `offset` from the check's start, and again every
/// `stride` bytes to the check's end (0: once).
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Address of the statement's descriptor.
    pub desc: u64,
    offset: i64,
    size: u64,
    stride: u64,
}

impl Part {
    /// The bytes of a granule that the statement touches when the check is of `start..start + len`, and
    /// the whole access that touches them.
    pub fn touches(&self, start: u64, len: u64, granule: u64) -> (u8, ByteRange) {
        let first = start.wrapping_add_signed(self.offset);
        if self.stride == 0 {
            let bytes = ByteRange {
                start: first,
                len: self.size,
            };
            return (crate::statements::mask(bytes, granule), bytes);
        }
        let (mut mask, mut found) = (0, ByteRange { start: first, len: 0 });
        let behind = granule
            .saturating_sub(first)
            .saturating_sub(self.size.saturating_sub(1));
        let mut at = first + behind.div_ceil(self.stride) * self.stride;
        while at < granule + 8 && at < start + len {
            let bytes = ByteRange {
                start: at,
                len: self.size,
            };
            let here = crate::statements::mask(bytes, granule);
            if here != 0 && mask == 0 {
                found = bytes;
            }
            mask |= here;
            at += self.stride;
        }
        (mask, found)
    }
}

/// The statements of the group whose descriptor is at `desc`.
pub fn parts(desc: u64) -> impl Iterator<Item = Part> {
    const EXTRA: u64 = 20;
    let word = |at: u64| {
        // SAFETY: the descriptor and its group lie in a loaded module's tables.
        unsafe { (at as *const i32).read_unaligned() }
    };
    let extra = word(desc + EXTRA);
    let group = (desc + EXTRA).wrapping_add_signed(extra.into());
    let count = if extra == 0 { 0 } else { word(group) as u32 };
    (0..u64::from(count)).map(move |n| {
        let entry = group + GROUP_HEAD_SIZE as u64 + n * GROUP_ENTRY_SIZE as u64;
        Part {
            desc: entry.wrapping_add_signed(word(entry).into()),
            offset: word(entry + 4).into(),
            size: u64::from(word(entry + 8) as u32),
            stride: u64::from(word(entry + 12) as u32),
        }
    })
}
