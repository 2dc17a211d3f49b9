//! Which ways the program's branches went over all explored inputs: a table, lcov's format, a part of the page.

use crate::html::escape;
use std::collections::BTreeMap;
use std::fmt::Write;

/// One branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// What the constraints of paths call it.
    pub site: u64,
    /// Source file, as the compiler named it; empty if there was no debug information.
    pub file: String,
    /// The function whose source it is.
    pub function: String,
    /// Line, 0 unknown.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// Whether it was seen not taken, taken.
    pub seen: [bool; 2],
    /// Whether a side that was not seen is proven infeasible on every explored path.
    pub infeasible: [bool; 2],
}

impl Branch {
    /// What is known of a side, in a word.
    pub fn state(&self, side: usize) -> &'static str {
        match (self.seen[side], self.infeasible[side], self.seen.contains(&true)) {
            (true, _, _) => "covered",
            (_, true, _) => "infeasible",
            (_, _, true) => "unknown",
            _ => "not reached",
        }
    }
}

/// All branches of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// In the order of the flavour's rows.
    pub branches: Vec<Branch>,
}

impl Coverage {
    /// Takes in a run's hits, two for each row; whether one was new.
    pub fn see(&mut self, hits: &[u8]) -> bool {
        let mut new = false;
        for (branch, hits) in self.branches.iter_mut().zip(hits.chunks_exact(2)) {
            for (seen, hit) in branch.seen.iter_mut().zip(hits) {
                new |= *hit != 0 && !*seen;
                *seen |= *hit != 0;
            }
        }
        new
    }

    /// Whether one of a run's hits would be new.
    pub fn would_see(&self, hits: &[u8]) -> bool {
        let new = |(branch, hits): (&Branch, &[u8])| branch.seen.iter().zip(hits).any(|(seen, hit)| *hit != 0 && !seen);
        self.branches.iter().zip(hits.chunks_exact(2)).any(new)
    }

    /// Sides seen, and sides there are.
    pub fn sides(&self) -> (usize, usize) {
        let seen = self.branches.iter().flat_map(|b| b.seen).filter(|s| *s).count();
        (seen, 2 * self.branches.len())
    }

    /// Sides seen and sides there are, by file.
    fn by_file(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut files: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for branch in &self.branches {
            let entry = files.entry(&branch.file).or_default();
            entry.0 += branch.seen.iter().filter(|s| **s).count();
            entry.1 += 2;
        }
        files
    }

    /// A part of the page: for each file its counts, and its branches that are not wholly covered.
    pub(crate) fn html(&self) -> String {
        let (seen, all) = self.sides();
        let mut text = format!("<section id=\"branches\"><h2>Branches: {seen} of {all} sides covered</h2>\n");
        for (file, (seen, all)) in self.by_file() {
            let name = escape(if file.is_empty() { "(no source)" } else { file });
            let _ = writeln!(text, "<details><summary>{name}: {seen} of {all}</summary><table>");
            text += "<tr><th>line</th><th>function</th><th>not taken</th><th>taken</th></tr>\n";
            let mut open: Vec<&Branch> = self.branches.iter().filter(|b| b.file == file).collect();
            open.retain(|b| b.seen.contains(&false));
            open.sort_by_key(|b| (b.line, b.column));
            for b in open {
                let cell = |side| {
                    let state = b.state(side);
                    let class = if state == "unknown" { "yellow" } else { "dim" };
                    format!("<td class=\"{class}\">{state}</td>")
                };
                let function = escape(&b.function);
                let _ = write!(text, "<tr><td>{}:{}</td><td>{function}</td>", b.line, b.column);
                let _ = writeln!(text, "{}{}</tr>", cell(0), cell(1));
            }
            text += "</table></details>\n";
        }
        text + "</section>\n"
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, (seen, all): (usize, usize)| {
            let part = 100.0 * seen as f64 / all.max(1) as f64;
            let _ = writeln!(text, "{seen:>7} of {all:>7} branch sides {part:>5.1} %  {name}");
        };
        let files = self.by_file();
        for (file, counts) in &files {
            line(if file.is_empty() { "(no source)" } else { file }, *counts);
        }
        line("all", self.sides());
        text
    }

    /// The format of lcov's tracefiles: branches only. A branch that was never reached has `-`.
    pub fn lcov(&self) -> String {
        let mut text = String::from("TN:deadheat\n");
        let mut files: BTreeMap<&str, Vec<&Branch>> = BTreeMap::new();
        for branch in self.branches.iter().filter(|b| !b.file.is_empty() && b.line > 0) {
            files.entry(&branch.file).or_default().push(branch);
        }
        for (file, mut branches) in files {
            branches.sort_by_key(|b| (b.line, b.column));
            let _ = writeln!(text, "SF:{file}");
            let (mut found, mut hit) = (0, 0);
            for (block, branch) in branches.iter().enumerate() {
                let reached = branch.seen.contains(&true);
                for (side, seen) in branch.seen.iter().enumerate() {
                    found += 1;
                    hit += usize::from(*seen);
                    let taken = if reached {
                        u8::from(*seen).to_string()
                    } else {
                        "-".into()
                    };
                    let _ = writeln!(text, "BRDA:{},{block},{side},{taken}", branch.line);
                }
            }
            let _ = writeln!(text, "BRF:{found}\nBRH:{hit}\nend_of_record");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lcov_tells_unreached_from_untaken() {
        let branch = |line, seen| Branch {
            file: "a.c".into(),
            line,
            seen,
            ..Branch::default()
        };
        let coverage = Coverage {
            branches: vec![branch(9, [false, false]), branch(3, [true, false])],
        };
        let wanted = "TN:deadheat\nSF:a.c\nBRDA:3,0,0,1\nBRDA:3,0,1,0\nBRDA:9,1,0,-\nBRDA:9,1,1,-\nBRF:4\nBRH:1\nend_of_record\n";
        assert_eq!(coverage.lcov(), wanted);
        assert!(coverage.table().contains("1 of       4"), "{}", coverage.table());
    }

    #[test]
    fn the_page_tells_infeasible_from_unknown() {
        let branch = |line, seen, infeasible| Branch {
            file: "a<b>.c".into(),
            line,
            seen,
            infeasible,
            ..Branch::default()
        };
        let coverage = Coverage {
            branches: vec![
                branch(3, [true, false], [false, true]),
                branch(4, [false, true], [false, false]),
                branch(5, [true, true], [false, false]),
                branch(6, [false, false], [false, false]),
            ],
        };
        let page = coverage.html();
        let rows: Vec<&str> = page.lines().filter(|l| l.starts_with("<tr><td>")).collect();
        assert_eq!(rows.len(), 3, "{page}");
        assert!(rows[0].contains("3:0") && rows[0].contains("infeasible") && rows[0].contains("covered"));
        assert!(rows[1].contains("class=\"yellow\">unknown"));
        assert_eq!(rows[2].matches("not reached").count(), 2);
        assert!(page.contains("a&lt;b&gt;.c: 4 of 8"));
    }
}
