//! `mmap` and kin: the detector is told what memory comes and goes.
//!
//! Memory may lie where detection cannot tell its cells from something else. If the program leaves the place to
//! the kernel, it gets another; if it insists, the run is refused.

use super::interpose;
use crate::concolic::files;
use crate::held::Held;
use crate::sys::{c_result, sys};
use crate::{descriptors, observe, outside, start, unordered};
use alloc::vec::Vec;
use core::ffi::c_void;
use libc::c_int;

/// Files and segments that were mapped to be shared.
static SHARED: Held<Vec<u64>> = Held::new(Vec::new());

/// A file or segment is mapped: if it was before, its memory has two addresses now. Locks and atomics are known by their
/// addresses, so what is ordered by way of the other one is not seen.
fn shares(what: u64) {
    let shared = SHARED.get();
    if shared.contains(&what) {
        unordered::stop();
    } else {
        shared.push(what);
    }
}

fn mapped(address: *mut c_void, len: usize) {
    if address != libc::MAP_FAILED {
        observe::mapped(address as u64, len as u64);
    }
}

/// # Safety
/// As `mmap`.
unsafe fn map(hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
    super::thread_state::makes_code(prot);
    let call = |hint: *mut c_void| {
        // SAFETY: the caller's arguments.
        c_result(unsafe { sys!(libc::SYS_mmap, hint, len, prot, flags, fd, offset) }) as *mut c_void
    };
    let mut address = call(hint);
    if address != libc::MAP_FAILED && outside::clashes(address as u64, len as u64) {
        let insists = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
        // SAFETY: what was mapped just now.
        unsafe { sys!(libc::SYS_munmap, address, len) };
        address = if insists || hint.is_null() {
            libc::MAP_FAILED
        } else {
            call(core::ptr::null_mut())
        };
        if address == libc::MAP_FAILED || outside::clashes(address as u64, len as u64) {
            start::refuse("the program maps memory where detection needs the addresses for itself");
        }
    }
    if address != libc::MAP_FAILED && flags & libc::MAP_SHARED != 0 && fd >= 0 && observe::looks_for_unordered() {
        shares(descriptors::file(fd));
    }
    mapped(address, len);
    if address != libc::MAP_FAILED && flags & libc::MAP_ANONYMOUS == 0 {
        files::mapped(fd, address as u64, len, offset);
    }
    address
}

interpose! {
    fn shmat(_t; id: c_int, hint: *const c_void, flags: c_int) -> *mut c_void {
        shares(id as u64);
        crate::real::real!(shmat: fn(c_int, *const c_void, c_int) -> *mut c_void)(id, hint, flags)
    }
    fn mmap(_t; hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
        map(hint, len, prot, flags, fd, offset)
    }
    fn mmap64(_t; hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
        map(hint, len, prot, flags, fd, offset)
    }
    fn munmap(_t; address: *mut c_void, len: usize) -> c_int {
        observe::unmapped(address as u64, len as u64);
        files::unmapped(address as u64, len);
        c_result(sys!(libc::SYS_munmap, address, len)) as c_int
    }
    fn mremap(_t; old: *mut c_void, old_len: usize, len: usize, flags: c_int, fixed: *mut c_void) -> *mut c_void {
        if old_len == 0 {
            unordered::stop();
        }
        observe::unmapped(old as u64, old_len as u64);
        let address = c_result(sys!(libc::SYS_mremap, old, old_len, len, flags, fixed)) as *mut c_void;
        mapped(address, len);
        address
    }
}
