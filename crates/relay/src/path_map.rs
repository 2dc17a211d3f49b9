//! Maps of access paths whose copies share what they hold.
//!
//! Symbolic execution copies the state at every branch and joins copies that differ in a few entries at every merge. A
//! map is therefore a sorted vector behind a reference count, and so is each of its entries: a copy costs one count,
//! the first change of a copy one count for each entry, and a merge is linear and compares entries that both sides share
//! by their addresses. Sharing is not seen: maps are equal, ordered and hashed by what they hold.
//!
//! Invariant: entries are sorted by path, no path stands twice. Maps of states hold about a hundred entries, so that moving
//! their tail for an insertion costs less than a tree would.

use crate::access_path::{Path, Root};
use rustc_hash::FxBuildHasher;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// An entry, shared by the maps that hold it.
type Shared<V> = Arc<(Path, V)>;

/// Values by path, in the order of the paths.
#[derive(Clone, Debug)]
pub struct PathMap<V> {
    entries: Arc<Vec<Shared<V>>>,
    /// Roots that paths and values mention, and perhaps some more.
    mentioned: Roots,
}

/// A set of roots that may hold more than was added (Bloom, CACM 1970, with one hash function).
#[derive(Clone, Copy, Debug, Default)]
struct Roots([u64; 4]);

impl Roots {
    fn bit(root: Root) -> (usize, u64) {
        let hash = FxBuildHasher.hash_one(root) >> 32;
        ((hash >> 6) as usize % 4, 1 << (hash % 64))
    }

    fn add(&mut self, root: Root) {
        let (word, bit) = Roots::bit(root);
        self.0[word] |= bit;
    }

    fn add_path(&mut self, path: &Path) {
        self.add(path.root);
        path.indices().for_each(|index| self.add(index.root));
    }

    fn may_hold(self, root: Root) -> bool {
        let (word, bit) = Roots::bit(root);
        self.0[word] & bit != 0
    }

    fn union(self, other: Roots) -> Roots {
        Roots(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }
}

/// What a map may hold for a path.
pub trait Held: Clone + PartialEq {
    /// The paths that it mentions.
    fn paths(&self) -> impl Iterator<Item = &Path>;
}

impl Held for () {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::empty()
    }
}

impl<V: PartialEq> PartialEq for PathMap<V>
where
    Shared<V>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entries, &other.entries) || self.entries == other.entries
    }
}

impl<V: Eq> Eq for PathMap<V> {}

impl<V: Ord> PartialOrd for PathMap<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V: Ord> Ord for PathMap<V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.entries.cmp(&other.entries)
    }
}

impl<V: Hash> Hash for PathMap<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries.hash(state);
    }
}

impl<V: Serialize> Serialize for PathMap<V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.entries.iter().map(|e| (&e.0, &e.1)))
    }
}

impl<'de, V: Held + Deserialize<'de>> Deserialize<'de> for PathMap<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let entries: Vec<(Path, V)> = Deserialize::deserialize(from)?;
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(D::Error::custom("paths in no order"));
        }
        let mut mentioned = Roots::default();
        for (path, value) in &entries {
            mentioned.add_path(path);
            value.paths().for_each(|path| mentioned.add_path(path));
        }
        Ok(PathMap {
            entries: Arc::new(entries.into_iter().map(Arc::new).collect()),
            mentioned,
        })
    }
}

/// Paths, in order.
pub type PathSet = PathMap<()>;

impl<V> Default for PathMap<V> {
    fn default() -> Self {
        PathMap {
            entries: Arc::new(Vec::new()),
            mentioned: Roots::default(),
        }
    }
}

impl<V> PathMap<V> {
    fn find(&self, path: &Path) -> Result<usize, usize> {
        self.entries.binary_search_by(|e| e.0.cmp(path))
    }

    /// Whether paths or values may mention the root; if not, surely none does.
    pub fn may_mention(&self, root: Root) -> bool {
        self.mentioned.may_hold(root)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value at a path.
    pub fn get(&self, path: &Path) -> Option<&V> {
        self.find(path).ok().map(|at| &self.entries[at].1)
    }

    /// Whether the path has a value.
    pub fn contains(&self, path: &Path) -> bool {
        self.find(path).is_ok()
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &V)> {
        self.entries.iter().map(|e| (&e.0, &e.1))
    }

    /// The paths, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|e| &e.0)
    }

    /// The values, in the order of their paths.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|e| &e.1)
    }

    /// Those with this root.
    pub fn with_root(&self, root: Root) -> impl Iterator<Item = (&Path, &V)> {
        let from = self.entries.partition_point(|e| e.0.root < root);
        let rest = self.entries[from..].iter().map(|e| (&e.0, &e.1));
        rest.take_while(move |(path, _)| path.root == root)
    }

    /// Those that go from the same root through the same steps as a path, but for its last.
    pub fn with_base(&self, path: &Path) -> impl Iterator<Item = (&Path, &V)> {
        let (root, base) = (path.root, &path.steps[..path.steps.len() - 1]);
        let from = self
            .entries
            .partition_point(|e| (e.0.root, &e.0.steps[..]) < (root, base));
        let rest = self.entries[from..].iter().map(|e| (&e.0, &e.1));
        rest.take_while(move |(path, _)| path.root == root && path.steps.starts_with(base))
    }

    /// Keeps those that the condition holds for.
    pub fn retain(&mut self, keep: impl Fn(&Path, &V) -> bool) {
        if !self.iter().all(|(path, value)| keep(path, value)) {
            Arc::make_mut(&mut self.entries).retain(|e| keep(&e.0, &e.1));
        }
    }

    /// Keeps the first, so many.
    pub fn truncate(&mut self, most: usize) {
        if self.len() > most {
            Arc::make_mut(&mut self.entries).truncate(most);
        }
    }

    /// Removes a path; gives its value back, if it had one.
    pub fn remove(&mut self, path: &Path) -> Option<V>
    where
        V: Clone,
    {
        let at = self.find(path).ok()?;
        let gone = Arc::make_mut(&mut self.entries).remove(at);
        Some(Arc::unwrap_or_clone(gone).1)
    }
}

impl<V: Held> PathMap<V> {
    /// Gives a path a value; says whether that is new.
    pub fn insert(&mut self, path: Path, value: V) -> bool {
        let found = self.find(&path);
        if matches!(found, Ok(at) if self.entries[at].1 == value) {
            return false;
        }
        self.mentioned.add_path(&path);
        value.paths().for_each(|path| self.mentioned.add_path(path));
        match found {
            Ok(at) => Arc::make_mut(&mut self.entries)[at] = Arc::new((path, value)),
            Err(at) => Arc::make_mut(&mut self.entries).insert(at, Arc::new((path, value))),
        }
        true
    }

    /// Gives each path another value, where there is one for it.
    pub fn replace(&mut self, other: impl Fn(&Path, &V) -> Option<V>) {
        for at in 0..self.entries.len() {
            let (path, value) = &*self.entries[at];
            if let Some(value) = other(path, value).filter(|new| new != value) {
                let path = path.clone();
                value.paths().for_each(|path| self.mentioned.add_path(path));
                Arc::make_mut(&mut self.entries)[at] = Arc::new((path, value));
            }
        }
    }

    /// The same, sharing with another map what both have.
    pub fn sharing(&self, other: &Self) -> Self {
        other.merge(self, |_, own| own.cloned())
    }

    /// The paths of either map; `value` gives what a path has from what it has in the one, the other, or both; none leaves
    /// it out. What both share is taken as it is.
    pub fn merge(&self, other: &Self, value: impl Fn(Option<&V>, Option<&V>) -> Option<V>) -> Self {
        if Arc::ptr_eq(&self.entries, &other.entries) {
            return self.clone();
        }
        let mut merged = Vec::with_capacity(self.len().max(other.len()));
        let (mut a, mut b) = (&self.entries[..], &other.entries[..]);
        let mut mentioned = self.mentioned.union(other.mentioned);
        // Whether the result is the one side, entry by entry.
        let (mut is_a, mut is_b) = (true, true);
        loop {
            let order = match (a.first(), b.first()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(x), Some(y)) if Arc::ptr_eq(x, y) => Ordering::Equal,
                (Some(x), Some(y)) => x.0.cmp(&y.0),
            };
            let x = (order != Ordering::Greater).then(|| &a[0]);
            let y = (order != Ordering::Less).then(|| &b[0]);
            (a, b) = (&a[usize::from(x.is_some())..], &b[usize::from(y.is_some())..]);
            let entry = match (x, y) {
                (Some(x), Some(y)) if Arc::ptr_eq(x, y) => Some(x.clone()),
                _ => value(x.map(|e| &e.1), y.map(|e| &e.1)).and_then(|value| {
                    let known = x.filter(|e| e.1 == value).or(y.filter(|e| e.1 == value));
                    let path = || x.or(y).map(|e| e.0.clone());
                    known.cloned().or_else(|| {
                        value.paths().for_each(|p| mentioned.add_path(p));
                        Some(Arc::new((path()?, value)))
                    })
                }),
            };
            let is = |side: Option<&Shared<V>>| match (side, &entry) {
                (Some(side), Some(entry)) => Arc::ptr_eq(side, entry),
                (None, None) => true,
                _ => false,
            };
            (is_a, is_b) = (is_a && is(x), is_b && is(y));
            merged.extend(entry);
        }
        match (is_a, is_b) {
            (true, _) => self.clone(),
            (_, true) => other.clone(),
            _ => PathMap {
                entries: Arc::new(merged),
                mentioned,
            },
        }
    }
}

impl PathSet {
    /// Adds a path; says whether it is new.
    pub fn add(&mut self, path: Path) -> bool {
        self.insert(path, ())
    }

    /// Paths of either.
    pub fn union(&self, other: &PathSet) -> PathSet {
        self.merge(other, |_, _| Some(()))
    }
}

impl<V: Held> Extend<(Path, V)> for PathMap<V> {
    fn extend<I: IntoIterator<Item = (Path, V)>>(&mut self, all: I) {
        for (path, value) in all {
            self.insert(path, value);
        }
    }
}

impl<V: Held> FromIterator<(Path, V)> for PathMap<V> {
    fn from_iter<I: IntoIterator<Item = (Path, V)>>(all: I) -> Self {
        let mut map = PathMap::default();
        map.extend(all);
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl Held for u8 {
        fn paths(&self) -> impl Iterator<Item = &Path> {
            std::iter::empty()
        }
    }

    fn path((root, offset): (u32, i64)) -> Path {
        let path = Path::of(Root::Global(root));
        // Some go on from what stands there.
        if offset < 2 {
            path.plus(offset)
        } else {
            path.load().unwrap().plus(offset)
        }
    }

    fn entries() -> impl Strategy<Value = Vec<((u32, i64), u8)>> {
        proptest::collection::vec(((0_u32..4, -2_i64..4), 0_u8..4), 0..24)
    }

    fn both(entries: &[((u32, i64), u8)]) -> (PathMap<u8>, BTreeMap<Path, u8>) {
        let all = || entries.iter().map(|(p, v)| (path(*p), *v));
        (all().collect(), all().collect())
    }

    fn is_same(map: &PathMap<u8>, tree: &BTreeMap<Path, u8>) -> bool {
        map.iter().eq(tree.iter())
    }

    proptest! {
        #[test]
        fn a_map_does_what_a_tree_does(one in entries(), two in entries(), gone in entries()) {
            let (mut map, mut tree) = both(&one);
            let before = (map.clone(), tree.clone());
            let (other, other_tree) = both(&two);
            prop_assert!(is_same(&map, &tree) && is_same(&other, &other_tree));
            for (p, _) in &gone {
                prop_assert_eq!(map.remove(&path(*p)), tree.remove(&path(*p)));
            }
            map.retain(|_, v| *v != 1);
            tree.retain(|_, v| *v != 1);
            let mut first = map.clone();
            first.truncate(2);
            prop_assert!(first.iter().eq(tree.iter().take(2)));
            map.replace(|p, v| (p.last().offset > 0).then_some(v + 1));
            tree.iter_mut().filter(|(p, _)| p.last().offset > 0).for_each(|(_, v)| *v += 1);
            prop_assert!(is_same(&map, &tree) && is_same(&before.0, &before.1));
            for root in (0..4).map(Root::Global) {
                prop_assert!(map.with_root(root).eq(tree.iter().filter(|(p, _)| p.root == root)));
            }
            prop_assert!(map.keys().all(|p| map.may_mention(p.root)));
            for path in tree.keys() {
                let (root, base) = (path.root, &path.steps[..path.steps.len() - 1]);
                let alike = tree.iter().filter(|(p, _)| p.root == root && p.steps.starts_with(base));
                prop_assert!(map.with_base(path).eq(alike));
            }
            // What only one side has is kept if it is even; what both have becomes the larger.
            let rule = |x: Option<&u8>, y: Option<&u8>| match (x, y) {
                (Some(x), Some(y)) => Some(*x.max(y)),
                (x, y) => x.or(y).copied().filter(|v| v % 2 == 0),
            };
            let all = tree.keys().chain(other_tree.keys());
            let expected: BTreeMap<Path, u8> =
                all.filter_map(|p| Some((p.clone(), rule(tree.get(p), other_tree.get(p))?))).collect();
            prop_assert!(is_same(&map.merge(&other, rule), &expected));
            prop_assert_eq!(map == other, tree == other_tree);
            prop_assert_eq!(map.cmp(&other), tree.cmp(&other_tree));
        }
    }
}
