//! One run, measured: CPU time, wall time and peak memory of a process of its own.
//!
//! `getrusage` knows the sum over children that have ended and the largest of them, so each run gets a
//! parent of its own: this program again, with [`FLAG`]. It also turns address randomisation off, for all
//! modes alike. Peak memory has a floor of about 3 MB, what that parent holds when it forks.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::personality::{self, Persona};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

use crate::Outcome;

/// First argument of the measuring parent.
pub const FLAG: &str = "--measure";
/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(900);

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// User and system time, seconds.
    pub cpu: f64,
    /// Elapsed time, seconds.
    pub wall: f64,
    /// Peak resident memory, MB.
    pub memory: f64,
}

/// Runs a command in its directory and with its environment; its standard output goes into a file.
pub fn run(command: &Command, output: &Path) -> Result<Sample, Box<dyn std::error::Error>> {
    let program = Path::new(command.get_program());
    let mut parent = Command::new(std::env::current_exe()?);
    parent.arg("bench").arg(FLAG).arg(output).arg(program);
    parent.args(command.get_args());
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    parent.envs(variables).stderr(Stdio::inherit());
    if let Some(directory) = command.get_current_dir() {
        parent.current_dir(directory);
    }
    let printed = parent.output()?;
    if !printed.status.success() {
        return Err(format!("{}: the run failed", program.display()).into());
    }
    let text = String::from_utf8(printed.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [cpu, wall, memory] = numbers[..] else {
        return Err("no measurement".into());
    };
    Ok(Sample { cpu, wall, memory })
}

/// The measuring parent: runs the program, prints CPU seconds, wall seconds, peak MB.
pub fn child(output: &Path, program: &Path, arguments: &[String]) -> Outcome {
    // Refused in some containers: then addresses are random in all modes alike.
    let _ = personality::set(Persona::ADDR_NO_RANDOMIZE);
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(File::create(output)?)
        .spawn()?;
    let pid = Pid::from_raw(child.id() as i32);
    std::thread::spawn(move || {
        std::thread::sleep(LIMIT);
        let _ = kill(pid, Signal::SIGKILL);
    });
    let status = child.wait()?;
    let wall = start.elapsed().as_secs_f64();
    if !status.success() {
        return Err(format!("{}: {status}", program.display()).into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6;
    println!("{cpu} {wall} {}", usage.max_rss() as f64 / 1024.0);
    Ok(())
}
