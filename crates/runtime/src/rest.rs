//! How the tasks of other processes rest, by the kernel's tables (`/proc`).
//!
//! Cost: two or three small files for each task, each time somebody looks.

use crate::sys::sys;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// How a task rests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rest {
    /// For something that others do.
    Waits,
    /// For time.
    Sleeps,
    /// Not at all.
    Runs,
}

/// The process is gone, or only its parent has not asked yet how it ended.
pub fn is_gone(pid: u32) -> bool {
    matches!(state(&format!("/proc/{pid}")), None | Some(b'Z' | b'X'))
}

/// Tasks of a process, ascending; none if it is gone.
pub fn tasks(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task\0"))
}

/// How one task of a process rests, and how often it ran so far. A wait with a time limit is one for time only if
/// `limits` says so.
pub fn task(pid: u32, id: u32, limits: bool) -> (Rest, u64) {
    let place = format!("/proc/{pid}/task/{id}");
    let rest = rests(&place, limits);
    let ran = text(&format!("{place}/schedstat\0"));
    let slices = ran.split_ascii_whitespace().nth(2).and_then(|n| n.parse().ok());
    (rest, slices.unwrap_or(0))
}

/// Children that one task of a process made.
pub fn children(pid: u32, id: u32) -> Vec<u32> {
    let children = text(&format!("/proc/{pid}/task/{id}/children\0"));
    children
        .split_ascii_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect()
}

fn state(place: &str) -> Option<u8> {
    let stat = text(&format!("{place}/stat\0"));
    stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0])
}

fn rests(place: &str, limits: bool) -> Rest {
    match state(place) {
        Some(b'S') => {}
        Some(b'Z' | b'X') => return Rest::Waits,
        _ => return Rest::Runs,
    }
    // The number of the system call and its arguments, or a word if it has just woken. Not every user may read it.
    let call = text(&format!("{place}/syscall\0"));
    let mut words = call.split_ascii_whitespace();
    match words.next() {
        Some("running") => Rest::Runs,
        Some(number) => match number.parse() {
            Ok(libc::SYS_nanosleep | libc::SYS_clock_nanosleep) => Rest::Sleeps,
            Ok(number) if limits && has_limit(number, words) => Rest::Sleeps,
            _ => Rest::Waits,
        },
        None => Rest::Waits,
    }
}

/// Whether a system call with these arguments waits no longer than for a time.
fn has_limit<'a>(number: i64, arguments: impl Iterator<Item = &'a str>) -> bool {
    let mut given = [0u64; 6];
    for (to, word) in given.iter_mut().zip(arguments) {
        *to = u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
    }
    match number {
        libc::SYS_poll => given[2] as i32 >= 0,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => given[3] as i32 >= 0,
        libc::SYS_ppoll | libc::SYS_rt_sigtimedwait => given[2] != 0,
        libc::SYS_select | libc::SYS_pselect6 => given[4] != 0,
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => given[3] != 0,
        libc::SYS_futex => {
            let operation = given[1] as i32 & libc::FUTEX_CMD_MASK;
            matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) && given[3] != 0
        }
        libc::SYS_mq_timedreceive | libc::SYS_mq_timedsend => given[4] != 0,
        _ => false,
    }
}

/// A small file of `/proc`; empty if it cannot be read. The path ends in NUL.
fn text(path: &str) -> String {
    let mut buffer = [0u8; 4096];
    // SAFETY: plain file calls on our own buffer.
    let got = unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0i32) as i32;
        if fd < 0 {
            return String::new();
        }
        let got = sys!(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len());
        sys!(libc::SYS_close, fd);
        got
    };
    let bytes = buffer.get(..got.max(0) as usize).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// The entries of a directory that are numbers, ascending. The path ends in NUL.
pub fn numbers_in(path: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut buffer = [0u64; 1024];
    // SAFETY: the kernel fills our buffer with entries, each of which says how long it is and ends in a C string.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let fd = sys!(libc::SYS_open, path.as_ptr(), flags, 0i32) as i32;
        if fd < 0 {
            return found;
        }
        loop {
            let got = sys!(libc::SYS_getdents64, fd, buffer.as_mut_ptr(), size_of_val(&buffer));
            if got <= 0 {
                break;
            }
            let start = buffer.as_ptr().cast::<u8>();
            let mut at = 0;
            while at < got as usize {
                let entry = start.add(at);
                let name = crate::bytes::c_string(entry.add(19).cast());
                let number = core::str::from_utf8(name).ok().and_then(|n| n.parse::<u32>().ok());
                found.extend(number);
                at += usize::from(entry.add(16).cast::<u16>().read_unaligned()).max(1);
            }
        }
        sys!(libc::SYS_close, fd);
    }
    found.sort_unstable();
    found
}
