//! `pthread_once`. The initialiser runs under glibc's own `pthread_once`, which puts the control back when
//! an exception or cancellation leaves it; the word is 1 (in its low two bits) while it runs, 2 after.

use super::interpose;
use crate::held::Held;
use crate::observe;
use crate::real::real;
use crate::thread::{NEVER, Thread};
use crate::token::{me, point, progress, wait};
use crate::wait::{Wait, word};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{ObjectKind, Operation};
use libc::c_int;

const RUNNING: i32 = 1;
const DONE: i32 = 2;

/// Controls whose initialiser was begun.
static BEGUN: Held<Vec<u64>> = Held::new(Vec::new());

/// Whether no initialiser runs.
pub unsafe fn settled(a: u64) -> bool {
    // SAFETY: a live once control.
    unsafe { word(a) }.load(Relaxed) & 3 != RUNNING
}

/// Runs the initialiser that the thread noted last.
extern "C" fn initialise() {
    let Some(t) = me() else { return };
    let Some((control, routine)) = t.once.pop() else { return };
    routine();
    progress();
    observe::release_edge(t.id, ObjectKind::Once, control);
}

/// Does it once.
pub unsafe fn once(t: &mut Thread, a: u64, routine: extern "C" fn()) -> c_int {
    let acquire = Operation::Acquire(ObjectKind::Once, observe::object(a));
    // SAFETY: the caller's control.
    unsafe {
        if word(a).load(Relaxed) != DONE {
            point(acquire);
        }
        loop {
            match word(a).load(Relaxed) {
                DONE => {
                    observe::acquire_edge(t.id, ObjectKind::Once, a);
                    return 0;
                }
                seen if seen & 3 == RUNNING => {
                    wait(t, Wait::Once(a), acquire, NEVER);
                }
                _ => {
                    // An initialiser that an exception or a cancellation left before tells nobody when.
                    if BEGUN.get().contains(&a) {
                        observe::told(t.id, ObjectKind::Once, Some(a));
                    } else {
                        BEGUN.get().push(a);
                    }
                    t.once.push((a, routine));
                    return real!(pthread_once: fn(*mut c_void, extern "C" fn()) -> c_int)(
                        a as *mut c_void,
                        initialise,
                    );
                }
            }
        }
    }
}

interpose! {
    fn pthread_once(t; control: *mut c_void, routine: extern "C" fn()) -> c_int {
        once(t, control as u64, routine)
    }
}
