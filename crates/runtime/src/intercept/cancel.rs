//! Cancellation: requests are noted here too, so that a wait ends for them; libc does the rest.

use super::interpose;
use crate::observe;
use crate::real::real;
use crate::thread::Thread;
use crate::token::{point, scheduler};
use deadheat_model::Operation;
use libc::{c_int, pthread_t};

const DISABLED: c_int = 1;
const ASYNCHRONOUS: c_int = 1;

unsafe extern "C" {
    fn pthread_testcancel();
}

/// A cancellation point: does not return if the thread is to go.
pub fn test(t: &mut Thread) {
    if t.cancelled && !t.uncancellable {
        t.cancelled = false;
        // SAFETY: unwinds through frames that hold nothing, or returns.
        unsafe { pthread_testcancel() }
    }
}

interpose! {
    fn pthread_cancel(t; pthread: pthread_t) -> c_int {
        let Some(target) = scheduler().threads.find(pthread) else { return libc::ESRCH };
        target.cancelled = !target.ended;
        observe::cancelled(t.id, target.id);
        // Where it may be cancelled anywhere the library sends it a signal.
        crate::switching::go_home(t);
        crate::switching::recall(target);
        let result = real!(pthread_cancel: fn(pthread_t) -> c_int)(pthread);
        point(Operation::Continue);
        result
    }
    fn pthread_setcancelstate(t; state: c_int, old: *mut c_int) -> c_int {
        let result = real!(pthread_setcancelstate: fn(c_int, *mut c_int) -> c_int)(state, old);
        if result == 0 {
            t.uncancellable = state == DISABLED;
        }
        result
    }
    fn pthread_setcanceltype(t; kind: c_int, old: *mut c_int) -> c_int {
        if kind == ASYNCHRONOUS {
            // The library's signal comes to the thread's own kernel thread, wherever that is.
            crate::switching::bind(t);
        }
        real!(pthread_setcanceltype: fn(c_int, *mut c_int) -> c_int)(kind, old)
    }
}
