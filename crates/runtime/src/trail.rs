//! The trail of a run: the hash over all scheduling points and the switches for replay.
//!
//! Every point enters it when it comes but two: accesses at target statements and the going on after a lock was given
//! back. How many of these there were is in the number of the step at which the turn goes to another thread or the
//! run ends.
//!
//! Objects enter the hash as small numbers in order of first use, never as addresses, so that the hash
//! is the same with and without address randomisation.

use crate::thread::FixedState;
use alloc::vec::Vec;
use deadheat_model::{ObjectKind, Operation, ThreadId};
use deadheat_wire::plan::Switch;
use deadheat_wire::record::Record;
use hashbrown::HashMap;

/// Switches are written in chunks of this many.
const CHUNK: usize = 256;

/// Slots of the cache in front of the numbers.
const RECENT: usize = 512;

/// An object's slot in a cache of `RECENT` slots.
fn slot(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize & (RECENT - 1)
}

/// See the module.
pub struct Trail {
    hash: u64,
    numbers: HashMap<u64, u32, FixedState>,
    /// Addresses used last, by [`slot`]; a number never changes.
    recent: [(u64, u32); RECENT],
    switches: Vec<Switch>,
    recording: bool,
    /// Switches between threads.
    pub switched: u64,
}

/// What happened at a scheduling point, for the hash.
#[derive(Clone, Copy)]
pub enum Event {
    /// A thread comes to an operation.
    Comes = 1,
    /// A thread waits.
    Waits = 2,
    /// A thread yields.
    Yields = 3,
    /// A thread ends.
    Ends = 4,
    /// A signal handler runs.
    Signal = 5,
    /// A wait ran out or was interrupted.
    Outcome = 6,
    /// The turn goes to another thread.
    Turn = 7,
}

impl Trail {
    /// Nothing happened yet.
    pub const fn new() -> Trail {
        Trail {
            hash: 0xcbf2_9ce4_8422_2325,
            numbers: HashMap::with_hasher(FixedState),
            recent: [(0, 0); RECENT],
            switches: Vec::new(),
            recording: false,
            switched: 0,
        }
    }

    /// Keep switches for replay.
    pub fn record_switches(&mut self, on: bool) {
        self.recording = on;
    }

    /// The hash of a run that ends at this step.
    pub fn hash(&mut self, step: u64) -> u64 {
        self.mix(ThreadId::MAIN, Event::Ends, step);
        self.hash
    }

    /// The thread loses the turn at this step.
    pub fn turned(&mut self, thread: ThreadId, step: u64) {
        self.switched += 1;
        self.mix(thread, Event::Turn, step);
    }

    /// The stable number of an address.
    pub fn number(&mut self, address: u64) -> u32 {
        let recent = &mut self.recent[slot(address)];
        if recent.0 == address && recent.1 != 0 {
            return recent.1;
        }
        let next = self.numbers.len() as u32 + 1;
        let number = *self.numbers.entry(address).or_insert(next);
        *recent = (address, number);
        number
    }

    /// Mixes an event in: one multiplication, as in FxHash.
    #[inline(always)]
    pub fn mix(&mut self, thread: ThreadId, event: Event, detail: u64) {
        let who = (u64::from(thread.0) << 8 | event as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.hash = (self.hash.rotate_left(5) ^ detail.wrapping_add(who)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// What [`detail`](Self::detail) says of taking the object with this number.
    #[inline(always)]
    pub fn takes(kind: ObjectKind, number: u32) -> u64 {
        3 << 56 | (kind as u64) << 48 | u64::from(number)
    }

    /// The same of giving it back.
    #[inline(always)]
    pub fn gives(kind: ObjectKind, number: u32) -> u64 {
        4 << 56 | (kind as u64) << 48 | u64::from(number)
    }

    /// An operation as a number that does not depend on addresses.
    pub fn detail(&mut self, operation: &Operation) -> u64 {
        match operation {
            Operation::Start => 1 << 56,
            Operation::Continue => 2 << 56,
            Operation::Acquire(kind, id) => Self::takes(*kind, self.number(id.address)),
            Operation::Part(part) if part.kind == ObjectKind::Thread => 9 << 56 | part.object.address,
            Operation::Part(part) => Self::takes(part.kind, self.number(part.object.address)),
            Operation::Release(kind, id) => Self::gives(*kind, self.number(id.address)),
            Operation::Access(_) => 5 << 56,
            Operation::Atomic(a) => 6 << 56 | u64::from(a.site.module) << 32 | u64::from(a.site.index),
            Operation::Yield => 7 << 56,
            Operation::Create => 8 << 56,
            Operation::Join(t) => 9 << 56 | u64::from(t.0),
            Operation::External => 10 << 56,
            Operation::End => 11 << 56,
        }
    }

    /// The turn went to another thread, or a timed wait ran out.
    pub fn switch(&mut self, switch: Switch) {
        if self.recording {
            self.switches.push(switch);
            if self.switches.len() >= CHUNK {
                self.flush();
            }
        }
    }

    /// Writes the switches kept so far.
    pub fn flush(&mut self) {
        if !self.switches.is_empty() {
            crate::report::write(&Record::Switches(core::mem::take(&mut self.switches)));
        }
    }

    /// A child process starts a trail of its own.
    pub fn restart(&mut self) {
        self.switches.clear();
        self.hash = Trail::new().hash;
        self.switched = 0;
    }
}
