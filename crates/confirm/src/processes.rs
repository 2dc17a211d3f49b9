//! The processes of a run: what descends from its supervisor.
//!
//! The supervisor stands between the tool and the program. It adopts what the program leaves behind (a daemon has no
//! parent and no group of the program's), waits for all of it, and ends as the program's first process ended.
#![allow(unsafe_code)]

use std::io;

/// Processes of a run that are looked at.
const MOST: usize = 4096;
/// Rounds of ending what runs: a process may fork while the others are ended.
const ROUNDS: usize = 8;
/// Tells the supervisor that the tool was killed. A real-time signal that hardly a program sends to its group.
const TOOL_ENDED: i32 = 63;

/// Makes this process, a child that is about to replace itself, the supervisor of one that does so in its place.
/// Returns in that one only.
pub(crate) fn supervise() -> io::Result<()> {
    // SAFETY: system calls on plain values in a single-threaded child.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        let own = libc::getpid();
        // When the tool is killed, nothing of the run may stay: not what has no parent any more, either. That holds from
        // before there is a program: it may have left something behind before this process goes on.
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        let (mut end, mut ordinary): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        end.sa_sigaction = tool_ended as *const () as usize;
        libc::sigaction(TOOL_ENDED, &end, &mut ordinary);
        libc::prctl(libc::PR_SET_PDEATHSIG, TOOL_ENDED);
        let pid = libc::fork();
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        if pid == 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != own {
                libc::_exit(1);
            }
            libc::sigaction(TOOL_ENDED, &ordinary, std::ptr::null_mut());
            libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            return Ok(());
        }
        // What the program sends to its process group is for the program.
        for signal in (1..=64).filter(|n| *n != libc::SIGCHLD && *n != TOOL_ENDED) {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::sigemptyset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        // The tool waits for the end of the other side of a pipe that both have.
        libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32);
        let mut first = 0;
        loop {
            let mut status = 0;
            let gone = libc::waitpid(-1, &mut status, 0);
            if gone == pid {
                first = status;
            } else if gone < 0 && *libc::__errno_location() != libc::EINTR {
                break;
            }
        }
        if libc::WIFSIGNALED(first) {
            let signal = libc::WTERMSIG(first);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(own, signal);
        }
        libc::_exit(libc::WEXITSTATUS(first))
    }
}

/// Ends all that descends from this process, and this process: what loses its parent becomes a child of this one.
extern "C" fn tool_ended(_signal: i32) {
    // SAFETY: system calls on buffers of ours, in a process of one thread that was forked from one of many: no memory
    // is asked for.
    unsafe {
        loop {
            let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            let mut text = [0u8; 4096];
            let n = libc::read(fd, text.as_mut_ptr().cast(), text.len());
            libc::close(fd);
            // A number that the buffer's end cuts is left for the next round.
            let mut number = 0;
            for byte in text.iter().take(n.max(0) as usize) {
                if byte.is_ascii_digit() {
                    number = number * 10 + i32::from(byte - b'0');
                } else if number > 0 {
                    libc::kill(number, libc::SIGKILL);
                    number = 0;
                }
            }
            if libc::waitpid(-1, std::ptr::null_mut(), 0) < 0 && *libc::__errno_location() == libc::ECHILD {
                libc::_exit(1);
            }
        }
    }
}

/// The children of a process, those of all its threads.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_ascii_whitespace().filter_map(|n| n.parse::<u32>().ok()));
    }
    found
}

/// All that descends from a process.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut at = 0;
    while at < found.len() && found.len() < MOST {
        found.extend(children(found[at]));
        at += 1;
    }
    found
}

/// Inodes of the sockets that a process's descendants hold.
pub(crate) fn sockets(pid: u32) -> impl Iterator<Item = u64> {
    let entries = |pid: u32| {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten()
    };
    let links = descendants(pid).into_iter().flat_map(entries);
    links.filter_map(|entry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    })
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: u32, signal: i32) {
    // SAFETY: a system call on plain values.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Sends a signal to all that descends from a process.
pub(crate) fn end(supervisor: u32, number: i32) {
    for _ in 0..ROUNDS {
        let all = descendants(supervisor);
        all.iter().for_each(|pid| signal(*pid, number));
        // What is asked may take its time; what is killed is gone, and must not have had a child meanwhile.
        if number != libc::SIGKILL || all.is_empty() {
            return;
        }
    }
}
