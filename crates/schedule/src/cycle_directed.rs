//! `cycle-directed`: brings threads into a cycle of waiting (DeadlockFuzzer: Joshi, Park, Sen and Naik, PLDI 2009,
//! algorithms 3 and 4). A random walk that holds a thread back where it is about to wait at a place of the cycle,
//! holding what that place asks for, until every place has a thread and each waits for what the next one holds; then
//! nobody is held back, and the threads go and wait for one another.
//!
//! What differs from the paper: a cycle is judged by who holds what is wanted now, not by abstractions of objects;
//! what is wanted may also be owed by whoever stands at the next place (a signal, a post); threads are let go by the
//! rules of [`HeldBack`], so that one that stands in the way of the others does not stand there for ever (the paper's
//! thrashing).

use crate::held_back::HeldBack;
use crate::{Answer, Cause, Enabled, Policy, Question};
use alloc::vec::Vec;
use deadheat_model::{CyclePart, Operation, ThreadId, Wanted};

/// What a run is directed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleParameters {
    /// Seed.
    pub seed: u64,
    /// Probability of a switch at scheduling points outside the cycle, in 1/1024.
    pub switch: u32,
    /// Bound of the postponements of one thread at one place.
    pub postponements: u32,
    /// A postponed thread is released after so many scheduling points; usually [`PATIENCE`](crate::PATIENCE).
    pub patience: u64,
    /// Places of the cycle, at most 32.
    pub parts: u32,
}

/// Brings threads into a cycle.
#[derive(Clone, Debug)]
pub struct CycleDirected {
    held: HeldBack,
    parts: u32,
    /// Who stands at a place of the cycle, whether held back or let go.
    standing: Vec<ThreadId>,
}

impl CycleDirected {
    /// Directed at a cycle of so many places.
    pub fn new(parameters: CycleParameters) -> CycleDirected {
        let CycleParameters {
            seed,
            switch,
            postponements,
            patience,
            parts,
        } = parameters;
        CycleDirected {
            held: HeldBack::new(seed, switch, postponements, patience),
            parts,
            standing: Vec::new(),
        }
    }

    /// Threads at all places, each waiting for the next; empty if there are none.
    fn complete(&self, q: &Question<'_>) -> Vec<ThreadId> {
        let there: Vec<(ThreadId, &CyclePart)> = q.enabled.iter().filter_map(|e| Some((e.thread, part(e)?))).collect();
        let mut chosen = Vec::new();
        if there.len() >= self.parts as usize && self.parts > 0 {
            self.fill(&there, &mut chosen);
        }
        chosen.iter().map(|&at| there[at].0).collect()
    }

    fn fill(&self, there: &[(ThreadId, &CyclePart)], chosen: &mut Vec<usize>) -> bool {
        let waits_for = |a: usize, b: usize| match there[a].1.wants {
            Wanted::Free => false,
            Wanted::Held(by) => by == there[b].0,
            Wanted::Owed => true,
        };
        let place = chosen.len() as u32;
        if place == self.parts {
            let ends = chosen.first().zip(chosen.last());
            return ends.is_some_and(|(&first, &last)| waits_for(last, first));
        }
        for at in 0..there.len() {
            let stands = there[at].1.parts & 1 << place != 0 && !chosen.contains(&at);
            if stands && chosen.last().is_none_or(|&last| waits_for(last, at)) {
                chosen.push(at);
                if self.fill(there, chosen) {
                    return true;
                }
                chosen.pop();
            }
        }
        false
    }
}

/// The place of the cycle at which a thread stands.
fn part(entry: &Enabled) -> Option<&CyclePart> {
    match &entry.next {
        Operation::Part(part) if !entry.timeout => Some(part),
        _ => None,
    }
}

impl Policy for CycleDirected {
    fn choose(&mut self, q: &Question<'_>) -> Answer {
        let stands = |thread: ThreadId| q.entry(thread).and_then(part).is_some();
        let arriving = Some(q.running).filter(|t| q.cause == Cause::Point && stands(*t));
        self.standing.retain(|t| stands(*t) && Some(*t) != arriving);
        let standing = &self.standing;
        self.held.keep(|t| standing.contains(&t));
        let there = q.enabled.iter().filter_map(|e| Some((e.thread, part(e)?)));
        let new: Vec<(ThreadId, &CyclePart)> = there.filter(|(t, _)| !self.standing.contains(t)).collect();
        if !new.is_empty() {
            self.standing.extend(new.iter().map(|n| n.0));
            let cycle = self.complete(q);
            if let Some(first) = cycle.first() {
                self.held.keep(|t| !cycle.contains(&t));
                return Answer::run(*first);
            }
            // Alone, a thread would be released at once: that shall not use up its bound.
            if q.enabled.len() > 1 {
                for (thread, part) in new {
                    self.held.postpone(q.step, thread, part.parts.into());
                }
            }
        }
        Answer::run(self.held.go_on(q, None))
    }

    fn stays(&mut self, step: u64, next: &Operation) -> bool {
        !matches!(next, Operation::Part(_)) && self.held.is_empty() && self.held.stays(step, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_model::{ObjectId, ObjectKind};

    const SEEDS: u64 = 50;

    /// Threads that take two locks each, the second inside the first, many times around other work.
    struct Diners {
        /// First and second lock of each thread.
        wants: Vec<[usize; 2]>,
        at: Vec<u32>,
        owner: Vec<Option<usize>>,
    }

    /// Points of a thread's round: work, first, second, release.
    const ROUND: u32 = 40;
    const ROUNDS: u32 = 3;

    impl Diners {
        fn new(wants: &[[usize; 2]]) -> Diners {
            Diners {
                wants: wants.to_vec(),
                at: alloc::vec![0; wants.len()],
                owner: alloc::vec![None; wants.len().max(3)],
            }
        }

        /// What the thread does next: the lock that it takes, if it takes one, and whether that is its second.
        fn next(&self, thread: usize) -> Option<(usize, bool)> {
            match self.at[thread] % ROUND {
                20 => Some((self.wants[thread][0], false)),
                21 => Some((self.wants[thread][1], true)),
                _ => None,
            }
        }

        fn entry(&self, thread: usize) -> Option<Enabled> {
            let done = self.at[thread] >= ROUND * ROUNDS;
            let next = match self.next(thread) {
                _ if done => return None,
                Some((lock, _)) if self.owner[lock].is_some_and(|o| o != thread) && self.blocks(thread) => return None,
                Some((lock, true)) => Operation::Part(CyclePart {
                    parts: 1 << thread,
                    kind: ObjectKind::Mutex,
                    object: ObjectId {
                        address: lock as u64,
                        generation: 0,
                    },
                    wants: self.owner[lock].map_or(Wanted::Free, |o| Wanted::Held(ThreadId(o as u32))),
                }),
                _ => Operation::Continue,
            };
            Some(Enabled {
                place: 0,
                thread: ThreadId(thread as u32),
                next,
                stamp: u64::from(self.at[thread]),
                timeout: false,
            })
        }

        /// Whether the thread has come to wait (it was picked there).
        fn blocks(&self, thread: usize) -> bool {
            self.next(thread).is_some_and(|(_, second)| !second) || self.at[thread] >= 1 << 20
        }
    }

    /// Whether a run ends with all threads waiting.
    fn deadlocks(wants: &[[usize; 2]], policy: &mut dyn Policy) -> bool {
        let mut state = Diners::new(wants);
        let mut waits = alloc::vec![false; wants.len()];
        let (mut running, cause) = (0, Cause::Point);
        for step in 0..20_000 {
            let free = |t: &usize| {
                let held = state
                    .next(*t)
                    .is_some_and(|(l, _)| state.owner[l].is_some_and(|o| o != *t));
                !(waits[*t] && held)
            };
            let enabled: Vec<Enabled> = (0..wants.len()).filter(free).filter_map(|t| state.entry(t)).collect();
            if enabled.is_empty() {
                return state.at.iter().any(|at| *at < ROUND * ROUNDS);
            }
            let cause = if enabled.iter().any(|e| e.thread.index() == running) {
                cause
            } else {
                Cause::Blocked
            };
            let thread = policy
                .choose(&Question {
                    step,
                    running: ThreadId(running as u32),
                    cause,
                    enabled: &enabled,
                })
                .run
                .index();
            running = thread;
            match state.next(thread) {
                Some((lock, _)) if state.owner[lock].is_some_and(|o| o != thread) => {
                    waits[thread] = true;
                    continue;
                }
                Some((lock, _)) => state.owner[lock] = Some(thread),
                None => {}
            }
            waits[thread] = false;
            state.at[thread] += 1;
            if state.at[thread] % ROUND == 22 {
                state
                    .owner
                    .iter_mut()
                    .filter(|o| **o == Some(thread))
                    .for_each(|o| *o = None);
            }
        }
        panic!("the run did not end");
    }

    fn hits(wants: &[[usize; 2]]) -> u64 {
        let parameters = |seed| CycleParameters {
            seed,
            switch: 205,
            postponements: 50,
            patience: crate::PATIENCE,
            parts: wants.len() as u32,
        };
        let hit = |seed: &u64| deadlocks(wants, &mut CycleDirected::new(parameters(*seed)));
        (0..SEEDS).filter(hit).count() as u64
    }

    #[test]
    fn two_threads_are_brought_into_a_cycle() {
        let walks = (0..SEEDS)
            .filter(|s| deadlocks(&[[0, 1], [1, 0]], &mut crate::Random::new(*s, 20)))
            .count() as u64;
        let directed = hits(&[[0, 1], [1, 0]]);
        assert!(
            directed >= SEEDS * 9 / 10 && directed > 2 * walks,
            "{directed}, undirected {walks}"
        );
    }

    #[test]
    fn three_threads_too() {
        assert!(hits(&[[0, 1], [1, 2], [2, 0]]) >= SEEDS * 9 / 10);
    }

    #[test]
    fn without_a_cycle_every_run_ends_well() {
        assert_eq!(hits(&[[0, 1], [0, 1]]), 0);
    }
}
