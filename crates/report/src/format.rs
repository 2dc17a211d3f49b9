//! The formats of a report, by name.

use crate::coverage::Coverage;
use crate::finding::{Finding, Report};
use crate::{html, junit, sarif, terminal};
use std::str::FromStr;

/// A format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text for a person.
    #[default]
    Human,
    /// deadheat's own JSON.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// JUnit XML, for CI systems.
    Junit,
    /// One self-contained page.
    Html,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        match name {
            "human" => Ok(Format::Human),
            "json" => Ok(Format::Json),
            "sarif" => Ok(Format::Sarif),
            "junit" => Ok(Format::Junit),
            "html" => Ok(Format::Html),
            other => Err(format!(
                "unknown format `{other}`; formats are human, json, sarif, junit, html"
            )),
        }
    }
}

/// What a reader wants to see.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// List suspected findings too.
    pub suspected: bool,
    /// The options that `replay` needs to find the store, with a trailing space.
    pub store: String,
    /// Nothing is stored: only tokens can be replayed.
    pub unstored: bool,
    /// What an exploration covered; for the page.
    pub coverage: Option<Coverage>,
}

/// Writes the report in a format. Text has colours as ANSI sequences; strip them where there is no terminal.
pub fn write(report: &Report, format: Format, options: &Options) -> String {
    match format {
        Format::Human => terminal::text(report, options),
        Format::Json => json(report),
        Format::Sarif => sarif::text(report),
        Format::Junit => junit::text(report, options),
        Format::Html => html::text(report, options),
    }
}

fn json(report: &Report) -> String {
    let mut report = report.clone();
    report.findings = report.findings.into_iter().map(Finding::counted).collect();
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}
