//! Locks and messages between processes: the non-blocking form, tried again now and then.
//!
//! What they order: a message what was done before it was sent; a semaphore set all operations on it; locks of open
//! files (`flock`, `F_OFD_SETLK`) their holders. Locks of POSIX belong to the process, so they order no threads.

use super::interpose;
use crate::descriptors::{OTHERS, file, tells_by, told_by};
use crate::observe;
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{point, progress, wait};
use crate::wait::{Outcome, Wait};
use core::ffi::c_void;
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, c_long};

/// Tries until the result is none of the errors that mean "would block".
fn until(t: &mut Thread, busy: &[c_int], deadline: u64, attempt: impl Fn() -> isize) -> isize {
    point(Operation::External);
    loop {
        let result = attempt();
        if !busy.iter().any(|e| result == -(*e as isize)) {
            progress();
            return c_result(result);
        }
        match wait(t, Wait::Retry, Operation::External, deadline) {
            Outcome::TimedOut => return c_result(attempt()),
            Outcome::Interrupted if !crate::signals::restarts(t) => return fail(libc::EINTR) as isize,
            _ => {}
        }
    }
}

/// System V semaphore operations; those that must not wait are left as they are.
unsafe fn semaphores(t: &mut Thread, set: c_int, operations: *mut libc::sembuf, count: usize, deadline: u64) -> c_int {
    let flag = libc::IPC_NOWAIT as i16;
    tells_by(t, system_v(set));
    // SAFETY: the caller's array, put back as it was.
    let result = unsafe {
        let list = core::slice::from_raw_parts_mut(operations, count);
        let call = || sys!(libc::SYS_semop, set, operations, count);
        if list.iter().any(|o| o.sem_flg & flag != 0) {
            c_result(call()) as c_int
        } else {
            list.iter_mut().for_each(|o| o.sem_flg |= flag);
            let result = until(t, &[libc::EAGAIN], deadline, call) as c_int;
            let error = crate::sys::errno();
            list.iter_mut().for_each(|o| o.sem_flg &= !flag);
            crate::sys::set_errno(error);
            result
        }
    };
    told_by(t, system_v(set));
    result
}

/// Key of the edges through a set of semaphores or a queue of System V.
fn system_v(id: c_int) -> u64 {
    OTHERS | 3 << 59 | id as u32 as u64
}

/// Takes, shares or gives back a file's lock by `call`.
fn locks(t: &mut Thread, fd: c_int, call: impl FnOnce(&mut Thread) -> c_int) -> c_int {
    tells_by(t, file(fd));
    let result = call(t);
    told_by(t, file(fd));
    result
}

unsafe fn lock_rest(t: &mut Thread, fd: c_int, command: c_int, len: i64) -> c_int {
    if command != libc::F_LOCK {
        // SAFETY: the real function.
        return unsafe { crate::real::real!(lockf: fn(c_int, c_int, i64) -> c_int)(fd, command, len) };
    }
    // SAFETY: zeroed is a valid lock.
    unsafe {
        let mut lock: libc::flock = core::mem::zeroed();
        lock.l_type = libc::F_WRLCK as i16;
        lock.l_whence = libc::SEEK_CUR as i16;
        lock.l_len = len;
        control(t, fd, libc::F_SETLKW, &raw mut lock as usize)
    }
}

unsafe fn control(t: &mut Thread, fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's argument for this command.
    let call = |command: c_int| unsafe { sys!(libc::SYS_fcntl, fd, command, argument) };
    let try_form = match command {
        libc::F_SETLKW => libc::F_SETLK,
        libc::F_OFD_SETLKW => {
            return locks(t, fd, |t| {
                until(t, &[libc::EAGAIN, libc::EACCES], NEVER, || call(libc::F_OFD_SETLK)) as c_int
            });
        }
        libc::F_OFD_SETLK => return locks(t, fd, |_| c_result(call(command)) as c_int),
        libc::F_SETLK | libc::F_GETLK => return c_result(call(command)) as c_int,
        _ => {
            let result = c_result(call(command)) as c_int;
            if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
                crate::inside::copied(fd, result);
            }
            observe::told(t.id, ObjectKind::Descriptor, None);
            return result;
        }
    };
    until(t, &[libc::EAGAIN, libc::EACCES], NEVER, || call(try_form)) as c_int
}

interpose! {
    fn flock(t; fd: c_int, operation: c_int) -> c_int {
        locks(t, fd, |t| {
            if operation & libc::LOCK_NB != 0 {
                return c_result(sys!(libc::SYS_flock, fd, operation)) as c_int;
            }
            until(t, &[libc::EAGAIN], NEVER, || sys!(libc::SYS_flock, fd, operation | libc::LOCK_NB)) as c_int
        })
    }
    fn fcntl(t; fd: c_int, command: c_int, argument: usize) -> c_int { control(t, fd, command, argument) }
    fn fcntl64(t; fd: c_int, command: c_int, argument: usize) -> c_int { control(t, fd, command, argument) }
    fn lockf(t; fd: c_int, command: c_int, len: i64) -> c_int { lock_rest(t, fd, command, len) }
    fn lockf64(t; fd: c_int, command: c_int, len: i64) -> c_int { lock_rest(t, fd, command, len) }
    fn semop(t; set: c_int, operations: *mut libc::sembuf, count: usize) -> c_int {
        semaphores(t, set, operations, count, NEVER)
    }
    fn semtimedop(t; set: c_int, operations: *mut libc::sembuf, count: usize, time: *const libc::timespec) -> c_int {
        let deadline = if time.is_null() { Some(NEVER) } else { crate::clock::relative(time) };
        deadline.map_or_else(|| fail(libc::EINVAL), |d| semaphores(t, set, operations, count, d))
    }
    fn msgrcv(t; queue: c_int, message: *mut c_void, len: usize, kind: c_long, flags: c_int) -> isize {
        let got = if flags & libc::IPC_NOWAIT != 0 {
            c_result(sys!(libc::SYS_msgrcv, queue, message, len, kind, flags))
        } else {
            until(t, &[libc::ENOMSG], NEVER, || sys!(libc::SYS_msgrcv, queue, message, len, kind, flags | libc::IPC_NOWAIT))
        };
        told_by(t, system_v(queue));
        got
    }
    fn msgsnd(t; queue: c_int, message: *const c_void, len: usize, flags: c_int) -> c_int {
        tells_by(t, system_v(queue));
        let call = |flags: c_int| sys!(libc::SYS_msgsnd, queue, message, len, flags);
        let result = if flags & libc::IPC_NOWAIT != 0 {
            c_result(call(flags))
        } else {
            until(t, &[libc::EAGAIN], NEVER, || call(flags | libc::IPC_NOWAIT))
        };
        told_by(t, system_v(queue));
        result as c_int
    }
}
