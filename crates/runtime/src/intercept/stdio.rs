//! stdio. `flockfile` is kept in the model only: taken for real it would make other threads block inside
//! libc. Calls that read wait for the descriptor when the buffer is empty and it is a pipe, socket or
//! terminal; what libc reads beyond its first fill blocks with the token held.

use super::{frame, interpose};
use crate::descriptors::{file_type, told, until_ready};
use crate::held::Held;
use crate::observe;
use crate::thread::{FixedState, NEVER, Thread};
use crate::token::{self, me, point, wait};
use crate::wait::Wait;
use alloc::boxed::Box;
use core::arch::global_asm;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use deadheat_model::{LockMode, ObjectKind, Operation};
use hashbrown::HashMap;
use libc::{c_char, c_int, c_uint};

type File = *mut c_void;

const READ_POINTER: usize = 8;
const READ_END: usize = 16;
const DESCRIPTOR: usize = 112;

/// A file's lock in the model: a word that is zero when free, as waiting needs it, owner and count.
struct FileLock {
    word: AtomicI32,
    owner: u32,
    count: u32,
}

static LOCKS: Held<HashMap<u64, Box<FileLock>, FixedState>> = Held::new(HashMap::with_hasher(FixedState));

fn lock_of(file: File) -> &'static mut FileLock {
    let fresh = || {
        Box::new(FileLock {
            word: AtomicI32::new(0),
            owner: 0,
            count: 0,
        })
    };
    LOCKS.get().entry(file as u64).or_insert_with(fresh)
}

fn take(t: &Thread, lock: &mut FileLock) -> bool {
    let free = lock.word.load(Relaxed) == 0;
    if free || lock.owner == t.id.0 {
        lock.word.store(1, Relaxed);
        lock.owner = t.id.0;
        lock.count = if free { 1 } else { lock.count + 1 };
        return true;
    }
    false
}

/// Locks a file for the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flockfile(file: File) {
    let Some(t) = me() else {
        // SAFETY: the real function.
        return unsafe { crate::real::real!(flockfile: fn(File) -> ())(file) };
    };
    t.frame = frame!();
    point(Operation::Continue);
    let lock = lock_of(file);
    while !take(t, lock) {
        wait(
            t,
            Wait::Lock(ObjectKind::SpinLock, &raw const lock.word as u64),
            Operation::Continue,
            NEVER,
        );
    }
    if lock.count == 1 {
        observe::acquired(t.id, ObjectKind::SpinLock, file as u64, LockMode::Write);
    }
    token::progress();
}

/// Gives a file back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn funlockfile(file: File) {
    let Some(t) = me() else {
        // SAFETY: the real function.
        return unsafe { crate::real::real!(funlockfile: fn(File) -> ())(file) };
    };
    t.frame = frame!();
    let lock = lock_of(file);
    if lock.owner == t.id.0 && lock.count > 0 {
        lock.count -= 1;
        if lock.count == 0 {
            observe::released(t.id, ObjectKind::SpinLock, file as u64, LockMode::Write);
            lock.word.store(0, Relaxed);
        }
    }
    point(Operation::Continue);
}

/// Waits until reading from the file will not block at once.
unsafe fn before_read(t: &mut Thread, file: File) {
    // SAFETY: glibc's FILE.
    let (next, end, fd) = unsafe {
        let at = |offset: usize| *file.byte_add(offset).cast::<usize>();
        (
            at(READ_POINTER),
            at(READ_END),
            *file.byte_add(DESCRIPTOR).cast::<c_int>(),
        )
    };
    if next < end || fd < 0 {
        return;
    }
    if !matches!(file_type(fd), libc::S_IFIFO | libc::S_IFSOCK | libc::S_IFCHR) {
        observe::told(t.id, ObjectKind::Descriptor, None);
        return;
    }
    point(Operation::External);
    until_ready(t, fd, libc::POLLIN);
    told(t, fd);
}

macro_rules! readers {
    ($(fn $name:ident($($p:ident: $ty:ty),*) -> $r:ty, $file:expr;)*) => { interpose! { $(
        fn $name(t; $($p: $ty),*) -> $r {
            before_read(t, $file);
            crate::real::real!($name: fn($($ty),*) -> $r)($($p),*)
        }
    )* } };
}

unsafe extern "C" {
    static stdin: File;
}

readers! {
    fn fgets(line: *mut c_char, room: c_int, file: File) -> *mut c_char, file;
    fn __fgets_chk(line: *mut c_char, size: usize, room: c_int, file: File) -> *mut c_char, file;
    fn fgets_unlocked(line: *mut c_char, room: c_int, file: File) -> *mut c_char, file;
    fn fgetc(file: File) -> c_int, file;
    fn getc(file: File) -> c_int, file;
    fn getc_unlocked(file: File) -> c_int, file;
    fn fgetwc(file: File) -> c_uint, file;
    fn getwc(file: File) -> c_uint, file;
    fn getwchar() -> c_uint, stdin;
    fn fgetws(line: *mut i32, room: c_int, file: File) -> *mut i32, file;
    fn getchar() -> c_int, stdin;
    fn getchar_unlocked() -> c_int, stdin;
    fn fread(items: *mut c_void, size: usize, count: usize, file: File) -> usize, file;
    fn __fread_chk(items: *mut c_void, room: usize, size: usize, count: usize, file: File) -> usize, file;
    fn fread_unlocked(items: *mut c_void, size: usize, count: usize, file: File) -> usize, file;
    fn getline(line: *mut *mut c_char, room: *mut usize, file: File) -> isize, file;
    fn getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: File) -> isize, file;
    fn __getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: File) -> isize, file;
    fn __uflow(file: File) -> c_int, file;
}

/// A cookie's functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Functions([usize; 4]);

interpose! {
    // Its functions are the program's own, and run under the lock that each call in libc takes, which is not seen.
    fn fopencookie(_t; cookie: *mut c_void, mode: *const c_char, functions: Functions) -> File {
        crate::unordered::stop();
        crate::real::real!(fopencookie: fn(*mut c_void, *const c_char, Functions) -> File)(cookie, mode, functions)
    }
    fn ftrylockfile(t; file: File) -> c_int {
        point(Operation::Continue);
        let lock = lock_of(file);
        if !take(t, lock) {
            return libc::EBUSY;
        }
        if lock.count == 1 {
            observe::acquired(t.id, ObjectKind::SpinLock, file as u64, LockMode::Write);
        }
        0
    }
}

/// Called by the forwarders below: waits if need be, gives the real function's address.
unsafe extern "C" fn dh_before_scan(file: File, name: *const c_char) -> usize {
    if let Some(t) = me() {
        t.frame = frame!();
        // SAFETY: the file of the caller of `fscanf`, or standard input.
        unsafe { before_read(t, if file.is_null() { stdin } else { file }) };
    }
    // SAFETY: a literal below.
    crate::real::resolve(unsafe { CStr::from_ptr(name) })
}

/// Variadic functions: registers are kept, the real function is jumped to. `$file` loads the file.
macro_rules! forwarders {
    ($($name:literal, $file:literal;)*) => { $( global_asm!(
        concat!(".globl ", $name), concat!(".type ", $name, ",@function"), concat!($name, ":"),
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
        $file, "lea rsi, [rip + 771f]", "call {before}", "mov r11, rax",
        "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "jmp r11",
        concat!("771: .asciz \"", $name, "\""),
        before = sym dh_before_scan,
    ); )* };
}

forwarders! {
    "scanf", "xor edi, edi";
    "__isoc99_scanf", "xor edi, edi";
    "vscanf", "xor edi, edi";
    "__isoc99_vscanf", "xor edi, edi";
    "fscanf", "nop";
    "__isoc99_fscanf", "nop";
    "vfscanf", "nop";
    "__isoc99_vfscanf", "nop";
}
