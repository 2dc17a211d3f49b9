//! A server of runs: the program, linked and not yet begun, forks a process for each run.
//!
//! What a run costs beyond its own work is mostly start: namespaces, mounts, exec, the loader. A program that is
//! stopped at the start of its `.preinit_array` has that behind it, and has run no code of its own but the resolvers of
//! indirect functions. (AFL's fork server stops there too; ours keeps the run's processes together as a supervisor
//! does, see `confirm::processes`, and hands each run its own files and environment.)
//!
//! Invariants: the server asks for no memory and works on a stack of its own, so that a run's process finds its memory,
//! its stack below the present frame, its mappings and its descriptors as a program does that was started by itself.
//! All signals but [`TOOL_ENDED`] are blocked in the server: what the program sends to its process group is for the
//! program. A server that is killed takes its run with it.

use crate::real::real;
use crate::sys::{exit_group, getpid, say, sys};
use core::arch::asm;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use deadheat_wire::plan::{PLAN_VARIABLE, RECORD_VARIABLE};
use deadheat_wire::server::{HELLO, LONGEST, MAGIC, NOTE, SOCKET};
use libc::c_char;

/// Tells the server that the tool was killed, as in `confirm::processes`.
const TOOL_ENDED: i32 = 63;
/// Where the server's stack lies: far from the program's own mappings.
const STACK_AT: usize = 0x1300_0000_0000;
const STACK_SIZE: usize = 64 << 10;
/// Longest path of a file in a run's directory.
const LONGEST_PATH: usize = LONGEST + 16;

/// The tool's process id.
static TOOL: AtomicI32 = AtomicI32::new(0);

/// An environment, as the loader gives it.
type Environment = *const *const c_char;

/// Whether this process is to be a server; `path` is that of the plan and ends in NUL.
pub fn asked(path: &[u8]) -> bool {
    let mut begins = [0u8; MAGIC.len()];
    // SAFETY: plain file calls on a buffer of ours.
    unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0i32);
        if fd < 0 {
            return false;
        }
        sys!(libc::SYS_read, fd, begins.as_mut_ptr(), begins.len());
        sys!(libc::SYS_close, fd);
    }
    begins == MAGIC
}

/// Serves until the tool is gone. Returns in the process of a run, which goes on as if it had been started by itself.
pub fn begin(environment: Environment) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces nothing; the stack is 16-byte aligned at the call, and the old one is not
    // touched until the call has returned, in a process that then has no use for the new one.
    unsafe {
        let stack = sys!(libc::SYS_mmap, STACK_AT, STACK_SIZE, 3i32, flags, -1i32, 0usize);
        if stack != STACK_AT as isize {
            exit_group(crate::start::REFUSED);
        }
        asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {serve}",
            "mov rsp, r12",
            top = in(reg) STACK_AT + STACK_SIZE,
            serve = sym serve,
            in("rdi") environment,
            out("r12") _,
            clobber_abi("C"),
        );
        sys!(libc::SYS_munmap, STACK_AT, STACK_SIZE);
    }
}

/// What the server changed of its own signals and a run's process puts back.
struct Before {
    mask: u64,
    action: libc::sigaction,
}

unsafe extern "C" fn serve(environment: Environment) {
    // SAFETY: system calls on buffers of this frame, in a process of one thread; the functions of the C library that are
    // asked for are those of `sigaction` and `_Fork`, which ask for no memory.
    unsafe {
        TOOL.store(sys!(libc::SYS_getppid) as i32, Relaxed);
        let own = getpid();
        sys!(libc::SYS_prctl, libc::PR_SET_CHILD_SUBREAPER, 1i32, 0i32, 0i32, 0i32);
        let mut before = Before {
            mask: 0,
            action: core::mem::zeroed(),
        };
        let all = !(1u64 << (TOOL_ENDED - 1));
        sys!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const all,
            &raw mut before.mask,
            8usize
        );
        let set = real!(sigaction: fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32);
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = tool_ended as *const () as usize;
        set(TOOL_ENDED, &action, &raw mut before.action);
        sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, TOOL_ENDED, 0i32, 0i32, 0i32);
        hold_pages();
        crate::switching::Registers::can_be_exchanged();
        let fork = real!(_Fork: fn() -> i32);
        answer(&HELLO);
        let mut request = [0u8; LONGEST];
        loop {
            let Some((directory, input)) = asked_for(&mut request) else {
                exit_group(0)
            };
            let pid = fork();
            if pid == 0 {
                set(TOOL_ENDED, &before.action, core::ptr::null_mut());
                begin_run(environment, directory, input, own, before.mask);
                return;
            }
            if pid < 0 {
                // The tool starts the run by itself, and says what is amiss.
                exit_group(crate::start::REFUSED);
            }
            note(pid);
            let status = ended(pid);
            note(0);
            answer(&status.to_ne_bytes());
        }
    }
}

/// Code and constants of which the server holds the pages, at most.
const MOST_HELD: usize = 8 << 20;

/// Sees to it that a run's process gets the pages of code and constants with the fork, not one by one by faults. The
/// kernel copies the page tables of a mapping only if that has pages of its own: each gets one, with what it held.
fn hold_pages() {
    let mut left = MOST_HELD;
    // SAFETY: a path with its end; a byte is written over itself, in a mapping of which pages are private.
    unsafe {
        let memory = sys!(
            libc::SYS_open,
            c"/proc/self/mem".as_ptr(),
            libc::O_RDWR | libc::O_CLOEXEC
        );
        if memory < 0 {
            return;
        }
        crate::memory::constant_mappings(|range| {
            let (start, length) = (range.start as usize, (range.end - range.start) as usize);
            if length <= left {
                left -= length;
                sys!(libc::SYS_pwrite64, memory, start, 1usize, start);
                sys!(libc::SYS_madvise, start, length, libc::MADV_POPULATE_READ);
            }
        });
        sys!(libc::SYS_close, memory);
    }
}

/// Sends to the tool.
fn answer(bytes: &[u8]) {
    // SAFETY: readable bytes. If the tool is gone, the next look for a request says so.
    unsafe {
        sys!(
            libc::SYS_sendto,
            SOCKET,
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            0usize,
            0usize
        )
    };
}

/// Tells which process the run's first is.
fn note(pid: i32) {
    // SAFETY: four readable bytes.
    unsafe { sys!(libc::SYS_pwrite64, NOTE, &raw const pid, 4usize, 0usize) };
}

/// Fills a buffer from the tool; whether all of it came.
fn receive(buffer: &mut [u8]) -> bool {
    let mut have = 0;
    while have < buffer.len() {
        // SAFETY: the rest of the buffer.
        let got = unsafe {
            let (to, room) = (buffer.as_mut_ptr().add(have), buffer.len() - have);
            sys!(libc::SYS_recvfrom, SOCKET, to, room, libc::MSG_WAITALL, 0usize, 0usize)
        };
        match got {
            1.. => have += got as usize,
            _ if got == -(libc::EINTR as isize) => {}
            _ => return false,
        }
    }
    true
}

/// The next run's directory, without its NUL, and the path of its standard input, with it; none if there is no more.
fn asked_for(buffer: &mut [u8; LONGEST]) -> Option<(&[u8], &[u8])> {
    let mut length = [0u8; 4];
    if !receive(&mut length) {
        return None;
    }
    let text = buffer.get_mut(..u32::from_ne_bytes(length) as usize)?;
    if !receive(text) || text.last() != Some(&0) {
        return None;
    }
    let end = text.iter().position(|byte| *byte == 0)?;
    let (directory, input) = (text.get(..end)?, text.get(end + 1..)?);
    (!input.is_empty()).then_some((directory, input))
}

/// Waits until all processes of a run are gone; the status of the first.
fn ended(first: i32) -> i32 {
    let (mut status, mut last) = (0i32, 0i32);
    loop {
        // SAFETY: a buffer of this frame.
        let gone = unsafe { sys!(libc::SYS_wait4, -1i32, &raw mut last, 0i32, 0usize) };
        if gone == first as isize {
            status = last;
        } else if gone == -(libc::ECHILD as isize) {
            return status;
        }
    }
}

/// Makes a process that was just forked one that was started by itself with the files of its run.
///
/// # Safety
/// The environment is the process's own.
unsafe fn begin_run(environment: Environment, directory: &[u8], input: &[u8], server: i32, mask: u64) {
    // SAFETY: system calls on buffers of this frame.
    unsafe {
        sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0i32, 0i32, 0i32);
        if sys!(libc::SYS_getppid) as i32 != server {
            exit_group(crate::start::REFUSED);
        }
        let both = libc::O_RDWR;
        let made = open_as(0, input, b"", libc::O_RDONLY)
            && open_as(1, directory, b"/stdout\0", both)
            && open_as(2, directory, b"/stderr\0", both)
            && name(environment, directory);
        if !made {
            say("deadheat: the files of the run cannot be opened");
            exit_group(crate::start::REFUSED);
        }
        sys!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            0usize,
            8usize
        );
    }
}

/// Opens a file, whose path has two parts and ends in NUL, under this number.
fn open_as(number: i32, first: &[u8], second: &[u8], flags: i32) -> bool {
    let mut path = [0u8; LONGEST_PATH];
    let Some(whole) = path.get_mut(..first.len() + second.len()) else {
        return false;
    };
    let (start, end) = whole.split_at_mut(first.len());
    start.copy_from_slice(first);
    end.copy_from_slice(second);
    // SAFETY: plain file calls on a path of ours.
    unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), flags | libc::O_CLOEXEC, 0i32);
        if fd < 0 {
            return false;
        }
        let made = sys!(libc::SYS_dup2, fd, number);
        sys!(libc::SYS_close, fd);
        made >= 0
    }
}

/// Puts the run's directory into the environment, in the place of the server's; whether all three paths were there.
///
/// # Safety
/// The environment is the process's own, and nobody else looks at it.
unsafe fn name(mut environment: Environment, directory: &[u8]) -> bool {
    let mut named = 0;
    // SAFETY: ends in a null pointer; strings end in NUL and are writable.
    unsafe {
        while !(*environment).is_null() {
            let text = crate::bytes::c_string(*environment);
            for variable in [PLAN_VARIABLE, RECORD_VARIABLE, "TMPDIR"] {
                let value = text
                    .strip_prefix(variable.as_bytes())
                    .and_then(|v| v.strip_prefix(b"="));
                if value.is_some_and(|v| v.get(directory.len()) == Some(&b'/')) {
                    let to = (*environment).cast_mut().cast::<u8>().add(variable.len() + 1);
                    core::ptr::copy_nonoverlapping(directory.as_ptr(), to, directory.len());
                    named += 1;
                }
            }
            environment = environment.add(1);
        }
    }
    named == 3
}

/// Ends all that descends from the server, and the server: what loses its parent becomes its child. A signal that comes
/// because a thread of the tool ended, not the tool, means nothing.
extern "C" fn tool_ended(_signal: i32) {
    // SAFETY: system calls on buffers of this frame.
    unsafe {
        if sys!(libc::SYS_getppid) as i32 == TOOL.load(Relaxed) {
            return;
        }
        loop {
            let path = c"/proc/thread-self/children".as_ptr();
            let fd = sys!(libc::SYS_open, path, libc::O_RDONLY | libc::O_CLOEXEC, 0i32);
            let mut text = [0u8; 4096];
            let got = sys!(libc::SYS_read, fd, text.as_mut_ptr(), text.len());
            sys!(libc::SYS_close, fd);
            // A number that the buffer's end cuts is left for the next round.
            let mut number = 0;
            for byte in text.iter().take(got.max(0) as usize) {
                if byte.is_ascii_digit() {
                    number = number * 10 + i32::from(byte - b'0');
                } else if number > 0 {
                    sys!(libc::SYS_kill, number, libc::SIGKILL);
                    number = 0;
                }
            }
            if sys!(libc::SYS_wait4, -1i32, 0usize, 0i32, 0usize) == -(libc::ECHILD as isize) {
                exit_group(1);
            }
        }
    }
}
