//! Calls other than `close` by which a descriptor's number becomes another's.

use super::interpose;
use crate::descriptors::closed;
use crate::inside;
use crate::real::real;
use core::ffi::c_void;
use deadheat_wire::object::DESCRIPTORS;
use libc::{c_int, c_uint};

unsafe extern "C" {
    fn fileno(file: *mut c_void) -> c_int;
    fn dirfd(directory: *mut c_void) -> c_int;
}

/// As many as the table has.
fn closed_all(first: c_uint, last: c_uint) {
    (first..=last.min(DESCRIPTORS as c_uint - 1)).for_each(|fd| closed(fd as c_int));
}

interpose! {
    fn fclose(_t; file: *mut c_void) -> c_int {
        let fd = fileno(file);
        let result = real!(fclose: fn(*mut c_void) -> c_int)(file);
        closed(fd);
        result
    }
    fn closedir(_t; directory: *mut c_void) -> c_int {
        let fd = dirfd(directory);
        let result = real!(closedir: fn(*mut c_void) -> c_int)(directory);
        closed(fd);
        result
    }
    fn dup2(_t; from: c_int, to: c_int) -> c_int {
        let result = real!(dup2: fn(c_int, c_int) -> c_int)(from, to);
        if from != to {
            closed(to);
            inside::copied(from, result);
        }
        result
    }
    fn dup3(_t; from: c_int, to: c_int, flags: c_int) -> c_int {
        let result = real!(dup3: fn(c_int, c_int, c_int) -> c_int)(from, to, flags);
        closed(to);
        inside::copied(from, result);
        result
    }
    fn close_range(_t; first: c_uint, last: c_uint, flags: c_int) -> c_int {
        let result = real!(close_range: fn(c_uint, c_uint, c_int) -> c_int)(first, last, flags);
        closed_all(first, last);
        result
    }
    fn closefrom(_t; first: c_int) -> () {
        real!(closefrom: fn(c_int) -> ())(first);
        closed_all(first.max(0) as c_uint, c_uint::MAX);
    }
}
