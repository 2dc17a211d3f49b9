//! What a run is given: its directory with the plan and the record file, environment, working directory; its start.

use super::{RunError, Stage};
use crate::client::Peer;
use crate::isolation::{self, Isolation};
use crate::launch::{self, Launch};
use crate::scratch::RunDirectory;
use deadheat_wire::channel::{self, module_key};
use deadheat_wire::plan::{PLAN_VARIABLE, Plan, RECORD_VARIABLE};
use deadheat_wire::record::Module;
use deadheat_wire::trace as trace_layout;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Soft limit of the stack that programs are started under whose own is unusual.
const USUAL_STACK: u64 = 8 << 20;
/// A limit beyond this is unusual.
const LARGE_STACK: u64 = 64 << 30;

/// The files of a run, and its environment.
pub(super) struct Prepared {
    /// The modules that the run begins with.
    pub modules: Vec<Module>,
    pub directory: RunDirectory,
    pub record: Option<File>,
    pub environment: Vec<(OsString, OsString)>,
    pub stdout: File,
    pub stderr: File,
}

impl Stage {
    pub(super) fn stdin_file(&self) -> Result<File, RunError> {
        File::open(self.stdin.path()).map_err(RunError::Files)
    }

    pub(super) fn output(directory: &RunDirectory, name: &str) -> Result<File, RunError> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        options.open(directory.join(name)).map_err(RunError::Files)
    }

    /// The files of a run that is about to begin.
    pub(super) fn place(&self, plan: Option<&Plan>) -> Result<Prepared, RunError> {
        let directory = self.scratch.run().map_err(RunError::Files)?;
        let record = self.files(&directory, plan).map_err(RunError::Files)?;
        let modules = self.modules.lock().map(|m| m.clone()).unwrap_or_default();
        if let Some(record) = &record {
            record
                .write_all_at(&1u32.to_le_bytes(), channel::ADOPTED_AT as u64)
                .map_err(RunError::Files)?;
            let keys = modules.iter().take(channel::MODULES);
            let keys: Vec<u8> = keys.flat_map(|m| module_key(&m.path, m.calls).to_le_bytes()).collect();
            record
                .write_all_at(&keys, channel::MODULES_AT as u64)
                .map_err(RunError::Files)?;
        }
        Ok(Prepared {
            modules,
            record,
            environment: self.environment(&directory, plan.is_some()),
            stdout: Self::output(&directory, "stdout")?,
            stderr: Self::output(&directory, "stderr")?,
            directory,
        })
    }

    /// Keeps the numbers that modules have in a run for the runs to come.
    pub fn know_modules(&self, modules: &[Module]) {
        let Ok(mut known) = self.modules.lock() else { return };
        let agrees = known
            .iter()
            .zip(modules)
            .all(|(a, b)| (&a.path, a.calls) == (&b.path, b.calls));
        if agrees && modules.len() > known.len() {
            *known = modules.to_vec();
        }
    }

    /// Writes the plan, makes the record file at its full sparse size, and the private directories.
    pub(super) fn files(&self, directory: &RunDirectory, plan: Option<&Plan>) -> io::Result<Option<File>> {
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
            file.write_all_at(&trace_layout::MAGIC, 0)?;
            symbolic.trace = path.to_string_lossy().into_owned();
        }
        std::fs::write(directory.join("plan"), plan.encode())?;
        let record = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(directory.join("record"))?;
        record.set_len(self.scratch.record_size)?;
        record.write_all_at(&channel::MAGIC, 0)?;
        if self.isolation.own_network() {
            record.write_all_at(&1u32.to_le_bytes(), channel::OWN_NETWORK_AT as u64)?;
        }
        if self.options.client.is_some() {
            Peer::announce(&record)?;
        }
        Ok(Some(record))
    }

    /// Environment of a run.
    pub(super) fn environment(&self, run: &RunDirectory, plan: bool) -> Vec<(OsString, OsString)> {
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
    pub(super) fn directory(&self, run: &RunDirectory) -> PathBuf {
        match self.isolation {
            Isolation::Copy => run.join("work"),
            _ => self.program.directory.clone(),
        }
    }

    /// An input that changes files needs runs that have their own.
    pub(super) fn check_files(&self) -> Result<(), RunError> {
        for (name, _) in &self.program.chosen.files {
            let name = Path::new(OsStr::from_bytes(name));
            if !self.isolation.can_replace(name, &self.program.directory) {
                return Err(RunError::NotOwnFile(name.into()));
            }
        }
        Ok(())
    }

    /// Starts the program with this standard input; `supervised`: with somebody who waits for all that it leaves behind.
    pub(super) fn spawn(
        &self,
        place: &Prepared,
        plan: bool,
        stdin: &OwnedFd,
        supervised: bool,
    ) -> Result<Child, RunError> {
        self.check_files()?;
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
            files: &self.program.chosen.files,
            supervised,
            private,
        };
        launch.spawn().map_err(|e| match &self.options.setup {
            Some(command) if launch::setup_failed(&e) => RunError::Setup(command.clone()),
            _ => RunError::Start(e),
        })
    }
}

/// The soft limit of the stack, if under it the kernel would put mappings where they have no shadow.
fn unusual_stack() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    let limit = limit.unwrap_or(libc::RLIM_INFINITY);
    (limit > LARGE_STACK).then_some(limit)
}
