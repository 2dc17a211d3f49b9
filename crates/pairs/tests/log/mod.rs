//! Complete logs of executions: what the code under test makes of one, and what brute force does.
// Each test uses a part of this.
#![allow(dead_code)]

pub mod program;

use deadheat_detect::{Ended, Entered, FunctionInstances, HappensBefore, Keep, Limits};
use deadheat_model::{FunctionSpans, LockMode, ObjectId, ObjectKind, ThreadId};
use deadheat_pairs::PairSet;

/// Most threads of an execution.
pub const THREADS: u32 = 4;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Create(u32),
    Join(u32),
    Lock(u32, LockMode),
    Unlock(u32, LockMode),
    Give(u64),
    Take(u64),
    Enter(u32),
    Exit(u32),
}

/// The pairs by the code under test.
pub fn grouped(log: &[(u32, Event)], limits: Limits) -> FunctionSpans {
    let mut hb = HappensBefore::new(Keep::Hybrid);
    let mut instances = FunctionInstances::new(limits);
    let mut stacks: Vec<Vec<(u32, Entered, u64, usize)>> = vec![Vec::new(); THREADS as usize];
    let mut events = [0usize; THREADS as usize];
    for (n, event) in log {
        let thread = ThreadId(*n);
        let lock = |hb: &mut HappensBefore, number: u32| {
            let object = ObjectId {
                address: number.into(),
                generation: 0,
            };
            hb.lock(ObjectKind::Mutex, object)
        };
        events[*n as usize] += usize::from(!matches!(event, Event::Enter(_) | Event::Exit(_)));
        match *event {
            Event::Create(child) => hb.created(thread, ThreadId(child)),
            Event::Join(child) => {
                hb.ended(ThreadId(child));
                hb.joined(thread, ThreadId(child));
            }
            Event::Lock(number, mode) => {
                let id = lock(&mut hb, number);
                hb.acquired(thread, id, mode);
            }
            Event::Unlock(number, mode) => {
                let id = lock(&mut hb, number);
                hb.released(thread, id, mode);
            }
            Event::Give(key) => hb.release_edge(thread, key),
            Event::Take(key) => hb.acquire_edge(thread, key),
            Event::Enter(f) => {
                let entered = instances.entered(&mut hb, thread);
                stacks[*n as usize].push((f, entered, hb.takings(thread), events[*n as usize]));
            }
            Event::Exit(_) => {
                let (function, entered, takings, then) = stacks[*n as usize].pop().unwrap();
                let ended = Ended {
                    thread,
                    function,
                    entered,
                    takings,
                };
                if then == events[*n as usize] {
                    instances.ended_unchanged(ended);
                } else {
                    instances.ended(&mut hb, ended);
                }
            }
        }
    }
    instances.grouped(&hb)
}

struct Instance {
    thread: u32,
    function: u32,
    entry: usize,
    exit: usize,
}

/// The pairs by the complete log: order by transitive closure, locks by walking.
pub fn brute_force(log: &[(u32, Event)]) -> PairSet {
    let n = log.len();
    let mut reach = vec![vec![false; n]; n];
    for j in 0..n {
        for i in 0..j {
            let ((a, first), (b, second)) = (log[i], log[j]);
            let edge = a == b
                || matches!(first, Event::Create(child) if child == b)
                || matches!(second, Event::Join(child) if child == a)
                // A thread may do nothing at all.
                || matches!((first, second), (Event::Create(c), Event::Join(d)) if c == d)
                || matches!((first, second), (Event::Give(k), Event::Take(l)) if k == l);
            if edge {
                reach[i][j] = true;
                reach[..i].iter_mut().for_each(|row| row[j] |= row[i]);
            }
        }
    }
    let mut instances: Vec<Instance> = Vec::new();
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); THREADS as usize];
    for (at, (thread, event)) in log.iter().enumerate() {
        match *event {
            Event::Enter(function) => {
                open[*thread as usize].push(instances.len());
                instances.push(Instance {
                    thread: *thread,
                    function,
                    entry: at,
                    exit: at,
                });
            }
            Event::Exit(_) => instances[open[*thread as usize].pop().unwrap()].exit = at,
            _ => {}
        }
    }
    // Places where the locks were taken that are held at this place.
    let held = |thread: u32, at: usize| {
        let mut held: Vec<(u32, LockMode, usize)> = Vec::new();
        for (place, (who, event)) in log[..at].iter().enumerate() {
            match *event {
                Event::Lock(lock, mode) if *who == thread => held.push((lock, mode, place)),
                Event::Unlock(lock, mode) if *who == thread => {
                    // Recursive holds end with the outermost.
                    let last = held.iter().rposition(|h| (h.0, h.1) == (lock, mode)).unwrap();
                    held.remove(last);
                }
                _ => {}
            }
        }
        held
    };
    let can_enter = |a: &Instance, b: &Instance| {
        let taken = held(a.thread, a.entry);
        let (then, now) = (held(b.thread, b.entry), held(b.thread, b.exit));
        let through: Vec<_> = now.iter().filter(|h| then.contains(h)).collect();
        let kept_out = taken.iter().any(|x| {
            let excludes =
                |y: &&(u32, LockMode, usize)| x.0 == y.0 && (x.1 == LockMode::Write || y.1 == LockMode::Write);
            through.iter().any(excludes)
        });
        !kept_out && !reach[a.entry][b.entry] && !reach[b.exit][a.entry]
    };
    let mut pairs = PairSet::default();
    for (n, a) in instances.iter().enumerate() {
        for b in instances[..n].iter().filter(|b| b.thread != a.thread) {
            if can_enter(a, b) || can_enter(b, a) {
                pairs.insert(a.function, b.function);
            }
        }
    }
    pairs
}
