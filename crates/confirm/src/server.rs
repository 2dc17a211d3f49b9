//! A server of runs: the program, started once in the namespaces of a run, forks a process for each run.
//!
//! It is used where that changes nothing but the time: the program starts no other process, opens no socket, has no
//! client and is not prepared by a command, and the files that it sees are those of every run. The last is looked at
//! after each run: what a program creates, changes or removes below an overlaid directory makes an entry in the
//! overlay's upper directory, or changes that itself, and then its time of change is another. Such a server is ended.
//!
//! The other side is `runtime::serve`. A server ends when its socket is closed, and with it all that it has started.

use crate::processes;
use crate::scratch::RunDirectory;
use crate::stage::StopReason;
use deadheat_wire::server::{HELLO, LONGEST};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Most time until a server is ready.
const READY: Duration = Duration::from_secs(10);
/// Time between looks at a run that goes on.
const LONGEST_WAIT: Duration = Duration::from_millis(25);
/// Time for what a program's first process has left behind, and for a server to tell of the end of a run.
const LEFT_BEHIND: Duration = Duration::from_secs(2);
/// So many servers are started in any case.
const FREE_STARTS: u64 = 4;
/// A further one for so many runs.
const RUNS_PER_START: u64 = 8;

/// A process that forks runs.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    socket: UnixStream,
    /// Where it says which process the present run's first is.
    note: File,
    /// What takes the place of the overlaid directories' contents, and how it was before the first run.
    uppers: Vec<(File, Stamp)>,
    /// Holds the mount point of its file system, and the names in its environment.
    _directory: RunDirectory,
}

/// When and how a directory was changed last.
type Stamp = (i64, i64, u64, u64, u32, u32, u32);

/// What became of a run.
pub(crate) enum Served {
    /// It took place: its first process ended so; why it was stopped, if it was.
    Ended(ExitStatus, Option<StopReason>),
    /// The server died, so that nothing is known.
    Lost,
}

/// The server's end of its connection.
pub(crate) fn connection() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((ours, theirs.into()))
}

impl Server {
    /// Waits until a program that was started as a server is ready. `overlays` is how many directories are overlaid;
    /// `note` is its standard output.
    pub(crate) fn new(
        child: Child,
        socket: UnixStream,
        note: File,
        directory: RunDirectory,
        overlays: usize,
    ) -> io::Result<Server> {
        // Whatever fails from here on ends the process.
        let mut server = Server {
            child,
            socket,
            note,
            uppers: Vec::new(),
            _directory: directory,
        };
        let mut said = [0; HELLO.len()];
        server.socket.set_read_timeout(Some(READY))?;
        server.socket.read_exact(&mut said)?;
        server.socket.set_read_timeout(None)?;
        if said != HELLO {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let inside = server._directory.join("fs");
        let inside = Path::new("/proc")
            .join(server.child.id().to_string())
            .join("root")
            .join(inside.strip_prefix("/").unwrap_or(&inside));
        for n in 0..overlays {
            let upper = File::open(inside.join(format!("u{n}")))?;
            let stamp = stamp(&upper)?;
            server.uppers.push((upper, stamp));
        }
        Ok(server)
    }

    /// Has a run made in this directory. `stop` says why it should be stopped, if it should; `tick` is called while the
    /// run goes on.
    pub(crate) fn run(
        &mut self,
        directory: &RunDirectory,
        input: &Path,
        stop: impl Fn() -> Option<StopReason>,
        mut tick: impl FnMut(),
    ) -> Served {
        if self.ask(directory, input).is_err() {
            return Served::Lost;
        }
        let supervisor = self.child.id();
        let mut left_behind: Option<Instant> = None;
        let (mut stopped, mut asked) = (None, false);
        let status = loop {
            if readable(&self.socket, LONGEST_WAIT) {
                let mut status = [0; 4];
                break match self.socket.read_exact(&mut status) {
                    Ok(()) => i32::from_ne_bytes(status),
                    Err(_) if stopped.is_some() => libc::SIGKILL,
                    Err(_) => return Served::Lost,
                };
            }
            if stopped.is_none()
                && let Some(reason) = stop()
            {
                stopped = Some((reason, Instant::now()));
            }
            let first = self.first();
            if first.is_some_and(|first| !processes::children(supervisor).contains(&first)) {
                left_behind.get_or_insert_with(Instant::now);
            }
            match (stopped, left_behind) {
                (Some((_, since)), _) => {
                    processes::end(supervisor, libc::SIGKILL);
                    if since.elapsed() > LEFT_BEHIND {
                        // It was stopped by a signal, say.
                        let _ = self.child.kill();
                    }
                }
                (None, Some(since)) if since.elapsed() > LEFT_BEHIND * 2 => processes::end(supervisor, libc::SIGKILL),
                (None, Some(since)) if since.elapsed() > LEFT_BEHIND && !asked => {
                    processes::end(supervisor, libc::SIGTERM);
                    asked = true;
                }
                _ => {}
            }
            tick();
        };
        Served::Ended(ExitStatus::from_raw(status), stopped.map(|(reason, _)| reason))
    }

    fn ask(&mut self, directory: &RunDirectory, input: &Path) -> io::Result<()> {
        let mut text = Vec::new();
        for path in [directory.path(), input] {
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.push(0);
        }
        if text.len() > LONGEST {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        let mut request = (text.len() as u32).to_ne_bytes().to_vec();
        request.append(&mut text);
        self.socket.write_all(&request)
    }

    /// The first process of the present run, if it has begun.
    fn first(&self) -> Option<u32> {
        let mut pid = [0; 4];
        self.note.read_exact_at(&mut pid, 0).ok()?;
        Some(u32::from_ne_bytes(pid)).filter(|pid| *pid != 0)
    }

    /// Whether a further run would find the files that the first one found.
    fn unchanged(&self) -> bool {
        let same = |(upper, before): &(File, Stamp)| stamp(upper).is_ok_and(|now| now == *before);
        self.uppers.iter().all(same)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        processes::end(self.child.id(), libc::SIGKILL);
        // What is left if it was killed itself.
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stamp(directory: &File) -> io::Result<Stamp> {
    let is = directory.metadata()?;
    let (uid, gid) = (is.uid(), is.gid());
    Ok((is.ctime(), is.ctime_nsec(), is.nlink(), is.size(), is.mode(), uid, gid))
}

/// Whether something came, or the other side is gone, within this time.
fn readable(socket: &UnixStream, most: Duration) -> bool {
    let mut polled = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
    let timeout = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    rustix::event::poll(&mut polled, Some(&timeout)).is_ok_and(|n| n > 0)
}

/// The servers of a stage.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Those that have nothing to do; none if runs are started one by one.
    idle: Mutex<Option<Vec<Server>>>,
    started: AtomicU64,
    served: AtomicU64,
}

impl Servers {
    /// From now on there are servers.
    pub(crate) fn open(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.get_or_insert_default();
        }
    }

    /// Whether there are any.
    pub(crate) fn are_open(&self) -> bool {
        self.idle.lock().is_ok_and(|idle| idle.is_some())
    }

    /// From now on there are none.
    pub(crate) fn close(&self) {
        let ended = self.idle.lock().ok().and_then(|mut idle| idle.take());
        drop(ended);
    }

    /// One for the next run, made if there is none and it pays; none if the run is to be started by itself.
    pub(crate) fn take(&self, make: impl FnOnce() -> io::Result<Server>) -> Option<Server> {
        let ready = self.idle.lock().ok()?.as_mut()?.pop();
        if ready.is_some() {
            return ready;
        }
        if self.started.load(Relaxed) >= FREE_STARTS + self.served.load(Relaxed) / RUNS_PER_START {
            return None;
        }
        self.started.fetch_add(1, Relaxed);
        let made = make();
        if made.is_err() {
            self.close();
        }
        made.ok()
    }

    /// Runs that were served.
    pub(crate) fn served(&self) -> u64 {
        self.served.load(Relaxed)
    }

    /// One has served a run; it serves others, if they find the same files.
    pub(crate) fn give_back(&self, server: Server) {
        self.served.fetch_add(1, Relaxed);
        if !server.unchanged() {
            return;
        }
        if let Ok(mut idle) = self.idle.lock()
            && let Some(idle) = idle.as_mut()
        {
            idle.push(server);
        }
    }
}
