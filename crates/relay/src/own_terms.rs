//! Entries in a function's own terms.
//!
//! What a caller read, computed or was given has a name that only the caller's code explains. To the callee it is what it
//! is given: [`renamed_entry`] puts that in the place of the caller's names, so that callers which differ in nothing but
//! names enter the callee in one context.
//!
//! Locks, for contexts that are joined ([`of`]):
//!
//! Two callers hold `locks[a->class]` and `locks[b->class]` and pass `a` and `b`: a context that stands for both knows
//! neither name. In the function's own terms both hold `locks[it->class]`, which outlives the join. What has no name in
//! these terms is known at least to be some lock of its array.

use crate::access_path::{Path, Root, Step, Symbol};
use crate::execution::Entry;
use crate::guard;
use crate::relative_lockset::{Change, Mode};
use crate::symbolic_value::SymbolicValue::{self, Named};
use crate::thread_root::formal_root;
use deadheat_ir::FunctionId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The entry with its locks in terms of the function's formals, as far as they hang on those. Locks that have one name
/// in the whole run keep it.
pub fn of(entry: &Entry, function: FunctionId) -> Entry {
    let mut known: Vec<(Path, Path)> = Vec::new();
    for (n, formal) in entry.formals.iter().enumerate() {
        if let Some(actual) = formal.as_ref().and_then(|f| f.key()) {
            known.push((actual.clone(), Path::of(formal_root(function, n))));
        }
    }
    // What was read from a place keeps the name of its reading: to the function it is what stands there.
    let mut read = Vec::new();
    for (place, value) in entry.way.memory.iter() {
        if let (Some(place), Named(value)) = (renamed(place, &known), value)
            && let Some(own) = place.load()
        {
            read.push((value.clone(), own));
        }
    }
    known.extend(read);
    let mut entry = entry.clone();
    let own = |lock: &Path| match lock.is_constant() {
        true => Some(lock.clone()),
        false => Some(in_own_terms(lock, &known)),
    };
    let some: Vec<(Path, Mode)> = entry
        .way
        .locks
        .changes()
        .filter(|(_, change)| change.acquired)
        .filter_map(|(lock, change)| Some((guard::any_of(lock)?, change.mode)))
        .collect();
    entry.way.locks = entry.way.locks.rebind(own).0;
    for (lock, mode) in some {
        if entry.way.locks.get(&lock).is_none() {
            entry.way.locks.apply(&lock, Change::acquire(mode));
        }
    }
    // A formal on which a lock hangs now goes by its own name there too.
    for n in 0..entry.formals.len() {
        let root = formal_root(function, n);
        let mentioned = |lock: &Path| lock.mentions(|r| r == root);
        if entry.way.locks.acquired().any(mentioned) {
            entry.formals[n] = Some(SymbolicValue::of(root));
        }
    }
    entry
}

/// The entry with the function's own names for what its formals are, where that has no name for the whole run; without
/// what the function cannot get at: locks under names that lead there no longer are some lock of their array, or none.
pub fn renamed_entry(mut entry: Entry, function: FunctionId) -> Entry {
    let mut known: Vec<(Path, Path)> = Vec::new();
    for (n, formal) in entry.formals.iter().enumerate() {
        let actual = formal.as_ref().and_then(SymbolicValue::key);
        if let Some(actual) = actual.filter(|a| matches!(a.root, Root::Opaque(_)))
            && renamed(actual, &known).is_none()
        {
            known.push((actual.clone(), Path::of(formal_root(function, n))));
        }
    }
    let path = |path: &Path| in_own_terms(path, &known);
    let value = |value: &SymbolicValue| match value {
        Named(named) => Named(path(named)),
        SymbolicValue::May(name, paths) => SymbolicValue::May(path(name), paths.iter().map(path).collect()),
        value => value.clone(),
    };
    let way = &mut entry.way;
    if !known.is_empty() {
        entry
            .formals
            .iter_mut()
            .flatten()
            .for_each(|formal| *formal = value(formal));
        way.memory = way.memory.iter().map(|(p, v)| (path(p), value(v))).collect();
        way.facts = way.facts.iter().map(|(p, fact)| (path(p), *fact)).collect();
        way.published = way.published.keys().map(|p| (path(p), ())).collect();
        way.locks = way.locks.rebind(|lock| Some(path(lock))).0;
    }
    let values = entry.formals.iter().flatten().chain(way.memory.values());
    let roots: BTreeSet<Root> = values
        .flat_map(|v| v.paths().iter().chain(v.key()))
        .map(|p| p.root)
        .collect();
    let lost = |root: Root| matches!(root, Root::Opaque(_)) && !roots.contains(&root);
    if way.locks.changes().any(|(lock, _)| lock.mentions(lost)) {
        way.locks = way.locks.rebind(|lock| lock.without_index(lost)).0;
    }
    entry
}

/// A path with what it hangs on replaced, and what its elements are chosen by.
fn in_own_terms(path: &Path, known: &[(Path, Path)]) -> Path {
    let mut path = renamed(path, known).unwrap_or_else(|| path.clone());
    for index in path.steps.iter_mut().filter_map(|s| s.index.as_mut()) {
        if let Symbol::Value(value) = &index.symbol
            && let Some(value) = renamed(value, known)
        {
            index.symbol = Symbol::Value(Arc::new(value));
        }
    }
    path
}

/// The path from the function's own names, if it hangs on a value that has one.
fn renamed(path: &Path, known: &[(Path, Path)]) -> Option<Path> {
    let named = known.iter().filter(|(actual, _)| hangs_on(path, actual));
    let (actual, own) = named.max_by_key(|(actual, _)| actual.steps.len())?;
    let depth = actual.steps.len();
    let moved = path.steps[depth - 1].offset.wrapping_sub(actual.last().offset);
    let mut renamed = own.clone().plus(moved);
    renamed.steps.extend(path.steps[depth..].iter().cloned());
    (renamed.steps.len() <= crate::access_path::DEPTH).then_some(renamed)
}

/// Whether a path goes on from the value that another one is.
fn hangs_on(path: &Path, actual: &Path) -> bool {
    let depth = actual.steps.len();
    let same_last = |step: &Step| step.index == actual.last().index;
    path.root == actual.root
        && !matches!(path.root, Root::Thread(_))
        && path.steps.len() >= depth
        && path.steps[..depth - 1] == actual.steps[..depth - 1]
        && path.steps.get(depth - 1).is_some_and(same_last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_path::{Site, add_value_index};
    use crate::state::Disjunct;

    fn opaque(n: u32) -> Path {
        let (function, instruction) = (0, n);
        Path::of(Root::Opaque(Site { function, instruction }))
    }

    /// Enters with `n`, holding the lock that the class at offset 40 of it chooses.
    fn entered(n: u32) -> Entry {
        let mut lock = Path::of(Root::Global(1));
        add_value_index(lock.last_mut(), Some(opaque(n + 100)), 40);
        let mut way = Disjunct::entry();
        way.memory.insert(opaque(n).plus(40), Named(opaque(n + 100)));
        way.locks.apply(&lock, Change::acquire(Mode::Exclusive));
        Entry {
            formals: vec![Some(SymbolicValue::Named(opaque(n)))],
            way,
            creator: None,
        }
    }

    #[test]
    fn a_lock_that_a_formal_chooses_has_one_name_for_all_callers() {
        let function = FunctionId::new(7);
        let (one, other) = (of(&entered(1), function), of(&entered(2), function));
        assert_ne!(entered(1).way.locks, entered(2).way.locks);
        assert_eq!(one.way.locks, other.way.locks);
        let formal = Path::of(formal_root(function, 0)).plus(40).load().unwrap();
        let held: Vec<&Path> = one.way.locks.acquired().collect();
        assert!(held.iter().any(|lock| lock.indices().next() == Some(&formal)));
        assert!(held.iter().any(|lock| lock.is_indexed() && !lock.is_definite()));
    }

    #[test]
    fn callers_that_differ_in_names_alone_enter_alike() {
        let function = FunctionId::new(7);
        let held = |n: u32| {
            let mut entry = Entry {
                formals: vec![Some(SymbolicValue::Named(opaque(n)))],
                ..Entry::relative()
            };
            // A lock beside what is given, and one that the function cannot get at.
            for lock in [opaque(n).plus(8), opaque(n + 50)] {
                entry.way.locks.apply(&lock, Change::acquire(Mode::Exclusive));
            }
            renamed_entry(entry, function)
        };
        assert_eq!(held(1), held(2));
        let formal = Path::of(formal_root(function, 0));
        let entry = held(1);
        assert_eq!(entry.formals, [Some(SymbolicValue::Named(formal.clone()))]);
        assert!(entry.way.locks.acquired().any(|lock| *lock == formal.clone().plus(8)));
        assert_eq!(entry.way.locks.acquired().count(), 1);
    }
}
