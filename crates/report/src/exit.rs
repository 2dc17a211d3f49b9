//! The exit status of a command that reports findings.

use crate::finding::Report;
use deadheat_model::Verdict;

/// Nothing that counts was found.
pub const NOTHING: u8 = 0;
/// At least one finding that counts.
pub const FOUND: u8 = 1;
/// Wrong usage.
pub const USAGE: u8 = 2;
/// deadheat could not do the job.
pub const FAILED: u8 = 3;

/// The status for a report: findings with at least the verdict `fail_on` count. A job that was
/// interrupted before it found anything is not done.
pub fn status(report: &Report, fail_on: Verdict, interrupted: bool) -> u8 {
    match (report.count(fail_on), interrupted) {
        (0, false) => NOTHING,
        (0, true) => FAILED,
        _ => FOUND,
    }
}

/// The verdict from which on a finding counts, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold(pub Verdict);

impl std::str::FromStr for Threshold {
    type Err = String;

    fn from_str(name: &str) -> Result<Threshold, String> {
        match name {
            "suspected" => Ok(Threshold(Verdict::Suspected)),
            "real" => Ok(Threshold(Verdict::Real)),
            "harmful" => Ok(Threshold(Verdict::Harmful)),
            other => Err(format!(
                "unknown verdict `{other}`; verdicts are suspected, real, harmful"
            )),
        }
    }
}
