//! Keeps the cache of standard libraries with sites small: what was made for a version of deadheat that is used no more
//! goes.
//!
//! Each use of a version's directory is noted by the time of a file in it. What was not used for [`LONGEST`] is removed,
//! and so are the least recently used beyond [`MOST`], but nothing that was used within [`RECENT`]: another process may
//! be at it. Done when something new is made, so that it costs nothing otherwise.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Unused for so long, a version's libraries are removed.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Most versions whose libraries are kept.
const MOST: usize = 20;
/// Used within this time, nothing is removed.
const RECENT: Duration = Duration::from_secs(24 * 3600);
/// The file whose time is that of the last use.
const USED: &str = ".used";
/// What a directory in the making is called at first.
pub const MAKING: &str = ".making-";

/// Notes that a version's directory is used.
pub fn note_use(directory: &Path) {
    let file = File::options().create(true).append(true).open(directory.join(USED));
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes what is not used any more from the directory of all versions. Failure leaves it there.
pub fn prune(all: &Path, now: SystemTime) {
    let age = |at: Option<SystemTime>| at.and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    let mut versions: Vec<(Duration, PathBuf)> = directories(all)
        .map(|path| (age(modified(&path.join(USED)).or_else(|| modified(&path))), path))
        .collect();
    versions.sort();
    for (n, (unused, path)) in versions.iter().enumerate() {
        if *unused > LONGEST || n >= MOST && *unused > RECENT {
            let _ = fs::remove_dir_all(path);
            continue;
        }
        // What a process that was killed has left half made.
        let half = directories(path).filter(|p| {
            p.file_name()
                .is_some_and(|n| n.as_encoded_bytes().starts_with(MAKING.as_bytes()))
        });
        for left in half.filter(|p| age(modified(p)) > RECENT) {
            let _ = fs::remove_dir_all(left);
        }
    }
}

fn directories(of: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|p| p.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_go_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let make = |name: String, hours: u64| {
            let path = place.path().join(name);
            fs::create_dir_all(path.join(format!("{MAKING}x"))).unwrap();
            note_use(&path);
            let used = File::options().append(true).open(path.join(USED)).unwrap();
            used.set_modified(now - Duration::from_secs(hours * 3600)).unwrap();
        };
        for n in 0..MOST as u64 + 5 {
            make(format!("v{n}"), n * 10);
        }
        make("ancient".into(), 31 * 24);
        prune(place.path(), now);
        let left = |name: &str| place.path().join(name).is_dir();
        assert!(left("v0") && left("v19") && !left("v20") && !left("v24") && !left("ancient"));
        // Just made: somebody may be at it.
        assert!(left("v0/.making-x"));
        prune(place.path(), now + RECENT * 2);
        assert!(left("v0") && !left("v0/.making-x"));
    }
}
