//! Symbolic values (RELAY, section 3.1, figure 2): top, constants, `init(o)`, `must(o)`, `may(os)`.
//!
//! `init` and `must` are both a [`Path`]. Bottom, "not assigned yet", is the absence of a value. A value that differs
//! between paths keeps, beside what it may be, the name of the instruction at which it merged: it is one value until
//! that instruction is executed again, which is enough to pair a lock with what it guards.

use crate::access_path::{Path, Root, Site};
use crate::path_map::Held;
use serde::{Deserialize, Serialize};

/// Alternatives of `may` at most.
pub const ALTERNATIVES: usize = 8;

/// What a location or an instruction's result holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SymbolicValue {
    /// Any possible value.
    Top,
    /// This integer; null is 0.
    Integer(i64),
    /// The value that the path names.
    Named(Path),
    /// One of the paths, or null; the first path is the name that the instruction which gave it lends it.
    May(Path, Vec<Path>),
}

use SymbolicValue::{Integer, May, Named, Top};

impl SymbolicValue {
    /// The value that the root is.
    pub fn of(root: Root) -> SymbolicValue {
        Named(Path::of(root))
    }

    /// The one path that names what the value leads to: an only alternative to null does, where it is followed.
    pub fn name(&self) -> Option<&Path> {
        match self {
            Named(path) => Some(path),
            May(_, paths) if paths.len() == 1 => paths.first(),
            May(name, _) => Some(name),
            Top | Integer(_) => None,
        }
    }

    /// The path that names the value itself, null included.
    pub fn key(&self) -> Option<&Path> {
        match self {
            Named(path) | May(path, _) => Some(path),
            Top | Integer(_) => None,
        }
    }

    /// All that it may be, if that is known.
    pub fn paths(&self) -> &[Path] {
        match self {
            Named(path) => std::slice::from_ref(path),
            May(_, paths) => paths,
            Top | Integer(_) => &[],
        }
    }

    /// The value of the instruction at `site`, which gives `self` on some paths and `other` on others. What it may be
    /// is kept where all of it has a name that does not hang on the instruction itself.
    pub fn join(&self, other: &SymbolicValue, site: Site) -> SymbolicValue {
        if self == other {
            return self.clone();
        }
        let merged = SymbolicValue::of(Root::Opaque(site));
        let mut all: Vec<Path> = Vec::new();
        for value in [self, other] {
            match value {
                Integer(0) => continue,
                Top | Integer(_) => return merged,
                Named(_) | May(..) => {}
            }
            for path in value.paths() {
                if path.mentions(|r| r == Root::Opaque(site)) {
                    return merged;
                }
                if !all.contains(path) {
                    all.push(path.clone());
                }
            }
        }
        all.sort();
        if all.is_empty() || all.len() > ALTERNATIVES || walks(&all) {
            return merged;
        }
        May(Path::of(Root::Opaque(site)), all)
    }

    /// The value with a number of bytes added.
    pub fn plus(self, bytes: i64) -> SymbolicValue {
        match self {
            Top => Top,
            Integer(n) => Integer(n.wrapping_add(bytes)),
            Named(path) => Named(path.plus(bytes)),
            May(name, paths) => May(name.plus(bytes), paths.into_iter().map(|p| p.plus(bytes)).collect()),
        }
    }

    /// Whether it is surely not null: the address of an object.
    pub fn is_address(&self) -> bool {
        matches!(self, Named(path) if path.root.is_object() && !path.loads())
    }
}

/// Whether three of the paths differ in their last constant part alone: a pointer that goes on and on.
fn walks(paths: &[Path]) -> bool {
    let base = |p: &Path| p.clone().split().0;
    let as_first = |p: &Path| base(p) == base(&paths[0]);
    paths.len() > 2 && !paths[0].root.is_object() && paths.iter().filter(|p| as_first(p)).count() > 2
}

impl Held for SymbolicValue {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths().iter().chain(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Site = Site {
        function: 0,
        instruction: 7,
    };

    fn global(n: u32) -> SymbolicValue {
        SymbolicValue::of(Root::Global(n))
    }

    #[test]
    fn a_merge_keeps_what_it_may_be() {
        let merged = global(1).join(&global(2), HERE);
        assert_eq!(merged.paths().len(), 2);
        assert_eq!(merged.name(), Some(&Path::of(Root::Opaque(HERE))));
        assert_eq!(merged.plus(8).paths()[0], Path::of(Root::Global(1)).plus(8));
        assert_eq!(global(1).join(&global(1), HERE), global(1));
    }

    #[test]
    fn an_only_alternative_to_null_is_followed() {
        let merged = global(1).join(&Integer(0), HERE);
        assert_eq!(merged.name(), Some(&Path::of(Root::Global(1))));
        assert_eq!(merged.key(), Some(&Path::of(Root::Opaque(HERE))));
        assert!(!merged.is_address() && global(1).is_address());
    }

    #[test]
    fn a_pointer_that_walks_is_named_by_its_merge() {
        let next = SymbolicValue::Named(Path::of(Root::Opaque(HERE)).plus(8).load().unwrap());
        assert_eq!(global(1).join(&next, HERE), SymbolicValue::of(Root::Opaque(HERE)));
        assert_eq!(global(1).join(&Top, HERE), SymbolicValue::of(Root::Opaque(HERE)));
    }
}
