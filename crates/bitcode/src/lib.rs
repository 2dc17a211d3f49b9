//! Where bitcode lies, and having it lowered.
//!
//! [`read`] takes what a user names (programs, shared objects, archives, object files, bitcode files, directories of
//! them, compile databases), finds the modules in it ([`pieces`]), has each lowered to the representation of crate
//! `ir` by worker processes ([`workers`]) or takes it from the [`cache`], and says what was skipped and why. It never
//! fails for the sake of one module.
//!
//! The order of the result is that of the inputs and of the modules in them, whatever the number of workers.
//!
//! Architecture invariant: no LLVM here; it is in the worker, `lib/deadheat/deadheat-lowering`.
#![forbid(unsafe_code)]

pub mod cache;
pub mod compile_database;
pub mod pieces;
pub mod split;
pub mod workers;

use deadheat_ir::Module;
use deadheat_wire::lowering::Settings;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use cache::Cache;
pub use pieces::{InputKind, Piece};

/// How to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The worker program.
    pub worker: PathBuf,
    /// Workers at the same time.
    pub jobs: usize,
    /// How modules are lowered.
    pub settings: Settings,
    /// Where lowered modules are kept; none: nowhere.
    pub cache: Option<PathBuf>,
    /// Clang 22, for compile databases.
    pub clang: PathBuf,
    /// Bytes of bitcode of one module, unpacked, above which it is skipped.
    pub largest: u64,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// What was named, in order, with the modules that it gave.
    pub inputs: Vec<Input>,
    /// Modules that could not be read.
    pub skipped: Vec<Skipped>,
    /// What reading took.
    pub counts: Counts,
}

/// One input.
#[derive(Debug)]
pub struct Input {
    /// Its path.
    pub path: PathBuf,
    /// What it is.
    pub kind: InputKind,
    /// Its modules, less those that an earlier input had too.
    pub modules: Vec<Module>,
}

/// A module or input that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it lies.
    pub origin: String,
    /// Why.
    pub reason: String,
}

/// What reading took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Modules found.
    pub found: usize,
    /// Of those, the same bytes once more.
    pub repeated: usize,
    /// Of those, taken from the cache.
    pub cached: usize,
    /// Of those, lowered now.
    pub lowered: usize,
    /// Workers that died.
    pub deaths: usize,
    /// Bytes of the modules as they are stored.
    pub bytes: u64,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The worker cannot be started.
    #[error("cannot run {path}: {source}; it is a part of deadheat that needs libLLVM 22 (apt-get install llvm-22)", path = path.display())]
    Worker {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A compile database that is none.
    #[error("{path}: {reason}", path = path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Reads all modules of the inputs and of the compile databases.
///
/// # Errors
/// Only if the worker cannot be started at all, or a compile database is none.
pub fn read(inputs: &[PathBuf], databases: &[PathBuf], options: &Options) -> Result<Reading, ReadError> {
    let cache = Cache::open(options.cache.as_deref(), &options.settings);
    let mut reading = Reading::default();
    let mut pieces: Vec<(usize, Piece)> = Vec::new();
    for path in inputs.iter().flat_map(|path| pieces::expand(path)) {
        let number = reading.inputs.len();
        match pieces::find(&path) {
            Ok(found) => {
                if found.pieces.is_empty() {
                    let reason = found.without().to_owned();
                    reading.skipped.push(Skipped {
                        origin: path.display().to_string(),
                        reason,
                    });
                }
                reading.skipped.extend(found.damaged);
                pieces.extend(found.pieces.into_iter().map(|piece| (number, piece)));
                reading.inputs.push(Input {
                    path,
                    kind: found.kind,
                    modules: Vec::new(),
                });
            }
            Err(reason) => reading.skipped.push(Skipped {
                origin: path.display().to_string(),
                reason,
            }),
        }
    }
    for path in databases {
        let commands = compile_database::parse(path)?;
        let number = reading.inputs.len();
        pieces.extend(commands.into_iter().map(|command| (number, Piece::of_command(command))));
        reading.inputs.push(Input {
            path: path.clone(),
            kind: InputKind::CompileDatabase,
            modules: Vec::new(),
        });
    }
    reading.counts.found = pieces.len();
    let jobs: Vec<&Piece> = pieces.iter().map(|(_, piece)| piece).collect();
    let results = workers::run(&jobs, &cache, options)?;
    reading.take(&pieces, results);
    Ok(reading)
}

impl Reading {
    /// Sorts the results to their inputs; the same module a second time is left out.
    fn take(&mut self, pieces: &[(usize, Piece)], results: Vec<workers::Outcome>) {
        let mut seen: HashMap<cache::Key, ()> = HashMap::new();
        for ((number, piece), result) in pieces.iter().zip(results) {
            self.counts.bytes += result.bytes;
            self.counts.deaths += usize::from(result.died);
            if let Some(key) = result.key
                && seen.insert(key, ()).is_some()
            {
                self.counts.repeated += 1;
                continue;
            }
            match result.module {
                Ok(module) => {
                    self.counts.cached += usize::from(result.cached);
                    self.counts.lowered += usize::from(!result.cached);
                    self.inputs[*number].modules.push(module);
                }
                Err(reason) => self.skipped.push(Skipped {
                    origin: piece.origin.clone(),
                    reason,
                }),
            }
        }
    }
}

/// The worker beside other parts of an installation.
pub fn worker_in(parts: &Path) -> PathBuf {
    parts.join("deadheat-lowering")
}
