//! `exec*`: the process replaces itself; its record ends, the new program (if built with deadheat) begins one.

use super::fork::{leaves, stays};
use super::interpose;
use crate::real::real;
use crate::start;
use crate::thread::Thread;
use alloc::vec::Vec;
use core::arch::global_asm;
use deadheat_wire::plan::PLAN_VARIABLE;
use libc::{c_char, c_int};

type Strings = *const *const c_char;

unsafe extern "C" {
    static environ: Strings;
}

/// Makes the call between leaving and, if it comes back, staying.
unsafe fn replace(t: &mut Thread, environment: Strings, call: impl FnOnce() -> c_int) -> c_int {
    if !start::plan().is_some_and(|p| p.follow) {
        // SAFETY: the caller's environment.
        unsafe { hide_plan(environment) };
    }
    crate::switching::go_home(t);
    crate::token::scheduler().others = true;
    leaves();
    let result = crate::processor::lent(call);
    stays();
    result
}

/// Renames the plan's variable, so that the new program runs plainly. The strings are the program's own.
unsafe fn hide_plan(mut environment: Strings) {
    // SAFETY: an environment ends in a null pointer; its strings are writable.
    unsafe {
        while !environment.is_null() && !(*environment).is_null() {
            let text = crate::bytes::c_string(*environment);
            if text
                .strip_prefix(PLAN_VARIABLE.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"="))
            {
                *(*environment).cast_mut() = b'_' as c_char;
            }
            environment = environment.add(1);
        }
    }
}

interpose! {
    fn execve(t; path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
        // SAFETY: the caller's arguments, here and below.
        replace(t, environment, || unsafe {
            real!(execve: fn(*const c_char, Strings, Strings) -> c_int)(path, arguments, environment)
        })
    }
    fn execv(t; path: *const c_char, arguments: Strings) -> c_int {
        // SAFETY: the caller's arguments.
        replace(t, environ, || unsafe { real!(execv: fn(*const c_char, Strings) -> c_int)(path, arguments) })
    }
    fn execvp(t; file: *const c_char, arguments: Strings) -> c_int {
        // SAFETY: the caller's arguments.
        replace(t, environ, || unsafe { real!(execvp: fn(*const c_char, Strings) -> c_int)(file, arguments) })
    }
    fn execvpe(t; file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
        // SAFETY: the caller's arguments, here and below.
        replace(t, environment, || unsafe {
            real!(execvpe: fn(*const c_char, Strings, Strings) -> c_int)(file, arguments, environment)
        })
    }
    fn fexecve(t; fd: c_int, arguments: Strings, environment: Strings) -> c_int {
        // SAFETY: the caller's arguments, here and below.
        replace(t, environment, || unsafe {
            real!(fexecve: fn(c_int, Strings, Strings) -> c_int)(fd, arguments, environment)
        })
    }
}

/// Variadic arguments up to the null pointer, and where the list goes on after it.
unsafe fn collect(registers: Strings, stack: Strings) -> (Vec<*const c_char>, *const c_char) {
    const IN_REGISTERS: usize = 5;
    // SAFETY: the forwarder saved five registers; the rest is on the caller's stack.
    let argument = |at: usize| unsafe {
        if at < IN_REGISTERS {
            *registers.add(at)
        } else {
            *stack.add(at - IN_REGISTERS)
        }
    };
    let mut list = Vec::new();
    while !argument(list.len()).is_null() {
        list.push(argument(list.len()));
    }
    let next = argument(list.len() + 1);
    list.push(core::ptr::null());
    (list, next)
}

unsafe extern "C" fn dh_execl(path: *const c_char, registers: Strings, stack: Strings) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { execv(path, collect(registers, stack).0.as_ptr()) }
}

unsafe extern "C" fn dh_execlp(file: *const c_char, registers: Strings, stack: Strings) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { execvp(file, collect(registers, stack).0.as_ptr()) }
}

unsafe extern "C" fn dh_execle(path: *const c_char, registers: Strings, stack: Strings) -> c_int {
    // SAFETY: the caller's arguments; after the null pointer comes the environment.
    unsafe {
        let (list, environment) = collect(registers, stack);
        execve(path, list.as_ptr(), environment.cast())
    }
}

macro_rules! forwarders {
    ($($name:literal, $to:ident;)*) => { $( global_asm!(
        concat!(".globl ", $name), concat!(".type ", $name, ",@function"), concat!($name, ":"),
        "push r9", "push r8", "push rcx", "push rdx", "push rsi",
        "mov rsi, rsp", "lea rdx, [rsp + 48]", "call {to}", "add rsp, 40", "ret",
        to = sym $to,
    ); )* };
}

forwarders! {
    "execl", dh_execl;
    "execlp", dh_execlp;
    "execle", dh_execle;
}
