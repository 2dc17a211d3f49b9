//! The second front end: code that calls the `__tsan_*` interface (`gcc -fsanitize=thread`, clang's and rustc's).
//!
//! There each watched statement is preceded by a call, so the call is the site: its name is the distance of its return
//! address, less one, from where its file was put. Neither the object nor the linked file needs a table; the tool finds
//! the same calls in the file (`campaign::call_sites`). A call that stands for two accesses (`memcpy`) has a second
//! name, two less. Linked modules with such calls are numbered like those that bring tables, when they first announce
//! themselves (`__tsan_init`, from a constructor) or call.
//!
//! What a call does depends on the run: nothing in a plain one; the check of a detecting body in phase 1; what a stub
//! does, if the plan switches the site on, in the others. Whether it does is looked up by return address.
//!
//! Code of this kind has no sites at back edges. Its accesses count down in their place, [`PER_BACK_EDGE`] for one, so
//! that a loop that waits for a plain variable loses its turn.
//!
//! Cost: a call and a test in a plain run; about twenty instructions for an access whose cell holds the running
//! context; a look-up in a direct-mapped table where sites are switched on.

use crate::check::{self, Use};
use crate::held::Held;
use crate::shadow::{self, cell};
use crate::site::{self, Site};
use crate::thread::{FixedState, Frame};
use crate::{granules, memory, range, statements, targets, token};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use deadheat_model::{MemoryOrder, SiteId, SiteKind};
use deadheat_wire::object::FLAG_DYNAMIC;
use hashbrown::HashMap;

/// What calls do: 0 nothing (a plain run), 1 run 1, 2 run 2, 3 what sites do that are switched on.
pub static PURPOSE: Held<u8> = Held::new(0);
const GRANULES: u8 = 1;
const STATEMENTS: u8 = 2;
const SITES: u8 = 3;

/// Accesses that count as one back edge.
pub const PER_BACK_EDGE: i64 = 8;
/// Accesses until the thread loses its turn, as [`site::set_budget`] gives them.
pub static BUDGET: Held<i64> = Held::new(i64::MAX);

/// What a call announces: `kind | flags << 8 | size << 16`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Code(pub u32);

impl Code {
    /// A code.
    pub const fn new(kind: SiteKind, flags: u8, size: u32) -> Code {
        Code(kind as u32 | (flags as u32) << 8 | size << 16)
    }

    fn kind(self) -> SiteKind {
        SiteKind::from_u8(self.0 as u8).unwrap_or(SiteKind::Read)
    }

    fn flags(self) -> u8 {
        (self.0 >> 8) as u8
    }

    fn size(self) -> u32 {
        self.0 >> 16
    }

    fn writes(self) -> bool {
        self.0 as u8 != SiteKind::Read as u8
    }
}

struct CallSite {
    site: Site,
    on: bool,
}

struct Image {
    addresses: Range<u64>,
    bias: u64,
    module: u16,
}

/// Slots of the cache of look-ups.
const CACHE: usize = 4096;

struct Calls {
    images: Vec<Image>,
    sites: HashMap<u64, &'static CallSite, FixedState>,
}

/// Sites looked up last, by address.
static LOOKED_UP: Held<[(u64, Option<&'static CallSite>); CACHE]> = Held::new([(0, None); CACHE]);

static CALLS: Held<Calls> = Held::new(Calls {
    images: Vec::new(),
    sites: HashMap::with_hasher(FixedState),
});

#[inline(always)]
fn slot(address: u64) -> &'static mut (u64, Option<&'static CallSite>) {
    &mut LOOKED_UP.get()[(address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % CACHE]
}

/// The plan is known: calls have a meaning from now on.
pub fn start() {
    *PURPOSE.get() = match check::purpose() {
        Use::Granules => GRANULES,
        Use::Statements => STATEMENTS,
        Use::Nothing => SITES,
    };
}

/// Whether the run is under a plan.
#[inline(always)]
pub fn active() -> bool {
    *PURPOSE.get() != 0
}

/// A linked module with such calls announces itself by a call that returns to this address.
pub fn announced(pc: u64) {
    if active() {
        image_of(pc);
    }
}

/// Number of a file that has none, since there are too many: its sites have no names.
const NO_MODULE: u16 = u16::MAX;

/// Where the file that holds an address was put, and its number.
fn image_of(pc: u64) -> (u64, u16) {
    let calls = CALLS.get();
    if let Some(image) = calls.images.iter().find(|i| i.addresses.contains(&pc)) {
        return (image.bias, image.module);
    }
    let (_, bias) = memory::module_of(pc);
    let extents = crate::images::extents();
    let addresses = extents.into_iter().find(|e| e.contains(&pc)).unwrap_or(pc..pc + 1);
    let module = site::register_calls(pc, BUDGET.as_ptr()).unwrap_or(NO_MODULE);
    CALLS.get().images.push(Image {
        addresses,
        bias,
        module,
    });
    (bias, module)
}

/// Forgets the sites in these ranges, which were unloaded.
pub fn forget(gone: &[Range<u64>]) {
    let calls = CALLS.get();
    let is_gone = |address: u64| gone.iter().any(|range| range.contains(&address));
    calls.images.retain(|image| !is_gone(image.addresses.start));
    calls.sites.retain(|&address, _| !is_gone(address));
    *LOOKED_UP.get() = [(0, None); CACHE];
}

/// The site at this address, if a call was made from there.
pub fn known(address: u64) -> Option<Site> {
    CALLS.get().sites.get(&address).map(|known| known.site)
}

#[inline(always)]
fn call_site(address: u64, code: Code, order: [MemoryOrder; 2]) -> &'static CallSite {
    match *slot(address) {
        (of, Some(known)) if of == address => known,
        _ => look_up(address, code, order),
    }
}

#[cold]
fn look_up(address: u64, code: Code, order: [MemoryOrder; 2]) -> &'static CallSite {
    let known = CALLS.get().sites.get(&address).copied();
    let found = known.unwrap_or_else(|| {
        let (bias, module) = image_of(address);
        let id = SiteId {
            module,
            index: address.wrapping_sub(bias) as u32,
        };
        let on = site::switched_on(id, code.kind());
        let made: &'static CallSite = Box::leak(Box::new(CallSite {
            site: Site {
                id,
                nop: address,
                kind: code.kind(),
                flags: code.flags(),
                order: order[0],
                failure_order: order[1],
                size: code.size(),
                target: on == Some(true),
                passes: false,
            },
            on: on.is_some(),
        }));
        CALLS.get().sites.insert(address, made);
        made
    });
    *slot(address) = (address, Some(found));
    found
}

/// The running thread's code, about to make the access at a site.
fn at(address: u64, frame: Frame) -> Frame {
    Frame { pc: address, ..frame }
}

/// A call before a plain access of fixed size: `pc` is its return address, `frame` and `stack` are the frame pointer
/// and the stack pointer that the program goes on with.
pub unsafe extern "C" fn accessed(address: u64, pc: u64, code: Code, frame: u64, stack: u64) {
    let len = u64::from(code.size());
    plain(address, len, pc - 1, code, Frame { pc, frame, stack });
}

/// A call before an access to `len` bytes.
pub fn accessed_range(address: u64, len: u64, site: u64, kind: SiteKind, frame: Frame) {
    if len > 0 {
        plain(address, len, site, Code::new(kind, FLAG_DYNAMIC, 0), frame);
    }
}

#[inline(always)]
fn plain(address: u64, len: u64, site: u64, code: Code, frame: Frame) {
    let budget = BUDGET.get();
    *budget -= 1;
    if *budget < 0 {
        spun(frame);
    }
    match *PURPOSE.get() {
        GRANULES => run_one(address, len, site, code.writes()),
        STATEMENTS => run_two(address, len, site, code, frame),
        SITES => {
            let found = call_site(site, code, [MemoryOrder::Relaxed; 2]);
            if found.on {
                targets::at_site(&found.site, address, len, at(site, frame));
            }
        }
        _ => {}
    }
}

#[cold]
fn spun(frame: Frame) {
    if token::running() {
        targets::note_frame(frame);
        targets::back_edge();
    }
}

#[inline(always)]
fn run_one(address: u64, len: u64, site: u64, write: bool) {
    let context = check::context();
    if context == 0 {
        return;
    }
    if shadow::covered(address, len).is_empty() {
        return granules::outside(1);
    }
    let within = (address ^ (address + len - 1)) < 8;
    if within {
        // SAFETY: the granule has a shadow.
        let found = unsafe { *cell(address) };
        if (if write { found as u32 } else { (found >> 32) as u32 }) != context {
            granules::granule(address & !7, write, site);
        }
    } else if write {
        range::granules::<true>(address, len as i64, site);
    } else {
        range::granules::<false>(address, len as i64, site);
    }
}

#[inline(always)]
fn run_two(address: u64, len: u64, site: u64, code: Code, frame: Frame) {
    if shadow::covered(address, len).is_empty() {
        return;
    }
    let within = (address ^ (address + len - 1)) < 8;
    // SAFETY: the granule has a shadow.
    if within && unsafe { *cell(address) } == 0 {
        return;
    }
    // A call of fixed size that was made in this moment already adds nothing.
    if code.size() > 0 && !statements::first_check(address, site) {
        return;
    }
    let mut flagged = within;
    if !within {
        range::flagged(address, len, |_| flagged = true);
    }
    if flagged {
        call_site(site, code, [MemoryOrder::Relaxed; 2]);
        statements::check(address, len, site, frame);
    }
}

/// An atomic operation that a call is about to make, as it is told by [`before_atomic`].
#[derive(Clone, Copy)]
pub struct Atomic {
    /// What it does and to how many bytes.
    pub code: Code,
    /// Memory order, and that of a failure, as `__ATOMIC_*`.
    pub orders: [i32; 2],
}

/// A call is about to make an atomic operation: the scheduler lets its thread go on, then its event takes effect.
pub fn before_atomic(address: u64, operation: Atomic, frame: Frame) {
    let order = operation.orders.map(|o| MemoryOrder::from_u8(o as u8 & 7));
    let found = call_site(frame.pc - 1, operation.code, order);
    let site = Site {
        order: order[0],
        failure_order: order[1],
        ..found.site
    };
    let frame = at(site.nop, frame);
    if *PURPOSE.get() != SITES {
        targets::before_atomic(&site, address, frame);
    } else if found.on {
        targets::at_site(&site, address, u64::from(site.size), frame);
    }
}

/// The compare-exchange that the running thread was about to make did or did not write.
pub fn after_exchange(success: bool) {
    targets::after_exchange(success);
}

/// A call makes a fence.
pub fn fence(order: i32, frame: Frame) {
    let order = MemoryOrder::from_u8(order as u8 & 7);
    let code = Code::new(SiteKind::Fence, 0, 0);
    let on = *PURPOSE.get() != SITES || call_site(frame.pc - 1, code, [order; 2]).on;
    if on && token::running() {
        crate::meeting::event(token::current());
        crate::observe::fence(token::current(), order);
    }
}
