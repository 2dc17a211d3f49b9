//! What is run: the file, its arguments, input and environment; and whether it was built with deadheat.

use deadheat_wire::object::{UNIT_SIZE, UNITS, VERSION};
use object::{Object, ObjectSection, ObjectSymbol};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program with everything that a run of it depends on.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable, absolute.
    pub file: PathBuf,
    /// Its name as the user typed it (`argv[0]`).
    pub name: OsString,
    /// Arguments after the name.
    pub args: Vec<OsString>,
    /// Working directory, absolute.
    pub directory: PathBuf,
    /// Environment, in order.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input's contents.
    pub stdin: Vec<u8>,
    /// What was chosen for it beside what a user can give on a command line.
    pub chosen: Chosen,
}

/// Input that an exploration chose.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Chosen {
    /// Environment variables that were set or, without a value, removed; `environment` has them already.
    pub variables: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Values of random numbers, time and marked buffers, as in the plan.
    pub values: Vec<(u32, Vec<Option<u8>>)>,
    /// Files with other contents than they have: names relative to the working directory, or absolute.
    pub files: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Chosen {
    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.values.is_empty() && self.files.is_empty()
    }
}

/// Why a program cannot be hunted in.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The name is empty.
    #[error("the name of the program is empty")]
    Nameless,
    /// There is no such file.
    #[error("there is no program `{0}`{1}")]
    Missing(String, String),
    /// Not a file.
    #[error("`{0}` is a directory, not a program")]
    Directory(PathBuf),
    /// Not executable.
    #[error("`{0}` is not executable; `chmod +x` it if it is a program")]
    NotExecutable(PathBuf),
    /// Cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// A script.
    #[error("`{0}` is a script; name the program that it starts (built with `deadheat cc` or `deadheat c++`)")]
    Script(PathBuf),
    /// Another machine's program, or no program at all.
    #[error("`{0}` is not an x86-64 Linux program")]
    Foreign(PathBuf),
    /// Built by an ordinary compiler.
    #[error(
        "`{0}` was not built with deadheat.\n  Build it again, for example:\n    deadheat cc -g -O1 -pthread {1}.c -o {1}\n    CC=\"deadheat cc\" CXX=\"deadheat c++\" make\n    deadheat build -- make -j4"
    )]
    NotBuilt(PathBuf, String),
    /// Built by another version of deadheat, or some of it was.
    #[error(
        "of the {of} source files in `{file}` {others} were compiled by another version of deadheat (layout {found}, this one's is {own}).\n  Build it again, all of it (make clean, or touch the sources)",
        own = deadheat_wire::object::VERSION
    )]
    OtherVersion {
        /// The program.
        file: PathBuf,
        /// Source files of another version.
        others: usize,
        /// All of them.
        of: usize,
        /// Version of one of those.
        found: u32,
    },
}

impl Program {
    /// Finds `name` as a shell would (a path if it has a slash, else along `PATH`) and takes working
    /// directory and environment from this process. Variables of deadheat's own are left out.
    pub fn find(name: &OsStr, args: Vec<OsString>) -> Result<Program, ProgramError> {
        let directory = std::env::current_dir().map_err(|e| ProgramError::Unreadable(".".into(), e))?;
        let file = locate(name, &directory)?;
        let own = |key: &OsStr| key.to_str().is_some_and(|k| k.starts_with("DEADHEAT_"));
        let environment = std::env::vars_os().filter(|(k, _)| !own(k)).collect();
        Ok(Program {
            file,
            name: name.to_owned(),
            args,
            directory,
            environment,
            stdin: Vec::new(),
            chosen: Chosen::default(),
        })
    }

    /// Whether it calls `listen` itself, so that two runs on one network would clash.
    pub fn listens(&self) -> bool {
        let Ok(bytes) = std::fs::read(&self.file) else {
            return false;
        };
        let Ok(elf) = object::File::parse(&*bytes) else {
            return false;
        };
        elf.dynamic_symbols()
            .any(|s| s.is_undefined() && s.name() == Ok("listen"))
    }

    /// Checks that the file can be run under a plan; `Ok` says whether it has symbols.
    pub fn check(&self) -> Result<Build, ProgramError> {
        check(&self.file)
    }
}

fn locate(name: &OsStr, directory: &Path) -> Result<PathBuf, ProgramError> {
    if name.is_empty() {
        return Err(ProgramError::Nameless);
    }
    let shown = || name.to_string_lossy().into_owned();
    if name.as_encoded_bytes().contains(&b'/') {
        let path = directory.join(name);
        return match path.canonicalize() {
            Ok(path) if path.is_dir() => Err(ProgramError::Directory(path)),
            Ok(path) => Ok(path),
            Err(_) => Err(ProgramError::Missing(shown(), String::new())),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|d| d.join(name))
        .find(|p| p.is_file() && executable(p));
    found.and_then(|p| p.canonicalize().ok()).ok_or_else(|| {
        let near = if directory.join(name).exists() {
            format!("; did you mean `./{}`?", shown())
        } else {
            " in PATH".into()
        };
        ProgramError::Missing(shown(), near)
    })
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// What the file says of its build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Whether it still has debug information (stacks and variables have names with it).
    pub debug: bool,
}

/// Checks one file; see [`Program::check`].
pub fn check(file: &Path) -> Result<Build, ProgramError> {
    if !executable(file) {
        return Err(ProgramError::NotExecutable(file.into()));
    }
    let bytes = std::fs::read(file).map_err(|e| ProgramError::Unreadable(file.into(), e))?;
    if bytes.starts_with(b"#!") {
        return Err(ProgramError::Script(file.into()));
    }
    let elf = match object::File::parse(&*bytes) {
        Ok(elf) if elf.architecture() == object::Architecture::X86_64 && elf.format() == object::BinaryFormat::Elf => {
            elf
        }
        _ => return Err(ProgramError::Foreign(file.into())),
    };
    let units = elf.section_by_name(UNITS);
    let units = units.and_then(|s| s.data().ok()).unwrap_or_default();
    if units.is_empty() && !links_watched_code(&elf) {
        let stem = file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        return Err(ProgramError::NotBuilt(file.into(), stem));
    }
    let version = |row: &[u8]| Some(u32::from_le_bytes(row.first_chunk().copied()?));
    let rows = || units.chunks_exact(UNIT_SIZE).filter_map(version);
    if let Some(found) = rows().find(|v| *v != VERSION) {
        return Err(ProgramError::OtherVersion {
            file: file.into(),
            others: rows().filter(|v| *v != VERSION).count(),
            of: rows().count(),
            found,
        });
    }
    Ok(Build {
        debug: elf.section_by_name(".debug_info").is_some(),
    })
}

/// Whether a record of the compiler driver says that objects with sites of some kind were linked into the file: code
/// that calls the `__tsan_*` interface has no units.
fn links_watched_code(elf: &object::File<'_>) -> bool {
    const WATCHED: &[u8] = b"\"watched\":";
    let record = elf
        .section_by_name(".dh.link")
        .and_then(|s| s.data().ok())
        .unwrap_or_default();
    let mut places = record.windows(WATCHED.len() + 1);
    places.any(|w| w.starts_with(WATCHED) && (b'1'..=b'9').contains(&w[WATCHED.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_wrong_program_is_told_apart() {
        let missing = Program::find(OsStr::new("./no-such-program"), vec![]);
        assert!(matches!(missing, Err(ProgramError::Missing(..))));
        assert!(matches!(
            Program::find(OsStr::new("/tmp/"), vec![]),
            Err(ProgramError::Directory(_))
        ));
        assert!(matches!(
            check(Path::new("/etc/passwd")),
            Err(ProgramError::NotExecutable(_))
        ));
        assert!(matches!(check(Path::new("/bin/true")), Err(ProgramError::NotBuilt(..))));
        let told = check(Path::new("/bin/true")).unwrap_err().to_string();
        assert!(
            told.contains("not built with deadheat") && told.contains("deadheat cc"),
            "{told}"
        );
    }
}
