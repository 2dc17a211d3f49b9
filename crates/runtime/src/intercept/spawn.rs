//! `posix_spawn`: the new program (if built with deadheat) begins a record of its own. The two share nothing before,
//! so the call needs no model; where children are not followed the new program does not get the plan. `system` is made
//! of it and of a wait, so that the other threads go on meanwhile.

use super::{children, interpose, masks};
use crate::bytes::c_string;
use crate::real::real;
use crate::start;
use crate::token::{point, scheduler};
use alloc::vec::Vec;
use core::ffi::c_void;
use deadheat_model::Operation;
use deadheat_wire::plan::PLAN_VARIABLE;
use libc::{c_char, c_int, pid_t};

type Strings = *const *const c_char;

/// The environment without the plan, if children are not followed.
unsafe fn without_plan(mut environment: Strings) -> Option<Vec<*const c_char>> {
    if start::plan().is_some_and(|p| p.follow) || environment.is_null() {
        return None;
    }
    let mut kept = Vec::new();
    // SAFETY: an environment ends in a null pointer.
    unsafe {
        while !(*environment).is_null() {
            let name = c_string(*environment).strip_prefix(PLAN_VARIABLE.as_bytes());
            if !name.is_some_and(|rest| rest.starts_with(b"=")) {
                kept.push(*environment);
            }
            environment = environment.add(1);
        }
    }
    kept.push(core::ptr::null());
    Some(kept)
}

macro_rules! spawn {
    ($($name:ident),*) => { interpose! { $(
        fn $name(t; pid: *mut pid_t, file: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Strings, environment: Strings) -> c_int {
            point(Operation::External);
            crate::switching::go_home(t);
            scheduler().others = true;
            scheduler().trail.flush();
            let own = without_plan(environment);
            let environment = own.as_ref().map_or(environment, |list| list.as_ptr());
            let call = real!($name: fn(*mut pid_t, *const c_char, *const c_void, *const c_void, Strings, Strings) -> c_int);
            let result = crate::processor::lent(|| call(pid, file, actions, attributes, arguments, environment));
            point(Operation::Continue);
            result
        }
    )* } };
}

spawn!(posix_spawn, posix_spawnp);

unsafe extern "C" {
    static environ: Strings;
}

/// What a shell that could not be started returns.
const NO_SHELL: c_int = 127 << 8;

interpose! {
    fn popen(t; command: *const c_char, mode: *const c_char) -> *mut c_void {
        point(Operation::External);
        crate::switching::go_home(t);
        scheduler().others = true;
        scheduler().trail.flush();
        let call = real!(popen: fn(*const c_char, *const c_char) -> *mut c_void);
        crate::processor::lent(|| call(command, mode))
    }
    fn system(_t; command: *const c_char) -> c_int {
        if command.is_null() {
            return 1;
        }
        let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command, core::ptr::null()];
        let (mut pid, mut status): (pid_t, c_int) = (0, 0);
        let shell = c"/bin/sh".as_ptr();
        if posix_spawn(&mut pid, shell, core::ptr::null(), core::ptr::null(), arguments.as_ptr(), environ) != 0 {
            return NO_SHELL;
        }
        let (blocked, mut before) = (crate::signals::bit(libc::SIGCHLD), 0);
        masks::sigprocmask(libc::SIG_BLOCK, &blocked, &mut before);
        while children::waitpid(pid, &mut status, 0) < 0 {
            if crate::sys::errno() != libc::EINTR {
                status = -1;
                break;
            }
        }
        masks::sigprocmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        status
    }
}
