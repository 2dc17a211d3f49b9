//! `daemon`: libc's own forks and ends the parent without passing through anything that stands in front of it, so that
//! the parent's end would not be seen. This one does the same by our own calls.

use super::exits;
use super::fork::fork;
use crate::real::real;
use crate::sys::sys;
use crate::token;
use libc::c_int;

/// Makes the process a daemon: it goes on in a child, in a session of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon(stay: c_int, keep: c_int) -> c_int {
    if !token::active() {
        // SAFETY: the caller's arguments.
        return unsafe { real!(daemon: fn(c_int, c_int) -> c_int)(stay, keep) };
    }
    // SAFETY: as libc's own: the parent ends at once, the child has only this thread; paths are C strings.
    unsafe {
        match fork() {
            -1 => return -1,
            0 => {}
            _ => exits::leave(0),
        }
        if libc::setsid() < 0 {
            return -1;
        }
        if stay == 0 {
            sys!(libc::SYS_chdir, c"/".as_ptr());
        }
        if keep == 0 {
            let null = sys!(libc::SYS_open, c"/dev/null".as_ptr(), libc::O_RDWR, 0i32);
            if null < 0 {
                *libc::__errno_location() = -null as i32;
                return -1;
            }
            for standard in 0..3 {
                sys!(libc::SYS_dup2, null, standard);
            }
            if null > 2 {
                sys!(libc::SYS_close, null);
            }
        }
    }
    0
}
