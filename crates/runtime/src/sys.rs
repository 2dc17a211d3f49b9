//! Raw system calls: the program's `syscall`, `read`, `futex` and so on are ours to interpose, so the
//! runtime never goes through them.

use core::arch::asm;

/// A value that can be passed in a register.
pub trait Word: Copy {
    /// The register's contents.
    fn word(self) -> usize;
}

macro_rules! words { ($($t:ty),*) => { $(impl Word for $t { #[inline(always)] fn word(self) -> usize { self as usize } })* } }
words!(usize, isize, u64, i64, u32, i32);
impl<T> Word for *const T {
    #[inline(always)]
    fn word(self) -> usize {
        self as usize
    }
}
impl<T> Word for *mut T {
    #[inline(always)]
    fn word(self) -> usize {
        self as usize
    }
}

/// A system call; a negative result is `-errno`.
///
/// # Safety
/// As the kernel's call with this number and these arguments.
#[inline(always)]
pub unsafe fn syscall6(n: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let result;
    // SAFETY: the kernel clobbers rcx and r11 only; what else happens is the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") n => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// `sys!(SYS_number, arguments…)`: a raw system call with up to six arguments.
macro_rules! sys {
    ($n:expr $(, $a:expr)*) => { $crate::sys::sys!(@ $n; $($a,)* 0usize, 0usize, 0usize, 0usize, 0usize, 0usize,) };
    (@ $n:expr; $a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr, $($rest:expr,)*) => {
        $crate::sys::syscall6($n as usize, $crate::sys::Word::word($a), $crate::sys::Word::word($b),
            $crate::sys::Word::word($c), $crate::sys::Word::word($d), $crate::sys::Word::word($e),
            $crate::sys::Word::word($f))
    };
}
pub(crate) use sys;

/// Sets `errno`.
pub fn set_errno(error: i32) {
    // SAFETY: glibc gives each thread's errno location.
    unsafe { *libc::__errno_location() = error }
}

/// `errno`.
pub fn errno() -> i32 {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Fails the C way: sets `errno`, returns -1.
pub fn fail(error: i32) -> i32 {
    set_errno(error);
    -1
}

/// A system call's result the C way.
pub fn c_result(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        set_errno(-result as i32);
        return -1;
    }
    result
}

/// Writes a line to standard error.
pub fn say(text: &str) {
    // SAFETY: writes readable bytes.
    unsafe {
        sys!(libc::SYS_write, 2i32, text.as_ptr(), text.len());
        sys!(libc::SYS_write, 2i32, b"\n".as_ptr(), 1usize);
    }
}

/// Ends the process at once.
pub fn exit_group(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { sys!(libc::SYS_exit_group, status) };
    }
}

/// Kernel id of this thread.
pub fn gettid() -> i32 {
    // SAFETY: no arguments.
    unsafe { sys!(libc::SYS_gettid) as i32 }
}

/// Process id.
pub fn getpid() -> i32 {
    // SAFETY: no arguments.
    unsafe { sys!(libc::SYS_getpid) as i32 }
}
