//! Runs that a server forks ([`crate::server`]).

use super::{End, Prepared, Run, RunError, Stage, StopReason};
use crate::isolation::Isolation;
use crate::network;
use crate::output::Growing;
use crate::records::Records;
use crate::server::{self, Served, Server};
use deadheat_wire::plan::Plan;
use deadheat_wire::server::MAGIC;
use std::fs::File;
use std::io;
use std::time::Instant;

impl Stage {
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

    /// Whether further runs are forked.
    pub fn serves(&self) -> bool {
        self.servers.are_open()
    }

    /// Further runs are started one by one.
    pub fn end_serving(&self) {
        self.servers.close();
    }

    /// Runs that a server forked.
    pub fn served(&self) -> u64 {
        self.servers.served()
    }

    /// Has a server make a run; none if that did not work and the run is to be started by itself.
    pub(super) fn by_server(&self, mut server: Server, plan: &Plan) -> Result<Option<Run>, RunError> {
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
        let served = server.run(&place.directory, self.stdin.path(), stop, || {
            stdout.trim();
            stderr.trim();
        });
        let elapsed = begun.elapsed();
        let Served::Ended(status, stopped) = served else {
            return Ok(None);
        };
        self.servers.give_back(server);
        let run = self.conclude(place, Some(plan), End::of(status, stopped), elapsed, [stdout, stderr])?;
        if run.records.started.is_none() && stopped.is_none() {
            self.servers.close();
            return Ok(None);
        }
        Ok(Some(run))
    }

    /// Starts the program as a server of runs.
    pub(super) fn server(&self) -> io::Result<Server> {
        let directory = self.scratch.run()?;
        std::fs::create_dir(directory.join("tmp"))?;
        std::fs::write(directory.join("plan"), MAGIC)?;
        let environment = self.environment(&directory, true);
        let output = |name| Self::output(&directory, name).map_err(|e| io::Error::other(e.to_string()));
        let (stdout, stderr) = (output("stdout")?, output("stderr")?);
        let note = stdout.try_clone()?;
        let place = Prepared {
            directory,
            record: None,
            modules: Vec::new(),
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
}
