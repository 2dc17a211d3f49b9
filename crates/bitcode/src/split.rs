//! Splits a section of bitcode into modules.
//!
//! A linker concatenates the sections of its inputs, with zeros between them for alignment. Two forms are known: the
//! pass's own pieces (`deadheat_wire::object::BITCODE_MAGIC`, length, zstd), and plain bitcode one after another
//! (`-fembed-bitcode`, rustc), whose end only its own block structure tells.

use deadheat_wire::object::BITCODE_MAGIC;
use std::ops::Range;

/// The first bytes of a plain module.
pub const PLAIN: [u8; 4] = *b"BC\xc0\xde";
/// The first bytes of a module in a wrapper.
pub const WRAPPER: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];

/// The modules in a section, and what could not be made out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Where each module's bytes lie (the zstd frame, or plain bitcode).
    pub modules: Vec<Range<usize>>,
    /// Where in the section reading stopped making sense, and why. The rest is lost.
    pub damaged: Option<(usize, &'static str)>,
}

/// Splits a section.
pub fn split(section: &[u8]) -> Split {
    let mut split = Split::default();
    let mut at = 0;
    while at < section.len() {
        let rest = &section[at..];
        let length = if rest[0] == 0 {
            rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len())
        } else if rest.starts_with(&BITCODE_MAGIC) {
            match kept(rest) {
                Some(length) => {
                    split.modules.push(at + HEAD..at + length);
                    length
                }
                None => return split.damaged_at(at, "a kept module is cut off"),
            }
        } else if rest.starts_with(&PLAIN) || rest.starts_with(&WRAPPER) {
            match plain(rest) {
                Some(length) => {
                    split.modules.push(at..at + length);
                    length
                }
                None => return split.damaged_at(at, "a module of bitcode is cut off"),
            }
        } else {
            return split.damaged_at(at, "no module begins here");
        };
        at += length;
    }
    split
}

impl Split {
    fn damaged_at(mut self, at: usize, why: &'static str) -> Split {
        self.damaged = Some((at, why));
        self
    }
}

/// Magic and length of a kept module.
const HEAD: usize = BITCODE_MAGIC.len() + 8;

/// Bytes of the kept module at the start, its head included.
fn kept(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(BITCODE_MAGIC.len()..HEAD)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let end = HEAD.checked_add(length)?;
    (end <= bytes.len()).then_some(end)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Bytes of the plain module at the start: its magic, then blocks at abbreviation width 2, each
/// `ENTER_SUBBLOCK (2 bits), id (vbr8), width (vbr4), align, length in words`.
fn plain(bytes: &[u8]) -> Option<usize> {
    const ENTER_SUBBLOCK: u32 = 1;
    if bytes.starts_with(&WRAPPER) {
        // Offset and size of the module in the wrapper, which is padded to 16 bytes.
        let end = (word(bytes, 8)? as usize).checked_add(word(bytes, 12)? as usize)?;
        let padded = end.checked_next_multiple_of(16)?;
        return (end <= bytes.len()).then_some(padded.min(bytes.len()));
    }
    let mut at = PLAIN.len();
    let mut blocks = 0;
    while let Some(head) = word(bytes, at) {
        if head & 3 != ENTER_SUBBLOCK {
            break;
        }
        let length = word(bytes, at + 4)? as usize;
        at = at.checked_add(8)?.checked_add(length.checked_mul(4)?)?;
        blocks += 1;
        if at > bytes.len() {
            return None;
        }
    }
    (blocks > 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_module(content: &[u8]) -> Vec<u8> {
        let mut bytes = BITCODE_MAGIC.to_vec();
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    /// Magic and one block of `words` words.
    fn plain_module(words: u32) -> Vec<u8> {
        let mut bytes = PLAIN.to_vec();
        bytes.extend((1u32 | 13 << 2 | 5 << 10).to_le_bytes());
        bytes.extend(words.to_le_bytes());
        bytes.resize(bytes.len() + words as usize * 4, 0xff);
        bytes
    }

    #[test]
    fn concatenated_modules_come_apart() {
        let mut section = kept_module(b"one");
        section.extend([0; 5]);
        section.extend(kept_module(b"second"));
        section.extend(plain_module(3));
        section.extend(plain_module(1));
        let split = split(&section);
        let lengths: Vec<usize> = split.modules.iter().map(|range| range.len()).collect();
        assert_eq!((lengths, split.damaged), (vec![3, 6, 24, 16], None));
        assert_eq!(&section[split.modules[1].clone()], b"second");
    }

    #[test]
    fn damage_costs_what_follows_only() {
        let mut section = kept_module(b"one");
        let start = section.len();
        section.extend(kept_module(b"second"));
        section.pop();
        let split = split(&section);
        assert_eq!(
            (split.modules.len(), split.damaged),
            (1, Some((start, "a kept module is cut off")))
        );
        assert_eq!(super::split(b"noise").damaged, Some((0, "no module begins here")));
        assert_eq!(super::split(&plain_module(9)[..20]).damaged.map(|(at, _)| at), Some(0));
        assert_eq!(super::split(b""), Split::default());
    }

    proptest::proptest! {
        #[test]
        fn anything_splits_without_panic(bytes: Vec<u8>, first in 0..4usize) {
            let starts: [&[u8]; 4] = [&[], &BITCODE_MAGIC, &PLAIN, &WRAPPER];
            let mut section = starts[first].to_vec();
            section.extend(bytes);
            let split = split(&section);
            for range in split.modules {
                assert!(range.start < range.end.max(1) && range.end <= section.len());
            }
        }
    }
}
