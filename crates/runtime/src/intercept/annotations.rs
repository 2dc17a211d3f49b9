//! Dynamic annotations, as ThreadSanitizer and Helgrind know them, and `__tsan_acquire`, `__tsan_mutex_*`: what a program
//! says of synchronisation that is made by hand.
//!
//! The names are weak, and the runtime comes first in the link, so they stand before the empty functions that programs
//! bring along for ordinary builds. A lock that is told of is a read-write lock to us. What its own code does is not
//! looked at between `pre` and `post`, as in ThreadSanitizer. `Annotate…` calls that only tools of the past used do nothing.

use super::frame;
use crate::held::Held;
use crate::thread::{FixedState, Thread};
use crate::token::{self, point};
use crate::{annotations, observe};
use core::ffi::{c_char, c_int, c_void};
use deadheat_model::{LockMode, ObjectKind, Operation, ThreadId};
use hashbrown::HashMap;

/// The kind of all that is annotated as a lock, and of edges.
const LOCK: ObjectKind = ObjectKind::RwLock;
const EDGE: ObjectKind = ObjectKind::Atomic;
/// Flags of `__tsan_mutex_*` (`sanitizer/tsan_interface.h`).
const READ_LOCK: u32 = 1 << 3;
const TRY_LOCK_FAILED: u32 = 1 << 5;
const RECURSIVE_UNLOCK: u32 = 1 << 7;

/// How often a thread has taken a lock that it holds.
static DEPTHS: Held<HashMap<(ThreadId, u64), u32, FixedState>> = Held::new(HashMap::with_hasher(FixedState));

/// `annotate! { fn NAME(thread; arguments…) -> type { … } }`: nothing, or 0, in a plain run.
macro_rules! annotate {
    ($(fn $name:ident($t:ident; $($p:ident: $ty:ty),*) $(-> $r:ty)? $body:block)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, unused_variables)]
        pub unsafe extern "C" fn $name($($p: $ty),*) $(-> $r)? {
            let Some($t) = token::me() else { return Default::default() };
            $t.frame = frame!();
            $body
        }
    )* };
}

/// `nothing! { NAME… }`: annotations without a meaning here. They take what they are given.
macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name() {}
    )* };
}

fn edge(a: *const c_void) -> u64 {
    a as u64
}

fn release(t: &Thread, a: u64) {
    point(Operation::Release(EDGE, observe::object(a)));
    observe::release_edge(t.id, EDGE, a);
}

fn acquire(t: &Thread, a: u64) {
    point(Operation::Acquire(EDGE, observe::object(a)));
    observe::acquire_edge(t.id, EDGE, a);
}

fn taken(t: &mut Thread, a: u64, mode: LockMode) {
    let depth = DEPTHS.get().entry((t.id, a)).or_insert(0);
    *depth += 1;
    if *depth == 1 {
        token::acquired(t, LOCK, a, mode);
    }
}

/// The lock was given back once, or as often as it was taken; says how often that was.
fn given(t: &mut Thread, a: u64, all: bool) -> u32 {
    let Some(depth) = DEPTHS.get().get_mut(&(t.id, a)) else {
        return 0;
    };
    let times = if all { *depth } else { 1 };
    *depth -= times;
    if *depth == 0 {
        DEPTHS.get().remove(&(t.id, a));
        point(Operation::Release(LOCK, observe::object(a)));
        token::released(t, LOCK, a);
    }
    times
}

fn mode(shared: bool) -> LockMode {
    if shared { LockMode::Read } else { LockMode::Write }
}

annotate! {
    fn AnnotateHappensBefore(t; file: *const c_char, line: c_int, a: *const c_void) {
        release(t, edge(a));
    }
    fn AnnotateHappensAfter(t; file: *const c_char, line: c_int, a: *const c_void) {
        acquire(t, edge(a));
    }
    fn __tsan_release(t; a: *const c_void) {
        release(t, edge(a));
    }
    fn __tsan_acquire(t; a: *const c_void) {
        acquire(t, edge(a));
    }
    fn AnnotateRWLockCreate(t; file: *const c_char, line: c_int, a: *const c_void) {
        observe::destroyed(a as u64, 1);
    }
    fn AnnotateRWLockCreateStatic(t; file: *const c_char, line: c_int, a: *const c_void) {}
    fn AnnotateRWLockDestroy(t; file: *const c_char, line: c_int, a: *const c_void) {
        observe::destroyed(a as u64, 1);
    }
    fn AnnotateRWLockAcquired(t; file: *const c_char, line: c_int, a: *const c_void, exclusive: isize) {
        taken(t, a as u64, mode(exclusive == 0));
    }
    fn AnnotateRWLockReleased(t; file: *const c_char, line: c_int, a: *const c_void, exclusive: isize) {
        given(t, a as u64, false);
    }
    fn __tsan_mutex_create(t; a: *const c_void, flags: u32) {
        observe::destroyed(a as u64, 1);
    }
    fn __tsan_mutex_destroy(t; a: *const c_void, flags: u32) {
        observe::destroyed(a as u64, 1);
    }
    fn __tsan_mutex_pre_lock(t; a: *const c_void, flags: u32) {
        point(Operation::Acquire(LOCK, observe::object(a as u64)));
        annotations::ignore(1, 1);
    }
    fn __tsan_mutex_post_lock(t; a: *const c_void, flags: u32, recursion: c_int) {
        annotations::ignore(-1, -1);
        if flags & TRY_LOCK_FAILED == 0 {
            taken(t, a as u64, mode(flags & READ_LOCK != 0));
        }
    }
    fn __tsan_mutex_pre_unlock(t; a: *const c_void, flags: u32) -> c_int {
        let times = given(t, a as u64, flags & RECURSIVE_UNLOCK != 0);
        annotations::ignore(1, 1);
        times as c_int
    }
    fn __tsan_mutex_post_unlock(t; a: *const c_void, flags: u32) {
        annotations::ignore(-1, -1);
    }
    fn __tsan_mutex_pre_signal(t; a: *const c_void, flags: u32) {
        annotations::ignore(1, 1);
    }
    fn __tsan_mutex_post_signal(t; a: *const c_void, flags: u32) {
        annotations::ignore(-1, -1);
    }
    fn __tsan_mutex_pre_divert(t; a: *const c_void, flags: u32) {
        annotations::ignore(-1, -1);
    }
    fn __tsan_mutex_post_divert(t; a: *const c_void, flags: u32) {
        annotations::ignore(1, 1);
    }
    fn AnnotateBenignRace(t; file: *const c_char, line: c_int, a: *const c_void, why: *const c_char) {
        annotations::benign(a as u64, 1);
    }
    fn AnnotateBenignRaceSized(t; file: *const c_char, line: c_int, a: *const c_void, size: usize, why: *const c_char) {
        annotations::benign(a as u64, size as u64);
    }
    fn AnnotateIgnoreReadsBegin(t; file: *const c_char, line: c_int) {
        annotations::ignore(1, 0);
    }
    fn AnnotateIgnoreReadsEnd(t; file: *const c_char, line: c_int) {
        annotations::ignore(-1, 0);
    }
    fn AnnotateIgnoreWritesBegin(t; file: *const c_char, line: c_int) {
        annotations::ignore(0, 1);
    }
    fn AnnotateIgnoreWritesEnd(t; file: *const c_char, line: c_int) {
        annotations::ignore(0, -1);
    }
    fn AnnotateIgnoreSyncBegin(t; file: *const c_char, line: c_int) {
        super::not_modelled("AnnotateIgnoreSyncBegin");
    }
}

nothing! {
    AnnotateIgnoreSyncEnd
    AnnotateCondVarSignal
    AnnotateCondVarSignalAll
    AnnotateCondVarWait
    AnnotateEnableRaceDetection
    AnnotateExpectRace
    AnnotateFlushExpectedRaces
    AnnotateFlushState
    AnnotateMutexIsNotPHB
    AnnotateMutexIsUsedAsCondVar
    AnnotateNewMemory
    AnnotateNoOp
    AnnotatePCQCreate
    AnnotatePCQDestroy
    AnnotatePCQGet
    AnnotatePCQPut
    AnnotatePublishMemoryRange
    AnnotateThreadName
    AnnotateTraceMemory
    AnnotateUnpublishMemoryRange
}
