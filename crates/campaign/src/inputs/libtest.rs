//! Tests of a Rust test program, each an input: libtest and its imitations list them when asked to (`--list`).
//!
//! A test runs as `PROGRAM --exact NAME --test-threads=1`: no other test is in the process.

use super::{InputsError, List};
use deadheat_confirm::Program;
use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

/// The tests that the program's arguments choose, ignored ones only if they ask for them.
pub fn read(program: &Program) -> Result<List, InputsError> {
    let choice = Choice::of(&program.args);
    let file = program.file.as_os_str();
    let tests = choice.tests(file).filter(|tests| !tests.is_empty());
    let tests = tests.ok_or_else(|| InputsError::NoTests(program.file.clone()))?;
    let one = |test: &String| Program {
        args: choice.of_one(test),
        ..program.clone()
    };
    Ok(List {
        programs: tests.iter().map(one).collect(),
        notices: Vec::new(),
    })
}

/// Which tests the arguments choose, and what is passed on to each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Arguments that choose.
    filters: Vec<OsString>,
    /// Whether ignored tests are asked for.
    ignored: bool,
    /// All others.
    passed: Vec<OsString>,
}

impl Choice {
    /// Reads a test program's arguments.
    pub fn of(arguments: &[OsString]) -> Choice {
        let mut choice = Choice::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.to_str().unwrap_or_default() {
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" | "--shuffle-seed" => drop(words.next()),
                "--skip" => choice
                    .filters
                    .extend([Some(word), words.next()].into_iter().flatten().cloned()),
                "--exact" => choice.filters.push(word.clone()),
                "--ignored" | "--include-ignored" => {
                    choice.ignored = true;
                    choice.filters.push(word.clone());
                }
                "-q" | "--quiet" => {}
                text if text.starts_with("--test-threads=") || text.starts_with("--format=") => {}
                text if text.starts_with("--skip=") || !text.starts_with('-') => choice.filters.push(word.clone()),
                _ => choice.passed.push(word.clone()),
            }
        }
        choice
    }

    /// Names of the chosen tests; none if the program does not answer as libtest does.
    pub fn tests(&self, program: &OsStr) -> Option<Vec<String>> {
        let mut all = listed(program, &self.filters)?;
        if !self.ignored {
            let filters: Vec<OsString> = self.filters.iter().cloned().chain(["--ignored".into()]).collect();
            let ignored = listed(program, &filters).unwrap_or_default();
            all.retain(|test| !ignored.contains(test));
        }
        Some(all)
    }

    /// Arguments under which one test runs alone.
    pub fn of_one(&self, test: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--exact".into(), test.into(), "--test-threads=1".into()];
        if self.ignored {
            words.push("--include-ignored".into());
        }
        words.extend(self.passed.iter().cloned());
        words
    }
}

/// Asks a test program for its tests.
fn listed(program: &OsStr, filters: &[OsString]) -> Option<Vec<String>> {
    let mut command = Command::new(program);
    command
        .args(["--list", "--format", "terse"])
        .args(filters)
        .stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| parse(&String::from_utf8_lossy(&output.stdout)))?
}

/// The tests in a list; none if it is no list. Benchmarks are not run.
fn parse(text: &str) -> Option<Vec<String>> {
    let mut tests = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match line.rsplit_once(": ")? {
            (name, "test") => tests.push(name.to_owned()),
            (_, "benchmark" | "bench") => {}
            _ => return None,
        }
    }
    Some(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn lists_are_told_from_other_output() {
        let text = "queue::push: test\nqueue::pop: test\nspeed: benchmark\n\n";
        assert_eq!(parse(text).unwrap(), ["queue::push", "queue::pop"]);
        assert_eq!(parse(""), Some(vec![]));
        assert_eq!(parse("starting up\n"), None);
        assert_eq!(parse("error: bad\n"), None);
    }

    #[test]
    fn one_test_runs_by_itself() {
        let choice = Choice::of(&words("push --skip slow --nocapture --test-threads 8 --ignored"));
        assert_eq!(choice.filters, words("push --skip slow --ignored"));
        assert_eq!(
            choice.of_one("a::b"),
            words("--exact a::b --test-threads=1 --include-ignored --nocapture")
        );
    }
}
