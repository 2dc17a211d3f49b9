//! The stage: starts a program, run after run, each time under the same conditions.
//!
//! The same for every run: files (see [`crate::isolation`]), standard input, environment (the paths of
//! plan and record file have constant length), working directory, umask, limits. A run that exceeds the
//! wall-clock limit, or is killed from outside, is *stopped*: that says nothing of the program.

mod place;
mod run;
mod serving;
mod switching;
mod traced;
mod watching;

use place::Prepared;
pub use run::{End, Run, RunError, StageError, StopReason};

use crate::asleep::Sleep;
use crate::client::{Client, Peer, Place};
use crate::ends::Ends;
use crate::freed_use::OrdinaryUses;
use crate::hang::Hangs;
use crate::isolation::Isolation;
use crate::misuse::Sightings;
use crate::network;
use crate::oracle::{self, Checked, Oracle};
use crate::outcome::Outcome;
use crate::output::{Growing, Output};
use crate::program::Program;
use crate::records::Records;
use crate::scratch::{Input, RunDirectory, Scratch};
use crate::server::Servers;
use deadheat_wire::plan::{Mode, PLAN_VARIABLE, Plan, Policy, RECORD_VARIABLE};
use deadheat_wire::record::{Module, Notice};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
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
    /// How the controlled ones ended.
    pub ends: Ends,
    /// Uses of freed blocks that ordinary runs show.
    pub freed_uses: OrdinaryUses,
    /// End and standard output of the first run, to which others are compared.
    expected: OnceLock<(End, Output)>,
    stdin: Input,
    /// [`Plan::exchanges`] of the runs.
    exchanges: Option<String>,
    /// Before `scratch`, so that none outlives its directory.
    servers: Arc<Servers>,
    scratch: Arc<Scratch>,
    /// The modules with sites that runs had so far: a module has one number in all of them.
    modules: Arc<Mutex<Vec<Module>>>,
    /// Misuses of synchronisation that the runs showed.
    pub(crate) misuses: Mutex<Sightings>,
    /// Runs that were asked whether they hang for good.
    pub(crate) hangs: Mutex<Hangs>,
}

/// What stages of one program share.
type Shared = (Arc<Scratch>, Arc<Servers>, Arc<Mutex<Vec<Module>>>);

/// Exit status of a runtime that refuses to go on.
const REFUSED: i32 = 70;

impl Stage {
    /// Makes a stage; tries out how runs can be kept apart.
    pub fn new(program: Program, options: StageOptions) -> Result<Stage, StageError> {
        let scratch = Scratch::new().map_err(StageError::Scratch)?;
        let isolation = if options.isolate {
            let probe = scratch.file("probe");
            std::fs::create_dir(&probe).map_err(StageError::Scratch)?;
            Isolation::choose(&program, &probe)
        } else {
            Isolation::Shared("--no-isolation".into())
        };
        let limit = options.limit;
        let shared = (Arc::new(scratch), Arc::default(), Arc::default());
        Stage::of(program, isolation, options, limit, shared)
    }

    fn of(
        program: Program,
        isolation: Isolation,
        options: StageOptions,
        limit: Duration,
        (scratch, servers, modules): Shared,
    ) -> Result<Stage, StageError> {
        Ok(Stage {
            stdin: scratch.input(&program.stdin).map_err(StageError::Scratch)?,
            program,
            isolation,
            options,
            limit_ms: AtomicU64::new(limit.as_millis() as u64),
            runs: AtomicU64::new(0),
            ends: Ends::default(),
            freed_uses: OrdinaryUses::default(),
            expected: OnceLock::new(),
            exchanges: None,
            servers,
            scratch,
            modules,
            misuses: Mutex::default(),
            hangs: Mutex::default(),
        })
    }

    /// A stage for the same program with another input, kept apart in the same way. What this one has a server for, that
    /// one has, too: a run is handed its standard input, and chosen values are in its plan.
    pub fn with(&self, program: Program) -> Result<Stage, StageError> {
        let begins_alike = |a: &Program, b: &Program| {
            (&a.file, &a.name, &a.args, &a.directory) == (&b.file, &b.name, &b.args, &b.directory)
                && a.environment == b.environment
                && a.chosen.files == b.chosen.files
        };
        let servers = if begins_alike(&self.program, &program) {
            self.servers.clone()
        } else {
            Arc::default()
        };
        let exchanges = self.exchanges.clone().filter(|_| program.file == self.program.file);
        let shared = (self.scratch.clone(), servers, self.modules.clone());
        let stage = Stage::of(
            program,
            self.isolation.clone(),
            self.options.clone(),
            self.limit(),
            shared,
        )?;
        Ok(Stage { exchanges, ..stage })
    }

    /// Gives further runs no network of their own if the program, by its files and the records of an ordinary run, has
    /// nothing to do with any.
    pub fn leave_network(&mut self, ordinary: &Records) {
        if self.options.client.is_none() && !network::is_wanted(&self.program.file, ordinary) {
            self.isolation.leave_network();
        }
    }

    /// Changes the wall-clock limit of the runs to come.
    pub fn set_limit(&self, limit: Duration) {
        self.limit_ms.store(limit.as_millis() as u64, Ordering::Relaxed);
    }

    /// Changes when no further run is wanted.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
    }

    /// Runs to come are not stopped by the deadline, nor by the interrupt that came: what was found is to be repeated. A second
    /// interrupt ends the tool.
    pub fn set_undisturbed(&mut self) {
        self.options.deadline = None;
        self.options.interrupted = Arc::default();
    }

    /// The wall-clock limit of a run.
    pub fn limit(&self) -> Duration {
        Duration::from_millis(self.limit_ms.load(Ordering::Relaxed))
    }

    /// Runs started so far.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Sightings of misuses that were not kept for want of room.
    pub fn misuses_cut(&self) -> u64 {
        self.misuses.lock().map_or(0, |misuses| misuses.cut())
    }

    /// Whether a run that hung was found to hang for good.
    pub fn hangs_for_good(&self) -> bool {
        self.hangs.lock().is_ok_and(|hangs| hangs.values().any(|lasts| *lasts))
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
        self.run_with(plan, self.given(plan))
    }

    fn run_with(&self, plan: &Plan, given: Plan) -> Result<Run, RunError> {
        let mut run = self.controlled(plan, &given)?;
        self.freed_uses.leave_out(&mut run.records);
        if !run.records.freed_uses.is_empty()
            && let Some(ordinary) = self.freed_uses.question(plan)
        {
            let given = self.given(&ordinary);
            self.freed_uses.learn(&mut self.controlled(&ordinary, &given)?.records);
            self.freed_uses.leave_out(&mut run.records);
        }
        self.ends.note(Outcome::of(&run));
        Ok(run)
    }

    fn controlled(&self, plan: &Plan, given: &Plan) -> Result<Run, RunError> {
        let run = self.start(Some(given))?;
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
        plan.exchanges.clone_from(&self.exchanges);
        plan
    }

    /// Runs the program under a plan in gdb, on the terminal, on the real files. The runtime raises
    /// SIGTRAP where the plan says; going on from there does not deliver it.
    pub fn debug(&self, plan: &Plan) -> io::Result<ExitStatus> {
        if let Some((name, _)) = self.program.chosen.files.first() {
            let name = String::from_utf8_lossy(name);
            let told = "gdb runs the program on the real files, and the input changes";
            return Err(io::Error::other(format!(
                "{told} `{name}`; write it out (deadheat explore --export DIR) and hunt with that file first"
            )));
        }
        let directory = self.scratch.run()?;
        // A debugger knows threads as the kernel does.
        let exchanges = None;
        self.files(
            &directory,
            Some(&Plan {
                exchanges,
                ..self.given(plan)
            }),
        )?;
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
        text += &format!("python DEADHEAT_STDIN = \"{}\"\n", self.stdin.path().display());
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
        if let Some(plan) = plan
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
            _ => End::of(status, stopped),
        };
        let mut run = self.conclude(place, plan, end, elapsed, [stdout, stderr])?;
        run.client = client;
        Ok(run)
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
            Some(file) => Records::read(file, &place.modules).map_err(RunError::Files)?,
            None => Records::default(),
        };
        self.know_modules(&records.modules);
        let trace = plan
            .and_then(|p| p.symbolic.as_ref())
            .and_then(|_| traced::read(&place.directory).ok());
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
}
