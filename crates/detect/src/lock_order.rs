//! Who waits for what while holding what: the events from which cycles of waiting are predicted.
//!
//! Source: Goodlock (Havelund, SPIN 2000) and iGoodlock (Joshi, Park, Sen and Naik, PLDI 2009, section 2.2): a
//! *dependency* says that a thread waited for a resource at a place while it held others. What differs:
//! - resources are not only locks. A thread holds its own end until it ends, so a join is a wait for it; a
//!   condition variable or semaphore is *owed* by a thread that is about to signal it: what the thread took
//!   since it last did so, it took while owing. So cycles through joins, condition variables and semaphores are
//!   chains of dependencies like any other;
//! - how a lock is held counts: two readers do not wait for each other;
//! - what was only tried or taken with a time-out is held, and never waited for;
//! - dependencies at the same places on the same resources are one, with the threads and moments it was seen in;
//! - two dependencies go together only if creation and joining of threads leave them unordered. Other
//!   synchronisation orders by accident of one schedule and is not used.
//!
//! The result is a suspicion: only an execution shows a deadlock. Cost: a hash over what the thread holds, per
//! wait; bounded numbers of dependencies and moments, what is left out is counted.

use crate::vector_clock::VectorClock;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use deadheat_model::{LockMode, ObjectId, ObjectKind, ThreadId};
use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHasher};

/// Most dependencies kept.
const DEPENDENCIES: usize = 1 << 15;
/// Most moments kept of a dependency.
const MOMENTS: usize = 24;
/// Most moments of one thread.
const PER_THREAD: usize = 4;
/// What a thread took since it last signalled is looked back at so far.
const RECENT: usize = 12;
/// Waits with nothing held that a thread's record knows as noted.
const NOTED: usize = 256;
/// More locks than this held at once are not told apart.
const HELD: usize = 16;

/// What can be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Its kind; [`ObjectKind::Thread`] is a thread's end, the address being its number.
    pub kind: ObjectKind,
    /// Which.
    pub object: ObjectId,
}

impl Resource {
    /// The end of a thread.
    pub fn end_of(thread: ThreadId) -> Resource {
        let object = ObjectId {
            address: thread.0.into(),
            generation: 0,
        };
        Resource {
            kind: ObjectKind::Thread,
            object,
        }
    }

    /// Whether it is held by who took it, and by nobody else.
    pub fn is_lock(self) -> bool {
        use ObjectKind::*;
        matches!(self.kind, Mutex | RwLock | SpinLock | LockWord)
    }
}

/// A place in the program, as the caller numbers them.
pub type Place = u32;

/// A resource that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// Which.
    pub resource: Resource,
    /// How.
    pub mode: LockMode,
    /// Where it was taken; where it was signalled, if it was owed.
    pub place: Place,
    /// Whether it was taken before: a lock, a semaphore used as one. If not, it was only owed.
    pub taken: bool,
}

/// A wait that came about with these resources held.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// What was waited for.
    pub wants: Resource,
    /// How.
    pub mode: LockMode,
    /// Where.
    pub place: Place,
    /// What was held, in order of taking; what is owed is no lock.
    pub holds: Vec<Hold>,
    /// Who, when.
    pub moments: Vec<Moment>,
}

/// A thread at a time.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Who.
    pub thread: ThreadId,
    clock: Rc<VectorClock>,
}

impl Moment {
    /// Whether neither is before the other by creation and joining of threads.
    pub fn unordered(&self, other: &Moment) -> bool {
        let before = |a: &Moment, b: &Moment| b.clock.get(a.thread) >= a.clock.get(a.thread);
        self.thread != other.thread && !before(self, other) && !before(other, self)
    }
}

#[derive(Default)]
struct Thread {
    clock: VectorClock,
    /// The clock as moments share it; none since it changed.
    shared: Option<Rc<VectorClock>>,
    held: Vec<Hold>,
    /// What it waited for since it was last seen to signal, the latest last.
    recent: VecDeque<(Hold, Rc<VectorClock>)>,
    /// Waits with nothing held that are noted, by a hash.
    noted: Vec<Option<(Hold, Rc<VectorClock>)>>,
}

impl Thread {
    fn remember(&mut self, wait: Hold, clock: &Rc<VectorClock>) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((wait, clock.clone()));
    }
}

/// The dependencies of one run.
#[derive(Default)]
pub struct LockOrder {
    threads: Vec<Thread>,
    dependencies: Vec<Dependency>,
    /// Dependencies by the hash of all but their moments.
    index: HashMap<u64, u32, FxBuildHasher>,
    /// Dependencies not kept for want of room.
    pub cut: u64,
}

impl LockOrder {
    /// No dependency yet.
    pub fn new() -> LockOrder {
        LockOrder::default()
    }

    /// The dependencies so far.
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        while self.threads.len() <= thread.index() {
            let own = ThreadId(self.threads.len() as u32);
            let mut new = Thread::default();
            new.clock.set(own, 1);
            self.threads.push(new);
        }
        &mut self.threads[thread.index()]
    }

    /// `parent` creates `child`.
    pub fn created(&mut self, parent: ThreadId, child: ThreadId) {
        self.thread(child.max(parent));
        let known = self.threads[parent.index()].clock.clone();
        let child = &mut self.threads[child.index()];
        child.clock.join(&known);
        child.shared = None;
        let parent_record = &mut self.threads[parent.index()];
        parent_record.clock.advance(parent);
        parent_record.shared = None;
    }

    /// `thread` has joined `child`; its wait was told before by [`waits`](Self::waits).
    pub fn joined(&mut self, thread: ThreadId, child: ThreadId) {
        self.thread(child.max(thread));
        let known = self.threads[child.index()].clock.clone();
        let record = &mut self.threads[thread.index()];
        record.clock.join(&known);
        record.shared = None;
    }

    fn now(&mut self, thread: ThreadId) -> Rc<VectorClock> {
        let record = self.thread(thread);
        record
            .shared
            .get_or_insert_with(|| Rc::new(record.clock.clone()))
            .clone()
    }

    /// `thread` waits, or would have waited, without a time limit for a resource; `but` is a lock that it gives
    /// back meanwhile.
    pub fn waits(&mut self, thread: ThreadId, wants: Resource, mode: LockMode, place: Place, but: Option<Resource>) {
        let clock = self.now(thread);
        let record = self.thread(thread);
        let mut holds: Vec<Hold> = record.held.clone();
        if let Some(but) = but {
            holds.retain(|h| h.resource != but);
        }
        let hold = Hold {
            resource: wants,
            mode,
            place,
            taken: true,
        };
        record.remember(hold, &clock);
        self.add(hold, holds, Moment { thread, clock });
    }

    /// `thread` would have waited for a lock, took it, and gives it back before it waits for anything else: what
    /// [`waits`](Self::waits), [`took`](Self::took) and [`gave`](Self::gave) do together.
    pub fn passed_through(&mut self, thread: ThreadId, resource: Resource, mode: LockMode, place: Place) {
        let record = self.thread(thread);
        if !record.held.is_empty() {
            self.waits(thread, resource, mode, place, None);
            self.cut += u64::from(self.thread(thread).held.len() >= HELD);
            return;
        }
        let hold = Hold {
            resource,
            mode,
            place,
            taken: true,
        };
        if let Some(clock) = &record.shared {
            let slot = (resource.object.address >> 3 ^ u64::from(place) << 4) as usize % NOTED;
            if record.noted.is_empty() {
                record.noted.resize(NOTED, None);
            }
            let clock = clock.clone();
            record.remember(hold, &clock);
            let noted = &record.noted[slot];
            if noted
                .as_ref()
                .is_some_and(|(wait, then)| *wait == hold && Rc::ptr_eq(then, &clock))
            {
                return;
            }
            let moment = Moment {
                thread,
                clock: clock.clone(),
            };
            if self.add(hold, Vec::new(), moment) {
                self.threads[thread.index()].noted[slot] = Some((hold, clock));
            }
        } else {
            self.waits(thread, resource, mode, place, None);
        }
    }

    /// `thread` has taken a lock.
    pub fn took(&mut self, thread: ThreadId, resource: Resource, mode: LockMode, place: Place) {
        let record = self.thread(thread);
        if record.held.len() < HELD {
            record.held.push(Hold {
                resource,
                mode,
                place,
                taken: true,
            });
        } else {
            self.cut += 1;
        }
    }

    /// `thread` gives a lock back.
    pub fn gave(&mut self, thread: ThreadId, resource: Resource) {
        let record = self.thread(thread);
        if let Some(at) = record.held.iter().rposition(|h| h.resource == resource) {
            record.held.remove(at);
        }
    }

    /// `thread` signals a condition variable or posts a semaphore: it owed that in the waits before, back to where
    /// it took the semaphore itself, if it did.
    pub fn signals(&mut self, thread: ThreadId, resource: Resource, place: Place) {
        let recent = core::mem::take(&mut self.thread(thread).recent);
        let since = recent.iter().rposition(|(wait, _)| wait.resource == resource);
        let owed = Hold {
            resource,
            mode: LockMode::Write,
            place,
            taken: since.is_some() && resource.kind == ObjectKind::Semaphore,
        };
        for (wait, clock) in recent.iter().skip(since.map_or(0, |at| at + 1)) {
            let clock = clock.clone();
            self.add(*wait, alloc::vec![owed], Moment { thread, clock });
        }
        self.thread(thread).recent = recent;
    }

    /// Keeps a dependency; tells whether this moment of it is kept.
    fn add(&mut self, wait: Hold, holds: Vec<Hold>, moment: Moment) -> bool {
        let mut hasher = FxHasher::default();
        (wait, &holds).hash(&mut hasher);
        let key = hasher.finish();
        if let Some(known) = self.index.get(&key) {
            let moments = &mut self.dependencies[*known as usize].moments;
            let own = moments.iter().rev().filter(|m| m.thread == moment.thread);
            if own.clone().any(|m| Rc::ptr_eq(&m.clock, &moment.clock)) {
                return true;
            }
            let room = moments.len() < MOMENTS && own.count() < PER_THREAD;
            if room {
                moments.push(moment);
            } else {
                self.cut += 1;
            }
            return room;
        }
        if self.dependencies.len() == DEPENDENCIES {
            self.cut += 1;
            return false;
        }
        self.index.insert(key, self.dependencies.len() as u32);
        self.dependencies.push(Dependency {
            wants: wait.resource,
            mode: wait.mode,
            place: wait.place,
            holds,
            moments: alloc::vec![moment],
        });
        true
    }
}
