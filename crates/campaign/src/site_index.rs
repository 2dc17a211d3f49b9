//! The sites of a run's modules: from a site to its statement, from a statement to all its copies.

use crate::statement::Statement;
use deadheat_model::SiteId;
use deadheat_wire::object::{DESCS, META, UNIT_OPAQUE_ASSEMBLY, UNITS};
use deadheat_wire::record::Module;
use deadheat_wire::sites::{Section, Site, Tables, Unit};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::path::Path;

/// The sections of one linked file.
#[derive(Debug, Default)]
struct File {
    descs: (u64, Vec<u8>),
    meta: (u64, Vec<u8>),
    units: (u64, Vec<u8>),
}

/// Index over the sites of the modules of a run, in the order of [`SiteId::module`].
#[derive(Debug, Default)]
pub struct SiteIndex {
    paths: Vec<String>,
    files: Vec<File>,
    copies: HashMap<Statement, Vec<SiteId>>,
}

fn read(path: &Path) -> File {
    let Ok(bytes) = std::fs::read(path) else {
        return File::default();
    };
    let Ok(elf) = object::File::parse(&*bytes) else {
        return File::default();
    };
    let section = |name: &str| {
        let found = elf.section_by_name(name);
        found
            .map(|s| (s.address(), s.data().unwrap_or_default().to_vec()))
            .unwrap_or_default()
    };
    File {
        descs: section(DESCS),
        meta: section(META),
        units: section(UNITS),
    }
}

impl File {
    fn tables(&self) -> Tables<'_> {
        fn borrow(s: &(u64, Vec<u8>)) -> Section<'_> {
            Section {
                address: s.0,
                bytes: &s.1,
            }
        }
        Tables {
            descs: borrow(&self.descs),
            meta: borrow(&self.meta),
            units: borrow(&self.units),
        }
    }
}

impl SiteIndex {
    /// Reads the tables of these modules.
    pub fn read(modules: &[Module]) -> SiteIndex {
        let mut index = SiteIndex::default();
        for module in modules {
            index.add(&module.path);
        }
        index
    }

    /// Reads the tables of modules that are not known yet.
    pub fn extend(&mut self, modules: &[Module]) {
        for module in modules.iter().skip(self.paths.len()) {
            self.add(&module.path);
        }
    }

    /// Whether the modules of another run have the same numbers.
    pub fn agrees(&self, modules: &[Module]) -> bool {
        self.paths
            .iter()
            .zip(modules)
            .all(|(have, module)| *have == module.path)
    }

    fn add(&mut self, path: &str) {
        let number = self.files.len() as u16;
        let file = read(Path::new(path));
        let tables = file.tables();
        for index in 0..tables.len() as u32 {
            if let Some(site) = tables.site(index).filter(|s| s.desc.kind.is_access()) {
                self.copies
                    .entry(Statement::of(&site))
                    .or_default()
                    .push(SiteId { module: number, index });
            }
        }
        self.files.push(file);
        self.paths.push(path.into());
    }

    /// Number of watched statements.
    pub fn statements(&self) -> usize {
        self.copies.len()
    }

    /// The site with its names.
    pub fn site(&self, id: SiteId) -> Option<Site> {
        self.files.get(usize::from(id.module))?.tables().site(id.index)
    }

    /// The statement of a site.
    pub fn statement(&self, id: SiteId) -> Option<Statement> {
        self.site(id).map(|s| Statement::of(&s))
    }

    /// All copies of a statement, ascending.
    pub fn copies(&self, statement: &Statement) -> Vec<SiteId> {
        self.copies.get(statement).cloned().unwrap_or_default()
    }

    /// The translation units.
    pub fn units(&self) -> Vec<Unit> {
        self.files.iter().flat_map(|f| f.tables().units()).collect()
    }

    /// Whether some unit has inline assembly that may synchronise unseen.
    pub fn opaque_assembly(&self) -> bool {
        self.units().iter().any(|u| u.flags & UNIT_OPAQUE_ASSEMBLY != 0)
    }
}
