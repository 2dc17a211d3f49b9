//! Standard input and files that are input: which these are, and what the program reads of them.
//!
//! A file is input if it is a regular one that lies in the working directory or that the plan names, was not written since
//! the run began, is no larger than the plan's bound, and is opened for reading alone. Which one a descriptor is
//! of is asked of the kernel at each read, so that whoever opens, duplicates or closes it need not be followed. Files are
//! named as the tool finds them: relative to the working directory, or absolute.

use super::addresses::symbol;
use super::memory;
use super::nodes::{self, apply, constant, constrain, on};
use super::sources::{symbolic, tell, word};
use super::touches;
use crate::held::Held;
use crate::sys::sys;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use deadheat_wire::trace::{self, constraint, op, source};
use libc::{c_char, c_int, iovec};

/// Files of one run that are input.
const MOST: usize = 16;
/// Longest name.
const NAME: usize = 4096;

/// What was decided of a file.
struct Known {
    file: (u64, u64),
    /// 0 if it is no input.
    source: u32,
    longest: u32,
}

struct Files {
    /// When the run began, by the clock that stamps files.
    began: (i64, i64),
    /// The working directory of then.
    directory: Vec<u8>,
    standard_input: Option<(u64, u64)>,
    known: Vec<Known>,
    /// Sources whose length is bounded already.
    bounded: Vec<u32>,
    /// Parts of files in memory.
    mapped: Vec<(u64, u64)>,
}

static FILES: Held<Files> = Held::new(Files {
    began: (0, 0),
    directory: Vec::new(),
    standard_input: None,
    known: Vec::new(),
    bounded: Vec::new(),
    mapped: Vec::new(),
});

/// A file that is input, as it is now.
struct Source {
    number: u32,
    size: u32,
    longest: u32,
}

/// At start, single-threaded.
pub fn start() {
    let files = FILES.get();
    files.standard_input = status(0).map(|s| (s.st_dev, s.st_ino));
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let mut name = [0u8; NAME];
    // SAFETY: buffers of ours.
    let length = unsafe {
        sys!(libc::SYS_clock_gettime, libc::CLOCK_REALTIME_COARSE, &raw mut now);
        sys!(libc::SYS_getcwd, name.as_mut_ptr(), NAME)
    };
    files.began = (now.tv_sec, now.tv_nsec);
    // The length counts the terminator.
    files.directory = name[..(length.max(1) - 1) as usize].to_vec();
}

fn status(fd: c_int) -> Option<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the buffer; zeroed it is valid.
    unsafe { (sys!(libc::SYS_fstat, fd, stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
}

/// The source that a descriptor reads from.
fn of(fd: c_int) -> Option<Source> {
    if !on() {
        return None;
    }
    let status = status(fd)?;
    if Some((status.st_dev, status.st_ino)) == FILES.get().standard_input {
        return Some(Source {
            number: source::number(source::STDIN, 0),
            size: u32::try_from(status.st_size).ok()?,
            longest: symbolic()?.longest,
        });
    }
    // SAFETY: asks how it was opened.
    let flags = unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETFL) };
    if flags < 0 || flags as c_int & libc::O_ACCMODE != libc::O_RDONLY {
        return None;
    }
    of_status(fd, &status)
}

fn of_status(fd: c_int, status: &libc::stat) -> Option<Source> {
    let files = FILES.get();
    let is_own = (status.st_mtime, status.st_mtime_nsec) >= files.began;
    if status.st_mode & libc::S_IFMT != libc::S_IFREG || is_own {
        return None;
    }
    let size = u32::try_from(status.st_size).unwrap_or(u32::MAX);
    let file = (status.st_dev, status.st_ino);
    let place = files.known.iter().position(|k| k.file == file).unwrap_or_else(|| {
        let decided = decide(fd, size);
        if decided.is_none() {
            nodes::count(trace::FILES_LEFT_OUT_AT);
        }
        let (source, longest) = decided.unwrap_or((0, 0));
        files.known.push(Known { file, source, longest });
        files.known.len() - 1
    });
    let known = &files.known[place];
    (known.source != 0).then_some(Source {
        number: known.source,
        size,
        longest: known.longest,
    })
}

/// Whether a file that is read for the first time is input: its source and how long it may be.
fn decide(fd: c_int, size: u32) -> Option<(u32, u32)> {
    let symbolic = symbolic()?;
    let files = FILES.get();
    let name = name(fd)?;
    let given = symbolic.files.iter().find(|f| f.0 == name);
    let is_known = given.is_some() || !name.starts_with(b"/");
    let inputs = files.known.iter().filter(|k| k.source != 0).count();
    if !is_known || size > symbolic.largest_file || inputs >= MOST {
        return None;
    }
    let number = source::number(source::FILE, source::hash(&name));
    let longest = given.map_or(size.saturating_add(symbolic.room), |f| f.1);
    tell(number, &name).then_some((number, longest))
}

/// A file's name: from the working directory on, or absolute.
fn name(fd: c_int) -> Option<Vec<u8>> {
    let path = alloc::format!("/proc/self/fd/{fd}\0");
    let mut name = [0u8; NAME];
    // SAFETY: a terminated path and a buffer of ours.
    let length = unsafe { sys!(libc::SYS_readlink, path.as_ptr(), name.as_mut_ptr(), NAME) };
    let name = name.get(..usize::try_from(length).ok()?)?;
    let own = name.strip_prefix(FILES.get().directory.as_slice());
    let within = own.and_then(|rest| rest.strip_prefix(b"/"));
    (length < NAME as isize).then(|| within.unwrap_or(name).to_vec())
}

/// After `read`.
pub fn was_read(fd: c_int, at: *mut u8, got: isize, wanted: usize) {
    if on() && got >= 0 {
        let part = iovec {
            iov_base: at.cast(),
            iov_len: wanted,
        };
        was_read_into(fd, &[part], got);
    }
}

/// After `readv`.
pub fn was_read_into(fd: c_int, parts: &[iovec], got: isize) {
    if !on() || got < 0 {
        return;
    }
    // SAFETY: asks where the descriptor stands.
    let now = unsafe { sys!(libc::SYS_lseek, fd, 0i64, libc::SEEK_CUR) };
    if now >= got {
        was_read_at(fd, parts, got, (now - got) as i64);
    }
}

/// After `pread` and `preadv`.
pub fn was_read_at(fd: c_int, parts: &[iovec], got: isize, offset: i64) {
    if !on() || got < 0 || offset < 0 {
        return;
    }
    let Some(source) = of(fd) else { return };
    let wanted = parts.iter().map(|p| p.iov_len).sum::<usize>();
    let (got, mut done) = (got as usize, 0);
    for part in parts {
        let here = part.iov_len.min(got - done);
        mark(&source, offset as u64 + done as u64, part.iov_base as u64, here);
        done += here;
    }
    ends(&source, offset as u64, got, wanted);
}

/// A file was mapped.
pub fn mapped(fd: c_int, address: u64, len: usize, offset: i64) {
    if !on() || fd < 0 || offset < 0 {
        return;
    }
    let Some(source) = of(fd) else { return };
    let there = u64::from(source.size).saturating_sub(offset as u64).min(len as u64);
    mark(&source, offset as u64, address, there as usize);
    FILES.get().mapped.push((address, there));
}

/// Memory is given back.
pub fn unmapped(address: u64, len: usize) {
    if !on() {
        return;
    }
    let end = address.saturating_add(len as u64);
    FILES.get().mapped.retain(|(start, len)| {
        let is_gone = *start >= address && *start < end;
        if is_gone {
            memory::clear(*start, *len);
        }
        !is_gone
    });
}

/// Bytes of a source from `offset` on lie at `at` now.
fn mark(source: &Source, offset: u64, at: u64, len: usize) {
    if offset + len as u64 > u64::from(u32::MAX >> 1) {
        return;
    }
    for n in 0..len as u64 {
        // SAFETY: the bytes were just read there.
        let value = unsafe { *((at + n) as *const u8) };
        memory::set(at + n, symbol(source.number, (offset + n) as u32, value));
    }
    touches::written(at, len as u64, 0);
}

/// The expression of a source's length.
fn length(source: &Source) -> (u32, u32) {
    let (kind, low) = source::split(source.number);
    let kind = if kind == source::STDIN {
        source::STDIN_LENGTH
    } else {
        source::FILE_LENGTH
    };
    let own = source::number(kind, low);
    let whole = word(own, 0, &source.size.to_le_bytes());
    let bounded = &mut FILES.get().bounded;
    if !bounded.contains(&own) {
        bounded.push(own);
        let within = source.size <= source.longest;
        let most = constant(source.longest.into(), 32);
        let bounded = apply(op::ULE, 1, (whole, most, 0), within.into());
        constrain(own.into(), bounded, within, constraint::ASSUMED);
    }
    (own, whole)
}

/// Of `wanted` bytes from `offset` on there were `got`: each of the bytes by which the length may change is there, and
/// none behind them if they were fewer than wanted. One question a byte, however many are read at a time, so that
/// inputs of different lengths go the same way up to the end of the shorter one.
fn ends(source: &Source, offset: u64, got: usize, wanted: usize) {
    let Ok(end) = u32::try_from(offset + got as u64) else {
        return;
    };
    let (own, whole) = length(source);
    let mut ask = |at: u32| {
        let holds = source.size > at;
        let more = apply(op::UGT, 1, (whole, constant(at.into(), 32), 0), holds.into());
        constrain(own.into(), more, holds, constraint::LENGTH);
    };
    let room = symbolic().map_or(0, |s| s.room).saturating_mul(2);
    let from = (offset as u32).max(source.longest.saturating_sub(room).min(end.saturating_sub(1)));
    (from..end).for_each(&mut ask);
    if got < wanted {
        ask(end);
    }
}

/// The size of a source, in 64 bits at `at`, gets its expression.
fn sized(source: &Source, at: u64) {
    let (_, whole) = length(source);
    let wide = apply(op::ZERO_EXTEND, 64, (whole, 0, 0), source.size.into());
    memory::store(at, 64, wide, source.size.into());
}

// ---- what models call

#[unsafe(no_mangle)]
extern "C" fn dh_sym_is_source(fd: c_int) -> c_int {
    of(fd).is_some().into()
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_streamed(fd: c_int, offset: i64, at: u64, got: usize, wanted: usize) {
    if let Some(source) = of(fd).filter(|_| offset >= 0) {
        mark(&source, offset as u64, at, got);
        ends(&source, offset as u64, got, wanted);
    }
}

/// Whether a descriptor reads input that is so long; `size` is that then, with its expression.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_ends_at(fd: c_int, offset: i64, size: *mut i64) -> c_int {
    let source = of(fd).filter(|s| offset == i64::from(s.size));
    if let Some(source) = &source {
        // SAFETY: the model's variable.
        unsafe { size.write(offset) };
        sized(source, size as u64);
    }
    source.is_some().into()
}

/// After `stat` and its kin, by descriptor or by path: the size gets its expression.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_status(fd: c_int, path: *const c_char, status: *mut libc::stat) {
    if !on() {
        return;
    }
    let opened = if path.is_null() {
        fd
    } else {
        // SAFETY: the caller's path.
        unsafe {
            sys!(
                libc::SYS_open,
                path,
                libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK,
                0i32
            ) as c_int
        }
    };
    if opened < 0 {
        return;
    }
    if let Some(source) = of(opened) {
        // SAFETY: the caller's structure, just filled in.
        let at = unsafe { &raw mut (*status).st_size };
        sized(&source, at as u64);
    }
    if !path.is_null() {
        // SAFETY: opened above.
        unsafe { sys!(libc::SYS_close, opened) };
    }
}
