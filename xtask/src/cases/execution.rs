//! One case at one level: built with the tool's driver, hunted in a scratch directory with each seed.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::comparison::{Difference, compare};
use super::reported;
use super::selection::Job;
use super::stage::Stage;
use crate::layout;

/// A hunt ends by itself when all is settled, after a bounded number of runs; this only keeps a faulty one from never
/// ending. Parts of a hunt may take fixed shares of it (phase 1 a fifth), so it is many times what the longest hunt
/// takes: then load changes how long a case takes and not what it shows.
const BUDGET: &str = "10m";

/// More seeds than one hunt takes, so that hunts do not share them.
const SEEDS_OF_A_HUNT: u64 = 1000;

/// What came of a hunt with one seed, or of the build before it.
#[derive(Debug)]
pub struct Verdict {
    seed: Option<u64>,
    result: Result<Vec<Difference>, String>,
}

impl Verdict {
    /// Whether all was as wanted.
    pub fn holds(&self) -> bool {
        matches!(&self.result, Ok(differences) if differences.is_empty())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.seed.map_or(String::new(), |seed| format!("seed {seed}, "));
        match &self.result {
            Ok(differences) => differences.iter().try_for_each(|d| writeln!(f, "     {seed}{d}")),
            Err(error) => writeln!(f, "     {seed}{}", error.trim_end().replace('\n', "\n       ")),
        }
    }
}

/// Builds and hunts; the verdicts are one for each seed, or one alone if the build failed.
pub fn run(job: &Job<'_>, tool: &Path) -> Vec<Verdict> {
    let scratch = layout::target().join("cases").join(&job.case.name).join(job.variant());
    let program = match build(job, tool, &scratch) {
        Ok(program) => program,
        Err(error) => {
            return vec![Verdict {
                seed: None,
                result: Err(error),
            }];
        }
    };
    let mut verdicts = Vec::new();
    for seed in 0..job.seeds {
        for &stage in job.case.stages.iter().filter(|stage| stage.exists()) {
            // The static stage has no seed.
            if stage == Stage::Scan && seed > 0 {
                continue;
            }
            let result = hunt(job, tool, &program, &scratch, stage, seed);
            verdicts.push(Verdict {
                seed: Some(seed),
                result,
            });
        }
    }
    verdicts
}

fn build(job: &Job<'_>, tool: &Path, scratch: &Path) -> Result<PathBuf, String> {
    let told = |error: std::io::Error| format!("{}: {error}", scratch.display());
    // What an earlier run left would make this one go on from there.
    match fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        _ => fs::create_dir_all(scratch).map_err(told)?,
    }
    let program = scratch.join("program");
    let mut compiler = Command::new(tool);
    if job.case.path.extension().is_some_and(|e| e == "rs") {
        compiler.args(["rustc", "--edition=2024", "-Cdebuginfo=2"]);
        compiler.arg(format!("-Copt-level={}", job.level.flag().trim_start_matches("-O")));
        for part in &job.case.with {
            let object = scratch.join(part.with_extension("o").file_name().unwrap_or_default());
            let mut c = Command::new(tool);
            c.args(["cc", "-g", job.level.flag(), "-pthread", "-c"])
                .arg(part)
                .arg("-o")
                .arg(&object);
            built(&mut c)?;
            compiler.arg(format!("-Clink-arg={}", object.display()));
        }
    } else {
        let cxx = job.case.path.extension().is_some_and(|e| e == "cpp");
        let language = if cxx { "c++" } else { "cc" };
        let frontend = job.frontend.map(|name| format!("--frontend={name}"));
        compiler.args([language, "-g", job.level.flag(), "-pthread"]);
        compiler.args(&frontend);
        for name in &job.case.libraries {
            let mut library = Command::new(tool);
            library.args([language, "-g", job.level.flag(), "-pthread", "-shared", "-fPIC"]);
            library.args(&frontend);
            library.arg(format!("-DLIBRARY_{name}")).arg(&job.case.path);
            library.arg("-o").arg(scratch.join(format!("lib{name}.so")));
            built(&mut library)?;
        }
        if !job.case.libraries.is_empty() {
            compiler.arg("-L").arg(scratch);
            compiler.arg(format!("-Wl,-rpath,{}", scratch.display()));
        }
    }
    compiler
        .args(&job.case.flags)
        .arg(&job.case.path)
        .arg("-o")
        .arg(&program);
    built(&mut compiler).map(|()| program)
}

/// Runs a compiler.
fn built(compiler: &mut Command) -> Result<(), String> {
    let output = compiler
        .output()
        .map_err(|error| format!("{}: {error}", compiler.get_program().display()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("does not build: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn hunt(
    job: &Job<'_>,
    tool: &Path,
    program: &Path,
    scratch: &Path,
    stage: Stage,
    seed: u64,
) -> Result<Vec<Difference>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", scratch.display());
    let directory = match stage {
        Stage::Hunt => scratch.join(format!("seed{seed}")),
        _ => scratch.join(format!("seed{seed}-{stage}")),
    };
    fs::create_dir_all(&directory).map_err(told)?;
    let (report, input, log) = (
        directory.join("report.json"),
        directory.join("input"),
        directory.join("log"),
    );
    fs::write(&input, &job.case.stdin).map_err(told)?;
    for (name, contents) in &job.case.files {
        fs::write(directory.join(name), contents).map_err(told)?;
    }
    // A hunt takes seeds from its first on.
    let first = seed * SEEDS_OF_A_HUNT;
    let mut command = Command::new(tool);
    command
        // A backtrace costs a Rust program that panics more than all the rest.
        .env("RUST_BACKTRACE", "0")
        .args(stage.command())
        .args(["--format", "json", "-j", "1", "--output"])
        .arg(&report);
    if stage == Stage::Scan {
        command.arg("--no-cache").arg(program);
    } else {
        command
            .args([
                "--suspected",
                "--budget",
                BUDGET,
                "--seed",
                &first.to_string(),
                "--store",
            ])
            .arg(directory.join("store"));
        if let Some(client) = &job.case.client {
            command.args(["--with", client]);
        }
        if let Some(walks) = job.walks {
            command.args(["--walks", &walks.to_string()]);
        }
        if stage == Stage::Hunt {
            command.args(&job.case.oracle);
        }
        command.arg("--").arg(program).args(&job.case.args);
    }
    let status = command
        .current_dir(&directory)
        .stdin(fs::File::open(&input).map_err(told)?)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).map_err(told)?)
        .status()
        .map_err(|error| format!("{}: {error}", tool.display()))?;
    let failed = |why: String| format!("{why}\n{}", tail(&fs::read_to_string(&log).unwrap_or_default()));
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(failed(format!("{stage} ended with {status}")));
    }
    let json = fs::read_to_string(&report).map_err(|error| failed(format!("no report: {error}")))?;
    let source = job.case.path.file_name().unwrap_or_default().to_string_lossy();
    let found = reported::read(&json, &source).map_err(|error| failed(format!("unreadable report: {error}")))?;
    let mut differences = compare(job.case, stage, &found);
    if stage == Stage::Scan && found.iter().any(|r| r.real) {
        differences.push(Difference::Surplus("a static warning that is called real".into()));
    }
    let shown = found.iter().any(|r| r.real);
    if shown != (status.code() == Some(1)) {
        differences.push(Difference::Surplus(format!(
            "{status} with {}",
            if shown { "a finding" } else { "no finding" }
        )));
    }
    Ok(differences)
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
