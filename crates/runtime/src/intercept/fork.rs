//! `fork` and its kind: the child goes on under control with its one thread, as a process of its own in the record.

use super::{frame, interpose};
use crate::real::real;
use crate::token::{self, me, point};
use crate::{ending, observe, report, signals, start as plan, switching};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, pid_t};

/// Number of this process.
static OWN: AtomicU32 = AtomicU32::new(0);

type Handler = Option<extern "C" fn()>;

/// Stands for libc's list of handlers, which has a lock; only its address is used.
static REGISTERED: AtomicU32 = AtomicU32::new(0);

/// Sees to every fork, also those within libc. Registered first, so it runs first in the child.
pub fn start() {
    OWN.store(crate::sys::getpid() as u32, Relaxed);
    // SAFETY: functions that live as long as the process.
    unsafe {
        real!(__register_atfork: fn(Handler, Handler, Handler, *const c_void) -> i32)(
            Some(before),
            None,
            Some(in_child),
            core::ptr::null(),
        )
    };
}

interpose! {
    fn __register_atfork(t; before: Handler, parent: Handler, child: Handler, object: *const c_void) -> i32 {
        observe::release_edge(t.id, ObjectKind::Once, &raw const REGISTERED as u64);
        real!(__register_atfork: fn(Handler, Handler, Handler, *const c_void) -> i32)(before, parent, child, object)
    }
}

extern "C" fn before() {
    if me().is_some() {
        crate::family::forks();
    }
}

/// A process that was announced was not made.
fn unless_made(child: pid_t) {
    if child < 0 && me().is_some() {
        crate::family::born();
    }
}

extern "C" fn in_child() {
    let Some(t) = me() else { return };
    t.kernel_id = crate::sys::gettid();
    switching::forked(t);
    crate::processor::forked();
    if !plan::plan().is_some_and(|p| p.follow) {
        crate::family::born();
        token::stop();
        return;
    }
    // The parent may have ended already.
    let parent = OWN.swap(crate::sys::getpid() as u32, Relaxed);
    token::forked(t);
    signals::forked(t);
    crate::clock::set_timer(0, 0);
    crate::timers::forked();
    report::forked();
    crate::peer::forked(parent);
    crate::family::start();
    crate::family::born();
    plan::started(Some(parent), alloc::vec::Vec::new());
    observe::forked(t.id);
    crate::concolic::forked();
}

/// Makes a child process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> pid_t {
    if let Some(t) = me() {
        t.frame = frame!();
        point(Operation::External);
        token::scheduler().others = true;
        token::scheduler().trail.flush();
        switching::go_home(t);
        // Handlers run now that others registered.
        observe::acquire_edge(t.id, ObjectKind::Once, &raw const REGISTERED as u64);
    }
    // SAFETY: the real function.
    let child = unsafe { real!(fork: fn() -> pid_t)() };
    unless_made(child);
    if child != 0 {
        point(Operation::Continue);
    }
    child
}

/// As `fork`: the parent need not wait, the child has memory of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfork() -> pid_t {
    // SAFETY: no arguments.
    unsafe { fork() }
}

/// `fork` without the handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> pid_t {
    if let Some(t) = me() {
        t.frame = frame!();
        point(Operation::External);
        switching::go_home(t);
        token::scheduler().others = true;
        crate::family::forks();
    }
    // SAFETY: the real function.
    let child = unsafe { real!(_Fork: fn() -> pid_t)() };
    unless_made(child);
    if child == 0 {
        in_child();
    }
    child
}

/// What the child of a `clone` runs.
type Cloned = extern "C" fn(*mut c_void) -> c_int;

/// The first that the child of a `clone` with memory of its own runs, and what it runs then.
struct First {
    function: Cloned,
    argument: *mut c_void,
}

extern "C" fn first(what: *mut c_void) -> c_int {
    in_child();
    // SAFETY: the parent's frame, of which the child has a copy.
    let First { function, argument } = unsafe { core::ptr::read(what.cast()) };
    let status = function(argument);
    // SAFETY: ends the process.
    unsafe { super::exits::_exit(status) }
}

/// Makes a child process that begins with a function, on a stack of its own. One that shares the parent's memory is
/// left to the kernel. The last three are there only if the flags ask for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    function: Cloned,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    storage: *mut c_void,
    child: *mut c_void,
) -> c_int {
    let mut own = First { function, argument };
    let (mut begins, mut with) = (function, argument);
    if let Some(t) = me() {
        t.frame = frame!();
        point(Operation::External);
        switching::go_home(t);
        token::scheduler().others = true;
        token::scheduler().trail.flush();
        if flags & libc::CLONE_VM == 0 {
            crate::family::forks();
            (begins, with) = (first, (&raw mut own).cast());
        } else {
            super::not_modelled("clone");
        }
    }
    // SAFETY: the real function; the child that gets `own` has a copy of this frame.
    let made = unsafe {
        real!(clone: fn(Cloned, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int)(
            begins, stack, flags, with, parent, storage, child,
        )
    };
    if flags & libc::CLONE_VM == 0 {
        unless_made(made);
    }
    point(Operation::Continue);
    made
}

/// Records that the process replaces itself; to be undone by [`stays`] if that fails.
pub fn leaves() {
    ending::finish(deadheat_wire::record::EndKind::Exec, None);
}

/// The process did not replace itself after all.
pub fn stays() {
    ending::not_yet();
}
