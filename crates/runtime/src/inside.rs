//! Descriptors that nobody outside the run can make ready.
//!
//! An event loop that waits for its own eventfd, pipe or connection, with a time limit, waits for the run itself: when no
//! thread can run, time goes to the next deadline, as it does for sleepers, instead of passing in real time; other
//! processes of the run come to rest before ([`crate::family`]). A descriptor counts as inside if this process made it, by a
//! call that we see, or had it from its parent that did; what an `exec` left open does not, nor what was there when
//! descriptors were sent to somebody. Connections over IP are inside where the run has a network of its own; while the
//! kernel has something of them on its way (it holds back small segments, for up to [`IN_FLIGHT`]), it is waited for in
//! real time first.

use crate::report;
use crate::sys::sys;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use deadheat_wire::channel::OWN_NETWORK_AT;
use deadheat_wire::object::DESCRIPTORS;

/// What a descriptor is that was made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Not known, or somebody outside may have it too.
    Unknown,
    /// An eventfd, an end of a pipe or of a pair of sockets.
    Own,
    /// A set of others.
    Epoll,
}

/// How long what is on its way inside the kernel is waited for, nanoseconds: more than delayed acknowledgements take.
const IN_FLIGHT: u64 = 60_000_000;
/// Sets within sets that are looked into.
const DEEPEST: u32 = 4;
/// Bytes of a set's description that are read.
const LONGEST: usize = 1 << 18;
/// How long code that nobody watches is waited for, nanoseconds: it may have asked the kernel to write (`io_submit`).
const UNSEEN_CODE: u64 = 1_000_000;

static KINDS: [AtomicU8; DESCRIPTORS as usize] = [const { AtomicU8::new(0) }; DESCRIPTORS as usize];
/// There is code whose system calls are not seen.
static UNSEEN: AtomicBool = AtomicBool::new(false);

/// A call made this descriptor.
pub fn made(fd: i32, kind: Kind) {
    if let Some(entry) = usize::try_from(fd).ok().and_then(|fd| KINDS.get(fd)) {
        entry.store(kind as u8, Relaxed);
    }
}

/// A descriptor is another's copy.
pub fn copied(from: i32, to: i32) {
    if to >= 0 {
        made(to, kind(from));
    }
}

/// A descriptor was closed.
pub fn closed(fd: i32) {
    if let Some(entry) = usize::try_from(fd).ok().and_then(|fd| KINDS.get(fd)) {
        entry.store(Kind::Unknown as u8, Relaxed);
    }
}

/// Somebody outside may have copies of all descriptors from now on.
pub fn shared() {
    KINDS.iter().for_each(|entry| entry.store(Kind::Unknown as u8, Relaxed));
}

/// There is code whose system calls are not seen.
pub fn unseen_code() {
    UNSEEN.store(true, Relaxed);
}

fn kind(fd: i32) -> Kind {
    let entry = usize::try_from(fd).ok().and_then(|fd| KINDS.get(fd));
    match entry.map_or(0, |entry| entry.load(Relaxed)) {
        1 => Kind::Own,
        2 => Kind::Epoll,
        _ => Kind::Unknown,
    }
}

/// What may wake those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Processes of the run, by descriptors that hold back nothing.
    Run,
    /// The same, also by connections over IP.
    Network,
    /// The world outside.
    Outside,
}

/// What may make one of these ready.
pub fn reach(polled: &[libc::pollfd]) -> Reach {
    let reach = polled.iter().map(|p| reach_of(p.fd, 0)).max();
    reach.unwrap_or(Reach::Run)
}

/// Nanoseconds for which something may be on its way.
pub fn on_its_way(reach: Reach) -> u64 {
    if reach == Reach::Network && in_flight() {
        IN_FLIGHT
    } else if UNSEEN.load(Relaxed) {
        UNSEEN_CODE
    } else {
        0
    }
}

fn reach_of(fd: i32, depth: u32) -> Reach {
    // The kernel does not look at a descriptor less than 0.
    if fd < 0 || crate::timers::of_descriptor(fd).is_some() {
        return Reach::Run;
    }
    match kind(fd) {
        Kind::Own => Reach::Run,
        Kind::Epoll if depth < DEEPEST => match members(fd) {
            Some(members) => members.map(|fd| reach_of(fd, depth + 1)).max().unwrap_or(Reach::Run),
            None => Reach::Outside,
        },
        Kind::Unknown if is_internet(fd) && own_network() && !connects(fd) => Reach::Network,
        Kind::Unknown | Kind::Epoll => Reach::Outside,
    }
}

fn own_network() -> bool {
    report::header(OWN_NETWORK_AT).is_some_and(|own| own.load(Relaxed) == 1)
}

/// Whether this is a socket of IP. The three first descriptors are the tool's.
fn is_internet(fd: i32) -> bool {
    let (mut domain, mut size) = (0i32, 4u32);
    // SAFETY: a buffer of the size that is said.
    let failed = unsafe {
        sys!(
            libc::SYS_getsockopt,
            fd,
            libc::SOL_SOCKET,
            libc::SO_DOMAIN,
            &raw mut domain,
            &raw mut size
        )
    };
    fd > 2 && failed == 0 && matches!(domain, libc::AF_INET | libc::AF_INET6)
}

/// Whether a connection is being made: what the kernel tries again, it does by its own clock.
fn connects(fd: i32) -> bool {
    const SYN_SENT: u8 = 2;
    let (mut state, mut size) = (0u8, 1u32);
    // SAFETY: a buffer of the size that is said; of `TCP_INFO` the first byte is the state.
    let failed = unsafe {
        sys!(
            libc::SYS_getsockopt,
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            &raw mut state,
            &raw mut size
        )
    };
    failed == 0 && state == SYN_SENT
}

/// Whether the kernel has something of our connections that the other end did not confirm.
fn in_flight() -> bool {
    let unconfirmed = |fd: i32| {
        let mut bytes = 0i32;
        // SAFETY: a word of ours. Fails for sockets that listen.
        unsafe { sys!(libc::SYS_ioctl, fd, libc::TIOCOUTQ, &raw mut bytes) == 0 && bytes > 0 }
    };
    let own = crate::rest::numbers_in("/proc/self/fd\0");
    own.into_iter()
        .any(|fd| is_internet(fd as i32) && unconfirmed(fd as i32))
}

/// The descriptors in a set; none if it cannot be told.
fn members(epoll: i32) -> Option<impl Iterator<Item = i32>> {
    let text = read(&alloc::format!("/proc/self/fdinfo/{epoll}\0"))?;
    let number = |line: &[u8]| {
        let digits = line.strip_prefix(b"tfd:")?.trim_ascii_start();
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        Some(digits.fold(0i32, |n, digit| n * 10 + i32::from(digit - b'0')))
    };
    let members: Vec<i32> = text.split(|byte| *byte == b'\n').filter_map(number).collect();
    Some(members.into_iter())
}

/// A file of `/proc`; none if it cannot be read or is too long. The path ends in NUL.
fn read(path: &str) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut buffer = [0u8; 4096];
    // SAFETY: plain file calls on our own buffer.
    unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0i32) as i32;
        if fd < 0 {
            return None;
        }
        let mut got = 1;
        while got > 0 && text.len() < LONGEST {
            got = sys!(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len());
            text.extend_from_slice(buffer.get(..got.max(0) as usize).unwrap_or_default());
        }
        sys!(libc::SYS_close, fd);
        (got == 0).then_some(text)
    }
}
