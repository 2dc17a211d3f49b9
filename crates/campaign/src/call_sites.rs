//! The sites of code that calls the `__tsan_*` interface, found in the linked file.
//!
//! Such code has no tables: its calls are the sites (`deadheat_wire::calls`). Here the calls are looked for as the
//! bytes of their instructions, `e8 rel32` and `ff 15 rel32`, whose target is one of the interface's functions, its
//! entry in a procedure linkage table or its slot of the global offset table. What looks like such a call within
//! another instruction costs a row that no run ever names. A jump to such a function instead of a call at a function's
//! end (an atomic operation in code without entries and exits) is not found.
//!
//! Cost: one pass over the file's code, and a look-up in its debug information for each call.

use deadheat_report::symbol::Symboliser;
use deadheat_wire::calls::{self, SECOND};
use deadheat_wire::object::SiteDesc;
use deadheat_wire::sites::{Location, Site};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SectionKind};
use std::collections::HashMap;
use std::path::Path;

type Sites = (SiteDesc, Option<SiteDesc>);

/// Bytes of an entry of a procedure linkage table.
const ENTRY: usize = 16;

/// The sites of a linked file by their index, ascending.
pub fn read(path: &Path) -> Vec<(u32, Site)> {
    let Ok(bytes) = std::fs::read(path) else {
        return Vec::new();
    };
    let Ok(elf) = object::File::parse(&*bytes) else {
        return Vec::new();
    };
    let targets = Targets::of(&elf);
    if targets.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(u64, SiteDesc)> = Vec::new();
    for section in code(&elf) {
        targets.calls(
            section.address(),
            section.data().unwrap_or_default(),
            |site, (one, two)| {
                found.push((site, one));
                found.extend(two.map(|two| (site - SECOND, two)));
            },
        );
    }
    found.sort_unstable_by_key(|(site, _)| *site);
    let mut names = Symboliser::new([(path.to_owned(), 0)]);
    let mut ordinals: HashMap<String, u32> = HashMap::new();
    let named = found.into_iter().filter_map(|(address, desc)| {
        let mut site = named(&mut names, address, desc);
        let ordinal = ordinals.entry(site.function.clone()).or_default();
        site.desc.ordinal = *ordinal;
        *ordinal += 1;
        Some((u32::try_from(address).ok()?, site))
    });
    named.collect()
}

fn code<'a, 'f>(elf: &'f object::File<'a>) -> impl Iterator<Item = object::Section<'a, 'f>> {
    elf.sections()
        .filter(|s| s.kind() == SectionKind::Text && !s.name().is_ok_and(|n| n.starts_with(".plt")))
}

/// The site with its function and its place in the source.
fn named(names: &mut Symboliser, address: u64, desc: SiteDesc) -> Site {
    let frames = names.frames(address, false);
    let location = frames.iter().rev().fold(None, |outer: Option<Location>, frame| {
        Some(Location {
            file: frame.file.clone(),
            directory: String::new(),
            line: frame.line,
            column: frame.column,
            function: frame.function.clone(),
            inlined_at: outer.map(Box::new),
        })
    });
    Site {
        desc,
        function: frames.last().map(|f| f.function.clone()).unwrap_or_default(),
        location: location.filter(|l| l.line > 0),
    }
}

/// What a call may lead to.
#[derive(Default)]
struct Targets {
    /// Addresses of functions and of entries of linkage tables.
    functions: HashMap<u64, Sites>,
    /// Slots of the global offset table.
    slots: HashMap<u64, Sites>,
}

impl Targets {
    fn of(elf: &object::File<'_>) -> Targets {
        let mut targets = Targets::default();
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            if symbol.is_definition()
                && let Some(sites) = symbol.name().ok().and_then(calls::sites)
            {
                targets.functions.insert(symbol.address(), sites);
            }
        }
        let symbols = elf.dynamic_symbol_table();
        for (slot, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            if let (object::RelocationTarget::Symbol(index), Some(symbols)) = (relocation.target(), &symbols)
                && let Ok(symbol) = symbols.symbol_by_index(index)
                && let Some(sites) = symbol.name().ok().and_then(calls::sites)
            {
                targets.slots.insert(slot, sites);
            }
        }
        for table in elf.sections().filter(|s| s.name().is_ok_and(|n| n.starts_with(".plt"))) {
            targets.linkage_table(table.address(), table.data().unwrap_or_default());
        }
        targets
    }

    /// The entries of a procedure linkage table that jump through one of the slots.
    fn linkage_table(&mut self, address: u64, bytes: &[u8]) {
        for (n, entry) in bytes.chunks(ENTRY).enumerate() {
            let at = address + (n * ENTRY) as u64;
            for offset in 0..entry.len() {
                if let Some(slot) = jumps_to(entry, offset, [0xff, 0x25], at)
                    && let Some(sites) = self.slots.get(&slot)
                {
                    self.functions.insert(at, *sites);
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.slots.is_empty()
    }

    /// Tells of each call in this code: its site and what it stands for.
    fn calls(&self, address: u64, code: &[u8], mut found: impl FnMut(u64, Sites)) {
        for at in 0..code.len() {
            let (target, len) = match code[at] {
                0xe8 => (relative(code, at + 1, address).and_then(|t| self.functions.get(&t)), 5),
                0xff => (
                    jumps_to(code, at, [0xff, 0x15], address).and_then(|slot| self.slots.get(&slot)),
                    6,
                ),
                _ => continue,
            };
            if let Some(sites) = target {
                found(address + at as u64 + len - 1, *sites);
            }
        }
    }
}

/// What the 32-bit distance at `at` leads to, in code at `address`.
fn relative(code: &[u8], at: usize, address: u64) -> Option<u64> {
    let distance = i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?);
    Some((address + at as u64 + 4).wrapping_add_signed(distance.into()))
}

/// The slot of an instruction with this opcode at `at`.
fn jumps_to(code: &[u8], at: usize, opcode: [u8; 2], address: u64) -> Option<u64> {
    if code.get(at..at + 2)? == opcode {
        relative(code, at + 2, address)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_model::SiteKind;

    fn targets() -> Targets {
        let mut targets = Targets::default();
        targets.functions.insert(0x2000, calls::sites("__tsan_read4").unwrap());
        targets.slots.insert(0x3000, calls::sites("__tsan_memcpy").unwrap());
        targets
    }

    fn calls_in(code: &[u8]) -> Vec<(u64, SiteKind)> {
        let mut found = Vec::new();
        targets().calls(0x1000, code, |at, (one, _)| found.push((at, one.kind)));
        found
    }

    #[test]
    fn calls_are_found_by_what_they_lead_to() {
        let mut code = vec![0x90, 0xe8];
        code.extend(0x0ffa_u32.to_le_bytes()); // 0x1006 + 0xffa = 0x2000
        code.extend([0xff, 0x15]);
        code.extend(0x1ff4_u32.to_le_bytes()); // 0x100c + 0x1ff4 = 0x3000
        code.extend([0xe8, 1, 0, 0, 0, 0xe8, 1]);
        assert_eq!(calls_in(&code), [(0x1005, SiteKind::Read), (0x100b, SiteKind::Write)]);
    }

    #[test]
    fn entries_of_linkage_tables_stand_for_their_slot() {
        let mut targets = targets();
        let mut entry = vec![0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25];
        entry.extend(0x1ff6_u32.to_le_bytes()); // 0x100a + 0x1ff6 = 0x3000
        entry.resize(ENTRY, 0x90);
        targets.linkage_table(0x1000, &entry);
        assert_eq!(targets.functions.get(&0x1000).map(|s| s.0.kind), Some(SiteKind::Write));
    }
}
