//! The sites of a run's modules: from a site to its statement, from a statement to all its copies.

use crate::call_sites;
use crate::linked_files;
use crate::measuring::Function;
use crate::statement::Statement;
use deadheat_model::SiteId;
use deadheat_wire::object::{DESCS, META, UNIT_OPAQUE_ASSEMBLY, UNITS};
use deadheat_wire::record::Module;
use deadheat_wire::sites::{Section, Site, Tables, Unit};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// The sections of one linked file.
#[derive(Clone, Debug, Default)]
struct File {
    descs: (u64, Vec<u8>),
    meta: (u64, Vec<u8>),
    units: (u64, Vec<u8>),
    /// Start and end of the static variables, ascending.
    variables: Vec<(u64, u64)>,
    /// Objects and archives without sites that were linked into it, by the link's record.
    foreign: Vec<String>,
    /// Sites that are calls, by index, ascending; such a module has no tables.
    calls: Vec<(u32, Site)>,
}

/// Index over the sites of the modules of a run, in the order of [`SiteId::module`].
#[derive(Clone, Debug, Default)]
pub struct SiteIndex {
    /// Of each module its path, and whether its sites are calls.
    paths: Vec<(String, bool)>,
    files: Vec<File>,
    /// Each statement once, with all its copies, ascending.
    statements: Vec<(Statement, Vec<SiteId>)>,
    numbers: HashMap<Statement, u32>,
    of_site: HashMap<SiteId, u32>,
    /// Directories of compilation.
    directories: BTreeSet<String>,
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
        variables: variables(&elf),
        foreign: foreign(&elf, path),
        calls: Vec::new(),
    }
}

/// A module whose sites are calls. Its file's tables, if it has any, are another module's.
fn read_calls(path: &Path) -> File {
    File {
        calls: call_sites::read(path),
        ..File::default()
    }
}

fn variables(elf: &object::File<'_>) -> Vec<(u64, u64)> {
    let of_data = elf.symbols().filter(|s| s.kind() == SymbolKind::Data && s.size() > 0);
    let mut found: Vec<(u64, u64)> = of_data.map(|s| (s.address(), s.address() + s.size())).collect();
    found.sort_unstable();
    found
}

/// What brought code without sites into the file, as far as that is known. Shared libraries are judged by the runtime, as
/// loaded.
fn foreign(elf: &object::File<'_>, path: &Path) -> Vec<String> {
    let section = elf.section_by_name(linked_files::SECTION);
    let read = section.and_then(|s| s.data().ok()).unwrap_or_default();
    linked_files::without_sites(read).unwrap_or_else(|| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        vec![format!("what else was linked into {file} is not known")]
    })
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

/// What a file is called in a directory that it lies in.
fn within<'f>(directory: &str, file: &'f str) -> Option<&'f str> {
    let inside = file.strip_prefix(directory)?.strip_prefix('/');
    inside.filter(|_| !directory.is_empty())
}

impl SiteIndex {
    /// Reads the tables of these modules.
    pub fn read(modules: &[Module]) -> SiteIndex {
        let mut index = SiteIndex::default();
        for module in modules {
            index.add(module);
        }
        index
    }

    /// Reads the tables of these files alone: their functions have names, their statements are not told apart.
    pub fn of_paths(paths: &[String]) -> SiteIndex {
        SiteIndex {
            files: paths.iter().map(|path| read(Path::new(path))).collect(),
            paths: paths.iter().map(|path| (path.clone(), false)).collect(),
            ..SiteIndex::default()
        }
    }

    /// The function that a site is in.
    pub fn function(&self, id: SiteId) -> Function {
        let Some(site) = self.site(id) else {
            return Function::default();
        };
        let location = site.location.as_ref();
        Function {
            name: deadheat_report::symbol::demangle(&site.function),
            file: location.map(|l| l.file.clone()).unwrap_or_default(),
            line: location.map_or(0, |l| l.line),
        }
    }

    /// Reads the tables of modules that are not known yet.
    pub fn extend(&mut self, modules: &[Module]) {
        for module in modules.iter().skip(self.paths.len()) {
            self.add(module);
        }
    }

    /// Whether it knows no module.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether these are its modules.
    pub fn is_of(&self, modules: &[Module]) -> bool {
        self.paths.len() == modules.len() && self.agrees(modules)
    }

    /// Whether the modules of another run have the same numbers.
    pub fn agrees(&self, modules: &[Module]) -> bool {
        self.paths
            .iter()
            .zip(modules)
            .all(|(have, module)| have.0 == module.path && have.1 == module.calls)
    }

    fn add(&mut self, module: &Module) {
        let number = self.files.len() as u16;
        let path = Path::new(&module.path);
        let file = if module.calls { read_calls(path) } else { read(path) };
        let tables = file.tables();
        let rows = (0..tables.len() as u32).filter_map(|index| Some((index, tables.site(index)?)));
        for (index, site) in rows.chain(file.calls.iter().cloned()) {
            if site.desc.kind.is_access() {
                self.add_site(SiteId { module: number, index }, &site);
            }
        }
        self.files.push(file);
        self.paths.push((module.path.clone(), module.calls));
    }

    fn add_site(&mut self, id: SiteId, site: &Site) {
        let next = self.statements.len() as u32;
        let number = *self.numbers.entry(Statement::of(site)).or_insert_with_key(|statement| {
            self.statements.push((statement.clone(), Vec::new()));
            if !self.directories.contains(&statement.directory) {
                self.directories.insert(statement.directory.clone());
            }
            next
        });
        self.statements[number as usize].1.push(id);
        self.of_site.insert(id, number);
    }

    /// A file as it is named in the directory of its compilation, the innermost that it lies in.
    pub fn within<'f>(&self, file: &'f str) -> &'f str {
        let inside = self.directories.iter().filter_map(|d| within(d, file));
        inside.min_by_key(|f| f.len()).unwrap_or(file)
    }

    /// Number of watched statements.
    pub fn statements(&self) -> usize {
        self.statements.len()
    }

    /// The site with its names.
    pub fn site(&self, id: SiteId) -> Option<Site> {
        let file = self.files.get(usize::from(id.module))?;
        match file.calls.binary_search_by_key(&id.index, |(index, _)| *index) {
            Ok(at) => Some(file.calls[at].1.clone()),
            Err(_) => file.tables().site(id.index),
        }
    }

    /// The statement of a site that accesses memory.
    pub fn statement(&self, id: SiteId) -> Option<&Statement> {
        let number = self.number(id)?;
        self.statements.get(number as usize).map(|(statement, _)| statement)
    }

    /// All statements.
    pub fn all(&self) -> impl Iterator<Item = &Statement> {
        self.statements.iter().map(|(statement, _)| statement)
    }

    /// The number of a site's statement: equal for all its copies, meaningful in this index only.
    pub fn number(&self, id: SiteId) -> Option<u32> {
        self.of_site.get(&id).copied()
    }

    /// All copies of a statement, ascending.
    pub fn copies(&self, statement: &Statement) -> Vec<SiteId> {
        let number = self.numbers.get(statement);
        number.map_or_else(Vec::new, |n| self.statements[*n as usize].1.clone())
    }

    /// Start of the static variable at this address, where modules are loaded so (number, and where it was put).
    pub fn variable(&self, mut loaded: impl Iterator<Item = (usize, u64)>, address: u64) -> Option<u64> {
        loaded.find_map(|(number, bias)| {
            let file = self.files.get(number)?;
            let at = address.wrapping_sub(bias);
            let after = file.variables.partition_point(|(start, _)| *start <= at);
            let (start, end) = file.variables.get(after.checked_sub(1)?)?;
            (at < *end).then(|| start.wrapping_add(bias))
        })
    }

    /// The translation units.
    pub fn units(&self) -> Vec<Unit> {
        self.files.iter().flat_map(|f| f.tables().units()).collect()
    }

    /// Whether code without sites in these files may synchronise unseen: inline assembly, or whole objects that
    /// were assembled or built with another compiler.
    pub fn opaque_code(&self) -> bool {
        let assembly = self.units().iter().any(|u| u.flags & UNIT_OPAQUE_ASSEMBLY != 0);
        assembly || self.foreign().next().is_some() || self.has_calls()
    }

    /// Whether some code is instrumented for ThreadSanitizer, which says nothing of its inline assembly.
    pub fn has_calls(&self) -> bool {
        self.files.iter().any(|f| !f.calls.is_empty())
    }

    /// Objects and archives without sites that are linked in: what they do is not watched.
    pub fn foreign(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|f| &f.foreign).map(String::as_str)
    }
}
