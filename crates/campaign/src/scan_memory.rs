//! What one scan remembers for the next: its report, for the same program, and what executions gave, for one of which a few
//! files have changed.
//!
//! Both stand beside the modules, under the hash of what they follow from. What is damaged is said and made anew; what cannot
//! be kept costs time only. The directory is held below [`MOST`], the oldest going first.

use crate::scan::{Models, Options, ReadOptions, ScannedProgram};
use crate::static_findings;
use deadheat_bitcode::Cache;
use deadheat_bitcode::cache::Key;
use deadheat_relay::{Remembered, ScanError};
use deadheat_report::finding::Report;
use std::path::{Path, PathBuf};

/// Bytes of all that is kept in one directory.
const MOST: u64 = 4 << 30;
/// Kinds of entries.
const REPORT: &str = "report";
const EXECUTIONS: &str = "executions";

/// What scans remember.
#[derive(Debug)]
pub struct ScanMemory {
    cache: Cache,
    is_kept: bool,
    /// The tool and its models.
    tool: Vec<u8>,
    /// What was named.
    named: Vec<PathBuf>,
}

impl ScanMemory {
    /// Beside the modules. `tool`: the tool itself and the texts of further models; `named`: what is scanned.
    pub fn open(options: &ReadOptions, tool: &[Vec<u8>], named: &[PathBuf]) -> ScanMemory {
        let cache = Cache::open(options.cache.as_deref(), &options.settings);
        let parts: Vec<Key> = tool.iter().map(|part| cache.key(part)).collect();
        ScanMemory {
            is_kept: options.cache.is_some(),
            tool: cache.key(&parts.concat()).to_vec(),
            named: named.to_vec(),
            cache,
        }
    }

    /// Analyses a program and reports; says what was damaged.
    ///
    /// # Errors
    /// If there is nothing to start from.
    pub fn analyse(
        &self,
        scanned: &ScannedProgram,
        models: &Models,
        options: &Options,
    ) -> Result<(Report, Vec<String>), ScanError> {
        if !self.is_kept {
            let report = static_findings::analyse(scanned, models, options, &mut Remembered::default())?;
            return Ok((report, vec![]));
        }
        let mut notes = Vec::new();
        let module = postcard::to_stdvec(&scanned.program.module).unwrap_or_default();
        let asked = format!("{options:?} {:?}", scanned.path);
        let same = self.key(&[&self.cache.key(&module), asked.as_bytes()]);
        drop(module);
        let report = self.entry(&same, REPORT, &mut notes);
        if let Some(report) = report.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return Ok((report, notes));
        }
        let alike = self.key(&[format!("{:?}", self.named).as_bytes(), asked.as_bytes()]);
        let kept = self.entry(&alike, EXECUTIONS, &mut notes);
        let mut remembered = Remembered {
            tool: self.tool.iter().fold(0, |all, byte| all << 8 | u128::from(*byte)),
            kept: Some(kept.unwrap_or_default()),
            ..Remembered::default()
        };
        let report = static_findings::analyse(scanned, models, options, &mut remembered)?;
        if let Some(kept) = remembered.kept.filter(|_| remembered.executions[1] > 0) {
            self.cache.keep(&alike, EXECUTIONS, &kept);
        }
        if let Ok(text) = serde_json::to_vec(&report) {
            self.cache.keep(&same, REPORT, &text);
        }
        self.cache.trim(MOST);
        Ok((report, notes))
    }

    fn key(&self, parts: &[&[u8]]) -> Key {
        let parts = parts.iter().copied().chain([&self.tool[..]]);
        let parts: Vec<Key> = parts.map(|part| self.cache.key(part)).collect();
        self.cache.key(&parts.concat())
    }

    fn entry(&self, key: &Key, kind: &str, notes: &mut Vec<String>) -> Option<Vec<u8>> {
        let entry = self.cache.entry(key, kind);
        if entry.is_none() && self.cache.path(key, kind).is_some_and(|path| Path::exists(&path)) {
            notes.push(format!(
                "what an earlier scan kept ({kind}) is damaged: it is made anew"
            ));
        }
        entry
    }
}
