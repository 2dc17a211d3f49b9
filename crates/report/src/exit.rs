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
