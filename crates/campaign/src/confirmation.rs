//! Candidates before the judge, several at a time.
//!
//! In rounds, so that a budget gives every candidate some tries before it gives one all. What a
//! candidate's tries show does not depend on how many run at once.

use crate::progress::Progress;
use deadheat_confirm::judge::Judge;
use deadheat_confirm::{Case, RunError};
use std::collections::VecDeque;
use std::sync::Mutex;

/// Tries of a candidate after each round, in parts of all tries: 1/10, 1/2, all. A true pair is usually shown in
/// the first try or two.
const ROUNDS: [(u32, u32); 3] = [(1, 10), (1, 2), (1, 1)];

/// Advances all cases until they are settled or `stop` says so. After each round `kept` may save them.
pub fn settle(
    judge: Judge<'_>,
    cases: &mut [Case],
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &Progress,
    kept: &mut dyn FnMut(&[Case]),
) -> Result<(), RunError> {
    for (part, whole) in ROUNDS {
        let until = (judge.rules.tries * part).div_ceil(whole);
        let error = round(judge, cases, jobs, until, stop, progress);
        kept(cases);
        error?;
        if stop() {
            break;
        }
    }
    Ok(())
}

fn round(
    judge: Judge<'_>,
    cases: &mut [Case],
    jobs: usize,
    until: u32,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &Progress,
) -> Result<(), RunError> {
    let todo = cases.iter_mut().filter(|c| c.settled.is_none()).collect();
    in_parallel(todo, jobs, stop, &|case: &mut Case, halt: &dyn Fn() -> bool| {
        let before = (case.shown.is_some(), case.harm.is_some());
        let result = judge.advance(case, until, halt);
        let (real, harmful) = (case.shown.is_some() && !before.0, case.harm.is_some() && !before.1);
        progress.judged(real, harmful, case.settled.is_some());
        progress.phase("confirming", judge.stage.runs());
        result
    })
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
    let failed: Mutex<Option<RunError>> = Mutex::new(None);
    let take = || queue.lock().ok().and_then(|mut q| q.pop_front());
    let halt = || stop() || failed.lock().is_ok_and(|f| f.is_some());
    let work = || {
        while let Some(case) = take() {
            if halt() {
                return;
            }
            if let (Err(error), Ok(mut slot)) = (advance(case, &halt), failed.lock()) {
                slot.get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.max(1) {
            scope.spawn(work);
        }
        work();
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}
