//! `pthread_create`, join, detach, exit and the life of a thread.
//!
//! Every thread is joinable for libc, whatever the program said: stacks and thread descriptors are then
//! given back at points of the schedule (join; creation of a later thread), not when the kernel pleases.
//! A thread gives the token up in the last round of its key destructors, since those run user code.

use super::{interpose, mutex};
use crate::held::Held;
use crate::real::real;
use crate::sys::{gettid, sys};
use crate::thread::{FixedState, NEVER, StartRoutine, Thread};
use crate::token::{self, point, scheduler, wait};
use crate::wait::{Outcome, Wait};
use crate::{clock, journal, lock_order, misuse, observe, report, stuck, switching, tls};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use deadheat_model::{MisuseKind, Operation, ThreadId};
use deadheat_wire::record::{Record, ThreadCreated};
use hashbrown::HashMap;
use libc::{c_int, pthread_attr_t, pthread_t, timespec};

/// Rounds of key destructors that glibc runs.
const ROUNDS: u32 = 4;
/// Stack size when neither attributes nor limits tell.
const USUAL_STACK: u64 = 8 << 20;

static KEY: Held<libc::pthread_key_t> = Held::new(0);
/// Detached threads that have ended and are to be joined for real.
static ENDED: Held<Vec<pthread_t>> = Held::new(Vec::new());

/// Handles that stand for no thread any more, until they are given out again: which thread that was, and whether it was
/// detached (else it was joined).
static GONE: Held<HashMap<pthread_t, (ThreadId, bool), FixedState>> = Held::new(HashMap::with_hasher(FixedState));

unsafe extern "C" {
    static __libc_stack_end: *const c_void;
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

/// Makes the first thread's record complete, once.
pub fn adopt_main(main: &mut Thread) {
    // SAFETY: harmless calls of libc that are not interposed; the mask is eight bytes.
    unsafe {
        libc::pthread_key_create(
            KEY.as_ptr(),
            Some(core::mem::transmute::<
                extern "C" fn(*mut c_void),
                unsafe extern "C" fn(*mut c_void),
            >(last_destructor)),
        );
        sys!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_BLOCK,
            0usize,
            &raw mut main.mask,
            8usize
        );
        scheduler().threads.name(main, libc::pthread_self());
        let top = (__libc_stack_end as u64 | 0xfff) + 1;
        main.stack = (top.saturating_sub(stack_limit()), top + (1 << 16));
    }
    main.alternate = crate::ending::new_stack();
    adopt(main);
}

fn stack_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: USUAL_STACK,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills the buffer.
    unsafe { sys!(libc::SYS_prlimit64, 0i32, libc::RLIMIT_STACK, 0usize, &raw mut limit) };
    limit.rlim_cur.min(1 << 30)
}

/// What only the thread itself can tell of itself.
fn adopt(t: &mut Thread) {
    const PR_GET_TID_ADDRESS: i32 = 40;
    t.kernel_id = gettid();
    let mut word: *const AtomicU32 = core::ptr::null();
    // SAFETY: the kernel writes a pointer, or refuses.
    if unsafe { sys!(libc::SYS_prctl, PR_GET_TID_ADDRESS, &raw mut word) } == 0 {
        t.gone_word = word;
    }
    crate::ending::alternate_stack(t, t.alternate);
    switching::adopt(t);
}

extern "C" fn begin(record: *mut c_void) -> *mut c_void {
    // SAFETY: the record that `create` made for this thread.
    let t = unsafe { &mut *(record as *mut Thread) };
    tls::set_thread(t);
    adopt(t);
    token::begin(t);
    // SAFETY: our key.
    unsafe { libc::pthread_setspecific(*KEY.get(), record) };
    match t.start {
        Some(start) => start(t.argument),
        None => core::ptr::null_mut(),
    }
}

extern "C" fn last_destructor(record: *mut c_void) {
    journal::settle_own();
    // SAFETY: the value that the thread set: its record.
    let t = unsafe { &mut *(record as *mut Thread) };
    t.rounds += 1;
    if t.rounds < ROUNDS {
        // SAFETY: our key.
        unsafe { libc::pthread_setspecific(*KEY.get(), record) };
        return;
    }
    misuse::thread_ends(t);
    mutex::abandon(t);
    crate::ending::give_back_stack(t);
    if t.detached {
        ENDED.get().push(t.pthread);
        forget(t);
    }
    token::end(t);
}

/// Gives back what detached threads left.
fn reap() {
    for pthread in core::mem::take(ENDED.get()) {
        let join = real!(pthread_join: fn(pthread_t, *mut *mut c_void) -> c_int);
        // SAFETY: a joinable thread that has ended and that only we know.
        unsafe { join(pthread, core::ptr::null_mut()) };
    }
}

/// Creates a thread that waits for its first turn.
pub unsafe fn create(
    t: &mut Thread,
    pthread: *mut pthread_t,
    attributes: *mut pthread_attr_t,
    start: StartRoutine,
    argument: *mut c_void,
) -> c_int {
    point(Operation::Create);
    switching::go_home(t);
    crate::functions::creates();
    reap();
    let stamp = token::next_stamp();
    let stack = stuck::stack(t);
    // SAFETY: the new record; the caller's attributes and result; nobody else runs.
    unsafe {
        let child = &mut *scheduler().threads.add(stamp);
        child.start = Some(start);
        child.argument = argument;
        child.mask = t.mask;
        child.alternate = crate::ending::new_stack();
        switching::make_room(child);
        let mut size = stack_limit() as usize;
        if !attributes.is_null() {
            let mut state = 0;
            pthread_attr_getdetachstate(attributes, &mut state);
            child.detached = state == libc::PTHREAD_CREATE_DETACHED;
            libc::pthread_attr_getstacksize(attributes, &mut size);
            if child.detached {
                libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_JOINABLE);
            }
        }
        let create = real!(pthread_create: fn(*mut pthread_t, *mut pthread_attr_t, StartRoutine, *mut c_void) -> c_int);
        let result = create(pthread, attributes, begin, (&raw mut *child).cast());
        if child.detached {
            libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        }
        if result == libc::EAGAIN && room_for(size) {
            crate::start::refuse(&alloc::format!(
                "the system gave no thread number {} (limits on processes: ulimit -u, pids.max): such a run depends on what else runs; raise the limit, or use fewer jobs: -j 1",
                child.id.0
            ));
        }
        if result != 0 {
            crate::ending::give_back_stack(child);
            switching::give_room_back(child);
            scheduler().threads.remove_last();
            return result;
        }
        scheduler().threads.name(child, *pthread);
        GONE.get().remove(&*pthread);
        // The thread's descriptor lies at the top of its stack.
        child.stack = ((*pthread).saturating_sub(size as u64), *pthread);
        observe::thread_created(t.id, child.id);
        lock_order::created(t.id, child.id);
        report::write(&Record::Thread(ThreadCreated {
            thread: child.id,
            parent: t.id,
            stack,
            start: start as usize as u64,
        }));
    }
    token::progress();
    point(Operation::Continue);
    0
}

/// Joins a thread.
pub unsafe fn join(t: &mut Thread, pthread: pthread_t, result: *mut *mut c_void, deadline: u64) -> c_int {
    let Some(child) = scheduler().threads.find(pthread) else {
        joins_gone(t, pthread);
        return libc::ESRCH;
    };
    if refuses_join(t, child) {
        return libc::EINVAL;
    }
    if child.id == t.id {
        return libc::EDEADLK;
    }
    let usual = Operation::Join(child.id);
    if deadline == NEVER {
        lock_order::waits_for_end(t, child.id);
        point(lock_order::coming(t, Wait::Join(child.id), usual));
    } else {
        point(usual);
    }
    super::cancel::test(t);
    while !child.ended {
        child.joining = true;
        let outcome = wait(t, Wait::Join(child.id), usual, deadline);
        child.joining = false;
        match outcome {
            Outcome::TimedOut if !child.ended => return libc::ETIMEDOUT,
            Outcome::Interrupted => super::cancel::test(t),
            _ => {}
        }
    }
    // SAFETY: the thread is gone; libc's join returns at once.
    unsafe { finish_join(t, child, result) }
}

/// A thread's handle is no more.
fn forget(t: &mut Thread) {
    GONE.get().insert(t.pthread, (t.id, t.detached));
    scheduler().threads.forget(t);
}

/// Notes that a thread is joined whose handle is no more, if it was one.
fn joins_gone(t: &Thread, pthread: pthread_t) {
    match GONE.get().get(&pthread) {
        Some((thread, true)) => misuse::of_thread(t, MisuseKind::JoinDetached, *thread),
        Some((thread, false)) => misuse::of_thread(t, MisuseKind::JoinJoined, *thread),
        None => {}
    }
}

/// Whether a thread cannot be joined, which is noted.
fn refuses_join(t: &Thread, child: &Thread) -> bool {
    if child.detached {
        misuse::of_thread(t, MisuseKind::JoinDetached, child.id);
    } else if child.joining {
        misuse::of_thread(t, MisuseKind::JoinJoining, child.id);
    }
    child.detached || child.joining
}

unsafe fn finish_join(t: &mut Thread, child: &mut Thread, result: *mut *mut c_void) -> c_int {
    observe::thread_joined(t.id, child.id);
    lock_order::joined(t.id, child.id);
    let pthread = child.pthread;
    forget(child);
    // SAFETY: the caller's thread and result.
    unsafe { real!(pthread_join: fn(pthread_t, *mut *mut c_void) -> c_int)(pthread, result) }
}

/// Whether there is address space for a stack of this size: else that is why the thread was not made, in every run.
fn room_for(size: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a mapping of ours, gone at once.
    unsafe {
        let at = sys!(libc::SYS_mmap, 0usize, size, libc::PROT_NONE, flags, -1i32, 0usize);
        let got = !(-4095..0).contains(&at);
        if got {
            sys!(libc::SYS_munmap, at, size);
        }
        got
    }
}

interpose! {
    fn pthread_create(t; pthread: *mut pthread_t, attributes: *mut pthread_attr_t, start: StartRoutine, argument: *mut c_void) -> c_int {
        create(t, pthread, attributes, start, argument)
    }
    fn pthread_join(t; pthread: pthread_t, result: *mut *mut c_void) -> c_int {
        join(t, pthread, result, NEVER)
    }
    fn pthread_timedjoin_np(t; pthread: pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int {
        match clock::absolute(until, libc::CLOCK_REALTIME) {
            Some(deadline) => join(t, pthread, result, deadline),
            None => libc::EINVAL,
        }
    }
    fn pthread_clockjoin_np(t; pthread: pthread_t, result: *mut *mut c_void, id: c_int, until: *const timespec) -> c_int {
        match clock::absolute(until, id) {
            Some(deadline) => join(t, pthread, result, deadline),
            None => libc::EINVAL,
        }
    }
    fn pthread_tryjoin_np(t; pthread: pthread_t, result: *mut *mut c_void) -> c_int {
        let Some(child) = scheduler().threads.find(pthread) else {
            joins_gone(t, pthread);
            return libc::ESRCH;
        };
        if refuses_join(t, child) {
            return libc::EINVAL;
        }
        point(Operation::Join(child.id));
        if !child.ended {
            mutex::failed_try(t);
            return libc::EBUSY;
        }
        finish_join(t, child, result)
    }
    fn pthread_detach(t; pthread: pthread_t) -> c_int {
        let Some(child) = scheduler().threads.find(pthread) else {
            if let Some((thread, detached)) = GONE.get().get(&pthread) {
                let kind = if *detached { MisuseKind::DetachDetached } else { MisuseKind::DetachJoined };
                misuse::of_thread(t, kind, *thread);
            }
            return libc::ESRCH;
        };
        if child.detached {
            misuse::of_thread(t, MisuseKind::DetachDetached, child.id);
            return libc::EINVAL;
        }
        child.detached = true;
        if child.ended {
            ENDED.get().push(pthread);
            forget(child);
        }
        0
    }
}

/// Ends the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_exit(result: *mut c_void) {
    if let Some(t) = token::me() {
        // The main thread has not set the key: it usually ends by `exit`.
        // SAFETY: our key.
        unsafe { libc::pthread_setspecific(*KEY.get(), (&raw mut *t).cast()) };
    }
    // SAFETY: does not return; unwinds through the caller.
    unsafe { real!(pthread_exit: fn(*mut c_void) -> ())(result) }
}
