//! What the kernel keeps of each thread by itself: a thread asks for it, or sets it, in its own kernel thread
//! ([`switching`]). What others must not have as well (credentials, filters, name spaces) binds it to that.

use super::interpose;
use crate::memory;
use crate::real::real;
use crate::switching::{bind, exchanges, go_home, stop};
use crate::thread::Thread;
use core::ffi::c_void;
use libc::{c_char, c_int, c_long, c_uint, c_ulong, gid_t, id_t, pid_t, pthread_t, size_t, uid_t};

macro_rules! at_home {
    ($how:ident: $(fn $name:ident($($p:ident: $ty:ty),*) -> $r:ty;)*) => { interpose! { $(
        fn $name(t; $($p: $ty),*) -> $r {
            $how(t);
            real!($name: fn($($ty),*) -> $r)($($p),*)
        }
    )* } };
}

at_home! { go_home:
    fn getcpu(processor: *mut c_uint, node: *mut c_uint) -> c_int;
    fn getpriority(which: c_int, who: id_t) -> c_int;
    fn getrusage(who: c_int, usage: *mut c_void) -> c_int;
    fn gettid() -> pid_t;
    fn nice(by: c_int) -> c_int;
    fn pthread_getname_np(thread: pthread_t, name: *mut c_char, size: size_t) -> c_int;
    fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
    fn sched_getcpu() -> c_int;
    fn sched_getparam(process: pid_t, parameters: *mut c_void) -> c_int;
    fn sched_getscheduler(process: pid_t) -> c_int;
    fn sched_setparam(process: pid_t, parameters: *const c_void) -> c_int;
    fn sched_setscheduler(process: pid_t, class: c_int, parameters: *const c_void) -> c_int;
    fn setpriority(which: c_int, who: id_t, priority: c_int) -> c_int;
    // All threads get these, by signals that the library sends to the others.
    fn initgroups(user: *const c_char, group: gid_t) -> c_int;
    fn setegid(id: gid_t) -> c_int;
    fn seteuid(id: uid_t) -> c_int;
    fn setgid(id: gid_t) -> c_int;
    fn setgroups(count: size_t, groups: *const gid_t) -> c_int;
    fn setregid(real: gid_t, effective: gid_t) -> c_int;
    fn setresgid(real: gid_t, effective: gid_t, saved: gid_t) -> c_int;
    fn setresuid(real: uid_t, effective: uid_t, saved: uid_t) -> c_int;
    fn setreuid(real: uid_t, effective: uid_t) -> c_int;
    fn setuid(id: uid_t) -> c_int;
}

at_home! { bind:
    fn capset(header: *mut c_void, data: *const c_void) -> c_int;
    fn personality(persona: c_ulong) -> c_int;
    fn ptrace(request: c_int, process: c_long, address: *mut c_void, data: *mut c_void) -> c_long;
    fn setfsgid(id: gid_t) -> c_int;
    fn setfsuid(id: uid_t) -> c_int;
    fn setns(fd: c_int, kind: c_int) -> c_int;
    fn unshare(flags: c_int) -> c_int;
}

interpose! {
    fn prctl(t; option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
        comes(t, libc::SYS_prctl, option);
        real!(prctl: fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int)(option, a, b, c, d)
    }
    fn mprotect(_t; address: *mut c_void, size: size_t, protection: c_int) -> c_int {
        makes_code(protection);
        real!(mprotect: fn(*mut c_void, size_t, c_int) -> c_int)(address, size, protection)
    }
    fn pkey_alloc(_t; flags: c_uint, rights: c_uint) -> c_int {
        stop();
        real!(pkey_alloc: fn(c_uint, c_uint) -> c_int)(flags, rights)
    }
    fn pkey_mprotect(_t; address: *mut c_void, size: size_t, protection: c_int, key: c_int) -> c_int {
        makes_code(protection);
        real!(pkey_mprotect: fn(*mut c_void, size_t, c_int, c_int) -> c_int)(address, size, protection, key)
    }
    fn sigaltstack(t; new: *const c_void, old: *mut c_void) -> c_int {
        go_home(t);
        if !new.is_null() {
            bind(t);
        }
        real!(sigaltstack: fn(*const c_void, *mut c_void) -> c_int)(new, old)
    }
}

/// The program makes memory that can be run, in which nobody has looked.
pub fn makes_code(protection: c_int) {
    if protection & libc::PROT_EXEC != 0 {
        stop();
    }
}

/// A thread is about to make a system call that has no model.
pub fn comes(t: &mut Thread, number: c_long, first: c_int) {
    let names = matches!(first, libc::PR_SET_NAME | libc::PR_GET_NAME);
    let own = match number {
        libc::SYS_prctl => !names,
        libc::SYS_sigaltstack => first != 0,
        _ => matches!(
            number,
            libc::SYS_capset
                | libc::SYS_io_uring_register
                | libc::SYS_io_uring_setup
                | libc::SYS_ioprio_set
                | libc::SYS_keyctl
                | libc::SYS_landlock_restrict_self
                | libc::SYS_mbind
                | libc::SYS_personality
                | libc::SYS_ptrace
                | libc::SYS_rseq
                | libc::SYS_seccomp
                | libc::SYS_set_mempolicy
                | libc::SYS_set_robust_list
                | libc::SYS_set_tid_address
                | libc::SYS_setfsgid
                | libc::SYS_setfsuid
                | libc::SYS_setgid
                | libc::SYS_setgroups
                | libc::SYS_setns
                | libc::SYS_setregid
                | libc::SYS_setresgid
                | libc::SYS_setresuid
                | libc::SYS_setreuid
                | libc::SYS_setuid
                | libc::SYS_unshare
        ),
    };
    if matches!(
        number,
        libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_alloc | libc::SYS_pkey_mprotect
    ) {
        stop();
    }
    if own { bind(t) } else { go_home(t) }
}

/// A thread is about to open a file: the kernel has some that tell of who opens them.
pub fn looks_at(t: &mut Thread, path: *const c_char) {
    const BEGIN: &[u8; 16] = b"/proc/thread-sel";
    if exchanges() && memory::peek(path as u64, 16) == BEGIN {
        go_home(t);
    }
}
