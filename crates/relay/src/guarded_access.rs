//! Guarded accesses (RELAY, section 3.3), as equivalence classes: all accesses of a root that are alike in where they go,
//! what they do, under which locks, beside which threads. A program has few classes and many accesses.

use crate::access_path::{Path, Root, Site, Step, Symbol};
use crate::execution::{AccessEvent, AccessKind};
use crate::guard::{self, Guards};
use crate::state::Threads;
use crate::subject::{Cell, Subject};
use crate::symbolic_value::SymbolicValue;
use crate::waited::Waited;
use deadheat_ir::{FunctionId, LocationId, SymbolKind, TagId};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What accesses of one class have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassKey {
    /// The root's number.
    pub root: usize,
    /// Where, if that has a name.
    pub path: Option<Arc<Path>>,
    /// Where, by points-to.
    pub cell: Option<Cell>,
    /// The field.
    pub tag: Option<TagId>,
    /// Bytes.
    pub size: u64,
    /// What it does.
    pub kind: AccessKind,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Locks.
    pub guards: Arc<Guards>,
    /// Threads that run, as its thread knows.
    pub threads: Threads,
    /// Barriers passed.
    pub barriers: Option<u8>,
    /// Whether its thread has waited, and for more than a condition.
    pub waited: [Waited; 2],
}

/// One of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence {
    /// The instruction.
    pub site: Site,
    /// Where it stands in the source.
    pub location: Option<LocationId>,
    /// The context in which it is executed, by number.
    pub context: u32,
    /// Whether it is volatile.
    pub volatile: bool,
}

impl Hash for ClassKey {
    /// By few of its parts: they tell most classes apart, and threads are many.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.path, self.cell, self.root, self.kind, self.guards.len()).hash(state);
    }
}

/// The accesses of a class.
pub type Occurrences = SmallVec<[Occurrence; 1]>;

/// Occurrences that a class keeps; more are counted.
pub const OCCURRENCES: usize = 16;

/// The classes of an access; none if no other thread can make a conflicting one.
pub fn classes(
    subject: &Subject<'_>,
    event: &AccessEvent<'_>,
    root: usize,
    is_single: &dyn Fn(&Path) -> bool,
) -> Vec<ClassKey> {
    let function = FunctionId::new(event.site.function);
    let cell = subject.aliasing.pointee(function, event.operand);
    let merged = match event.address {
        SymbolicValue::May(name, _) => Some(name),
        _ => None,
    };
    let class = |path: Option<&Path>| ClassKey {
        root,
        guards: subject.guards(&guard::guards(&event.way.locks, path, merged, is_single)),
        path: path.map(|path| subject.path(path)),
        cell,
        tag: event.tag,
        size: event.size,
        kind: event.kind,
        atomic: event.atomic,
        threads: event.way.threads.clone(),
        barriers: event.way.barriers,
        waited: [event.way.waited, event.way.settled],
    };
    let paths = event.address.paths();
    if paths.is_empty() {
        let shared = cell.is_some_and(|c| subject.aliasing.is_shared(c.class));
        return if shared { vec![class(None)] } else { vec![] };
    }
    let visible = |path: &&Path| is_visible(subject, event, path, cell);
    paths.iter().filter(visible).map(|path| class(Some(path))).collect()
}

/// Whether another thread may reach the memory.
fn is_visible(subject: &Subject<'_>, event: &AccessEvent<'_>, path: &Path, cell: Option<Cell>) -> bool {
    match path.root {
        _ if path.loads() => cell.is_none_or(|c| subject.aliasing.is_shared(c.class)),
        Root::Global(number) => {
            let Some(symbol) = subject.symbol(number) else {
                return false;
            };
            match &subject.module[symbol].kind {
                SymbolKind::Variable {
                    constant, thread_local, ..
                } => !constant && !thread_local,
                _ => false,
            }
        }
        root @ (Root::Local(_) | Root::Fresh(_)) => !event.way.is_private(root),
        _ => cell.is_none_or(|c| subject.aliasing.is_shared(c.class)),
    }
}

/// Whether two accesses may be to a common byte. `own`: each instance of the root has its own of these objects;
/// `outside`: the class is one of objects from code that is not seen.
pub fn may_be_equal(a: &ClassKey, b: &ClassKey, own: &dyn Fn(Root) -> bool, outside: &dyn Fn(u32) -> bool) -> bool {
    if let (Some(p), Some(q)) = (&a.path, &b.path) {
        let objects = p.root.is_object() && q.root.is_object() && !p.loads() && !q.loads();
        if objects {
            let overlap = p.root == q.root && may_overlap_across(p, a.size, q, b.size);
            return overlap && !(a.root == b.root && (own(p.root) || each_its_own(p, a.size, q, b.size)));
        }
        if p == q {
            return !(a.root == b.root && each_its_own(p, a.size, q, b.size));
        }
        if p.root == q.root && p.steps.len() == q.steps.len() {
            // One base, other places in it.
            let same_base = p.steps[..p.steps.len() - 1] == q.steps[..q.steps.len() - 1];
            if same_base {
                return may_overlap_across(p, a.size, q, b.size);
            }
        }
    }
    match (a.cell, b.cell) {
        // Where the object comes from is not known, so its type has to tell.
        (Some(x), Some(y)) if x.class != y.class => match (a.tag, b.tag) {
            (Some(t), Some(u)) => t == u && (outside(x.class) || outside(y.class)),
            _ => outside(x.class) && outside(y.class),
        },
        (Some(x), Some(y)) => {
            // Fields that are both known are the same field, or different memory.
            let fields = matches!((a.tag, b.tag), (Some(t), Some(u)) if t != u);
            !fields && cells_overlap(a, x, b, y)
        }
        _ => a.tag.is_some() && a.tag == b.tag,
    }
}

/// Overlap of accesses in different threads: an index of one is no index of the other, whatever it is called.
fn may_overlap_across(p: &Path, size: u64, q: &Path, other: u64) -> bool {
    let unknown = |step: &Step| {
        let mut step = step.clone();
        step.index.iter_mut().for_each(|i| i.symbol = Symbol::Any);
        step
    };
    crate::access_path::may_overlap(&unknown(p.last()), size, &unknown(q.last()), other)
}

fn cells_overlap(a: &ClassKey, x: Cell, b: &ClassKey, y: Cell) -> bool {
    let apart = y.offset.wrapping_sub(x.offset);
    let free = a.kind == AccessKind::Free || b.kind == AccessKind::Free;
    free || apart < a.size as i64 && apart.wrapping_neg() < b.size as i64
}

/// Whether two instances of one creation access different elements: each has its own index.
fn each_its_own(p: &Path, size: u64, q: &Path, other: u64) -> bool {
    let (Some(x), Some(y)) = (&p.last().index, &q.last().index) else {
        return false;
    };
    let instance = matches!(&x.symbol, Symbol::Value(v) if matches!(v.root, Root::Instance(_)) && !v.loads());
    let stride = x.stride as i64;
    if x != y || !instance || stride <= 0 {
        return false;
    }
    let element = |offset: i64, size: u64| {
        let last = offset.wrapping_add(size as i64 - 1);
        (offset.div_euclid(stride) == last.div_euclid(stride)).then_some(offset.div_euclid(stride))
    };
    let (a, b) = (element(p.last().offset, size), element(q.last().offset, other));
    a.is_some() && a == b
}
