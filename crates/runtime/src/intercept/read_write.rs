//! `read`, `write` and their vector forms.
//!
//! A blocking call waits in the model until it would not block. Blocking writes to pipes and stream sockets
//! go in small pieces with waits between. Writes to descriptors 0 to 2 keep the token and may block in the
//! kernel: otherwise the speed of whoever reads the output would become an input of the schedule.

use super::interpose;
use crate::concolic::files as input;
use crate::descriptors::{Gate, contents, file_type, nonblocking, tells, told, until_ready};
use crate::observe;
use crate::sys::{c_result, fail, sys};
use crate::thread::Thread;
use crate::token::{point, progress};
use core::ffi::c_void;
use deadheat_model::{ObjectKind, Operation};
use libc::{c_int, c_uint, iovec};

/// What a pipe takes at once.
const PIECE: usize = 4096;
const LAST_STANDARD: c_int = 2;

/// Whether calls on this kind of file may block.
fn may_block(fd: c_int) -> bool {
    !matches!(file_type(fd), libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK)
}

/// Makes a call that reads, when it would not block.
pub fn reads(t: &mut Thread, fd: c_int, call: impl FnOnce() -> isize) -> isize {
    if !may_block(fd) {
        return c_result(contents(t, fd, false, call));
    }
    point(Operation::External);
    match until_ready(t, fd, libc::POLLIN) {
        Gate::Open => {}
        Gate::Interrupted => return fail(libc::EINTR) as isize,
        Gate::TimedOut => return fail(libc::EAGAIN) as isize,
    }
    let result = call();
    crate::peer::stirred();
    if result > 0 {
        crate::peer::busy();
        progress();
    }
    told(t, fd);
    c_result(result)
}

/// Makes a call that writes `len` bytes, piece by piece if it may block; `call` gets offset and length.
pub fn writes(t: &mut Thread, fd: c_int, len: usize, pieces: bool, call: impl Fn(usize, usize) -> isize) -> isize {
    progress();
    if fd <= LAST_STANDARD {
        return c_result(call(0, len));
    }
    if !may_block(fd) {
        return c_result(contents(t, fd, true, || call(0, len)));
    }
    point(Operation::External);
    tells(t, fd);
    let piece = if pieces && !nonblocking(fd) { PIECE } else { len.max(1) };
    let mut done = 0;
    loop {
        let error = match until_ready(t, fd, libc::POLLOUT) {
            Gate::Open => 0,
            Gate::Interrupted => libc::EINTR,
            Gate::TimedOut => libc::EAGAIN,
        };
        crate::peer::stirred();
        let result = if error == 0 {
            call(done, piece.min(len - done))
        } else {
            -error as isize
        };
        if result < 0 {
            // That nobody reads any more, say.
            told(t, fd);
            return if done > 0 { done as isize } else { c_result(result) };
        }
        done += result as usize;
        // That there is room may be a reader's doing.
        observe::told(t.id, ObjectKind::Descriptor, None);
        if !pieces || done >= len || nonblocking(fd) {
            point(Operation::Continue);
            return done as isize;
        }
    }
}

/// Makes a call that moves data from one descriptor to another, when there are some; it waits for room in the kernel.
fn moves(t: &mut Thread, from: c_int, to: c_int, call: impl FnOnce() -> isize) -> isize {
    tells(t, to);
    if may_block(to) {
        point(Operation::External);
        match until_ready(t, to, libc::POLLOUT) {
            Gate::Open => {}
            Gate::Interrupted => return fail(libc::EINTR) as isize,
            Gate::TimedOut => return fail(libc::EAGAIN) as isize,
        }
    }
    reads(t, from, call)
}

/// Whether writes may go in pieces: pipes, stream sockets, terminals.
fn in_pieces(fd: c_int) -> bool {
    match file_type(fd) {
        libc::S_IFIFO => true,
        libc::S_IFSOCK => stream(fd),
        _ => false,
    }
}

/// Whether a socket is a stream.
pub fn stream(fd: c_int) -> bool {
    let (mut kind, mut len): (c_int, u32) = (0, 4);
    // SAFETY: the kernel fills four bytes.
    unsafe {
        sys!(
            libc::SYS_getsockopt,
            fd,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            &raw mut kind,
            &raw mut len
        )
    };
    kind == libc::SOCK_STREAM
}

interpose! {
    fn read(t; fd: c_int, buffer: *mut c_void, len: usize) -> isize {
        if super::files::is_random(fd) {
            super::random::fill(buffer, len);
            return len as isize;
        }
        let got = reads(t, fd, || sys!(libc::SYS_read, fd, buffer, len));
        if got == size_of::<u64>() as isize {
            crate::timers::was_read(fd);
        }
        input::was_read(fd, buffer.cast(), got, len);
        got
    }
    fn __read_chk(_t; fd: c_int, buffer: *mut c_void, len: usize, _room: usize) -> isize { read(fd, buffer, len) }
    fn readv(t; fd: c_int, vector: *const iovec, count: c_int) -> isize {
        let got = reads(t, fd, || sys!(libc::SYS_readv, fd, vector, count));
        if got > 0 {
            input::was_read_into(fd, core::slice::from_raw_parts(vector, count as usize), got);
        }
        got
    }
    fn pread(t; fd: c_int, buffer: *mut c_void, len: usize, offset: i64) -> isize {
        let got = c_result(contents(t, fd, false, || sys!(libc::SYS_pread64, fd, buffer, len, offset)));
        input::was_read_at(fd, &[iovec { iov_base: buffer, iov_len: len }], got, offset);
        got
    }
    fn pread64(_t; fd: c_int, buffer: *mut c_void, len: usize, offset: i64) -> isize { pread(fd, buffer, len, offset) }
    fn __pread_chk(_t; fd: c_int, buffer: *mut c_void, len: usize, offset: i64, _room: usize) -> isize {
        pread(fd, buffer, len, offset)
    }
    fn __pread64_chk(_t; fd: c_int, buffer: *mut c_void, len: usize, offset: i64, _room: usize) -> isize {
        pread(fd, buffer, len, offset)
    }
    fn preadv(t; fd: c_int, vector: *const iovec, count: c_int, offset: i64) -> isize {
        let got = c_result(contents(t, fd, false, || sys!(libc::SYS_preadv, fd, vector, count, offset, 0usize)));
        if got > 0 {
            input::was_read_at(fd, core::slice::from_raw_parts(vector, count as usize), got, offset);
        }
        got
    }
    fn preadv64(_t; fd: c_int, vector: *const iovec, count: c_int, offset: i64) -> isize {
        preadv(fd, vector, count, offset)
    }
    fn pwrite(t; fd: c_int, buffer: *const c_void, len: usize, offset: i64) -> isize {
        c_result(contents(t, fd, true, || sys!(libc::SYS_pwrite64, fd, buffer, len, offset)))
    }
    fn pwrite64(_t; fd: c_int, buffer: *const c_void, len: usize, offset: i64) -> isize {
        pwrite(fd, buffer, len, offset)
    }
    fn pwritev(t; fd: c_int, vector: *const iovec, count: c_int, offset: i64) -> isize {
        c_result(contents(t, fd, true, || sys!(libc::SYS_pwritev, fd, vector, count, offset, 0usize)))
    }
    fn pwritev64(_t; fd: c_int, vector: *const iovec, count: c_int, offset: i64) -> isize {
        pwritev(fd, vector, count, offset)
    }
    fn write(t; fd: c_int, buffer: *const c_void, len: usize) -> isize {
        let pieces = len > PIECE && in_pieces(fd);
        writes(t, fd, len, pieces, |at, n| sys!(libc::SYS_write, fd, buffer.byte_add(at), n))
    }
    fn writev(t; fd: c_int, vector: *const iovec, count: c_int) -> isize {
        let parts = core::slice::from_raw_parts(vector, count.clamp(0, 1024) as usize);
        let len = parts.iter().map(|p| p.iov_len).sum::<usize>();
        if len > PIECE && fd > LAST_STANDARD && in_pieces(fd) && !nonblocking(fd) {
            // Part by part: a pipe gives no more promise than that beyond its atomic size.
            let mut done = 0;
            for part in parts.iter().filter(|p| p.iov_len > 0) {
                let written = write(fd, part.iov_base, part.iov_len);
                if written < 0 {
                    return if done > 0 { done } else { written };
                }
                done += written;
                if written < part.iov_len as isize {
                    break;
                }
            }
            return done;
        }
        writes(t, fd, len, false, |_, _| sys!(libc::SYS_writev, fd, vector, count))
    }
    fn eventfd_read(_t; fd: c_int, value: *mut u64) -> c_int {
        if read(fd, value.cast(), size_of::<u64>()) == size_of::<u64>() as isize { 0 } else { -1 }
    }
    fn eventfd_write(_t; fd: c_int, value: u64) -> c_int {
        if write(fd, (&raw const value).cast(), size_of::<u64>()) == size_of::<u64>() as isize { 0 } else { -1 }
    }
    fn sendfile(t; to: c_int, from: c_int, offset: *mut i64, len: usize) -> isize {
        moves(t, from, to, || sys!(libc::SYS_sendfile, to, from, offset, len))
    }
    fn sendfile64(t; to: c_int, from: c_int, offset: *mut i64, len: usize) -> isize {
        moves(t, from, to, || sys!(libc::SYS_sendfile, to, from, offset, len))
    }
    fn splice(t; from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, len: usize, flags: c_uint) -> isize {
        moves(t, from, to, || sys!(libc::SYS_splice, from, from_offset, to, to_offset, len, flags))
    }
    fn tee(t; from: c_int, to: c_int, len: usize, flags: c_uint) -> isize {
        moves(t, from, to, || sys!(libc::SYS_tee, from, to, len, flags))
    }
    fn vmsplice(t; fd: c_int, vector: *const iovec, count: usize, flags: c_uint) -> isize {
        writes(t, fd, 1, false, |_, _| sys!(libc::SYS_vmsplice, fd, vector, count, flags))
    }
}
