//! `pthread_barrier_*`: arrived at 0, round at 4, count at 8 (where glibc's init puts it).
//!
//! Happens-before edges are kept per round, so that a thread that runs ahead into the next round gives
//! nothing to those that still leave the last one.

use super::{interpose, shared};
use crate::misuse;
use crate::observe;
use crate::thread::NEVER;
use crate::token::{point, progress, wait};
use crate::wait::{Wait, word};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{ObjectKind, Operation};
use libc::c_int;

const ROUND: u64 = 4;
const COUNT: u64 = 8;
const SHARED: u64 = 12;
const SIZE: u64 = 32;
const SERIAL_THREAD: c_int = -1;

/// Key of one round's edges: user addresses leave the upper bits free.
fn edge(a: u64, round: i32) -> u64 {
    a ^ (round as u64 & 0xffff) << 48
}

interpose! {
    fn pthread_barrier_wait(t; barrier: *mut c_void) -> c_int {
        let a = barrier as u64;
        let arrive = Operation::Acquire(ObjectKind::Barrier, observe::object(a));
        point(arrive);
        let round = word(a + ROUND).load(Relaxed);
        observe::release_edge(t.id, ObjectKind::Barrier, edge(a, round));
        let is_shared = word(a + SHARED).load(Relaxed) != 0;
        let arrived = word(a).fetch_add(1, Relaxed) + 1;
        progress();
        if arrived == word(a + COUNT).load(Relaxed) {
            word(a).store(0, Relaxed);
            word(a + ROUND).store(round.wrapping_add(1), Relaxed);
            observe::acquire_edge(t.id, ObjectKind::Barrier, edge(a, round));
            if is_shared {
                shared::taken(t);
            }
            point(Operation::Continue);
            return SERIAL_THREAD;
        }
        while word(a + ROUND).load(Relaxed) == round {
            t.shared = is_shared;
            wait(t, Wait::Barrier(a, round), Operation::Continue, NEVER);
        }
        observe::acquire_edge(t.id, ObjectKind::Barrier, edge(a, round));
        if is_shared {
            shared::taken(t);
        }
        0
    }
    fn pthread_barrier_destroy(t; barrier: *mut c_void) -> c_int {
        misuse::destroys_barrier(t, barrier as u64, word(barrier as u64 + ROUND).load(Relaxed));
        observe::destroyed(barrier as u64, SIZE);
        0
    }
}
