//! Fibers as programs announce them (`__tsan_switch_to_fiber`): stacks that a program switches between by itself.
//!
//! To us all that one thread does is in order, whatever stack it is on. What is left is a fiber that goes on in another
//! thread than it began in: what it did before orders what it does now, and so, unless the program says otherwise
//! (flag 1), a switch orders what was done before it by whoever switches.

use crate::held::Held;
use crate::stack::thread_pointer;
use crate::thread::FixedState;
use crate::{observe, token};
use core::ffi::c_char;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use deadheat_model::{ObjectKind, ThreadId};
use hashbrown::HashMap;

/// Names of fibers are addresses at which nothing lies; a thread's own is its thread pointer.
const FIRST: u64 = 1 << 46;
const STEP: u64 = 16;
/// `__tsan_switch_to_fiber_no_sync`.
const NO_ORDER: u32 = 1;

static NEXT: AtomicU64 = AtomicU64::new(FIRST);
/// The fiber that a thread is in, if it is not its own.
static CURRENT: Held<HashMap<ThreadId, u64, FixedState>> = Held::new(HashMap::with_hasher(FixedState));

fn current(thread: ThreadId) -> u64 {
    CURRENT.get().get(&thread).copied().unwrap_or_else(thread_pointer)
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_get_current_fiber() -> u64 {
    match token::me() {
        Some(t) => current(t.id),
        None => thread_pointer(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_create_fiber(_flags: u32) -> u64 {
    let fiber = NEXT.fetch_add(STEP, Relaxed);
    if let Some(t) = token::me() {
        observe::release_edge(t.id, ObjectKind::Atomic, fiber);
    }
    fiber
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_destroy_fiber(fiber: u64) {
    if token::running() {
        observe::destroyed(fiber, 1);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_switch_to_fiber(fiber: u64, flags: u32) {
    let Some(t) = token::me() else { return };
    let before = current(t.id);
    observe::release_edge(t.id, ObjectKind::Atomic, before);
    if flags & NO_ORDER == 0 {
        observe::release_edge(t.id, ObjectKind::Atomic, fiber);
    }
    observe::acquire_edge(t.id, ObjectKind::Atomic, fiber);
    if fiber == thread_pointer() {
        CURRENT.get().remove(&t.id);
    } else {
        CURRENT.get().insert(t.id, fiber);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_set_fiber_name(_fiber: u64, _name: *const c_char) {}
