//! Many programs, a line each, as in RaceFuzzer's table 1: what each phase took, what was predicted, shown and harmful,
//! how often the program fails by itself, and how probable it is that a directed run shows a finding.

use crate::finding::{Report, Stats};
use crate::words;
use deadheat_model::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Version of the JSON format.
pub const VERSION: u32 = 1;

/// The table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Version of this format.
    pub version: u32,
    /// The programs, in the order of the list.
    pub rows: Vec<Row>,
}

/// What a hunt in one program came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The program's name and arguments.
    pub program: String,
    /// Seconds of a run without deadheat.
    pub plain_seconds: f64,
    /// Seconds of phase 1.
    pub detecting_seconds: f64,
    /// Seconds of phase 2 and what follows it.
    pub confirming_seconds: f64,
    /// Runs of the program.
    pub runs: u64,
    /// Candidates: predicted races and deadlocks.
    pub potential: u32,
    /// Findings that were shown.
    pub real: u32,
    /// Of these, those that harm.
    pub harmful: u32,
    /// Runs without deadheat.
    pub plain_runs: u32,
    /// Those of them that ended badly.
    pub plain_failures: u32,
    /// Number, from 1, of the first run under control that ended badly; none if none did. With several runs at the same
    /// time those that end first are counted first, so it may differ from hunt to hunt.
    pub first_failure: Option<u64>,
    /// Mean share of directed runs that show a finding, over those that were shown by such; none if there is none.
    pub probability: Option<f64>,
    /// Why the hunt did not end, or could not begin.
    pub trouble: Option<String>,
}

impl Row {
    /// Of a hunt's report; `trouble` is what kept it from being whole.
    pub fn of(program: String, report: &Report, trouble: Option<String>) -> Row {
        let stats: &Stats = &report.stats;
        let shares: Vec<f64> = report
            .findings
            .iter()
            .filter(|f| f.verdict >= Verdict::Real && f.tries > 0 && f.hits > 0)
            .map(|f| f.share())
            .map(|(hits, tries)| f64::from(hits) / f64::from(tries))
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        Row {
            program,
            plain_seconds: stats.plain_seconds,
            detecting_seconds: stats.detecting_seconds,
            confirming_seconds: stats.confirming_seconds,
            runs: stats.runs,
            potential: stats.candidates,
            real: report.count(Verdict::Real) as u32,
            harmful: report.count(Verdict::Harmful) as u32,
            plain_runs: stats.plain_runs,
            plain_failures: stats.plain_failures,
            first_failure: stats.first_failure,
            probability: (!shares.is_empty()).then_some(mean),
            trouble: trouble.or_else(|| stats.stopped.clone()),
        }
    }

    fn cells(&self) -> [String; 11] {
        [
            self.program.clone(),
            format!("{:.3}", self.plain_seconds),
            format!("{:.2}", self.detecting_seconds),
            format!("{:.2}", self.confirming_seconds),
            self.runs.to_string(),
            self.potential.to_string(),
            self.real.to_string(),
            self.harmful.to_string(),
            format!("{}/{}", self.plain_failures, self.plain_runs),
            self.first_failure.map_or("-".into(), |n| n.to_string()),
            self.probability.map_or("-".into(), |p| format!("{p:.2}")),
        ]
    }
}

const HEADINGS: [&str; 11] = [
    "program",
    "plain s",
    "phase 1 s",
    "phase 2 s",
    "runs",
    "potential",
    "real",
    "harmful",
    "plain failures",
    "first failure",
    "probability",
];

impl Table {
    /// Reads one.
    pub fn from_json(text: &str) -> Result<Table, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    /// As JSON text.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The schema of [`Table::json`], as it stands in `docs/schema/table-1.json`.
    pub fn schema() -> String {
        let schema = schemars::schema_for!(Table);
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }

    /// As a table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} |\n|---|", HEADINGS.join(" | "));
        text += &"---:|".repeat(HEADINGS.len() - 1);
        text.push('\n');
        for row in &self.rows {
            let cells = row.cells().map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text + &self.notes()
    }

    /// For a person.
    pub fn text(&self) -> String {
        let cells: Vec<[String; 11]> = [HEADINGS.map(String::from)]
            .into_iter()
            .chain(self.rows.iter().map(Row::cells))
            .collect();
        let width = |n: usize| cells.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        let mut text = String::new();
        for row in &cells {
            let _ = write!(text, "{:<w$}", row[0], w = widths[0]);
            for (cell, w) in row.iter().zip(&widths).skip(1) {
                let _ = write!(text, "  {cell:>w$}");
            }
            text.push('\n');
        }
        text + &self.notes()
    }

    /// What the numbers do not tell.
    fn notes(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            if let Some(why) = &row.trouble {
                let _ = writeln!(text, "\n{}: {why}", row.program);
            }
        }
        let sum = |of: fn(&Row) -> u32| self.rows.iter().map(of).sum::<u32>();
        let programs = words::count(self.rows.len() as u64, "program");
        let (potential, real, harmful) = (sum(|r| r.potential), sum(|r| r.real), sum(|r| r.harmful));
        let _ = writeln!(
            text,
            "\n{programs}: {potential} potential, {real} real, of these {harmful} harmful"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_trouble_is_told() {
        let row = |program: &str, runs| Row {
            program: program.into(),
            runs,
            probability: Some(0.955),
            ..Row::default()
        };
        let cut = Row {
            trouble: Some("the budget is used up".into()),
            ..row("./b 1", 7)
        };
        let table = Table {
            version: VERSION,
            rows: vec![row("./a long one", 1234), cut],
        };
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].len(), lines[1].len());
        assert_eq!(lines[1].len(), lines[2].len());
        assert!(text.contains("./b 1: the budget is used up"), "{text}");
        assert!(
            table.markdown().starts_with("| program | plain s |"),
            "{}",
            table.markdown()
        );
        assert_eq!(Table::from_json(&table.json()), Ok(table));
    }
}
