//! Which ways the program's branches went over all explored inputs: a table, and lcov's format.
//!
//! Rows come from the section `dh_branches` of the symbolic flavour (made by the pass, `concolic/branches.rs`),
//! hits from the runs' traces, in the same order. Branches are those of the front end's bitcode, so conditions
//! that an optimiser would have merged count one by one.

use object::{Object, ObjectSection, RelocationTarget};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

/// Bytes of a row: `site u64, file ptr, function ptr, line u32, column u32, hits`.
const ROW: usize = 40;

/// One branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// What the constraints of paths call it.
    pub site: u64,
    /// Source file, as the compiler named it; empty if there was no debug information.
    pub file: String,
    /// The function whose source it is.
    pub function: String,
    /// Line, 0 unknown.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// Whether it was seen not taken, taken.
    pub seen: [bool; 2],
}

/// All branches of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// In the order of the flavour's rows.
    pub branches: Vec<Branch>,
}

impl Coverage {
    /// The rows of a flavour; nothing is seen yet.
    pub fn of(flavour: &Path) -> Coverage {
        let bytes = std::fs::read(flavour).unwrap_or_default();
        let branches = object::File::parse(&*bytes).map(|elf| rows(&elf)).unwrap_or_default();
        Coverage { branches }
    }

    /// Takes in a run's hits, two for each row; whether one was new.
    pub fn see(&mut self, hits: &[u8]) -> bool {
        let mut new = false;
        for (branch, hits) in self.branches.iter_mut().zip(hits.chunks_exact(2)) {
            for (seen, hit) in branch.seen.iter_mut().zip(hits) {
                new |= *hit != 0 && !*seen;
                *seen |= *hit != 0;
            }
        }
        new
    }

    /// Sides seen, and sides there are.
    pub fn sides(&self) -> (usize, usize) {
        let seen = self.branches.iter().flat_map(|b| b.seen).filter(|s| *s).count();
        (seen, 2 * self.branches.len())
    }

    /// Sides seen and sides there are, by file.
    fn by_file(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut files: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for branch in &self.branches {
            let entry = files.entry(&branch.file).or_default();
            entry.0 += branch.seen.iter().filter(|s| **s).count();
            entry.1 += 2;
        }
        files
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, (seen, all): (usize, usize)| {
            let part = 100.0 * seen as f64 / all.max(1) as f64;
            let _ = writeln!(text, "{seen:>7} of {all:>7} branch sides {part:>5.1} %  {name}");
        };
        let files = self.by_file();
        for (file, counts) in &files {
            line(if file.is_empty() { "(no source)" } else { file }, *counts);
        }
        line("all", self.sides());
        text
    }

    /// The format of lcov's tracefiles: branches only. A branch that was never reached has `-`.
    pub fn lcov(&self) -> String {
        let mut text = String::from("TN:deadheat\n");
        let mut files: BTreeMap<&str, Vec<&Branch>> = BTreeMap::new();
        for branch in self.branches.iter().filter(|b| !b.file.is_empty() && b.line > 0) {
            files.entry(&branch.file).or_default().push(branch);
        }
        for (file, mut branches) in files {
            branches.sort_by_key(|b| (b.line, b.column));
            let _ = writeln!(text, "SF:{file}");
            let (mut found, mut hit) = (0, 0);
            for (block, branch) in branches.iter().enumerate() {
                let reached = branch.seen.contains(&true);
                for (side, seen) in branch.seen.iter().enumerate() {
                    found += 1;
                    hit += usize::from(*seen);
                    let taken = if reached {
                        u8::from(*seen).to_string()
                    } else {
                        "-".into()
                    };
                    let _ = writeln!(text, "BRDA:{},{block},{side},{taken}", branch.line);
                }
            }
            let _ = writeln!(text, "BRF:{found}\nBRH:{hit}\nend_of_record");
        }
        text
    }
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
                seen: [false; 2],
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lcov_tells_unreached_from_untaken() {
        let branch = |line, seen| Branch {
            file: "a.c".into(),
            line,
            seen,
            ..Branch::default()
        };
        let coverage = Coverage {
            branches: vec![branch(9, [false, false]), branch(3, [true, false])],
        };
        let wanted = "TN:deadheat\nSF:a.c\nBRDA:3,0,0,1\nBRDA:3,0,1,0\nBRDA:9,1,0,-\nBRDA:9,1,1,-\nBRF:4\nBRH:1\nend_of_record\n";
        assert_eq!(coverage.lcov(), wanted);
        assert!(coverage.table().contains("1 of       4"), "{}", coverage.table());
    }
}
