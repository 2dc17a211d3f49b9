//! `race-directed`: RaceFuzzer's algorithm 1 (Sen, PLDI 2008). A random walk that postpones every thread
//! that comes to a statement of the pair until another comes to the other statement and the two accesses
//! conflict; then a coin decides which goes first.
//!
//! What differs from the paper, and why:
//! - An arrival is judged when it happens, not when the walk picks the thread; nobody can tell the two
//!   apart. A thread that is released goes past its statement at once; the paper's would be postponed again.
//! - The coin of one meeting can be inverted ([`Parameters::flip`]) without disturbing any other draw.
//! - Of very many meetings only some are resolved ([`Meetings`]); at the others the arriving thread goes on.
//! - Postponements are bounded, and the monitor against livelocks counts scheduling points: see [`HeldBack`].
//!
//! Invariants: threads in `postponed` and `executing` stand before a target, those in `postponed` do not
//! race with each other (their meeting would have put one of them past its access). Cost of a scheduling
//! point: linear in enabled times postponed threads.

use crate::held_back::HeldBack;
use crate::racing::Meetings;
use crate::{Answer, Policy, Question, RacingPair};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use deadheat_model::{Access, Operation, SiteId, ThreadId};

/// What a run is directed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Seed.
    pub seed: u64,
    /// Probability of a switch at scheduling points that are not targets, in 1/1024.
    pub switch: u32,
    /// Bound of the postponements of one thread at one statement.
    pub postponements: u32,
    /// A postponed thread is released after so many scheduling points; usually [`PATIENCE`](crate::PATIENCE).
    pub patience: u64,
    /// Resolve the meeting with this number the other way.
    pub flip: Option<u32>,
    /// Runs only where nobody else can, until some thread stands before a target, and is let go last: one that comes to
    /// its statement with a lock that the other statement is behind has to come second.
    pub last: Option<ThreadId>,
}

/// Brings two threads to the pair at once.
#[derive(Clone, Debug)]
pub struct RaceDirected {
    pair: RacingPair,
    meetings: Meetings,
    flip: Option<u32>,
    held: HeldBack,
    last: Option<ThreadId>,
    /// Whether several threads could run at some point.
    several: bool,
    /// The first thread after that which came to a statement while nobody else could run: it was not held back.
    alone: Option<ThreadId>,
    /// The rest of R after a coin that went against the arriving thread: each runs past its access in turn.
    executing: VecDeque<ThreadId>,
}

fn statement(site: SiteId) -> u64 {
    u64::from(site.module) << 32 | u64::from(site.index)
}

impl RaceDirected {
    /// Directed at this pair.
    pub fn new(pair: RacingPair, parameters: Parameters) -> RaceDirected {
        let Parameters {
            seed,
            switch,
            postponements,
            patience,
            flip,
            last,
        } = parameters;
        RaceDirected {
            pair,
            meetings: Meetings::default(),
            flip,
            held: HeldBack::new(seed, switch, postponements, patience).with_last(last),
            last,
            several: false,
            alone: None,
            executing: VecDeque::new(),
        }
    }

    /// The first thread that had to be let go since nobody else worked, or one that came when nobody else could.
    pub fn let_go(&self) -> Option<ThreadId> {
        self.held.let_go().or(self.alone)
    }

    /// Lines 8 to 19 of the algorithm: a real race, resolved at random.
    fn meet(&mut self, q: &Question<'_>, arriving: &Access, racing: &[ThreadId]) -> Answer {
        self.last = None;
        let inverted = self.flip == Some(self.meetings.next_number());
        let arriving_first = self.held.rng().coin() != inverted;
        // Who comes second may do so at any moment after: half the time nobody is held back any longer.
        let held = self.held.rng().coin();
        let run = if arriving_first {
            if !held {
                self.held.keep(|t| !racing.contains(&t));
            }
            arriving.thread
        } else {
            self.held.keep(|t| !racing.contains(&t));
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

    fn postpone(&mut self, q: &Question<'_>, access: &Access) {
        self.last = None;
        self.held.postpone(q.step, access.thread, statement(access.site));
    }

    /// Whether the thread goes on past the statement without being asked for.
    fn passes(&mut self, access: &Access) -> bool {
        let passes = self.held.passes(access.thread, statement(access.site));
        if passes {
            self.held.passed();
        }
        passes
    }

    /// Who runs where no race has just been resolved.
    fn go_on(&mut self, q: &Question<'_>) -> ThreadId {
        if q.cause.gives_way() {
            // It may be what the others wait for.
            self.last = None;
        }
        self.executing
            .pop_front()
            .unwrap_or_else(|| self.held.go_on(q, self.last))
    }
}

impl Policy for RaceDirected {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let stands = |thread: ThreadId| thread != q.running && q.entry(thread).is_some_and(|e| e.access().is_some());
        self.held.keep(stands);
        self.executing.retain(|&t| stands(t));
        self.several |= q.enabled.len() > 1;
        if let Some(arriving) = self.pair.arrival(q) {
            let racing: Vec<ThreadId> = self.pair.racing(&arriving, q.enabled).collect();
            let meets = !racing.is_empty();
            if meets && self.meetings.tells() {
                return self.meet(q, &arriving, &racing);
            }
            if meets {
                self.meetings.pass();
                self.held.passed();
            }
            if meets || self.passes(&arriving) {
                let free = self.held.is_empty() && self.executing.is_empty();
                return Answer::run(if free { q.running } else { self.go_on(q) });
            }
            // Alone, a thread would be released at once: that shall not use up its bound.
            if q.enabled.len() > 1 {
                self.postpone(q, &arriving);
            } else if self.several {
                self.alone.get_or_insert(arriving.thread);
            }
        }
        Answer::run(self.go_on(q))
    }

    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        if !self.held.is_empty() || !self.executing.is_empty() || self.last.is_some() {
            return false;
        }
        match next {
            Operation::Access(access) if self.pair.contains(access.site) => self.passes(access),
            _ => self.held.stays(step, next),
        }
    }
}
