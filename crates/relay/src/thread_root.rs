//! Thread roots: code that runs at the same time as other code, and who starts it.

use crate::access_path::{Path, Root, Site, Step, Symbol};
use crate::execution::{CreationEvent, Entry};
use crate::models::RootKind;
use crate::state::{Disjunct, Status};
use crate::symbolic_value::SymbolicValue::{self, May, Named};
use deadheat_ir::FunctionId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What starts a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Start {
    /// The program itself: `main`, and what runs before it.
    Program,
    /// The user says that it is called at any time, by any thread (`--entry`).
    AnyTime,
    /// A creation with this name.
    Creation(Site),
}

/// What a root is named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RootKey {
    /// What starts it.
    pub start: Start,
    /// Its function.
    pub function: FunctionId,
}

/// Code that runs at the same time as other code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRoot {
    /// What it is named by.
    pub key: RootKey,
    /// What kind of code.
    pub kind: RootKind,
    /// Whether several instances may run at once.
    pub many: bool,
    /// Functions beside the key's that it may start with.
    pub others: usize,
    /// The roots that create it, by number.
    pub creators: BTreeSet<usize>,
    /// Objects of which each instance has its own, given to it by its creator.
    pub own: BTreeSet<Root>,
    /// Objects that were given to some instance and that others may know of by then.
    pub shared: BTreeSet<Root>,
    /// Most barriers that it passes.
    pub barriers: u8,
    /// Locks that an ancestor holds as long as its threads run, and that ancestor's number.
    pub lent: BTreeSet<(Path, usize)>,
}

/// Values and memory that a new thread is given are kept up to so many locations.
const LOCATIONS: usize = 48;

/// How a created thread is entered, and the object that it is given, and whether it has that for itself. `is_followed`: it
/// knows of itself that it runs.
pub fn entry_of(event: &CreationEvent<'_>, function: FunctionId, is_followed: bool) -> (Entry, Option<(Root, bool)>) {
    let made = event.argument.name().filter(|p| !p.loads() && p.root.is_made());
    let given = made.map(|p| (p.root, event.way.is_private(p.root)));
    let rename = |path: &Path| each_its_own(path, event.counters, event.name);
    let rename_value = |value: &SymbolicValue| match value {
        Named(path) => Named(rename(path)),
        May(name, paths) => May(rename(name), paths.iter().map(rename).collect()),
        value => value.clone(),
    };
    let mut way = Disjunct::entry();
    let mut seen: BTreeSet<Root> = event.argument.paths().iter().map(|p| p.root).collect();
    let mut work: Vec<Root> = seen.iter().copied().collect();
    while let Some(root) = work.pop() {
        for (path, value) in event.way.with_root(root).filter(|(_, v)| **v != SymbolicValue::Top) {
            if way.memory.len() >= LOCATIONS {
                break;
            }
            way.memory.insert(rename(path), rename_value(value));
            work.extend(
                value
                    .paths()
                    .iter()
                    .map(|p| p.root)
                    .filter(|r| r.is_made() && seen.insert(*r)),
            );
        }
    }
    way.publish(event.argument);
    let made = seen.into_iter().filter(|r| r.is_made());
    way.published.extend(made.map(|r| (Path::of(r), ())));
    // Of who is handed on it is not known when it runs, so neither beside whom.
    if event.model.kind != RootKind::Handed {
        way.threads = event.way.threads.clone();
    }
    let again = event.model.many || matches!(way.threads.get(&event.name), Some(Status::Live | Status::Many));
    if is_followed {
        let now = if again { Status::Many } else { Status::Live };
        Arc::make_mut(&mut way.threads).insert(event.name, now);
    }
    let formals = match event.model.function_at.is_some()
        && event.model.argument_at.is_none()
        && event.model.argument.is_none()
    {
        true => vec![],
        false => vec![Some(rename_value(event.argument))],
    };
    let entry = Entry {
        formals: known_formals(formals, function, 1),
        way,
        creator: None,
    };
    (entry, given)
}

/// A path in which loop counters of the creator are replaced by "differs in each instance".
fn each_its_own(path: &Path, counters: &BTreeSet<Site>, name: Site) -> Path {
    let counts = |r: Root| matches!(r, Root::Opaque(site) if counters.contains(&site));
    let mut path = path.clone();
    if counts(path.root) {
        path.root = Root::Instance(name);
    }
    for Step { index, .. } in &mut path.steps {
        if let Some(index) = index
            && let Symbol::Value(value) = &index.symbol
            && counts(value.root)
        {
            let mut value = (**value).clone();
            value.root = Root::Instance(name);
            index.symbol = Symbol::Value(Arc::new(value));
        }
    }
    path
}

/// The name of a formal of which nothing is known.
pub fn formal_root(function: FunctionId, number: usize) -> Root {
    Root::Opaque(Site {
        function: function.number(),
        instruction: u32::MAX - 1 - number as u32,
    })
}

/// Formals of which nothing is known get names that are not mixed up with those of other functions.
pub fn known_formals(
    mut formals: Vec<Option<SymbolicValue>>,
    function: FunctionId,
    count: usize,
) -> Vec<Option<SymbolicValue>> {
    formals.resize(count.max(formals.len()), None);
    for (n, formal) in formals.iter_mut().enumerate() {
        if matches!(formal, None | Some(SymbolicValue::Top)) {
            *formal = Some(SymbolicValue::of(formal_root(function, n)));
        }
    }
    formals
}
