//! Whether a program that nobody controls is asleep for good, so that its run need not be waited for.
//!
//! Under control a deadlock is found by the scheduler. Outside it is told by the kernel's tables: the program is one
//! process, each of its threads waits in a futex without a time limit, and for a while none of them has moved. That is
//! no proof (a signal may yet come), so all that follows is that the run is stopped.

use crate::processes;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long nothing may have moved.
const LONG: Duration = Duration::from_secs(3);
/// Time between looks.
const LOOKS: Duration = Duration::from_millis(500);
/// More threads are not looked at.
const MOST: usize = 1024;

/// What was seen of a program's threads.
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    looked: Option<Instant>,
    /// Since when all waits are these.
    waits: Option<(Instant, String)>,
}

impl Sleep {
    /// Whether the process below this supervisor has been asleep for long.
    pub(crate) fn is_deep(&mut self, supervisor: u32) -> bool {
        let now = Instant::now();
        if self.looked.is_some_and(|at| now - at < LOOKS) {
            return false;
        }
        self.looked = Some(now);
        match (waits(supervisor), &self.waits) {
            (Some(waits), Some((since, known))) if waits == *known => now - *since > LONG,
            (waits, _) => {
                self.waits = waits.map(|waits| (now, waits));
                false
            }
        }
    }
}

/// The waits of all threads, and how often each has slept so far; nothing if one of them does something else.
fn waits(supervisor: u32) -> Option<String> {
    let [process] = processes::descendants(supervisor)[..] else {
        return None;
    };
    let mut all = String::new();
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    for (n, task) in tasks.enumerate() {
        if n == MOST {
            return None;
        }
        all += &wait(&task.ok()?.path())?;
    }
    Some(all)
}

fn wait(task: &Path) -> Option<String> {
    let call = std::fs::read_to_string(task.join("syscall")).ok()?;
    if !is_endless(&call) {
        return None;
    }
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let slept = status
        .lines()
        .find(|line| line.starts_with("voluntary_ctxt_switches"))?;
    Some(format!("{} {call} {slept}\n", task.display()))
}

/// Whether a line of `/proc/PID/syscall` is a wait in a futex without a time limit.
fn is_endless(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let number = words.next().and_then(|word| word.parse::<i64>().ok());
    let mut hexadecimal = words.map(|word| i64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(-1));
    let (operation, limit) = (hexadecimal.nth(1), hexadecimal.nth(1));
    let waits = operation.map(|operation| operation as i32 & libc::FUTEX_CMD_MASK);
    number == Some(libc::SYS_futex)
        && matches!(waits, Some(libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET))
        && limit == Some(0)
}

#[cfg(test)]
mod tests {
    use super::is_endless;

    #[test]
    fn waits_without_a_limit_are_told_from_others() {
        // pthread_mutex_lock, pthread_cond_wait, pthread_join.
        assert!(is_endless("202 0x555555558060 0x80 0x2 0x0 0x0 0x0 0x7ffd1 0x7f"));
        assert!(is_endless("202 0x555555558088 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f"));
        assert!(is_endless(
            "202 0x7ffff7d89910 0x109 0x19f5 0x0 0x0 0xffffffff 0x7f 0x7f"
        ));
        // With a time limit; a wake; another call; running.
        assert!(!is_endless(
            "202 0x555555558088 0x189 0x0 0x7ffd2b10 0x0 0xffffffff 0x7f 0x7f"
        ));
        assert!(!is_endless("202 0x555555558088 0x81 0x1 0x0 0x0 0x0 0x7f 0x7f"));
        assert!(!is_endless("230 0x0 0x0 0x7ffd 0x7ffd 0x0 0x0 0x7f 0x7f"));
        assert!(!is_endless("running"));
    }
}
