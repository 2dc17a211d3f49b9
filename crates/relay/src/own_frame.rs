//! Whose objects: each thread that executes a function has a frame of its own and allocates for itself, so an object that is
//! named by where it was made in two threads is one object only if an ancestor of both made it, or the one that started
//! the other. (Under the name of a place that both read it from, it may be one all the same.)

use crate::access_path::Root;
use crate::top_down::TopDown;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Who executes what, and comes from whom.
#[derive(Debug)]
pub struct Frames {
    /// Roots and the functions that they execute.
    executes: FxHashSet<(usize, u32)>,
    /// For each root those that it comes from.
    ancestors: Vec<BTreeSet<usize>>,
}

impl Frames {
    /// Of all that runs.
    pub fn of(found: &TopDown) -> Frames {
        let ancestors = |root: usize| {
            let mut all = BTreeSet::new();
            let mut due = vec![root];
            while let Some(next) = due.pop() {
                due.extend(found.roots[next].creators.iter().filter(|c| all.insert(**c)));
            }
            all
        };
        Frames {
            executes: found.contexts.iter().map(|c| (c.root, c.function.number())).collect(),
            ancestors: (0..found.roots.len()).map(ancestors).collect(),
        }
    }

    /// Whether an object that is named alike in threads of two roots (or in two threads of one) may be one object.
    pub fn may_be_one(&self, object: Root, a: usize, b: usize) -> bool {
        let (Root::Local(site) | Root::Fresh(site)) = object else {
            return true;
        };
        let executes = |root: &usize| self.executes.contains(&(*root, site.function));
        let mut from = self.ancestors[a].intersection(&self.ancestors[b]);
        let starts = |one: usize, other: usize| self.ancestors[other].contains(&one) && executes(&one);
        from.any(executes) || starts(a, b) || starts(b, a)
    }
}
