//! The steps: builds, checks, equal output, hunts. Each leaves its files below the program's directory, and a log
//! beside them where it runs commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Step;
use super::hunt::Report;
use super::recipe::{Injected, Program, Task};
use crate::layout;

/// Size of the input file.
pub const INPUT_BYTES: usize = 5_000_000;
/// Schedules under which the output is compared.
const SEEDS: u64 = 3;

/// Text of made-up words with some noise, the same every time: it compresses to a third.
pub fn input(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut word = || -> Vec<u8> { (0..2 + random(8)).map(|_| b'a' + random(26) as u8).collect() };
    let words: Vec<Vec<u8>> = (0..4000).map(|_| word()).collect();
    let mut text = Vec::with_capacity(bytes + 64);
    while text.len() < bytes {
        text.extend_from_slice(&words[random(words.len() as u64) as usize]);
        text.push(b' ');
        if random(50) == 0 {
            text.extend((0..40).map(|_| random(256) as u8));
        }
    }
    text.truncate(bytes);
    text
}

type Environment = Vec<(&'static str, PathBuf)>;

/// Runs commands in a directory; what they print goes to `NAME.log` there, the last line of which is returned.
pub fn run(directory: &Path, environment: &Environment, commands: &str, name: &str) -> Step {
    if commands.is_empty() {
        return Ok(String::new());
    }
    let mut shell = Command::new("sh");
    shell.args(["-ec", commands]);
    logged(shell.envs(environment.iter().cloned()), directory, name)
}

fn logged(command: &mut Command, directory: &Path, name: &str) -> Step {
    let path = directory.join(format!("{name}.log"));
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let log = fs::File::create(&path).map_err(told)?;
    let status = command
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(told)?)
        .stderr(log)
        .status()
        .map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&fs::read(&path).map_err(told)?).into_owned();
    match status.success() {
        true => Ok(text.trim_end().lines().last().unwrap_or_default().to_owned()),
        false => Err(format!("{name}: {status}, see {}", path.display())),
    }
}

/// A program and where it is worked on.
pub struct Bench<'a> {
    /// The program.
    pub program: &'static Program,
    /// The tool.
    pub tool: &'a Path,
    /// The input file.
    pub input: &'a Path,
    /// Everything is below this.
    pub directory: &'a Path,
    /// Budget of a hunt.
    pub budget: &'a str,
    /// Builds of an earlier run are used again.
    pub keep: bool,
}

impl Bench<'_> {
    /// What commands that build with the system's compiler see.
    pub fn environment(&self) -> Environment {
        vec![("CC", "cc".into()), ("CXX", "c++".into()), ("CASES", cases())]
    }

    /// Builds with the system's compiler.
    pub fn build_natively(&self, source: &Path) -> Step {
        if self.kept("native") {
            return Ok("kept".into());
        }
        let tree = self.fresh(source, "native")?;
        run(&tree, &self.environment(), self.program.build, "build")?;
        self.done("native")?;
        Ok(String::new())
    }

    /// Builds with `deadheat build`.
    pub fn build(&self, source: &Path) -> Step {
        let tree = self.directory.join("built");
        if !self.kept("built") {
            self.fresh(source, "built")?;
            self.with_tool(&tree, self.program.build, "build")?;
            self.done("built")?;
        }
        let log = fs::read_to_string(tree.join("build.log")).unwrap_or_default();
        let mut figures = log.lines().filter_map(|line| line.strip_prefix("deadheat build: "));
        let last = figures.rfind(|line| line.contains("compiled with sites"));
        last.map(str::to_owned)
            .ok_or_else(|| "nothing was compiled with sites".into())
    }

    /// The program's own checks, run plainly.
    pub fn check(&self) -> Step {
        let tree = self.directory.join("built");
        self.with_tool(&tree, self.program.check, "own")?;
        let log = fs::read_to_string(tree.join("own.log")).unwrap_or_default();
        let told = log
            .lines()
            .filter(|line| !line.starts_with("deadheat build:") && !line.starts_with("make"));
        Ok(told.collect::<Vec<_>>().join("; "))
    }

    /// The output under several schedules against that of the native program.
    pub fn same_output(&self, task: &Task) -> Step {
        let native = self.place("native", task)?;
        let program = self.directory.join("native").join(self.program.file);
        let mut command = Command::new(program);
        logged(command.args(task.arguments).args(task.again), &native, "output")?;
        let wanted = output(&native, task)?;
        for seed in 1..=SEEDS {
            let place = self.place("controlled", task)?;
            let mut command = Command::new(self.tool);
            command.args(["detect", "--quiet", "--no-isolation", "--seed", &seed.to_string()]);
            command.args(["--fail-on", "harmful", "--store", ".store", "--output", "report", "--"]);
            command.arg(self.directory.join("built").join(self.program.file));
            logged(command.args(task.arguments).args(task.again), &place, "output")?;
            if output(&place, task)? != wanted {
                return Err(format!("seed {seed}: the output differs, see {}", place.display()));
            }
        }
        Ok(format!("{} bytes, {SEEDS} schedules", wanted.len()))
    }

    /// A hunt in the unmodified program: what it shows must be known, and files must be as before.
    pub fn hunt(&self, task: &Task) -> Step {
        let place = self.place("hunted", task)?;
        let before = files(&place)?;
        let report = self.report("built", task, &place)?;
        let after = files(&place)?;
        if before != after {
            return Err(format!("isolation: {before:?} became {after:?}"));
        }
        match report.unknown(self.program).as_slice() {
            [] => Ok(report.figures()),
            unknown => Err(format!("{}; not argued: {}", report.figures(), unknown.join(", "))),
        }
    }

    /// The program with a race put into it: that one must be shown.
    pub fn injected(&self, race: &Injected) -> Step {
        let tree = self.fresh(&self.directory.join("built"), "injected")?;
        let patch = cases().join(race.patch);
        let mut command = Command::new("patch");
        logged(command.args(["-p1", "-i"]).arg(patch), &tree, "patch")?;
        self.with_tool(&tree, self.program.rebuild, "build")?;
        let place = self.place("hunted", &race.task)?;
        let report = self.report("injected", &race.task, &place)?;
        match report.shows(race.functions) {
            true => Ok(report.figures()),
            false => Err(format!("{}; not shown", report.figures())),
        }
    }

    fn report(&self, build: &str, task: &Task, place: &Path) -> Result<Report, String> {
        let aside = place.with_extension("hunt");
        remove(&aside)?;
        fs::create_dir_all(&aside).map_err(|error| format!("{}: {error}", aside.display()))?;
        let json = aside.join("report.json");
        let log = aside.join("log");
        let told = |error: std::io::Error| format!("{}: {error}", log.display());
        let status = Command::new(self.tool)
            .args([
                "hunt",
                "--quiet",
                "--budget",
                self.budget,
                "--format",
                "json",
                "--output",
            ])
            .arg(&json)
            .arg("--store")
            .arg(aside.join("store"))
            .args(
                task.client
                    .iter()
                    .flat_map(|(with, ready)| ["--with", with, "--ready", ready]),
            )
            .arg("--")
            .arg(self.directory.join(build).join(self.program.file))
            .args(task.arguments)
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).map_err(told)?)
            .status()
            .map_err(|error| format!("{}: {error}", self.tool.display()))?;
        match status.code() {
            Some(0 | 1) => Report::read(&fs::read_to_string(json).map_err(|error| error.to_string())?),
            _ => Err(format!(
                "hunt: {status}: {}",
                fs::read_to_string(log).unwrap_or_default()
            )),
        }
    }

    fn with_tool(&self, tree: &Path, commands: &str, name: &str) -> Step {
        let mut command = Command::new(self.tool);
        command
            .args(["build", "--", "sh", "-ec", commands])
            .env("CASES", cases());
        logged(&mut command, tree, name)
    }

    /// Whether a tree was built by an earlier run, to its end, and is to be used again.
    fn kept(&self, name: &str) -> bool {
        self.keep && self.mark(name).exists()
    }

    fn done(&self, name: &str) -> Result<(), String> {
        let mark = self.mark(name);
        fs::write(&mark, "").map_err(|error| format!("{}: {error}", mark.display()))
    }

    fn mark(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.done"))
    }

    /// A copy of a tree.
    fn fresh(&self, of: &Path, name: &str) -> Result<PathBuf, String> {
        let tree = self.directory.join(name);
        let _ = fs::remove_file(self.mark(name));
        remove(&tree)?;
        let copied = Command::new("cp").arg("-a").arg(of).arg(&tree).status();
        match copied.is_ok_and(|status| status.success()) {
            true => Ok(tree),
            false => Err(format!("{} cannot be copied", of.display())),
        }
    }

    /// A directory in which a task is ready to start.
    fn place(&self, name: &str, task: &Task) -> Result<PathBuf, String> {
        let place = self.directory.join(format!("{name}-{}", task.name.replace(' ', "-")));
        remove(&place)?;
        fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let mut environment = self.environment();
        environment.push(("INPUT", self.input.to_owned()));
        environment.push(("PROGRAM", self.directory.join("native").join(self.program.file)));
        run(&place, &environment, task.setup, "setup")?;
        Ok(place)
    }
}

fn cases() -> PathBuf {
    layout::root().join("cases/real")
}

fn remove(tree: &Path) -> Result<(), String> {
    match fs::remove_dir_all(tree) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", tree.display())),
        _ => Ok(()),
    }
}

/// What the task wrote.
fn output(place: &Path, task: &Task) -> Result<Vec<u8>, String> {
    let path = place.join(task.output);
    fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Names and sizes of the files in a directory.
fn files(place: &Path) -> Result<Vec<(String, u64)>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", place.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(place).map_err(told)? {
        let entry = entry.map_err(told)?;
        let size = entry.metadata().map_err(told)?.len();
        found.push((entry.file_name().to_string_lossy().into_owned(), size));
    }
    found.sort();
    Ok(found)
}
