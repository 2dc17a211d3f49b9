//! Reads the site tables of a linked file, from the bytes and addresses of its sections.
//!
//! References are distances from the field that holds them, so a reader needs each section's virtual
//! address. Nothing is trusted: a reference that leads out of its section reads as nothing.

use crate::object::{LOCATION_SIZE, SITE_SIZE, SiteDesc, UNIT_SIZE};
use alloc::{boxed::Box, string::String, vec::Vec};

/// A section as it lies in the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Section<'a> {
    /// Virtual address of its first byte.
    pub address: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The tables of one linked file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tables<'a> {
    /// `dh_descs`.
    pub descs: Section<'a>,
    /// `dh_units`.
    pub units: Section<'a>,
    /// `dh_meta`.
    pub meta: Section<'a>,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// File as the compiler was given it.
    pub file: String,
    /// Directory in which it was compiled.
    pub directory: String,
    /// Line, from 1; 0 unknown.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
    /// Function whose source this is.
    pub function: String,
    /// Where that function was inlined, if it was.
    pub inlined_at: Option<Box<Location>>,
}

/// A site with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The descriptor.
    pub desc: SiteDesc,
    /// Symbol of the function whose code holds the site.
    pub function: String,
    /// Source location, if the unit was compiled with debug information.
    pub location: Option<Location>,
}

/// A translation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Layout version.
    pub version: u32,
    /// Source name.
    pub name: String,
    /// Sites in it.
    pub sites: u32,
    /// Functions instrumented.
    pub functions: u32,
    /// Inline assembly with memory operands.
    pub assembly: u32,
    /// Functions left alone as `naked`.
    pub naked: u32,
    /// Functions left alone as `no_sanitize`.
    pub no_sanitize: u32,
    /// `UNIT_*`.
    pub flags: u32,
}

/// An inlined-at chain longer than this is taken as damage.
const DEEPEST: usize = 64;

impl<'a> Section<'a> {
    fn at(&self, address: u64) -> Option<&'a [u8]> {
        self.bytes
            .get(usize::try_from(address.checked_sub(self.address)?).ok()?..)
    }

    fn string(&self, address: u64) -> Option<String> {
        let rest = self.at(address)?;
        let end = rest.iter().position(|b| *b == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

/// Where a self-relative reference at `field` leads.
fn target(field: u64, distance: i32) -> Option<u64> {
    if distance == 0 {
        None
    } else {
        field.checked_add_signed(distance.into())
    }
}

fn word(row: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(row.get(at..at + 4)?.try_into().ok()?))
}

impl Tables<'_> {
    /// Number of sites.
    pub fn len(&self) -> usize {
        self.descs.bytes.len() / SITE_SIZE
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The site with this index.
    pub fn site(&self, index: u32) -> Option<Site> {
        let at = index as usize * SITE_SIZE;
        let desc = SiteDesc::decode(self.descs.bytes.get(at..at + SITE_SIZE)?)?;
        let row = self.descs.address + at as u64;
        let function = target(row + 8, desc.function).and_then(|a| self.meta.string(a));
        let location = target(row + 12, desc.location).and_then(|a| self.location(a, DEEPEST));
        Some(Site {
            desc,
            function: function.unwrap_or_default(),
            location,
        })
    }

    fn location(&self, address: u64, depth: usize) -> Option<Location> {
        let row = self.meta.at(address)?.get(..LOCATION_SIZE)?;
        let reference = |at: usize| target(address + at as u64, word(row, at)? as i32);
        let string = |at: usize| reference(at).and_then(|a| self.meta.string(a)).unwrap_or_default();
        let inlined_at = match reference(16) {
            Some(next) if depth > 0 => self.location(next, depth - 1).map(Box::new),
            _ => None,
        };
        Some(Location {
            file: string(0),
            directory: string(4),
            line: word(row, 8)?,
            column: word(row, 12)?,
            function: string(20),
            inlined_at,
        })
    }

    /// The translation units.
    pub fn units(&self) -> Vec<Unit> {
        let rows = self.units.bytes.chunks_exact(UNIT_SIZE).enumerate();
        rows.filter_map(|(n, row)| {
            let address = self.units.address + (n * UNIT_SIZE) as u64;
            let name = target(address + 4, word(row, 4)? as i32).and_then(|a| self.meta.string(a));
            Some(Unit {
                version: word(row, 0)?,
                name: name.unwrap_or_default(),
                sites: word(row, 8)?,
                functions: word(row, 12)?,
                assembly: word(row, 16)?,
                naked: word(row, 20)?,
                no_sanitize: word(row, 24)?,
                flags: word(row, 28)?,
            })
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One site at 0x1000 whose location and names lie in a meta section at 0x2000.
    fn fabricate() -> (Vec<u8>, Vec<u8>) {
        let mut meta = alloc::vec![0u8; LOCATION_SIZE];
        let string_at = |meta: &mut Vec<u8>, s: &str| {
            let at = meta.len();
            meta.extend(s.as_bytes());
            meta.push(0);
            at as i32
        };
        let file = string_at(&mut meta, "bank.c");
        let function = string_at(&mut meta, "deposit");
        let mut put = |at: usize, v: i32| meta[at..at + 4].copy_from_slice(&v.to_le_bytes());
        put(0, file);
        put(8, 14);
        put(12, 7);
        put(20, function - 20);
        let mut descs = alloc::vec![2u8, 0, 0, 2];
        descs.extend(4u32.to_le_bytes());
        descs.extend((0x1000 + function - 8).to_le_bytes());
        descs.extend((0x1000i32 - 12).to_le_bytes());
        descs.extend(3u32.to_le_bytes());
        descs.extend(0u32.to_le_bytes());
        (descs, meta)
    }

    #[test]
    fn reads_a_site_with_its_names() {
        let (descs, meta) = fabricate();
        let tables = Tables {
            descs: Section {
                address: 0x1000,
                bytes: &descs,
            },
            meta: Section {
                address: 0x2000,
                bytes: &meta,
            },
            units: Section::default(),
        };
        let site = tables.site(0).expect("a site");
        assert_eq!(site.function, "deposit");
        let location = site.location.expect("a location");
        assert_eq!(
            (location.file.as_str(), location.line, location.column),
            ("bank.c", 14, 7)
        );
        assert_eq!(location.function, "deposit");
        assert!(tables.site(1).is_none());
    }

    #[test]
    fn a_wild_reference_reads_as_nothing() {
        let (mut descs, meta) = fabricate();
        descs[8..12].copy_from_slice(&i32::MAX.to_le_bytes());
        let tables = Tables {
            descs: Section {
                address: 0x1000,
                bytes: &descs,
            },
            meta: Section {
                address: 0x2000,
                bytes: &meta[..10],
            },
            units: Section::default(),
        };
        let site = tables.site(0).expect("a site");
        assert_eq!(site.function, "");
        assert!(site.location.is_none());
    }
}
