//! Candidates before the judge, several at a time.
//!
//! In rounds, so that a budget gives every candidate some tries before it gives one all; within a round in the
//! order of [`cause`](crate::cause), and, once a candidate is shown, those of the same cause last. In each
//! round first come those that are tried alone, then those that are tried together, then those of the latter
//! that were shown, alone from now on. What a candidate's tries show does not depend on how many run at once.

use crate::cause::Order;
use crate::progress::{Counts, Progress};
use deadheat_confirm::judge::Judge;
use deadheat_confirm::{Case, RunError};
use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Tries of a candidate after each round, in parts of all tries: 1/10, 1/2, all. A true pair is usually shown in
/// the first try or two.
const ROUNDS: [(u32, u32); 3] = [(1, 10), (1, 2), (1, 1)];

/// What is shown waits at most so long, in a long round, before it is saved.
const SAVED_AFTER: Duration = Duration::from_secs(5);

/// Advances all cases until they are settled or `stop` says so. After each round, and within a long one after something
/// was shown, `kept` may save them.
pub fn settle(
    judge: Judge<'_>,
    cases: &mut [Case],
    order: &Order,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &Progress,
    kept: &mut dyn FnMut(&[Case]),
) -> Result<(), RunError> {
    let news = News::default();
    let work = Work {
        judge,
        causes: &order.causes,
        jobs,
        stop: &|| stop() || news.are_due(),
        progress,
        news: &news,
    };
    progress.known(cases);
    let mut alone = order.alone.clone();
    for (part, whole) in ROUNDS {
        let until = (judge.rules.tries * part).div_ceil(whole);
        loop {
            let result = work.round(cases, alone.iter().map(|i| vec![*i]), until).and_then(|()| {
                work.round(cases, order.together.iter().cloned(), until)?;
                let shown = |i: &&usize| cases[**i].hits > 0 && !alone.contains(i);
                let promoted: Vec<usize> = order.together.iter().flatten().filter(shown).copied().collect();
                alone.extend(&promoted);
                work.round(cases, promoted.iter().map(|i| vec![*i]), until)
            });
            let interrupted = news.are_due();
            kept(cases);
            news.saved();
            result?;
            // After an interruption each case goes on from where it is.
            if stop() || !interrupted {
                break;
            }
        }
        if stop() {
            break;
        }
    }
    Ok(())
}

/// Whether something was shown that is not saved yet.
struct News {
    any: AtomicBool,
    saved: Mutex<Instant>,
}

impl Default for News {
    fn default() -> News {
        News {
            any: AtomicBool::new(false),
            saved: Mutex::new(Instant::now()),
        }
    }
}

impl News {
    fn are_due(&self) -> bool {
        self.any.load(Relaxed) && self.saved.lock().is_ok_and(|saved| saved.elapsed() > SAVED_AFTER)
    }

    fn saved(&self) {
        self.any.store(false, Relaxed);
        if let Ok(mut saved) = self.saved.lock() {
            *saved = Instant::now();
        }
    }
}

#[derive(Clone, Copy)]
struct Work<'a> {
    judge: Judge<'a>,
    causes: &'a [usize],
    jobs: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    progress: &'a Progress,
    news: &'a News,
}

/// Candidates that are tried together, or one alone, with its cause.
struct Item<'c> {
    cases: Vec<&'c mut Case>,
    cause: Option<usize>,
}

/// What is still to do in a round.
#[derive(Default)]
struct Queue<'c> {
    next: VecDeque<Item<'c>>,
    /// Those whose cause is shown already.
    last: VecDeque<Item<'c>>,
    shown: HashSet<usize>,
}

impl<'c> Queue<'c> {
    fn take(&mut self) -> Option<Item<'c>> {
        while let Some(item) = self.next.pop_front() {
            let waits = |cause| self.shown.contains(&cause) && item.cases.iter().all(|c| c.shown.is_none());
            if !item.cause.is_some_and(waits) {
                return Some(item);
            }
            self.last.push_back(item);
        }
        self.last.pop_front()
    }
}

impl Work<'_> {
    fn round(&self, cases: &mut [Case], items: impl Iterator<Item = Vec<usize>>, until: u32) -> Result<(), RunError> {
        let mut queue = Queue::default();
        let shown = cases.iter().zip(self.causes).filter(|(case, _)| case.shown.is_some());
        queue.shown.extend(shown.map(|(_, cause)| *cause));
        let mut open: Vec<Option<&mut Case>> = cases
            .iter_mut()
            .map(|c| Some(c).filter(|c| c.settled.is_none()))
            .collect();
        for members in items {
            let cause = self.causes.get(members[0]).copied().filter(|_| members.len() == 1);
            let cases: Vec<&mut Case> = members.iter().filter_map(|i| open.get_mut(*i)?.take()).collect();
            if !cases.is_empty() {
                queue.next.push_back(Item { cases, cause });
            }
        }
        let queue = Mutex::new(queue);
        let take = || queue.lock().ok().and_then(|mut q| q.take());
        taken_in_parallel(
            &take,
            self.jobs,
            self.stop,
            &|item: &mut Item<'_>, halt: &dyn Fn() -> bool| {
                let counts = |cases: &[&mut Case]| Counts::of(cases.iter().map(|c| &**c));
                let shown = |cases: &[&mut Case]| cases.iter().filter(|c| c.shown.is_some()).count();
                let (before, known) = (counts(&item.cases), shown(&item.cases));
                let result = match item.cases.as_mut_slice() {
                    [case] => self.judge.advance(case, until, halt),
                    several => self.judge.advance_together(several, until, halt),
                };
                let now = shown(&item.cases);
                if now > known {
                    self.news.any.store(true, Relaxed);
                }
                if let (Some(cause), true, Ok(mut queue)) = (item.cause, now > 0, queue.lock()) {
                    queue.shown.insert(cause);
                }
                self.progress.judged(before, counts(&item.cases));
                self.progress.phase("confirming", self.judge.stage.runs());
                result
            },
        )
    }
}

/// Takes a case further, until the second argument says so.
type Advance<'a, T> = dyn Fn(&mut T, &dyn Fn() -> bool) -> Result<(), RunError> + Sync + 'a;

/// Works on all cases, several at a time, in their order; the first error stops the rest.
pub(crate) fn in_parallel<T: Send>(
    todo: VecDeque<&mut T>,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
    advance: &Advance<'_, T>,
) -> Result<(), RunError> {
    let queue = Mutex::new(todo);
    let take = || queue.lock().ok().and_then(|mut q| q.pop_front());
    taken_in_parallel(&take, jobs, stop, &|case: &mut &mut T, halt: &dyn Fn() -> bool| {
        advance(case, halt)
    })
}

/// The same for all that `take` gives.
fn taken_in_parallel<T: Send>(
    take: &(dyn Fn() -> Option<T> + Sync),
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
    advance: &Advance<'_, T>,
) -> Result<(), RunError> {
    let failed: Mutex<Option<RunError>> = Mutex::new(None);
    let halt = || stop() || failed.lock().is_ok_and(|f| f.is_some());
    let work = || {
        while let Some(mut item) = take() {
            if halt() {
                return;
            }
            if let (Err(error), Ok(mut slot)) = (advance(&mut item, &halt), failed.lock()) {
                slot.get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.max(1) {
            // Where the machine gives no more threads, there are fewer at work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}
