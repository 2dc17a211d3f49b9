//! `mmap` and kin: the detector is told what memory comes and goes.
//!
//! Memory may lie where detection cannot tell its cells from something else. If the program leaves the place to
//! the kernel, it gets another; if it insists, the run is refused.

use super::interpose;
use crate::sys::{c_result, sys};
use crate::{observe, outside, start};
use core::ffi::c_void;
use libc::c_int;

fn mapped(address: *mut c_void, len: usize) {
    if address != libc::MAP_FAILED {
        observe::mapped(address as u64, len as u64);
    }
}

/// # Safety
/// As `mmap`.
unsafe fn map(hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
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
    mapped(address, len);
    address
}

interpose! {
    fn mmap(_t; hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
        map(hint, len, prot, flags, fd, offset)
    }
    fn mmap64(_t; hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
        map(hint, len, prot, flags, fd, offset)
    }
    fn munmap(_t; address: *mut c_void, len: usize) -> c_int {
        observe::unmapped(address as u64, len as u64);
        c_result(sys!(libc::SYS_munmap, address, len)) as c_int
    }
    fn mremap(_t; old: *mut c_void, old_len: usize, len: usize, flags: c_int, fixed: *mut c_void) -> *mut c_void {
        observe::unmapped(old as u64, old_len as u64);
        let address = c_result(sys!(libc::SYS_mremap, old, old_len, len, flags, fixed)) as *mut c_void;
        mapped(address, len);
        address
    }
}
