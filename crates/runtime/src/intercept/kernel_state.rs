//! Calls that change or ask for what the kernel keeps for everybody: names and attributes of files, contents that are
//! read past the stream, identifiers of System V, states of descriptors. Programs make locks of them (`link`, `mkdir`,
//! `bind`) and wait for one another by them (`access`, `FIONREAD`). They run as they are; whoever makes one counts as
//! told by the kernel, whether it succeeds or not.

use super::interpose;
use crate::observe;
use crate::real::real;
use core::ffi::c_void;
use deadheat_model::ObjectKind;
use libc::{c_char, c_int, c_uint, c_ulong, iovec, off_t, size_t, ssize_t};

type Path = *const c_char;
type Buffer = *mut c_void;
type File = *mut c_void;

macro_rules! told {
    ($(fn $name:ident($($p:ident: $ty:ty),*) -> $r:ty;)*) => { interpose! { $(
        fn $name(t; $($p: $ty),*) -> $r {
            let result = real!($name: fn($($ty),*) -> $r)($($p),*);
            observe::told(t.id, ObjectKind::Descriptor, None);
            result
        }
    )* } };
}

told! {
    fn access(path: Path, mode: c_int) -> c_int;
    fn bind(fd: c_int, address: *const c_void, len: c_uint) -> c_int;
    fn creat(path: Path, mode: c_uint) -> c_int;
    fn creat64(path: Path, mode: c_uint) -> c_int;
    fn epoll_ctl(epoll: c_int, what: c_int, fd: c_int, event: Buffer) -> c_int;
    fn faccessat(directory: c_int, path: Path, mode: c_int, flags: c_int) -> c_int;
    fn freopen(path: Path, mode: Path, file: File) -> File;
    fn freopen64(path: Path, mode: Path, file: File) -> File;
    fn fstat(fd: c_int, status: Buffer) -> c_int;
    fn fstat64(fd: c_int, status: Buffer) -> c_int;
    fn fstatat(directory: c_int, path: Path, status: Buffer, flags: c_int) -> c_int;
    fn fstatat64(directory: c_int, path: Path, status: Buffer, flags: c_int) -> c_int;
    fn ftruncate(fd: c_int, len: off_t) -> c_int;
    fn ftruncate64(fd: c_int, len: off_t) -> c_int;
    fn getpeername(fd: c_int, address: Buffer, len: Buffer) -> c_int;
    fn getsockname(fd: c_int, address: Buffer, len: Buffer) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: Buffer, len: Buffer) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, argument: Buffer) -> c_int;
    fn link(from: Path, to: Path) -> c_int;
    fn linkat(from_directory: c_int, from: Path, to_directory: c_int, to: Path, flags: c_int) -> c_int;
    fn lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t;
    fn lseek64(fd: c_int, offset: off_t, whence: c_int) -> off_t;
    fn lstat(path: Path, status: Buffer) -> c_int;
    fn lstat64(path: Path, status: Buffer) -> c_int;
    fn mkdir(path: Path, mode: c_uint) -> c_int;
    fn mkdirat(directory: c_int, path: Path, mode: c_uint) -> c_int;
    fn mkfifo(path: Path, mode: c_uint) -> c_int;
    fn mkfifoat(directory: c_int, path: Path, mode: c_uint) -> c_int;
    fn mq_getattr(queue: c_int, attributes: Buffer) -> c_int;
    fn mq_open(name: Path, flags: c_int, mode: c_uint, attributes: Buffer) -> c_int;
    fn mq_setattr(queue: c_int, new: Buffer, old: Buffer) -> c_int;
    fn mq_unlink(name: Path) -> c_int;
    fn msgctl(queue: c_int, command: c_int, buffer: Buffer) -> c_int;
    fn msgget(key: c_int, flags: c_int) -> c_int;
    fn preadv2(fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t;
    fn preadv64v2(fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t;
    fn pwritev2(fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t;
    fn pwritev64v2(fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t;
    fn readlink(path: Path, buffer: *mut c_char, len: size_t) -> ssize_t;
    fn readlinkat(directory: c_int, path: Path, buffer: *mut c_char, len: size_t) -> ssize_t;
    fn remove(path: Path) -> c_int;
    fn rename(from: Path, to: Path) -> c_int;
    fn renameat(from_directory: c_int, from: Path, to_directory: c_int, to: Path) -> c_int;
    fn renameat2(from_directory: c_int, from: Path, to_directory: c_int, to: Path, flags: c_uint) -> c_int;
    fn rmdir(path: Path) -> c_int;
    fn sem_open(name: Path, flags: c_int, mode: c_uint, value: c_uint) -> Buffer;
    fn sem_unlink(name: Path) -> c_int;
    fn semctl(set: c_int, number: c_int, command: c_int, argument: Buffer) -> c_int;
    fn semget(key: c_int, count: c_int, flags: c_int) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: c_uint) -> c_int;
    fn shm_open(name: Path, flags: c_int, mode: c_uint) -> c_int;
    fn shm_unlink(name: Path) -> c_int;
    fn shmctl(segment: c_int, command: c_int, buffer: Buffer) -> c_int;
    fn shmget(key: c_int, size: size_t, flags: c_int) -> c_int;
    fn stat(path: Path, status: Buffer) -> c_int;
    fn stat64(path: Path, status: Buffer) -> c_int;
    fn statx(directory: c_int, path: Path, flags: c_int, mask: c_uint, status: Buffer) -> c_int;
    fn symlink(target: Path, path: Path) -> c_int;
    fn symlinkat(target: Path, directory: c_int, path: Path) -> c_int;
    fn truncate(path: Path, len: off_t) -> c_int;
    fn truncate64(path: Path, len: off_t) -> c_int;
    fn umask(mask: c_uint) -> c_uint;
    fn unlink(path: Path) -> c_int;
    fn unlinkat(directory: c_int, path: Path, flags: c_int) -> c_int;
}

macro_rules! opens {
    ($($name:ident),*) => { interpose! { $(
        fn $name(t; path: Path, mode: Path) -> File {
            super::thread_state::looks_at(t, path);
            let result = real!($name: fn(Path, Path) -> File)(path, mode);
            observe::told(t.id, ObjectKind::Descriptor, None);
            result
        }
    )* } };
}

opens!(fopen, fopen64);
