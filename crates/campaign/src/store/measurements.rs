//! What measuring an input gave, kept by the program's and the input's hashes.

use super::{Store, StoreError, key};
use deadheat_model::SiteId;
use deadheat_pairs::PairSet;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

/// A measured input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredInput {
    /// Files of the modules, in the order of their numbers.
    pub modules: Vec<String>,
    /// Functions that ran, by their entry sites.
    pub functions: Vec<SiteId>,
    /// Concurrent pairs, by places in `functions`.
    pub pairs: PairSet,
    /// Statements that ran beside other threads: place of the function in `functions`, the site, and the threads in which
    /// it was seen to run, see `Reached`.
    pub statements: Vec<(u32, SiteId, u64)>,
    /// How long the run took.
    pub seconds: f64,
    /// Its scheduling points: what it costs, as far as that is the same each time.
    pub steps: u64,
    /// Instances joined for want of room, see `FunctionSpans`.
    pub widened: u64,
    /// Instances dropped.
    pub dropped: u64,
    /// Functions that were not measured, see `left_out`.
    pub left_out: u32,
}

/// First in what is kept: what does not begin so was kept in another form, and is measured again.
const FORM: u8 = 0x82;

impl Store {
    /// What was measured of a program with an input.
    pub fn measured(&self, program: u64, input: u64) -> Result<Option<MeasuredInput>, StoreError> {
        let sql = "SELECT body FROM measurements WHERE program = ?1 AND input = ?2";
        let values = params![key(program), key(input)];
        let body: Option<Vec<u8>> = self.connection.query_row(sql, values, |r| r.get(0)).optional()?;
        Ok(body.and_then(|b| postcard::from_bytes(b.strip_prefix(&[FORM])?).ok()))
    }

    /// Keeps what was measured.
    pub fn save_measured(&self, program: u64, input: u64, measured: &MeasuredInput) -> Result<(), StoreError> {
        let mut body = vec![FORM];
        body.extend(postcard::to_allocvec(measured).unwrap_or_default());
        let sql = "INSERT OR REPLACE INTO measurements (program, input, body) VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, params![key(program), key(input), body])?;
        Ok(())
    }
}
