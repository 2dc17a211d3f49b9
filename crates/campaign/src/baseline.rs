//! Findings that are known already: those of an earlier report.
//!
//! A static finding is known by its functions, what they do and to what, not by its lines, which move with every change
//! above them. Findings that are alike are counted: of three where two were known, the last one is new.

use crate::hash::Fnv;
use deadheat_report::finding::{Finding, Report};
use std::collections::{HashMap, HashSet};

/// Fingerprints of an earlier report.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    known: HashSet<String>,
}

/// Why a file is no baseline.
#[derive(Debug, thiserror::Error)]
#[error("not a report of `deadheat scan --format json`: {0}")]
pub struct NoReport(#[from] serde_json::Error);

impl Baseline {
    /// Reads a report, or several one after another, as `--format json` writes them.
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn read(text: &str) -> Result<Baseline, NoReport> {
        let mut known = HashSet::new();
        for report in serde_json::Deserializer::from_str(text).into_iter::<Report>() {
            known.extend(report?.findings.into_iter().map(|f| f.fingerprint));
        }
        Ok(Baseline { known })
    }

    /// Leaves what is known out of a report, and says how much that was, and how much of what was known is gone.
    pub fn leave_out(&self, report: &mut Report) {
        let met: HashSet<&String> = report.findings.iter().map(|f| &f.fingerprint).collect();
        let gone = self.known.iter().filter(|known| !met.contains(known)).count();
        let before = report.findings.len();
        report.findings.retain(|f| !self.known.contains(&f.fingerprint));
        let left_out = before - report.findings.len();
        report.notices.push(format!(
            "against the baseline: {} new, {left_out} known and not listed, {gone} gone",
            report.findings.len()
        ));
    }
}

/// Gives findings with one fingerprint fingerprints of their own, in order of their lines.
pub(crate) fn tell_alike_apart(findings: &mut [Finding]) {
    let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
    for (n, finding) in findings.iter().enumerate() {
        alike.entry(finding.fingerprint.clone()).or_default().push(n);
    }
    for mut numbers in alike.into_values().filter(|numbers| numbers.len() > 1) {
        let lines = |n: &usize| -> Vec<u32> { findings[*n].accesses.iter().map(|a| a.line).collect() };
        numbers.sort_by_key(lines);
        for (count, n) in numbers.into_iter().enumerate().skip(1) {
            let mut hash = Fnv::default();
            hash.text(&findings[n].fingerprint).text(&count.to_string());
            findings[n].fingerprint = hash.hex();
        }
    }
}
