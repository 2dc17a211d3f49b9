//! The stage: starts a program, run after run, each time under the same conditions.
//!
//! The same for every run: files (see [`crate::isolation`]), standard input, environment (the paths of
//! plan and record file have constant length), working directory, umask, limits. A run that exceeds the
//! wall-clock limit, or is killed from outside, is *stopped*: that says nothing of the program.

use crate::asleep::Sleep;
use crate::client::{Client, ClientEnd, Peer, Place};
use crate::freed_use::OrdinaryUses;
use crate::isolation::{self, Isolation};
use crate::launch::{self, Launch};
use crate::misuse::Sightings;
use crate::network;
use crate::oracle::{self, Checked, Oracle};
use crate::output::{Growing, Output};
use crate::processes;
use crate::program::Program;
use crate::records::Records;
use crate::scratch::{RunDirectory, Scratch};
use crate::server::{self, Served, Server, Servers};
use deadheat_wire::channel::MAGIC;
use deadheat_wire::plan::{Mode, PLAN_VARIABLE, Plan, Policy, RECORD_VARIABLE};
use deadheat_wire::record::Notice;
use deadheat_wire::server::MAGIC as SERVER;
use deadheat_wire::trace as trace_layout;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How runs are started.
#[derive(Clone, Debug)]
pub struct StageOptions {
    /// Keep the runs apart.
    pub isolate: bool,
    /// Shell command that prepares each run.
    pub setup: Option<String>,
    /// Who talks to the program, if it serves.
    pub client: Option<Client>,
    /// What the user says of a good run.
    pub oracle: Oracle,
    /// Follow child processes: they are controlled and watched too.
    pub follow: bool,
    /// A run that takes longer than this is stopped.
    pub limit: Duration,
    /// Runs are stopped at this moment, whatever their limit.
    pub deadline: Option<Instant>,
    /// Set by the user's interrupt: running programs are stopped.
    pub interrupted: Arc<AtomicBool>,
}

impl Default for StageOptions {
    fn default() -> StageOptions {
        StageOptions {
            isolate: true,
            setup: None,
            client: None,
            oracle: Oracle::default(),
            follow: true,
            limit: Duration::from_secs(60),
            deadline: None,
            interrupted: Arc::default(),
        }
    }
}

/// Starts the runs of one program.
#[derive(Debug)]
pub struct Stage {
    /// What is run.
    pub program: Program,
    /// How runs are kept apart.
    pub isolation: Isolation,
    options: StageOptions,
    limit_ms: AtomicU64,
    runs: AtomicU64,
    /// Uses of freed blocks that ordinary runs show.
    pub freed_uses: OrdinaryUses,
    /// End and standard output of the first run, to which others are compared.
    expected: OnceLock<(End, Output)>,
    stdin: PathBuf,
    /// Before `scratch`, so that none outlives its directory.
    servers: Servers,
    scratch: Scratch,
    /// Misuses of synchronisation that the runs showed.
    pub(crate) misuses: Mutex<Sightings>,
}

/// Why no run can be started at all.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// No place for plans and records.
    #[error("no room for plans and records: {0}")]
    Scratch(io::Error),
}

/// Why one run gave nothing to judge.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program could not be started.
    #[error("the program cannot be started: {0}{hint}", hint = way_out(.0))]
    Start(io::Error),
    /// `--setup` failed.
    #[error("the setup command failed: `{0}`")]
    Setup(String),
    /// `--with` failed.
    #[error("the client cannot be started: {0}")]
    Client(io::Error),
    /// `--check` failed to run.
    #[error("the check cannot be run: {0}")]
    Check(io::Error),
    /// The program was never ready for its client.
    #[error("the program was not ready for its client ({0}); say what to wait for: --ready PORT, FILE or LINE")]
    NotReady(String),
    /// Files for the run could not be made.
    #[error("no room for a run's files: {0}{hint}", hint = way_out(.0))]
    Files(io::Error),
    /// The runtime never took control.
    #[error(
        "the program ran, but deadheat's runtime was not in it ({0}); it must be built and linked with `deadheat cc` or `deadheat c++`"
    )]
    NoRuntime(String),
    /// The runtime refused.
    #[error("deadheat's runtime could not control the program: {0}")]
    Refused(String),
}

/// What to do about a limit that an error comes from.
fn way_out(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; raise the limit on open files (ulimit -n), or use fewer jobs: -j 1",
        Some(libc::ENFILE) => "; the machine has too many files open",
        Some(libc::EAGAIN) => "; raise the limit on processes (ulimit -u), or use fewer jobs: -j 1",
        Some(libc::ENOMEM) => "; there is too little memory",
        Some(libc::ENOSPC | libc::EDQUOT) => "; make some room, or name another place: TMPDIR=DIRECTORY",
        _ => "",
    }
}

/// One run that took place.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the runtime wrote.
    pub records: Records,
    /// How the process ended.
    pub end: End,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// What it wrote to standard error.
    pub stderr: Output,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// The symbolic trace, if the plan asked for one.
    pub trace: Option<Vec<u8>>,
    /// How the client ended, if there was one.
    pub client: Option<ClientEnd>,
    /// What an oracle has against it.
    pub objection: Option<String>,
}

/// The files of a run, and its environment.
struct Prepared {
    directory: RunDirectory,
    record: Option<File>,
    environment: Vec<(OsString, OsString)>,
    stdout: File,
    stderr: File,
}

/// How a process ended, as its parent saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a status.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It was stopped, which says nothing of the program.
    Stopped(StopReason),
}

/// Why a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The wall-clock limit.
    TimeLimit,
    /// The user's interrupt.
    Interrupted,
    /// Someone else killed it.
    Killed,
    /// All its threads waited for one another, as it seems; only of a run without a plan.
    Asleep,
}

/// Soft limit of the stack that programs are started under whose own is unusual.
const USUAL_STACK: u64 = 8 << 20;
/// A limit beyond this is unusual.
const LARGE_STACK: u64 = 64 << 30;
/// Time between looks at a run that goes on.
const LONGEST_WAIT: Duration = Duration::from_millis(25);
/// Time for what a program's first process has left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(2);
/// Exit status of a runtime that refuses to go on.
const REFUSED: i32 = 70;

impl Stage {
    /// Makes a stage; tries out how runs can be kept apart.
    pub fn new(program: Program, options: StageOptions) -> Result<Stage, StageError> {
        let scratch = Scratch::new().map_err(StageError::Scratch)?;
        let stdin = scratch.file("stdin");
        std::fs::write(&stdin, &program.stdin).map_err(StageError::Scratch)?;
        let isolation = if options.isolate {
            let probe = scratch.file("probe");
            std::fs::create_dir(&probe).map_err(StageError::Scratch)?;
            Isolation::choose(&program, &probe)
        } else {
            Isolation::Shared("--no-isolation".into())
        };
        let limit_ms = AtomicU64::new(options.limit.as_millis() as u64);
        Ok(Stage {
            program,
            isolation,
            options,
            limit_ms,
            runs: AtomicU64::new(0),
            freed_uses: OrdinaryUses::default(),
            expected: OnceLock::new(),
            stdin,
            servers: Servers::default(),
            scratch,
            misuses: Mutex::default(),
        })
    }

    /// Gives further runs no network of their own if the program, by its files and the records of an ordinary run, has
    /// nothing to do with any.
    pub fn leave_network(&mut self, ordinary: &Records) {
        if self.options.client.is_none() && !network::is_wanted(&self.program.file, ordinary) {
            self.isolation.leave_network();
        }
    }

    /// Has further runs forked from a program that was started once, if by its files and the records of an ordinary run
    /// that changes nothing but the time. To be called after [`Stage::leave_network`].
    pub fn serve(&self, ordinary: &Records) {
        let own_files = match &self.isolation {
            Isolation::Overlay {
                directories,
                namespaces,
            } => !namespaces.network && !directories.iter().any(|d| self.scratch.root().starts_with(d)),
            Isolation::Copy => false,
            Isolation::Shared(_) => true,
        };
        let fixed = ordinary.started.as_ref().is_some_and(|s| s.fixed_addresses);
        let prepared = self.options.client.is_some() || self.options.setup.is_some();
        if own_files && fixed && !prepared && !network::is_wanted(&self.program.file, ordinary) {
            self.servers.open();
        }
    }

    /// A stage for the same program with another input, kept apart in the same way.
    pub fn with(&self, program: Program) -> Result<Stage, StageError> {
        let scratch = Scratch::new().map_err(StageError::Scratch)?;
        let stdin = scratch.file("stdin");
        std::fs::write(&stdin, &program.stdin).map_err(StageError::Scratch)?;
        Ok(Stage {
            program,
            isolation: self.isolation.clone(),
            options: self.options.clone(),
            limit_ms: AtomicU64::new(self.limit_ms.load(Ordering::Relaxed)),
            runs: AtomicU64::new(0),
            freed_uses: OrdinaryUses::default(),
            expected: OnceLock::new(),
            stdin,
            servers: Servers::default(),
            scratch,
            misuses: Mutex::default(),
        })
    }

    /// Changes the wall-clock limit of the runs to come.
    pub fn set_limit(&self, limit: Duration) {
        self.limit_ms.store(limit.as_millis() as u64, Ordering::Relaxed);
    }

    /// Changes when no further run is wanted.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
    }

    /// The wall-clock limit of a run.
    pub fn limit(&self) -> Duration {
        Duration::from_millis(self.limit_ms.load(Ordering::Relaxed))
    }

    /// Runs started so far.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Runs that a server forked.
    pub fn served(&self) -> u64 {
        self.servers.served()
    }

    /// Sightings of misuses that were not kept for want of room.
    pub fn misuses_cut(&self) -> u64 {
        self.misuses.lock().map_or(0, |misuses| misuses.cut())
    }

    /// Whether the user wants to stop.
    pub fn interrupted(&self) -> bool {
        self.options.interrupted.load(Ordering::Relaxed)
    }

    /// Whether no further run is wanted: the user's interrupt, or the deadline.
    pub fn stopped(&self) -> bool {
        self.interrupted() || self.past_deadline()
    }

    fn past_deadline(&self) -> bool {
        self.options.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Runs the program under a plan, and demands that the runtime was in control. Uses of freed blocks that an ordinary
    /// run shows too are left out of its records.
    pub fn run(&self, plan: &Plan) -> Result<Run, RunError> {
        let mut run = self.controlled(plan)?;
        self.freed_uses.leave_out(&mut run.records);
        if !run.records.freed_uses.is_empty()
            && let Some(ordinary) = self.freed_uses.question(plan)
        {
            self.freed_uses.learn(&mut self.controlled(&ordinary)?.records);
            self.freed_uses.leave_out(&mut run.records);
        }
        Ok(run)
    }

    fn controlled(&self, plan: &Plan) -> Result<Run, RunError> {
        let run = self.start(Some(&self.given(plan)))?;
        if let Ok(mut misuses) = self.misuses.lock() {
            misuses.note(plan, &run);
        }
        // The runtime notes how a run ends; where it gives up before it can, its exit status alone tells.
        let refused = match &run.records.ended {
            Some(ended) => ended.how == deadheat_wire::record::EndKind::Refused,
            None => run.end == End::Exit(REFUSED) && run.stderr.text().contains("deadheat: "),
        };
        if refused {
            let notices: Vec<String> = run
                .records
                .notices
                .iter()
                .map(|notice| match notice {
                    Notice::Text(text) => text.clone(),
                    other => format!("{other:?}"),
                })
                .collect();
            let told = if notices.is_empty() {
                let text = run.stderr.text();
                text.trim().trim_start_matches("deadheat: ").to_string()
            } else {
                notices.join("; ")
            };
            return Err(RunError::Refused(told));
        }
        if run.records.started.is_none() && !matches!(run.end, End::Stopped(_)) {
            return Err(RunError::NoRuntime(match run.end {
                End::Signal(n) => format!("it died at its start of {}", crate::outcome::signal_name(n)),
                End::Exit(n) => format!("it ended with status {n}"),
                End::Stopped(_) => String::new(),
            }));
        }
        Ok(run)
    }

    /// Runs the program by itself, without a plan. A program for which random numbers or the time were chosen
    /// cannot get them so: a run under `fifo` stands for it.
    pub fn run_natively(&self) -> Result<Run, RunError> {
        if self.program.chosen.values.is_empty() {
            self.start(None)
        } else {
            self.start(Some(&self.given(&Plan::new(Mode::Schedule, Policy::Fifo))))
        }
    }

    /// The plan with what was chosen for this program.
    fn given(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        if plan.values.is_empty() {
            plan.values.clone_from(&self.program.chosen.values);
        }
        plan.follow &= self.options.follow;
        plan
    }

    /// Runs the program under a plan in gdb, on the terminal, on the real files. The runtime raises
    /// SIGTRAP where the plan says; going on from there does not deliver it.
    pub fn debug(&self, plan: &Plan) -> io::Result<ExitStatus> {
        let directory = self.scratch.run()?;
        self.files(&directory, Some(&self.given(plan)))?;
        let mut text = String::from("set confirm off\nset pagination off\n");
        for name in ["LINES", "COLUMNS"] {
            text += &format!("unset environment {name}\n");
        }
        for (name, file) in [(PLAN_VARIABLE, "plan"), (RECORD_VARIABLE, "record"), ("TMPDIR", "tmp")] {
            text += &format!("set environment {name} {}\n", directory.join(file).display());
        }
        // A run that shows no meeting (a deadlock) is stopped where it ends, with its threads still there.
        text += "set startup-with-shell on\nhandle SIGTRAP stop print nopass\ncatch syscall exit_group\n";
        text += "set detach-on-fork off\nset schedule-multiple on\n";
        text += &format!("python DEADHEAT_STDIN = \"{}\"\n", self.stdin.display());
        text += include_str!("debugger.gdb");
        let commands = directory.join("commands.gdb");
        std::fs::write(&commands, text)?;
        let mut command = std::process::Command::new("gdb");
        command
            .arg("-q")
            .arg("-x")
            .arg(&commands)
            .env_clear()
            .envs(self.program.environment.iter().map(|(k, v)| (k, v)));
        command
            .arg("--args")
            .arg(&self.program.file)
            .args(&self.program.args)
            .current_dir(&self.program.directory);
        command.status().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => io::Error::other("gdb is not installed (apt-get install gdb)"),
            _ => e,
        })
    }

    fn start(&self, plan: Option<&Plan>) -> Result<Run, RunError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        if let Some(plan) = plan.filter(|plan| plan.symbolic.is_none())
            && let Some(server) = self.servers.take(|| self.server())
            && let Some(run) = self.by_server(server, plan)?
        {
            return Ok(run);
        }
        let place = self.place(plan)?;
        let begun = Instant::now();
        let mut child = self.spawn(&place, plan.is_some(), &self.stdin_file()?.into(), true)?;
        let work = self.directory(&place.directory);
        let duplicate = |file: &File| file.try_clone().map_err(RunError::Files);
        let mut peer = match &self.options.client {
            Some(client) => {
                let said = Self::output(&place.directory, "client")?;
                let place = Place {
                    supervisor: child.id(),
                    environment: &place.environment,
                    directory: &work,
                    outputs: [duplicate(&place.stdout)?, duplicate(&place.stderr)?],
                    said,
                    record: place.record.as_ref(),
                };
                Some(Peer::new(client, place).map_err(RunError::Client)?)
            }
            None => None,
        };
        let (mut stdout, mut stderr) = (
            Growing::new(duplicate(&place.stdout)?),
            Growing::new(duplicate(&place.stderr)?),
        );
        // Whom a client talks to may well sleep until it does.
        let sleep = (plan.is_none() && peer.is_none()).then(Sleep::default);
        let watched = self.watch(&mut child, begun, &mut peer, sleep, || {
            stdout.trim();
            stderr.trim();
        });
        let elapsed = begun.elapsed();
        let asked = peer.as_ref().is_some_and(Peer::asked);
        let client = peer.map(Peer::finish);
        let (status, stopped) = watched.map_err(RunError::Client)?;
        let end = match (stopped, status.signal()) {
            // It died of the signal that asks it to end, as programs without a handler do.
            (None, Some(libc::SIGTERM)) if asked => End::Exit(0),
            _ => end(status, stopped),
        };
        let mut run = self.conclude(place, plan, end, elapsed, [stdout, stderr])?;
        run.client = client;
        Ok(run)
    }

    /// Has a server make a run; none if that did not work and the run is to be started by itself.
    fn by_server(&self, mut server: Server, plan: &Plan) -> Result<Option<Run>, RunError> {
        let place = self.place(Some(plan))?;
        let duplicate = |file: &File| file.try_clone().map_err(RunError::Files);
        let (mut stdout, mut stderr) = (
            Growing::new(duplicate(&place.stdout)?),
            Growing::new(duplicate(&place.stderr)?),
        );
        let begun = Instant::now();
        let stop = || {
            if self.interrupted() {
                Some(StopReason::Interrupted)
            } else if begun.elapsed() > self.limit() || self.past_deadline() {
                Some(StopReason::TimeLimit)
            } else {
                None
            }
        };
        let served = server.run(&place.directory, &self.stdin, stop, || {
            stdout.trim();
            stderr.trim();
        });
        let elapsed = begun.elapsed();
        let Served::Ended(status, stopped) = served else {
            return Ok(None);
        };
        self.servers.give_back(server);
        let run = self.conclude(place, Some(plan), end(status, stopped), elapsed, [stdout, stderr])?;
        if run.records.started.is_none() && stopped.is_none() {
            self.servers.close();
            return Ok(None);
        }
        Ok(Some(run))
    }

    /// Starts the program as a server of runs.
    fn server(&self) -> io::Result<Server> {
        let directory = self.scratch.run()?;
        std::fs::create_dir(directory.join("tmp"))?;
        std::fs::write(directory.join("plan"), SERVER)?;
        let environment = self.environment(&directory, true);
        let output = |name| Self::output(&directory, name).map_err(|e| io::Error::other(e.to_string()));
        let (stdout, stderr) = (output("stdout")?, output("stderr")?);
        let note = stdout.try_clone()?;
        let place = Prepared {
            directory,
            record: None,
            environment,
            stdout,
            stderr,
        };
        let (ours, theirs) = server::connection()?;
        let child = self.spawn(&place, true, &theirs, false);
        drop(theirs);
        let overlays = match &self.isolation {
            Isolation::Overlay { directories, .. } => directories.len(),
            _ => 0,
        };
        let child = child.map_err(|e| io::Error::other(e.to_string()))?;
        Server::new(child, ours, note, place.directory, overlays)
    }

    fn stdin_file(&self) -> Result<File, RunError> {
        File::open(&self.stdin).map_err(RunError::Files)
    }

    fn output(directory: &RunDirectory, name: &str) -> Result<File, RunError> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        options.open(directory.join(name)).map_err(RunError::Files)
    }

    /// The files of a run that is about to begin.
    fn place(&self, plan: Option<&Plan>) -> Result<Prepared, RunError> {
        let directory = self.scratch.run().map_err(RunError::Files)?;
        let record = self.files(&directory, plan).map_err(RunError::Files)?;
        Ok(Prepared {
            record,
            environment: self.environment(&directory, plan.is_some()),
            stdout: Self::output(&directory, "stdout")?,
            stderr: Self::output(&directory, "stderr")?,
            directory,
        })
    }

    /// What a run that ended has left.
    fn conclude(
        &self,
        place: Prepared,
        plan: Option<&Plan>,
        mut end: End,
        elapsed: Duration,
        [stdout, stderr]: [Growing; 2],
    ) -> Result<Run, RunError> {
        if self.scratch.full() {
            // What it could not write may have changed how it ended.
            return Err(RunError::Files(io::Error::other(format!(
                "{} is full; make some room, or name another place: TMPDIR=DIRECTORY",
                self.scratch.place().display()
            ))));
        }
        let records = match &place.record {
            Some(file) => Records::read(file).map_err(RunError::Files)?,
            None => Records::default(),
        };
        let trace = plan
            .and_then(|p| p.symbolic.as_ref())
            .and_then(|_| trace(&place.directory).ok());
        let stdout = stdout.finish();
        let objection = match self.objection(end, &stdout, &place.directory, &place.environment)? {
            Ok(objection) => objection,
            Err(reason) => {
                end = End::Stopped(reason);
                None
            }
        };
        Ok(Run {
            records,
            trace,
            end,
            stdout,
            stderr: stderr.finish(),
            elapsed,
            client: None,
            objection,
        })
    }

    /// What the oracles have against a run that ended with a status; an error if a check was stopped.
    fn objection(
        &self,
        end: End,
        stdout: &Output,
        directory: &RunDirectory,
        environment: &[(OsString, OsString)],
    ) -> Result<Result<Option<String>, StopReason>, RunError> {
        let End::Exit(status) = end else {
            return Ok(Ok(None));
        };
        if self.options.oracle.same_output {
            let expected = self.expected.get_or_init(|| (end, stdout.clone()));
            if let Some(told) = oracle::difference(expected, end, stdout) {
                return Ok(Ok(Some(told)));
            }
        }
        let Some(command) = &self.options.oracle.check else {
            return Ok(Ok(None));
        };
        let run = Checked {
            status,
            output: &directory.join("stdout"),
            said: &directory.join("checked"),
            directory: &self.directory(directory),
            environment,
        };
        let begun = Instant::now();
        let stop = || self.stopped() || begun.elapsed() > self.limit();
        let checked = oracle::check(command, &run, &stop).map_err(RunError::Check)?;
        Ok(checked.ok_or(if self.interrupted() {
            StopReason::Interrupted
        } else {
            StopReason::TimeLimit
        }))
    }

    /// Writes the plan, makes the record file at its full sparse size, and the private directories.
    fn files(&self, directory: &RunDirectory, plan: Option<&Plan>) -> io::Result<Option<File>> {
        std::fs::create_dir(directory.join("tmp"))?;
        if matches!(self.isolation, Isolation::Copy) {
            isolation::copy(&self.program.directory, &directory.join("work"))?;
        }
        let Some(plan) = plan else { return Ok(None) };
        let mut plan = Plan {
            stack_limit: unusual_stack(),
            ..plan.clone()
        };
        if let Some(symbolic) = &mut plan.symbolic {
            let path = directory.join("trace");
            let file = File::options().write(true).create_new(true).open(&path)?;
            file.set_len(trace_layout::FILE_SIZE as u64)?;
            std::os::unix::fs::FileExt::write_all_at(&file, &trace_layout::MAGIC, 0)?;
            symbolic.trace = path.to_string_lossy().into_owned();
        }
        std::fs::write(directory.join("plan"), plan.encode())?;
        let record = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(directory.join("record"))?;
        record.set_len(self.scratch.record_size)?;
        std::os::unix::fs::FileExt::write_all_at(&record, &MAGIC, 0)?;
        if self.options.client.is_some() {
            Peer::announce(&record)?;
        }
        Ok(Some(record))
    }

    /// Environment of a run.
    fn environment(&self, run: &RunDirectory, plan: bool) -> Vec<(OsString, OsString)> {
        let mut environment = self.program.environment.clone();
        let mut set = |key: &str, value: PathBuf| {
            environment.retain(|(k, _)| k != key);
            environment.push((OsString::from(key), value.into_os_string()));
        };
        set("TMPDIR", run.join("tmp"));
        if plan {
            set(PLAN_VARIABLE, run.join("plan"));
            set(RECORD_VARIABLE, run.join("record"));
        }
        environment
    }

    /// Working directory of a run.
    fn directory(&self, run: &RunDirectory) -> PathBuf {
        match self.isolation {
            Isolation::Copy => run.join("work"),
            _ => self.program.directory.clone(),
        }
    }

    /// Starts the program with this standard input; `supervised`: with somebody who waits for all that it leaves behind.
    fn spawn(&self, place: &Prepared, plan: bool, stdin: &OwnedFd, supervised: bool) -> Result<Child, RunError> {
        let directory = self.directory(&place.directory);
        let own = place.directory.join("");
        let private = match &self.isolation {
            Isolation::Overlay {
                directories,
                namespaces,
            } => Some((*namespaces, directories.as_slice(), own.as_path())),
            _ => None,
        };
        let duplicate = |f: &File| f.try_clone().map(Stdio::from).map_err(RunError::Files);
        let launch = Launch {
            file: &self.program.file,
            name: &self.program.name,
            args: &self.program.args,
            environment: &place.environment,
            directory: &directory,
            stdio: [
                stdin.try_clone().map_err(RunError::Files)?.into(),
                duplicate(&place.stdout)?,
                duplicate(&place.stderr)?,
            ],
            fixed_addresses: plan,
            stack_limit: unusual_stack().filter(|_| plan).map(|_| USUAL_STACK),
            setup: self.options.setup.as_deref(),
            supervised,
            private,
        };
        launch.spawn().map_err(|e| match &self.options.setup {
            Some(command) if launch::setup_failed(&e) => RunError::Setup(command.clone()),
            _ => RunError::Start(e),
        })
    }

    /// Waits for the end of all that the program has started, and lets its client come and go.
    ///
    /// What is left behind after the first process has ended has [`LEFT_BEHIND`] to end by itself, or, with a client,
    /// until that has ended; then it is asked to end, and after as long again is ended.
    fn watch(
        &self,
        child: &mut Child,
        begun: Instant,
        peer: &mut Option<Peer<'_>>,
        mut sleep: Option<Sleep>,
        mut tick: impl FnMut(),
    ) -> io::Result<(ExitStatus, Option<StopReason>)> {
        let supervisor = child.id();
        let pid = rustix::process::Pid::from_child(child);
        let first = processes::children(supervisor).first().copied();
        let kill = || {
            processes::end(supervisor, libc::SIGKILL);
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        };
        let ending = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok();
        let mut left_behind = first.is_none().then(Instant::now);
        let (mut stopped, mut asked, mut trouble) = (None, false, None);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(_) => break ExitStatus::from_raw(libc::SIGKILL),
            }
            if stopped.is_none() && self.interrupted() {
                stopped = Some(StopReason::Interrupted);
                kill();
            } else if stopped.is_none() && (begun.elapsed() > self.limit() || self.past_deadline()) {
                stopped = Some(StopReason::TimeLimit);
                kill();
            } else if stopped.is_none() && sleep.as_mut().is_some_and(|sleep| sleep.is_deep(supervisor)) {
                stopped = Some(StopReason::Asleep);
                kill();
            }
            let main = first.filter(|first| left_behind.is_none() && processes::children(supervisor).contains(first));
            if main.is_none() {
                left_behind.get_or_insert_with(Instant::now);
            }
            let mut wait = LONGEST_WAIT;
            match (peer.as_mut().map(|peer| peer.step(main)), left_behind) {
                (Some(Ok(soon)), _) => wait = soon,
                (Some(Err(error)), _) => {
                    trouble = trouble.or(Some(error));
                    kill();
                }
                (None, Some(since)) if since.elapsed() > LEFT_BEHIND * 2 => kill(),
                (None, Some(since)) if since.elapsed() > LEFT_BEHIND && !asked => {
                    processes::end(supervisor, libc::SIGTERM);
                    asked = true;
                }
                _ => {}
            }
            wait_a_little(ending.as_ref(), wait);
            tick();
        };
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        trouble.map_or(Ok((status, stopped)), Err)
    }
}

/// How a process ended that was stopped for this reason, if for any.
fn end(status: ExitStatus, stopped: Option<StopReason>) -> End {
    match (stopped, status.code(), status.signal()) {
        (Some(reason), ..) => End::Stopped(reason),
        (_, Some(code), _) => End::Exit(code),
        (_, _, Some(libc::SIGKILL)) => End::Stopped(StopReason::Killed),
        (_, _, signal) => End::Signal(signal.unwrap_or(0)),
    }
}

/// The soft limit of the stack, if under it the kernel would put mappings where they have no shadow.
fn unusual_stack() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    let limit = limit.unwrap_or(libc::RLIM_INFINITY);
    (limit > LARGE_STACK).then_some(limit)
}

/// The used part of a run's trace.
fn trace(directory: &RunDirectory) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut file = File::open(directory.join("trace"))?;
    let mut bytes = vec![0; trace_layout::NODES_AT];
    file.read_exact(&mut bytes)?;
    let count = trace_layout::Trace::new(&bytes).map_or(0, |t| t.word(trace_layout::NODE_COUNT_AT));
    let rest = count.min(trace_layout::MOST_NODES) as usize * trace_layout::NODE_SIZE;
    file.take(rest as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Until the process ends, but at most so long.
fn wait_a_little(ending: Option<&rustix::fd::OwnedFd>, most: Duration) {
    let Some(fd) = ending else {
        std::thread::sleep(Duration::from_millis(2));
        return;
    };
    let mut polled = [rustix::event::PollFd::new(fd, rustix::event::PollFlags::IN)];
    let timeout = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    let _ = rustix::event::poll(&mut polled, Some(&timeout));
}
