//! How the turn passes from one thread to another.
//!
//! *By the kernel*: store, wake, wait on one's own word; each thread runs in its own kernel thread. About 2 µs.
//!
//! *In user space*, where [`start`] finds that it is safe: the kernel thread that has the turn, the *carrier*, saves the
//! registers of the thread that stops and goes on with those of the other, whose own kernel thread waits meanwhile on a
//! stack apart. Schedules are the same; only the way is another.
//!
//! Each thread keeps its own kernel thread, which holds what the kernel knows of it (id, name, mask, priority,
//! credentials, filters, stack for signals, the word that is cleared at its end). Nobody else changes that, so a thread that
//! is to ask for it or to change it first [goes home](go_home), at the price of one hand-over by the kernel: before it
//! makes a thread or a process, runs another program, ends, changes its mask, waits for signals of the kernel's, and in
//! the functions of `intercept/thread_state.rs`. One that changed what others must not have is [bound](bind) for good: it
//! runs in its kernel thread alone, and only it does. Its mask needs no such call: a kernel thread runs only threads of its mask.
//!
//! What is not seen cannot go home. So nothing is exchanged in programs with code that was not compiled here (linked,
//! loaded, instrumented otherwise) or with assembly that may make system calls, nor under a debugger, which knows kernel threads only.
//!
//! Invariants: of all kernel threads only the carrier runs; a thread's kernel thread either is the carrier or waits, with
//! the thread (its registers are not saved) or on its stack apart (they are). A bound thread is at home.

mod faults;
mod registers;

pub use faults::{begins, comes_again, ends};

use crate::held::Held;
use crate::sys::sys;
use crate::thread::Thread;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use deadheat_model::{Operation, ThreadId};
pub use registers::{Registers, keeping};
use registers::{dh_exchange, dh_go_on, dh_leave};

const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// What a kernel thread finds in its thread's word: it has the turn.
const GIVEN: u32 = 1;
/// It is to have its thread again, without the turn.
const RECALLED: u32 = 2;

/// What switching keeps of a thread.
pub struct Own {
    registers: Registers,
    /// The stack on which its kernel thread waits apart, and its block.
    apart: u64,
    block: *mut u8,
    /// Above zero: it runs in its own kernel thread only, which runs nobody else.
    bound: u32,
}

impl Own {
    /// Of a new thread.
    pub const fn new() -> Own {
        Own {
            registers: Registers::new(),
            apart: 0,
            block: core::ptr::null_mut(),
            bound: 0,
        }
    }
}

/// Whether threads were, and are, exchanged in user space.
struct Exchange {
    begun: bool,
    goes_on: bool,
    /// Whose kernel thread has the turn.
    carrier: *mut Thread,
}

static EXCHANGE: Held<Exchange> = Held::new(Exchange {
    begun: false,
    goes_on: false,
    carrier: core::ptr::null_mut(),
});

/// Code was found that may ask the kernel for what is another thread's.
static UNSEEN: AtomicBool = AtomicBool::new(false);

/// Threads are exchanged in user space from now on, if that is safe in this program.
pub fn start(main: &mut Thread) {
    if !UNSEEN.load(Relaxed) && Registers::can_be_exchanged() && !has_shadow_stack() {
        *EXCHANGE.get() = Exchange {
            begun: true,
            goes_on: true,
            carrier: main,
        };
        make_room(main);
        adopt(main);
    }
}

/// Whether return addresses are kept twice, so that no stack can be left for another.
fn has_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: i32 = 0x5005;
    let mut features = 0u64;
    // SAFETY: the kernel writes a word, or refuses.
    let known = unsafe { sys!(libc::SYS_arch_prctl, ARCH_SHSTK_STATUS, &raw mut features) } == 0;
    known && features != 0
}

/// From now on the kernel switches.
pub fn stop() {
    UNSEEN.store(true, Relaxed);
    EXCHANGE.get().goes_on = false;
}

/// Whether threads were exchanged in this run.
pub fn exchanges() -> bool {
    EXCHANGE.get().begun
}

/// Gives a thread that does not run yet what it needs.
pub fn make_room(t: &mut Thread) {
    if EXCHANGE.get().begun {
        t.switching.block = crate::ending::new_stack();
        // SAFETY: a block of that size, the thread's own until it ends.
        t.switching.apart = unsafe {
            let registers = &mut t.switching.registers;
            registers.take_room(t.switching.block, crate::ending::ALTERNATE)
        };
    }
}

/// A thread that is at home for good, or never began, needs it no more.
pub fn give_room_back(t: &mut Thread) {
    let own = core::mem::replace(&mut t.switching, Own::new());
    if !own.block.is_null() {
        crate::ending::keep_stack(own.block);
        t.switching.bound = 1;
    }
}

/// What only the thread itself can tell.
pub fn adopt(t: &mut Thread) {
    if EXCHANGE.get().begun {
        t.switching.registers.thread_pointer = registers::thread_pointer();
    }
}

/// In a child process: its only kernel thread is this thread's.
pub fn forked(t: &mut Thread) {
    EXCHANGE.get().carrier = t;
}

fn wake(word: &AtomicU32) {
    // SAFETY: wakes waiters on a live word.
    unsafe { sys!(libc::SYS_futex, &raw const *word, WAKE, 1i32) };
}

fn sleep(word: &AtomicU32, seen: u32) {
    // SAFETY: waits on a live word.
    unsafe { sys!(libc::SYS_futex, &raw const *word, WAIT, seen, 0usize) };
}

/// Gives the turn for good, from a thread that is at home.
pub fn give(to: &Thread) {
    to.turn.store(GIVEN, Release);
    wake(&to.turn);
}

/// Waits at home until the turn is given to this thread.
pub fn await_turn(own: &mut Thread) {
    while own.turn.load(Acquire) != GIVEN {
        sleep(&own.turn, 0);
    }
    own.turn.store(0, Relaxed);
    EXCHANGE.get().carrier = own;
}

/// Passes the turn to another thread; returns with it.
#[inline]
pub fn pass(from: &mut Thread, to: &mut Thread) {
    let exchange = EXCHANGE.get();
    if !exchange.begun || from.switching.bound > 0 {
        give(to);
        await_turn(from);
        return;
    }
    // SAFETY: records live as long as the process; who is saved is nowhere else.
    let result = unsafe {
        let saved = &mut to.switching.registers;
        if exchange.goes_on && saved.are_saved() && to.mask == (*exchange.carrier).mask {
            let in_statement = u32::from(!is_in_call(from));
            dh_exchange(&mut from.switching.registers, saved, GIVEN, in_statement)
        } else {
            leave(from, to)
        }
    };
    if result == RECALLED {
        from.turn.store(0, Release);
        wake(&from.turn);
        await_turn(from);
    }
}

/// Whether a thread surely stops in a call that the program made, and that may change whatever calls may.
fn is_in_call(t: &Thread) -> bool {
    use Operation::{Acquire, Create, Join, Release};
    t.handlers == 0 && matches!(t.next, Acquire(..) | Release(..) | Create | Join(_))
}

/// The carrier leaves a thread, whose turn it was, and waits apart; another kernel thread goes on with `to`.
unsafe fn leave(from: *mut Thread, to: *mut Thread) -> u32 {
    let carrier = EXCHANGE.get().carrier;
    // SAFETY: the carrier's stack apart is not used while it is the carrier.
    unsafe {
        let (registers, apart) = (&raw mut (*from).switching.registers, (*carrier).switching.apart);
        dh_leave(registers, apart, wait_apart, carrier.cast(), to.cast())
    }
}

/// What a kernel thread does while its thread is elsewhere. Signals may come here: they find the thread's variables.
unsafe extern "C" fn wait_apart(own: *mut c_void, to: *mut c_void) -> ! {
    let (own, to) = (own.cast::<Thread>(), to.cast::<Thread>());
    // SAFETY: records live as long as the process. Without the turn only the word is looked at.
    unsafe {
        registers::set_thread_pointer((*own).switching.registers.thread_pointer);
        give(&*to);
        let word = &raw const (*own).turn;
        while (*word).load(Acquire) == 0 {
            sleep(&*word, 0);
        }
        let found = (*word).load(Acquire);
        if found == GIVEN {
            (*word).store(0, Relaxed);
            EXCHANGE.get().carrier = own;
        }
        dh_go_on(&raw mut (*own).switching.registers, found)
    }
}

/// Returns in the thread's own kernel thread.
pub fn go_home(t: &mut Thread) {
    let exchange = EXCHANGE.get();
    // One that is bound is there, also when the library cancels it out of its turn.
    if exchange.begun && t.switching.bound == 0 && !core::ptr::eq(exchange.carrier, t) {
        let own: *mut Thread = t;
        // SAFETY: its kernel thread waits apart, since it is not the carrier.
        unsafe { leave(own, own) };
    }
}

/// Returns in the thread's own kernel thread, where it stays, alone.
pub fn bind(t: &mut Thread) {
    go_home(t);
    t.switching.bound += 1;
}

/// Another thread, which does not run, is at home when this returns.
pub fn recall(other: &mut Thread) {
    if !other.switching.registers.are_saved() {
        return;
    }
    if core::ptr::eq(EXCHANGE.get().carrier, other) {
        // Its kernel thread runs the one that asks.
        if let Some(own) = crate::token::me_unsettled() {
            go_home(own);
        }
    }
    other.turn.store(RECALLED, Release);
    wake(&other.turn);
    while other.turn.load(Acquire) == RECALLED {
        sleep(&other.turn, RECALLED);
    }
}

/// Waits until the kernel thread of an ended thread is gone, so that what libc does at its end (stack,
/// malloc caches) has happened before anything else does.
pub fn await_gone(thread: &Thread) {
    let word: *const AtomicU32 = thread.gone_word;
    if word.is_null() && thread.id == ThreadId::MAIN {
        // The first kernel thread of a process stays until the last one ends.
        return;
    }
    if word.is_null() {
        // SAFETY: signal 0 only asks whether the thread exists.
        while unsafe { sys!(libc::SYS_tgkill, crate::sys::getpid(), thread.kernel_id, 0i32) } == 0 {
            // SAFETY: no arguments.
            unsafe { sys!(libc::SYS_sched_yield) };
        }
        return;
    }
    loop {
        // SAFETY: the word lies in the thread's descriptor, which lives until it is joined for real.
        let seen = unsafe { (*word).load(Acquire) };
        if seen == 0 {
            return;
        }
        // SAFETY: as above. The kernel wakes with a shared futex.
        unsafe { sys!(libc::SYS_futex, word, libc::FUTEX_WAIT, seen, 0usize) };
    }
}
