//! Random programs and their runs.
//!
//! A program is a few functions that call later ones, take locks, post and wait for semaphores, create threads and
//! join them. A call that need not be made is made every other time.

use super::{Event, THREADS};
use deadheat_model::LockMode;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    Call(u32),
    /// Every other time.
    Maybe(u32),
    Locked(u32, LockMode, Vec<Statement>),
    Create(u32),
    Join(u32),
    Post(u64),
    Wait(u64),
}

/// Bodies; function 0 is main, and thread `n` runs function `n`, for `n` below [`THREADS`].
#[derive(Clone, Debug)]
pub struct Program(pub Vec<Vec<Statement>>);

/// Functions of a program.
pub const FUNCTIONS: u32 = 10;
/// Locks of a program.
pub const LOCKS: u32 = 2;
const LONGEST: usize = 400;

/// A statement of function `f`.
fn statement(f: u32, semaphores: bool) -> impl Strategy<Value = Statement> {
    let later = (f + 1).clamp(THREADS, FUNCTIONS - 1)..FUNCTIONS;
    let call = later.clone().prop_map(Statement::Call);
    let maybe = later.prop_map(Statement::Maybe);
    let mode = prop_oneof![Just(LockMode::Read), Just(LockMode::Write)];
    let inner = proptest::collection::vec(call.clone(), 0..3);
    let locked = (0..LOCKS, mode, inner).prop_map(|(lock, mode, body)| Statement::Locked(lock, mode, body));
    let post = (0..2u64).prop_map(Statement::Post);
    let wait = (0..2u64).prop_map(Statement::Wait);
    let few = u32::from(semaphores);
    let thread = 1..THREADS;
    // Only main makes threads and waits for them: then nobody waits in vain, and runs differ in their schedules alone.
    let own = u32::from(f == 0);
    prop_oneof![
        6 => call, 2 => maybe, 2 => locked, few => post, few => wait,
        4 * own => thread.clone().prop_map(Statement::Create), 2 * own => thread.prop_map(Statement::Join),
    ]
}

/// Programs; without semaphores, what orders threads does so in every schedule.
pub fn program(semaphores: bool) -> impl Strategy<Value = Program> {
    let bodies: Vec<_> = (0..FUNCTIONS)
        .map(|f| {
            let most = if f + 1 == FUNCTIONS { 0 } else { 5 };
            proptest::collection::vec(statement(f, semaphores), 0..=most)
        })
        .collect();
    bodies.prop_map(Program)
}

impl Program {
    /// What a thread that runs this function does, at most [`LONGEST`] events.
    pub fn events(&self, f: u32) -> Vec<Event> {
        let mut events = Vec::new();
        let mut turns = BTreeMap::new();
        self.call(f, &mut events, &mut turns);
        events
    }

    fn call(&self, f: u32, events: &mut Vec<Event>, turns: &mut BTreeMap<(u32, u32), u32>) {
        events.push(Event::Enter(f));
        for statement in &self.0[f as usize] {
            self.run(f, statement, events, turns);
        }
        events.push(Event::Exit(f));
    }

    fn run(&self, f: u32, statement: &Statement, events: &mut Vec<Event>, turns: &mut BTreeMap<(u32, u32), u32>) {
        match statement {
            Statement::Call(g) if events.len() < LONGEST && *g > f => self.call(*g, events, turns),
            Statement::Maybe(g) if events.len() < LONGEST && *g > f => {
                let turn = turns.entry((f, *g)).or_default();
                *turn += 1;
                if *turn % 2 == 1 {
                    self.call(*g, events, turns);
                }
            }
            Statement::Call(_) | Statement::Maybe(_) => {}
            Statement::Locked(lock, mode, body) => {
                events.push(Event::Lock(*lock, *mode));
                body.iter().for_each(|s| self.run(f, s, events, turns));
                events.push(Event::Unlock(*lock, *mode));
            }
            Statement::Create(thread) => events.push(Event::Create(*thread)),
            Statement::Join(thread) => events.push(Event::Join(*thread)),
            Statement::Post(key) => events.push(Event::Give(*key)),
            Statement::Wait(key) => events.push(Event::Take(*key)),
        }
    }

    /// A run under a schedule, and whether it came to its end: a thread that waits for good stays where it is.
    pub fn execution(&self, schedule: &[u8]) -> (Vec<(u32, Event)>, bool) {
        let code: Vec<Vec<Event>> = (0..THREADS).map(|t| self.events(t)).collect();
        let (mut at, mut alive) = ([0usize; THREADS as usize], [false; THREADS as usize]);
        alive[0] = true;
        let mut posted: BTreeMap<u64, u32> = BTreeMap::new();
        let mut held: Vec<(u32, u32, LockMode)> = Vec::new();
        let mut log: Vec<(u32, Event)> = Vec::new();
        let mut joined: BTreeSet<u32> = BTreeSet::new();
        let mut choices = schedule.iter().cycle();
        loop {
            let can = |t: u32| {
                let next = code[t as usize].get(at[t as usize]);
                alive[t as usize]
                    && next.is_some_and(|event| match event {
                        Event::Lock(lock, mode) => {
                            let shared = |m: &LockMode| *m == LockMode::Read && *mode == LockMode::Read;
                            let mut others = held.iter().filter(|(who, l, _)| l == lock && *who != t);
                            others.all(|(_, _, m)| shared(m))
                        }
                        Event::Join(child) => {
                            !alive[*child as usize] || at[*child as usize] >= code[*child as usize].len()
                        }
                        Event::Take(key) => posted.get(key).is_some_and(|n| *n > 0),
                        _ => true,
                    })
            };
            let ready: Vec<u32> = (0..THREADS).filter(|t| can(*t)).collect();
            let Some(choice) = choices.next().filter(|_| !ready.is_empty()) else {
                break;
            };
            let me = ready[usize::from(*choice) % ready.len()];
            let event = code[me as usize][at[me as usize]];
            at[me as usize] += 1;
            let done = match event {
                Event::Create(child) => !std::mem::replace(&mut alive[child as usize], true),
                Event::Join(child) => alive[child as usize] && joined.insert(child),
                Event::Lock(lock, mode) => {
                    held.push((me, lock, mode));
                    true
                }
                Event::Unlock(lock, mode) => {
                    let at = held.iter().rposition(|h| *h == (me, lock, mode));
                    at.is_some_and(|at| held.remove(at) == (me, lock, mode))
                }
                Event::Give(key) => {
                    *posted.entry(key).or_default() += 1;
                    true
                }
                Event::Take(key) => {
                    posted.entry(key).and_modify(|n| *n -= 1);
                    true
                }
                _ => true,
            };
            if done {
                log.push((me, event));
            }
        }
        let ended = (0..THREADS as usize).all(|t| !alive[t] || at[t] == code[t].len());
        // The run ends with all threads where they are.
        for t in 0..THREADS {
            let mut open: Vec<u32> = Vec::new();
            for (who, event) in &log {
                match event {
                    Event::Enter(f) if *who == t => open.push(*f),
                    Event::Exit(_) if *who == t => drop(open.pop()),
                    _ => {}
                }
            }
            log.extend(open.into_iter().rev().map(|f| (t, Event::Exit(f))));
        }
        (log, ended)
    }

    /// Functions that a function always calls, and those that it may call besides.
    fn calls(&self, f: u32) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let (mut always, mut maybe) = (BTreeSet::new(), BTreeSet::new());
        for statement in &self.0[f as usize] {
            match statement {
                Statement::Call(g) if *g > f => drop(always.insert(*g)),
                Statement::Maybe(g) if *g > f => drop(maybe.insert(*g)),
                Statement::Locked(_, _, body) => {
                    for inner in body {
                        if let Statement::Call(g) = inner
                            && *g > f
                        {
                            always.insert(*g);
                        }
                    }
                }
                _ => {}
            }
        }
        (always, maybe)
    }

    fn synchronises(&self, f: u32) -> bool {
        let own = self.0[f as usize]
            .iter()
            .any(|s| !matches!(s, Statement::Call(_) | Statement::Maybe(_)));
        let (always, maybe) = self.calls(f);
        own || always.union(&maybe).any(|g| self.synchronises(*g))
    }

    /// The rule of the paper: which functions have the pairs of all their callers.
    pub fn heirs(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut heirs = BTreeMap::new();
        for g in THREADS..FUNCTIONS {
            let callers: Vec<u32> = (0..g)
                .filter(|f| self.calls(*f).0.contains(&g) || self.calls(*f).1.contains(&g))
                .collect();
            let passes_on = |f: &u32| {
                let own = self.0[*f as usize]
                    .iter()
                    .any(|s| !matches!(s, Statement::Call(_) | Statement::Maybe(_)));
                let (always, maybe) = self.calls(*f);
                let mut others = always.union(&maybe).filter(|c| **c != g);
                !own && always.contains(&g) && others.all(|c| !self.synchronises(*c))
            };
            if !callers.is_empty() && callers.iter().all(passes_on) {
                heirs.insert(g, callers);
            }
        }
        heirs
    }
}
