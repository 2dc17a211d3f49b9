//! The world outside: one `ppoll` over the descriptors of everybody who waits.
//!
//! Threads that wait for something that cannot be polled (file locks, children in general) try again:
//! every 32nd pick, or after a millisecond when nothing else can run.

use crate::held::Held;
use crate::sys::sys;
use crate::thread::NEVER;
use crate::token::scheduler;
use crate::wait::Wait;
use alloc::vec::Vec;

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
            _ => {}
        }
    }
    if timeout == 0 && polled.is_empty() {
        return;
    }
    polled.push(libc::pollfd { fd: crate::signals::event_descriptor(), events: libc::POLLIN, revents: 0 });
    let wait = if retry { timeout.min(RETRY) } else { timeout };
    let time = crate::clock::timespec(wait);
    let time = if wait == NEVER { core::ptr::null() } else { &raw const time };
    // SAFETY: the kernel reads and writes our array.
    unsafe { sys!(libc::SYS_ppoll, polled.as_mut_ptr(), polled.len(), time, 0usize, 8usize) };
    if polled.last().is_some_and(|event| event.revents != 0) {
        crate::signals::clear_event();
    }
    let mut rest = polled.iter();
    for thread in scheduler().threads.iter() {
        if matches!(thread.wait, Wait::Descriptors | Wait::SignalSet(_)) {
            let ready = rest.by_ref().take(thread.descriptors.len()).filter(|p| p.revents != 0).count();
            thread.ready |= ready > 0;
        }
    }
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
