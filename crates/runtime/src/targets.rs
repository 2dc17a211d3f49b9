//! What happens when a thread comes to a site that is switched on, and the atomics of detecting bodies.
//!
//! A target of phase 2 asks the scheduler, which may make the thread wait there for another ([`meeting`]);
//! an atomic operation is a scheduling point, a place to notice spin loops, and an event of happens-before.
//! The order is: the scheduler lets the thread go on, then the event takes effect, then the program's own
//! instruction runs; no other thread runs in between. What a compare-exchange did is known only afterwards,
//! so its event waits for its result site.
//!
//! [`meeting`]: crate::meeting

use crate::held::Held;
use crate::site::{self, Site};
use crate::spin::Spin;
use crate::thread::Frame;
use crate::{journal, meeting, observe, quarantine, tls, token, unordered};
use alloc::vec::Vec;
use deadheat_model::{Access, ByteRange, Operation, SiteKind, ThreadId};
use deadheat_wire::object::{FLAG_CSTRING, FLAG_DYNAMIC, FLAG_INEXACT};
use deadheat_wire::plan::Mode;

/// Where a thread is, or was last, at a site.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// What it does there.
    pub access: Access,
    /// The site's frame; its code address is the site's own.
    pub frame: Frame,
    /// What may be read of its stack.
    pub bounds: (u64, u64),
}

#[derive(Clone, Copy, Default)]
struct State {
    place: Option<Place>,
    spin: Spin,
    /// A compare-exchange whose result is not known, and the value before it.
    exchange: Option<(Site, u64, u64)>,
}

struct Targets {
    threads: Vec<State>,
    hits: u64,
}

static TARGETS: Held<Targets> = Held::new(Targets {
    threads: Vec::new(),
    hits: 0,
});

fn state(thread: ThreadId) -> &'static mut State {
    let threads = &mut TARGETS.get().threads;
    if threads.len() <= thread.index() {
        threads.resize(thread.index() + 1, State::default());
    }
    &mut threads[thread.index()]
}

/// Whether the thread's last atomic operation read what it had waited for.
pub fn waited(thread: ThreadId) -> bool {
    state(thread).spin.waited
}

/// Accesses at target sites so far.
pub fn hits() -> u64 {
    TARGETS.get().hits
}

/// Where the thread is at a site.
pub fn place(thread: ThreadId) -> Option<Place> {
    state(thread).place
}

/// The innermost frame that is known of a thread's code.
pub fn frame_of(thread: ThreadId) -> Frame {
    token::thread(thread).map_or(Frame::default(), |t| t.frame)
}

/// Two threads at target sites met: called by the scheduler before either goes on.
pub fn met(met: &deadheat_schedule::Met, step: u64) {
    meeting::met(met, step);
}

/// The running thread passed this many plain targets without a decision.
pub fn passed(targets: u64) {
    TARGETS.get().hits += targets;
}

/// The running thread comes to a site that is switched on.
pub fn at_site(site: &Site, address: u64, len: u64, frame: Frame) {
    if !token::running() {
        return;
    }
    let thread = token::current();
    meeting::event(thread);
    match site.kind {
        SiteKind::Entry | SiteKind::Exit => crate::functions::at_site(site, thread, &frame),
        SiteKind::BackEdge => {
            note_frame(frame);
            back_edge();
        }
        SiteKind::CompareExchangeResult => exchanged(thread, address & 1 != 0),
        SiteKind::Fence => observe::fence(thread, site.order),
        kind if kind.is_access() => {
            let sure = extent(site, address, len);
            // An operation that perhaps is none orders all the same: too much of that costs finds, too little truth.
            let len = if site.kind.is_atomic() && sure == 0 {
                u64::from(site.size)
            } else {
                sure
            };
            if len == 0 {
                return;
            }
            note_frame(frame);
            if site.target && sure > 0 {
                target(thread, site, address, len, frame);
            } else if kind.is_atomic() {
                atomic(thread, site, address, len);
                quarantine::accessed(
                    &site.access(thread, address, len),
                    frame,
                    crate::stack::bounds(frame.stack),
                );
            }
        }
        _ => {}
    }
}

/// Bytes that a site's statement touches, where it may touch fewer than it claims those that it surely does: nothing is
/// proven by a byte that was not touched. A function that may stop early reads the first byte; of masked lanes none is
/// sure.
fn extent(site: &Site, address: u64, len: u64) -> u64 {
    match site.kind {
        SiteKind::Free => crate::heap::usable(address),
        _ if site.flags & FLAG_INEXACT != 0 => match site.flags & (FLAG_CSTRING | FLAG_DYNAMIC) {
            0 => 0,
            FLAG_DYNAMIC => len.min(1),
            _ => 1,
        },
        _ if site.flags & FLAG_CSTRING != 0 => string_len(address),
        _ if site.flags & FLAG_DYNAMIC != 0 => len,
        _ => u64::from(site.size),
    }
}

/// Bytes of a C string, its end included.
pub fn string_len(address: u64) -> u64 {
    // SAFETY: the program is about to read this string.
    unsafe { core::ffi::CStr::from_ptr(address as *const _).to_bytes_with_nul().len() as u64 }
}

/// Notes where the thread leaves the program's code.
pub fn note_frame(frame: Frame) {
    let thread = tls::thread();
    if !thread.is_null() {
        // SAFETY: the running thread's own record.
        unsafe { (*thread).frame = frame };
    }
}

fn target(thread: ThreadId, site: &Site, address: u64, len: u64, frame: Frame) {
    TARGETS.get().hits += 1;
    // Written field by field into its place: a copy would wait for the stores that it reads.
    state(thread).place = Some(Place {
        access: site.access(thread, address, len),
        frame,
        bounds: crate::stack::bounds(frame.stack),
    });
    if site.kind.is_atomic()
        && let Some(lost) = state(thread).spin.operation(site.kind, address, value(address, len))
    {
        token::yield_spin(lost);
    }
    let found = torn(site).then(|| value(address, len));
    token::arrive(site.access(thread, address, len));
    meeting::left(thread);
    if let Some(found) = found.filter(|found| *found != value(address, len)) {
        put_back(address, len, found);
        meeting::torn(thread);
    }
    if site.kind.is_atomic() {
        take_effect(thread, site, address, len);
    } else if let Some(place) = &state(thread).place {
        unordered::executed(place, site.kind);
    }
    if site.kind != SiteKind::Free
        && let Some(place) = &state(thread).place
    {
        quarantine::accessed(&place.access, place.frame, place.bounds);
    }
    if site.passes
        && observe::passes_targets()
        && let Some(t) = token::me()
    {
        journal::open(t);
    }
}

fn atomic(thread: ThreadId, site: &Site, address: u64, len: u64) {
    let found = value(address, len);
    match state(thread).spin.operation(site.kind, address, found) {
        Some(lost) => {
            token::yield_spin(lost);
            // What it waited for has come while others ran.
            state(thread).spin.waited = site.kind == SiteKind::AtomicLoad && value(address, len) != found;
        }
        None => {
            let bytes = ByteRange { start: address, len };
            token::point(Operation::Atomic(Access {
                thread,
                site: site.id,
                kind: site.kind,
                bytes,
            }));
        }
    }
    take_effect(thread, site, address, len);
}

/// The atomic operation is made now.
fn take_effect(thread: ThreadId, site: &Site, address: u64, len: u64) {
    let before = value(address, len);
    if site.kind == SiteKind::AtomicCompareExchange {
        state(thread).exchange = Some((*site, address, before));
    } else {
        observe::atomic(thread, site, address, len, before, false);
    }
}

/// The result of the thread's last compare-exchange.
fn exchanged(thread: ThreadId, success: bool) {
    let Some((site, address, before)) = state(thread).exchange.take() else {
        return;
    };
    observe::atomic(thread, &site, address, u64::from(site.size), before, success);
    if success {
        state(thread).spin.progress();
    }
    if site.target {
        meeting::exchanged(thread, success);
    }
}

/// The thread makes its atomic target access.
pub fn made(thread: ThreadId, site: &Site, success: bool) {
    let kind = match site.kind {
        SiteKind::AtomicCompareExchange if !success => SiteKind::AtomicLoad,
        kind => kind,
    };
    if let Some(place) = &state(thread).place {
        unordered::executed(place, kind);
    }
}

/// Whether a statement that reads and writes may come apart into its read and its write.
fn torn(site: &Site) -> bool {
    site.kind == SiteKind::ReadWrite
        && matches!(site.size, 1 | 2 | 4 | 8)
        && matches!(crate::start::mode(), Some(Mode::Confirm(targets)) if targets.torn)
}

/// The statement that comes next works on the value that it found when its thread came to it: what was written since
/// is lost, as it is when another thread runs between a load and its store. The instruction itself is no more than
/// that: without a lock prefix, two processors may do it at once.
fn put_back(address: u64, len: u64, found: u64) {
    // SAFETY: the program's own instruction reads and writes these bytes next, and no other thread runs.
    unsafe { core::ptr::copy_nonoverlapping(found.to_le_bytes().as_ptr(), address as *mut u8, len as usize) };
}

/// A loop went round often without a scheduling point.
pub fn back_edge() {
    token::yield_spin(None);
    observe::refill();
}

/// The value at an address that the program is about to access atomically (a mix of it if it is large).
fn value(address: u64, len: u64) -> u64 {
    // SAFETY: the program's own instruction reads or writes these bytes next.
    unsafe {
        match len {
            1 => (address as *const u8).read_volatile().into(),
            2 => (address as *const u16).read_unaligned().into(),
            4 => (address as *const u32).read_unaligned().into(),
            8 => (address as *const u64).read_unaligned(),
            16 => {
                let [low, high] = (address as *const [u64; 2]).read_unaligned();
                low ^ high.rotate_left(32)
            }
            _ => 0,
        }
    }
}

/// A detecting body is about to make an atomic operation.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_atomic(address: u64, desc: u64) {
    if !token::running() {
        return;
    }
    if let Some(site) = site::of_desc(desc) {
        note_frame(crate::intercept::frame!());
        let thread = token::current();
        atomic(thread, &site, address, u64::from(site.size));
    }
}

/// A call in the place of an atomic operation is about to make it, in a run that detects.
pub fn before_atomic(site: &Site, address: u64, frame: Frame) {
    if token::running() {
        note_frame(frame);
        atomic(token::current(), site, address, u64::from(site.size));
    }
}

/// The compare-exchange that the running thread was about to make did or did not write.
pub fn after_exchange(success: bool) {
    if token::running() {
        exchanged(token::current(), success);
    }
}

/// A detecting body is about to make a fence.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_fence(desc: u64) {
    if token::running()
        && let Some(site) = site::of_desc(desc)
    {
        observe::fence(token::current(), site.order);
    }
}

/// A detecting body made a compare-exchange.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_exchanged(success: i32) {
    if token::running() {
        exchanged(token::current(), success & 1 != 0);
    }
}
