//! What the tool reported, reduced to what annotations speak of: kinds, verdicts, harm, and lines of the
//! case. Read from the JSON as any user's script would.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A finding on a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Kind, by its name in reports.
    pub kind: String,
    /// Whether it was shown.
    pub real: bool,
    /// Kind and detail of its harm.
    pub harm: Option<(String, String)>,
    /// Line of each access, ascending; none where nothing on its stack lies in the case.
    pub lines: Vec<Option<u32>>,
    /// Lines at which the threads of a deadlock wait; of a misuse, where it is and where the other thread took the object.
    pub waiting: Vec<u32>,
}

#[derive(Deserialize)]
struct Report {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    kind: String,
    verdict: String,
    harm: Option<Harm>,
    accesses: Vec<Access>,
    #[serde(default)]
    threads: Vec<Waiting>,
    misuse: Option<Misuse>,
    #[serde(default, rename = "fingerprint")]
    _fingerprint: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Harm {
    kind: String,
    detail: String,
}

#[derive(Deserialize)]
struct Access {
    file: String,
    line: u32,
    stack: Vec<Place>,
}

#[derive(Deserialize)]
struct Waiting {
    stack: Vec<Place>,
}

#[derive(Deserialize)]
struct Misuse {
    stack: Vec<Place>,
    taken: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    file: String,
    line: u32,
}

/// Reads a report on the case whose source file is called `source` (no directories).
pub fn read(json: &str, source: &str) -> Result<Vec<Reported>, serde_json::Error> {
    let report: Report = serde_json::from_str(json)?;
    let in_case = |file: &str| file.rsplit('/').next() == Some(source);
    // An access inside a header (std::atomic, a container) belongs to the innermost line of the case.
    let innermost = |stack: &[Place]| stack.iter().find(|p| in_case(&p.file) && p.line > 0).map(|p| p.line);
    let finding = |finding: Finding| {
        let line = |a: &Access| {
            if in_case(&a.file) && a.line > 0 {
                Some(a.line)
            } else {
                innermost(&a.stack)
            }
        };
        let mut lines: Vec<Option<u32>> = finding.accesses.iter().map(line).collect();
        lines.sort();
        Reported {
            real: finding.verdict != "suspected",
            harm: finding.harm.map(|h| (h.kind, h.detail)),
            waiting: finding
                .threads
                .iter()
                .map(|t| &t.stack)
                .chain(finding.misuse.iter().flat_map(|m| [&m.stack, &m.taken]))
                .filter_map(|stack| innermost(stack))
                .collect(),
            kind: finding.kind,
            lines,
        }
    };
    Ok(report.findings.into_iter().map(finding).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_innermost_line_of_the_case() {
        let json = r#"{"version":1,"findings":[{"id":"F1","kind":"data-race","verdict":"harmful","harm":
            {"kind":"signal","detail":"SIGSEGV"},"accesses":[
            {"file":"/usr/include/c++/12/atomic","line":9,"stack":[{"file":"/usr/include/c++/12/atomic","line":9},
                {"file":"cases/cpp/t/x.cpp","line":14},{"file":"cases/cpp/t/x.cpp","line":40}]},
            {"file":"cases/cpp/t/x.cpp","line":7,"stack":[]}]}]}"#;
        let found = read(json, "x.cpp").unwrap();
        assert_eq!(found[0].lines, [Some(7), Some(14)]);
        assert!(found[0].real);
        assert_eq!(found[0].harm, Some(("signal".into(), "SIGSEGV".into())));
    }

    #[test]
    fn an_access_outside_the_case_has_no_line() {
        let json = r#"{"findings":[{"kind":"data-race","verdict":"suspected","harm":null,"accesses":[
            {"file":"other.c","line":3,"stack":[]}]}]}"#;
        assert_eq!(read(json, "x.c").unwrap()[0].lines, [None]);
    }
}
