//! Warnings (RELAY, section 3.4, figure 7): pairs of guarded accesses that may be to one place, with no lock in common,
//! one of them a write, not both atomic, and that may happen at the same time.
//!
//! Classes are compared within buckets (one object; one class of points-to; one field), at most [`COMPARISONS`] in each;
//! what was left out is counted. A warning is a pair of statements: classes have several, and pairs that stand on the
//! same lines are one warning.

use crate::access_path::{Path, Root};
use crate::execution::AccessKind;
use crate::guard;
use crate::guarded_access::{ClassKey, Occurrence, may_be_equal};
use crate::parallelism::Parallelism;
use crate::rank::{self, Rank};
use crate::subject::Subject;
use crate::top_down::TopDown;
use deadheat_ir::{LocationId, Module, StringId, TagId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Comparisons of classes in a bucket.
const COMPARISONS: usize = 2_000_000;
/// Pairs of statements that a pair of classes gives.
const STATEMENTS: usize = 64;

/// What two accesses are both to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// A global, or what a call or frame makes.
    Object(Root),
    /// Objects that points-to cannot tell apart, at this distance from their start.
    Class(u32, i64),
    /// A field of a struct, of any object.
    Field(TagId),
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

/// Where a statement stands, for telling warnings apart.
type Line = (Option<StringId>, u32, Option<StringId>);

/// Compares the classes.
pub fn warnings(
    subject: &Subject<'_>,
    found: &TopDown,
    parallelism: &Parallelism<'_>,
    relay_filters: bool,
) -> Warnings {
    let classes: Vec<(&ClassKey, &Vec<Occurrence>)> = found.classes.iter().collect();
    let buckets = buckets(&classes);
    let sizes = rank::Sizes::of(subject, &classes);
    let mut all = Warnings::default();
    let mut best: BTreeMap<(Line, Line), Warning> = BTreeMap::new();
    for (key, members) in &buckets {
        let mut compared = 0_usize;
        for (n, a) in members.iter().enumerate() {
            for b in &members[n..] {
                compared += 1;
                if compared > COMPARISONS {
                    all.cut += 1;
                    continue;
                }
                let (x, y) = (classes[*a], classes[*b]);
                // What goes from one object was compared there; two objects are two.
                let root = |c: &ClassKey| c.path.as_ref().map(|p| p.root).filter(|r| r.is_object());
                let same = root(x.0).is_some() && root(x.0) == root(y.0);
                let two = object_of(x.0).is_some() && object_of(y.0).is_some();
                if !matches!(key, ObjectKey::Object(_)) && (same || two) {
                    continue;
                }
                if !conflict(found, parallelism, x.0, y.0) {
                    continue;
                }
                for (p, q) in statement_pairs(x.1, y.1) {
                    let sides = ordered(subject.module, (x.0, p), (y.0, q));
                    let lines = (line(subject.module, sides[0].1), line(subject.module, sides[1].1));
                    let rank = rank::rank(subject, found, &sizes, sides[0].0, sides[1].0);
                    if relay_filters && rank.filters.any() {
                        all.filtered += 1;
                        continue;
                    }
                    let better = |known: &Warning| rank.score > known.rank.score;
                    if best.get(&lines).is_none_or(better) {
                        let side = |(class, occurrence): (&ClassKey, Occurrence)| Side {
                            class: class.clone(),
                            occurrence,
                        };
                        let sides = sides.map(side);
                        let object = *key;
                        best.insert(lines, Warning { object, sides, rank });
                    }
                }
            }
        }
    }
    all.warnings = best.into_values().collect();
    all.warnings
        .sort_by_key(|w| (std::cmp::Reverse(w.rank.score), w.object));
    all
}

/// Whether two classes are a race, as far as can be told.
fn conflict(found: &TopDown, parallelism: &Parallelism<'_>, a: &ClassKey, b: &ClassKey) -> bool {
    let writes = |c: &ClassKey| c.kind != AccessKind::Read;
    let own = |root: Root| found.roots[a.root].own.contains(&root);
    (writes(a) || writes(b))
        && !(a.atomic && b.atomic)
        && parallelism.may_be(a.moment(), b.moment())
        && !guard::exclude(&a.guards, &b.guards)
        && may_be_equal(a, b, &own)
}

/// The object that a class is surely in.
pub fn object_of(class: &ClassKey) -> Option<Root> {
    class
        .path
        .as_ref()
        .filter(|p| p.root.is_object() && !p.loads())
        .map(|p: &Path| p.root)
}

/// Classes that may be to one place.
fn buckets(classes: &[(&ClassKey, &Vec<Occurrence>)]) -> BTreeMap<ObjectKey, Vec<usize>> {
    let mut buckets: BTreeMap<ObjectKey, Vec<usize>> = BTreeMap::new();
    let mut by_cell: HashMap<u32, BTreeSet<usize>> = HashMap::new();
    for (n, (class, _)) in classes.iter().enumerate() {
        if let Some(root) = class.path.as_ref().map(|p| p.root).filter(|r| r.is_object()) {
            buckets.entry(ObjectKey::Object(root)).or_default().push(n);
        }
        match (class.cell, class.tag) {
            (Some(cell), _) => drop(by_cell.entry(cell.class).or_default().insert(n)),
            (None, Some(tag)) => buckets.entry(ObjectKey::Field(tag)).or_default().push(n),
            (None, None) => {}
        }
    }
    for (class, members) in by_cell {
        // Apart by field and offset, so that a big class is no square.
        let mut parts: BTreeMap<ObjectKey, Vec<usize>> = BTreeMap::new();
        let mut everywhere = Vec::new();
        for n in members {
            let Some(cell) = classes[n].0.cell else { continue };
            match classes[n].0.kind {
                AccessKind::Free => everywhere.push(n),
                _ => {
                    // Accesses of other sizes overlap in the words that they share.
                    let last = cell.offset.saturating_add(classes[n].0.size.min(64) as i64 - 1);
                    for word in cell.offset.div_euclid(8)..=last.div_euclid(8) {
                        parts.entry(ObjectKey::Class(class, word * 8)).or_default().push(n);
                    }
                }
            }
        }
        for part in parts.values_mut() {
            part.extend(&everywhere);
        }
        buckets.extend(parts);
    }
    buckets
}

/// Pairs of statements of two classes.
fn statement_pairs(a: &[Occurrence], b: &[Occurrence]) -> Vec<(Occurrence, Occurrence)> {
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)));
    pairs.take(STATEMENTS).collect()
}

fn ordered<'a>(
    module: &Module,
    a: (&'a ClassKey, Occurrence),
    b: (&'a ClassKey, Occurrence),
) -> [(&'a ClassKey, Occurrence); 2] {
    let place = |o: &Occurrence| (line_number(module, o.location), o.site);
    if place(&a.1) <= place(&b.1) { [a, b] } else { [b, a] }
}

/// File and line as a person orders them.
fn line_number(module: &Module, location: Option<LocationId>) -> (&str, u32) {
    location.map_or(("", 0), |l| (&module[module[l].file], module[l].line))
}

fn line(module: &Module, occurrence: Occurrence) -> Line {
    match occurrence.location {
        Some(location) => (Some(module[location].file), module[location].line, None),
        None => (
            None,
            occurrence.site.instruction,
            Some(StringId::new(occurrence.site.function)),
        ),
    }
}
