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

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_ir::{Program, parse};

    fn program(count: usize) -> ScannedProgram {
        let mut text = "module \"t.c\"\nglobal @data internal 8\n".to_owned();
        for n in 0..count {
            text += &format!(
                "define @entry_{n} () void at \"t.c\":1 {{\nentry:\n  store i64 8 7i64 to @data at {n}:1\n  return\n}}\n"
            );
        }
        ScannedProgram {
            path: None,
            program: Program::link(vec![parse(&text).unwrap()]),
        }
    }

    fn options(directory: Option<&Path>) -> ReadOptions {
        ReadOptions {
            worker: PathBuf::new(),
            jobs: 1,
            settings: crate::scan::ReadSettings::default(),
            cache: directory.map(Path::to_owned),
            clang: "clang".into(),
            largest: 1 << 20,
        }
    }

    #[test]
    fn what_is_kept_changes_nothing_and_damage_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let models = Models::built_in().unwrap();
        let asked = Options {
            entries: vec!["entry_*".into()],
            views: true,
            ..Options::default()
        };
        let scan = |count: usize, directory: Option<&Path>| {
            let memory = ScanMemory::open(&options(directory), &[], &[]);
            memory.analyse(&program(count), &models, &asked).unwrap()
        };
        let kept = || {
            let mut all: Vec<PathBuf> = std::fs::read_dir(directory.path())
                .unwrap()
                .map(|e| e.unwrap().path())
                .collect();
            all.sort();
            all
        };
        let plain = scan(3, None);
        assert!(!plain.0.findings.is_empty() && plain.1.is_empty());
        assert_eq!(scan(3, Some(directory.path())), plain);
        assert_eq!(kept().len(), 2);
        assert_eq!(scan(3, Some(directory.path())), plain);
        assert_eq!(scan(4, Some(directory.path())), scan(4, None));
        assert_eq!(kept().len(), 3);
        for (cut, file) in kept().into_iter().enumerate() {
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(&file, &bytes[..bytes.len() - 1 - cut]).unwrap();
        }
        let (report, notes) = scan(3, Some(directory.path()));
        assert_eq!((report, notes.len()), (plain.0.clone(), 2));
        assert_eq!(scan(3, Some(directory.path())), plain);
        // Nothing can be kept there.
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(scan(3, Some(&file)), plain);
    }
}
