//! `dlopen`, `dlclose`, and `dl_iterate_phdr`, whose function runs under the loader's lock. That is a real one, so a
//! thread inside the loader (constructors run there) keeps the token at mere scheduling points, and other threads wait
//! for it in the model.

use super::interpose;
use crate::held::Held;
use crate::images::Visitor;
use crate::real::real;
use crate::sys::sys;
use crate::thread::{NEVER, Thread};
use crate::token::{self, point, wait};
use crate::wait::Wait;
use crate::{images, observe, report, site, start, switching, unordered, unwind};
use alloc::format;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use deadheat_model::{LockMode, ObjectKind, Operation};
use deadheat_wire::record::{Notice, Record};
use libc::{c_char, c_int};

/// Unloaded libraries whose addresses are kept free.
const MOST_KEPT_FREE: u32 = 1024;

/// Unloaded libraries so far.
static KEPT_FREE: Held<u32> = Held::new(0);
static BUSY: AtomicI32 = AtomicI32::new(0);
static OWNER: AtomicU32 = AtomicU32::new(u32::MAX);

/// Runs `call` inside the loader.
fn inside<R>(t: &mut Thread, call: impl FnOnce() -> R) -> R {
    point(Operation::External);
    let nested = OWNER.load(Relaxed) == t.id.0;
    while !nested && BUSY.load(Relaxed) != 0 {
        wait(
            t,
            Wait::Lock(ObjectKind::SpinLock, &raw const BUSY as u64),
            Operation::External,
            NEVER,
        );
    }
    BUSY.fetch_add(1, Relaxed);
    OWNER.store(t.id.0, Relaxed);
    let lock = &raw const BUSY as u64;
    if !nested {
        observe::acquired(t.id, ObjectKind::SpinLock, lock, LockMode::Write);
    }
    t.keep += 1;
    let result = call();
    t.keep -= 1;
    if !nested {
        observe::released(t.id, ObjectKind::SpinLock, lock, LockMode::Write);
    }
    if BUSY.fetch_sub(1, Relaxed) == 1 {
        OWNER.store(u32::MAX, Relaxed);
    }
    result
}

/// Looks at what was loaded.
fn rescan() {
    let images = images::loaded();
    start::self_check(&images);
    start::libraries(&images);
    site::attach_all();
    unwind::modules_changed();
    for library in start::opaque(&images) {
        let why = "it was not built with deadheat".into();
        report::write(&Record::Notice(Notice::Unwatched { library, why }));
        unordered::stop();
        crate::inside::unseen_code();
    }
    token::progress();
}

/// Forgets what was unloaded since `before`: its sites, and what is known of its memory, since another
/// library may be loaded there.
fn unloaded(before: Vec<Range<u64>>) {
    let now = images::extents();
    let gone: Vec<Range<u64>> = before.into_iter().filter(|range| !now.contains(range)).collect();
    site::detach(&gone);
    unwind::modules_changed();
    for range in gone {
        observe::unmapped(range.start, range.end - range.start);
        keep_free(range);
    }
}

/// Lets no other library be loaded where one was: an address stands for one place in the whole run, so that what is told
/// of it has the right name. It costs address space, of which there is enough, and a mapping each.
fn keep_free(range: Range<u64>) {
    const PAGE: u64 = 4096;
    let kept = KEPT_FREE.get();
    *kept += 1;
    if *kept > MOST_KEPT_FREE {
        if *kept == MOST_KEPT_FREE + 1 {
            let text = format!(
                "more than {MOST_KEPT_FREE} libraries were unloaded: where others are loaded in their place, names may be those of the former"
            );
            report::write(&Record::Notice(Notice::Text(text)));
        }
        return;
    }
    let start = range.start / PAGE * PAGE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let len = range.end.next_multiple_of(PAGE) - start;
    // SAFETY: nothing is mapped there: else the call fails, and changes nothing.
    unsafe { sys!(libc::SYS_mmap, start, len, libc::PROT_NONE, flags, -1i32, 0usize) };
}

interpose! {
    fn dlopen(t; file: *const c_char, flags: c_int) -> *mut c_void {
        if !file.is_null() {
            // What is in the library nobody has looked at.
            switching::stop();
            switching::go_home(t);
        }
        // SAFETY: the caller's arguments.
        let handle = inside(t, || unsafe { real!(dlopen: fn(*const c_char, c_int) -> *mut c_void)(file, flags) });
        if !handle.is_null() && !file.is_null() {
            rescan();
        }
        handle
    }
    fn dl_iterate_phdr(t; function: Visitor, data: *mut c_void) -> c_int {
        // SAFETY: the caller's function.
        inside(t, || unsafe { images::each(function, data) })
    }
    fn dlclose(t; handle: *mut c_void) -> c_int {
        inside(t, || {
            let before = images::extents();
            // SAFETY: the caller's handle.
            let result = unsafe { real!(dlclose: fn(*mut c_void) -> c_int)(handle) };
            unloaded(before);
            result
        })
    }
}
