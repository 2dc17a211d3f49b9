//! The record of a link, kept in the linked file: section `.dh.link`.
//!
//! From it other flavours of a program can be linked later, and it says which of the program's parts have
//! no sites. The section holds, once per link that went into the file, [`MAGIC`], a `u64` length and that
//! much JSON ([`LinkRecord`]); linkers concatenate. It is not loaded with the program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use deadheat_campaign::linked_files;
use object::read::archive::ArchiveFile;
use object::{
    FileFlags, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SectionFlags, SectionKind, SymbolKind,
};
use serde::{Deserialize, Serialize};

use super::Language;
use super::command_line::{Argument, CommandLine, Content};
use super::rust::standard_library::Library;

/// Name of the section.
pub const SECTION: &str = ".dh.link";
/// First bytes of each record.
pub const MAGIC: [u8; 8] = *b"DHLK\x01\0\0\0";
/// Names of parts without sites that are kept; beyond it they are only counted.
const NAMES: usize = 64;
/// What the names begin with that code calls which is instrumented for ThreadSanitizer: such a call is a site.
pub const CALLS: &str = "__tsan_";

/// How a program or library was linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Version of this layout.
    pub version: u32,
    /// The working directory; the paths below start there.
    pub directory: String,
    /// `cc` or `c++`.
    pub driver: String,
    /// The user's arguments, response files expanded, before deadheat changed anything.
    pub arguments: Vec<String>,
    /// The file that is made.
    pub output: String,
    /// What went in, in order.
    pub inputs: Vec<LinkInput>,
}

/// One input of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkInput {
    /// Path, or `-lNAME` where it is not in a directory that the command line names.
    pub path: String,
    /// What it is.
    pub kind: InputKind,
    /// Objects in it that have sites.
    pub watched: u32,
    /// Objects in it that hold code but no sites.
    pub unwatched: u32,
    /// Names of those, as far as they fit.
    pub unwatched_names: Vec<String>,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Compiled in this command.
    Source,
    /// Assembled in this command.
    Assembly,
    /// An object file.
    Object,
    /// A static archive.
    Archive,
    /// A shared library.
    SharedLibrary,
    /// A linker script, a library that was not looked up, or unreadable.
    Other,
}

impl LinkRecord {
    /// Describes a link before it happens. Reads the headers of the objects that go in.
    pub fn describe(line: &CommandLine, words: &[OsString], directory: &Path) -> LinkRecord {
        let text = |word: &OsStr| word.to_string_lossy().into_owned();
        LinkRecord {
            version: 1,
            directory: text(directory.as_os_str()),
            driver: if line.language == Language::Cxx { "c++" } else { "cc" }.to_owned(),
            arguments: words.iter().map(|word| text(word)).collect(),
            output: text(line.last_value("-o").unwrap_or(OsStr::new("a.out"))),
            inputs: inputs(line),
        }
    }

    /// A relocatable object that holds nothing but this record, and room for what the linker will have read.
    pub fn to_object(&self) -> Option<Vec<u8>> {
        let json = serde_json::to_vec(self).ok()?;
        let mut data = MAGIC.to_vec();
        data.extend((json.len() as u64).to_le_bytes());
        data.extend(json);
        let mut file = object::write::Object::new(
            object::BinaryFormat::Elf,
            object::Architecture::X86_64,
            object::Endianness::Little,
        );
        // Only by the flags of its system a section that nothing refers to stays under bfd's --gc-sections.
        file.flags = FileFlags::Elf {
            os_abi: object::elf::ELFOSABI_GNU,
            abi_version: 0,
            e_flags: Default::default(),
        };
        let read = (linked_files::SECTION, linked_files::empty());
        // Without .note.GNU-stack the linker would make the program's stack executable.
        for (name, data) in [(SECTION, data), read, (".note.GNU-stack", Vec::new())] {
            let id = file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Other);
            let section = file.section_mut(id);
            section.flags = SectionFlags::Elf {
                sh_type: object::elf::SHT_PROGBITS,
                sh_flags: match data.is_empty() {
                    true => object::elf::SectionFlags(0),
                    false => object::elf::SHF_GNU_RETAIN,
                },
            };
            section.set_data(data, 1);
        }
        file.write().ok()
    }
}

/// The records in a section's bytes; damaged rest is left out.
pub fn parse(mut bytes: &[u8]) -> Vec<LinkRecord> {
    let mut records = Vec::new();
    while let Some(rest) = bytes.strip_prefix(&MAGIC) {
        let Some((length, rest)) = rest.split_first_chunk::<8>() else {
            break;
        };
        let length = u64::from_le_bytes(*length);
        let Some((json, rest)) = usize::try_from(length).ok().and_then(|n| rest.split_at_checked(n)) else {
            break;
        };
        records.extend(serde_json::from_slice::<LinkRecord>(json).ok());
        bytes = rest;
    }
    records
}

fn inputs(line: &CommandLine) -> Vec<LinkInput> {
    let directories = library_directories(line);
    line.arguments
        .iter()
        .filter_map(|argument| match argument {
            Argument::Input(index) => {
                let input = &line.inputs[*index];
                let path = Path::new(&input.path);
                Some(match input.content {
                    Content::Source | Content::Header | Content::Ir => counted(
                        path,
                        InputKind::Source,
                        Census {
                            watched: 1,
                            ..Census::default()
                        },
                    ),
                    Content::Assembly | Content::Foreign => {
                        let mut census = Census::default();
                        census.unwatched(input.path.to_string_lossy().into_owned());
                        counted(path, InputKind::Assembly, census)
                    }
                    Content::Linkable => inspect(path),
                })
            }
            Argument::Option(word) => library(word.as_bytes().strip_prefix(b"-l")?, &directories),
            Argument::WithValue(word, name) if word == "-l" => library(name.as_bytes(), &directories),
            _ => None,
        })
        .collect()
}

/// The directories that `-L` names.
fn library_directories(line: &CommandLine) -> Vec<PathBuf> {
    let directory = |argument: &Argument| match argument {
        Argument::WithValue(word, value) if word == "-L" => Some(PathBuf::from(value)),
        Argument::Option(word) => word
            .as_bytes()
            .strip_prefix(b"-L")
            .map(|d| PathBuf::from(OsStr::from_bytes(d))),
        _ => None,
    };
    line.arguments.iter().filter_map(directory).collect()
}

/// What `-lNAME` finds in the user's own directories; the system's libraries are named only.
fn library(name: &[u8], directories: &[PathBuf]) -> Option<LinkInput> {
    let name = OsStr::from_bytes(name);
    if name.is_empty() {
        return None;
    }
    let candidates = |directory: &PathBuf| {
        ["so", "a"].map(|extension| directory.join(format!("lib{}.{extension}", name.to_string_lossy())))
    };
    let found = directories.iter().flat_map(candidates).find(|path| path.is_file());
    let named = || {
        counted(
            Path::new(&format!("-l{}", name.to_string_lossy())),
            InputKind::Other,
            Census::default(),
        )
    };
    Some(found.map_or_else(named, |path| inspect(&path)))
}

/// Objects with and without sites.
#[derive(Default)]
struct Census {
    watched: u32,
    unwatched: u32,
    names: Vec<String>,
}

impl Census {
    fn unwatched(&mut self, name: String) {
        self.unwatched += 1;
        if self.names.len() < NAMES {
            self.names.push(name);
        }
    }

    /// Counts one object by its sections.
    fn object<'data, R: ReadRef<'data>>(&mut self, file: &object::File<'data, R>, name: String) {
        let named = |wanted: &str| file.sections().any(|s| s.name() == Ok(wanted));
        let has_code = || file.sections().any(|s| s.kind() == SectionKind::Text && s.size() > 0);
        let calls = || {
            file.symbols()
                .any(|s| s.is_undefined() && s.name().is_ok_and(|n| n.starts_with(CALLS)))
        };
        if named("dh_units") || calls() {
            self.watched += 1;
        } else if has_code() && !is_rusts_own(file, &name) {
            self.unwatched(name);
        }
    }
}

/// What of Rust's own has no sites and hides nothing by it: libraries that share nothing, and the object that
/// rustc makes to name the allocator.
pub fn is_rusts_own<'data, R: ReadRef<'data>>(file: &object::File<'data, R>, name: &str) -> bool {
    let archive = Path::new(name.split('(').next().unwrap_or_default());
    let names_allocator = |name: &str| name.contains("___rustc") && name.contains("__rust_");
    let mut functions = file
        .symbols()
        .filter(|s| s.is_definition() && s.kind() == SymbolKind::Text)
        .peekable();
    Library::at(archive).is_some_and(|library| !library.is_watched())
        || functions.peek().is_some() && functions.all(|s| s.name().is_ok_and(names_allocator))
}

fn counted(path: &Path, kind: InputKind, census: Census) -> LinkInput {
    LinkInput {
        path: path.to_string_lossy().into_owned(),
        kind,
        watched: census.watched,
        unwatched: census.unwatched,
        unwatched_names: census.names,
    }
}

fn inspect(path: &Path) -> LinkInput {
    let mut census = Census::default();
    let kind = File::open(path)
        .ok()
        .and_then(|file| inspect_file(&ReadCache::new(file), path, &mut census));
    counted(path, kind.unwrap_or(InputKind::Other), census)
}

fn inspect_file(data: &ReadCache<File>, path: &Path, census: &mut Census) -> Option<InputKind> {
    let name = path.to_string_lossy().into_owned();
    if let Ok(archive) = ArchiveFile::parse(data) {
        for member in archive.members().flatten() {
            let member_name = format!("{name}({})", String::from_utf8_lossy(member.name()));
            if member.is_thin() {
                let beside = path
                    .parent()
                    .unwrap_or(Path::new(""))
                    .join(OsStr::from_bytes(member.name()));
                let inner = inspect(&beside);
                census.watched += inner.watched;
                inner
                    .unwatched_names
                    .into_iter()
                    .for_each(|name| census.unwatched(name));
            } else if let Ok(file) = object::File::parse(data.range(member.file_range().0, member.file_range().1)) {
                census.object(&file, member_name);
            }
        }
        return Some(InputKind::Archive);
    }
    let file = object::File::parse(data).ok()?;
    census.object(&file, name);
    Some(match file.kind() {
        object::ObjectKind::Relocatable => InputKind::Object,
        _ => InputKind::SharedLibrary,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(output: &str) -> LinkRecord {
        let words: Vec<OsString> = ["-o", output, "a.c", "b.s", "-lm"].map(OsString::from).to_vec();
        LinkRecord::describe(&CommandLine::parse(Language::C, &words), &words, Path::new("/src"))
    }

    #[test]
    fn records_survive_concatenation() {
        let mut section = Vec::new();
        for output in ["one", "two"] {
            let object = record(output).to_object().unwrap();
            let file = object::File::parse(&*object).unwrap();
            section.extend(file.section_by_name(SECTION).unwrap().data().unwrap());
        }
        assert_eq!(parse(&section), [record("one"), record("two")]);
        // A damaged tail costs only itself.
        assert_eq!(parse(&section[..section.len() - 1]), [record("one")]);
        assert_eq!(parse(b"noise"), []);
    }

    #[test]
    fn inputs_are_told_apart() {
        let kinds: Vec<_> = record("x")
            .inputs
            .into_iter()
            .map(|i| (i.path, i.kind, i.watched, i.unwatched))
            .collect();
        let expected = [
            ("a.c", InputKind::Source, 1, 0),
            ("b.s", InputKind::Assembly, 0, 1),
            ("-lm", InputKind::Other, 0, 0),
        ];
        assert_eq!(kinds, expected.map(|(path, kind, w, u)| (path.to_owned(), kind, w, u)));
    }
}
