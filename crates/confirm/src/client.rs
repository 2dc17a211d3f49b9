//! A client for a program that serves: `--with CMD`, started once the program is ready (`--ready`), outside of control.
//!
//! The client runs in the namespaces and the directory of its run. In a controlled run it starts when the program has
//! nothing to do and asks (see the runtime's `peer`), so that it comes at the same point of every schedule; in a run
//! without a plan as soon as the program is ready. When it has ended, the program is asked to end: under control by the
//! runtime, else by SIGTERM. One that does not end within five seconds is sent SIGTERM, after five more it is killed.

use crate::launch::Entry;
use crate::processes;
use deadheat_wire::channel::{ANSWERED_AT, ASKED_AT, PEER_AT, PEER_AWAITED, PEER_ENDED};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Time that a program has to end by itself, or after a signal.
const PATIENCE: Duration = Duration::from_secs(5);
/// A program that is ready but never without work gets its client after this time.
const RESTLESS: Duration = Duration::from_secs(1);
/// Bytes of the client's output that are kept.
const KEPT: usize = 4096;

/// The client and when it starts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Client {
    /// Shell command.
    pub command: String,
    /// When the program is ready for it.
    pub ready: Ready,
}

/// When a program is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ready {
    /// It listens on some socket.
    #[default]
    Listening,
    /// It listens on this TCP port, or has bound this UDP port.
    Port(u16),
    /// This file exists.
    File(String),
    /// It has written this, to standard output or standard error.
    Line(String),
}

impl FromStr for Ready {
    type Err = String;

    /// `port:N`, `file:PATH`, `line:TEXT`; without the word, a number is a port, what begins with `/` or `.` a file,
    /// anything else a line.
    fn from_str(text: &str) -> Result<Ready, String> {
        let port = |n: &str| {
            let port = n.parse().map_err(|_| format!("{n} is no port (1 to 65535)"))?;
            Ok(Ready::Port(port))
        };
        match text.split_once(':') {
            _ if text.is_empty() => Err("name a port, a file or a line".into()),
            Some(("port", rest)) => port(rest),
            Some(("file", rest)) => Ok(Ready::File(rest.into())),
            Some(("line", rest)) => Ok(Ready::Line(rest.into())),
            _ if text.bytes().all(|b| b.is_ascii_digit()) => port(text),
            _ if text.starts_with(['/', '.']) => Ok(Ready::File(text.into())),
            _ => Ok(Ready::Line(text.into())),
        }
    }
}

/// How a client ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientEnd {
    /// Whether the program was ever ready for it.
    pub started: bool,
    /// Its exit status, negative if a signal ended it; none if the run ended before it.
    pub status: Option<i32>,
    /// The end of what it wrote.
    pub output: String,
}

/// How far things are.
enum Phase {
    /// The program is not ready, since the given moment if it is and was not without work yet.
    Awaited {
        ready: Option<Instant>,
    },
    Running(Child),
    /// The program is to end by itself.
    Ended {
        since: Instant,
    },
    /// It was sent SIGTERM.
    Asked {
        since: Instant,
    },
    Killed,
}

/// The client of one run.
pub(crate) struct Peer<'a> {
    client: &'a Client,
    entry: Entry,
    environment: &'a [(OsString, OsString)],
    directory: &'a Path,
    /// Sockets of the run's network, as the kernel lists them.
    tables: Vec<(Table, File)>,
    outputs: [File; 2],
    said: File,
    record: Option<&'a File>,
    supervisor: u32,
    phase: Phase,
    status: Option<ExitStatus>,
    answered: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Tcp,
    Udp,
    Unix,
}

/// What a peer needs of its run.
pub(crate) struct Place<'a> {
    /// The run's supervisor.
    pub supervisor: u32,
    /// Environment of the program.
    pub environment: &'a [(OsString, OsString)],
    /// Its working directory.
    pub directory: &'a Path,
    /// Its standard output and standard error.
    pub outputs: [File; 2],
    /// Where the client's output goes.
    pub said: File,
    /// The record file of a controlled run.
    pub record: Option<&'a File>,
}

impl<'a> Peer<'a> {
    /// A client that waits for its program.
    pub(crate) fn new(client: &'a Client, place: Place<'a>) -> io::Result<Peer<'a>> {
        let supervisor = place.supervisor;
        let table = |(kind, name): (Table, &str)| {
            let file = File::open(format!("/proc/{supervisor}/net/{name}")).ok()?;
            Some((kind, file))
        };
        let names = [
            (Table::Tcp, "tcp"),
            (Table::Tcp, "tcp6"),
            (Table::Udp, "udp"),
            (Table::Udp, "udp6"),
            (Table::Unix, "unix"),
        ];
        Ok(Peer {
            client,
            entry: Entry::of(supervisor)?,
            environment: place.environment,
            directory: place.directory,
            tables: names.into_iter().filter_map(table).collect(),
            outputs: place.outputs,
            said: place.said,
            record: place.record,
            supervisor,
            phase: Phase::Awaited { ready: None },
            status: None,
            answered: 0,
        })
    }

    /// Marks a record file as one of a run with a client.
    pub(crate) fn announce(record: &File) -> io::Result<()> {
        record.write_all_at(&PEER_AWAITED.to_ne_bytes(), PEER_AT as u64)
    }

    /// Takes the next step, if it is time for one; how long until the next look. `main`: the program's first process,
    /// if it still runs.
    pub(crate) fn step(&mut self, main: Option<u32>) -> io::Result<Duration> {
        let mut soon = Duration::from_millis(1);
        match &mut self.phase {
            Phase::Awaited { .. } => self.await_ready()?,
            Phase::Running(child) => match child.try_wait()? {
                Some(status) => {
                    self.status = Some(status);
                    self.tell(PEER_ENDED)?;
                    let since = Instant::now();
                    self.phase = Phase::Ended { since };
                    if self.record.is_none() {
                        self.terminate(main);
                        self.phase = Phase::Asked { since };
                    }
                }
                None => soon = Duration::from_millis(2),
            },
            Phase::Ended { since } if since.elapsed() > PATIENCE => {
                self.terminate(main);
                self.phase = Phase::Asked { since: Instant::now() };
            }
            Phase::Asked { since } if since.elapsed() > PATIENCE => {
                processes::end(self.supervisor, libc::SIGKILL);
                self.phase = Phase::Killed;
            }
            _ => soon = Duration::from_millis(10),
        }
        Ok(soon)
    }

    /// Whether the program was asked to end, or is being ended.
    pub(crate) fn asked(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. } | Phase::Asked { .. } | Phase::Killed)
    }

    /// The run is over: how the client ended.
    pub(crate) fn finish(mut self) -> ClientEnd {
        if let Phase::Running(child) = &mut self.phase {
            let group = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
        }
        let mut bytes = Vec::new();
        let _ = self.said.rewind().and_then(|()| self.said.read_to_end(&mut bytes));
        let from = bytes.len().saturating_sub(KEPT);
        let status = self
            .status
            .map(|s| s.code().unwrap_or_else(|| -s.signal().unwrap_or(1)));
        ClientEnd {
            started: !matches!(self.phase, Phase::Awaited { .. }),
            status,
            output: String::from_utf8_lossy(&bytes[from..]).into_owned(),
        }
    }

    /// SIGTERM for the first process, or for what it has left behind.
    fn terminate(&self, main: Option<u32>) {
        match main {
            Some(pid) => processes::signal(pid, libc::SIGTERM),
            None => processes::end(self.supervisor, libc::SIGTERM),
        }
    }

    fn await_ready(&mut self) -> io::Result<()> {
        let asked = match self.record {
            Some(record) => word(record, ASKED_AT)?,
            None => self.answered.wrapping_add(1),
        };
        let Phase::Awaited { ready } = &self.phase else {
            return Ok(());
        };
        let since = *ready;
        let ready = since.is_some() || self.ready()?;
        let waited = since.is_some_and(|since| since.elapsed() > RESTLESS);
        if ready && (asked != self.answered || waited) {
            let child = self.start()?;
            let pid = child.id();
            self.phase = Phase::Running(child);
            return self.tell(pid);
        }
        if asked != self.answered {
            self.answered = asked;
            if let Some(record) = self.record {
                record.write_all_at(&asked.to_ne_bytes(), ANSWERED_AT as u64)?;
            }
        }
        let since = since.or_else(|| ready.then(Instant::now));
        self.phase = Phase::Awaited { ready: since };
        Ok(())
    }

    fn tell(&self, state: u32) -> io::Result<()> {
        self.record.map_or(Ok(()), |record| {
            record.write_all_at(&state.to_ne_bytes(), PEER_AT as u64)
        })
    }

    fn ready(&mut self) -> io::Result<bool> {
        match &self.client.ready {
            Ready::File(path) => Ok(self.entry.root().join(relative(&self.directory.join(path))).exists()),
            Ready::Line(text) => {
                for output in &self.outputs {
                    let mut bytes = vec![0; output.metadata()?.len().min(1 << 20) as usize];
                    let got = output.read_at(&mut bytes, 0)?;
                    if bytes[..got].windows(text.len()).any(|w| w == text.as_bytes()) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Ready::Listening => self.bound(None),
            Ready::Port(port) => self.bound(Some(*port)),
        }
    }

    /// Whether a process of the run has a socket on which it can be reached.
    fn bound(&mut self, port: Option<u16>) -> io::Result<bool> {
        let mut inodes = Vec::new();
        for (table, file) in &mut self.tables {
            if port.is_none() && *table == Table::Udp || port.is_some() && *table == Table::Unix {
                continue;
            }
            let mut text = String::new();
            file.rewind()?;
            file.read_to_string(&mut text)?;
            inodes.extend(text.lines().skip(1).filter_map(|line| reachable(*table, line, port)));
        }
        Ok(!inodes.is_empty() && processes::sockets(self.supervisor).any(|socket| inodes.contains(&socket)))
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.client.command).env_clear();
        command.envs(
            self.environment
                .iter()
                .filter(|(name, _)| {
                    let own = name.to_str().is_some_and(|name| name.starts_with("DEADHEAT_"));
                    !own
                })
                .map(|(k, v)| (k, v)),
        );
        command
            .stdin(Stdio::null())
            .stdout(self.said.try_clone()?)
            .stderr(self.said.try_clone()?)
            .process_group(0);
        self.entry.enter_on_start(&mut command, self.directory)?;
        command.spawn()
    }
}

fn word(record: &File, at: usize) -> io::Result<u32> {
    let mut bytes = [0; 4];
    record.read_exact_at(&mut bytes, at as u64)?;
    Ok(u32::from_ne_bytes(bytes))
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// The inode of a line's socket, if that takes connections or datagrams (at this port, if one is given).
fn reachable(table: Table, line: &str, port: Option<u16>) -> Option<u64> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (open, inode) = match table {
        // Num RefCount Protocol Flags Type St Inode: the flag of a socket that listens.
        Table::Unix => (u32::from_str_radix(fields.get(3)?, 16).ok()? & 0x10000 != 0, 6),
        Table::Tcp => (*fields.get(3)? == "0A", 9),
        Table::Udp => (*fields.get(3)? == "07", 9),
    };
    let here = match port {
        Some(port) => fields.get(1)?.rsplit_once(':')?.1 == format!("{port:04X}"),
        None => true,
    };
    (open && here).then(|| fields.get(inode)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_is_a_port_a_file_or_a_line() {
        let of = |text: &str| text.parse::<Ready>();
        assert_eq!(of("8080"), Ok(Ready::Port(8080)));
        assert_eq!(of("/run/x.pid"), Ok(Ready::File("/run/x.pid".into())));
        assert_eq!(of("file:x"), Ok(Ready::File("x".into())));
        assert_eq!(of("Ready to accept"), Ok(Ready::Line("Ready to accept".into())));
        assert_eq!(of("line:8080"), Ok(Ready::Line("8080".into())));
        assert!(of("").is_err() && of("port:x").is_err() && of("70000").is_err());
    }

    #[test]
    fn sockets_that_can_be_reached_are_told_from_others() {
        let listening = "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 4711 1";
        assert_eq!(reachable(Table::Tcp, listening, Some(8080)), Some(4711));
        assert_eq!(reachable(Table::Tcp, listening, Some(8081)), None);
        let connected = listening.replace(" 0A ", " 01 ");
        assert_eq!(reachable(Table::Tcp, &connected, None), None);
        let unix = "ffff: 00000002 00000000 00010000 0001 01 99 /run/s";
        assert_eq!(reachable(Table::Unix, unix, None), Some(99));
    }
}
