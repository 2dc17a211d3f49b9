//! Annotated programs: what their comments say must be reported. `cases/README.md` gives the format.
//!
//! A case is refused, by file and line, when its annotations contradict each other: a mark that no rule can
//! satisfy would otherwise read like a fault of the tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::stage::{Level, Stage};

/// Lines that a case may have; longer programs live elsewhere.
const LINES: usize = 60;

/// An annotated program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The source file.
    pub path: PathBuf,
    /// Name: the path below `cases/`.
    pub name: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Standard input of the program.
    pub stdin: String,
    /// Files in its working directory, with their contents.
    pub files: Vec<(String, String)>,
    /// Shell command of the client, if the program serves.
    pub client: Option<String>,
    /// Options of `hunt` that say what a good run is.
    pub oracle: Vec<String>,
    /// Flags of the compiler.
    pub flags: Vec<String>,
    /// Compilers whose own instrumentation it is built with, once with each; none if it is the pass's.
    pub frontends: Vec<String>,
    /// C files beside it that are linked in.
    pub with: Vec<PathBuf>,
    /// Shared libraries that are built from the case itself.
    pub libraries: Vec<String>,
    /// What must be reported beside the marked pairs.
    pub expect: Vec<Expect>,
    /// Stages that apply.
    pub stages: Vec<Stage>,
    /// Optimisation levels at which the marked statements survive.
    pub levels: Vec<Level>,
    /// The marks, by label.
    pub labels: BTreeMap<String, Label>,
}

/// What a case is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No finding above a suspicion.
    None,
    /// Real findings without harm.
    Real,
    /// At least one marked pair does this harm.
    Harmful(Harm),
    /// A finding of this kind (`deadlock`, `crash`, …), by its name in reports.
    Kind(String),
}

/// A harm as cases name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harm {
    /// Name in cases.
    pub name: &'static str,
    /// Kind in reports.
    pub kind: &'static str,
    /// What the report's detail must contain.
    pub detail: &'static str,
}

const HARMS: [Harm; 11] = [
    harm("assert", "assertion", ""),
    harm("abort", "abort", ""),
    harm("segv", "signal", "SEGV"),
    harm("exception", "uncaught-exception", ""),
    harm("panic", "panic", ""),
    harm("deadlock", "deadlock", ""),
    harm("hang", "hang", ""),
    harm("exit-status", "exit-status", ""),
    harm("check", "check", ""),
    harm("use-after-free", "use-after-free", ""),
    harm("double-free", "double-free", ""),
];

const fn harm(name: &'static str, kind: &'static str, detail: &'static str) -> Harm {
    Harm { name, kind, detail }
}

/// Kinds that `expect` may name, with their names in reports.
const KINDS: [(&str, &str); 7] = [
    ("deadlock", "deadlock"),
    ("lost-wakeup", "lost-wakeup"),
    ("atomicity", "atomicity-violation"),
    ("order", "order-violation"),
    ("misuse", "sync-misuse"),
    ("crash", "crash"),
    ("hang", "hang"),
];

/// What the marks with one label ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// What is asked for.
    pub ask: Ask,
    /// The marked lines, from 1.
    pub lines: BTreeSet<u32>,
}

/// What a mark asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `RACE!`: shown to be real.
    Real,
    /// `WARN`: suspected by this stage and never shown.
    Suspected(Stage),
    /// `MAY`: suspected by this stage or not, and never shown.
    Tolerated(Stage),
    /// `CAN`: real, and shown by this stage under some seeds.
    Possible(Stage),
    /// `MISS`: real, but this stage does not show it; that it does is an error of the mark.
    Missed(Stage),
}

/// Why a case is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {message}")]
pub struct AnnotationError {
    /// The case.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl Case {
    /// Reads the annotations of the program `text` in the file `path`, called `name`.
    pub fn parse(path: &Path, name: &str, text: &str) -> Result<Case, AnnotationError> {
        let mut case = Case {
            path: path.to_owned(),
            name: name.to_owned(),
            args: Vec::new(),
            stdin: String::new(),
            files: Vec::new(),
            client: None,
            oracle: Vec::new(),
            flags: Vec::new(),
            frontends: Vec::new(),
            with: Vec::new(),
            libraries: Vec::new(),
            expect: Vec::new(),
            stages: vec![Stage::Hunt],
            levels: Level::ALL.to_vec(),
            labels: BTreeMap::new(),
        };
        let mut header = true;
        for (number, line) in (1..).zip(text.lines()) {
            let done = match line.strip_prefix("//@") {
                Some(directive) if header => case.directive(directive),
                Some(_) => Err("`//@` lines stand at the top".into()),
                None => {
                    header = false;
                    case.marks(number, line)
                }
            };
            done.map_err(|message| case.error(number, message))?;
        }
        case.check(text).map_err(|(line, message)| case.error(line, message))?;
        Ok(case)
    }

    fn error(&self, line: u32, message: String) -> AnnotationError {
        AnnotationError {
            path: self.path.display().to_string(),
            line,
            message,
        }
    }

    fn directive(&mut self, text: &str) -> Result<(), String> {
        let (key, value) = text.split_once(':').ok_or("a directive is `//@ key: value`")?;
        let words = || value.split_whitespace();
        match key.trim() {
            "args" => self.args = words().map(String::from).collect(),
            "client" => self.client = Some(value.trim().to_owned()),
            "expect-output" => self.oracle = vec!["--expect-output".into(), value.trim().into()],
            "check" => self.oracle = vec!["--check".into(), value.trim().into()],
            "file" => {
                let (name, contents) = value.trim().split_once(' ').ok_or("`file` is `file: NAME CONTENTS`")?;
                self.files.push((name.to_owned(), contents.replace("\\n", "\n")));
            }
            "stdin" => self.stdin = value.trim().replace("\\n", "\n"),
            "frontends" => {
                if let Some(other) = words().find(|name| !["gcc", "clang"].contains(name)) {
                    return Err(format!("unknown front end `{other}`"));
                }
                self.frontends = words().map(String::from).collect();
            }
            "flags" => self.flags = words().map(String::from).collect(),
            "with" => self.with = words().map(|name| self.path.with_file_name(name)).collect(),
            "libraries" => self.libraries = words().map(String::from).collect(),
            "expect" => self.expect = words().map(expect).collect::<Result<_, _>>()?,
            "stages" => self.stages = words().map(str::parse).collect::<Result<_, _>>()?,
            "levels" => {
                self.levels = words().map_while(|word| word.parse().ok()).collect();
                if self.levels.is_empty() {
                    return Err("`levels` begins with O0, O1 or O2".into());
                }
                if words().count() == self.levels.len() {
                    return Err("`levels` gives the reason behind the levels".into());
                }
            }
            other => return Err(format!("unknown directive `{other}`")),
        }
        Ok(())
    }

    /// Reads the marks of one line.
    fn marks(&mut self, number: u32, line: &str) -> Result<(), String> {
        let Some((_, comment)) = line.split_once("//") else {
            return Ok(());
        };
        let mut rest = comment.trim_start();
        let mut reason_due = None;
        while let Some((word, argument, behind)) = mark(rest)? {
            let (ask, label) = match word {
                "RACE!" => (Ask::Real, argument),
                _ => {
                    let (stage, label) = argument
                        .split_once(':')
                        .ok_or_else(|| format!("`{word}` is `{word}(stage:label) why`"))?;
                    let stage = stage.parse()?;
                    reason_due = Some(word);
                    let ask = match word {
                        "WARN" => Ask::Suspected(stage),
                        "MAY" => Ask::Tolerated(stage),
                        "CAN" => Ask::Possible(stage),
                        _ => Ask::Missed(stage),
                    };
                    (ask, label)
                }
            };
            if label.is_empty() || !label.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!("`{label}` is no label"));
            }
            let known = self.labels.entry(label.into()).or_insert_with(|| Label {
                ask,
                lines: BTreeSet::new(),
            });
            if known.ask != ask {
                return Err(format!("label `{label}` is used for two kinds of marks"));
            }
            known.lines.insert(number);
            rest = behind.trim_start();
        }
        match reason_due {
            Some(word) if rest.is_empty() => Err(format!("`{word}` needs its reason")),
            _ => Ok(()),
        }
    }

    /// What only the whole shows. Gives the line and what is wrong.
    fn check(&self, text: &str) -> Result<(), (u32, String)> {
        if let Some((label, marks)) = self.labels.iter().find(|(_, l)| l.lines.len() > 2) {
            let line = marks.lines.last().copied().unwrap_or(1);
            return Err((
                line,
                format!("label `{label}` marks more than a pair: give each pair its own"),
            ));
        }
        let lines = text.lines().count();
        if lines >= LINES {
            return Err((lines as u32, format!("a case has fewer than {LINES} lines")));
        }
        let real = self
            .labels
            .values()
            .any(|l| matches!(l.ask, Ask::Real | Ask::Missed(_)));
        let asks = |e: &Expect| matches!(e, Expect::Real | Expect::Harmful(_));
        match self.expect.as_slice() {
            [] => Err((1, "`//@ expect: …` is missing".into())),
            [_, _, ..] if self.expect.contains(&Expect::None) => Err((1, "`none` stands alone".into())),
            [Expect::None] if real => Err((1, "`expect: none`, but lines are marked as racing".into())),
            all if !real && all.iter().any(asks) => Err((1, "no line is marked as racing".into())),
            _ => Ok(()),
        }
    }
}

fn expect(word: &str) -> Result<Expect, String> {
    if let Some(name) = word.strip_prefix("harmful(").and_then(|rest| rest.strip_suffix(')')) {
        let known = HARMS.iter().find(|h| h.name == name);
        return known
            .map(|h| Expect::Harmful(*h))
            .ok_or_else(|| format!("unknown harm `{name}`"));
    }
    match word {
        "none" => Ok(Expect::None),
        "real" => Ok(Expect::Real),
        _ => {
            let known = KINDS.iter().find(|(name, _)| *name == word);
            known
                .map(|(_, kind)| Expect::Kind((*kind).into()))
                .ok_or_else(|| format!("cannot expect `{word}`"))
        }
    }
}

/// The mark at the start of `text`: its word, what is in its brackets, and what follows.
fn mark(text: &str) -> Result<Option<(&str, &str, &str)>, String> {
    for word in ["RACE!", "WARN", "MAY", "CAN", "MISS"] {
        let Some(behind) = text.strip_prefix(word) else {
            continue;
        };
        let Some(inside) = behind.strip_prefix('(') else {
            // "MAY" and the like may begin a sentence; RACE! may not.
            return if word == "RACE!" {
                Err("`RACE!` is `RACE!(label)`".into())
            } else {
                Ok(None)
            };
        };
        let (argument, behind) = inside
            .split_once(')')
            .ok_or_else(|| format!("`{word}(` is not closed"))?;
        return Ok(Some((word, argument, behind)));
    }
    Ok(None)
}

#[cfg(test)]
#[path = "annotation_tests.rs"]
mod tests;
