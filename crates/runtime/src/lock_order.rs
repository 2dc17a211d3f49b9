//! Cycles of waiting: noted in phase 1, and the places of one in a run that is directed at it.
//!
//! In phase 1 the detector is told of every wait without a time limit, of locks taken and given back, of joins
//! and signals; at the end the cycles among them are recorded. In a directed run a thread that is about to wait at a
//! place of the cycle, holding what that place asks for, is told to the policy as such.
//!
//! A place is the return address of the call; where that lies in a library (`std::condition_variable::wait` and its
//! like), the address that its caller returns to tells calls apart.

use crate::held::Held;
use crate::thread::{Frame, Thread};
use crate::wait::{Wait, word};
use crate::{images, observe, stacks, stuck, unwind};
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use deadheat_detect::{Hold, LockOrder, Resource, cycles};
use deadheat_model::{CyclePart, LockMode, ObjectKind, Operation, ThreadId, Wanted};
use deadheat_wire::plan::{CyclePlace, Spot};
use deadheat_wire::record::{self, CycleLink, Notice, Record};

/// Slots of the cache of places.
const CACHE: usize = 256;

struct State {
    /// Phase 1's events.
    order: Option<LockOrder>,
    /// Places by (return address, frame pointer, stack pointer): the same three are the same stack.
    cache: [((u64, u64, u64), u32); CACHE],
    /// What each place's number stands for: the stack's number, and the spot.
    places: Vec<(u32, Spot)>,
    /// The cycle that the run is directed at.
    cycle: &'static [CyclePlace],
    /// Where the executable lies.
    executable: Range<u64>,
}

static STATE: Held<State> = Held::new(State {
    order: None,
    cache: [((0, 0, 0), 0); CACHE],
    places: Vec::new(),
    cycle: &[],
    executable: 0..0,
});

/// Phase 1 begins.
pub fn start() {
    STATE.get().order = Some(LockOrder::new());
    locate();
}

/// The run is directed at this cycle.
pub fn direct(cycle: &'static [CyclePlace]) {
    STATE.get().cycle = cycle;
    locate();
}

fn locate() {
    STATE.get().executable = images::extents().into_iter().next().unwrap_or(0..0);
}

/// The return address of the function that a thread left the program's code in.
fn caller(t: &Thread) -> u64 {
    unwind::up(t.frame, false, t.stack).map_or(0, |up| up.pc)
}

/// Where a thread left the program's code.
pub fn spot(t: &Thread) -> Spot {
    let call = t.frame.pc;
    let executable = &STATE.get().executable;
    // Nobody asks where neither is going on.
    let inside = executable.is_empty() || executable.contains(&call);
    let caller = if inside { 0 } else { caller(t) };
    Spot { call, caller }
}

fn place(state: &mut State, t: &Thread) -> u32 {
    let key = (t.frame.pc, t.frame.frame, t.frame.stack);
    let slot = &mut state.cache[((key.0 ^ key.1 >> 4) as usize) % CACHE];
    if slot.0 != key || state.places.is_empty() {
        let stack = stacks::number(t.frame, false, t.stack);
        let known = state.places.iter().position(|p| p.0 == stack);
        let number = known.unwrap_or_else(|| {
            state.places.push((stack, spot(t)));
            state.places.len() - 1
        });
        *slot = (key, number as u32);
    }
    slot.1
}

/// Whether waits are noted.
pub fn notes() -> bool {
    STATE.get().order.is_some()
}

/// Whether the run is directed at a cycle.
pub fn directed() -> bool {
    !STATE.get().cycle.is_empty()
}

/// The number of the place with this frame if it was the last one of its slot.
#[inline(always)]
pub fn known(frame: &Frame) -> Option<u32> {
    let state = STATE.get();
    let key = (frame.pc, frame.frame, frame.stack);
    let slot = &state.cache[((key.0 ^ key.1 >> 4) as usize) % CACHE];
    (slot.0 == key).then_some(slot.1)
}

/// Where that place is.
pub fn spot_of(place: u32) -> Spot {
    let place = STATE.get().places.get(place as usize);
    place.map_or(Spot { call: 0, caller: 0 }, |place| place.1)
}

/// A thread passed a free mutex's lock at this place.
pub fn passed(thread: ThreadId, address: u64, place: u32) {
    if let Some(order) = &mut STATE.get().order {
        let mutex = resource(ObjectKind::Mutex, address);
        order.waits(thread, mutex, LockMode::Write, place, None);
        order.took(thread, mutex, LockMode::Write, place);
    }
}

/// The same, and it gives the mutex back before it waits for anything else.
pub fn passed_through(thread: ThreadId, address: u64, place: u32) {
    if let Some(order) = &mut STATE.get().order {
        order.passed_through(thread, resource(ObjectKind::Mutex, address), LockMode::Write, place);
    }
}

/// A thread would wait without a time limit for an object, or just did; `but` is a mutex that it gives back for it.
pub fn waits(t: &Thread, kind: ObjectKind, address: u64, mode: LockMode, but: Option<u64>) {
    let state = STATE.get();
    if state.order.is_none() {
        return;
    }
    let place = place(state, t);
    let but = but.map(|a| resource(ObjectKind::Mutex, a));
    if let Some(order) = &mut state.order {
        order.waits(t.id, resource(kind, address), mode, place, but);
    }
}

/// A thread waits for another one's end.
pub fn waits_for_end(t: &Thread, child: ThreadId) {
    let state = STATE.get();
    if state.order.is_none() {
        return;
    }
    let place = place(state, t);
    if let Some(order) = &mut state.order {
        order.waits(t.id, Resource::end_of(child), LockMode::Write, place, None);
    }
}

/// A thread took a lock.
pub fn took(t: &Thread, kind: ObjectKind, address: u64, mode: LockMode) {
    let state = STATE.get();
    if state.order.is_none() {
        return;
    }
    let place = place(state, t);
    if let Some(order) = &mut state.order {
        order.took(t.id, resource(kind, address), mode, place);
    }
}

/// A thread gives a lock back.
pub fn gave(thread: ThreadId, kind: ObjectKind, address: u64) {
    if let Some(order) = &mut STATE.get().order {
        order.gave(thread, resource(kind, address));
    }
}

/// A thread signals or posts.
pub fn signals(t: &Thread, kind: ObjectKind, address: u64) {
    let state = STATE.get();
    if state.order.is_none() {
        return;
    }
    let place = place(state, t);
    if let Some(order) = &mut state.order {
        order.signals(t.id, resource(kind, address), place);
    }
}

/// A thread creates another.
pub fn created(parent: ThreadId, child: ThreadId) {
    if let Some(order) = &mut STATE.get().order {
        order.created(parent, child);
    }
}

/// A thread has joined another.
pub fn joined(thread: ThreadId, child: ThreadId) {
    if let Some(order) = &mut STATE.get().order {
        order.joined(thread, child);
    }
}

fn resource(kind: ObjectKind, address: u64) -> Resource {
    Resource {
        kind,
        object: observe::object(address),
    }
}

/// The run ends: records the cycles.
pub fn finish() {
    let state = STATE.get();
    let Some(order) = state.order.take() else { return };
    let found = cycles(&order);
    for cycle in &found.cycles {
        let links = cycle.iter().map(|part| CycleLink {
            thread: part.thread,
            wants: held(&part.wants),
            stack: stack_of(state, part.wants.place),
            at: state.places[part.wants.place as usize].1,
            holds: part.holds.iter().filter(|h| h.resource.is_lock()).map(held).collect(),
            wanted: part
                .wanted
                .map(|n| &part.holds[n])
                .filter(|h| h.resource.is_lock())
                .map(|h| state.places[h.place as usize].1),
        });
        crate::report::write(&Record::Cycle(links.collect()));
    }
    let cut = found.cut + order.cut;
    if cut > 0 {
        crate::report::write(&Record::Notice(Notice::Cut {
            what: "waits and cycles of waiting".into(),
            count: cut,
        }));
    }
}

fn stack_of(state: &State, place: u32) -> record::Stack {
    state
        .places
        .get(place as usize)
        .map(|p| stacks::get(p.0))
        .unwrap_or_default()
}

fn held(hold: &Hold) -> record::Held {
    record::Held {
        kind: hold.resource.kind,
        object: hold.resource.object,
        mode: hold.mode,
    }
}

/// What a thread does that is about to wait: `usual`, or its part in the cycle that the run is directed at.
pub fn coming(t: &Thread, wait: Wait, usual: Operation) -> Operation {
    let cycle = STATE.get().cycle;
    if cycle.is_empty() {
        return usual;
    }
    let own = spot(t);
    let mut parts = 0;
    for (n, place) in cycle.iter().enumerate() {
        let holds = || place.holds.is_empty() || t.locks.iter().any(|l| place.holds.contains(&l.3));
        if place.wants.contains(&own) && holds() {
            parts |= 1 << n;
        }
    }
    if parts == 0 {
        return usual;
    }
    let (kind, object) = match wait {
        Wait::Join(thread) => (ObjectKind::Thread, Resource::end_of(thread).object),
        _ => (wait.kind(), observe::object(wait.address())),
    };
    Operation::Part(CyclePart {
        parts,
        kind,
        object,
        wants: wanted(t, wait),
    })
}

/// The same, as things are now, of a thread that stands there.
pub fn refreshed(t: &Thread, part: CyclePart) -> Operation {
    let address = part.object.address;
    let wait = match part.kind {
        ObjectKind::Mutex | ObjectKind::SpinLock => Wait::Lock(part.kind, address),
        ObjectKind::RwLock => Wait::WriteLock(address),
        ObjectKind::Semaphore => Wait::Semaphore(address),
        ObjectKind::Thread => Wait::Join(ThreadId(address as u32)),
        _ => Wait::Condition(address),
    };
    let wants = wanted(t, wait);
    Operation::Part(CyclePart { wants, ..part })
}

/// Who keeps from a thread what it is about to wait for.
fn wanted(t: &Thread, wait: Wait) -> Wanted {
    match wait {
        Wait::Condition(_) | Wait::Barrier(..) | Wait::Futex(..) => Wanted::Owed,
        // SAFETY: the object of a thread's next call is alive.
        Wait::Semaphore(a) if unsafe { word(a) }.load(Relaxed) > 0 => Wanted::Free,
        Wait::Semaphore(_) => Wanted::Owed,
        Wait::Join(thread) => Wanted::Held(thread),
        wait => stuck::holder_but(wait, t.id).map_or(Wanted::Free, Wanted::Held),
    }
}
