//! Runs that go no further: deadlocks and hangs, with who waits for whom.

use crate::ending;
use crate::thread::Thread;
use crate::token::scheduler;
use crate::wait::{Wait, word};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_model::{ObjectKind, ThreadId};
use deadheat_wire::record::{Deadlock, EndKind, Hang, Held, Record, Waiting};

/// Exit status of a process that was stopped for a deadlock or hang.
const STUCK: i32 = 66;

/// Every thread waits, none for time, a signal or the outside.
pub fn deadlock() -> ! {
    crate::report::write(&Record::Deadlock(Deadlock { threads: waiting() }));
    ending::finish(EndKind::Deadlock, None);
    crate::sys::exit_group(STUCK)
}

/// So many yields in a row brought nothing.
pub fn hang(yields: u64) -> ! {
    crate::report::write(&Record::Hang(Hang {
        threads: waiting(),
        yields,
    }));
    ending::finish(EndKind::Hang, None);
    crate::sys::exit_group(STUCK)
}

/// The policy named a thread that does not exist.
pub fn lost() -> ! {
    crate::sys::say("deadheat: the policy chose no thread");
    ending::finish(EndKind::Refused, None);
    crate::sys::exit_group(70)
}

fn waiting() -> Vec<Waiting> {
    scheduler()
        .threads
        .iter()
        .map(|t| Waiting {
            thread: t.id,
            reason: t.wait.reason(),
            holder: holder(t.wait),
            stack: stack(t),
            held: held(t),
        })
        .collect()
}

/// The stack of a thread where it left the program's code.
pub fn stack(t: &Thread) -> Vec<u64> {
    crate::stack::walk(t.frame, false, t.stack)
}

/// The locks that a thread holds.
pub fn held(t: &Thread) -> Vec<Held> {
    let record = |&(kind, address, mode): &_| Held {
        kind,
        object: crate::observe::object(address),
        mode,
    };
    t.locks.iter().map(record).collect()
}

/// The thread that holds what is waited for.
fn holder(wait: Wait) -> Option<ThreadId> {
    match wait {
        Wait::Join(thread) => Some(thread),
        Wait::Lock(ObjectKind::Mutex, a) => {
            // SAFETY: a mutex that a thread waits on is alive.
            let owner = unsafe { word(a + 8) }.load(Relaxed);
            (owner > 0).then(|| ThreadId(owner as u32 - 1))
        }
        Wait::Lock(..) | Wait::ReadLock(_) | Wait::WriteLock(_) | Wait::Once(_) => {
            let mut threads = scheduler().threads.iter();
            threads
                .find(|t| t.locks.iter().any(|l| l.1 == wait.address()))
                .map(|t| t.id)
        }
        _ => None,
    }
}
