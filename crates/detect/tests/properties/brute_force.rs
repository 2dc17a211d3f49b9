//! What the detector must find, by definition: happens-before as the transitive closure over all events,
//! synchronises-with from the texts of C11 and C++20, locksets by replay. Quadratic and worse; no clocks, no epochs.

use deadheat_detect::trace::Event;
use deadheat_detect::{AccessFlags, AtomicEvent, parts};
use deadheat_model::{LockMode, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A pair of statements with what each does, in order.
pub type PairKey = [(u64, bool, bool); 2];

/// The answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Suspicious pairs: hybrid order and locksets.
    pub suspicious: BTreeSet<PairKey>,
    /// Pairs unordered by full happens-before, whatever the locksets.
    pub unordered: BTreeSet<PairKey>,
    /// Event pairs unordered by full happens-before.
    pub unordered_events: BTreeSet<(usize, usize)>,
    /// Granules with accesses that are suspicious if all bytes of a granule are one.
    pub granules: Vec<u64>,
}

pub struct Order {
    /// before[j][i]: event i happens before event j.
    before: Vec<Vec<bool>>,
}

impl Order {
    fn close(edges: &[Vec<usize>]) -> Order {
        let n = edges.len();
        let mut before = vec![vec![false; n]; n];
        for j in 0..n {
            for i in edges[j].iter().copied() {
                assert!(i < j);
                before[j][i] = true;
                let (earlier, later) = before.split_at_mut(j);
                for (mine, theirs) in later[0].iter_mut().zip(&earlier[i]) {
                    *mine |= theirs;
                }
            }
        }
        Order { before }
    }

    pub fn ordered(&self, i: usize, j: usize) -> bool {
        self.before[j][i]
    }
}

type Trace = [(ThreadId, Event)];

/// Direct edges into each event, without locks.
fn hybrid_edges(trace: &Trace) -> Vec<Vec<usize>> {
    let mut edges = vec![Vec::new(); trace.len()];
    for (j, (thread, event)) in trace.iter().enumerate() {
        for (i, (other, earlier)) in trace[..j].iter().enumerate() {
            let edge = other == thread
                || *earlier == Event::Create(*thread)
                || matches!(event, Event::Join(child) if child == other)
                || matches!((earlier, event), (Event::ReleaseEdge(a), Event::AcquireEdge(b)) if a == b);
            if edge {
                edges[j].push(i);
            }
        }
    }
    synchronises_with(trace, &mut edges);
    edges
}

/// [atomics.order], [atomics.fences], [intro.races]: release sequences of C11 and C++11, where a store continues what its
/// own thread heads; what others added to that then stays too, which the standard would leave out.
fn synchronises_with(trace: &Trace, edges: &mut [Vec<usize>]) {
    // Last write of each byte; for each write and granule the writes whose release sequences it is in.
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut sequence: HashMap<(usize, u64), BTreeSet<usize>> = HashMap::new();
    for (j, (thread, event)) in trace.iter().enumerate() {
        let a = match event {
            Event::Atomic(_, a) => a,
            Event::Forget(at, len) => {
                last.retain(|b, _| *b < *at || *b >= at + len);
                continue;
            }
            _ => continue,
        };
        let mut heads: HashMap<u64, BTreeSet<usize>> = HashMap::new();
        for byte in a.address..a.address + a.size as u64 {
            if let Some(w) = last.get(&byte) {
                let of = sequence.get(&(*w, byte & !7)).cloned().unwrap_or_default();
                heads.entry(byte & !7).or_default().extend(of);
            }
        }
        if a.reads() {
            for head in heads.values().flatten() {
                link(trace, edges, *head, j, *thread, a);
            }
        }
        if a.writes() {
            for (granule, _) in parts(a.address, a.size as u64) {
                let mut of = BTreeSet::from([j]);
                let of_granule = heads.remove(&granule).unwrap_or_default();
                let own = |head: &usize| trace[*head].0 == *thread && !sources(trace, *head).is_empty();
                if a.reads() || !a.order.releases() && of_granule.iter().any(own) {
                    of.extend(of_granule);
                }
                sequence.insert((j, granule), of);
            }
            last.extend((a.address..a.address + a.size as u64).map(|b| (b, j)));
        }
    }
}

/// What the write `i` gives to whoever reads from its release sequence: itself, and the release fences before it.
fn sources(trace: &Trace, i: usize) -> Vec<usize> {
    let Event::Atomic(_, write) = trace[i].1 else {
        return Vec::new();
    };
    let fence = |f: &usize| trace[*f].0 == trace[i].0 && matches!(trace[*f].1, Event::Fence(o) if o.releases());
    (0..i)
        .filter(fence)
        .chain(write.order.releases().then_some(i))
        .collect()
}

/// All edges that arise since the read `j` takes its value from the release sequence headed by `i`.
fn link(trace: &Trace, edges: &mut [Vec<usize>], i: usize, j: usize, reader: ThreadId, read: &AtomicEvent) {
    let sources = sources(trace, i);
    let mut sinks: Vec<usize> = (j + 1..trace.len())
        .filter(|f| trace[*f].0 == reader && matches!(trace[*f].1, Event::Fence(o) if o.acquires()))
        .collect();
    if read.effective_order().acquires() {
        sinks.push(j);
    }
    for sink in sinks {
        edges[sink].extend(&sources);
    }
}

/// How often each lock is held in each mode (true: for reading).
type Holds = BTreeMap<(u32, bool), u32>;

/// Which lock operations are outermost, and what is held at each event.
fn locks(trace: &Trace) -> (Vec<bool>, Vec<Holds>) {
    let mut held: HashMap<ThreadId, Holds> = HashMap::new();
    let (mut outermost, mut sets) = (Vec::new(), Vec::new());
    for (thread, event) in trace {
        let mine = held.entry(*thread).or_default();
        outermost.push(match event {
            Event::Acquire(lock, mode) => {
                let count = mine.entry((*lock, *mode == LockMode::Read)).or_default();
                *count += 1;
                *count == 1
            }
            Event::Release(lock, mode) => {
                let key = (*lock, *mode == LockMode::Read);
                let count = mine.entry(key).or_default();
                *count -= 1;
                let last = *count == 0;
                if last {
                    mine.remove(&key);
                }
                last
            }
            _ => false,
        });
        sets.push(mine.clone());
    }
    (outermost, sets)
}

struct Access {
    event: usize,
    thread: ThreadId,
    site: u64,
    flags: AccessFlags,
    address: u64,
    size: u64,
}

fn accesses(trace: &Trace) -> Vec<Access> {
    let access = |(event, (thread, e)): (usize, &(ThreadId, Event))| {
        let (site, address, size, write, atomic) = match *e {
            Event::Access {
                site,
                address,
                size,
                write,
            } => (site, address, size, write, false),
            Event::Atomic(site, a) => (site, a.address, a.size as u64, a.writes(), true),
            _ => return None,
        };
        let flags = AccessFlags {
            write,
            atomic,
            inexact: false,
        };
        Some(Access {
            event,
            thread: *thread,
            site,
            flags,
            address,
            size,
        })
    };
    trace.iter().enumerate().filter_map(access).collect()
}

pub fn expected(trace: &Trace) -> Expected {
    let mut edges = hybrid_edges(trace);
    let hybrid = Order::close(&edges);
    let (outermost, sets) = locks(trace);
    for (j, (_, event)) in trace.iter().enumerate() {
        let Event::Acquire(lock, mode) = event else { continue };
        for (i, (_, earlier)) in trace[..j].iter().enumerate() {
            if let Event::Release(other, given) = earlier
                && other == lock
                && outermost[i]
                && outermost[j]
                && !(*mode == LockMode::Read && *given == LockMode::Read)
            {
                edges[j].push(i);
            }
        }
    }
    let full = Order::close(&edges);
    let mut expected = Expected::default();
    let mut granules = BTreeSet::new();
    let all = accesses(trace);
    for (n, b) in all.iter().enumerate() {
        for a in &all[..n] {
            if a.thread == b.thread || !a.flags.conflicts(b.flags) {
                continue;
            }
            let common = |unit: u64| {
                let of = |x: &Access| (x.address / unit..=(x.address + x.size - 1) / unit).collect::<BTreeSet<u64>>();
                let live = |u: &u64| {
                    !trace[a.event..b.event]
                        .iter()
                        .any(|(_, e)| matches!(e, Event::Forget(at, len) if u * unit >= *at && u * unit < at + len))
                };
                of(a).intersection(&of(b)).copied().filter(live).collect::<Vec<u64>>()
            };
            let apart = sets[a.event].keys().any(|(lock, read)| {
                sets[b.event].contains_key(&(*lock, false)) || !read && sets[b.event].contains_key(&(*lock, true))
            });
            let suspicious = !apart && !hybrid.ordered(a.event, b.event);
            if suspicious {
                granules.extend(common(8).iter().map(|g| g * 8));
            }
            if common(1).is_empty() {
                continue;
            }
            if suspicious {
                expected.suspicious.insert(key((a.site, a.flags), (b.site, b.flags)));
            }
            if !full.ordered(a.event, b.event) {
                expected.unordered.insert(key((a.site, a.flags), (b.site, b.flags)));
                expected.unordered_events.insert((a.event, b.event));
            }
        }
    }
    expected.granules = granules.into_iter().collect();
    expected
}

pub fn key(a: (u64, AccessFlags), b: (u64, AccessFlags)) -> PairKey {
    let flat = |(site, f): (u64, AccessFlags)| (site, f.write, f.atomic);
    let (a, b) = (flat(a), flat(b));
    if a <= b { [a, b] } else { [b, a] }
}
