//! The tables, version 4.

use rusqlite::{Connection, Result};

pub(super) const VERSION: i64 = 5;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS labels (number INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS inputs (
    program INTEGER NOT NULL, input INTEGER NOT NULL, body BLOB NOT NULL, used REAL NOT NULL,
    PRIMARY KEY (program, input));
CREATE TABLE IF NOT EXISTS candidates (
    fingerprint TEXT NOT NULL, program INTEGER NOT NULL, input INTEGER NOT NULL,
    tries INTEGER NOT NULL, met INTEGER NOT NULL, hits INTEGER NOT NULL, settled INTEGER NOT NULL,
    allowed INTEGER NOT NULL, PRIMARY KEY (fingerprint, program, input));
CREATE TABLE IF NOT EXISTS suspicions (
    fingerprint TEXT NOT NULL, program INTEGER NOT NULL, input INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (fingerprint, program, input));
CREATE TABLE IF NOT EXISTS findings (
    fingerprint TEXT NOT NULL, program INTEGER NOT NULL, input INTEGER NOT NULL, verdict TEXT NOT NULL,
    body TEXT NOT NULL, plan BLOB, switches BLOB, schedule_hash INTEGER, meeting INTEGER,
    PRIMARY KEY (fingerprint, program, input));
CREATE TABLE IF NOT EXISTS hunts (
    program INTEGER NOT NULL, input INTEGER NOT NULL, runs INTEGER NOT NULL, seconds REAL NOT NULL,
    ended INTEGER NOT NULL);
";

/// Came later; a store without them has measured and explored nothing.
const LATER: &str = "
CREATE TABLE IF NOT EXISTS explorations (
    program INTEGER NOT NULL, input INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (program, input));
CREATE TABLE IF NOT EXISTS measurements (
    program INTEGER NOT NULL, input INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (program, input));
";

/// Makes the tables of a new store, those that came later in one of this version; others are left alone.
pub(super) fn create(connection: &Connection) -> Result<()> {
    let found = version(connection)?;
    if found != 0 && found != VERSION {
        return Ok(());
    }
    // Each transaction waits for the disk.
    let all = connection.unchecked_transaction()?;
    if found == 0 {
        all.execute_batch(TABLES)?;
        all.pragma_update(None, "user_version", VERSION)?;
    }
    all.execute_batch(LATER)?;
    all.commit()
}

/// The store's version; 0 of an empty file.
pub(super) fn version(connection: &Connection) -> Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
