//! How a run ends: exit, a signal that kills, a failed assertion, being stuck. Each is recorded once.

use crate::held::Held;
use crate::real::real;
use crate::sys::{getpid, sys};
use crate::thread::Thread;
use crate::token::scheduler;
use crate::{observe, report, tls, token};
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::*};
use deadheat_model::ThreadId;
use deadheat_wire::record::{EndKind, Ended, Record};

/// Signals that tell of a crash.
const CRASHES: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
];
/// Size of the stacks that crash handlers run on, and kernel threads that wait apart.
pub const ALTERNATE: usize = 64 << 10;

static ENDED: AtomicBool = AtomicBool::new(false);
static ASSERTION: Held<Option<String>> = Held::new(None);

/// Where the process came to its end.
pub struct Place {
    /// Thread and stack.
    pub at: (ThreadId, Vec<u64>),
    /// Address of a memory fault.
    pub fault: Option<u64>,
}

/// Handlers for crashes, the handler that runs last at `exit`.
pub fn start() {
    for signal in CRASHES {
        restore(signal);
    }
    // SAFETY: a function that lives as long as the process. Registered before any other, it runs last.
    unsafe { real!(on_exit: fn(Exited, *mut c_void) -> i32)(exited, core::ptr::null_mut()) };
}

type Exited = extern "C" fn(i32, *mut c_void);

extern "C" fn exited(status: i32, _: *mut c_void) {
    if token::active() {
        finish(EndKind::Exit(status & 255), None);
    }
}

/// Stacks of crash handlers that ended threads left.
static STACKS: Held<Vec<*mut u8>> = Held::new(Vec::new());

/// Gives this thread a stack for crash handlers, so that a stack overflow is seen too.
pub fn alternate_stack(t: &mut Thread, fresh: *mut u8) {
    t.alternate = fresh;
    let stack = libc::stack_t {
        ss_sp: fresh.cast(),
        ss_flags: 0,
        ss_size: ALTERNATE,
    };
    // SAFETY: memory that lives as long as the process, used by one thread at a time.
    unsafe { sys!(libc::SYS_sigaltstack, &raw const stack, 0usize) };
}

/// A stack.
pub fn new_stack() -> *mut u8 {
    let stacks = STACKS.get();
    stacks
        .pop()
        .unwrap_or_else(|| Vec::<u8>::with_capacity(ALTERNATE).leak().as_mut_ptr())
}

/// A thread ends; the next one is created only after it is gone.
pub fn give_back_stack(t: &mut Thread) {
    keep_stack(core::mem::replace(&mut t.alternate, core::ptr::null_mut()));
}

/// Keeps a stack for the next thread.
pub fn keep_stack(stack: *mut u8) {
    STACKS.get().push(stack);
}

/// Whether a signal is one of those whose default tells of a crash.
pub fn is_crash(signal: i32) -> bool {
    CRASHES.contains(&signal)
}

/// Puts our crash handler in place of the default.
pub fn restore(signal: i32) {
    set_handler(
        signal,
        crashed as *const () as usize,
        libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER,
    );
}

/// Whether this is our crash handler.
pub fn is_ours(handler: usize) -> bool {
    handler == crashed as *const () as usize
}

fn set_handler(signal: i32, handler: usize, flags: i32) {
    // SAFETY: a valid action; zeroed masks are empty.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        let set = real!(sigaction: fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32);
        set(signal, &action, core::ptr::null_mut());
    }
}

/// Records a crash, then lets it happen.
pub extern "C" fn crashed(signal: i32, info: *const libc::siginfo_t, context: *mut libc::ucontext_t) {
    if signal == libc::SIGSEGV && crate::outside::let_through(context) {
        return;
    }
    let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL);
    // SAFETY: the kernel's arguments.
    let (frame, fault) = unsafe {
        let registers = &(*context).uc_mcontext.gregs;
        let kernel_made = (*info).si_code > 0;
        let fault = (faults && kernel_made).then(|| (*info).si_addr() as u64);
        (
            crate::thread::Frame {
                pc: registers[libc::REG_RIP as usize] as u64,
                frame: registers[libc::REG_RBP as usize] as u64,
                stack: registers[libc::REG_RSP as usize] as u64,
            },
            fault,
        )
    };
    if !ENDED.load(Relaxed) {
        // SAFETY: null or our own record.
        let (id, bounds) = match unsafe { tls::thread().as_ref() } {
            Some(t) => (t.id, t.stack),
            None => (ThreadId::MAIN, (0, 0)),
        };
        let at = (id, crate::stack::walk(frame, true, bounds));
        if let (libc::SIGSEGV, Some(address)) = (signal, fault) {
            crate::quarantine::faulted(address, id, &at.1);
        }
        finish(EndKind::Signal(signal), Some(Place { at, fault }));
    }
    die(signal)
}

/// Dies of a signal.
pub fn die(signal: i32) -> ! {
    set_handler(signal, libc::SIG_DFL, 0);
    let set = 1u64 << (signal - 1);
    // SAFETY: unblocks and raises.
    unsafe {
        sys!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_UNBLOCK,
            &raw const set,
            0usize,
            8usize
        );
        sys!(libc::SYS_tgkill, getpid(), crate::sys::gettid(), signal);
    }
    crate::sys::exit_group(128 + signal)
}

/// Keeps the message of a failed assertion for the record.
pub fn failed_assertion(message: String) {
    *ASSERTION.get() = Some(message);
}

/// Writes what is left to write and how the run ended; only the first call counts.
pub fn finish(how: EndKind, place: Option<Place>) {
    if ENDED.swap(true, AcqRel) {
        return;
    }
    crate::journal::settle_own();
    crate::intercept::mutex::process_ends();
    if matches!(how, EndKind::Exit(_)) {
        crate::misuse::process_ends();
    }
    let s = scheduler();
    s.trail.flush();
    if let Some(t) = s.threads.get(crate::token::current()) {
        crate::successions::ends(t);
    }
    let how = match (how, s.ring()) {
        (EndKind::Exit(_), Some(first)) => {
            crate::stuck::record_cycle(first);
            EndKind::Deadlock
        }
        _ => how,
    };
    observe::finish();
    crate::successions::finish();
    crate::concolic::sources::finish();
    crate::intercept::notices();
    report::heartbeat(s.step);
    let (at, fault_address) = match place {
        Some(place) => (Some(place.at), place.fault),
        None => (None, None),
    };
    report::write(&Record::Ended(Ended {
        how,
        pid: getpid() as u32,
        schedule_hash: s.trail.hash(s.step),
        steps: s.step,
        order: crate::successions::hash(),
        switches: s.trail.switched,
        threads: s.threads.count(),
        back_edges: observe::back_edges(),
        virtual_ns: crate::clock::now(),
        target_hits: observe::target_hits(),
        let_go: s.let_go(),
        wakes: s.wakes,
        others: s.others,
        at,
        fault_address,
        assertion: ASSERTION.get().take(),
    }));
    if how != EndKind::Exec {
        report::leave();
    }
}

/// A child process, or a failed exec: the end is still to come.
pub fn not_yet() {
    ENDED.store(false, Release);
}

/// The last thread of a process leaves: the process ends as if `main` had returned 0.
pub fn exit_for_last(_t: &mut Thread) -> ! {
    // SAFETY: runs exit handlers on this thread, with the token.
    unsafe { libc_exit(0) }
}

unsafe extern "C" {
    #[link_name = "exit"]
    fn libc_exit(status: i32) -> !;
}
