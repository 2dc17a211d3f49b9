//! Waits for a run that was started by itself.

use super::{Stage, StopReason};
use crate::asleep::Sleep;
use crate::client::Peer;
use crate::processes;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Time between looks at a run that goes on.
const LONGEST_WAIT: Duration = Duration::from_millis(25);
/// Time for what a program's first process has left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(2);
impl Stage {
    /// Waits for the end of all that the program has started, and lets its client come and go.
    ///
    /// What is left behind after the first process has ended has [`LEFT_BEHIND`] to end by itself, or, with a client,
    /// until that has ended; then it is asked to end, and after as long again is ended.
    pub(super) fn watch(
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
