//! The question that the runtime asks at a scheduling point, and the answer.

use deadheat_model::{Access, Operation, ThreadId};

/// A thread that could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled {
    /// Who.
    pub thread: ThreadId,
    /// What it does first when it is picked. A thread that stands before a target statement has
    /// [`Operation::Access`], and keeps it until it was picked.
    pub next: Operation,
    /// Its place in the queue, the lowest being first: renewed whenever the thread loses the turn (blocks,
    /// yields, is preempted) and when it is woken. For a [`timeout`](Self::timeout) entry: its deadline,
    /// so that the lowest is the one that time would wake first.
    pub stamp: u64,
    /// Where in the program it called for that, as a number that differs between places of a module; 0 if unknown.
    pub place: u64,
    /// Enabled only by letting its timed wait or sleep run out.
    pub timeout: bool,
}

impl Enabled {
    /// The access before which the thread stands, if it stands before a target statement.
    pub fn access(&self) -> Option<&Access> {
        match &self.next {
            Operation::Access(access) if !self.timeout => Some(access),
            _ => None,
        }
    }
}

/// Why the runtime asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The running thread comes to an operation and could go on.
    Point,
    /// It waits.
    Blocked,
    /// It ended.
    Ended,
    /// It gives the processor up.
    Yield,
    /// It loops without progress.
    Spin,
}

impl Cause {
    /// Whether the running thread could go on but asks to lose the turn.
    pub fn gives_way(self) -> bool {
        matches!(self, Cause::Yield | Cause::Spin)
    }
}

/// One scheduling point.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Number of the scheduling point; never falls.
    pub step: u64,
    /// The thread that has the turn.
    pub running: ThreadId,
    /// Why we are asked.
    pub cause: Cause,
    /// Who could run, ascending by thread, not empty; has `running` exactly if that can go on.
    pub enabled: &'a [Enabled],
}

impl Question<'_> {
    /// The entry of this thread.
    pub fn entry(&self, thread: ThreadId) -> Option<&Enabled> {
        let at = self.enabled.binary_search_by_key(&thread, |e| e.thread).ok()?;
        self.enabled.get(at)
    }

    /// Whether the running thread could go on at once.
    pub fn can_go_on(&self) -> bool {
        self.entry(self.running).is_some_and(|e| !e.timeout)
    }

    /// The access of a thread that has just come to a target statement. The runtime asks once an arrival:
    /// with [`Cause::Point`], the arriving thread running and its `next` the access.
    pub fn arrival(&self) -> Option<&Access> {
        if self.cause == Cause::Point {
            self.entry(self.running)?.access()
        } else {
            None
        }
    }

    /// First in the queue among the entries that pass the filter; entries that need no time-out go first.
    pub(crate) fn oldest(&self, keep: impl Fn(&Enabled) -> bool) -> Option<ThreadId> {
        let entries = self.enabled.iter().filter(|e| keep(e));
        entries.min_by_key(|e| (e.timeout, e.stamp, e.thread)).map(|e| e.thread)
    }

    /// Answer of last resort for a question that breaks its contract: the running thread.
    pub(crate) fn oldest_or_running(&self) -> ThreadId {
        self.oldest(|_| true).unwrap_or(self.running)
    }
}

/// Two threads stand at once before conflicting accesses, one at each statement of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The thread that came last.
    pub arriving: ThreadId,
    /// A thread that stood there: the lowest of those whose access conflicts.
    pub postponed: ThreadId,
    /// Whether the arriving thread goes first.
    pub arriving_first: bool,
    /// Number of the meeting in this run, from 0.
    pub number: u32,
}

/// Who runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// A thread of [`Question::enabled`].
    pub run: ThreadId,
    /// The meeting that this scheduling point made.
    pub met: Option<Met>,
    /// A recorded schedule could not be followed here: `run` is a substitute.
    pub diverged: bool,
}

impl Answer {
    /// This thread, and nothing to report.
    pub fn run(thread: ThreadId) -> Answer {
        Answer {
            run: thread,
            met: None,
            diverged: false,
        }
    }
}

/// Decides who runs.
pub trait Policy {
    /// Picks one of the enabled threads.
    fn choose(&mut self, question: &Question<'_>) -> Answer;

    /// The short way at a scheduling point of [`Cause::Point`] where the running thread could go on and comes
    /// to `next`, and, if that is a target, nobody else stands before a conflicting access. True: the thread goes on, all that
    /// [`choose`](Self::choose) would have changed is changed. False: nothing is decided, `choose` is asked
    /// next, of the same point, and the two together are as `choose` alone. Spares the list of who could run.
    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        let _ = (step, next);
        false
    }

    /// How many points in a row [`stays`](Self::stays) would let the running thread pass: whatever it comes to,
    /// and if it comes to targets that nobody stands before; the second is never less.
    fn spare(&self) -> [u32; 2] {
        [0; 2]
    }

    /// So many of [`spare`](Self::spare) were passed unasked.
    fn passed(&mut self, points: u32) {
        let _ = points;
    }
}
