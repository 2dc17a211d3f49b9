//! Sockets: receive, send, accept and connect wait in the model.

use super::interpose;
use super::read_write::{reads, stream, writes};
use crate::descriptors::{Gate, nonblocking, tells, told, until_ready};
use crate::inside;
use crate::observe;
use crate::sys::{c_result, fail, sys};
use crate::thread::{NEVER, Thread};
use crate::token::{point, wait};
use crate::wait::Wait;
use core::ffi::c_void;
use deadheat_model::{ObjectKind, Operation};
use libc::c_int;

/// Calls that never block go straight to the kernel.
fn receive(t: &mut Thread, fd: c_int, flags: c_int, call: impl FnOnce() -> isize) -> isize {
    if flags & libc::MSG_DONTWAIT != 0 {
        point(Operation::External);
        crate::descriptors::settle();
        crate::peer::stirred();
        let result = call();
        told(t, fd);
        return c_result(result);
    }
    reads(t, fd, call)
}

/// Receives until the buffer is full, as `MSG_WAITALL` asks.
unsafe fn receive_all(t: &mut Thread, fd: c_int, buffer: *mut c_void, len: usize, flags: c_int) -> isize {
    let mut done = 0;
    while done < len {
        // SAFETY: the rest of the caller's buffer.
        let part = unsafe { buffer.byte_add(done) };
        // SAFETY: as above.
        let got = reads(t, fd, || unsafe {
            sys!(
                libc::SYS_recvfrom,
                fd,
                part,
                len - done,
                flags & !libc::MSG_WAITALL,
                0usize,
                0usize
            )
        });
        if got <= 0 {
            return if done > 0 { done as isize } else { got };
        }
        done += got as usize;
    }
    done as isize
}

unsafe fn send_to(
    t: &mut Thread,
    fd: c_int,
    data: *const c_void,
    len: usize,
    flags: c_int,
    to: *const c_void,
    to_len: u32,
) -> isize {
    // SAFETY: the caller's data, from an offset within it.
    let call = |at: usize, n: usize| unsafe { sys!(libc::SYS_sendto, fd, data.byte_add(at), n, flags, to, to_len) };
    if flags & libc::MSG_DONTWAIT != 0 {
        point(Operation::External);
        tells(t, fd);
        crate::peer::stirred();
        let result = call(0, len);
        observe::told(t.id, ObjectKind::Descriptor, None);
        return c_result(result);
    }
    writes(t, fd, len, len > 4096 && stream(fd), call)
}

/// Connects without blocking, then waits for the answer.
unsafe fn connect_to(t: &mut Thread, fd: c_int, address: *const c_void, len: u32) -> c_int {
    point(Operation::External);
    // Not yet connected, so its edge is the one that `accept` on a listening socket takes.
    tells(t, fd);
    // SAFETY: the caller's address; flags are put back.
    unsafe {
        if nonblocking(fd) {
            return c_result(sys!(libc::SYS_connect, fd, address, len)) as c_int;
        }
        let flags = sys!(libc::SYS_fcntl, fd, libc::F_GETFL);
        sys!(libc::SYS_fcntl, fd, libc::F_SETFL, flags | libc::O_NONBLOCK as isize);
        let mut result = sys!(libc::SYS_connect, fd, address, len);
        // A full queue of a local socket: try again now and then.
        while result == -(libc::EAGAIN as isize) {
            wait(t, Wait::Retry, Operation::External, NEVER);
            result = sys!(libc::SYS_connect, fd, address, len);
        }
        sys!(libc::SYS_fcntl, fd, libc::F_SETFL, flags);
        if result != -(libc::EINPROGRESS as isize) {
            told(t, fd);
            return c_result(result) as c_int;
        }
        if until_ready(t, fd, libc::POLLOUT) != Gate::Open {
            return fail(libc::EINTR);
        }
        let (mut error, mut size): (c_int, u32) = (0, 4);
        sys!(
            libc::SYS_getsockopt,
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            &raw mut error,
            &raw mut size
        );
        told(t, fd);
        if error == 0 { 0 } else { fail(error) }
    }
}

interpose! {
    fn recv(t; fd: c_int, buffer: *mut c_void, len: usize, flags: c_int) -> isize {
        if flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_DONTWAIT == 0 && stream(fd) && !nonblocking(fd) {
            return receive_all(t, fd, buffer, len, flags);
        }
        receive(t, fd, flags, || sys!(libc::SYS_recvfrom, fd, buffer, len, flags, 0usize, 0usize))
    }
    fn __recv_chk(_t; fd: c_int, buffer: *mut c_void, len: usize, _room: usize, flags: c_int) -> isize {
        recv(fd, buffer, len, flags)
    }
    fn recvfrom(t; fd: c_int, buffer: *mut c_void, len: usize, flags: c_int, from: *mut c_void, from_len: *mut u32) -> isize {
        receive(t, fd, flags, || sys!(libc::SYS_recvfrom, fd, buffer, len, flags, from, from_len))
    }
    fn __recvfrom_chk(t; fd: c_int, buffer: *mut c_void, len: usize, _room: usize, flags: c_int, from: *mut c_void, from_len: *mut u32) -> isize {
        receive(t, fd, flags, || sys!(libc::SYS_recvfrom, fd, buffer, len, flags, from, from_len))
    }
    fn recvmsg(t; fd: c_int, message: *mut c_void, flags: c_int) -> isize {
        receive(t, fd, flags, || sys!(libc::SYS_recvmsg, fd, message, flags))
    }
    fn send(t; fd: c_int, data: *const c_void, len: usize, flags: c_int) -> isize {
        send_to(t, fd, data, len, flags, core::ptr::null(), 0)
    }
    fn sendto(t; fd: c_int, data: *const c_void, len: usize, flags: c_int, to: *const c_void, to_len: u32) -> isize {
        send_to(t, fd, data, len, flags, to, to_len)
    }
    fn sendmsg(t; fd: c_int, message: *const c_void, flags: c_int) -> isize {
        if !(*message.cast::<libc::msghdr>()).msg_control.is_null() {
            // Descriptors may go with it.
            inside::shared();
        }
        if flags & libc::MSG_DONTWAIT != 0 {
            point(Operation::External);
            tells(t, fd);
            crate::peer::stirred();
            let result = sys!(libc::SYS_sendmsg, fd, message, flags);
            observe::told(t.id, ObjectKind::Descriptor, None);
            return c_result(result);
        }
        // Ready for a part is ready enough: the kernel then takes what it can.
        writes(t, fd, 1, false, |_, _| sys!(libc::SYS_sendmsg, fd, message, flags))
    }
    fn recvmmsg(t; fd: c_int, messages: *mut c_void, count: u32, flags: c_int, time: *mut libc::timespec) -> c_int {
        receive(t, fd, flags, || sys!(libc::SYS_recvmmsg, fd, messages, count, flags | libc::MSG_WAITFORONE, time)) as c_int
    }
    fn sendmmsg(t; fd: c_int, messages: *mut c_void, count: u32, flags: c_int) -> c_int {
        inside::shared();
        writes(t, fd, 1, false, |_, _| sys!(libc::SYS_sendmmsg, fd, messages, count, flags)) as c_int
    }
    fn accept(t; fd: c_int, address: *mut c_void, len: *mut u32) -> c_int {
        reads(t, fd, || sys!(libc::SYS_accept, fd, address, len)) as c_int
    }
    fn accept4(t; fd: c_int, address: *mut c_void, len: *mut u32, flags: c_int) -> c_int {
        reads(t, fd, || sys!(libc::SYS_accept4, fd, address, len, flags)) as c_int
    }
    fn shutdown(t; fd: c_int, how: c_int) -> c_int {
        point(Operation::External);
        tells(t, fd);
        crate::peer::stirred();
        c_result(sys!(libc::SYS_shutdown, fd, how)) as c_int
    }
    fn connect(t; fd: c_int, address: *const c_void, len: u32) -> c_int { connect_to(t, fd, address, len) }
}
