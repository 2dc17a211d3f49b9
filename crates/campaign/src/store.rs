//! What deadheat remembers: `.deadheat/` beside the program, a SQLite file.
//!
//! One process writes at a time (a lock file). A damaged file, and one of an earlier version, is set aside with a
//! message; one of a later version is left alone, and the user told. Where nothing can be written the store lives in
//! memory, with a warning. Labels (`F3`) are given once per fingerprint and never again.

mod explorations;
mod measurements;
mod tables;

pub use measurements::MeasuredInput;

use crate::candidate::{Candidate, Suspicion};
use crate::input::Input;
use crate::waiting_cycle::{StoredCycle, WaitingCycle};
use deadheat_report::Finding;
use deadheat_wire::plan::{Plan, Switch};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Name of the directory beside the program.
pub const DIRECTORY: &str = ".deadheat";
const FILE: &str = "store.sqlite";

/// A candidate as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stored {
    /// A pair of accesses.
    Pair(Box<Suspicion>),
    /// A cycle of waiting.
    Cycle(Box<StoredCycle>),
}

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    directory: Option<PathBuf>,
    /// Held while the store is open for writing.
    _lock: Option<File>,
    /// What the user should know of its state.
    pub warnings: Vec<String>,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another hunt writes to it.
    #[error(
        "another deadheat (process {1}) is at work in {0}; wait for it, or give this one its own store: --store DIR"
    )]
    Busy(PathBuf, String),
    /// There is none.
    #[error("there is no store at {0}; run `deadheat hunt -- PROGRAM` first, or name it: --store DIR")]
    Missing(PathBuf),
    /// No hunt in it came to an end, or to a finding.
    #[error("the store at {0} holds nothing yet: the hunt was ended before it found anything; run it again")]
    Empty(PathBuf),
    /// It has nothing of that program.
    #[error("the store at {0} knows nothing of {1}; `deadheat report` without --program lists what it knows")]
    NoProgram(PathBuf, PathBuf),
    /// It cannot be read.
    #[error("the store at {0} cannot be read: {1}")]
    Unreadable(PathBuf, String),
    /// A later deadheat wrote it.
    #[error(
        "the store at {0} was written by a newer deadheat (version {1}, this one's is {own}); use that one, or give this one its own store: --store DIR",
        own = tables::VERSION
    )]
    Newer(PathBuf, i64),
    /// An earlier deadheat wrote it.
    #[error(
        "the store at {0} was written by an earlier deadheat (version {1}, this one's is {own}); hunt again: that begins a new one",
        own = tables::VERSION
    )]
    Older(PathBuf, i64),
    /// A kept exploration is damaged, or an earlier deadheat kept it.
    #[error("the exploration that the store holds cannot be read ({0}); --anew begins a new one in its place")]
    Exploration(String),
    /// It cannot be written.
    #[error("results could not be stored: {0}{hint}", hint = if full(.0) { " (the disk is full)" } else { "" })]
    Write(#[from] rusqlite::Error),
}

fn full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}

/// An execution that can be run again.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Hash of the program.
    pub program: u64,
    /// Hash of the input.
    pub input: u64,
    /// Policy and seed, and what is watched.
    pub plan: Plan,
    /// The recorded switches.
    pub switches: Vec<Switch>,
    /// Hash of the schedule.
    pub schedule_hash: u64,
    /// The meeting that shows the pair.
    pub meeting: Option<u32>,
}

/// How far a candidate came, for one program and input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Tries.
    pub tries: u32,
    /// Tries in which the pair met.
    pub met: u32,
    /// Tries that showed it.
    pub hits: u32,
    /// Whether it is settled.
    pub settled: bool,
    /// Tries per candidate that the hunt allowed.
    pub allowed: u32,
}

impl Tried {
    /// Whether a hunt that allows so many tries has nothing left to do.
    pub fn is_done(&self, tries: u32) -> bool {
        self.tries >= tries || self.settled && self.allowed >= tries
    }
}

impl Store {
    /// Opens the store in a directory for writing, or one in memory if nothing can be written there.
    pub fn open(directory: &Path) -> Result<Store, StoreError> {
        let unwritable = |why: std::io::Error| {
            let told = format!(
                "{} cannot be written ({why}): results are kept in memory only",
                directory.display()
            );
            Store::memory(vec![told])
        };
        if let Err(error) = std::fs::create_dir_all(directory) {
            return unwritable(error);
        }
        private(directory);
        let lock = match File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(directory.join("lock"))
        {
            Ok(lock) => lock,
            Err(error) => return unwritable(error),
        };
        lock_for(&lock, directory)?;
        let mut warnings = Vec::new();
        let connection = match open_file(&directory.join(FILE)) {
            Ok(Opened::Sound(connection)) => connection,
            Ok(Opened::Version(found)) if found > tables::VERSION => {
                return Err(StoreError::Newer(directory.into(), found));
            }
            Ok(Opened::Version(found)) => match set_aside(directory, &format!("version-{found}")) {
                Ok(path) => {
                    warnings.push(format!(
                        "the store was written by an earlier deadheat; it is set aside as {}, and a new one begun",
                        path.display()
                    ));
                    match open_file(&directory.join(FILE)) {
                        Ok(Opened::Sound(connection)) => connection,
                        _ => return Store::memory(warnings),
                    }
                }
                Err(error) => return unwritable(error),
            },
            // A sound store must not be set aside because the disk is full or refuses.
            Err(error) if !damaged(&error) => return unwritable(std::io::Error::other(error)),
            Err(error) => {
                let aside = set_aside(directory, "damaged");
                warnings.push(match &aside {
                    Ok(path) => format!("the store was damaged ({error}); it is set aside as {}", path.display()),
                    Err(e) => format!("the store is damaged ({error}) and cannot be set aside ({e})"),
                });
                match aside.ok().and_then(|_| open_file(&directory.join(FILE)).ok()) {
                    Some(Opened::Sound(connection)) => connection,
                    _ => return Store::memory(warnings),
                }
            }
        };
        Ok(Store {
            connection,
            directory: Some(directory.into()),
            _lock: Some(lock),
            warnings,
        })
    }

    /// Opens an existing store for reading.
    pub fn read(directory: &Path) -> Result<Store, StoreError> {
        let path = directory.join(FILE);
        if !path.exists() {
            return Err(StoreError::Missing(directory.into()));
        }
        let unreadable = |e: rusqlite::Error| StoreError::Unreadable(directory.into(), e.to_string());
        let connection =
            Connection::open_with_flags(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(unreadable)?;
        match tables::version(&connection).map_err(unreadable)? {
            tables::VERSION => {}
            0 => return Err(StoreError::Missing(directory.into())),
            found if found > tables::VERSION => return Err(StoreError::Newer(directory.into(), found)),
            found => return Err(StoreError::Older(directory.into(), found)),
        }
        Ok(Store {
            connection,
            directory: Some(directory.into()),
            _lock: None,
            warnings: Vec::new(),
        })
    }

    /// A store that ends with the process.
    pub fn memory(warnings: Vec<String>) -> Result<Store, StoreError> {
        let connection = Connection::open_in_memory()?;
        tables::create(&connection)?;
        Ok(Store {
            connection,
            directory: None,
            _lock: None,
            warnings,
        })
    }

    /// Where it is; none in memory.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The label of a fingerprint, given now if it has none.
    pub fn label(&self, fingerprint: &str) -> Result<String, StoreError> {
        self.connection
            .execute("INSERT OR IGNORE INTO labels (fingerprint) VALUES (?1)", [fingerprint])?;
        let sql = "SELECT number FROM labels WHERE fingerprint = ?1";
        let number: i64 = self.connection.query_row(sql, [fingerprint], |row| row.get(0))?;
        Ok(format!("F{number}"))
    }

    /// The label of a fingerprint, if it has one.
    pub fn known_label(&self, fingerprint: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT number FROM labels WHERE fingerprint = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let number: Option<i64> = statement.query_row([fingerprint], |row| row.get(0)).optional()?;
        Ok(number.map(|number| format!("F{number}")))
    }

    /// Keeps an input.
    pub fn save_input(&self, input: &Input) -> Result<(), StoreError> {
        let body = postcard::to_allocvec(input).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO inputs (program, input, body, used) VALUES (?1, ?2, ?3, unixepoch('subsec'))";
        self.connection
            .execute(sql, params![key(input.program), key(input.hash()), body])?;
        Ok(())
    }

    /// The input with these hashes.
    pub fn input(&self, program: u64, input: u64) -> Result<Option<Input>, StoreError> {
        let sql = "SELECT body FROM inputs WHERE program = ?1 AND input = ?2";
        let body: Option<Vec<u8>> = self
            .connection
            .query_row(sql, params![key(program), key(input)], |r| r.get(0))
            .optional()?;
        Ok(body.and_then(|b| postcard::from_bytes(&b).ok()))
    }

    /// The input of the latest hunt.
    pub fn latest_input(&self) -> Result<Option<Input>, StoreError> {
        let sql = "SELECT body FROM inputs ORDER BY used DESC LIMIT 1";
        let body: Option<Vec<u8>> = self.connection.query_row(sql, [], |r| r.get(0)).optional()?;
        Ok(body.and_then(|b| postcard::from_bytes(&b).ok()))
    }

    /// All inputs, the latest first.
    pub fn inputs(&self) -> Result<Vec<Input>, StoreError> {
        self.bodies("SELECT body FROM inputs ORDER BY used DESC", params![])
    }

    /// The inputs with a suspicion of this label, the latest first.
    pub fn owners(&self, label: &str) -> Result<Vec<Input>, StoreError> {
        let number: Option<i64> = label.trim_start_matches(['F', 'f']).parse().ok();
        let sql =
            "SELECT i.body FROM suspicions s JOIN labels l USING (fingerprint) JOIN inputs i USING (program, input)
                   WHERE l.number = ?1 ORDER BY i.used DESC";
        self.bodies(sql, params![number])
    }

    fn bodies(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<Input>, StoreError> {
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map(values, |r| r.get::<_, Vec<u8>>(0))?;
        Ok(rows.flatten().filter_map(|b| postcard::from_bytes(&b).ok()).collect())
    }

    /// Runs and seconds of all hunts in a program with an input.
    pub fn spent(&self, program: u64, input: u64) -> Result<(u64, f64), StoreError> {
        let sql =
            "SELECT COALESCE(SUM(runs), 0), COALESCE(SUM(seconds), 0.0) FROM hunts WHERE program = ?1 AND input = ?2";
        let row = |r: &rusqlite::Row<'_>| Ok((r.get::<_, i64>(0)? as u64, r.get(1)?));
        Ok(self.connection.query_row(sql, params![key(program), key(input)], row)?)
    }

    /// How far a candidate came with this program and input.
    pub fn tried(&self, fingerprint: &str, program: u64, input: u64) -> Result<Option<Tried>, StoreError> {
        let sql = "SELECT tries, met, hits, settled, allowed FROM candidates
                   WHERE fingerprint = ?1 AND program = ?2 AND input = ?3";
        let row = |r: &rusqlite::Row<'_>| {
            Ok(Tried {
                tries: r.get(0)?,
                met: r.get(1)?,
                hits: r.get(2)?,
                settled: r.get(3)?,
                allowed: r.get(4)?,
            })
        };
        Ok(self
            .connection
            .query_row(sql, params![fingerprint, key(program), key(input)], row)
            .optional()?)
    }

    /// Keeps how far a candidate came.
    pub fn save_tried(&self, fingerprint: &str, program: u64, input: u64, t: &Tried) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO candidates (fingerprint, program, input, tries, met, hits, settled, allowed)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![
            fingerprint,
            key(program),
            key(input),
            t.tries,
            t.met,
            t.hits,
            t.settled,
            t.allowed
        ];
        self.connection.execute(sql, values)?;
        Ok(())
    }

    /// Keeps a finding and the execution that shows it. A weaker verdict on the same program and input
    /// does not replace a stronger one.
    pub fn save(&self, f: &Finding, program: u64, input: u64, execution: Option<&Execution>) -> Result<(), StoreError> {
        if self
            .finding(&f.fingerprint, program, input)?
            .is_some_and(|known| known.verdict > f.verdict)
        {
            return Ok(());
        }
        let body = serde_json::to_string(f).unwrap_or_default();
        let plan = execution.map(|e| e.plan.encode());
        let switches = execution.map(|e| postcard::to_allocvec(&e.switches).unwrap_or_default());
        let hash = execution.map(|e| key(e.schedule_hash));
        let meeting = execution.and_then(|e| e.meeting);
        let sql = "INSERT OR REPLACE INTO findings
                   (fingerprint, program, input, verdict, body, plan, switches, schedule_hash, meeting)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let verdict = deadheat_report::schema::name(&f.verdict);
        let values = params![
            f.fingerprint,
            key(program),
            key(input),
            verdict,
            body,
            plan,
            switches,
            hash,
            meeting
        ];
        self.connection.execute(sql, values)?;
        Ok(())
    }

    /// A stored finding.
    pub fn finding(&self, fingerprint: &str, program: u64, input: u64) -> Result<Option<Finding>, StoreError> {
        let sql = "SELECT body FROM findings WHERE fingerprint = ?1 AND program = ?2 AND input = ?3";
        let body: Option<String> = self
            .connection
            .query_row(sql, params![fingerprint, key(program), key(input)], |r| r.get(0))
            .optional()?;
        Ok(body.and_then(|b| serde_json::from_str(&b).ok()))
    }

    /// All findings of a program with an input.
    pub fn findings(&self, program: u64, input: u64) -> Result<Vec<Finding>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT body FROM findings WHERE program = ?1 AND input = ?2")?;
        let rows = statement.query_map(params![key(program), key(input)], |r| r.get::<_, String>(0))?;
        Ok(rows.flatten().filter_map(|b| serde_json::from_str(&b).ok()).collect())
    }

    /// The execution that shows the finding with this label, the latest program's first.
    pub fn execution(&self, label: &str) -> Result<Option<Execution>, StoreError> {
        let number: Option<i64> = label.trim_start_matches(['F', 'f']).parse().ok();
        let sql = "SELECT f.program, f.input, f.plan, f.switches, f.schedule_hash, f.meeting
                   FROM findings f JOIN labels l USING (fingerprint) JOIN inputs i USING (program, input)
                   WHERE l.number = ?1 AND f.plan IS NOT NULL ORDER BY i.used DESC LIMIT 1";
        let row = |r: &rusqlite::Row<'_>| -> rusqlite::Result<Option<Execution>> {
            let (plan, switches): (Vec<u8>, Vec<u8>) = (r.get(2)?, r.get(3)?);
            let number = |at: usize| r.get::<_, i64>(at).map(|n| n as u64);
            let (Ok(plan), Ok(switches)) = (Plan::decode(&plan), postcard::from_bytes(&switches)) else {
                return Ok(None);
            };
            let (program, input, schedule_hash) = (number(0)?, number(1)?, number(4)?);
            Ok(Some(Execution {
                program,
                input,
                plan,
                switches,
                schedule_hash,
                meeting: r.get(5)?,
            }))
        };
        Ok(self.connection.query_row(sql, [number], row).optional()?.flatten())
    }

    /// The finding that [`Store::execution`] shows under this label.
    pub fn shown(&self, label: &str) -> Result<Option<Finding>, StoreError> {
        let number: Option<i64> = label.trim_start_matches(['F', 'f']).parse().ok();
        let sql = "SELECT f.body FROM findings f JOIN labels l USING (fingerprint) JOIN inputs i USING (program, input)
                   WHERE l.number = ?1 AND f.plan IS NOT NULL ORDER BY i.used DESC LIMIT 1";
        let body: Option<String> = self.connection.query_row(sql, [number], |r| r.get(0)).optional()?;
        Ok(body.and_then(|b| serde_json::from_str(&b).ok()))
    }

    /// Keeps a candidate, for `confirm`.
    pub fn save_suspicion(&self, candidate: &Candidate, program: u64, input: u64) -> Result<(), StoreError> {
        let body = Stored::Pair(Box::new(candidate.suspicion()));
        self.save_body(&candidate.fingerprint(), program, input, &body)
    }

    /// Keeps a cycle of waiting, for `confirm`.
    pub fn save_cycle(&self, cycle: &WaitingCycle, program: u64, input: u64) -> Result<(), StoreError> {
        self.save_body(
            &cycle.fingerprint,
            program,
            input,
            &Stored::Cycle(Box::new(cycle.stored())),
        )
    }

    fn save_body(&self, fingerprint: &str, program: u64, input: u64, body: &Stored) -> Result<(), StoreError> {
        let body = postcard::to_allocvec(body).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO suspicions (fingerprint, program, input, body) VALUES (?1, ?2, ?3, ?4)";
        self.connection
            .execute(sql, params![fingerprint, key(program), key(input), body])?;
        Ok(())
    }

    /// The stored candidates of a program with an input.
    pub fn suspicions(&self, program: u64, input: u64) -> Result<Vec<Stored>, StoreError> {
        let sql = "SELECT body FROM suspicions WHERE program = ?1 AND input = ?2 ORDER BY fingerprint";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map(params![key(program), key(input)], |r| r.get::<_, Vec<u8>>(0))?;
        Ok(rows.flatten().filter_map(|b| postcard::from_bytes(&b).ok()).collect())
    }

    /// Notes that a hunt took place.
    pub fn save_hunt(&self, program: u64, input: u64, runs: u64, seconds: f64) -> Result<(), StoreError> {
        let sql = "INSERT INTO hunts (program, input, runs, seconds, ended) VALUES (?1, ?2, ?3, ?4, unixepoch())";
        self.connection
            .execute(sql, params![key(program), key(input), runs as i64, seconds])?;
        Ok(())
    }

    /// Runs several writes as one: all of them are kept, or none.
    pub fn together(&self, writes: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let result = writes();
        let end = self
            .connection
            .execute_batch(if result.is_ok() { "COMMIT" } else { "ROLLBACK" });
        result.and(end.map_err(StoreError::from))
    }
}

/// SQLite's integers are signed; the bits are the same.
fn key(hash: u64) -> i64 {
    hash as i64
}

/// Inputs hold the environment: for the user's eyes only.
fn private(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700));
    let ignore = directory.join(".gitignore");
    if !ignore.exists() {
        let _ = std::fs::write(ignore, "*\n");
    }
}

fn lock_for(mut lock: &File, directory: &Path) -> Result<(), StoreError> {
    if lock.try_lock().is_err() {
        let mut pid = String::new();
        let _ = lock.read_to_string(&mut pid);
        let pid = if pid.trim().is_empty() {
            "unknown".into()
        } else {
            pid.trim().to_string()
        };
        return Err(StoreError::Busy(directory.into(), pid));
    }
    let _ = lock.set_len(0);
    let _ = lock.write_all(std::process::id().to_string().as_bytes());
    Ok(())
}

/// A file that could be read.
enum Opened {
    /// It is sound, and of this version.
    Sound(Connection),
    /// It is of another version.
    Version(i64),
}

fn open_file(path: &Path) -> rusqlite::Result<Opened> {
    let connection = Connection::open(path)?;
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        return Err(rusqlite::Error::SqliteFailure(corrupt, Some(sound)));
    }
    tables::create(&connection)?;
    match tables::version(&connection)? {
        tables::VERSION => Ok(Opened::Sound(connection)),
        found => Ok(Opened::Version(found)),
    }
}

/// Whether the error lies in what the file holds.
fn damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    let code = error.sqlite_error_code();
    code.is_none_or(|code| matches!(code, DatabaseCorrupt | NotADatabase | Unknown))
}

/// Renames the file; `why` becomes part of its name.
fn set_aside(directory: &Path, why: &str) -> std::io::Result<PathBuf> {
    let free = (1..1000)
        .map(|n| directory.join(format!("store.{why}-{n}")))
        .find(|p| !p.exists());
    let to = free.unwrap_or_else(|| directory.join(format!("store.{why}")));
    for suffix in ["-journal", "-wal", "-shm"] {
        let _ = std::fs::remove_file(directory.join(format!("{FILE}{suffix}")));
    }
    std::fs::rename(directory.join(FILE), &to)?;
    Ok(to)
}

#[cfg(test)]
mod tests;
