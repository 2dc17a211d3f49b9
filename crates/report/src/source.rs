//! Lines of source files, for excerpts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Reads source files once.
#[derive(Debug, Default)]
pub struct Sources {
    files: HashMap<PathBuf, Option<Vec<String>>>,
}

/// Files larger than this are not read.
const LARGEST: u64 = 16 << 20;

impl Sources {
    /// The line with this number (from 1), if the file can be found: as named, else in its directory.
    pub fn line(&mut self, directory: &str, file: &str, line: u32) -> Option<String> {
        let path = Path::new(directory).join(file);
        let lines = self
            .files
            .entry(path)
            .or_insert_with_key(|path| read(path).or_else(|| read(Path::new(file))));
        lines.as_ref()?.get((line as usize).checked_sub(1)?).cloned()
    }
}

fn read(path: &Path) -> Option<Vec<String>> {
    if path.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(|l| l.replace('\t', "    "))
            .collect(),
    )
}
