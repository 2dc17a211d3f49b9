//! How many runs of a small program are made in a second, on one core: by itself, started by the tool one by one, forked
//! by a server of runs, and so with threads exchanged in user space; and what a switch between two threads costs that
//! do nothing else, by the kernel and in user space. The tool's own part is an example of `confirm`, which makes the runs as a hunt does.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::layout::{self, part};
use crate::process;

/// Name of the program.
pub const NAME: &str = "start";
/// The program of threads that do nothing but switch.
const TURNS: &str = "turns";
/// Runs of it.
const RUNS_OF_TURNS: usize = 20;
/// Runs of a round, of each kind.
const RUNS: usize = 400;
/// The core.
const CORE: &str = "0";
/// First argument of the process that starts a program by itself.
pub const FLAG: &str = "--start";

/// Runs in a second of time, and in one of processor time, of one round; microseconds of processor time for each switch.
pub type Rate = [f64; 3];

/// What was measured in each round.
#[derive(Default)]
pub struct Rates {
    /// By itself, one by one, by a server, by one and in user space.
    pub runs: [Vec<Rate>; 4],
    /// Switches by the kernel and in user space.
    pub switches: [Vec<Rate>; 2],
}

/// Builds and measures.
pub fn measure(directory: &Path, rounds: usize) -> Result<Rates, Box<dyn Error>> {
    let build = |name: &str, suffix: &str, mut compiler: Command| -> Result<PathBuf, String> {
        let source = layout::root().join(format!("benches/kernels/{name}.c"));
        let file = directory.join(format!("{name}.{suffix}"));
        compiler
            .args(["-O2", "-g", "-pthread"])
            .arg(source)
            .arg("-o")
            .arg(&file);
        process::run(&mut compiler)?;
        Ok(file)
    };
    let tool = || {
        let mut tool = Command::new(layout::dist().join(part::TOOL));
        tool.arg("cc");
        tool
    };
    let native = build(NAME, "native", Command::new("clang-22"))?;
    let (deadheat, turns) = (build(NAME, "deadheat", tool())?, build(TURNS, "deadheat", tool())?);
    let mut example = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    example.current_dir(layout::root());
    example.args([
        "build",
        "--release",
        "-p",
        "deadheat-confirm",
        "--example",
        "throughput",
    ]);
    process::run(&mut example)?;
    let throughput = layout::target().join("release/examples/throughput");
    let mut rates = Rates::default();
    for round in 0..=rounds {
        eprintln!("{NAME}: round {round} of {rounds}");
        let mut itself = Command::new(std::env::current_exe()?);
        itself.arg("bench").arg(FLAG).arg(&native);
        let of = |program: &Path, runs: usize, way: &str| {
            let mut command = Command::new(&throughput);
            command.arg(runs.to_string()).arg(way).arg(program);
            command
        };
        let by_tool = |way| of(&deadheat, RUNS, way);
        let switching = |way| of(&turns, RUNS_OF_TURNS, way);
        let commands = [itself, by_tool("alone"), by_tool("served"), by_tool("exchanged")];
        let ways = [switching("served"), switching("exchanged")];
        let all = rates.runs.iter_mut().chain(&mut rates.switches);
        for (rate, command) in all.zip(commands.iter().chain(&ways)) {
            let measured = numbers(command)?;
            if round > 0 {
                rate.push(measured);
            }
        }
    }
    Ok(rates)
}

/// Runs a command on one core and reads the numbers that it prints.
fn numbers(command: &Command) -> Result<Rate, Box<dyn Error>> {
    let mut pinned = Command::new("taskset");
    pinned
        .args(["-c", CORE])
        .arg(command.get_program())
        .args(command.get_args());
    let output = pinned.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", command.get_program().to_string_lossy(), output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    Ok(numbers.try_into().map_err(|_| "no measurement")?)
}

/// Starts a program again and again; prints how often in a second of time and in one of processor time.
pub fn child(program: &Path) -> crate::Outcome {
    let null = File::create("/dev/null")?;
    let begun = Instant::now();
    for _ in 0..RUNS {
        let status = Command::new(program)
            .stdin(Stdio::null())
            .stdout(null.try_clone()?)
            .status()?;
        if !status.success() {
            return Err(format!("{}: {status}", program.display()).into());
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let mut used = 0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        used += usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    }
    // Of its switches nothing is known.
    println!(
        "{:.1} {:.1} 0",
        RUNS as f64 / seconds,
        RUNS as f64 / (used as f64 / 1e6)
    );
    Ok(())
}
