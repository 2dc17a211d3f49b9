//! What the user says of a good run: oracles beside crashes, failed assertions and exit statuses.
//!
//! Asked after each run that ended with a status; a run that crashed or never ended is told as that. The first run
//! of a stage is one under `fifo`, and what it wrote is what the others are held against. An oracle that an ordinary
//! run does not satisfy harms nowhere, as with every other harm. Cost: one shell a run for a check.

use crate::launch;
use crate::output::Output;
use crate::stage::End;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Environment variable in which a check finds the run's exit status.
pub const STATUS_VARIABLE: &str = "DEADHEAT_STATUS";
/// Time between looks at a check that goes on.
const PAUSE: Duration = Duration::from_millis(1);

/// The oracles of a hunt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracle {
    /// A shell command that gets the run's standard output as its own standard input; it fails for a bad run.
    pub check: Option<String>,
    /// Standard output and exit status are those of the first run under `fifo`.
    pub same_output: bool,
}

impl Oracle {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.check.is_none() && !self.same_output
    }
}

/// How a run differs from the one that it must be like, if it does.
pub(crate) fn difference(expected: &(End, Output), end: End, output: &Output) -> Option<String> {
    if let (End::Exit(usual), End::Exit(status)) = (expected.0, end)
        && usual != status
    {
        return Some(format!("exit status {status} instead of {usual}"));
    }
    if expected.1 == *output {
        return None;
    }
    let (usual, given) = (expected.1.text(), output.text());
    let (mut usual, mut given) = (usual.lines(), given.lines());
    let mut number = 0;
    loop {
        number += 1;
        return Some(match (usual.next(), given.next()) {
            (Some(a), Some(b)) if a == b => continue,
            (Some(a), Some(b)) => format!(
                "line {number} of the output is `{}` instead of `{}`",
                short(b),
                short(a)
            ),
            (Some(a), None) => format!("the output ends before line {number}, `{}`", short(a)),
            (None, Some(b)) => format!("the output goes on with line {number}, `{}`", short(b)),
            (None, None) => "the output differs in its line ends, or in the part that is not kept".into(),
        });
    }
}

/// A line, cut to what fits a report.
fn short(line: &str) -> String {
    const MOST: usize = 80;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into(),
    }
}

/// What a check needs of its run.
pub(crate) struct Checked<'a> {
    /// The run's exit status.
    pub status: i32,
    /// The file with its standard output.
    pub output: &'a Path,
    /// A file for what the check says.
    pub said: &'a Path,
    /// Working directory of the program.
    pub directory: &'a Path,
    /// Environment of the program.
    pub environment: &'a [(OsString, OsString)],
}

/// Runs a check: what it says against the run, nothing if the run is good; none in the outer `Option` if it was
/// stopped because `stop` said so.
pub(crate) fn check(command: &str, run: &Checked<'_>, stop: &dyn Fn() -> bool) -> io::Result<Option<Option<String>>> {
    let said = File::create(run.said)?;
    let mut command_line = Command::new("/bin/sh");
    command_line
        .args(["-c", command])
        .env_clear()
        .envs(run.environment.iter().map(|(k, v)| (k, v)))
        .env(STATUS_VARIABLE, run.status.to_string())
        .current_dir(run.directory)
        .stdin(File::open(run.output)?)
        .stdout(Stdio::from(said.try_clone()?))
        .stderr(Stdio::from(said))
        .process_group(0);
    launch::end_with_the_tool(&mut command_line);
    let mut child = command_line.spawn()?;
    let group = rustix::process::Pid::from_child(&child);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if stop() {
            break None;
        }
        std::thread::sleep(PAUSE);
    };
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let Some(status) = status else {
        child.wait()?;
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&std::fs::read(run.said)?).into_owned();
    verdict(command, status, &text).map(Some)
}

/// What the end of a check says.
fn verdict(command: &str, status: ExitStatus, said: &str) -> io::Result<Option<String>> {
    let last = said
        .lines()
        .rev()
        .find(|l| !l.trim().is_empty())
        .map(|l| short(l.trim()));
    match status.code() {
        Some(0) => Ok(None),
        // The shell's words for a command that cannot be run: not the program's fault.
        Some(126 | 127) => Err(io::Error::other(last.unwrap_or_else(|| "no such command".into()))),
        code => {
            let how = code.map_or("died of a signal".into(), |code| format!("ended with status {code}"));
            let last = last.map(|l| format!(": {l}")).unwrap_or_default();
            Ok(Some(format!("the check `{}` {how}{last}", short(command))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Output {
        Output {
            kept: text.into(),
            cut: 0,
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        let usual = (End::Exit(0), output("a\nb\n"));
        let of = |status, text| difference(&usual, End::Exit(status), &output(text)).unwrap_or_default();
        assert_eq!(of(0, "a\nb\n"), "");
        assert_eq!(of(3, "a\nb\n"), "exit status 3 instead of 0");
        assert_eq!(of(0, "a\nc\n"), "line 2 of the output is `c` instead of `b`");
        assert_eq!(of(0, "a\n"), "the output ends before line 2, `b`");
        assert_eq!(of(0, "a\nb\nc\n"), "the output goes on with line 3, `c`");
        assert!(of(0, "a\nb").contains("line ends"));
    }
}
