//! A freed block's story in three steps, for every format that has room for it.

use crate::finding::{FreedBlock, Place, Thread};

/// What was done with it, last things first, and where.
pub fn steps(block: &FreedBlock) -> Vec<(&str, &Place)> {
    let freed = block.freed.iter().map(|place| ("had freed the block", place));
    let allocated = block.allocated.iter().map(|place| ("had allocated it", place));
    let used = [(block.does.as_str(), &block.used)].into_iter();
    used.chain(freed)
        .chain(allocated)
        .filter(|(_, place)| !place.stack.is_empty())
        .collect()
}

/// The threads that had to do with it.
pub fn threads(block: &FreedBlock) -> impl Iterator<Item = &Thread> {
    let places = [Some(&block.used), block.freed.as_ref(), block.allocated.as_ref()];
    places.into_iter().flatten().map(|place| &place.thread)
}
