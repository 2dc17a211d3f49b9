//! Calls that make descriptors which nobody outside has: they are passed through, and noted ([`crate::inside`]).

use super::interpose;
use crate::inside::{self, Kind};
use crate::real::real;
use libc::{c_int, c_uint};

/// The two of a pair, if the call made them.
unsafe fn both(result: c_int, pair: *const c_int) -> c_int {
    if result == 0 {
        // SAFETY: the caller's array, which the call has filled.
        unsafe {
            inside::made(*pair, Kind::Own);
            inside::made(*pair.add(1), Kind::Own);
        }
    }
    result
}

fn one(fd: c_int, kind: Kind) -> c_int {
    inside::made(fd, kind);
    fd
}

interpose! {
    fn eventfd(_t; count: c_uint, flags: c_int) -> c_int {
        one(real!(eventfd: fn(c_uint, c_int) -> c_int)(count, flags), Kind::Own)
    }
    fn pipe(_t; pair: *mut c_int) -> c_int {
        both(real!(pipe: fn(*mut c_int) -> c_int)(pair), pair)
    }
    fn pipe2(_t; pair: *mut c_int, flags: c_int) -> c_int {
        both(real!(pipe2: fn(*mut c_int, c_int) -> c_int)(pair, flags), pair)
    }
    fn socketpair(_t; domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int {
        both(real!(socketpair: fn(c_int, c_int, c_int, *mut c_int) -> c_int)(domain, kind, protocol, pair), pair)
    }
    fn epoll_create(_t; size: c_int) -> c_int {
        one(real!(epoll_create: fn(c_int) -> c_int)(size), Kind::Epoll)
    }
    fn epoll_create1(_t; flags: c_int) -> c_int {
        one(real!(epoll_create1: fn(c_int) -> c_int)(flags), Kind::Epoll)
    }
    fn dup(_t; from: c_int) -> c_int {
        let fd = real!(dup: fn(c_int) -> c_int)(from);
        inside::copied(from, fd);
        fd
    }
}
