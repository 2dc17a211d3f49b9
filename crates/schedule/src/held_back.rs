//! Threads that are held back at statements, and who runs meanwhile: what the directed policies share.
//!
//! Postponements are bounded per thread and statement. Past the bound they thin out instead of ending, so that
//! what happens in a hot loop's late rounds can still be met: n arrivals cost bound * (1 + ln(n / bound)), and those
//! between *pass*: a policy may let them go on without a scheduling point ([`HeldBack::passes`]). The monitor against livelocks counts scheduling points, never time: a thread postponed for longer than `patience`
//! points is released. Threads that only spin, yield or sleep while another is postponed may well wait for that
//! one: see [`HeldBack::idle`].

use crate::{Cause, Enabled, Question, Random, Rng};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use deadheat_model::ThreadId;

/// A postponed thread is released after so many scheduling points, unless the plan says otherwise.
pub const PATIENCE: u64 = 10_000;
/// Sleepers that get turns may let so much virtual time pass between them, in nanoseconds, before a thread that is
/// postponed is released for them: a program that polls until its time-out has not failed, it was held up. One sleep
/// may be of any length.
const DOZE: u64 = 2_000_000_000;
/// Turns that threads which only yield get, each, before one that is postponed is released for them.
const COURTESY: u64 = 8;

/// The bound of arrivals at one statement where nobody is ever postponed.
const UNBOUNDED: u64 = 200;

#[derive(Clone, Copy, Debug)]
struct Postponed {
    thread: ThreadId,
    since: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    count: u64,
    /// So many of the next ones pass.
    pass: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct HeldBack {
    walk: Random,
    postponements: u64,
    patience: u64,
    /// Turns that sleepers get before a postponed thread is released for them. Drawn for each run, since a
    /// program that sleeps its way to the statements wants many, and one that sleeps until a postponed thread has
    /// done its work wants few.
    sleeps: u64,
    postponed: Vec<Postponed>,
    /// How often a thread came to a statement and could have been postponed.
    arrivals: BTreeMap<(ThreadId, u64), Arrivals>,
    /// Scheduling points in a row at which a thread gave way.
    ways: u64,
    /// Turns of sleepers since the last release.
    slept: u64,
    /// Deadline of the first of them.
    dozing: Option<u64>,
    /// Who is let go last, if there is a choice.
    last: Option<ThreadId>,
    /// The first that was let go since nobody else worked.
    let_go: Option<ThreadId>,
    /// The last that was let go though others could have been.
    chosen: Option<ThreadId>,
}

impl HeldBack {
    /// Nobody yet, over a walk that switches with probability `switch`/1024.
    pub fn new(seed: u64, switch: u32, postponements: u32, patience: u64) -> HeldBack {
        let mut walk = Random::new(seed, switch);
        let sleeps = patience >> (2 * (1 + walk.rng().below(4)));
        HeldBack {
            walk,
            postponements: u64::from(postponements),
            patience,
            sleeps,
            postponed: Vec::new(),
            arrivals: BTreeMap::new(),
            ways: 0,
            slept: 0,
            dozing: None,
            last: None,
            let_go: None,
            chosen: None,
        }
    }

    /// The same, with a thread that is let go last.
    pub fn with_last(self, last: Option<ThreadId>) -> HeldBack {
        HeldBack { last, ..self }
    }

    /// Who was let go since nobody else worked: the last one that could have stayed instead of others, else the first.
    pub fn let_go(&self) -> Option<ThreadId> {
        self.chosen.or(self.let_go)
    }

    /// The source of randomness.
    pub fn rng(&mut self) -> &mut Rng {
        self.walk.rng()
    }

    /// Whether nobody is postponed.
    pub fn is_empty(&self) -> bool {
        self.postponed.is_empty()
    }

    /// Whether the thread is postponed.
    pub fn has(&self, thread: ThreadId) -> bool {
        self.postponed.iter().any(|p| p.thread == thread)
    }

    /// Whether this arrival is one of those between two that count.
    pub fn passes(&mut self, thread: ThreadId, statement: u64) -> bool {
        let Some(arrivals) = self.arrivals.get_mut(&(thread, statement)) else {
            return false;
        };
        let passes = arrivals.pass > 0;
        arrivals.pass -= u64::from(passes);
        arrivals.count += u64::from(passes);
        passes
    }

    /// Postpones the thread unless the arrival passes, and thins out what comes past the bound of its statement.
    pub fn postpone(&mut self, step: u64, thread: ThreadId, statement: u64) {
        if self.passes(thread, statement) {
            return;
        }
        let arrivals = self.arrivals.entry((thread, statement)).or_default();
        arrivals.count += 1;
        let bound = if self.postponements > 0 {
            self.postponements
        } else {
            UNBOUNDED
        };
        if arrivals.count > bound {
            arrivals.pass = self.walk.rng().below(1 + 2 * arrivals.count / bound);
        }
        if self.postponements > 0 {
            self.postponed.push(Postponed { thread, since: step });
        }
    }

    /// The running thread goes on past a statement at which it passes.
    pub fn passed(&mut self) {
        self.ways = 0;
    }

    /// Lets go those threads that do not pass the test.
    pub fn keep(&mut self, test: impl Fn(ThreadId) -> bool) {
        self.postponed.retain(|p| test(p.thread));
    }

    /// Takes a random thread out of the postponed set (algorithm 1, line 27).
    fn release(&mut self) -> Option<ThreadId> {
        let several = self.postponed.len() > 1;
        let others = self
            .postponed
            .iter()
            .filter(|p| !several || Some(p.thread) != self.last);
        let others: Vec<ThreadId> = others.map(|p| p.thread).collect();
        if others.is_empty() {
            return None;
        }
        let released = others[self.walk.rng().below(others.len() as u64) as usize];
        (self.ways, self.slept, self.dozing) = (0, 0, None);
        self.postponed.retain(|p| p.thread != released);
        self.let_go.get_or_insert(released);
        if several {
            self.chosen = Some(released);
        }
        Some(released)
    }

    /// Who runs next of those that are not postponed, or whom to release; `last` only if there is nobody else.
    pub fn go_on(&mut self, q: &Question<'_>, last: Option<ThreadId>) -> ThreadId {
        let overdue = |p: &Postponed| q.step.saturating_sub(p.since) > self.patience;
        if let Some(at) = self.postponed.iter().position(overdue) {
            return self.postponed.remove(at).thread;
        }
        self.ways = if q.cause.gives_way() { self.ways + 1 } else { 0 };
        if let Some(run) = self.idle(q) {
            return run;
        }
        let postponed = &self.postponed;
        let free = |e: &Enabled| postponed.iter().all(|p| p.thread != e.thread);
        let others = |e: &Enabled| free(e) && Some(e.thread) != last;
        let picked = last.and_then(|_| self.walk.pick(q, others));
        picked
            .or_else(|| self.walk.pick(q, free))
            .unwrap_or_else(|| q.oldest_or_running())
    }

    /// Whom to run if nobody works: of the threads that are not postponed, all spin, yield, sleep or wait.
    ///
    /// Sleepers go first, for a while: a program that sleeps before it comes to the statements is common, and time
    /// does not order accesses. A thread that yields gets a few more turns, as it may do so out of courtesy; one that
    /// was seen to spin gets none. Then a postponed thread is released: the others may wait for what it
    /// would do.
    fn idle(&mut self, q: &Question<'_>) -> Option<ThreadId> {
        if self.postponed.is_empty() {
            self.dozing = None;
            return None;
        }
        let gave_way = |e: &Enabled| q.cause.gives_way() && e.thread == q.running;
        let free = || q.enabled.iter().filter(|e| !self.has(e.thread));
        let turns = COURTESY * free().filter(|e| !e.timeout).count() as u64;
        if free().any(|e| !e.timeout && !gave_way(e)) {
            // Threads that hand the turn round among themselves do not work either.
            return if self.ways > turns { self.release() } else { None };
        }
        let sleeper = q.oldest(|e| e.timeout).and_then(|t| q.entry(t));
        if self.slept < self.sleeps
            && let Some(sleeper) = sleeper
            && sleeper.stamp.saturating_sub(*self.dozing.get_or_insert(sleeper.stamp)) <= DOZE
        {
            self.slept += 1;
            return Some(sleeper.thread);
        }
        if q.cause == Cause::Yield && q.can_go_on() && self.ways <= turns {
            return Some(q.running);
        }
        self.release()
    }

    /// The walk's short way; only where nobody is postponed.
    pub fn stays(&mut self, step: u64, next: &deadheat_model::Operation) -> bool {
        let stays = crate::Policy::stays(&mut self.walk, step, next);
        if stays {
            self.ways = 0;
        }
        stays
    }
}
