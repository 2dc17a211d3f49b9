//! Measuring when functions run: entries and exits of all functions, told to `deadheat_detect::FunctionInstances`.
//!
//! Each thread has a shadow stack of the functions that it is in. The usual entry pushes a frame and the usual exit
//! pops one, in a few instructions before any register is saved: the running thread's state is known, and at the exit
//! nothing has happened to it since the entry, and this site has seen that state before. Everything else takes the
//! way of other sites.
//!
//! A frame holds the stack pointer at entry. A function that is left by an exception or `longjmp` passes no exit; its
//! frame is found out by a later entry or exit at or above it, and ends then. A function that calls another in its own
//! place (`musttail`) passes its exit before. Code on another stack than its thread's (a handler's alternate stack,
//! coroutines) may end frames too early, or late.
//!
//! The journal of points passed without a decision stays closed, since each lock changes the state.

use crate::held::Held;
use crate::site::{FunctionSite, Site, reached};
use crate::thread::Frame as CodeFrame;
use crate::{observe, report, token};
use alloc::vec::Vec;
use core::arch::global_asm;
use core::mem::{offset_of, size_of};
use deadheat_detect::{Ended, Entered, FunctionInstances, Limits};
use deadheat_model::{SiteId, SiteKind, ThreadId};
use deadheat_wire::record::{Functions, Record};

/// A function that a thread is in.
#[repr(C)]
#[derive(Clone, Copy)]
struct Frame {
    /// Stack pointer at entry.
    stack: u64,
    /// The thread's events by then.
    events: u64,
    now: Now,
    function: u32,
}

/// What a frame takes from the present.
#[repr(C)]
#[derive(Clone, Copy)]
struct Now {
    takings: u64,
    entered: Entered,
}

/// The entry copies [`Now`] as three words.
const _: () = assert!(size_of::<Now>() == 24 && size_of::<Frame>() == 48);

/// The running thread's part.
#[repr(C)]
struct Running {
    /// Its record; 1 while none is measured.
    thread: u64,
    /// Behind its last frame.
    top: *mut Frame,
    /// End of the room for frames.
    limit: *mut Frame,
    /// Counts whatever changes its state.
    events: u64,
    /// Its present state; number 0 while it is not known.
    now: Now,
}

/// A thread that does not run.
struct Thread {
    frames: Vec<Frame>,
    used: usize,
    events: u64,
}

struct Measuring {
    entries: Vec<SiteId>,
    threads: Vec<Thread>,
    running: Option<ThreadId>,
    instances: FunctionInstances,
}

static RUNNING: Held<Running> = Held::new(Running {
    thread: 1,
    top: core::ptr::null_mut(),
    limit: core::ptr::null_mut(),
    events: 0,
    now: UNKNOWN,
});

const UNKNOWN: Now = Now {
    takings: 0,
    entered: Entered::UNKNOWN,
};

static MEASURING: Held<Option<Measuring>> = Held::new(None);

/// Frames that a thread has room for at first.
const ROOM: usize = 256;
/// Below all others; never at or below a stack pointer.
const BOTTOM: Frame = Frame {
    stack: u64::MAX,
    events: 0,
    now: UNKNOWN,
    function: u32::MAX,
};

global_asm!(
    ".pushsection .text.dh_function,\"ax\",@progbits",
    ".globl dh_function_entry, dh_function_exit",
    ".hidden dh_function_entry, dh_function_exit",
    ".type dh_function_entry,@function",
    ".type dh_function_exit,@function",
    ".balign 16",
    "dh_function_entry:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 160",
    "mov rsi, [rip + dh_tls@GOTTPOFF]",
    "mov rsi, fs:[rsi]",
    "cmp rsi, [rip + {running} + {thread}]",
    "jne dh_site_slow",
    "mov rdi, [rip + {running} + {top}]",
    "cmp rdi, [rip + {running} + {limit}]",
    "jae dh_site_slow",
    "cmp dword ptr [rip + {running} + {state}], 0",
    "je dh_site_slow",
    "lea rsi, [rsp + 160]",
    "cmp [rdi - {size} + {stack}], rsi",
    "jbe dh_site_slow",
    "mov [rdi + {stack}], rsi",
    "mov rsi, [rip + {running} + {events}]",
    "mov [rdi + {events_at}], rsi",
    "mov rsi, [rip + {running} + {now}]",
    "mov [rdi + {now_at}], rsi",
    "mov rsi, [rip + {running} + {now} + 8]",
    "mov [rdi + {now_at} + 8], rsi",
    "mov rsi, [rip + {running} + {now} + 16]",
    "mov [rdi + {now_at} + 16], rsi",
    "mov esi, [rdx + {function}]",
    "mov [rdi + {function_at}], esi",
    "add qword ptr [rip + {running} + {top}], {size}",
    "ret",
    ".cfi_endproc",
    ".size dh_function_entry, . - dh_function_entry",
    ".balign 16",
    "dh_function_exit:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 160",
    "mov rsi, [rip + dh_tls@GOTTPOFF]",
    "mov rsi, fs:[rsi]",
    "cmp rsi, [rip + {running} + {thread}]",
    "jne dh_site_slow",
    "mov rdi, [rip + {running} + {top}]",
    "sub rdi, {size}",
    "mov esi, [rdx + {function}]",
    "cmp [rdi + {function_at}], esi",
    "jne dh_site_slow",
    "lea rsi, [rsp + 160]",
    "cmp [rdi + {stack}], rsi",
    "jb dh_site_slow",
    "mov rsi, [rip + {running} + {events}]",
    "cmp [rdi + {events_at}], rsi",
    "jne dh_site_slow",
    "mov esi, [rdi + {now_at} + {state_in_now}]",
    "cmp esi, [rdx + {seen}]",
    "jne dh_site_slow",
    "mov [rip + {running} + {top}], rdi",
    "ret",
    ".cfi_endproc",
    ".size dh_function_exit, . - dh_function_exit",
    ".popsection",
    running = sym RUNNING,
    thread = const offset_of!(Running, thread),
    top = const offset_of!(Running, top),
    limit = const offset_of!(Running, limit),
    events = const offset_of!(Running, events),
    now = const offset_of!(Running, now),
    state = const offset_of!(Running, now) + offset_of!(Now, entered) + offset_of!(Entered, state),
    state_in_now = const offset_of!(Now, entered) + offset_of!(Entered, state),
    size = const size_of::<Frame>(),
    stack = const offset_of!(Frame, stack),
    events_at = const offset_of!(Frame, events),
    now_at = const offset_of!(Frame, now),
    function_at = const offset_of!(Frame, function),
    function = const offset_of!(FunctionSite, function),
    seen = const offset_of!(FunctionSite, seen),
);

unsafe extern "C" {
    fn dh_function_entry();
    fn dh_function_exit();
}

/// Addresses of what stubs of entries and of exits call.
pub fn handlers() -> [u64; 2] {
    [
        dh_function_entry as *const () as u64,
        dh_function_exit as *const () as u64,
    ]
}

/// Begins measuring.
pub fn start() {
    *MEASURING.get() = Some(Measuring {
        entries: Vec::new(),
        threads: Vec::new(),
        running: None,
        instances: FunctionInstances::new(Limits::default()),
    });
}

/// Whether functions are measured.
#[inline]
pub fn on() -> bool {
    MEASURING.get().is_some()
}

/// The number of a function that has not got one.
pub fn number(entry: SiteId) -> u32 {
    let Some(measuring) = MEASURING.get() else { return 0 };
    measuring.entries.push(entry);
    measuring.entries.len() as u32 - 1
}

/// Something changed that a state consists of.
#[inline]
pub fn changed() {
    let running = RUNNING.get();
    running.events += 1;
    running.now.entered.state = 0;
}

/// This thread runs now.
pub fn switched(to: ThreadId) {
    let Some(measuring) = MEASURING.get() else { return };
    let running = RUNNING.get();
    changed();
    reached::switched(to);
    if measuring.running == Some(to) {
        // The thread's record may be known only now.
        running.thread = token::thread(to).map_or(1, |t| &raw const *t as u64);
        return;
    }
    measuring.put_away(running);
    if measuring.threads.len() <= to.index() {
        measuring.threads.resize_with(to.index() + 1, Thread::new);
    }
    let thread = &mut measuring.threads[to.index()];
    // SAFETY: within the vector's room, or just behind it.
    unsafe {
        let start = thread.frames.as_mut_ptr();
        running.top = start.add(thread.used);
        running.limit = start.add(thread.frames.len());
    }
    running.events = thread.events + 1;
    running.thread = token::thread(to).map_or(1, |t| &raw const *t as u64);
    measuring.running = Some(to);
}

impl Thread {
    fn new() -> Thread {
        Thread {
            frames: alloc::vec![BOTTOM; ROOM],
            used: 1,
            events: 0,
        }
    }
}

impl Measuring {
    /// Writes back what the running thread has on its shadow stack.
    fn put_away(&mut self, running: &Running) {
        let Some(of) = self.running else { return };
        if let Some(thread) = self.threads.get_mut(of.index()) {
            // SAFETY: both point into the thread's frames.
            thread.used = unsafe { running.top.offset_from(thread.frames.as_ptr()) } as usize;
            thread.events = running.events;
        }
    }

    /// The running thread's last frame ends.
    fn pop(&mut self, running: &mut Running, thread: ThreadId) -> Frame {
        // SAFETY: callers have looked at the frame, which is not the bottom.
        let frame = unsafe {
            running.top = running.top.sub(1);
            *running.top
        };
        self.end(running.events == frame.events, thread, &frame);
        frame
    }

    fn end(&mut self, unchanged: bool, thread: ThreadId, frame: &Frame) {
        let ended = Ended {
            thread,
            function: frame.function,
            entered: frame.now.entered,
            takings: frame.now.takings,
        };
        match observe::clocks() {
            Some(clocks) if !unchanged => self.instances.ended(clocks, ended),
            _ => self.instances.ended_unchanged(ended),
        }
    }

    /// Makes room for more frames of the running thread.
    fn grow(&mut self, running: &mut Running, of: ThreadId) {
        self.put_away(running);
        let Some(thread) = self.threads.get_mut(of.index()) else {
            return;
        };
        let more = thread.frames.len() * 2;
        thread.frames.resize(more, BOTTOM);
        // SAFETY: within the vector's room.
        unsafe {
            let start = thread.frames.as_mut_ptr();
            running.top = start.add(thread.used);
            running.limit = start.add(thread.frames.len());
        }
    }
}

/// The frame on top.
fn last(running: &Running) -> Frame {
    // SAFETY: there is always the bottom.
    unsafe { *running.top.sub(1) }
}

/// The running thread enters or leaves a function, and the short way is not enough.
pub fn at_site(site: &Site, thread: ThreadId, frame: &CodeFrame) {
    let Some(measuring) = MEASURING.get() else { return };
    if measuring.running != Some(thread) {
        switched(thread);
    }
    let running = RUNNING.get();
    let row = (&raw const *site).cast_mut().cast::<FunctionSite>();
    // SAFETY: sites of these kinds are switched on by `site::functions` alone, as the first field of a leaked
    // `FunctionSite`; nobody else refers to its last word.
    let function = unsafe { (*row).function };
    if site.kind == SiteKind::Entry {
        while last(running).stack <= frame.stack {
            measuring.pop(running, thread);
        }
        if running.top >= running.limit {
            measuring.grow(running, thread);
        }
        if let Some(clocks) = observe::clocks()
            && running.now.entered.state == 0
        {
            running.now = Now {
                takings: clocks.takings(thread),
                entered: measuring.instances.entered(clocks, thread),
            };
        }
        // SAFETY: there is room for one.
        unsafe {
            *running.top = Frame {
                stack: frame.stack,
                events: running.events,
                now: running.now,
                function,
            };
            running.top = running.top.add(1);
        }
        return;
    }
    while last(running).stack < frame.stack {
        measuring.pop(running, thread);
    }
    // What it left behind of its callees, if it is on the stack at all.
    // SAFETY: the frames of the thread, the bottom first.
    let known = unsafe {
        let thread = &measuring.threads[thread.index()];
        let used = running.top.offset_from(thread.frames.as_ptr()) as usize;
        core::slice::from_raw_parts(thread.frames.as_ptr(), used)
    };
    let Some(at) = known.iter().rposition(|f| f.function == function) else {
        return;
    };
    for _ in at..known.len() {
        let frame = measuring.pop(running, thread);
        if frame.function == function && frame.events == running.events {
            // SAFETY: as above.
            unsafe { (*row).seen = frame.now.entered.state };
        }
    }
}

/// The thread ran its last code.
pub fn thread_ended(thread: ThreadId) {
    let Some(measuring) = MEASURING.get() else { return };
    if measuring.running == Some(thread) {
        measuring.put_away(RUNNING.get());
        RUNNING.get().thread = 1;
        measuring.running = None;
    }
    measuring.leave(thread);
}

impl Measuring {
    /// All functions that the thread is in end.
    fn leave(&mut self, thread: ThreadId) {
        let Some(of) = self.threads.get_mut(thread.index()) else {
            return;
        };
        let used = core::mem::replace(&mut of.used, 1);
        let frames = core::mem::take(&mut of.frames);
        for frame in frames[1..used].iter().rev() {
            self.end(false, thread, frame);
        }
        self.threads[thread.index()].frames = alloc::vec![BOTTOM; 1];
    }
}

/// A thread is going to be created.
pub fn creates() {
    if on() {
        reached::begin();
    }
}

/// The run ends, with all threads where they are.
pub fn finish() {
    reached::finish();
    let running = RUNNING.get();
    let Some(mut measuring) = MEASURING.get().take() else {
        return;
    };
    measuring.put_away(running);
    running.thread = 1;
    for thread in 0..measuring.threads.len() as u32 {
        measuring.leave(ThreadId(thread));
    }
    if let Some(clocks) = observe::clocks() {
        report::write(&Record::Functions(Functions {
            entries: measuring.entries,
            spans: measuring.instances.grouped(clocks),
        }));
    }
}
