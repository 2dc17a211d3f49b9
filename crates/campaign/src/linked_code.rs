//! The functions of a linked program as measuring sees them: which have an entry, who calls whom in the machine code,
//! what else refers to them.
//!
//! References are looked for as the 32-bit distances that they are in position-independent code: at each byte of the
//! code, what the four bytes from there lead to. After `e8` that is a call; everything else that leads to a function's
//! start is a jump, an address that is taken, or chance, and makes it one whose callers are not known; so does a short
//! jump from its neighbour, for which the code is decoded. Addresses in data are the program's relocations and the words that they may have
//! left behind. Detecting bodies do not run when functions are measured, so that what they refer to does not count.
//!
//! Cost: one look-up for each byte of code.

use deadheat_model::SiteKind;
use deadheat_pairs::LinkedFunction;
use deadheat_wire::object::{DESCS, META, PATCH_SIZE, SITE_SIZE, SITES, UNITS, VARIANT_SIZE, VARIANTS};
use deadheat_wire::sites::{Section, Tables};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The functions of a linked program.
#[derive(Debug, Default)]
pub struct LinkedCode {
    /// Ascending by address.
    pub functions: Vec<LinkedFunction>,
    /// The index of each one's entry site, if it has one.
    pub entries: Vec<Option<u32>>,
}

/// The code of one function.
#[derive(Clone, Copy, Debug)]
struct Extent {
    start: u64,
    end: u64,
    /// It runs in phase 1 only.
    detecting: bool,
}

struct Reader<'a> {
    elf: object::File<'a>,
    extents: Vec<Extent>,
    starts: HashMap<u64, u32>,
    code: LinkedCode,
}

/// Reads a program's file.
///
/// # Errors
/// Why its functions are not known, in words.
pub fn read(path: &Path) -> Result<LinkedCode, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let elf = object::File::parse(&*bytes).map_err(|e| e.to_string())?;
    if elf.kind() != object::ObjectKind::Dynamic {
        return Err("it is not position independent".into());
    }
    let mut reader = Reader::new(elf)?;
    reader.sites();
    reader.references_in_code();
    reader.references_in_data();
    Ok(reader.code)
}

impl<'a> Reader<'a> {
    fn new(elf: object::File<'a>) -> Result<Reader<'a>, String> {
        let mut found: Vec<(u64, u64, String)> = elf
            .symbols()
            .filter(|s| s.is_definition() && s.kind() == SymbolKind::Text && s.size() > 0)
            .map(|s| (s.address(), s.address() + s.size(), s.name().unwrap_or_default().into()))
            .collect();
        found.sort();
        found.dedup();
        if found.is_empty() {
            return Err("its symbols were stripped".into());
        }
        let mut reader = Reader {
            elf,
            extents: Vec::new(),
            starts: HashMap::new(),
            code: LinkedCode::default(),
        };
        for (start, end, name) in found {
            match reader.extents.last_mut() {
                Some(last) if last.start == start => {
                    last.end = last.end.max(end);
                    let known = reader.code.functions.last_mut();
                    known.into_iter().for_each(|f| f.names.push(name.clone()));
                }
                _ => {
                    let place = reader.extents.len() as u32;
                    reader.starts.insert(start, place);
                    reader.extents.push(Extent {
                        start,
                        end,
                        detecting: false,
                    });
                    reader.code.functions.push(LinkedFunction {
                        names: vec![name],
                        sources: Some(Vec::new()),
                        ..LinkedFunction::default()
                    });
                }
            }
        }
        reader.code.entries = vec![None; reader.extents.len()];
        Ok(reader)
    }

    fn section(&self, name: &str) -> (u64, Vec<u8>) {
        let found = self.elf.section_by_name(name);
        found.map_or((0, Vec::new()), |s| {
            (s.address(), s.data().unwrap_or_default().to_vec())
        })
    }

    /// The function at an address.
    fn containing(&self, address: u64) -> Option<usize> {
        let at = self.extents.partition_point(|e| e.start <= address).checked_sub(1)?;
        (address < self.extents[at].end).then_some(at)
    }

    /// Entries, what is watched where, and which bodies detect.
    fn sites(&mut self) {
        let (address, rows) = self.section(VARIANTS);
        for (n, row) in rows.chunks_exact(VARIANT_SIZE).enumerate() {
            let place = leads_to(address + (n * VARIANT_SIZE) as u64 + 4, &row[4..]);
            if let Some(at) = place.and_then(|a| self.containing(a)) {
                self.extents[at].detecting = true;
            }
        }
        let (descs, meta, units) = (self.section(DESCS), self.section(META), self.section(UNITS));
        fn borrow(section: &(u64, Vec<u8>)) -> Section<'_> {
            Section {
                address: section.0,
                bytes: &section.1,
            }
        }
        let tables = Tables {
            descs: borrow(&descs),
            meta: borrow(&meta),
            units: borrow(&units),
        };
        let mut sources: Vec<Option<BTreeSet<String>>> = vec![Some(BTreeSet::new()); self.extents.len()];
        let (address, rows) = self.section(SITES);
        for (n, row) in rows.chunks_exact(PATCH_SIZE).enumerate() {
            let row_address = address + (n * PATCH_SIZE) as u64;
            let nop = leads_to(row_address, row).and_then(|a| self.containing(a));
            let index = leads_to(row_address + 4, &row[4..])
                .and_then(|desc| u32::try_from(desc.checked_sub(descs.0)? / SITE_SIZE as u64).ok());
            let (Some(at), Some(index)) = (nop, index) else {
                continue;
            };
            let Some(site) = tables.site(index) else { continue };
            match site.desc.kind {
                // Two entries in one function: neither is its own.
                SiteKind::Entry => {
                    self.code.functions[at].measurable = self.code.entries[at].is_none();
                    self.code.entries[at] = Some(index);
                }
                kind if kind.is_access() => match site.location {
                    Some(location) => drop(sources[at].as_mut().map(|names| names.insert(location.function))),
                    None => sources[at] = None,
                },
                _ => {}
            }
        }
        for (function, names) in self.code.functions.iter_mut().zip(sources) {
            function.sources = names.map(|names| names.into_iter().collect());
        }
    }

    fn references_in_code(&mut self) {
        let mut callers: HashSet<(u32, u32)> = HashSet::new();
        let mut referred: HashSet<u32> = HashSet::new();
        for section in self.elf.sections().filter(|s| s.kind() == SectionKind::Text) {
            let (address, bytes) = (section.address(), section.data().unwrap_or_default());
            for (at, distance) in bytes.windows(4).enumerate() {
                let place = address + at as u64;
                let Some(to) = leads_to(place, distance).and_then(|t| self.starts.get(&(t + 4)).copied()) else {
                    continue;
                };
                let from = self.containing(place);
                // The zeros of the padding before a function.
                if from.is_none() && distance == [0; 4] {
                    continue;
                }
                if from.is_some_and(|f| self.extents[f].detecting) {
                    continue;
                }
                match from {
                    Some(from) if at > 0 && bytes[at - 1] == 0xe8 => drop(callers.insert((to, from as u32))),
                    // Back to its own start.
                    Some(from) if from as u32 == to => {}
                    _ => drop(referred.insert(to)),
                }
            }
            for (from, extent) in self.extents.iter().enumerate().filter(|(_, e)| !e.detecting) {
                let Some(first) = extent.start.checked_sub(address) else {
                    continue;
                };
                let code = bytes.get(first as usize..(extent.end - address) as usize);
                let jumps = code.into_iter().flat_map(|code| short_jumps(extent.start, code));
                let others = jumps.filter_map(|to| self.starts.get(&to).copied());
                referred.extend(others.filter(|to| *to != from as u32));
            }
        }
        let mut callers: Vec<(u32, u32)> = callers.into_iter().collect();
        callers.sort_unstable();
        for (to, from) in callers {
            self.code.functions[to as usize].callers.push(from);
        }
        for to in referred {
            self.code.functions[to as usize].referred = true;
        }
    }

    fn references_in_data(&mut self) {
        let mut addresses: HashSet<u64> = HashSet::new();
        let relocations = self.elf.dynamic_relocations().into_iter().flatten();
        addresses.extend(relocations.map(|(_, relocation)| relocation.addend() as u64));
        let exported = self.elf.dynamic_symbols().filter(|s| s.is_definition());
        addresses.extend(exported.map(|s| s.address()));
        let is_data = |kind| matches!(kind, SectionKind::Data | SectionKind::ReadOnlyData);
        for section in self.elf.sections().filter(|s| is_data(s.kind())) {
            let words = section.data().unwrap_or_default().chunks_exact(8);
            addresses.extend(words.filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))));
        }
        for (start, at) in &self.starts {
            self.code.functions[*at as usize].referred |= addresses.contains(start);
        }
    }
}

/// Where the jumps of two bytes in the code of a function lead. What cannot be decoded is passed over.
fn short_jumps(start: u64, code: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let instructions = Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter();
    let short =
        |i: &Instruction| i.is_jmp_short() || i.is_jcc_short() || i.is_jcx_short() || i.is_loop() || i.is_loopcc();
    instructions.filter(short).map(|i| i.near_branch_target())
}

/// Where the 32-bit distance at this address leads, counted from the field itself.
fn leads_to(field: u64, bytes: &[u8]) -> Option<u64> {
    let distance = i32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    field.checked_add_signed(distance.into())
}
