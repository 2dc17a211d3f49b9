//! Asynchronous signals: recorded when they come, handled at scheduling points.
//!
//! `sigaction` puts a recorder in the kernel (pending bit, siginfo, an eventfd that wakes the poll); the
//! program's handler runs at a scheduling point, with the token, in the lowest-numbered thread that does
//! not block it. Signals that a thread sends to itself or to its process never reach the kernel.

use crate::descriptors::{OTHERS, tells_by, told_by};
use crate::held::Held;
use crate::real::real;
use crate::sys::{errno, getpid, set_errno, sys};
use crate::thread::{Frame, Thread};
use crate::token::scheduler;
use crate::trail::Event;
use crate::wait::Wait;
use crate::{ending, switching};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::*};
use deadheat_model::ThreadId;

/// The program's idea of a handler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handler {
    /// Address, `SIG_DFL` or `SIG_IGN`.
    pub address: usize,
    /// Signals blocked while it runs.
    pub mask: u64,
    /// `SA_*`.
    pub flags: i32,
}

const DEFAULT: Handler = Handler {
    address: libc::SIG_DFL,
    mask: 0,
    flags: 0,
};

/// A `siginfo_t`, in words.
type Info = [u64; 16];

/// A signal that a thread sent within the process, and what comes with it.
struct Sent {
    /// The thread that it is for; none if it is for the process.
    to: Option<ThreadId>,
    signal: i32,
    info: Info,
}

/// The first of the signals that are queued: each is delivered as often as it was sent.
const FIRST_QUEUED: i32 = 34;

struct Signals {
    handlers: [Handler; 65],
    /// What came with the last of each that the kernel delivered.
    infos: [Info; 65],
    /// Those that are pending, in order.
    sent: Vec<Sent>,
    /// Pending for the process: every thread blocks them.
    process: u64,
    /// Read from descriptors.
    watched: u64,
    installed: bool,
}

static SIGNALS: Held<Signals> = Held::new(Signals {
    handlers: [DEFAULT; 65],
    infos: [[0; 16]; 65],
    sent: Vec::new(),
    process: 0,
    watched: 0,
    installed: false,
});
/// Came from the kernel, not yet looked at.
static ARRIVED: AtomicU64 = AtomicU64::new(0);
static EVENT: AtomicI32 = AtomicI32::new(-1);
/// SIGTERM is recorded though its action is the default.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Bit of a signal in a set.
pub fn bit(signal: i32) -> u64 {
    1u64.checked_shl(signal as u32 - 1).unwrap_or(0)
}

/// Descriptor that becomes readable when a signal is recorded; -1 while no handler is installed.
pub fn event_descriptor() -> i32 {
    EVENT.load(Relaxed)
}

/// Makes the event descriptor, out of the way of the program's numbers.
fn open_event() {
    // SAFETY: plain descriptor calls.
    unsafe {
        let flags = libc::EFD_NONBLOCK | libc::EFD_CLOEXEC;
        let fd = sys!(libc::SYS_eventfd2, 0i32, flags) as i32;
        let mut limit = libc::rlimit {
            rlim_cur: 256,
            rlim_max: 256,
        };
        sys!(libc::SYS_prlimit64, 0i32, libc::RLIMIT_NOFILE, 0usize, &raw mut limit);
        let wanted = limit.rlim_cur.min(1024).saturating_sub(16);
        let high = sys!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, wanted) as i32;
        if high >= 0 {
            sys!(libc::SYS_close, fd);
        }
        EVENT.store(if high >= 0 { high } else { fd }, Relaxed);
    }
}

/// Empties the event descriptor.
pub fn clear_event() {
    let mut count = 0u64;
    // SAFETY: eight bytes.
    let got = unsafe { sys!(libc::SYS_read, event_descriptor(), &raw mut count, 8usize) };
    if got == -(libc::EBADF as isize) {
        // The program closed every descriptor it did not know.
        open_event();
    }
}

/// The recorder. Runs on any kernel thread at any time, also while its thread runs elsewhere: it touches nothing of the
/// thread's, `errno` neither.
extern "C" fn recorder(signal: i32, info: *const c_void, _: *const c_void) {
    if !info.is_null() {
        // SAFETY: a siginfo has 128 bytes; the slot is written by one signal at a time.
        unsafe { SIGNALS.get().infos[signal as usize] = *(info as *const Info) };
    }
    ARRIVED.fetch_or(bit(signal), AcqRel);
    crate::journal::signal_came();
    let one = 1u64;
    // SAFETY: eight bytes.
    unsafe { sys!(libc::SYS_write, event_descriptor(), &raw const one, 8usize) };
}

/// Whether a signal came that was not yet looked at, or the timer went off.
#[inline]
pub fn arrived() -> bool {
    ARRIVED.load(Relaxed) != 0
        || crate::timers::signal_deadline().min(crate::timers::work_deadline()) <= crate::clock::now()
}

/// Whether a signal came that was not yet looked at.
#[inline(always)]
pub fn came() -> bool {
    ARRIVED.load(Relaxed) != 0
}

/// Whether a handler is installed that the outside may set off.
pub fn may_come() -> bool {
    SIGNALS.get().installed
}

/// Directs what came to threads.
pub fn collect() {
    let mut came = ARRIVED.swap(0, AcqRel);
    if crate::clock::timer_fired() {
        came |= bit(libc::SIGALRM);
    }
    crate::timers::send_signals();
    let signals = SIGNALS.get();
    came |= core::mem::take(&mut signals.process);
    while came != 0 {
        let signal = came.trailing_zeros() as i32 + 1;
        came &= came - 1;
        post(signal);
    }
}

/// Who takes a signal that is for the process.
fn taker(signal: i32) -> Option<&'static mut Thread> {
    let bit = bit(signal);
    let waits = |t: &Thread| matches!(t.wait, Wait::SignalSet(set) if set & bit != 0);
    let mut threads = scheduler().threads.iter();
    threads.find(|t| t.mask & bit == 0 || waits(t))
}

/// A signal is pending for the process.
pub fn post(signal: i32) {
    match taker(signal) {
        Some(t) => t.pending |= bit(signal),
        None if watched(signal) => {
            let signals = SIGNALS.get();
            let mine = |s: &Sent| s.signal == signal && s.to.is_none();
            let info = signals
                .sent
                .iter()
                .position(mine)
                .map(|at| signals.sent.remove(at).info);
            to_kernel(None, signal, info.unwrap_or(signals.infos[signal as usize]));
        }
        None => SIGNALS.get().process |= bit(signal),
    }
}

/// Whether the program reads this signal from a descriptor.
fn watched(signal: i32) -> bool {
    SIGNALS.get().watched & bit(signal) != 0
}

/// The program reads these signals from a descriptor: those that are pending, or come while they are blocked, are the
/// kernel's, which shows them there.
pub fn watch(set: u64) {
    // Who reads is shown what is pending for its kernel thread.
    switching::stop();
    let signals = SIGNALS.get();
    signals.watched |= set;
    let mut moved = core::mem::take(&mut signals.process);
    while moved != 0 {
        let signal = moved.trailing_zeros() as i32 + 1;
        moved &= moved - 1;
        post(signal);
    }
    for t in scheduler().threads.iter() {
        let mut moved = t.pending & t.mask & set;
        t.pending &= !moved;
        while moved != 0 {
            let signal = moved.trailing_zeros() as i32 + 1;
            moved &= moved - 1;
            let info = accompanying(t, signal);
            to_kernel(Some(t.kernel_id), signal, info);
        }
    }
}

/// Makes a signal, which is blocked, pending in the kernel: for a thread or the process. What a thread may not say that
/// comes with it the kernel says.
fn to_kernel(thread: Option<i32>, signal: i32, mut info: Info) {
    info[0] = signal as u64 & 0xffff_ffff;
    let own = matches!(info[1] as i32, libc::SI_QUEUE | libc::SI_TIMER);
    // SAFETY: a signal to ourselves with what comes with it.
    unsafe {
        match thread {
            Some(thread) if own => sys!(libc::SYS_rt_tgsigqueueinfo, getpid(), thread, signal, info.as_ptr()),
            Some(thread) => sys!(libc::SYS_tgkill, getpid(), thread, signal),
            None if own => sys!(libc::SYS_rt_sigqueueinfo, getpid(), signal, info.as_ptr()),
            None => sys!(libc::SYS_kill, getpid(), signal),
        }
    };
}

/// What a thread of this process sends with a signal: `SI_USER` and the like, and the value of `sigqueue`.
fn sent(to: Option<ThreadId>, signal: i32, code: i32, value: u64) -> Sent {
    // SAFETY: the call takes nothing and cannot fail.
    let user = unsafe { sys!(libc::SYS_getuid) } as u64;
    let mut info = [0; 16];
    (info[1], info[2], info[3]) = (u64::from(code as u32), getpid() as u64 | user << 32, value);
    Sent { to, signal, info }
}

/// Sends a signal to the process, from within.
pub fn post_from_within(signal: i32, code: i32, value: u64) {
    let signals = SIGNALS.get();
    let pending = signals.process | taker(signal).map_or(0, |t| t.pending);
    if signal >= FIRST_QUEUED || pending & bit(signal) == 0 {
        signals.sent.push(sent(None, signal, code, value));
    }
    post(signal);
}

/// Sends a signal to a thread, from within.
pub fn send(t: &mut Thread, signal: i32, code: i32, value: u64) {
    let awaited = matches!(t.wait, Wait::SignalSet(set) if set & bit(signal) != 0);
    if watched(signal) && t.mask & bit(signal) != 0 && !awaited {
        return to_kernel(Some(t.kernel_id), signal, sent(None, signal, code, value).info);
    }
    if signal >= FIRST_QUEUED || t.pending & bit(signal) == 0 {
        SIGNALS.get().sent.push(sent(Some(t.id), signal, code, value));
    }
    t.pending |= bit(signal);
}

/// What comes with a signal that is no longer pending for the thread; it is again if it was sent more often.
fn accompanying(t: &mut Thread, signal: i32) -> Info {
    let Signals { sent, infos, .. } = SIGNALS.get();
    let mine = |s: &Sent| s.signal == signal && s.to.is_none_or(|to| to == t.id);
    let mut info = match sent.iter().position(mine) {
        Some(at) => sent.remove(at).info,
        None => infos[signal as usize],
    };
    if sent.iter().any(mine) {
        t.pending |= bit(signal);
    }
    info[0] = signal as u64 & 0xffff_ffff | info[0] & !0xffff_ffff;
    info
}

/// A signal of this set that is pending for the thread or the process, and what comes with it; it no longer is.
pub fn take(t: &mut Thread, set: u64) -> Option<(i32, Info)> {
    collect();
    let signals = SIGNALS.get();
    let pending = (t.pending | signals.process) & set;
    if pending == 0 {
        return None;
    }
    let lowest = pending & pending.wrapping_neg();
    t.pending &= !lowest;
    signals.process &= !lowest;
    let signal = lowest.trailing_zeros() as i32 + 1;
    told_by(t, edge(signal));
    Some((signal, accompanying(t, signal)))
}

/// Key of the edges from those who send a signal to those who handle it or waited for it.
fn edge(signal: i32) -> u64 {
    OTHERS | 1 << 58 | signal as u64
}

/// `t` is about to send a signal to this process.
pub fn tells(t: &Thread, signal: i32) {
    tells_by(t, edge(signal));
    if watched(signal) {
        tells_by(t, OTHERS);
    }
}

/// Signals pending for the thread or the process.
pub fn pending(t: &Thread) -> u64 {
    t.pending | SIGNALS.get().process
}

/// Whether a signal's action is left to the kernel: crashes, and what cannot be caught.
pub fn synchronous(signal: i32) -> bool {
    ending::is_crash(signal) || matches!(signal, libc::SIGKILL | libc::SIGSTOP) || !(1..=64).contains(&signal)
}

/// The program's handler for a signal.
pub fn handler(signal: i32) -> Handler {
    SIGNALS.get().handlers.get(signal as usize).copied().unwrap_or(DEFAULT)
}

/// Whether a signal's default action ends the process.
fn ends(signal: i32) -> bool {
    use libc::{SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    !matches!(
        signal,
        SIGCHLD | SIGCONT | SIGSTOP | SIGTSTP | SIGTTIN | SIGTTOU | SIGURG | SIGWINCH
    )
}

/// Whether the program handles the signal by a function.
pub fn handled(signal: i32) -> bool {
    handler(signal).address > libc::SIG_IGN
}

/// Sees to it that a SIGTERM from outside, which would end the process, first lets it tell how it ended.
pub fn watch_end() {
    ENDING.store(true, Relaxed);
    if handler(libc::SIGTERM) == DEFAULT {
        install(libc::SIGTERM, DEFAULT);
    }
}

/// Installs the program's handler; the kernel's answer.
pub fn install(signal: i32, new: Handler) -> i32 {
    let caught = new.address > libc::SIG_IGN;
    let recorded = caught || signal == libc::SIGTERM && new.address == libc::SIG_DFL && ENDING.load(Relaxed);
    if recorded && event_descriptor() < 0 {
        open_event();
    }
    let quiet = libc::SA_NOCLDSTOP | libc::SA_NOCLDWAIT;
    // SAFETY: a valid action; zeroed masks are empty.
    let result = unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = if recorded {
            recorder as *const () as usize
        } else {
            new.address
        };
        action.sa_flags = if recorded {
            libc::SA_SIGINFO | libc::SA_RESTART | new.flags & quiet
        } else {
            new.flags & !libc::SA_ONSTACK
        };
        let set = real!(sigaction: fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32);
        set(signal, &action, core::ptr::null_mut())
    };
    if result == 0 {
        let signals = SIGNALS.get();
        signals.handlers[signal as usize] = new;
        signals.installed |= caught && signal != libc::SIGPIPE && signal != libc::SIGCHLD;
    }
    result
}

/// Changes the mask of a thread in the model and in the kernel; then delivers what may come now.
pub fn set_mask(t: &mut Thread, mask: u64) -> u64 {
    let old = t.mask;
    let mask = mask & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
    if mask != old {
        switching::go_home(t);
    }
    t.mask = mask;
    // SAFETY: eight bytes of mask.
    unsafe {
        sys!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const t.mask,
            0usize,
            8usize
        )
    };
    collect();
    deliver(t);
    old
}

/// Runs the handlers of the signals that the thread has pending and does not block.
pub fn deliver(t: &mut Thread) {
    if arrived() {
        collect();
    }
    while t.pending & !t.mask != 0 && t.keep == 0 {
        let signal = (t.pending & !t.mask).trailing_zeros() as i32 + 1;
        t.pending &= !bit(signal);
        run(t, signal);
    }
}

fn run(t: &mut Thread, signal: i32) {
    let handler = handler(signal);
    let mut info = accompanying(t, signal);
    if handler.address == libc::SIG_IGN {
        return;
    }
    if handler.address == libc::SIG_DFL {
        if ends(signal) {
            ending::finish(deadheat_wire::record::EndKind::Signal(signal), None);
            ending::die(signal);
        }
        switching::go_home(t);
        // SAFETY: lets the kernel act: stop, or nothing.
        unsafe { sys!(libc::SYS_tgkill, getpid(), t.kernel_id, signal) };
        return;
    }
    scheduler().trail.mix(t.id, Event::Signal, signal as u64);
    told_by(t, edge(signal));
    crate::token::progress();
    if handler.flags & libc::SA_RESETHAND != 0 {
        install(signal, DEFAULT);
    }
    t.handler_flags = handler.flags;
    let own = if handler.flags & libc::SA_NODEFER == 0 {
        bit(signal)
    } else {
        0
    };
    let (mask, wait, deadline, frame): (u64, Wait, u64, Frame) = (t.mask, t.wait, t.deadline, t.frame);
    let (outcome, next, error) = (t.outcome, t.next, errno());
    t.mask |= handler.mask | own;
    t.wait = Wait::None;
    t.deadline = crate::thread::NEVER;
    t.handlers += 1;
    let mut context = [0u64; 128];
    // SAFETY: the program's handler, called as the kernel would; it may never return (siglongjmp).
    let function: extern "C" fn(i32, *mut c_void, *mut c_void) = unsafe { core::mem::transmute(handler.address) };
    switching::keeping(|| function(signal, info.as_mut_ptr().cast(), context.as_mut_ptr().cast()));
    t.handlers -= 1;
    t.mask = mask;
    t.wait = wait;
    t.deadline = deadline;
    t.frame = frame;
    t.outcome = outcome;
    t.next = next;
    set_errno(error);
}

/// Whether an interrupted call is restarted: the last handler asked for it.
pub fn restarts(t: &Thread) -> bool {
    t.handler_flags & libc::SA_RESTART != 0
}

/// A child process starts without pending signals, with an event descriptor of its own.
pub fn forked(t: &mut Thread) {
    t.pending = 0;
    let signals = SIGNALS.get();
    signals.process = 0;
    signals.sent.clear();
    ARRIVED.store(0, Release);
    if event_descriptor() >= 0 {
        // SAFETY: our own descriptor.
        unsafe { sys!(libc::SYS_close, event_descriptor()) };
        open_event();
    }
}
