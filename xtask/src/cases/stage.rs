//! What a case can be run under: stages of the tool and optimisation levels.

use std::fmt;
use std::str::FromStr;

/// A stage that reports findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// `deadheat hunt`.
    Hunt,
    /// `deadheat scan`.
    Scan,
    /// `deadheat hunt --explore`.
    Explore,
    /// `deadheat hunt --inputs`, through the selection.
    Select,
}

impl Stage {
    const ALL: [(Stage, &'static str); 4] = [
        (Stage::Hunt, "hunt"),
        (Stage::Scan, "scan"),
        (Stage::Explore, "explore"),
        (Stage::Select, "select"),
    ];

    /// Whether the tool has this stage.
    pub fn exists(self) -> bool {
        matches!(self, Stage::Hunt | Stage::Scan | Stage::Explore)
    }

    /// The command of the tool.
    pub fn command(self) -> &'static [&'static str] {
        match self {
            Stage::Hunt => &["hunt"],
            Stage::Scan => &["scan"],
            // So many find what the cases hide; a parser without end would take the whole budget.
            Stage::Explore => &["hunt", "--explore", "--most-inputs", "300"],
            Stage::Select => &["select"],
        }
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Stage, String> {
        let known = Stage::ALL.iter().find(|(_, name)| *name == text);
        known
            .map(|(stage, _)| *stage)
            .ok_or_else(|| format!("`{text}` is no stage"))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Stage::ALL.iter().find(|(stage, _)| stage == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

/// An optimisation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `-O0`.
    O0,
    /// `-O1`.
    O1,
    /// `-O2`.
    O2,
}

impl Level {
    /// All levels at which cases are run.
    pub const ALL: [Level; 3] = [Level::O0, Level::O1, Level::O2];

    /// The compiler's flag.
    pub fn flag(self) -> &'static str {
        match self {
            Level::O0 => "-O0",
            Level::O1 => "-O1",
            Level::O2 => "-O2",
        }
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Level, String> {
        let known = Level::ALL
            .into_iter()
            .find(|level| level.flag().trim_start_matches('-') == text);
        known.ok_or_else(|| format!("`{text}` is not one of O0, O1, O2"))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.flag())
    }
}
