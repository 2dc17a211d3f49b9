//! Warnings (RELAY, section 3.4, figure 7): pairs of guarded accesses that may be to one place, with no lock in common,
//! one of them a write, not both atomic, and that may happen at the same time.
//!
//! Classes that are alike ([`likeness`]) are compared once, within [`bucket`]s (one object; one class of points-to; one
//! field); what was left out is counted. A warning is a pair of statements: classes have several, and pairs that stand on
//! the same lines are one warning, the likeliest. At most [`PER_OBJECT`] are listed about each object.

use crate::access_path::{Path, Root, Site};
use crate::bucket::{self, Bucket};
use crate::execution::AccessKind;
use crate::guard::{Guard, GuardName};
use crate::guarded_access::{ClassKey, Occurrence, Occurrences, may_be_equal};
use crate::likeness::{self, Groups};
use crate::own_frame::Frames;
use crate::parallelism::Parallelism;
use crate::rank::{self, Rank, Sizes};
use crate::subject::Subject;
use crate::top_down::TopDown;
use deadheat_ir::TagId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Warnings about one object that are listed; the rest is counted.
const PER_OBJECT: usize = 24;

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
    /// More warnings about objects that are listed.
    pub left_out: usize,
    /// Warnings dropped by RELAY's filters.
    pub filtered: usize,
}

/// When a pair of statements is met: bucket, classes, their occurrences. What is freed anywhere is met last.
type Met = (u32, (bool, usize), (bool, usize), usize, usize);

/// The best pair of statements on two lines; of equals the one that is met first.
struct Best {
    score: i32,
    bucket: u32,
    /// By place in the source, by number.
    sides: [u32; 2],
}

/// Classes being compared.
struct Comparison<'a> {
    subject: &'a Subject<'a>,
    found: &'a TopDown,
    groups: Groups<'a>,
    sizes: Sizes<'a>,
    frames: Frames,
    keys: Vec<ObjectKey>,
    /// By the lines of the sides.
    best: FxHashMap<(u32, u32), Best>,
    filter: bool,
    filtered: usize,
}

/// Compares the classes.
pub fn warnings(
    subject: &Subject<'_>,
    found: &TopDown,
    parallelism: &Parallelism<'_>,
    relay_filters: bool,
) -> Warnings {
    let classes: Vec<(&ClassKey, &Occurrences)> = found.classes.iter().collect();
    let sizes = Sizes::of(&classes);
    let groups = Groups::of(subject.module, classes, parallelism);
    let (keys, buckets): (Vec<ObjectKey>, Vec<Bucket>) = buckets(subject, &groups).into_iter().unzip();
    let mut comparison = Comparison {
        subject,
        found,
        groups,
        sizes,
        frames: Frames::of(found),
        keys,
        best: FxHashMap::default(),
        filter: relay_filters,
        filtered: 0,
    };
    let share = bucket::share(buckets.iter().map(Bucket::size).collect());
    let mut cut = 0;
    for (number, mut bucket) in buckets.into_iter().enumerate() {
        cut += bucket.cut(share, found, &comparison.groups);
        let key = comparison.keys[number];
        for (a, b) in bucket.pairs() {
            if conflict(subject, found, &comparison.frames, &mut comparison.groups, key, a, b) {
                comparison.race(number as u32, a, b);
            }
        }
    }
    Warnings {
        cut,
        ..comparison.finish()
    }
}

impl<'a> Comparison<'a> {
    /// The pairs of two groups' statements that are better than what is known on their lines.
    fn race(&mut self, bucket: u32, a: usize, b: usize) {
        let mut ranks = [None, None];
        for p in self.groups.statements(a) {
            for q in self.groups.statements(b) {
                let turned = self.is_turned(bucket, p, q);
                let sides = if self.place(p) > self.place(q) { [q, p] } else { [p, q] };
                let turned = turned != (sides[0] != p);
                let (score, filtered) = *ranks[usize::from(turned)].get_or_insert_with(|| {
                    let (x, y) = (self.groups.class(a), self.groups.class(b));
                    let (x, y) = if turned { (y, x) } else { (x, y) };
                    let rank = rank::rank(self.found, &self.sizes, x, y);
                    (rank.score, rank.filters.any())
                });
                if self.filter && filtered {
                    self.filtered += 1;
                    continue;
                }
                self.offer(Best { score, bucket, sides });
            }
        }
    }

    /// Takes a pair that is better than what is known.
    fn offer(&mut self, mut new: Best) {
        let [line, other] = new.sides.map(|s| self.groups.statements[s as usize].line);
        let known = self.best.get(&(line, other));
        // Doubt only takes away.
        if known.is_some_and(|known| !self.is_better(&new, known)) {
            return;
        }
        let sides = new.sides.map(|s| self.side(s));
        new.score += rank::doubt(self.found, &self.sizes, sides).map_or(0, |(weight, _)| weight);
        if known.is_none_or(|known| self.is_better(&new, known)) {
            self.best.insert((line, other), new);
        }
    }

    fn is_better(&self, new: &Best, old: &Best) -> bool {
        (new.score, Reverse(self.met(new))) > (old.score, Reverse(self.met(old)))
    }

    fn place(&self, statement: u32) -> (u32, Site) {
        self.groups.statements[statement as usize].place()
    }

    fn side(&self, statement: u32) -> (&'a ClassKey, Occurrence) {
        let statement = &self.groups.statements[statement as usize];
        (self.groups.classes[statement.class].0, statement.occurrence)
    }

    /// The order in which a bucket's statements are met.
    fn order(&self, bucket: u32, statement: u32) -> ((bool, usize), usize) {
        let in_class = matches!(self.keys[bucket as usize], ObjectKey::Class(..));
        let freed = in_class && self.side(statement).0.kind == AccessKind::Free;
        let statement = &self.groups.statements[statement as usize];
        ((freed, statement.class), statement.number)
    }

    fn is_turned(&self, bucket: u32, p: u32, q: u32) -> bool {
        self.order(bucket, p) > self.order(bucket, q)
    }

    fn met(&self, best: &Best) -> Met {
        let [mut a, mut b] = best.sides.map(|s| self.order(best.bucket, s));
        if a > b {
            std::mem::swap(&mut a, &mut b);
        }
        (best.bucket, a.0, b.0, a.1, b.1)
    }

    /// The warnings, best first, at most [`PER_OBJECT`] about each object.
    fn finish(mut self) -> Warnings {
        let mut all: Vec<Best> = std::mem::take(&mut self.best).into_values().collect();
        // Lines in the order of their names' numbers, as far as nothing else decides.
        let line = |s: u32| likeness::line(self.subject.module, self.side(s).1);
        let object = |best: &Best| self.keys[best.bucket as usize];
        all.sort_by_cached_key(|best| (Reverse(best.score), object(best), best.sides.map(line)));
        let mut warnings = Warnings {
            filtered: self.filtered,
            ..Warnings::default()
        };
        let mut of_object: FxHashMap<ObjectKey, usize> = FxHashMap::default();
        for best in all {
            let count = of_object.entry(object(&best)).or_default();
            *count += 1;
            match *count <= PER_OBJECT {
                true => warnings.warnings.push(self.warning(&best)),
                false => warnings.left_out += 1,
            }
        }
        spread(&mut warnings.warnings);
        warnings
    }

    fn warning(&self, best: &Best) -> Warning {
        let sides = best.sides.map(|s| self.side(s));
        let mut rank = rank::rank(self.found, &self.sizes, sides[0].0, sides[1].0);
        if let Some((weight, reason)) = rank::doubt(self.found, &self.sizes, sides) {
            rank.score += weight;
            rank.reasons.push(reason);
        }
        Warning {
            object: self.keys[best.bucket as usize],
            rank,
            sides: sides.map(|(class, occurrence)| Side {
                class: class.clone(),
                occurrence,
            }),
        }
    }
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
        .map(|p| p.root)
}

/// Groups that may be to one place.
fn buckets(subject: &Subject<'_>, groups: &Groups<'_>) -> BTreeMap<ObjectKey, Bucket> {
    let outside = |class: &ClassKey| class.cell.is_some_and(|c| subject.aliasing.is_outside(c.class));
    let all = || (0..groups.groups.len()).map(|n| (n, groups.class(n)));
    let fields: FxHashSet<TagId> = all().filter(|(_, c)| outside(c)).filter_map(|(_, c)| c.tag).collect();
    let mut buckets: BTreeMap<ObjectKey, Bucket> = BTreeMap::new();
    let mut everywhere: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for n in 0..groups.groups.len() {
        let class = groups.class(n);
        let mut add = |key| buckets.entry(key).or_default().add(n, class.kind);
        if let Some(root) = class.path.as_ref().map(|p| p.root).filter(|r| r.is_object()) {
            add(ObjectKey::Object(root));
        }
        match (class.cell, class.tag) {
            (Some(cell), _) if class.kind == AccessKind::Free => everywhere.entry(cell.class).or_default().push(n),
            (Some(cell), _) => {
                // Apart by field and offset, so that a big class is no square. Accesses of other sizes overlap in the
                // words that they share.
                let last = cell.offset.saturating_add(class.size.min(64) as i64 - 1);
                for word in cell.offset.div_euclid(8)..=last.div_euclid(8) {
                    add(ObjectKey::Class(cell.class, word * 8));
                }
            }
            (None, Some(tag)) => add(ObjectKey::Field(tag)),
            (None, None) => {}
        }
        if let (Some(_), Some(tag)) = (class.cell, class.tag.filter(|t| fields.contains(t))) {
            add(ObjectKey::Field(tag));
        }
        if outside(class) {
            add(ObjectKey::Outside);
        }
    }
    for (class, freed) in everywhere {
        let all = ObjectKey::Class(class, i64::MIN)..=ObjectKey::Class(class, i64::MAX);
        for (_, bucket) in buckets.range_mut(all) {
            freed.iter().for_each(|n| bucket.add(*n, AccessKind::Free));
        }
    }
    buckets
}
