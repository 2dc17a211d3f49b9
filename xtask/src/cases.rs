//! `cargo xtask cases`: the annotated programs of `cases/`, each built with the tool's compiler drivers, hunted,
//! and held against its annotations.
//!
//! By default every case is run at -O1 with few seeds, and a third of them, fixed by the hash of the name, at -O0
//! and -O2 too; `--full` runs everything with seeds 0 to 8. The hunts are bounded in runs and not in time, so that
//! a slow machine sees the same as a fast one.

mod annotation;
mod comparison;
mod execution;
mod reported;
mod selection;
mod stage;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use annotation::Case;
use execution::Verdict;
use selection::{Job, Options};

use crate::{Outcome, layout};

/// So many of the jobs that took longest are named at the end.
const LONGEST: usize = 5;

/// What came of all jobs.
#[derive(Debug, Default)]
struct Summary {
    /// Jobs that did not hold.
    failed: usize,
    /// The jobs that took longest, longest first, with the wall-clock time that each took.
    longest: Vec<(Duration, String)>,
}

impl Summary {
    fn add(&mut self, job: String, took: Duration, holds: bool) {
        self.failed += usize::from(!holds);
        let at = self.longest.partition_point(|(other, _)| *other >= took);
        self.longest.insert(at, (took, job));
        self.longest.truncate(LONGEST);
    }
}

/// Runs the cases that the arguments choose.
pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    let tool = options
        .tool
        .clone()
        .unwrap_or_else(|| layout::dist().join(layout::part::TOOL));
    if !tool.exists() {
        return Err(format!("{} is missing: `cargo xtask build` makes it", tool.display()).into());
    }
    let mut cases = read_all(&layout::root().join("cases"))?;
    if let Some(stage) = options.stage {
        cases.retain(|case| case.stages.contains(&stage));
        cases.iter_mut().for_each(|case| case.stages = vec![stage]);
    }
    let jobs = selection::jobs(&cases, &options);
    if jobs.is_empty() {
        return Err("no case is chosen".into());
    }
    let Summary { failed, longest } = run_all(&jobs, &tool, options.parallel);
    println!("longest:");
    for (took, job) in &longest {
        println!("     {:.1}s {job}", took.as_secs_f64());
    }
    println!("{} passed, {failed} failed", jobs.len() - failed);
    match failed {
        0 => Ok(()),
        n => Err(format!("{n} of {} did not hold", jobs.len()).into()),
    }
}

/// Runs the jobs, several at once, and prints what failed as it comes.
fn run_all(jobs: &[Job<'_>], tool: &Path, parallel: usize) -> Summary {
    let next = AtomicUsize::new(0);
    let summary = Mutex::new(Summary::default());
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let verdicts = execution::run(job, tool);
            let took = begun.elapsed();
            let bad: Vec<&Verdict> = verdicts.iter().filter(|v| !v.holds()).collect();
            // Its lock keeps the lines of a job together, too.
            let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
            let word = if bad.is_empty() { "ok  " } else { "FAIL" };
            let name = format!("{} -{}", job.case.name, job.variant());
            println!("{word} {name} {:.1}s", took.as_secs_f64());
            bad.iter().for_each(|verdict| print!("{verdict}"));
            summary.add(name, took, bad.is_empty());
        }
    };
    std::thread::scope(|scope| {
        (0..parallel).for_each(|_| drop(scope.spawn(work)));
    });
    summary.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all cases below the directory, in order of their names.
fn read_all(directory: &Path) -> Result<Vec<Case>, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for language in ["c", "cpp", "rust"] {
        collect(&directory.join(language), language == "rust", &mut files)?;
    }
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
        cases.push(Case::parse(&path, &name, &text)?);
    }
    Ok(cases)
}

/// Beside Rust cases, C files are parts of them (`//@ with`).
fn collect(directory: &Path, rust: bool, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", directory.display());
    for entry in std::fs::read_dir(directory).map_err(told)? {
        let path = entry.map_err(told)?.path();
        match path.is_dir() {
            true => collect(&path, rust, files)?,
            false
                if path
                    .extension()
                    .is_some_and(|e| if rust { e == "rs" } else { e == "c" || e == "cpp" }) =>
            {
                files.push(path);
            }
            false => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_longest() {
        let mut summary = Summary::default();
        for (seconds, holds) in [
            (3, true),
            (9, false),
            (1, true),
            (7, true),
            (5, true),
            (8, false),
            (2, true),
        ] {
            summary.add(format!("job{seconds}"), Duration::from_secs(seconds), holds);
        }
        let names: Vec<&str> = summary.longest.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["job9", "job8", "job7", "job5", "job3"]);
        assert_eq!(summary.failed, 2);
    }

    #[test]
    fn the_repositorys_cases_parse() {
        let cases = read_all(&layout::root().join("cases")).unwrap();
        assert!(cases.len() >= 90);
    }
}
