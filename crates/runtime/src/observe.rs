//! What the interceptors tell the detector. Called by the token holder, after the effect took place
//! unless a function says otherwise; cheap when the mode does not need it.
//!
//! Run 1 keeps the hybrid clock and the running context, run 2 both clocks, confirmation the full clock;
//! mere scheduling keeps nothing but the generations of objects.

use crate::check::{self, Use};
use crate::held::Held;
use crate::objects::Objects;
use crate::site::Site;
use crate::thread::Frame;
use crate::{
    event_trace, functions, granules, heap, lock_order, meeting, memory, quarantine, range, shadow, site, stack,
    statements, targets, token, unordered,
};
use alloc::vec::Vec;
use deadheat_detect::{AtomicEvent, AtomicKind, HappensBefore, Keep, LockId};
use deadheat_model::{LockMode, MemoryOrder, ObjectId, ObjectKind, SiteKind, ThreadId};
use deadheat_wire::plan::{Mode, Plan};
use deadheat_wire::record::{self, Notice, Record};

/// What this run is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Schedule,
    Granules,
    Statements,
    Confirm,
    Functions,
}

/// Slots of the cache of lock numbers.
const CACHE: usize = 1024;

struct Observer {
    purpose: Purpose,
    clocks: Option<HappensBefore>,
    objects: Objects,
    /// Lock numbers by (kind, address).
    cache: [(ObjectKind, u64, LockId); CACHE],
    back_edges: i64,
    running: ThreadId,
    /// Unordered pairs of target accesses are looked for.
    unordered: bool,
    /// Threads that were created and not joined yet.
    unjoined: u32,
}

static OBSERVER: Held<Observer> = Held::new(Observer {
    purpose: Purpose::Schedule,
    clocks: None,
    objects: Objects::new(),
    cache: [(ObjectKind::Mutex, 0, LockId(0)); CACHE],
    back_edges: i64::MAX,
    running: ThreadId::MAIN,
    unordered: false,
    unjoined: 0,
});

/// The clocks, if this run keeps any.
#[inline(always)]
pub fn clocks() -> Option<&'static mut HappensBefore> {
    OBSERVER.get().clocks.as_mut()
}

/// The plan is known; called once, single-threaded, before any other function here.
pub fn start(plan: &'static Plan) {
    let observer = OBSERVER.get();
    observer.back_edges = if plan.back_edges == 0 {
        i64::MAX
    } else {
        plan.back_edges.into()
    };
    range::start();
    stack::start();
    memory::thread_started(ThreadId::MAIN);
    meeting::start(plan.stop_at);
    if plan.trace {
        event_trace::start();
    }
    match &plan.mode {
        Mode::Schedule => {}
        Mode::Granules { per_signature } => {
            begin_detection(observer, Purpose::Granules, Keep::Hybrid);
            lock_order::start();
            granules::start(*per_signature);
        }
        Mode::Statements { granules, lock_words } => {
            begin_detection(observer, Purpose::Statements, Keep::Both);
            if let Some(clocks) = &mut observer.clocks {
                clocks.know_lock_words(lock_words);
            }
            statements::start(granules);
        }
        Mode::Functions => {
            observer.purpose = Purpose::Functions;
            observer.clocks = Some(HappensBefore::new(Keep::Hybrid));
            functions::start();
        }
        Mode::Confirm(targets) => {
            observer.purpose = Purpose::Confirm;
            quarantine::start(plan.poison);
            if targets.lock_order {
                lock_order::start();
            }
            if !targets.cycle.is_empty() {
                lock_order::direct(&targets.cycle);
            }
            // Without pairs to look for the clocks tell only what is held.
            let keep = if targets.unordered { Keep::Full } else { Keep::Hybrid };
            observer.clocks = Some(HappensBefore::new(keep));
            observer.unordered = targets.unordered;
            if targets.unordered {
                unordered::start();
            }
        }
    }
    site::register_executable();
    crate::call_sites::start();
    site::set_budget(observer.back_edges);
    site::attach_all();
}

fn begin_detection(observer: &mut Observer, purpose: Purpose, keep: Keep) {
    if let Err(why) = shadow::start() {
        crate::start::refuse(&why);
    }
    shadow::enter_thread();
    observer.purpose = purpose;
    observer.clocks = Some(HappensBefore::new(keep));
    check::start(if purpose == Purpose::Granules {
        Use::Granules
    } else {
        Use::Statements
    });
}

/// The run ends: results are recorded now. Called once, by the holder, also from a crash.
pub fn finish() {
    match OBSERVER.get().purpose {
        Purpose::Schedule => {}
        Purpose::Granules => granules::finish(),
        Purpose::Statements => statements::finish(),
        Purpose::Confirm => meeting::finish(),
        Purpose::Functions => functions::finish(),
    }
    lock_order::finish();
    crate::misuse::finish();
    crate::annotations::finish();
    event_trace::finish();
    let cuts = [
        ("heap blocks not kept", heap::dropped()),
        ("target accesses not kept", unordered::dropped()),
        ("uses of freed blocks not recorded", quarantine::cut()),
    ];
    for (what, count) in cuts {
        if count > 0 {
            crate::report::write(&Record::Notice(Notice::Cut {
                what: what.into(),
                count,
            }));
        }
    }
    if OBSERVER.get().purpose != Purpose::Schedule && crate::intercept::passes_allocations() {
        crate::report::write(&Record::Notice(Notice::Text(
            "the program brings its own `malloc`: use after free and double free are not seen in its blocks".into(),
        )));
    }
    if let Some(clocks) = clocks() {
        crate::report::write(&Record::LockWords(clocks.lock_words()));
        let count = clocks.atomics_cut() + clocks.contexts().cut;
        if count > 0 {
            crate::report::write(&Record::Notice(Notice::Cut {
                what: "moments told apart".into(),
                count,
            }));
        }
    }
}

/// In the child of a fork: only `t` lives on.
pub fn forked(t: ThreadId) {
    OBSERVER.get().unjoined = 0;
    refresh(t);
}

/// `parent` has created `child`.
pub fn thread_created(parent: ThreadId, child: ThreadId) {
    meeting::event(parent);
    OBSERVER.get().unjoined += 1;
    if let Some(clocks) = clocks() {
        granules::not_alone();
        clocks.created(parent, child);
        refresh(parent);
    }
}

/// `t` starts to run user code. Called on that thread.
pub fn thread_started(t: ThreadId) {
    if OBSERVER.get().purpose != Purpose::Schedule {
        if check::purpose() != Use::Nothing {
            shadow::enter_thread();
        }
        memory::thread_started(t);
    }
    switched(t);
}

/// `t` ran its last user code.
pub fn thread_ended(t: ThreadId) {
    meeting::event(t);
    memory::thread_ended(t);
    functions::thread_ended(t);
    if let Some(clocks) = clocks() {
        clocks.ended(t);
    }
}

/// `t` has joined `child`.
pub fn thread_joined(t: ThreadId, child: ThreadId) {
    let observer = OBSERVER.get();
    observer.unjoined = observer.unjoined.saturating_sub(1);
    if let Some(clocks) = clocks() {
        clocks.joined(t, child);
        if observer.unjoined == 0 && observer.purpose == Purpose::Granules {
            granules::alone_again();
        }
        refresh(t);
    }
}

/// `t` asks `other` to end. Its cleanup handlers know what was done before; when they begin cannot be told where it may
/// be cancelled at any time, so all that it does from now on counts as done after.
pub fn cancelled(t: ThreadId, other: ThreadId) {
    if let Some(clocks) = clocks() {
        let edge = key(ObjectKind::Thread, u64::from(other.0));
        clocks.release_edge(t, edge);
        clocks.acquire_edge(other, edge);
        refresh(t);
    }
}

fn lock_id(clocks: &mut HappensBefore, kind: ObjectKind, addr: u64) -> LockId {
    let observer = OBSERVER.get();
    let slot = &mut observer.cache[(addr >> 3 ^ addr >> 13) as usize & (CACHE - 1)];
    if (slot.0, slot.1) == (kind, addr) {
        return slot.2;
    }
    let id = clocks.lock(kind, observer.objects.at(addr));
    *slot = (kind, addr, id);
    id
}

/// `t` took the lock at `addr`.
pub fn acquired(t: ThreadId, kind: ObjectKind, addr: u64, mode: LockMode) {
    if let Some(clocks) = clocks() {
        meeting::event(t);
        let lock = lock_id(clocks, kind, addr);
        clocks.acquired(t, lock, mode);
        refresh(t);
    }
}

/// `t` is about to give the lock at `addr` back.
pub fn released(t: ThreadId, kind: ObjectKind, addr: u64, mode: LockMode) {
    if let Some(clocks) = clocks() {
        meeting::event(t);
        let lock = lock_id(clocks, kind, addr);
        clocks.released(t, lock, mode);
        refresh(t);
    }
}

/// An edge's key; kinds share addresses.
fn key(kind: ObjectKind, addr: u64) -> u64 {
    addr ^ (kind as u64) << 56
}

/// What `t` did so far happens before whoever acquires this edge later.
pub fn release_edge(t: ThreadId, kind: ObjectKind, addr: u64) {
    if let Some(clocks) = clocks() {
        meeting::event(t);
        clocks.release_edge(t, key(kind, addr));
        refresh(t);
    }
}

/// All that released this edge before happens before what `t` does next.
pub fn acquire_edge(t: ThreadId, kind: ObjectKind, addr: u64) {
    if let Some(clocks) = clocks() {
        clocks.acquire_edge(t, key(kind, addr));
        refresh(t);
    }
}

/// Whether edges by their keys are of use in this run: there are clocks, and no pairs are looked for that nothing
/// orders (see [`told`]).
pub fn follows_edges() -> bool {
    clocks().is_some() && !looks_for_unordered()
}

/// `t` was told something by the kernel. Who had a part in it cannot be told (another descriptor's other end, another
/// process, a client), so where pairs are looked for that nothing orders it may have been anybody; else it was whoever
/// released this edge, if there is one.
pub fn told(t: ThreadId, kind: ObjectKind, edge: Option<u64>) {
    if looks_for_unordered() {
        if let Some(clocks) = clocks() {
            clocks.acquire_all(t);
        }
    } else if let Some(edge) = edge {
        acquire_edge(t, kind, edge);
    }
}

/// Synchronisation objects within `addr..addr + len` are gone.
pub fn destroyed(addr: u64, len: u64) {
    gone(addr, len, false);
}

/// The same; `freed` tells that the running thread frees the memory.
fn gone(addr: u64, len: u64, freed: bool) {
    const KINDS: [ObjectKind; 8] = [
        ObjectKind::Mutex,
        ObjectKind::RwLock,
        ObjectKind::SpinLock,
        ObjectKind::Condition,
        ObjectKind::Barrier,
        ObjectKind::Semaphore,
        ObjectKind::Once,
        ObjectKind::Futex,
    ];
    let mut held = Vec::new();
    let observer = OBSERVER.get();
    let (clocks, cache) = (&mut observer.clocks, &mut observer.cache);
    observer.objects.destroyed(addr, len, |object| {
        if freed && crate::misuse::may_be_held(object.address, addr + len) {
            held.push(object);
        }
        if let Some(clocks) = clocks {
            for kind in KINDS {
                clocks.lock_destroyed(kind, object);
                clocks.edge_forgotten(key(kind, object.address));
            }
        }
        crate::journal::forget(object.address);
        crate::token::forget_passed(object.address);
        crate::successions::forget(object.address);
        cache
            .iter_mut()
            .filter(|slot| slot.1 == object.address)
            .for_each(|slot| slot.1 = 0);
    });
    crate::misuse::frees(held);
    crate::annotations::forgotten(addr, len);
}

/// `to` holds the token now.
pub fn switched(to: ThreadId) {
    refill();
    OBSERVER.get().running = to;
    functions::switched(to);
    refresh(to);
}

/// Whether a target access that meets nobody leaves nothing but its count and its place in the trail.
pub fn passes_targets() -> bool {
    let observer = OBSERVER.get();
    observer.purpose == Purpose::Confirm && !observer.unordered
}

/// Whether pairs are looked for that nothing orders.
pub fn looks_for_unordered() -> bool {
    OBSERVER.get().unordered
}

/// The detector's number of the mutex at an address.
pub fn mutex(addr: u64) -> LockId {
    clocks().map_or(LockId(0), |clocks| lock_id(clocks, ObjectKind::Mutex, addr))
}

/// `t` takes this free lock, which it does not hold, and gives it back.
#[inline(always)]
pub fn passed_through(t: ThreadId, lock: LockId) {
    // Without lock edges a pair leaves things as they were.
    if let Some(clocks) = clocks() {
        clocks.passed_through(t, lock);
    }
}

/// What [`acquired`] and [`released`] tell the clocks, the running context apart.
pub fn took(t: ThreadId, kind: ObjectKind, addr: u64) {
    if let Some(clocks) = clocks() {
        let lock = lock_id(clocks, kind, addr);
        clocks.acquired(t, lock, LockMode::Write);
    }
}

/// See [`took`].
pub fn gave(t: ThreadId, kind: ObjectKind, addr: u64) {
    if let Some(clocks) = clocks() {
        let lock = lock_id(clocks, kind, addr);
        clocks.released(t, lock, LockMode::Write);
    }
}

/// Back edges counted so far.
pub fn back_edges() -> u64 {
    refill();
    site::back_edges()
}

/// Accesses at target sites so far.
pub fn target_hits() -> u64 {
    targets::hits()
}

/// Gives the running thread its back edges; those used are of the thread that ran.
pub fn refill() {
    let observer = OBSERVER.get();
    let used = site::set_budget(observer.back_edges);
    token::spent(observer.running, used, observer.back_edges);
}

/// Back edges of a whole turn.
pub fn turn() -> i64 {
    OBSERVER.get().back_edges
}

/// The running thread's moment changed.
#[inline]
fn refresh(t: ThreadId) {
    match OBSERVER.get().purpose {
        Purpose::Granules => granules::refresh(t),
        Purpose::Statements => statements::refresh(),
        Purpose::Functions => functions::changed(),
        Purpose::Schedule | Purpose::Confirm => {}
    }
}

/// The program got a heap block at a call from this frame. What is forgotten is all that a free of it claims, the
/// rounding included.
pub fn allocated(t: ThreadId, at: Frame, ptr: u64, size: u64) {
    let whole = || size.max(heap::usable(ptr));
    match OBSERVER.get().purpose {
        Purpose::Schedule | Purpose::Functions => {}
        Purpose::Granules => shadow::clear(ptr, whole()),
        Purpose::Statements => statements::allocated(t, at, ptr, size, whole()),
        Purpose::Confirm => {
            if OBSERVER.get().unordered {
                unordered::forget(ptr, whole());
            }
            heap::allocated(t, at, ptr, size);
        }
    }
}

/// The program is about to give a heap block back at a call from this frame; returns its usable bytes.
pub fn before_free(t: ThreadId, at: Frame, ptr: u64) -> u64 {
    leaves(t, at, ptr, true)
}

/// The program is about to have a heap block's contents moved; see [`before_free`].
pub fn before_move(t: ThreadId, at: Frame, ptr: u64) -> u64 {
    leaves(t, at, ptr, false)
}

fn leaves(t: ThreadId, at: Frame, ptr: u64, freed: bool) -> u64 {
    let len = heap::usable(ptr);
    gone(ptr, len, freed);
    if let Some(clocks) = clocks() {
        clocks.forgotten(ptr, len);
    }
    heap::freed(t, quarantine::stack_of(at), ptr);
    len
}

/// Memory was mapped.
pub fn mapped(addr: u64, len: u64) {
    forget(addr, len);
}

/// Memory was unmapped.
pub fn unmapped(addr: u64, len: u64) {
    destroyed(addr, len);
    if let Some(clocks) = clocks() {
        clocks.forgotten(addr, len);
    }
    forget(addr, len);
}

/// The memory is another object's from now on: its accesses are forgotten.
pub fn forget(addr: u64, len: u64) {
    match OBSERVER.get().purpose {
        Purpose::Schedule | Purpose::Functions => {}
        Purpose::Granules => shadow::clear(addr, len),
        Purpose::Statements => statements::forget(addr, len),
        Purpose::Confirm => unordered::forget(addr, len),
    }
}

/// The object at an address in its present generation.
pub fn object(addr: u64) -> ObjectId {
    OBSERVER.get().objects.at(addr)
}

/// A stand-alone fence.
pub fn fence(t: ThreadId, order: MemoryOrder) {
    if let Some(clocks) = clocks() {
        clocks.fence(t, order);
        refresh(t);
    }
}

/// An atomic operation is made now (a compare-exchange: was made just before). `before` is the value
/// that it finds.
pub fn atomic(t: ThreadId, site: &Site, address: u64, len: u64, before: u64, success: bool) {
    let Some(clocks) = clocks() else { return };
    let kind = match site.kind {
        SiteKind::AtomicLoad => AtomicKind::Load,
        SiteKind::AtomicStore => AtomicKind::Store,
        SiteKind::AtomicCompareExchange => AtomicKind::CompareExchange {
            success,
            failure: site.failure_order,
        },
        _ => AtomicKind::Update,
    };
    let before = (len <= 8).then_some(before);
    let event = AtomicEvent {
        address,
        size: len as u32,
        kind,
        order: site.order,
        before,
    };
    if OBSERVER.get().purpose == Purpose::Functions {
        clocks.atomic_waited(t, event, targets::waited(t));
        return functions::changed();
    }
    let context = clocks.atomic_begin(t, event);
    match OBSERVER.get().purpose {
        Purpose::Granules => granules::atomic(context, &event, u64::from(site.id.index)),
        Purpose::Statements => statements::atomic(t, context, site, &event),
        Purpose::Confirm if site.target => targets::made(t, site, success),
        Purpose::Schedule | Purpose::Functions | Purpose::Confirm => {}
    }
    // The access itself lies between what the operation acquires and what it gives.
    if let Some(clocks) = crate::observe::clocks() {
        clocks.atomic_end(t, event);
    }
    refresh(t);
}

/// A library call of `t` stores with release order into a word that instrumented code loads inline (the
/// fast path of a C++ guard).
pub fn library_store(t: ThreadId, address: u64, size: u32) {
    if let Some(clocks) = clocks() {
        let order = MemoryOrder::Release;
        let event = AtomicEvent {
            address,
            size,
            kind: AtomicKind::Store,
            order,
            before: None,
        };
        clocks.atomic_begin(t, event);
        clocks.atomic_end(t, event);
        refresh(t);
    }
}

/// A library or system call of `t` reads a word with acquire order that instrumented code stores into inline.
pub fn library_load(t: ThreadId, address: u64, size: u32) {
    if let Some(clocks) = clocks() {
        let event = AtomicEvent {
            address,
            size,
            kind: AtomicKind::Load,
            order: MemoryOrder::Acquire,
            before: None,
        };
        clocks.atomic_begin(t, event);
        clocks.atomic_end(t, event);
        refresh(t);
    }
}

/// The locks that a thread holds.
pub fn held(t: ThreadId) -> Vec<record::Held> {
    let Some(clocks) = clocks() else { return Vec::new() };
    clocks
        .held(t)
        .iter()
        .filter_map(|h| {
            let (kind, object) = clocks.lock_object(h.lock)?;
            Some(record::Held {
                kind,
                object,
                mode: h.mode,
            })
        })
        .collect()
}
