//! Warnings (RELAY, section 3.4, figure 7): pairs of guarded accesses that may be to one place, with no lock in common,
//! one of them a write, not both atomic, and that may happen at the same time.
//!
//! Classes that are alike ([`likeness`]) are compared once, within buckets (one object; one class of points-to; one
//! field), at most [`COMPARISONS`] in each; what was left out is counted. A warning is a pair of statements: classes have
//! several, and pairs that stand on the same lines are one warning, the likeliest.

use crate::access_path::{Path, Root};
use crate::execution::AccessKind;
use crate::guard::{Guard, GuardName};
use crate::guarded_access::{ClassKey, Occurrence, may_be_equal};
use crate::likeness::{self, Groups, Statement};
use crate::own_frame::Frames;
use crate::parallelism::Parallelism;
use crate::rank::{self, Rank};
use crate::subject::Subject;
use crate::top_down::TopDown;
use deadheat_ir::TagId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

/// Comparisons of groups in a bucket.
const COMPARISONS: usize = 2_000_000;

/// What two accesses are both to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// A global, or what a call or frame makes.
    Object(Root),
    /// Objects that points-to cannot tell apart, at this distance from their start.
    Class(u32, i64),
    /// A field of a struct, of any object.
    Field(TagId),
    /// Something that code gave which is not seen.
    Outside,
}

/// One side of a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// What is accessed, how, under which locks.
    pub class: ClassKey,
    /// The statement.
    pub occurrence: Occurrence,
}

/// A suspected race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What is raced for.
    pub object: ObjectKey,
    /// The two sides, by place in the source.
    pub sides: [Side; 2],
    /// How likely it is one, and why.
    pub rank: Rank,
}

/// All warnings, best first, and what was left out.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    /// The warnings.
    pub warnings: Vec<Warning>,
    /// Comparisons that were not made.
    pub cut: usize,
    /// Warnings dropped by RELAY's filters.
    pub filtered: usize,
}

/// When a pair of statements is met: bucket, classes, their occurrences. What is freed anywhere is met last.
type Met = (usize, (bool, usize), (bool, usize), usize, usize);

/// The best pair of statements on two lines; of equals the one that is met first.
struct Best {
    score: i32,
    met: Met,
    object: ObjectKey,
    sides: [Statement; 2],
}

/// Compares the classes.
pub fn warnings(
    subject: &Subject<'_>,
    found: &TopDown,
    parallelism: &Parallelism<'_>,
    relay_filters: bool,
) -> Warnings {
    let classes: Vec<(&ClassKey, &Vec<Occurrence>)> = found.classes.iter().collect();
    let sizes = rank::Sizes::of(&classes);
    let mut groups = Groups::of(subject.module, classes, parallelism);
    let frames = Frames::of(found);
    let mut all = Warnings::default();
    let mut best: FxHashMap<(u32, u32), Best> = FxHashMap::default();
    for (bucket, (key, members)) in buckets(subject, &groups).into_iter().enumerate() {
        let mut compared = 0_usize;
        for (n, a) in members.iter().enumerate() {
            let others = &members[n..];
            let left = COMPARISONS.saturating_sub(compared);
            compared += others.len().min(left);
            all.cut += others.len().saturating_sub(left);
            for b in others.iter().take(left) {
                if !conflict(subject, found, &frames, &mut groups, key, *a, *b) {
                    continue;
                }
                let mut ranks = [None, None];
                let (x, y) = (&groups.groups[*a].statements, &groups.groups[*b].statements);
                for (p, q) in x.iter().flat_map(|p| y.iter().map(move |q| (p, q))) {
                    let freed = |s: &Statement| {
                        let class = matches!(key, ObjectKey::Class(..)).then(|| groups.classes[s.class].0);
                        class.is_some_and(|c| c.kind == AccessKind::Free)
                    };
                    let (before, after) = ((freed(p), p.class), (freed(q), q.class));
                    let turned = (before, p.number) > (after, q.number);
                    let (first, second) = if turned { (q, p) } else { (p, q) };
                    let met = match turned {
                        false => (bucket, before, after, p.number, q.number),
                        true => (bucket, after, before, q.number, p.number),
                    };
                    // By place in the source.
                    let turned = turned != (first.place() > second.place());
                    let sides = if turned { [*q, *p] } else { [*p, *q] };
                    let (score, filtered) = *ranks[usize::from(turned)].get_or_insert_with(|| {
                        let (x, y) = (groups.class(*a), groups.class(*b));
                        let (x, y) = if turned { (y, x) } else { (x, y) };
                        let rank = rank::rank(found, &sizes, x, y);
                        (rank.score, rank.filters.any())
                    });
                    if relay_filters && filtered {
                        all.filtered += 1;
                        continue;
                    }
                    let better = |score: i32, old: &Best| (score, Reverse(met)) > (old.score, Reverse(old.met));
                    let entry = best.entry((sides[0].line, sides[1].line));
                    // Doubt only takes away.
                    if matches!(&entry, Entry::Occupied(old) if !better(score, old.get())) {
                        continue;
                    }
                    let of_statements = sides.map(|s| (groups.classes[s.class].0, s.occurrence));
                    let doubt = rank::doubt(found, &sizes, of_statements);
                    let score = score + doubt.map_or(0, |(weight, _)| weight);
                    let new = Best {
                        score,
                        met,
                        object: key,
                        sides,
                    };
                    match entry {
                        Entry::Vacant(entry) => drop(entry.insert(new)),
                        Entry::Occupied(mut entry) if better(score, entry.get()) => drop(entry.insert(new)),
                        Entry::Occupied(_) => {}
                    }
                }
            }
        }
    }
    let warning = |best: Best| {
        let class = |s: &Statement| groups.classes[s.class].0;
        let [first, second] = &best.sides;
        let mut rank = rank::rank(found, &sizes, class(first), class(second));
        let of_statements = best.sides.map(|s| (class(&s), s.occurrence));
        if let Some((weight, reason)) = rank::doubt(found, &sizes, of_statements) {
            rank.score += weight;
            rank.reasons.push(reason);
        }
        Warning {
            object: best.object,
            rank,
            sides: best.sides.map(|s| Side {
                class: class(&s).clone(),
                occurrence: s.occurrence,
            }),
        }
    };
    all.warnings = best.into_values().map(warning).collect();
    // Lines in the order of their names' numbers, as far as nothing else decides.
    let line = |side: &Side| likeness::line(subject.module, side.occurrence);
    all.warnings.sort_by_cached_key(|w| {
        let lines = (line(&w.sides[0]), line(&w.sides[1]));
        (Reverse(w.rank.score), w.object, lines)
    });
    spread(&mut all.warnings);
    all
}

/// Puts what says little that is new further down: the best warning about each object comes before all further ones.
fn spread(warnings: &mut [Warning]) {
    let mut listed: FxHashSet<ObjectKey> = FxHashSet::default();
    for warning in warnings.iter_mut() {
        // Fields of what points-to does not tell apart are one object.
        let object = match warning.object {
            ObjectKey::Class(class, _) => ObjectKey::Class(class, 0),
            object => object,
        };
        warning.rank.further = !listed.insert(object);
    }
    warnings.sort_by_key(|w| w.rank.further);
}

/// Whether the accesses of two groups are a race, as far as can be told.
fn conflict(
    subject: &Subject<'_>,
    found: &TopDown,
    frames: &Frames,
    groups: &mut Groups<'_>,
    key: ObjectKey,
    a: usize,
    b: usize,
) -> bool {
    let (x, y) = (groups.class(a), groups.class(b));
    // What goes from one object was compared there; two objects are two.
    let root = |c: &ClassKey| c.path.as_ref().map(|p| p.root).filter(|r| r.is_object());
    let same = root(x).is_some() && root(x) == root(y);
    let two = object_of(x).is_some() && object_of(y).is_some();
    if !matches!(key, ObjectKey::Object(_)) && (same || two) {
        return false;
    }
    let object = object_of(x).filter(|o| object_of(y) == Some(*o));
    if object.is_some_and(|o| !frames.may_be_one(o, x.root, y.root)) {
        return false;
    }
    let writes = |c: &ClassKey| c.kind != AccessKind::Read;
    let own = |root: Root| found.roots[x.root].own.contains(&root);
    if lent(found, x, y) || lent(found, y, x) {
        return false;
    }
    let outside = |class| subject.aliasing.is_outside(class);
    (writes(x) || writes(y)) && !(x.atomic && y.atomic) && groups.may_meet(a, b) && may_be_equal(x, y, &own, &outside)
}

/// Whether a lock that is lent to the one's thread keeps the other out: it holds the lock itself, or another lender's.
fn lent(found: &TopDown, a: &ClassKey, b: &ClassKey) -> bool {
    let holds = |lock: &Path, lender: usize| {
        let absolute = |g: &Guard| matches!(&g.name, GuardName::Absolute(held) if held == lock);
        let itself = b.root != lender && b.guards.iter().any(absolute);
        let mut others = found.roots[b.root].lent.iter();
        itself || others.any(|(other, from)| other == lock && *from != lender)
    };
    let mut lent = found.roots[a.root].lent.iter();
    lent.any(|(lock, lender)| holds(lock, *lender))
}

/// The object that a class is surely in.
pub fn object_of(class: &ClassKey) -> Option<Root> {
    class
        .path
        .as_ref()
        .filter(|p| p.root.is_object() && !p.loads())
        .map(|p: &Path| p.root)
}

/// Groups that may be to one place.
fn buckets(subject: &Subject<'_>, groups: &Groups<'_>) -> BTreeMap<ObjectKey, Vec<usize>> {
    let outside = |class: &ClassKey| class.cell.is_some_and(|c| subject.aliasing.is_outside(c.class));
    let all = || (0..groups.groups.len()).map(|n| (n, groups.class(n)));
    let fields: FxHashSet<TagId> = all().filter(|(_, c)| outside(c)).filter_map(|(_, c)| c.tag).collect();
    let mut buckets: BTreeMap<ObjectKey, Vec<usize>> = BTreeMap::new();
    let mut everywhere: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for n in 0..groups.groups.len() {
        let class = groups.class(n);
        if let Some(root) = class.path.as_ref().map(|p| p.root).filter(|r| r.is_object()) {
            buckets.entry(ObjectKey::Object(root)).or_default().push(n);
        }
        match (class.cell, class.tag) {
            (Some(cell), _) if class.kind == AccessKind::Free => everywhere.entry(cell.class).or_default().push(n),
            (Some(cell), _) => {
                // Apart by field and offset, so that a big class is no square. Accesses of other sizes overlap in the
                // words that they share.
                let last = cell.offset.saturating_add(class.size.min(64) as i64 - 1);
                for word in cell.offset.div_euclid(8)..=last.div_euclid(8) {
                    buckets
                        .entry(ObjectKey::Class(cell.class, word * 8))
                        .or_default()
                        .push(n);
                }
            }
            (None, Some(tag)) => buckets.entry(ObjectKey::Field(tag)).or_default().push(n),
            (None, None) => {}
        }
        if let (Some(_), Some(tag)) = (class.cell, class.tag.filter(|t| fields.contains(t))) {
            buckets.entry(ObjectKey::Field(tag)).or_default().push(n);
        }
        if outside(class) {
            buckets.entry(ObjectKey::Outside).or_default().push(n);
        }
    }
    for (class, freed) in everywhere {
        let all = ObjectKey::Class(class, i64::MIN)..=ObjectKey::Class(class, i64::MAX);
        buckets.range_mut(all).for_each(|(_, members)| members.extend(&freed));
    }
    buckets
}
