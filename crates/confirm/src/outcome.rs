//! How a run ended, in the terms by which harm is judged.

use crate::client::ClientEnd;
use crate::freed_use::{self, FreedUsePlace};
use crate::stage::{End, Run, StopReason};
use deadheat_model::{Harm, HarmKind};
use deadheat_wire::record::EndKind;

/// Exit status of a Rust program whose main thread panicked, and of a test program with a failed test.
const PANICKED: i32 = 101;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Ended with a status.
    Exit(i32),
    /// Ended by a signal other than SIGABRT.
    Signal {
        /// Its number.
        signal: i32,
        /// Address of a memory fault.
        address: Option<u64>,
    },
    /// A failed assertion, with its text.
    Assertion(String),
    /// `abort` without a message that we know.
    Abort,
    /// An uncaught C++ exception, with what the library said of it.
    UncaughtException(String),
    /// A Rust panic that ended the program, with its place and message.
    Panic(String),
    /// A sanitizer's report, its first line.
    Sanitizer(String),
    /// A freed block was used or freed again, whatever came of it.
    FreedUse {
        /// `UseAfterFree` or `DoubleFree`.
        kind: HarmKind,
        /// Where.
        place: FreedUsePlace,
        /// What was done, for the reader.
        told: String,
    },
    /// Every thread waits.
    Deadlock,
    /// No progress.
    Hang,
    /// The program ended well, its client did not; with what it said.
    Client(String),
    /// It ended with a status, and an oracle has this against it.
    Check(String),
    /// The run was stopped: nothing can be said.
    Inconclusive(StopReason),
}

impl Outcome {
    /// Classifies a run.
    pub fn of(run: &Run) -> Outcome {
        if let End::Stopped(reason) = run.end {
            return Outcome::Inconclusive(reason);
        }
        match run.records.freed_uses.first() {
            Some(first) => {
                let rest = Outcome::in_the_end(run);
                freed_use::outcome(first, &run.records, rest.as_harm().filter(|_| !rest.is_exit()))
            }
            None => Outcome::in_the_end(run),
        }
    }

    /// Whether it ended with a status, and nothing else is against it.
    fn is_exit(&self) -> bool {
        matches!(self, Outcome::Exit(_) | Outcome::Client(_) | Outcome::Check(_))
    }

    /// Classifies the end of a run, which was not stopped.
    fn in_the_end(run: &Run) -> Outcome {
        let ended = run.records.worst_end();
        match ended.map(|e| e.how) {
            Some(EndKind::Deadlock) => return Outcome::Deadlock,
            Some(EndKind::Hang) => return Outcome::Hang,
            _ => {}
        }
        let stderr = run.stderr.text();
        if let Some(line) = stderr.lines().find(|l| sanitizer(l)) {
            return Outcome::Sanitizer(line.trim().to_string());
        }
        let end = match (run.end, ended.map(|e| e.how)) {
            // A child process crashed, and its parent did not mind.
            (End::Exit(0), Some(EndKind::Signal(signal))) => End::Signal(signal),
            (end, _) => end,
        };
        match end {
            // Of a failed test the harness prints what it kept of the standard error.
            End::Exit(PANICKED) => panic(&stderr)
                .or_else(|| panic(&run.stdout.text()))
                .map_or(Outcome::Exit(PANICKED), Outcome::Panic),
            End::Exit(status) => match run.client.as_ref().and_then(failure) {
                Some(told) if status == 0 => Outcome::Client(told),
                _ => run.objection.clone().map_or(Outcome::Exit(status), Outcome::Check),
            },
            End::Signal(libc::SIGABRT) => {
                if let Some(told) = panic(&stderr) {
                    return Outcome::Panic(told);
                }
                let asserted = ended.and_then(|e| e.assertion.clone());
                match asserted.or_else(|| assertion(&stderr)).map(Outcome::Assertion) {
                    Some(outcome) => outcome,
                    None => uncaught(&stderr).map_or(Outcome::Abort, Outcome::UncaughtException),
                }
            }
            End::Signal(signal) => Outcome::Signal {
                signal,
                address: ended.and_then(|e| e.fault_address),
            },
            End::Stopped(reason) => Outcome::Inconclusive(reason),
        }
    }

    /// Whether it says nothing of the program.
    pub fn inconclusive(&self) -> bool {
        matches!(self, Outcome::Inconclusive(_))
    }

    /// What it would be as a harm; an exit status is one only against a baseline.
    pub fn as_harm(&self) -> Option<Harm> {
        let harm = |kind, detail: String| Some(Harm { kind, detail });
        match self {
            Outcome::Exit(0) | Outcome::Inconclusive(_) => None,
            Outcome::Exit(n) => harm(HarmKind::ExitStatus, format!("exit status {n}")),
            Outcome::Client(told) => harm(HarmKind::ExitStatus, told.clone()),
            Outcome::Check(told) => harm(HarmKind::Check, told.clone()),
            Outcome::Signal { signal, address } => {
                let at = address.map(|a| {
                    if a < 4096 {
                        " near address 0".into()
                    } else {
                        format!(" at address {a:#x}")
                    }
                });
                harm(
                    HarmKind::Signal,
                    format!("{}{}", signal_name(*signal), at.unwrap_or_default()),
                )
            }
            Outcome::Assertion(text) => harm(HarmKind::Assertion, text.clone()),
            Outcome::Abort => harm(HarmKind::Abort, "abort was called".into()),
            Outcome::UncaughtException(text) => harm(HarmKind::UncaughtException, text.clone()),
            Outcome::Panic(text) => harm(HarmKind::Panic, text.clone()),
            Outcome::Sanitizer(text) => harm(HarmKind::Sanitizer, text.clone()),
            Outcome::FreedUse { kind, told, .. } => harm(*kind, told.clone()),
            Outcome::Deadlock => harm(HarmKind::Deadlock, "threads wait for one another for ever".into()),
            Outcome::Hang => harm(HarmKind::Hang, "no thread makes progress".into()),
        }
    }

    /// Whether the two are the same kind of end (details such as addresses apart).
    pub fn alike(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::Signal { signal: a, .. }, Outcome::Signal { signal: b, .. }) => a == b,
            (Outcome::UncaughtException(_), Outcome::UncaughtException(_)) => true,
            (Outcome::Panic(_), Outcome::Panic(_)) => true,
            (Outcome::Client(_), Outcome::Client(_)) | (Outcome::Check(_), Outcome::Check(_)) => true,
            (Outcome::Sanitizer(_), Outcome::Sanitizer(_)) => true,
            (Outcome::FreedUse { kind: a, place: x, .. }, Outcome::FreedUse { kind: b, place: y, .. }) => {
                (a, x) == (b, y)
            }
            _ => self == other,
        }
    }
}

/// How a client failed, with the last line that it wrote.
fn failure(client: &ClientEnd) -> Option<String> {
    let how = match client.status? {
        0 => return None,
        status if status < 0 => format!("the client died of {}", signal_name(-status)),
        status => format!("the client ended with exit status {status}"),
    };
    let said = client.output.lines().rev().find(|line| !line.trim().is_empty());
    Some(said.map_or(how.clone(), |said| format!("{how}: {}", said.trim())))
}

fn sanitizer(line: &str) -> bool {
    line.contains("Sanitizer: ") && (line.contains("ERROR:") || line.contains("WARNING:"))
        || line.contains(": runtime error: ")
}

/// The text of glibc's `assert`: `prog: file:line: function: Assertion `x' failed.`
fn assertion(stderr: &str) -> Option<String> {
    let line = stderr
        .lines()
        .rev()
        .find(|l| l.contains("Assertion `") && l.contains("' failed"))?;
    let (place, rest) = line.split_once(": ").unwrap_or(("", line));
    Some(if place.contains('/') || !rest.contains(": ") {
        line.into()
    } else {
        rest.into()
    })
    .map(|s: String| s.trim().into())
}

/// What libstdc++ or libc++ says before it aborts.
fn uncaught(stderr: &str) -> Option<String> {
    let mut lines = stderr
        .lines()
        .skip_while(|l| !l.contains("terminate called after throwing") && !l.contains("libc++abi: terminating"));
    let first = lines.next()?.trim().to_string();
    let what = lines
        .next()
        .and_then(|l| l.trim().strip_prefix("what():"))
        .map(|w| format!(": {}", w.trim()));
    Some(format!("{first}{}", what.unwrap_or_default()))
}

/// Place and message of the last Rust panic: `thread 'NAME' (ID) panicked at FILE:LINE:COLUMN:`, and the next line.
fn panic(text: &str) -> Option<String> {
    let mut lines = text.lines().rev();
    let mut message = None;
    loop {
        let line = lines.next()?.trim();
        let place = line
            .strip_prefix("thread '")
            .and_then(|rest| rest.split_once(" panicked at "));
        if let Some((_, place)) = place {
            let place = place.trim_end_matches(':');
            let message = message.filter(|m: &&str| !m.is_empty() && !m.starts_with("note: run with"));
            return Some(message.map_or(place.into(), |m| format!("{place}: {m}")));
        }
        message = Some(line);
    }
}

/// The name of a signal.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXFSZ => "SIGXFSZ, the limit on file sizes",
        libc::SIGXCPU => "SIGXCPU, the limit on processor time",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        n => return format!("signal {n}"),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Output, Records};
    use std::time::Duration;

    fn run(end: End, stderr: &str) -> Run {
        let stderr = Output {
            kept: stderr.as_bytes().to_vec(),
            cut: 0,
        };
        Run {
            trace: None,
            client: None,
            objection: None,
            records: Records::default(),
            end,
            stdout: Output::default(),
            stderr,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn aborts_are_told_apart() {
        let abort = End::Signal(libc::SIGABRT);
        let text = "bank: bank.c:40: main: Assertion `total == 100' failed.\n";
        assert_eq!(
            Outcome::of(&run(abort, text)),
            Outcome::Assertion("bank.c:40: main: Assertion `total == 100' failed.".into())
        );
        let text = "terminate called after throwing an instance of 'std::logic_error'\n  what():  empty\n";
        let told = "terminate called after throwing an instance of 'std::logic_error': empty";
        assert_eq!(Outcome::of(&run(abort, text)), Outcome::UncaughtException(told.into()));
        assert_eq!(Outcome::of(&run(abort, "double free or corruption")), Outcome::Abort);
    }

    #[test]
    fn panics_that_end_the_program_are_told_with_their_place() {
        let text = "thread 'a' (7) panicked at a.rs:1:2:\nfirst\n\nthread 'main' (3) panicked at src/bank.rs:9:5:\ntotal is 7\n\
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let told = Outcome::Panic("src/bank.rs:9:5: total is 7".into());
        assert_eq!(Outcome::of(&run(End::Exit(101), text)), told);
        assert_eq!(Outcome::of(&run(End::Signal(libc::SIGABRT), text)), told);
        // A program may use the status for its own ends, and may get over a panic.
        assert_eq!(Outcome::of(&run(End::Exit(101), "no")), Outcome::Exit(101));
        assert_eq!(Outcome::of(&run(End::Exit(0), text)), Outcome::Exit(0));
    }

    #[test]
    fn a_stopped_run_is_no_harm() {
        let stopped = Outcome::of(&run(End::Stopped(StopReason::TimeLimit), "Assertion `x' failed"));
        assert!(stopped.inconclusive());
        assert_eq!(stopped.as_harm(), None);
    }
}
