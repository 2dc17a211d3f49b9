//! `mmap` and kin: the detector is told what memory comes and goes.

use super::interpose;
use crate::observe;
use crate::sys::{c_result, sys};
use core::ffi::c_void;
use libc::c_int;

fn mapped(address: *mut c_void, len: usize) {
    if address != libc::MAP_FAILED {
        observe::mapped(address as u64, len as u64);
    }
}

interpose! {
    fn mmap(_t; hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
        let address = c_result(sys!(libc::SYS_mmap, hint, len, prot, flags, fd, offset)) as *mut c_void;
        mapped(address, len);
        address
    }
    fn mmap64(_t; hint: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
        let address = c_result(sys!(libc::SYS_mmap, hint, len, prot, flags, fd, offset)) as *mut c_void;
        mapped(address, len);
        address
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
