//! One processor for a controlled process. Its threads run one at a time, and handing the turn to a thread on another
//! processor takes an interrupt there: on the same one it takes half the time and less.
//!
//! The program does not see it. Who asks for the processors of a thread is told what the process was started with, and
//! programs and processes that it starts get that. Before the program sets any thread's processors all threads get them
//! back ([`release`]), and the process is as any other from then on: no mask has to be made up. So it is when the
//! processor has much other work: the process may move then.

use crate::held::Held;
use crate::sys::{getpid, sys};
use core::arch::x86_64::_rdtsc;

/// Processors that fit into a mask: 1,024, as in the C library's.
const WORDS: usize = 16;
/// A mask of processors.
pub type Mask = [u64; WORDS];

struct Pinned {
    /// What the process was started with.
    all: Mask,
    /// The one that it runs on.
    one: Mask,
    /// When it was last looked at how much of the processor the process gets.
    looked: Times,
}

/// Ticks of the processor's clock, about a tenth of a second, after which that is looked at again.
const LOOK: u64 = 1 << 28;

#[derive(Clone, Copy)]
struct Times {
    ticks: u64,
    passed: u64,
    used: u64,
}

impl Times {
    fn now() -> Times {
        let nanoseconds = |clock: i32| {
            let mut time = [0u64; 2];
            // SAFETY: a buffer of ours.
            unsafe { sys!(libc::SYS_clock_gettime, clock, time.as_mut_ptr()) };
            time[0] * 1_000_000_000 + time[1]
        };
        Times {
            // SAFETY: reads a counter.
            ticks: unsafe { _rdtsc() },
            passed: nanoseconds(libc::CLOCK_MONOTONIC),
            used: nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID),
        }
    }
}

static PINNED: Held<Option<Pinned>> = Held::new(None);

/// The processors of a thread, 0 for the calling one.
fn of(thread: i32) -> Option<Mask> {
    let mut mask = [0; WORDS];
    // SAFETY: a buffer of ours.
    let got = unsafe {
        sys!(
            libc::SYS_sched_getaffinity,
            thread,
            size_of::<Mask>(),
            mask.as_mut_ptr()
        )
    };
    (got > 0).then_some(mask)
}

fn set(thread: i32, mask: &Mask) -> bool {
    // SAFETY: a buffer of ours.
    unsafe { sys!(libc::SYS_sched_setaffinity, thread, size_of::<Mask>(), mask.as_ptr()) == 0 }
}

/// Keeps the process, which has one thread yet, on the processor that the kernel chose for it.
pub fn start() {
    let Some(all) = of(0) else { return };
    let mut at = 0u32;
    // SAFETY: a buffer of ours.
    let got = unsafe { sys!(libc::SYS_getcpu, &raw mut at, 0usize, 0usize) };
    let mut one = [0; WORDS];
    if got < 0 || at as usize >= WORDS * 64 {
        return;
    }
    one[at as usize / 64] = 1 << (at % 64);
    if all != one && set(0, &one) {
        let looked = Times::now();
        *PINNED.get() = Some(Pinned { all, one, looked });
    }
}

/// A process that was forked runs beside its parent.
pub fn forked() {
    if let Some(pinned) = PINNED.get().take() {
        set(0, &pinned.all);
    }
}

/// All threads get back what the process was started with.
pub fn release() {
    let Some(pinned) = PINNED.get().take() else { return };
    threads(|thread| {
        set(thread, &pinned.all);
    });
}

/// Releases the process if it gets too little of its processor.
#[inline]
pub fn look() {
    // SAFETY: reads a counter.
    let ticks = unsafe { _rdtsc() };
    if let Some(pinned) = PINNED.get()
        && ticks.wrapping_sub(pinned.looked.ticks) > LOOK
    {
        look_closely(pinned);
    }
}

#[cold]
fn look_closely(pinned: &mut Pinned) {
    let now = Times::now();
    let before = core::mem::replace(&mut pinned.looked, now);
    let (passed, used) = (now.passed - before.passed, now.used - before.used);
    if used < passed / 4 * 3 {
        release();
    }
}

/// Makes a call that starts another program, which gets the processors that this one was started with.
pub fn lent<T>(call: impl FnOnce() -> T) -> T {
    let Some(all) = PINNED.get().as_ref().map(|pinned| pinned.all) else {
        return call();
    };
    set(0, &all);
    let result = call();
    if let Some(pinned) = PINNED.get() {
        set(0, &pinned.one);
    }
    result
}

/// What a thread of this process (0: the calling one) is to be told, if its processors are not the kernel's answer.
pub fn told(thread: i32, answer: &[u8]) -> Option<Mask> {
    let pinned = PINNED.get().as_ref()?;
    let size = answer.len().min(size_of::<Mask>());
    let is_one = answer[..size] == pinned.one.map(u64::to_le_bytes).as_flattened()[..size];
    // SAFETY: asks whether there is such a thread.
    let own = || thread == 0 || unsafe { sys!(libc::SYS_tgkill, getpid(), thread, 0i32) } == 0;
    (is_one && own()).then_some(pinned.all)
}

/// Calls a function with each thread's kernel id.
fn threads(mut each: impl FnMut(i32)) {
    /// Offsets of a directory entry's length and name.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut buffer = [0u8; 4096];
    // SAFETY: a path with its end, a buffer of ours, and entries as the kernel writes them.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let directory = sys!(libc::SYS_open, c"/proc/self/task".as_ptr(), flags, 0i32);
        if directory < 0 {
            return;
        }
        loop {
            let got = sys!(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), buffer.len());
            let Some(entries) = usize::try_from(got).ok().filter(|got| *got > 0) else {
                break;
            };
            let mut at = 0;
            while at + NAME < entries {
                let name = buffer[at + NAME..entries].iter().take_while(|b| b.is_ascii_digit());
                let number = name.fold(0, |n: i32, digit| n.wrapping_mul(10) + i32::from(digit - b'0'));
                if number > 0 {
                    each(number);
                }
                at += usize::from(u16::from_le_bytes([buffer[at + LENGTH], buffer[at + LENGTH + 1]]).max(1));
            }
        }
        sys!(libc::SYS_close, directory);
    }
}
