//! Each run starts from the same files: how that is done on this machine.
//!
//! Best is an overlay over every directory that the program is likely to write in (working directory,
//! temporary directories, home, directories that its arguments name), in a mount namespace of the run's
//! own: writes go to memory and vanish with the run. Where namespaces are refused (containers), a small
//! working directory is copied for each run. Where neither is possible runs share their files, and no
//! exit status is laid to a schedule.

use crate::launch::{self, Namespaces};
use crate::program::Program;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How runs are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Private overlays of these directories, in namespaces.
    Overlay {
        /// Overlaid directories; none lies in another, save for mount points.
        directories: Vec<PathBuf>,
        /// The namespaces.
        namespaces: Namespaces,
    },
    /// Each run works in a copy of the working directory.
    Copy,
    /// Runs share the files; why.
    Shared(String),
}

/// A working directory is copied up to this size.
const COPY_BYTES: u64 = 64 << 20;
/// A working directory is copied up to this number of entries.
const COPY_ENTRIES: usize = 5_000;

impl Isolation {
    /// The best way that works here for this program. `probe` is a directory for mount points.
    pub fn choose(program: &Program, probe: &Path) -> Isolation {
        let mut last = String::from("the working directory is the root directory");
        if program.directory != Path::new("/") {
            let wanted = directories(program);
            for namespaces in [
                Namespaces {
                    user: false,
                    network: true,
                },
                Namespaces {
                    user: false,
                    network: false,
                },
                Namespaces {
                    user: true,
                    network: true,
                },
                Namespaces {
                    user: true,
                    network: false,
                },
            ] {
                let usable = |d: &&PathBuf| launch::probe(namespaces, std::slice::from_ref(d), probe).is_ok();
                match launch::probe(namespaces, &wanted, probe) {
                    Ok(()) => {
                        return Isolation::Overlay {
                            directories: wanted,
                            namespaces,
                        };
                    }
                    Err(e) => last = format!("namespaces: {e}"),
                }
                // One odd directory must not cost the isolation of the others.
                let some: Vec<PathBuf> = wanted.iter().filter(usable).cloned().collect();
                let covers = some.iter().any(|d| program.directory.starts_with(d));
                if covers && launch::probe(namespaces, &some, probe).is_ok() {
                    return Isolation::Overlay {
                        directories: some,
                        namespaces,
                    };
                }
            }
            if small(&program.directory) {
                return Isolation::Copy;
            }
        }
        Isolation::Shared(last)
    }

    /// Whether every run starts from the same files.
    pub fn same_files(&self) -> bool {
        !matches!(self, Isolation::Shared(_))
    }

    /// Whether runs that listen on a port can run at the same time.
    pub fn own_network(&self) -> bool {
        matches!(
            self,
            Isolation::Overlay {
                namespaces: Namespaces { network: true, .. },
                ..
            }
        )
    }

    /// The same on the network of the machine.
    pub(crate) fn leave_network(&mut self) {
        if let Isolation::Overlay { namespaces, .. } = self {
            namespaces.network = false;
        }
    }

    /// Whether a run can be given another file of this name, absolute or relative to the working directory.
    pub fn can_replace(&self, name: &Path, working_directory: &Path) -> bool {
        match self {
            Isolation::Overlay { directories, .. } => {
                let path = working_directory.join(name);
                directories.iter().any(|d| path.starts_with(d))
            }
            Isolation::Copy => name.is_relative(),
            Isolation::Shared(_) => false,
        }
    }

    /// What a user should know of it.
    pub fn limits(&self) -> Option<String> {
        match self {
            Isolation::Overlay { namespaces, .. } if namespaces.network => None,
            Isolation::Overlay { .. } => {
                Some("network namespaces are refused here: programs that listen are run one at a time".into())
            }
            Isolation::Copy => Some(
                "namespaces are refused here (or the limit on open files, ulimit -n, is below 230): each run works in a copy of the working directory; files elsewhere are shared"
                    .into(),
            ),
            Isolation::Shared(why) => {
                Some(format!("runs share their files ({why}): no exit status is laid to a schedule"))
            }
        }
    }
}

/// Directories to overlay, outermost only, followed by the mount points inside them.
fn directories(program: &Program) -> Vec<PathBuf> {
    let variable = |name: &str| {
        program
            .environment
            .iter()
            .find(|(k, _)| k == name)
            .map(|(_, v)| PathBuf::from(v))
    };
    let mut wanted = vec![program.directory.clone(), "/tmp".into(), "/var/tmp".into()];
    wanted.extend(variable("HOME"));
    wanted.extend(variable("TMPDIR"));
    for argument in &program.args {
        let path = program.directory.join(argument);
        let named = if path.is_dir() {
            Some(path.as_path())
        } else {
            path.parent().filter(|_| path.is_file())
        };
        wanted.extend(named.map(Path::to_path_buf));
    }
    let changed = program.chosen.files.iter();
    let changed = changed.map(|(name, _)| program.directory.join(OsStr::from_bytes(name)));
    wanted.extend(changed.filter_map(|path| path.parent().map(Path::to_path_buf)));
    let mut wanted: Vec<PathBuf> = wanted
        .iter()
        .filter_map(|d| d.canonicalize().ok())
        .filter(|d| d.is_dir())
        .collect();
    let kernel = ["/dev", "/proc", "/sys", "/run"];
    wanted.retain(|d| d != Path::new("/") && !kernel.iter().any(|k| d.starts_with(k)));
    wanted.sort();
    wanted.dedup();
    let mut outer: Vec<PathBuf> = Vec::new();
    for directory in wanted {
        if !outer.iter().any(|o| directory.starts_with(o)) {
            outer.push(directory);
        }
    }
    let inner: Vec<PathBuf> = mount_points()
        .into_iter()
        .filter(|m| m.is_dir() && outer.iter().any(|o| m.starts_with(o) && m != o))
        .collect();
    outer.extend(inner);
    outer.truncate(launch::MOST_OVERLAYS);
    outer
}

fn mount_points() -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let fields = table.lines().filter_map(|l| l.split(' ').nth(4));
    fields.map(|f| PathBuf::from(f.replace("\\040", " "))).collect()
}

fn small(directory: &Path) -> bool {
    let (mut bytes, mut entries, mut pending) = (0, 0, vec![directory.to_path_buf()]);
    while let Some(next) = pending.pop() {
        let Ok(list) = std::fs::read_dir(next) else {
            return false;
        };
        for entry in list.flatten() {
            entries += 1;
            let Ok(meta) = entry.metadata() else { continue };
            bytes += meta.len();
            if meta.is_dir() && entry.file_name() != ".deadheat" {
                pending.push(entry.path());
            }
            if entries > COPY_ENTRIES || bytes > COPY_BYTES {
                return false;
            }
        }
    }
    true
}

/// Copies a directory's contents; links stay links.
pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)?.flatten() {
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            if entry.file_name() != ".deadheat" {
                copy(&entry.path(), &target)?;
            }
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &target)?;
            // Files that are older than the run are input, and programs look at their times.
            std::fs::File::options()
                .append(true)
                .open(&target)
                .and_then(|file| file.set_modified(entry.metadata()?.modified()?))
                .unwrap_or_default();
        }
    }
    Ok(())
}
