//! The world outside: one `ppoll` over the descriptors of everybody who waits.
//!
//! Threads that wait for something that cannot be polled (file locks, children in general) try again:
//! every 32nd pick, or after a millisecond when nothing else can run.

use crate::held::Held;
use crate::observe;
use crate::sys::sys;
use crate::thread::{NEVER, Thread};
use crate::token::{scheduler, wait};
use crate::wait::{Outcome, Wait};
use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use deadheat_model::{ObjectKind, Operation};
use deadheat_wire::object::{DESCRIPTOR_SIZE, DESCRIPTORS};

/// A word for each descriptor, see `deadheat_wire::object::DESCRIPTORS_NAME`; only its address is used.
#[unsafe(no_mangle)]
static dh_descriptors: [AtomicU64; DESCRIPTORS as usize] = [const { AtomicU64::new(0) }; DESCRIPTORS as usize];

/// A descriptor was closed: its number is another's from now on.
pub fn closed(fd: i32) {
    crate::inside::closed(fd);
    if let Some(word) = dh_descriptors.get(fd as usize) {
        observe::forget(word.as_ptr() as u64, DESCRIPTOR_SIZE);
    }
}

static POLLED: Held<Vec<libc::pollfd>> = Held::new(Vec::new());

/// How long a retry waits when nothing else can run.
const RETRY: u64 = 1_000_000;

/// Marks threads whose descriptors are ready; waits up to `timeout` nanoseconds of real time for one.
pub fn poll(timeout: u64) {
    let polled = POLLED.get();
    polled.clear();
    let mut retry = false;
    for thread in scheduler().threads.iter() {
        match thread.wait {
            Wait::Descriptors | Wait::SignalSet(_) => polled.extend_from_slice(&thread.descriptors),
            Wait::Retry => {
                retry = true;
                thread.ready |= timeout != 0;
            }
            _ => retry |= thread.waits_outside(),
        }
    }
    if timeout == 0 && polled.is_empty() {
        return;
    }
    settle();
    polled.push(libc::pollfd {
        fd: crate::signals::event_descriptor(),
        events: libc::POLLIN,
        revents: 0,
    });
    let wait = if retry { timeout.min(RETRY) } else { timeout };
    let time = crate::clock::timespec(wait);
    let time = if wait == NEVER {
        core::ptr::null()
    } else {
        &raw const time
    };
    // SAFETY: the kernel reads and writes our array.
    unsafe { sys!(libc::SYS_ppoll, polled.as_mut_ptr(), polled.len(), time, 0usize, 8usize) };
    if polled.last().is_some_and(|event| event.revents != 0) {
        crate::signals::clear_event();
    }
    let mut rest = polled.iter();
    for thread in scheduler().threads.iter() {
        if matches!(thread.wait, Wait::Descriptors | Wait::SignalSet(_)) {
            let ready = rest
                .by_ref()
                .take(thread.descriptors.len())
                .filter(|p| p.revents != 0)
                .count();
            thread.ready |= ready > 0;
        }
    }
}

/// Before a look at the world outside: what is to be seen there comes to rest.
pub fn settle() {
    crate::timers::settle();
    crate::peer::settle();
}

/// Lets retrying threads try again.
pub fn retry() {
    for thread in scheduler().threads.iter() {
        thread.ready |= thread.wait == Wait::Retry;
    }
}

/// Whether a descriptor has one of these events now.
pub fn ready(fd: i32, events: i16) -> bool {
    let mut one = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one entry.
    unsafe { sys!(libc::SYS_poll, &raw mut one, 1usize, 0i32) != 0 }
}

/// Whether a call on this descriptor never blocks: it is non-blocking, or no descriptor.
pub fn nonblocking(fd: i32) -> bool {
    // SAFETY: reads flags.
    let flags = unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETFL) };
    flags < 0 || flags as i32 & libc::O_NONBLOCK != 0
}

/// `S_IF…` of a descriptor.
pub fn file_type(fd: i32) -> u32 {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the buffer; zeroed it is valid too.
    unsafe {
        sys!(libc::SYS_fstat, fd, stat.as_mut_ptr());
        stat.assume_init().st_mode & libc::S_IFMT
    }
}

/// How waiting for a descriptor ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// The call will not block.
    Open,
    /// A signal came and its handler does not restart calls.
    Interrupted,
    /// The socket's own time-out ran out.
    TimedOut,
}

/// Waits until a blocking call on the descriptor would not block.
pub fn until_ready(t: &mut Thread, fd: i32, events: i16) -> Gate {
    crate::intercept::cancel::test(t);
    settle();
    if ready(fd, events) || nonblocking(fd) {
        return Gate::Open;
    }
    let deadline = socket_deadline(fd, events);
    loop {
        t.descriptors.clear();
        t.descriptors.push(libc::pollfd { fd, events, revents: 0 });
        let outcome = wait(t, Wait::Descriptors, Operation::External, deadline);
        crate::intercept::cancel::test(t);
        settle();
        if ready(fd, events) {
            return Gate::Open;
        }
        match outcome {
            Outcome::TimedOut => return Gate::TimedOut,
            Outcome::Interrupted if !crate::signals::restarts(t) => return Gate::Interrupted,
            _ => {}
        }
    }
}

/// `SO_RCVTIMEO` or `SO_SNDTIMEO` as a deadline.
fn socket_deadline(fd: i32, events: i16) -> u64 {
    let option = if events == libc::POLLIN {
        libc::SO_RCVTIMEO
    } else {
        libc::SO_SNDTIMEO
    };
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut len = size_of::<libc::timeval>() as u32;
    // SAFETY: the kernel fills the buffer, or fails for what is no socket.
    let status = unsafe {
        sys!(
            libc::SYS_getsockopt,
            fd,
            libc::SOL_SOCKET,
            option,
            &raw mut time,
            &raw mut len
        )
    };
    let span = time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    if status < 0 || span == 0 {
        NEVER
    } else {
        crate::clock::after(span)
    }
}

/// Key of the happens-before edges through a TCP connection, the same for both its ends: a hash of both addresses.
fn connection(fd: i32) -> Option<u64> {
    let end = |call: i64| {
        let mut address = [0u64; 16];
        let mut len = size_of_val(&address) as u32;
        // SAFETY: the kernel fills our buffer.
        let status = unsafe { sys!(call, fd, address.as_mut_ptr(), &raw mut len) };
        let family = address[0] as u16;
        let inet = i32::from(family) == libc::AF_INET || i32::from(family) == libc::AF_INET6;
        let mix = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        (status == 0 && inet).then(|| address.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    };
    let (own, other) = (end(libc::SYS_getsockname)?, end(libc::SYS_getpeername)?);
    Some(own.wrapping_add(other) & ((1 << 61) - 1))
}

/// Whether the run predicts: there an order that only the world outside kept is not taken for one.
fn predicts() -> bool {
    use deadheat_wire::plan::Mode;
    matches!(
        crate::start::mode(),
        Some(Mode::Granules { .. } | Mode::Statements { .. })
    )
}

/// Key of the edges through whatever has no key of its own; its bit is set in all keys.
pub const OTHERS: u64 = 1 << 62;
/// Key of the edges through all message queues of POSIX.
pub const QUEUES: u64 = OTHERS | 1 << 60;

/// `t` is about to do something with this descriptor that others may learn of: it writes, closes, connects.
pub fn tells(t: &Thread, fd: i32) {
    scheduler().told = true;
    if observe::follows_edges()
        && let Some(edge) = edge(fd)
    {
        tells_by(t, edge);
    }
}

/// The same by something that is no descriptor.
pub fn tells_by(t: &Thread, key: u64) {
    scheduler().told = true;
    if observe::follows_edges() {
        observe::release_edge(t.id, ObjectKind::Descriptor, key);
    }
}

/// See [`tells_by`].
pub fn told_by(t: &Thread, key: u64) {
    observe::told(t.id, ObjectKind::Descriptor, Some(key));
}

/// `t` learned something by this descriptor: data, the end of data, a connection, that it is ready.
pub fn told(t: &Thread, fd: i32) {
    let edge = if observe::follows_edges() { edge(fd) } else { None };
    observe::told(t.id, ObjectKind::Descriptor, edge);
}

/// Key of the edges through a file: its locks and what is in it.
pub fn file(fd: i32) -> u64 {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the buffer; zeroed it is valid too.
    let stat = unsafe {
        sys!(libc::SYS_fstat, fd, stat.as_mut_ptr());
        stat.assume_init()
    };
    OTHERS | 1 << 59 | stat.st_ino
}

/// `t` reads or writes what is in a file by `call`. Where pairs are looked for that nothing orders it comes after all
/// that was written there before.
pub fn contents(t: &Thread, fd: i32, writes: bool, call: impl FnOnce() -> isize) -> isize {
    let edge = observe::looks_for_unordered().then(|| file(fd));
    if writes && let Some(edge) = edge {
        observe::release_edge(t.id, ObjectKind::Descriptor, edge);
    }
    let result = call();
    if !writes && let Some(edge) = edge {
        observe::acquire_edge(t.id, ObjectKind::Descriptor, edge);
    }
    result
}

/// Key of the happens-before edges through a descriptor, if it carries any: a pipe's own; one for all
/// sockets and event descriptors, since their other ends cannot be told (more order than there is, never
/// less). Where races are predicted each TCP connection has its own: a client that had one answer before it asked the
/// next thing orders nothing in the program.
fn edge(fd: i32) -> Option<u64> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the buffer; zeroed it is valid too.
    let stat = unsafe {
        sys!(libc::SYS_fstat, fd, stat.as_mut_ptr());
        stat.assume_init()
    };
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Some(OTHERS | stat.st_ino),
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK | libc::S_IFCHR => None,
        libc::S_IFSOCK if predicts() => Some(connection(fd).map_or(OTHERS, |key| OTHERS | 1 << 61 | key)),
        _ => Some(OTHERS),
    }
}
