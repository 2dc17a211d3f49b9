//! Interposed functions, one family a file.
//!
//! Each is the same shape: in a thread that is not under control (plain runs, the loader's early calls)
//! the real function is called and nothing else; under control the thread notes where it left the
//! program's code and the model does the work.

pub mod barrier;
pub mod condition;
pub mod mutex;
pub mod once;
mod processors;
mod rand;
pub mod random;
pub mod rwlock;
pub mod semaphore;
pub mod shared;
pub mod spinlock;
pub mod threads;

mod annotations;
mod assertion;
mod atomic_calls;
mod c11;
pub mod cancel;
mod children;
mod clocks;
mod closing;
pub mod crash_handlers;
mod cxx_library;
mod daemon;
mod exec;
mod exits;
mod fibers;
mod file_locks;
mod files;
pub mod fork;
mod futex;
mod guard;
mod heap;
mod jumps;
mod kernel_state;
mod loader;
mod look_ups;
mod made;
mod maps;
mod masks;
mod message_queues;
mod mutex_entry;
mod openmp;
mod poll;
mod read_write;
mod sanitizer_calls;
mod segments;
mod signal_calls;
mod signal_waits;
mod sleep;
mod sockets;
mod spawn;
mod stdio;
mod system_calls;
mod test_barrier;
mod thread_state;
mod timers;
pub mod unmodelled;

pub use exits::leave;
pub use heap::{brings_its_own as own_allocations, is_passed_by as passes_allocations};
pub use mutex_entry::forward;

use crate::held::Held;
use crate::thread::Frame;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ffi::{CStr, c_void};
use deadheat_wire::record::{Notice, Record};

/// `interpose! { fn name(thread; arguments…) -> type { … } }`: an exported function that stands in front of
/// the real one of this name; `thread` is the calling thread's record.
macro_rules! interpose {
    ($($(#[$m:meta])* fn $name:ident($t:ident; $($p:ident: $ty:ty),*) -> $r:ty $body:block)*) => { $(
        $(#[$m])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($p: $ty),*) -> $r {
            let Some($t) = $crate::token::me() else {
                // SAFETY: the arguments are the caller's for this very function.
                return unsafe { $crate::real::real!($name: fn($($ty),*) -> $r)($($p),*) };
            };
            $t.frame = $crate::intercept::frame!();
            // SAFETY: as the C library's function of this name demands.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
    )* };
}
pub(crate) use interpose;

/// Where the function that expands this was called from.
macro_rules! frame {
    () => {
        $crate::intercept::frame_at($crate::stack::frame_pointer())
    };
}
pub(crate) use frame;

/// The caller's frame, given the frame pointer of the callee.
#[inline(always)]
pub fn frame_at(base: u64) -> Frame {
    // SAFETY: the saved frame pointer and return address of a frame on our own stack; the runtime is compiled
    // with frame pointers.
    unsafe {
        Frame {
            frame: *(base as *const u64),
            pc: *((base + 8) as *const u64),
            stack: base + 16,
        }
    }
}

/// Names of all interposed functions and exported entries, as the build makes them global.
const EXPORTS: &str = include_str!("../../exports.txt");

/// Functions of the synchronising families that need no model.
const HARMLESS: &[&str] = &[
    "pthread_self",
    "pthread_equal",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_getspecific",
    "pthread_setspecific",
    "pthread_setname_np",
    "pthread_getname_np",
    "pthread_setschedparam",
    "pthread_getschedparam",
    "pthread_setschedprio",
    "pthread_getcpuclockid",
    "pthread_getconcurrency",
    "pthread_setconcurrency",
    "pthread_atfork",
    "pthread_mutex_init",
    "pthread_mutex_getprioceiling",
    "pthread_cond_init",
    "pthread_rwlock_init",
    "pthread_barrier_init",
    "pthread_setcancelstate",
    "pthread_testcancel",
    "pthread_getattr_default_np",
    "pthread_setattr_default_np",
    "sem_init",
    "sem_close",
    "thrd_current",
    "thrd_equal",
    "mtx_init",
    "cnd_init",
    "pthread_kill_other_threads_np",
];
const HARMLESS_PREFIXES: &[&str] = &[
    "pthread_attr_",
    "pthread_mutexattr_",
    "pthread_condattr_",
    "pthread_rwlockattr_",
    "pthread_barrierattr_",
];

/// Whether a synchronising function is modelled or needs no model.
pub fn knows(name: &str) -> bool {
    HARMLESS.contains(&name) || HARMLESS_PREFIXES.iter().any(|p| name.starts_with(p)) || exports(name)
}

/// Whether a function of this name is ours.
pub fn exports(name: &str) -> bool {
    EXPORTS.lines().any(|line| line == name)
}

/// One function of each family, to check that calls reach us.
pub const REPRESENTATIVES: &[(&CStr, *const c_void)] = &[
    (c"pthread_create", threads::pthread_create as *const c_void),
    (c"pthread_mutex_lock", mutex::pthread_mutex_lock as *const c_void),
    (c"pthread_cond_wait", condition::pthread_cond_wait as *const c_void),
    (c"pthread_rwlock_rdlock", rwlock::pthread_rwlock_rdlock as *const c_void),
    (c"pthread_spin_lock", spinlock::pthread_spin_lock as *const c_void),
    (c"pthread_barrier_wait", barrier::pthread_barrier_wait as *const c_void),
    (c"sem_wait", semaphore::sem_wait as *const c_void),
    (c"pthread_once", once::pthread_once as *const c_void),
    (c"mtx_lock", c11::mtx_lock as *const c_void),
    (c"syscall", futex::syscall as *const c_void),
    (c"clock_gettime", clocks::clock_gettime as *const c_void),
    (c"nanosleep", sleep::nanosleep as *const c_void),
    (c"read", read_write::read as *const c_void),
    (c"poll", poll::poll as *const c_void),
    (c"sigaction", signal_calls::sigaction as *const c_void),
    (c"fork", fork::fork as *const c_void),
    (c"dlopen", loader::dlopen as *const c_void),
    (c"mmap", maps::mmap as *const c_void),
];

static NOT_MODELLED: Held<Vec<(&'static str, u64)>> = Held::new(Vec::new());

/// Counts a call that is let through without a model.
pub fn not_modelled(call: &'static str) {
    let calls = NOT_MODELLED.get();
    match calls.iter_mut().find(|c| c.0 == call) {
        Some(known) => known.1 += 1,
        None => calls.push((call, 1)),
    }
}

/// Records what was let through.
pub fn notices() {
    for (call, count) in core::mem::take(NOT_MODELLED.get()) {
        crate::report::write(&Record::Notice(Notice::NotModelled {
            call: call.to_string(),
            count,
        }));
    }
}
