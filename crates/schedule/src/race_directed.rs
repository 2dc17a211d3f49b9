//! `race-directed`: RaceFuzzer's algorithm 1 (Sen, PLDI 2008). A random walk that postpones every thread
//! that comes to a statement of the pair until another comes to the other statement and the two accesses
//! conflict; then a coin decides which goes first.
//!
//! What differs from the paper, and why:
//! - An arrival is judged when it happens, not when the walk picks the thread; nobody can tell the two
//!   apart. A thread that is released goes past its statement at once; the paper's would be postponed again.
//! - The coin of one meeting can be inverted ([`Parameters::flip`]) without disturbing any other draw.
//! - Postponements are bounded per thread and statement. Past the bound they thin out instead of ending, so
//!   that a race in a hot loop's late rounds can still be met: n arrivals cost bound * (1 + ln(n / bound)).
//! - The monitor against livelocks counts scheduling points, never time: a thread postponed for longer than
//!   `patience` points is released. Threads that only spin, yield or sleep while another is postponed may
//!   well wait for that one: see [`RaceDirected::idle`].
//!
//! Invariants: threads in `postponed` and `executing` stand before a target, those in `postponed` do not
//! race with each other (their meeting would have put one of them past its access). Cost of a scheduling
//! point: linear in enabled times postponed threads.

use crate::racing::Meetings;
use crate::{Answer, Cause, Enabled, Policy, Question, RacingPair, Random};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use deadheat_model::{Access, Operation, SiteId, ThreadId};

/// A postponed thread is released after so many scheduling points, unless the plan says otherwise.
pub const PATIENCE: u64 = 10_000;
/// Sleepers that get turns may let so much virtual time pass between them, in nanoseconds, before a thread that is
/// postponed is released for them: a program that polls until its time-out has not failed, it was held up. One sleep
/// may be of any length.
const DOZE: u64 = 2_000_000_000;
/// Turns that threads which only yield get, each, before one that is postponed is released for them.
const COURTESY: u64 = 8;

/// What a run is directed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Seed.
    pub seed: u64,
    /// Probability of a switch at scheduling points that are not targets, in 1/1024.
    pub switch: u32,
    /// Bound of the postponements of one thread at one statement.
    pub postponements: u32,
    /// A postponed thread is released after so many scheduling points; usually [`PATIENCE`].
    pub patience: u64,
    /// Resolve the meeting with this number the other way.
    pub flip: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Postponed {
    thread: ThreadId,
    since: u64,
}

/// Brings two threads to the pair at once.
#[derive(Clone, Debug)]
pub struct RaceDirected {
    pair: RacingPair,
    walk: Random,
    meetings: Meetings,
    flip: Option<u32>,
    postponements: u64,
    patience: u64,
    /// Turns that sleepers get before a postponed thread is released for them. Drawn for each run, since a
    /// program that sleeps its way to the pair wants many, and one that sleeps until a postponed thread has
    /// done its work wants few.
    sleeps: u64,
    postponed: Vec<Postponed>,
    /// The rest of R after a coin that went against the arriving thread: each runs past its access in turn.
    executing: VecDeque<ThreadId>,
    /// How often a thread was to be postponed at a statement.
    arrivals: BTreeMap<(ThreadId, SiteId), u64>,
    /// Scheduling points in a row at which a thread gave way.
    ways: u64,
    /// Turns of sleepers since the last release.
    slept: u64,
    /// Deadline of the first of them.
    dozing: Option<u64>,
}

impl RaceDirected {
    /// Directed at this pair.
    pub fn new(pair: RacingPair, parameters: Parameters) -> RaceDirected {
        let mut walk = Random::new(parameters.seed, parameters.switch);
        let sleeps = parameters.patience >> (2 * (1 + walk.rng().below(4)));
        RaceDirected {
            pair,
            walk,
            meetings: Meetings::default(),
            flip: parameters.flip,
            postponements: u64::from(parameters.postponements),
            patience: parameters.patience,
            sleeps,
            postponed: Vec::new(),
            executing: VecDeque::new(),
            arrivals: BTreeMap::new(),
            ways: 0,
            slept: 0,
            dozing: None,
        }
    }

    /// Lines 8 to 19 of the algorithm: a real race, resolved at random.
    fn meet(&mut self, q: &Question<'_>, arriving: &Access, racing: &[ThreadId]) -> Answer {
        let inverted = self.flip == Some(self.meetings.next_number());
        let arriving_first = self.walk.rng().coin() != inverted;
        // Who comes second may do so at any moment after: half the time nobody is held back any longer.
        let held = self.walk.rng().coin();
        let run = if arriving_first {
            if !held {
                self.postponed.retain(|p| !racing.contains(&p.thread));
            }
            arriving.thread
        } else {
            self.postponed.retain(|p| !racing.contains(&p.thread));
            self.executing.retain(|t| !racing.contains(t));
            self.executing.extend(racing);
            if held {
                self.postpone(q, arriving);
            }
            self.executing.pop_front().unwrap_or(arriving.thread)
        };
        let postponed = racing.first().copied().unwrap_or(arriving.thread);
        let met = self.meetings.meet(arriving.thread, postponed, arriving_first);
        Answer {
            met: Some(met),
            ..Answer::run(run)
        }
    }

    /// Postpones the thread within the bound of its statement.
    fn postpone(&mut self, q: &Question<'_>, access: &Access) {
        let arrivals = self.arrivals.entry((access.thread, access.site)).or_insert(0);
        *arrivals += 1;
        let arrivals = *arrivals;
        if arrivals <= self.postponements || self.walk.rng().chance(self.postponements, arrivals) {
            self.postponed.push(Postponed {
                thread: access.thread,
                since: q.step,
            });
        }
    }

    fn is_postponed(&self, thread: ThreadId) -> bool {
        self.postponed.iter().any(|p| p.thread == thread)
    }

    /// Takes a random thread out of the postponed set (line 27).
    fn release(&mut self) -> Option<ThreadId> {
        if self.postponed.is_empty() {
            return None;
        }
        let at = self.walk.rng().below(self.postponed.len() as u64) as usize;
        (self.ways, self.slept, self.dozing) = (0, 0, None);
        Some(self.postponed.remove(at).thread)
    }

    /// Who runs where no race has just been resolved.
    fn go_on(&mut self, q: &Question<'_>) -> ThreadId {
        if let Some(next) = self.executing.pop_front() {
            return next;
        }
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
        self.walk.pick(q, free).unwrap_or_else(|| q.oldest_or_running())
    }

    /// Whom to run if nobody works: of the threads that are not postponed, all spin, yield, sleep or wait.
    ///
    /// Sleepers go first, for a while: a program that sleeps before it races is common, and time does not
    /// order accesses. A thread that yields gets a few more turns, as it may do so out of courtesy; one that
    /// was seen to spin gets none. Then a postponed thread is released: the others may wait for what it
    /// would do.
    fn idle(&mut self, q: &Question<'_>) -> Option<ThreadId> {
        if self.postponed.is_empty() {
            self.dozing = None;
            return None;
        }
        let gave_way = |e: &Enabled| q.cause.gives_way() && e.thread == q.running;
        let free = || q.enabled.iter().filter(|e| !self.is_postponed(e.thread));
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
}

impl Policy for RaceDirected {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let stands = |thread: ThreadId| thread != q.running && q.entry(thread).is_some_and(|e| e.access().is_some());
        self.postponed.retain(|p| stands(p.thread));
        self.executing.retain(|&t| stands(t));
        if let Some(arriving) = self.pair.arrival(q) {
            let racing: Vec<ThreadId> = self.pair.racing(&arriving, q.enabled).collect();
            if !racing.is_empty() {
                return self.meet(q, &arriving, &racing);
            }
            // Alone, a thread would be released at once: that shall not use up its bound.
            if q.enabled.len() > 1 {
                self.postpone(q, &arriving);
            }
        }
        Answer::run(self.go_on(q))
    }

    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        let target = matches!(next, Operation::Access(access) if self.pair.contains(access.site));
        if target || !self.postponed.is_empty() || !self.executing.is_empty() {
            return false;
        }
        let stays = self.walk.stays(step, next);
        if stays {
            self.ways = 0;
        }
        stays
    }
}
