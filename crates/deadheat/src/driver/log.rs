//! What a build's compilers did, one line of JSON each, for `deadheat build`'s summary.
//!
//! The file is named by `DEADHEAT_BUILD_LOG`. Lines are appended in one write, so that compilers that run
//! at the same time do not mix them. A compiler that cannot write its line compiles all the same.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The variable that names the file.
pub const VARIABLE: &str = "DEADHEAT_BUILD_LOG";

/// One compiler command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Source files that got sites, absolute.
    pub watched: Vec<String>,
    /// Source files that got none, absolute: assembly, foreign languages, `-mcmodel=kernel`.
    pub unwatched: Vec<String>,
    /// The program or library that is linked, absolute.
    pub linked: Option<String>,
    /// Whether the runtime is in it.
    pub runtime: bool,
    /// What was dropped or left alone.
    pub notes: Vec<String>,
    /// Why nothing was done.
    pub refused: Option<String>,
}

/// Appends an entry to the build's log, if there is a build.
pub fn append(entry: &Entry) {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let Ok(mut text) = serde_json::to_vec(entry) else {
        return;
    };
    text.push(b'\n');
    if let Ok(mut file) = OpenOptions::new().append(true).open(path) {
        // The summary is a courtesy; the build goes on without it.
        let _ = file.write_all(&text);
    }
}

/// Reads a log; lines that are no entries are skipped.
pub fn read(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
