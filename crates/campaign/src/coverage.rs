//! The branches of a program, as its symbolic flavour lists them.
//!
//! Rows come from the section `dh_branches` of the symbolic flavour (made by the pass, `concolic/branches.rs`),
//! hits from the runs' traces, in the same order. Branches are those of the front end's bitcode, so conditions
//! that an optimiser would have merged count one by one.

pub use deadheat_report::coverage::{Branch, Coverage};
use object::{Object, ObjectSection, RelocationTarget};
use std::collections::HashMap;
use std::path::Path;

/// Bytes of a row: `site u64, file ptr, function ptr, line u32, column u32, hits`.
const ROW: usize = 40;

/// The rows of a flavour; nothing is seen yet.
pub fn of(flavour: &Path) -> Coverage {
    let bytes = std::fs::read(flavour).unwrap_or_default();
    let branches = object::File::parse(&*bytes).map(|elf| rows(&elf)).unwrap_or_default();
    Coverage { branches }
}

fn rows(elf: &object::File<'_>) -> Vec<Branch> {
    let Some(section) = elf.section_by_name("dh_branches") else {
        return Vec::new();
    };
    let data = section.data().unwrap_or_default();
    // The pointers are filled in by the loader: what they will be stands in the relocations.
    let pointers: HashMap<u64, u64> = elf
        .dynamic_relocations()
        .into_iter()
        .flatten()
        .filter(|(_, r)| matches!(r.target(), RelocationTarget::Absolute | RelocationTarget::Symbol(_)))
        .map(|(at, r)| (at, r.addend() as u64))
        .collect();
    let text = |at: u64| pointers.get(&at).map(|to| string(elf, *to)).unwrap_or_default();
    let word = |row: &[u8], at: usize| row[at..at + 4].try_into().map(u32::from_le_bytes).unwrap_or(0);
    data.chunks_exact(ROW)
        .enumerate()
        .map(|(n, row)| {
            let base = section.address() + (n * ROW) as u64;
            let site = row[..8].try_into().map(u64::from_le_bytes).unwrap_or(0);
            Branch {
                site,
                file: text(base + 8),
                function: text(base + 16),
                line: word(row, 24),
                column: word(row, 28),
                ..Branch::default()
            }
        })
        .collect()
}

/// The C string at an address.
fn string(elf: &object::File<'_>, at: u64) -> String {
    for section in elf.sections() {
        let (start, size) = (section.address(), section.size());
        if start == 0 || at < start || at >= start + size {
            continue;
        }
        let Ok(data) = section.data() else { continue };
        let rest = data.get((at - start) as usize..).unwrap_or_default();
        let end = rest.iter().position(|b| *b == 0).unwrap_or(0);
        return String::from_utf8_lossy(&rest[..end]).into_owned();
    }
    String::new()
}
