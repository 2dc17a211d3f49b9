//! Finds the modules in what a user names. Reads headers and sections only; a module's bytes are read when its turn
//! comes ([`Piece::bytes`]).

use crate::Skipped;
use crate::compile_database::CompileCommand;
use crate::split::{self, split};
use deadheat_wire::object::BITCODE;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, ObjectSection, ReadCache, ReadRef};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Sections that hold bitcode, best first: ours, then that of `-fembed-bitcode` and of rustc.
const SECTIONS: [&str; 3] = [BITCODE, ".llvmbc", "__bitcode"];

/// A module that has been found.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Where it lies, for messages: `program`, `libx.a(member.o)`, with `#2` where there are several.
    pub origin: String,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    File { path: PathBuf, start: u64, length: u64 },
    Command(Box<CompileCommand>),
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A program.
    Executable,
    /// A shared library.
    SharedObject,
    /// An object file.
    Object,
    /// A static library.
    Archive,
    /// Bitcode by itself.
    Bitcode,
    /// A compile database.
    CompileDatabase,
}

/// What was found in an input.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is.
    pub kind: InputKind,
    /// Its modules.
    pub pieces: Vec<Piece>,
    /// What of it makes no sense.
    pub damaged: Vec<Skipped>,
    /// It holds code of link-time optimisation, which is not the front end's.
    optimised: bool,
}

impl Found {
    fn new(kind: InputKind) -> Found {
        Found {
            kind,
            pieces: Vec::new(),
            damaged: Vec::new(),
            optimised: false,
        }
    }

    /// Why there is no module in it.
    pub fn without(&self) -> &'static str {
        if !self.damaged.is_empty() {
            "no module in it can be made out"
        } else if self.optimised {
            "it holds bitcode for link-time optimisation only; build it with deadheat build"
        } else {
            "no bitcode in it: build it with deadheat build, or with clang -Xclang -fembed-bitcode=all"
        }
    }
}

/// The files that an input stands for: itself, or, for a directory, the objects and bitcode files below it.
pub fn expand(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut files = Vec::new();
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            // Links are not followed: a tree may contain itself.
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|e| e == "o" || e == "bc") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Finds the modules in a file.
///
/// # Errors
/// Says why the file cannot be read.
pub fn find(path: &Path) -> Result<Found, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let mut head = [0; 4];
    let read = file.read_at(&mut head, 0).map_err(|error| error.to_string())?;
    let head = &head[..read];
    let origin = path.display().to_string();
    if head.starts_with(&split::PLAIN) || head.starts_with(&split::WRAPPER) {
        let mut found = Found::new(InputKind::Bitcode);
        let source = Source::File {
            path: path.to_owned(),
            start: 0,
            length,
        };
        found.pieces.push(Piece { origin, source });
        return Ok(found);
    }
    let data = ReadCache::new(file);
    if let Ok(archive) = ArchiveFile::parse(&data) {
        let mut found = Found::new(InputKind::Archive);
        found.archive(path, &data, &archive);
        return Ok(found);
    }
    let object = object::File::parse(&data).map_err(|error| format!("neither object, archive nor bitcode: {error}"))?;
    let mut found = Found::new(match object.kind() {
        ObjectKind::Executable => InputKind::Executable,
        ObjectKind::Dynamic if is_program(&object) => InputKind::Executable,
        ObjectKind::Dynamic => InputKind::SharedObject,
        _ => InputKind::Object,
    });
    found.object(path, &origin, &object);
    Ok(found)
}

/// Position-independent programs are shared objects by their header; they ask for a loader.
fn is_program<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> bool {
    object.section_by_name(".interp").is_some()
}

impl Found {
    fn archive<'data>(
        &mut self,
        path: &Path,
        data: &'data ReadCache<File>,
        archive: &ArchiveFile<'data, &'data ReadCache<File>>,
    ) {
        for member in archive.members() {
            let Ok(member) = member else {
                let (origin, reason) = (path.display().to_string(), "the archive is cut off".to_owned());
                self.damaged.push(Skipped { origin, reason });
                return;
            };
            let name = String::from_utf8_lossy(member.name()).into_owned();
            let origin = format!("{}({name})", path.display());
            if member.is_thin() {
                let beside = path.parent().unwrap_or(Path::new("")).join(&name);
                match find(&beside) {
                    Ok(inner) => {
                        self.pieces.extend(inner.pieces);
                        self.damaged.extend(inner.damaged);
                    }
                    Err(reason) => self.damaged.push(Skipped { origin, reason }),
                }
                continue;
            }
            let (start, length) = member.file_range();
            let head = data.read_bytes_at(start, 4.min(length)).unwrap_or_default();
            if head.starts_with(&split::PLAIN) || head.starts_with(&split::WRAPPER) {
                let source = Source::File {
                    path: path.to_owned(),
                    start,
                    length,
                };
                self.pieces.push(Piece { origin, source });
            } else if let Ok(object) = object::File::parse(data.range(start, length)) {
                let offset = start;
                self.object_at(path, &origin, &object, offset);
            }
        }
    }

    fn object<'data, R: ReadRef<'data>>(&mut self, path: &Path, origin: &str, object: &object::File<'data, R>) {
        self.object_at(path, origin, object, 0);
    }

    /// Adds the modules of an object that begins `offset` bytes into the file.
    fn object_at<'data, R: ReadRef<'data>>(
        &mut self,
        path: &Path,
        origin: &str,
        object: &object::File<'data, R>,
        offset: u64,
    ) {
        self.optimised |= object.section_by_name(".llvm.lto").is_some();
        let Some(section) = SECTIONS.iter().find_map(|name| object.section_by_name(name)) else {
            return;
        };
        let (Some((start, _)), Ok(bytes)) = (section.file_range(), section.data()) else {
            let (origin, reason) = (
                origin.to_owned(),
                "its section of bitcode lies outside the file".to_owned(),
            );
            self.damaged.push(Skipped { origin, reason });
            return;
        };
        let split = split(bytes);
        let several = split.modules.len() > 1;
        for (n, range) in split.modules.iter().enumerate() {
            let number = if several { format!("#{}", n + 1) } else { String::new() };
            let (start, length) = (offset + start + range.start as u64, range.len() as u64);
            let source = Source::File {
                path: path.to_owned(),
                start,
                length,
            };
            self.pieces.push(Piece {
                origin: format!("{origin}{number}"),
                source,
            });
        }
        if let Some((at, why)) = split.damaged {
            let (origin, reason) = (origin.to_owned(), format!("byte {at} of its section of bitcode: {why}"));
            self.damaged.push(Skipped { origin, reason });
        }
    }
}

impl Piece {
    /// A module that a compile command gives.
    pub fn of_command(command: CompileCommand) -> Piece {
        Piece {
            origin: command.file.display().to_string(),
            source: Source::Command(Box::new(command)),
        }
    }

    /// The compile command that gives it, if one does.
    pub fn command(&self) -> Option<&CompileCommand> {
        match &self.source {
            Source::Command(command) => Some(command),
            Source::File { .. } => None,
        }
    }

    /// Its bytes: bitcode or a zstd frame of it. Nothing for a command.
    ///
    /// # Errors
    /// What the system said; `InvalidData` if there are more than `most`.
    pub fn bytes(&self, most: u64) -> io::Result<Vec<u8>> {
        let Source::File { path, start, length } = &self.source else {
            return Ok(Vec::new());
        };
        if *length > most {
            let text = format!("{length} bytes are more than the limit of {most}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let file = File::open(path)?;
        if *start == 0 {
            let mut bytes = Vec::new();
            file.take(*length).read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let mut bytes = vec![0; *length as usize];
        file.read_exact_at(&mut bytes, *start)?;
        Ok(bytes)
    }
}
