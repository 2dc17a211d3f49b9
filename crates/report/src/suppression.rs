//! Suppression files in ThreadSanitizer's format: which findings a user does not want to hear of.
//!
//! A line is `type:template`, `#` begins a comment. A template is found anywhere in a name unless `^` ties it to the
//! beginning or `$` to the end; `*` stands for any characters. As in ThreadSanitizer (`sanitizer_suppressions.cpp`,
//! `IsSuppressed` in `tsan_rtl_report.cpp`) a finding is suppressed by the first line that matches the function, the
//! source file or the module of a frame of its stacks, those included that created its threads; a race also by the name
//! of its global variable; `race_top` looks at the innermost frames only. What differs: `called_from_lib` suppresses
//! findings at code that such a library contains or calls (there is nothing to ignore in advance), `signal` and thread
//! leaks have no findings here, and what ThreadSanitizer does not report (crashes, failed assertions, hangs) nothing
//! suppresses.
//!
//! Cost: one pass over the lines for each frame of a finding.

use crate::finding::{Finding, Frame, Thread};
use deadheat_model::{FindingKind, MisuseKind};
use std::path::{Path, PathBuf};

/// What a line suppresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Race,
    RaceTop,
    Mutex,
    Thread,
    Deadlock,
    Signal,
    CalledFromLibrary,
}

/// Their names, in the order in which an error lists them.
const TYPES: [(&str, Type); 7] = [
    ("race", Type::Race),
    ("race_top", Type::RaceTop),
    ("mutex", Type::Mutex),
    ("thread", Type::Thread),
    ("deadlock", Type::Deadlock),
    ("signal", Type::Signal),
    ("called_from_lib", Type::CalledFromLibrary),
];

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    of: Type,
    template: String,
    number: usize,
}

/// A suppression file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions {
    file: PathBuf,
    lines: Vec<Line>,
}

/// Why a suppression file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SuppressionError {
    /// It cannot be read.
    #[error("suppressions {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// A line is no suppression.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl Suppressions {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Suppressions, SuppressionError> {
        let text = std::fs::read(file).map_err(|e| SuppressionError::Read(file.into(), e))?;
        Suppressions::parse(file, &String::from_utf8_lossy(&text))
    }

    /// Parses the text of a file.
    pub fn parse(file: &Path, text: &str) -> Result<Suppressions, SuppressionError> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what| SuppressionError::Line {
                file: file.into(),
                line: number,
                what,
            };
            let (name, template) = line
                .split_once(':')
                .ok_or_else(|| wrong(format!("`{line}` is no suppression: write type:template")))?;
            let Some((_, of)) = TYPES.iter().find(|(known, _)| *known == name) else {
                let known = TYPES.map(|(name, _)| name).join(", ");
                return Err(wrong(format!("unknown type `{name}`; types are {known}")));
            };
            lines.push(Line {
                of: *of,
                template: template.into(),
                number,
            });
        }
        let file = file.into();
        Ok(Suppressions { file, lines })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The first line that suppresses a finding, as `type:template (file:line)`.
    pub fn suppresses(&self, finding: &Finding) -> Option<String> {
        let line = self.lines.iter().find(|line| line.matches(finding))?;
        let name = TYPES.iter().find(|(_, of)| *of == line.of).map_or("", |(name, _)| name);
        let (file, number) = (self.file.display(), line.number);
        Some(format!("{name}:{} ({file}:{number})", line.template))
    }
}

impl Line {
    fn matches(&self, finding: &Finding) -> bool {
        let on = |frame: &Frame| {
            let names = [&frame.function, &frame.file, &frame.module];
            names.into_iter().any(|name| matches(&self.template, name))
        };
        let of_kind = match self.of {
            Type::Race | Type::RaceTop => finding.kind == FindingKind::DataRace,
            Type::Mutex => finding.misuse.as_ref().is_some_and(|m| !of_thread(m.kind)),
            Type::Thread => finding.misuse.as_ref().is_some_and(|m| of_thread(m.kind)),
            Type::Deadlock => matches!(finding.kind, FindingKind::Deadlock | FindingKind::LostWakeup),
            Type::Signal => false,
            Type::CalledFromLibrary => true,
        };
        match self.of {
            _ if !of_kind => false,
            Type::RaceTop => stacks(finding).any(|stack| stack.first().is_some_and(on)),
            // The library's code, or what it calls of the C library.
            Type::CalledFromLibrary => stacks(finding).any(|stack| {
                let modules = stack.iter().map(|f| &f.module).filter(|m| !m.is_empty());
                modules.take(1).any(|module| matches(&self.template, module))
            }),
            of => {
                let global = finding
                    .object
                    .as_ref()
                    .filter(|o| of == Type::Race && o.kind == "global");
                let name = global.and_then(|o| o.name.as_deref()).unwrap_or_default();
                let variable = name.split(['.', '[']).next().unwrap_or_default();
                let created = || threads(finding).flat_map(|t| &t.created);
                stacks(finding).flatten().any(on) || created().any(on) || matches(&self.template, variable)
            }
        }
    }
}

/// Whether the misuse is one of a thread's handle.
fn of_thread(kind: MisuseKind) -> bool {
    matches!(
        kind,
        MisuseKind::JoinJoined
            | MisuseKind::JoinJoining
            | MisuseKind::JoinDetached
            | MisuseKind::DetachDetached
            | MisuseKind::DetachJoined
    )
}

/// Where the threads of a finding stand.
fn stacks(finding: &Finding) -> impl Iterator<Item = &Vec<Frame>> {
    let misuse = finding.misuse.iter().flat_map(|m| [&m.stack, &m.taken]);
    let waiting = finding.threads.iter().map(|t| &t.stack);
    let accesses = finding.accesses.iter().map(|a| &a.stack);
    accesses.chain(waiting).chain(misuse)
}

fn threads(finding: &Finding) -> impl Iterator<Item = &Thread> {
    let misuse = finding.misuse.iter().flat_map(|m| [Some(&m.thread), m.other.as_ref()]);
    let waiting = finding.threads.iter().map(|t| &t.thread);
    let accesses = finding.accesses.iter().map(|a| &a.thread);
    accesses.chain(waiting).chain(misuse.flatten())
}

/// Whether a template matches a name.
fn matches(template: &str, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let (mut tied, template) = match template.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, template),
    };
    let (mut rest, mut left) = (template, name);
    let mut any = false;
    while let Some(first) = rest.chars().next() {
        match first {
            '*' => {
                (tied, any) = (false, true);
                rest = &rest[1..];
                continue;
            }
            '$' => return left.is_empty() || any,
            _ if left.is_empty() => return false,
            _ => {}
        }
        let end = rest.find(['*', '$']).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        // What is tied to the end is looked for from there, or `b$` would not match `b.b`.
        let at = match behind.starts_with('$') && !tied {
            true => left.rfind(part),
            false => left.find(part),
        };
        match at {
            Some(at) if at == 0 || !tied => left = &left[at + part.len()..],
            _ => return false,
        }
        (tied, any) = (false, false);
        rest = behind;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_as_the_sanitizers_do() {
        for (template, name, expected) in [
            ("work", "do_work(int)", true),
            ("^work", "do_work", false),
            ("^do_*k$", "do_work", true),
            ("do_*x$", "do_work", false),
            ("work$", "do_work", true),
            ("work$", "worker", false),
            ("do_*", "do_work", true),
            ("*", "anything", true),
            ("", "anything", true),
            ("work", "", false),
            ("lib*.so", "/usr/lib/libfoo.so.1", true),
            ("^lib", "/usr/lib/libfoo.so", false),
            ("b$", "b.b", true),
            ("^$", "x", false),
            ("a*b*c", "a1b2c3", true),
            ("a*c*b", "a1b2c3", false),
            ("größe", "die_größe_x", true),
        ] {
            assert_eq!(matches(template, name), expected, "{template} on {name}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let parse = |text: &str| Suppressions::parse(Path::new("t.supp"), text);
        let good = parse("# all\n\n  race:^f$\nrace_top:g\ncalled_from_lib:libz.so\n").unwrap();
        assert_eq!(good.lines.len(), 3);
        let told = parse("race:f\nleak:g\n").unwrap_err().to_string();
        assert!(told.starts_with("t.supp:2: unknown type `leak`"), "{told}");
        let told = parse("f\n").unwrap_err().to_string();
        assert!(told.starts_with("t.supp:1: `f` is no suppression"), "{told}");
    }
}
