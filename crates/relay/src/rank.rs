//! How likely a warning is a race, and why.
//!
//! RELAY's four filters (section 4.3) removed 97 of 100 warnings, among them every race of the paper's own first sample:
//! they are features here. A score is a sum of weights; weights are small integers chosen on programs whose races are
//! known, and order warnings only.

use crate::access_path::{Root, Site};
use crate::execution::AccessKind;
use crate::guard::{self, GuardName};
use crate::guarded_access::{ClassKey, Occurrence, Occurrences};
use crate::models::RootKind;
use crate::thread_root::Start;
use crate::top_down::TopDown;
use crate::waited::Waited;
use crate::warning::object_of;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeSet, HashMap};

/// Which of RELAY's filters would remove a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// The object is allocated in the thread of one of the accesses.
    pub thread_local_allocation: bool,
    /// The points-to class stands for more than one object.
    pub large_class: bool,
    /// One access is in the thread that starts the program.
    pub boot_thread: bool,
    /// Both accesses are in threads with the same entry.
    pub same_entry: bool,
}

impl Filters {
    /// Whether one of them applies.
    pub fn any(self) -> bool {
        self.thread_local_allocation || self.large_class || self.boot_thread || self.same_entry
    }
}

/// A score and its reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Higher is more likely.
    pub score: i32,
    /// A likelier warning is about the same object.
    pub further: bool,
    /// What speaks for it and against it, most important first.
    pub reasons: Vec<&'static str>,
    /// RELAY's filters.
    pub filters: Filters,
}

/// How many different objects each points-to class stands for, and how often each object is accessed under a lock.
#[derive(Debug, Default)]
pub struct Sizes<'a> {
    objects: HashMap<u32, usize>,
    guarded: HashMap<Root, (usize, usize)>,
    /// Classes of each statement, and how many of them hold each lock.
    at: FxHashMap<Site, (usize, FxHashMap<&'a GuardName, usize>)>,
}

impl<'a> Sizes<'a> {
    /// Of these classes.
    pub fn of(classes: &[(&'a ClassKey, &'a Occurrences)]) -> Sizes<'a> {
        let mut roots: HashMap<u32, BTreeSet<Root>> = HashMap::new();
        let mut sizes = Sizes::default();
        for (class, occurrences) in classes {
            for occurrence in *occurrences {
                let (all, holding) = sizes.at.entry(occurrence.site).or_default();
                *all += 1;
                let names: FxHashSet<&GuardName> = class.guards.iter().map(|g| &g.name).collect();
                names
                    .into_iter()
                    .for_each(|name| *holding.entry(name).or_default() += 1);
            }
            if let (Some(cell), Some(path)) = (class.cell, &class.path) {
                roots.entry(cell.class).or_default().insert(path.root);
            }
            if let Some(root) = object_of(class) {
                let (guarded, all) = sizes.guarded.entry(root).or_default();
                *all += occurrences.len();
                *guarded += if class.guards.is_empty() { 0 } else { occurrences.len() };
            }
        }
        sizes.objects = roots.into_iter().map(|(class, roots)| (class, roots.len())).collect();
        sizes
    }

    /// Whether most classes of a statement hold a lock that this one does not and the other side does.
    fn is_missed(&self, site: Site, class: &ClassKey, other: &ClassKey) -> bool {
        let Some((all, holding)) = self.at.get(&site) else {
            return false;
        };
        let holds = |name: &GuardName| class.guards.iter().any(|g| g.name == *name);
        let mut names = other.guards.iter().map(|g| &g.name);
        names.any(|name| holding.get(name).is_some_and(|n| n * 2 > *all) && !holds(name))
    }
}

/// What two statements weigh beside their classes: a call through a pointer leads to more functions than it does in a
/// run, so a lock that is missing only behind one is doubtful.
pub fn doubt(found: &TopDown, sizes: &Sizes<'_>, sides: [(&ClassKey, Occurrence); 2]) -> Option<(i32, &'static str)> {
    let doubtful = |(class, at): (&ClassKey, Occurrence), other: &ClassKey| {
        !found.contexts[at.context as usize].certain && sizes.is_missed(at.site, class, other)
    };
    let any = doubtful(sides[0], sides[1].0) || doubtful(sides[1], sides[0].0);
    any.then_some((
        -30,
        "the lock is missing only behind a call through a pointer that may lead elsewhere",
    ))
}

/// What a class promises in pairs of which the other side is not known.
pub fn promise(found: &TopDown, class: &ClassKey) -> i32 {
    let root = &found.roots[class.root];
    let from_global = class.path.as_ref().is_some_and(|p| matches!(p.root, Root::Global(_)));
    let weights = [
        (from_global, 20),
        (root.kind == RootKind::Handed, -15),
        (class.kind == AccessKind::Free, -10),
        (class.atomic, -5),
        (root.kind == RootKind::Handler, -5),
        (root.key.start == Start::Program, -5),
    ];
    weights
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, weight)| weight)
        .sum()
}

/// Ranks a pair of accesses.
pub fn rank(found: &TopDown, sizes: &Sizes<'_>, a: &ClassKey, b: &ClassKey) -> Rank {
    let mut rank = Rank::default();
    let mut weigh = |holds: bool, weight: i32, reason: &'static str| {
        if holds {
            rank.score += weight;
            rank.reasons.push(reason);
        }
    };
    let objects = (object_of(a), object_of(b));
    let same_object = objects.0.is_some() && objects.0 == objects.1;
    let (guarded, all) = objects
        .0
        .and_then(|o| sizes.guarded.get(&o))
        .copied()
        .unwrap_or_default();
    let one_guarded = a.guards.is_empty() != b.guards.is_empty();
    let from_global = |c: &ClassKey| c.path.as_ref().is_some_and(|p| matches!(p.root, Root::Global(_)));
    let in_program = |c: &ClassKey| found.roots[c.root].key.start == Start::Program;
    let handler = |c: &ClassKey| found.roots[c.root].kind == RootKind::Handler;
    weigh(same_object, 30, "both accesses are surely to this object");
    weigh(
        !same_object && a.path == b.path && from_global(a),
        20,
        "both accesses go the same way from a global",
    );
    weigh(one_guarded, 20, "one side holds a lock, the other holds none");
    weigh(
        !a.guards.is_empty() && !b.guards.is_empty(),
        15,
        "both sides hold locks, but no common one",
    );
    weigh(
        guard::may_exclude(&a.guards, &b.guards),
        -45,
        "both sides hold a lock of the same array, perhaps the same one",
    );
    weigh(
        all > 0 && guarded * 2 > all,
        15,
        "most accesses to this object are under a lock",
    );
    weigh(
        a.kind == AccessKind::Write && b.kind == AccessKind::Write,
        5,
        "both write",
    );
    let start = |x: &ClassKey, y: &ClassKey| {
        in_program(x) && x.waited[1] == Waited::No && !in_program(y) && y.waited[0] != Waited::No
    };
    weigh(
        start(a, b) || start(b, a),
        -30,
        "one side is the program's start, the other is in a thread that waits first",
    );
    let stops = |x: &ClassKey, y: &ClassKey| {
        let gate = |name: &GuardName| match name {
            GuardName::Absolute(lock) => found.gates.get(lock).is_some_and(|roots| roots.contains(&y.root)),
            _ => false,
        };
        x.root != y.root && x.waited[0] != Waited::No && x.guards.iter().any(|g| gate(&g.name))
    };
    weigh(
        stops(a, b) || stops(b, a),
        -40,
        "one side holds a lock at which the other's threads stop, with nothing else to guard",
    );
    weigh(a.atomic != b.atomic, -5, "one side is atomic");
    weigh(
        a.kind == AccessKind::Free || b.kind == AccessKind::Free,
        -10,
        "one side frees the object",
    );
    weigh(handler(a) || handler(b), -5, "one side is a signal handler");
    let handed = |c: &ClassKey| found.roots[c.root].kind == RootKind::Handed;
    weigh(
        handed(a) || handed(b),
        -15,
        "one side is a function that was handed to code which is not seen",
    );
    let made = |root: Option<Root>| root.is_some_and(Root::is_made);
    let large = [a, b]
        .iter()
        .filter_map(|c| c.cell)
        .any(|c| sizes.objects.get(&c.class).is_some_and(|n| *n > 1));
    let large = large && !same_object;
    weigh(
        !same_object,
        -15,
        "only points-to says that both accesses may be to one object",
    );
    weigh(large, -10, "the points-to class stands for several objects");
    let entry = |c: &ClassKey| Some(found.roots[c.root].key.function).filter(|_| found.roots[c.root].others == 0);
    let same_entry = entry(a).is_some() && entry(a) == entry(b);
    weigh(same_entry && a.root == b.root, -5, "two threads with the same entry");
    weigh(in_program(a) || in_program(b), -5, "one side is the main thread");
    rank.filters = Filters {
        thread_local_allocation: made(objects.0) || made(objects.1),
        large_class: large,
        boot_thread: in_program(a) || in_program(b),
        same_entry,
    };
    rank
}
