//! Explorations that can go on, by the hashes of the program and of the input that they began with.

use super::{Store, StoreError, key};
use crate::explore::KeptExploration;
use rusqlite::{OptionalExtension, params};

impl Store {
    /// What was kept of an exploration; an error if it cannot be read.
    pub fn exploration(&self, program: u64, input: u64) -> Result<Option<KeptExploration>, StoreError> {
        let sql = "SELECT body FROM explorations WHERE program = ?1 AND input = ?2";
        let values = params![key(program), key(input)];
        let body: Option<Vec<u8>> = self.connection.query_row(sql, values, |r| r.get(0)).optional()?;
        let read = |body: Vec<u8>| postcard::from_bytes(&body).map_err(|e| StoreError::Exploration(e.to_string()));
        body.map(read).transpose()
    }

    /// Keeps an exploration in the place of an earlier one.
    pub fn save_exploration(&self, program: u64, input: u64, kept: &KeptExploration) -> Result<(), StoreError> {
        let body = postcard::to_allocvec(kept).map_err(|e| StoreError::Exploration(e.to_string()))?;
        let sql = "INSERT OR REPLACE INTO explorations (program, input, body) VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, params![key(program), key(input), body])?;
        Ok(())
    }
}
