//! Random valid executions: every lock is taken only when it is free, every value read is the last written.

use deadheat_detect::trace::Event;
use deadheat_detect::{AtomicEvent, AtomicKind};
use deadheat_model::{LockMode, MemoryOrder, ThreadId};
use std::collections::HashMap;

/// Where choices come from.
pub trait Choices {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize;
}

/// SplitMix64 (Steele et al. 2014).
pub struct Seeded(pub u64);

impl Choices for Seeded {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }
}

/// Choices given in advance, as proptest makes and shrinks them; 0 when they run out.
pub struct Given<'a>(pub std::slice::Iter<'a, u16>);

impl Choices for Given<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |c| *c as usize % n)
    }
}

/// The shape of an execution.
pub struct Shape {
    pub threads: usize,
    pub events: usize,
    pub locks: usize,
    /// Granules of plain data.
    pub data: usize,
    /// Atomics carry their values, so that lock words are learned.
    pub values: bool,
}

#[derive(Default)]
struct Lock {
    writer: Option<(usize, u32)>,
    readers: HashMap<usize, u32>,
}

struct World<'a, C> {
    choices: &'a mut C,
    shape: &'a Shape,
    trace: Vec<(ThreadId, Event)>,
    live: Vec<usize>,
    ended: Vec<usize>,
    created: usize,
    locks: Vec<Lock>,
    memory: HashMap<u64, u8>,
    rounds: u64,
    /// Who holds the hand-made lock at `ATOMICS`.
    holder: Option<usize>,
}

/// Atomic locations: two granules.
const ATOMICS: u64 = 0x1000;
/// Plain data.
const DATA: u64 = 0x2000;

pub fn execution(choices: &mut impl Choices, shape: &Shape) -> Vec<(ThreadId, Event)> {
    let mut world = World {
        choices,
        shape,
        trace: Vec::new(),
        live: vec![0],
        ended: Vec::new(),
        created: 1,
        locks: (0..shape.locks).map(|_| Lock::default()).collect(),
        memory: HashMap::new(),
        rounds: 100,
        holder: None,
    };
    // Enough threads early on, so that short executions are about something.
    while world.trace.len() < shape.events {
        if world.created < shape.threads && world.choices.below(3) == 0 {
            world.create();
        } else {
            world.step();
        }
    }
    world.trace
}

impl<C: Choices> World<'_, C> {
    fn push(&mut self, thread: usize, event: Event) {
        self.trace.push((ThreadId(thread as u32), event));
    }

    fn pick(&mut self) -> usize {
        let at = self.choices.below(self.live.len());
        self.live[at]
    }

    fn create(&mut self) {
        let parent = self.pick();
        let child = self.created;
        self.created += 1;
        self.live.push(child);
        self.push(parent, Event::Create(ThreadId(child as u32)));
    }

    fn step(&mut self) {
        let thread = self.pick();
        match self.choices.below(20) {
            0 if thread != 0 => {
                self.live.retain(|t| *t != thread);
                self.ended.push(thread);
                self.push(thread, Event::End);
            }
            1 if !self.ended.is_empty() => {
                let at = self.choices.below(self.ended.len());
                let child = self.ended.remove(at);
                self.push(thread, Event::Join(ThreadId(child as u32)));
            }
            2..=4 => self.take_lock(thread),
            5..=7 => self.give_lock(thread),
            8 => {
                let key = self.choices.below(2) as u64;
                self.push(thread, Event::ReleaseEdge(key));
            }
            9 => {
                let key = self.choices.below(2) as u64;
                self.push(thread, Event::AcquireEdge(key));
            }
            10 if self.choices.below(4) == 0 => {
                self.rounds += 1;
                let key = self.rounds;
                for t in self.live.clone() {
                    self.push(t, Event::ReleaseEdge(key));
                }
                for t in self.live.clone() {
                    self.push(t, Event::AcquireEdge(key));
                }
            }
            11 => {
                let order = self.order();
                self.push(thread, Event::Fence(order));
            }
            12..=14 => self.atomic(thread),
            15 if self.choices.below(4) == 0 => {
                let base = if self.choices.below(2) == 0 { ATOMICS } else { DATA };
                let at = base + 8 * self.choices.below(2) as u64;
                self.memory.retain(|b, _| *b < at || *b >= at + 8);
                self.push(thread, Event::Forget(at, 8));
            }
            _ => self.access(thread),
        }
    }

    fn access(&mut self, thread: usize) {
        let site = self.choices.below(40) as u64;
        let write = self.choices.below(2) == 0;
        let mixed = self.choices.below(6) == 0;
        let (base, bytes) = if mixed {
            (ATOMICS, 16)
        } else {
            (DATA, 8 * self.shape.data)
        };
        let size = [1, 2, 4, 8, 3, 12][self.choices.below(6)];
        let address = base + self.choices.below(bytes) as u64;
        if write {
            self.memory.extend((address..address + size).map(|b| (b, 7)));
        }
        self.push(
            thread,
            Event::Access {
                site,
                address,
                size,
                write,
            },
        );
    }

    fn order(&mut self) -> MemoryOrder {
        MemoryOrder::from_u8(self.choices.below(6) as u8)
    }

    /// An operation on a word used as a lock, mostly as it should be.
    fn hand_made_lock(&mut self, thread: usize) {
        let before = (0..4).fold(0, |v, i| {
            v | (*self.memory.get(&(ATOMICS + i)).unwrap_or(&0) as u64) << (8 * i)
        });
        let compare_exchange = |success| AtomicKind::CompareExchange {
            success,
            failure: MemoryOrder::Relaxed,
        };
        let (order, new, kinds) = if self.holder == Some(thread) {
            self.holder = None;
            let kinds = [AtomicKind::Store, AtomicKind::Update, compare_exchange(true)];
            (MemoryOrder::Release, 0, kinds)
        } else if before == 0 {
            self.holder = Some(thread);
            let kinds = [compare_exchange(true), AtomicKind::Update, compare_exchange(true)];
            (MemoryOrder::Acquire, 1 + self.choices.below(2) as u64, kinds)
        } else {
            let kinds = [AtomicKind::Load, AtomicKind::Update, compare_exchange(false)];
            (MemoryOrder::Acquire, 2, kinds)
        };
        let order = if self.choices.below(6) == 0 {
            self.order()
        } else {
            order
        };
        let event = AtomicEvent {
            address: ATOMICS,
            size: 4,
            kind: kinds[self.choices.below(3)],
            order,
            before: Some(before),
        };
        if event.writes() {
            self.memory
                .extend((0..4).map(|i| (ATOMICS + i, (new >> (8 * i)) as u8)));
        }
        self.push(thread, Event::Atomic(90, event));
    }

    fn atomic(&mut self, thread: usize) {
        if self.shape.values && self.choices.below(8) != 0 {
            return self.hand_made_lock(thread);
        }
        let site = 100 + self.choices.below(20) as u64;
        let order = self.order();
        // Mostly one word, so that things meet.
        let (address, size) = match self.choices.below(8) {
            0 => (ATOMICS, 8),
            1 => (ATOMICS + 1, 1),
            2 => (ATOMICS + 4, 4),
            3 => (ATOMICS, 16),
            4 => (ATOMICS + 8, 2),
            _ => (ATOMICS, 4),
        };
        let value = |w: &Self| {
            (0..size.min(8)).fold(0, |v, i| {
                v | (*w.memory.get(&(address + i)).unwrap_or(&0) as u64) << (8 * i)
            })
        };
        let before = value(self);
        let (expected, new) = (self.choices.below(3) as u64, self.choices.below(3) as u64);
        let failure = self.order();
        let kind = match self.choices.below(5) {
            0 => AtomicKind::Load,
            1 => AtomicKind::Store,
            2 => AtomicKind::Update,
            3 => AtomicKind::Arithmetic,
            _ => AtomicKind::CompareExchange {
                success: before == expected,
                failure,
            },
        };
        let event = AtomicEvent {
            address,
            size: size as u32,
            kind,
            order,
            before: (self.shape.values && size <= 8).then_some(before),
        };
        if event.writes() {
            let new = if kind == AtomicKind::Arithmetic {
                before.wrapping_add(1)
            } else {
                new
            };
            for i in 0..size {
                let byte = if i < 8 { (new >> (8 * i)) as u8 } else { 0 };
                self.memory.insert(address + i, byte);
            }
        }
        self.push(thread, Event::Atomic(site, event));
    }

    /// Lock 0 is a read-write lock, the others are mutexes; all are recursive.
    fn take_lock(&mut self, thread: usize) {
        let number = self.choices.below(self.locks.len());
        let read = number == 0 && self.choices.below(2) == 0;
        let lock = &mut self.locks[number];
        let mode = match (read, lock.writer) {
            (true, None) => {
                *lock.readers.entry(thread).or_default() += 1;
                LockMode::Read
            }
            (false, None) if lock.readers.is_empty() => {
                lock.writer = Some((thread, 1));
                LockMode::Write
            }
            (false, Some((owner, count))) if owner == thread => {
                lock.writer = Some((owner, count + 1));
                LockMode::Write
            }
            _ => return self.access(thread),
        };
        self.push(thread, Event::Acquire(number as u32, mode));
    }

    fn give_lock(&mut self, thread: usize) {
        let holds = |l: &Lock| l.writer.is_some_and(|w| w.0 == thread) || l.readers.contains_key(&thread);
        let held: Vec<usize> = (0..self.locks.len()).filter(|i| holds(&self.locks[*i])).collect();
        if held.is_empty() {
            return self.access(thread);
        }
        let number = held[self.choices.below(held.len())];
        let lock = &mut self.locks[number];
        let mode = match lock.writer {
            Some((owner, count)) => {
                lock.writer = (count > 1).then_some((owner, count - 1));
                LockMode::Write
            }
            None => {
                let count = lock.readers.entry(thread).or_default();
                *count -= 1;
                if *count == 0 {
                    lock.readers.remove(&thread);
                }
                LockMode::Read
            }
        };
        self.push(thread, Event::Release(number as u32, mode));
    }
}
