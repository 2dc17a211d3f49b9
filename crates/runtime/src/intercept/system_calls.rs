//! System calls by number, as `syscall` makes them: those that block or that the model keeps state of go the way of
//! the library's function of the same name. All others go to the kernel.

use super::{
    children, clocks, exits, file_locks, files, masks, poll, read_write, signal_calls, signal_waits, sleep, sockets,
    timers,
};
use crate::processor;
use crate::sys::sys;
use core::ffi::c_void;
use libc::{c_int, c_long};

/// The result, with `errno` set, of a call that is modelled.
///
/// # Safety
/// As the kernel's call with this number and these arguments.
pub unsafe fn modelled(number: c_long, arguments: [usize; 6]) -> Option<isize> {
    let [a, b, c, d, e, f] = arguments;
    let (fd, at) = (a as c_int, b as *mut c_void);
    // SAFETY: the caller's arguments, which have these types for these numbers.
    Some(unsafe {
        match number {
            libc::SYS_read => read_write::read(fd, at, c),
            libc::SYS_write => read_write::write(fd, at, c),
            libc::SYS_readv => read_write::readv(fd, at.cast(), c as c_int),
            libc::SYS_writev => read_write::writev(fd, at.cast(), c as c_int),
            libc::SYS_close => files::close(fd) as isize,
            libc::SYS_recvfrom => sockets::recvfrom(fd, at, c, d as c_int, e as *mut c_void, f as *mut u32),
            libc::SYS_sendto => sockets::sendto(fd, at, c, d as c_int, e as *const c_void, f as u32),
            libc::SYS_recvmsg => sockets::recvmsg(fd, at, c as c_int),
            libc::SYS_sendmsg => sockets::sendmsg(fd, at, c as c_int),
            libc::SYS_accept => sockets::accept(fd, at, c as *mut u32) as isize,
            libc::SYS_accept4 => sockets::accept4(fd, at, c as *mut u32, d as c_int) as isize,
            libc::SYS_connect => sockets::connect(fd, at, c as u32) as isize,
            libc::SYS_poll => poll::poll(a as *mut libc::pollfd, b as u64, c as c_int) as isize,
            libc::SYS_ppoll => poll::ppoll(a as *mut libc::pollfd, b as u64, c as *const _, d as *const u64) as isize,
            libc::SYS_select => poll::select(fd, b as *mut u64, c as *mut u64, d as *mut u64, e as *const _) as isize,
            libc::SYS_epoll_wait => poll::epoll_wait(fd, at.cast(), c as c_int, d as c_int) as isize,
            libc::SYS_epoll_pwait => poll::epoll_pwait(fd, at.cast(), c as c_int, d as c_int, e as *const u64) as isize,
            libc::SYS_epoll_pwait2 => {
                poll::epoll_pwait2(fd, at.cast(), c as c_int, d as *const _, e as *const u64) as isize
            }
            libc::SYS_pselect6 => {
                // The mask and its size, or nothing.
                let mask = (f as *const *const u64)
                    .as_ref()
                    .map_or(core::ptr::null(), |mask| *mask);
                poll::pselect(fd, b as *mut u64, c as *mut u64, d as *mut u64, e as *const _, mask) as isize
            }
            libc::SYS_nanosleep => sleep::nanosleep(a as *const _, b as *mut _) as isize,
            libc::SYS_clock_nanosleep => {
                let error = sleep::clock_nanosleep(fd, b as c_int, c as *const _, d as *mut _);
                if error == 0 {
                    0
                } else {
                    crate::sys::fail(error) as isize
                }
            }
            libc::SYS_clock_gettime => clocks::clock_gettime(fd, b as *mut _) as isize,
            libc::SYS_timerfd_create => timers::timerfd_create(fd, b as c_int) as isize,
            libc::SYS_timerfd_settime => timers::timerfd_settime(fd, b as c_int, c as *const _, d as *mut _) as isize,
            libc::SYS_timerfd_gettime => timers::timerfd_gettime(fd, b as *mut _) as isize,
            libc::SYS_signalfd4 => signal_waits::signalfd(fd, b as *const u64, d as c_int) as isize,
            libc::SYS_wait4 => children::wait4(fd, b as *mut c_int, c as c_int, d as *mut c_void) as isize,
            libc::SYS_flock => file_locks::flock(fd, b as c_int) as isize,
            libc::SYS_execve | libc::SYS_execveat => {
                if let Some(t) = crate::token::me() {
                    crate::switching::go_home(t);
                }
                let result = processor::lent(|| sys!(number, a, b, c, d, e));
                crate::sys::c_result(result)
            }
            libc::SYS_sched_getaffinity | libc::SYS_sched_setaffinity => return processors(number, fd, b, c),
            libc::SYS_kill => signal_calls::kill(fd, b as c_int) as isize,
            libc::SYS_tgkill => signal_calls::tgkill(fd, b as c_int, c as c_int) as isize,
            libc::SYS_tkill => signal_calls::tgkill(crate::sys::getpid(), fd, b as c_int) as isize,
            libc::SYS_rt_sigprocmask => masks::sigprocmask(fd, b as *const u64, c as *mut u64) as isize,
            libc::SYS_fcntl => file_locks::fcntl(fd, b as c_int, c) as isize,
            libc::SYS_shutdown => sockets::shutdown(fd, b as c_int) as isize,
            libc::SYS_sendfile => read_write::sendfile(fd, b as c_int, c as *mut i64, d),
            libc::SYS_splice => read_write::splice(fd, b as *mut i64, c as c_int, d as *mut i64, e, f as u32),
            libc::SYS_io_uring_setup => {
                // What completes there is read from memory that the kernel shares.
                crate::unordered::stop();
                super::not_modelled("io_uring_setup");
                return None;
            }
            libc::SYS_arch_prctl => {
                if let Some(t) = crate::token::me() {
                    super::segments::comes(t, fd);
                }
                return None;
            }
            libc::SYS_exit_group => exits::_exit(fd),
            _ => return None,
        }
    })
}

/// The kernel's calls about processors: the one that asks returns how many bytes it wrote.
unsafe fn processors(number: c_long, thread: c_int, size: usize, mask: usize) -> Option<isize> {
    if number == libc::SYS_sched_setaffinity {
        processor::release();
        crate::switching::stop();
        return None;
    }
    // SAFETY: the caller's arguments; what succeeds had a mask of so many bytes.
    unsafe {
        let result = sys!(number, thread, size, mask);
        if result > 0 {
            super::processors::tell(thread, mask as *mut u8, result as usize);
        }
        Some(crate::sys::c_result(result))
    }
}
