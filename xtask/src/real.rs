//! `cargo xtask real`: programs that nobody here wrote, from Debian's source packages, unmodified.
//!
//! Each is built by the system's compiler and by `deadheat build`, passes checks of its own when run plainly, gives
//! the same output under the scheduler as when run natively, goes through `hunt`, and, with one race put into it by
//! a patch in `cases/real`, has that race proven. What is real in the unmodified programs is argued in
//! `docs/real-programs.md` and listed in their recipes; anything beyond that is a failure.

mod hunt;
pub mod recipe;
pub mod sources;
pub mod steps;

use std::path::{Path, PathBuf};
use std::time::Instant;

use recipe::{PROGRAMS, Program};

use crate::{Outcome, layout};

const USAGE: &str = "usage: cargo xtask real [PROGRAM...] [--budget DURATION] [--keep]";

struct Options {
    chosen: Vec<&'static Program>,
    budget: String,
    /// Builds and sources of an earlier run are used again.
    keep: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            chosen: Vec::new(),
            budget: "60s".into(),
            keep: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--keep" => options.keep = true,
                "--budget" => options.budget = arguments.next().ok_or(USAGE)?.clone(),
                name => {
                    let known = PROGRAMS.iter().find(|program| program.name == name);
                    options.chosen.push(known.ok_or_else(|| unknown(name))?);
                }
            }
        }
        if options.chosen.is_empty() {
            options.chosen = PROGRAMS.iter().collect();
        }
        Ok(options)
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
    format!("no program `{name}`; there are {}\n{USAGE}", names.join(", "))
}

/// What one step came to: figures, or why it failed.
pub type Step = Result<String, String>;

/// Prints the steps as they end and counts them.
#[derive(Default)]
struct Table {
    passed: usize,
    failed: usize,
}

impl Table {
    /// Runs a step and prints its line; says whether it passed.
    fn step(&mut self, program: &str, step: &str, run: impl FnOnce() -> Step) -> bool {
        let begun = Instant::now();
        let result = run();
        let (word, text) = match &result {
            Ok(figures) => ("ok", figures),
            Err(error) => ("FAIL", error),
        };
        let seconds = begun.elapsed().as_secs_f64();
        println!("{word:4}  {program:9}  {step:22}  {seconds:7.1}s  {}", text.trim_end());
        self.passed += usize::from(result.is_ok());
        self.failed += usize::from(result.is_err());
        result.is_ok()
    }
}

/// Runs the chosen programs, or all.
pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    let tool = layout::dist().join(layout::part::TOOL);
    if !tool.exists() {
        return Err(format!("{} is missing: `cargo xtask build` makes it", tool.display()).into());
    }
    let place = layout::target().join("real");
    std::fs::create_dir_all(&place)?;
    let input = place.join("input.bin");
    std::fs::write(&input, steps::input(steps::INPUT_BYTES))?;
    let mut table = Table::default();
    for program in &options.chosen {
        let lacking = sources::lacking(program.needs);
        if !lacking.is_empty() {
            table.step(program.name, "packages", || {
                Err(format!("as root: apt-get install {}", lacking.join(" ")))
            });
            continue;
        }
        one(program, &options, &tool, &place, &input, &mut table)?;
    }
    println!("{} passed, {} failed", table.passed, table.failed);
    match table.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} steps did not hold").into()),
    }
}

/// All steps of a program; a failed one skips those that need it.
fn one(
    program: &'static Program,
    options: &Options,
    tool: &Path,
    place: &Path,
    input: &Path,
    table: &mut Table,
) -> Result<(), std::io::Error> {
    let directory = place.join(program.name);
    if !options.keep && directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    let bench = steps::Bench {
        program,
        tool,
        input,
        directory: &directory,
        budget: &options.budget,
        keep: options.keep,
    };
    let name = program.name;
    let mut source = PathBuf::new();
    if !table.step(name, "source", || {
        source = sources::unpacked(program.package, &directory)?;
        steps::run(&source, &bench.environment(), program.prepare, "prepare")?;
        Ok(program.package.to_owned())
    }) || !table.step(name, "native build", || bench.build_natively(&source))
        || !table.step(name, "deadheat build", || bench.build(&source))
        || !table.step(name, "own checks", || bench.check())
    {
        return Ok(());
    }
    for task in program.tasks {
        if !task.output.is_empty() {
            table.step(name, &format!("{}: same output", task.name), || bench.same_output(task));
        }
        table.step(name, &format!("{}: hunt", task.name), || bench.hunt(task));
    }
    if let Some(race) = &program.injected {
        table.step(name, "injected race", || bench.injected(race));
    }
    Ok(())
}
