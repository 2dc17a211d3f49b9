use super::*;
use crate::relative_lockset::{Change, Mode};
use SymbolicValue::{Integer, Top};

fn global(n: u32) -> Path {
    Path::of(Root::Global(n))
}

fn site(instruction: u32) -> Site {
    Site {
        function: 0,
        instruction,
    }
}

fn holding(lock: u32) -> Disjunct {
    let mut way = Disjunct::entry();
    way.locks.apply(&global(lock), Change::acquire(Mode::Exclusive));
    way
}

#[test]
fn ways_with_other_locks_are_kept_apart() {
    let mut state = State::of(holding(1));
    state.add(Disjunct::entry());
    state.add(holding(1).learn(&global(9), Fact::ZERO).unwrap());
    assert_eq!(state.ways().len(), 2);
    assert_eq!(state.ways()[0].fact(&global(9)), Fact::ANY);
    (2..2 + DISJUNCTS as u32).for_each(|n| state.add(holding(n)));
    assert!(state.ways().len() <= DISJUNCTS && state.ways()[0].locks.acquired().next().is_none());
}

#[test]
fn a_contradiction_is_no_way() {
    let way = Disjunct::entry().learn(&global(1), Fact::NON_ZERO).unwrap();
    assert!(way.clone().learn(&global(1), Fact::ZERO).is_none());
    assert_eq!(
        way.learn(&global(1), Fact::NOT_NEGATIVE)
            .unwrap()
            .fact(&global(1))
            .class(),
        4
    );
}

#[test]
fn stores_are_seen_by_loads() {
    let mut way = Disjunct::entry();
    way.store(&global(1).plus(8), 8, Integer(5));
    assert_eq!(way.stored(&global(1).plus(8), 8), Stored::Value(Integer(5)));
    assert_eq!(way.stored(&global(1), 8), Stored::Initial);
    assert_eq!(way.stored(&global(2).plus(8), 8), Stored::Initial);
    assert!(matches!(way.stored(&global(1).plus(4), 8), Stored::Unknown(_)));
    way.store(&global(1).plus(12), 4, Integer(6));
    assert!(matches!(way.stored(&global(1).plus(8), 8), Stored::Unknown(_)));
}

#[test]
fn publishing_reaches_what_is_linked() {
    let (a, b) = (Root::Fresh(site(1)), Root::Fresh(site(2)));
    let mut way = Disjunct::entry();
    way.store(&Path::of(a).plus(8), 8, SymbolicValue::of(b));
    assert!(way.is_private(a) && way.is_private(b));
    way.publish(&SymbolicValue::of(a));
    assert!(!way.is_private(a) && !way.is_private(b));
}

#[test]
fn a_name_that_is_given_again_is_forgotten() {
    let old = Root::Opaque(site(3));
    let mut way = Disjunct::entry();
    way.locks.apply(&Path::of(old), Change::acquire(Mode::Exclusive));
    way.store(&global(1), 8, SymbolicValue::of(old));
    way.forget(&[old]);
    assert_eq!(way.locks.acquired().count(), 0);
    assert_eq!(way.memory.get(&global(1)), Some(&Top));
}
