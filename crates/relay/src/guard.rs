//! Guards: the locks held at an access, named so that two accesses can be compared.
//!
//! A lock guards two accesses only if it is surely one lock for both whenever both are to the same memory. That holds
//! if it has one name for the whole run; or if it stands at a fixed distance from the memory accessed (`p->lock` and
//! `p->data`: if the data are the same, so is `p`); or if it is the element of an array that the accessed element's index
//! chooses (`lock[i]` and `data[i]`).

use crate::access_path::{DEPTH, Index, Path, Root, Step, Symbol};
use crate::relative_lockset::{Mode, RelativeLockset};
use smallvec::SmallVec;

/// A lock at an access.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardName {
    /// One lock for the whole run.
    Absolute(Path),
    /// The lock so many bytes from the accessed address, and behind what is loaded there.
    Relative(SmallVec<[Step; 2]>),
    /// The element, and the distance of elements of what is accessed.
    Element(Path, u64),
    /// Some element of an array of locks; which one cannot be told from the access. It keeps nobody out, but is held.
    SomeOf(Path),
}

/// A lock at an access, and how it is held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// Which.
    pub name: GuardName,
    /// How.
    pub mode: Mode,
}

/// All guards of an access, sorted.
pub type Guards = Vec<Guard>;

/// The guards that a lockset gives an access at `address`, one of those that `merged` names together, if it does.
/// `is_single` tells which paths name one lock for the whole run.
pub fn guards(
    locks: &RelativeLockset,
    address: Option<&Path>,
    merged: Option<&Path>,
    is_single: &dyn Fn(&Path) -> bool,
) -> Guards {
    let mut guards = Vec::new();
    for (lock, change) in locks.changes() {
        if !change.acquired && change.level <= 0 {
            continue;
        }
        let meant = merged
            .zip(address)
            .and_then(|(merged, address)| meant(lock, merged, address));
        let lock = meant.as_ref().unwrap_or(lock);
        let mut add = |name| {
            guards.push(Guard {
                name,
                mode: change.mode,
            })
        };
        if is_single(lock) {
            add(GuardName::Absolute(lock.clone()));
        }
        if let Some(address) = address {
            relative(lock, address)
                .into_iter()
                .for_each(|steps| add(GuardName::Relative(steps)));
            element(lock, address).into_iter().for_each(&mut add);
        }
        any_of(lock).into_iter().for_each(|lock| add(GuardName::SomeOf(lock)));
    }
    guards.sort();
    guards.dedup();
    guards
}

/// What a lock is where a merged pointer is the one that leads to `address`: of `s = c ? &a : &b`, the lock `s->lock` is
/// `a.lock` whenever `s->data` is `a.data`.
fn meant(lock: &Path, merged: &Path, address: &Path) -> Option<Path> {
    let (from, to) = (merged.last(), lock.steps.first()?);
    if lock.root != merged.root || merged.loads() || from.index != to.index {
        return None;
    }
    let mut path = address.clone().plus(to.offset.wrapping_sub(from.offset));
    path.steps.extend(lock.steps[1..].iter().cloned());
    (path.steps.len() <= DEPTH).then_some(path)
}

/// The way from the accessed address to the lock, if both hang on the same pointer.
fn relative(lock: &Path, address: &Path) -> Option<SmallVec<[Step; 2]>> {
    let depth = address.steps.len();
    let same = lock.root == address.root
        && lock.steps.len() >= depth
        && lock.steps[..depth - 1] == address.steps[..depth - 1]
        && address.is_definite();
    let (from, to) = (address.last(), lock.steps.get(depth - 1)?);
    if !same || from.index != to.index {
        return None;
    }
    let mut steps: SmallVec<[Step; 2]> = SmallVec::new();
    steps.push(Step::at(to.offset.wrapping_sub(from.offset)));
    steps.extend(lock.steps[depth..].iter().cloned());
    Some(steps)
}

/// The lock as the element that the accessed element's index chooses.
fn element(lock: &Path, address: &Path) -> Option<GuardName> {
    let index = address.last().index.as_ref()?;
    let Symbol::Value(chosen) = &index.symbol else {
        return None;
    };
    // `data[i + 1]` under `lock[i]`: the element before the accessed one.
    let moved = match i64::try_from(index.stride) {
        Ok(stride @ 1..) => address.last().offset.div_euclid(stride),
        _ => 0,
    };
    let mut lock = lock.clone();
    let mut found = false;
    for step in &mut lock.steps {
        if let Some(Index { symbol, stride }) = &mut step.index {
            if *symbol != Symbol::Value(chosen.clone()) {
                return None;
            }
            (*symbol, found) = (Symbol::OfAccess, true);
            step.offset = step.offset.wrapping_sub(moved.wrapping_mul(*stride as i64));
        }
    }
    (found && lock.root.is_object() && !lock.loads()).then_some(GuardName::Element(lock, index.stride))
}

/// The lock as one of an array's, whichever.
pub fn any_of(lock: &Path) -> Option<Path> {
    let lasting = matches!(lock.root, Root::Global(_)) || lock.root.is_object() && !lock.loads();
    if !lock.is_indexed() || !lasting {
        return None;
    }
    let mut lock = lock.clone();
    lock.steps
        .iter_mut()
        .filter_map(|s| s.index.as_mut())
        .for_each(|index| index.symbol = Symbol::Any);
    Some(lock)
}

/// Whether both hold a lock of the same array, which may or may not be the same lock.
pub fn may_exclude(a: &[Guard], b: &[Guard]) -> bool {
    let some = |g: &Guard| matches!(g.name, GuardName::SomeOf(_));
    a.iter().filter(|g| some(g)).any(|g| b.iter().any(|h| g.name == h.name))
}

/// Whether some lock keeps two accesses with these guards from happening at the same time.
pub fn exclude(a: &[Guard], b: &[Guard]) -> bool {
    let one_alone = |g: &Guard, h: &Guard| g.mode == Mode::Exclusive || h.mode == Mode::Exclusive;
    let surely = |g: &Guard| !matches!(g.name, GuardName::SomeOf(_));
    let mut known = a.iter().filter(|g| surely(g));
    known.any(|g| b.iter().any(|h| g.name == h.name && one_alone(g, h)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_path::{Site, add_value_index};
    use crate::relative_lockset::Change;

    fn opaque(n: u32) -> Path {
        Path::of(Root::Opaque(Site {
            function: 0,
            instruction: n,
        }))
    }

    fn held(lock: &Path, mode: Mode) -> RelativeLockset {
        let mut set = RelativeLockset::default();
        set.apply(lock, Change::acquire(mode));
        set
    }

    fn of(lock: &Path, address: &Path) -> Guards {
        guards(&held(lock, Mode::Exclusive), Some(address), None, &|p| p.is_constant())
    }

    #[test]
    fn a_lock_beside_the_data_guards_them_under_any_name() {
        let (a, b) = (of(&opaque(1), &opaque(1).plus(40)), of(&opaque(2), &opaque(2).plus(40)));
        assert!(exclude(&a, &b));
        assert!(!exclude(&a, &of(&opaque(3), &opaque(2).plus(40))));
        // Behind a pointer beside the data.
        let lock = |n| opaque(n).plus(8).load().unwrap();
        assert!(exclude(&of(&lock(1), &opaque(1)), &of(&lock(2), &opaque(2))));
    }

    #[test]
    fn an_element_is_guarded_by_the_lock_of_its_index() {
        let element = |base: u32, index: &Path, stride| {
            let mut path = Path::of(Root::Global(base));
            add_value_index(path.last_mut(), Some(index.clone()), stride);
            path
        };
        let at = |n| of(&element(1, &opaque(n), 40), &element(2, &opaque(n), 8));
        assert!(exclude(&at(1), &at(2)));
        let other = of(&element(1, &opaque(3), 40), &element(2, &opaque(2), 8));
        assert!(!exclude(&at(1), &other) && may_exclude(&at(1), &other));
    }

    #[test]
    fn a_neighbour_of_an_element_has_another_lock() {
        let element = |base: u32, number: i64, stride: u64| {
            let mut path = Path::of(Root::Global(base));
            add_value_index(path.last_mut(), Some(opaque(1).plus(number)), stride);
            path
        };
        let under = |lock, data| of(&element(1, lock, 40), &element(2, data, 8));
        assert!(!exclude(&under(0, 0), &under(0, 1)));
        assert!(exclude(&under(0, 0), &under(1, 1)));
    }

    #[test]
    fn readers_do_not_exclude_each_other() {
        let lock = Path::of(Root::Global(1));
        let under = |mode| guards(&held(&lock, mode), None, None, &|p| p.is_constant());
        assert!(!exclude(&under(Mode::Shared), &under(Mode::Shared)));
        assert!(exclude(&under(Mode::Shared), &under(Mode::Exclusive)));
    }
}
