//! What the linker read, kept in the linked file: which of it brought code without sites.
//!
//! The compiler driver puts a block of zeros into each program and library (section [`SECTION`], not loaded) and fills it
//! when the linker has said which files it read. A file whose block is missing or was not filled may hold anything.

use std::ops::Range;

/// Name of the section.
pub const SECTION: &str = ".dh.read";
/// Bytes of a block; one for each link that went into the file.
pub const BLOCK: usize = 4096;
/// First bytes of a block that was filled; the number of files without sites follows, then their names as far as there is
/// room, each ended by NUL.
const FILLED: [u8; 8] = *b"DHRD\x01\0\0\0";
/// Where the names begin.
const NAMES: usize = 16;

/// A block that was not filled yet.
pub fn empty() -> Vec<u8> {
    vec![0; BLOCK]
}

/// A filled block.
pub fn filled(names: &[String]) -> Vec<u8> {
    let mut block = FILLED.to_vec();
    block.extend((names.len() as u64).to_le_bytes());
    for name in names {
        if block.len() + name.len() < BLOCK {
            block.extend(name.bytes().chain([0]));
        }
    }
    block.resize(BLOCK, 0);
    block
}

/// Where blocks that were not filled lie in a section's bytes.
pub fn unfilled(section: &[u8]) -> Vec<Range<usize>> {
    let blocks = (0..section.len() / BLOCK).map(|n| n * BLOCK..(n + 1) * BLOCK);
    blocks
        .filter(|range| !section[range.clone()].starts_with(&FILLED))
        .collect()
}

/// The files without sites that the blocks name; none if not all that was linked is known.
pub fn without_sites(section: &[u8]) -> Option<Vec<String>> {
    if section.is_empty() || !section.len().is_multiple_of(BLOCK) || !unfilled(section).is_empty() {
        return None;
    }
    let mut all = Vec::new();
    for block in section.chunks_exact(BLOCK) {
        let count = block[FILLED.len()..NAMES]
            .iter()
            .rev()
            .fold(0, |n, b| n << 8 | u64::from(*b));
        let names = block[NAMES..].split(|b| *b == 0).filter(|name| !name.is_empty());
        let before = all.len();
        all.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        let more = count.saturating_sub((all.len() - before) as u64);
        if more > 0 {
            all.push(format!("{more} more"));
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_in_is_read() {
        let names = ["a.o".to_owned(), "b.a(c.o)".to_owned()];
        let mut section = filled(&names);
        assert_eq!(without_sites(&section), Some(names.to_vec()));
        section.extend(filled(&[]));
        assert_eq!(without_sites(&section), Some(names.to_vec()));
        section.extend(empty());
        assert!(unfilled(&section).into_iter().eq([2 * BLOCK].map(|at| at..at + BLOCK)));
        assert_eq!(without_sites(&section), None);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let names: Vec<String> = (0..1000).map(|n| format!("object{n}.o")).collect();
        let told = without_sites(&filled(&names)).unwrap();
        assert!(told.len() < 1000 && told.last().unwrap().ends_with(" more"), "{told:?}");
    }

    #[test]
    fn nothing_is_known_of_a_file_without_a_block() {
        assert_eq!(without_sites(b""), None);
        assert_eq!(without_sites(&empty()[1..]), None);
    }
}
