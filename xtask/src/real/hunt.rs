//! What a hunt reported, as far as it is judged here.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::recipe::Program;

/// A hunt's report.
#[derive(Deserialize)]
pub struct Report {
    findings: Vec<Finding>,
    stats: Figures,
}

#[derive(Deserialize)]
struct Figures {
    runs: u64,
    seconds: f64,
    candidates: u64,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    kind: String,
    verdict: String,
    accesses: Vec<Access>,
}

#[derive(Deserialize)]
struct Access {
    function: String,
}

impl Finding {
    fn shown(&self) -> bool {
        self.verdict != "suspected"
    }

    /// Whether a race between these two functions is known to be real.
    fn is_known(&self, program: &Program) -> bool {
        let functions: BTreeSet<&str> = self.accesses.iter().map(|access| access.function.as_str()).collect();
        let same = |pair: &[&str; 2]| functions == pair.iter().copied().collect();
        self.verdict == "real" && program.known.iter().any(same)
    }
}

impl Report {
    /// Reads a report.
    pub fn read(json: &str) -> Result<Report, String> {
        serde_json::from_str(json).map_err(|error| format!("the report: {error}"))
    }

    /// The hunt's figures in words.
    pub fn figures(&self) -> String {
        let of = |verdict: &str| self.findings.iter().filter(|f| f.verdict == verdict).count();
        format!(
            "{} candidates, {} runs in {:.0} s, {} real, {} harmful",
            self.stats.candidates,
            self.stats.runs,
            self.stats.seconds,
            of("real") + of("harmful"),
            of("harmful")
        )
    }

    /// Findings that were shown and that nobody has argued for yet, one a word.
    pub fn unknown(&self, program: &Program) -> Vec<String> {
        let new = self.findings.iter().filter(|f| f.shown() && !f.is_known(program));
        new.map(|f| {
            let functions: Vec<&str> = f.accesses.iter().map(|access| access.function.as_str()).collect();
            format!("{} {} {} in {}", f.id, f.verdict, f.kind, functions.join("/"))
        })
        .collect()
    }

    /// Whether a race with an access in one of these functions was shown.
    pub fn shows(&self, functions: &[&str]) -> bool {
        let within = |access: &Access| functions.contains(&access.function.as_str());
        self.findings.iter().any(|f| f.shown() && f.accesses.iter().any(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::recipe::PROGRAMS;

    const REPORT: &str = r#"{"stats": {"runs": 7, "seconds": 1.5, "candidates": 2}, "findings": [
        {"id": "F1", "kind": "data-race", "verdict": "real",
         "accesses": [{"function": "worker_decoder"}, {"function": "stream_decode_mt"}]},
        {"id": "F2", "kind": "data-race", "verdict": "suspected",
         "accesses": [{"function": "f"}, {"function": "f"}]}]}"#;

    #[test]
    fn a_known_race_is_told_from_others() {
        let report = Report::read(REPORT).expect("a report");
        let named = |name| PROGRAMS.iter().find(|p| p.name == name).expect("a program");
        assert_eq!(report.unknown(named("xz")), Vec::<String>::new());
        assert_eq!(report.unknown(named("zstd")).len(), 1);
        assert!(report.shows(&["worker_decoder"]) && !report.shows(&["f"]));
        assert_eq!(report.figures(), "2 candidates, 7 runs in 2 s, 1 real, 0 harmful");
    }
}
