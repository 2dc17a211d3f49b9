//! The debug information of one file, loaded.

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianArcSlice, LittleEndian, Reader as _, UnitOffset};
use object::{Object, ObjectSection, ObjectSymbol};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

pub(super) type Slice = EndianArcSlice<LittleEndian>;
pub(super) type Unit = gimli::Unit<Slice>;
pub(super) type Entry = DebuggingInformationEntry<Slice>;

/// A data symbol.
pub(super) struct Symbol {
    pub address: u64,
    pub size: u64,
    pub name: String,
}

/// Debug information, data symbols and thread-local size of a file; empty where the file has none.
pub(super) struct Debug {
    pub dwarf: Dwarf<Slice>,
    pub units: Vec<Unit>,
    pub symbols: Vec<Symbol>,
    /// Size of the thread-local block, rounded up to its alignment.
    pub thread_local_size: u64,
}

impl Default for Debug {
    fn default() -> Debug {
        let Ok(dwarf) = Dwarf::load(|_| Ok::<_, Infallible>(Slice::new(Arc::from([]), LittleEndian)));
        Debug {
            dwarf,
            units: Vec::new(),
            symbols: Vec::new(),
            thread_local_size: 0,
        }
    }
}

impl Debug {
    pub(super) fn read(path: &Path) -> Debug {
        let Ok(bytes) = std::fs::read(path) else {
            return Debug::default();
        };
        let Ok(file) = object::File::parse(&*bytes) else {
            return Debug::default();
        };
        let section = |id: gimli::SectionId| -> Result<Slice, Infallible> {
            let data = file
                .section_by_name(id.name())
                .and_then(|s| s.uncompressed_data().ok())
                .unwrap_or_default();
            Ok(Slice::new(Arc::from(&*data), LittleEndian))
        };
        let Ok(dwarf) = Dwarf::load(section);
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let mut symbols: Vec<Symbol> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|s| s.kind() == object::SymbolKind::Data && s.address() != 0)
            .map(|s| Symbol {
                address: s.address(),
                size: s.size(),
                name: super::demangle(s.name().unwrap_or_default()),
            })
            .collect();
        symbols.sort_by_key(|s| s.address);
        let thread_local_size = thread_local_size(&bytes);
        Debug {
            dwarf,
            units,
            symbols,
            thread_local_size,
        }
    }

    pub(super) fn text(&self, unit: &Unit, value: AttributeValue<Slice>) -> Option<String> {
        let text = self.dwarf.attr_string(unit, value).ok()?;
        text.to_string_lossy().ok().map(|t| t.into_owned())
    }

    /// The name of an entry, its own or that of the declaration or origin it refers to.
    pub(super) fn name(&self, unit: &Unit, entry: &Entry) -> Option<String> {
        if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
            return self.text(unit, name);
        }
        let origin = self.origin(unit, entry)?;
        origin.attr_value(gimli::DW_AT_name).and_then(|n| self.text(unit, n))
    }

    /// The type of an entry, its own or its origin's.
    pub(super) fn type_of(&self, unit: &Unit, entry: &Entry) -> Option<UnitOffset> {
        reference(entry, gimli::DW_AT_type).or_else(|| reference(&self.origin(unit, entry)?, gimli::DW_AT_type))
    }

    fn origin(&self, unit: &Unit, entry: &Entry) -> Option<Entry> {
        let at =
            reference(entry, gimli::DW_AT_specification).or_else(|| reference(entry, gimli::DW_AT_abstract_origin));
        unit.entry(at?).ok()
    }
}

/// A reference within the unit.
pub(super) fn reference(entry: &Entry, name: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// An unsigned constant attribute.
pub(super) fn constant(entry: &Entry, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

fn thread_local_size(bytes: &[u8]) -> u64 {
    use object::read::elf::{ElfFile64, ProgramHeader};
    let Ok(file) = ElfFile64::<object::Endianness>::parse(bytes) else {
        return 0;
    };
    let endian = file.endian();
    let block = file
        .elf_program_headers()
        .iter()
        .find(|h| h.p_type(endian) == object::elf::PT_TLS);
    block.map_or(0, |h| h.p_memsz(endian).next_multiple_of(h.p_align(endian).max(1)))
}
