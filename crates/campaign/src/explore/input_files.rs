//! Which files are input: those that arguments name, and what the program opens by itself in its working directory.
//!
//! The runtime finds the latter, and tells their names. A run gets changed files in its own file system, so where runs
//! share theirs no file is input; nor is one where a command prepares each run, since what it writes is not known here.

use super::Explorer;
use crate::input::hash_file;
use deadheat_confirm::{Isolation, Program};
use deadheat_wire::trace::source;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Largest file that is input.
const LARGEST: u32 = 64 << 10;
/// Files that arguments name.
const MOST_NAMED: usize = 16;

/// The files that are input whatever the program does.
#[derive(Debug, Default)]
pub(super) struct InputFiles {
    /// Whether runs can be given other files.
    changeable: bool,
    /// Named by the given arguments.
    named: BTreeSet<Vec<u8>>,
}

impl InputFiles {
    pub(super) fn of(given: &Program, prepared: bool, isolation: &Isolation) -> InputFiles {
        if prepared || !isolation.can_replace(Path::new("file"), &given.directory) {
            return InputFiles::default();
        }
        let files = given.args.iter().filter_map(|argument| name(given, argument));
        let own = files.filter(|file| isolation.can_replace(file, &given.directory));
        InputFiles {
            changeable: true,
            named: own
                .map(|f| f.as_os_str().as_bytes().to_vec())
                .take(MOST_NAMED)
                .collect(),
        }
    }

    /// Largest file that is input.
    pub(super) fn largest(&self) -> u32 {
        if self.changeable { LARGEST } else { 0 }
    }

    /// Files that a program's runs are told of, and how long each may become: so much longer than it lies there.
    pub(super) fn longest(&self, program: &Program, room: u32) -> Vec<(Vec<u8>, u32)> {
        let changed = program.chosen.files.iter().map(|(name, _)| name);
        let names: BTreeSet<&Vec<u8>> = self.named.iter().chain(changed).collect();
        let longest = |name: &Vec<u8>| {
            let size = std::fs::metadata(program.directory.join(OsStr::from_bytes(name)))
                .ok()?
                .len();
            Some(u32::try_from(size).ok()?.saturating_add(room))
        };
        let all = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), longest(name)?)));
        all.collect()
    }
}

/// The file that an argument names, as the runtime names it.
fn name(given: &Program, argument: &OsStr) -> Option<PathBuf> {
    let path = given
        .directory
        .join(argument)
        .canonicalize()
        .ok()
        .filter(|p| p.is_file())?;
    let directory = given.directory.canonicalize().ok()?;
    Some(path.strip_prefix(&directory).map(Path::to_path_buf).unwrap_or(path))
}

/// Files that some input's run read, with the hashes of their contents as they lie there.
pub(super) type Hashes = Vec<(Vec<u8>, Option<u64>)>;

/// Names with the hashes of what lies there.
pub(super) fn hashes<'a>(names: impl Iterator<Item = &'a Vec<u8>>, directory: &Path) -> Hashes {
    let hash = |name: &Vec<u8>| hash_file(&directory.join(OsStr::from_bytes(name))).ok();
    names.map(|name| (name.clone(), hash(name))).collect()
}

impl Explorer<'_> {
    /// Names of the files that runs took as input.
    pub(super) fn files_read(&self) -> BTreeSet<&Vec<u8>> {
        let names: BTreeMap<&u32, &Vec<u8>> = self.inputs.iter().flat_map(|i| &i.path.names).collect();
        let files = names
            .into_iter()
            .filter(|(number, _)| source::split(**number).0 == source::FILE);
        files.map(|(_, name)| name).collect()
    }
}
