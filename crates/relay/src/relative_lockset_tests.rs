use super::*;
use crate::access_path::Root;
use proptest::prelude::*;

fn lock(n: u32) -> Path {
    Path::of(Root::Global(n))
}

fn after(events: &[(u32, Change)]) -> RelativeLockset {
    let mut set = RelativeLockset::default();
    for (n, change) in events {
        set.apply(&lock(*n), *change);
    }
    set
}

const ACQUIRE: Change = Change {
    acquired: true,
    released: false,
    level: 1,
    mode: Mode::Exclusive,
};

fn sets(set: &RelativeLockset) -> (Vec<Path>, Vec<Path>) {
    (set.acquired().cloned().collect(), set.released().cloned().collect())
}

#[test]
fn figure_1() {
    // airo_read_stats unlocks ai->lock on both paths: ({}, {ai->lock}).
    let ai = Path::of(Root::Formal(0)).plus(8);
    let mut read_stats = RelativeLockset::default();
    read_stats.apply(&ai, Change::RELEASE);
    let read_stats = read_stats.join(&read_stats);
    assert_eq!(sets(&read_stats), (vec![], vec![ai.clone()]));
    // airo_thread locks d->priv->lock and calls it: ({}, {d->priv->lock}).
    let named = Path::of(Root::Formal(0)).load().unwrap().plus(8);
    let mut thread = RelativeLockset::default();
    thread.apply(&named, ACQUIRE);
    assert_eq!(sets(&thread), (vec![named.clone()], vec![]));
    let (rebound, lost) = read_stats.rebind(|p| (*p == ai).then(|| named.clone()));
    thread.update(&rebound);
    assert_eq!((sets(&thread), lost), ((vec![], vec![named.clone()]), 0));
    assert_eq!(thread.get(&named).unwrap().level, 0);
}

#[test]
fn a_join_keeps_must_and_may() {
    let both = after(&[(1, ACQUIRE), (2, ACQUIRE)]).join(&after(&[(2, ACQUIRE), (3, Change::RELEASE)]));
    assert_eq!(sets(&both), (vec![lock(2)], vec![lock(3)]));
}

#[test]
fn acquired_again_is_no_longer_released() {
    assert_eq!(
        sets(&after(&[(1, Change::RELEASE), (1, ACQUIRE)])),
        (vec![lock(1)], vec![])
    );
    assert_eq!(
        sets(&after(&[(1, ACQUIRE), (1, Change::RELEASE)])),
        (vec![], vec![lock(1)])
    );
}

#[test]
fn a_re_entrant_lock_is_held_until_the_last_release() {
    let twice = after(&[(1, ACQUIRE), (1, ACQUIRE), (1, Change::RELEASE)]);
    assert_eq!(twice.get(&lock(1)).unwrap().level, 1);
    assert_eq!(sets(&twice), (vec![], vec![lock(1)]));
}

#[test]
fn the_weakest_mode_counts() {
    let shared = after(&[(1, Change::acquire(Mode::Shared))]);
    assert_eq!(
        after(&[(1, ACQUIRE)]).join(&shared).get(&lock(1)).unwrap().mode,
        Mode::Shared
    );
}

fn events() -> impl Strategy<Value = Vec<(u32, Change)>> {
    let change = prop_oneof![
        Just(ACQUIRE),
        Just(Change::acquire(Mode::Shared)),
        Just(Change::RELEASE)
    ];
    prop::collection::vec((0..4_u32, change), 0..5)
}

proptest! {
    /// A callee's changes applied at once are its events applied one after the other.
    #[test]
    fn update_is_composition(caller in events(), callee in events()) {
        let mut composed = after(&caller);
        composed.update(&after(&callee));
        let all: Vec<_> = caller.into_iter().chain(callee).collect();
        prop_assert_eq!(sets(&composed), sets(&after(&all)));
        for n in 0..4 {
            let level = |s: &RelativeLockset| s.get(&lock(n)).map_or(0, |c| c.level);
            prop_assert_eq!(level(&composed), level(&after(&all)));
        }
    }

    /// L+ and L- never share a lock, and a join is a bound of both sides.
    #[test]
    fn a_join_is_a_bound(a in events(), b in events()) {
        let (a, b) = (after(&a), after(&b));
        let joined = a.join(&b);
        prop_assert_eq!(&joined, &b.join(&a));
        prop_assert_eq!(&joined.join(&a), &joined);
        prop_assert!(joined.acquired().all(|l| a.acquired().any(|x| x == l) && b.acquired().any(|x| x == l)));
        prop_assert!(a.released().chain(b.released()).all(|l| joined.released().any(|x| x == l)));
        prop_assert!(joined.acquired().all(|l| joined.released().all(|x| x != l)));
    }
}

#[test]
fn what_was_taken_and_given_back_tells_no_ways_apart() {
    let (passed, straight) = (after(&[(1, ACQUIRE), (1, Change::RELEASE)]), after(&[]));
    assert!(passed != straight && passed.holds_the_same(&straight));
    assert!(!after(&[(1, ACQUIRE)]).holds_the_same(&straight));
    assert!(!after(&[(1, Change::RELEASE)]).holds_the_same(&straight));
}

#[test]
fn nobody_owed_a_lock_that_has_got_its_name_here() {
    let named_here = Path::of(Root::Opaque(crate::access_path::Site {
        function: 0,
        instruction: 1,
    }));
    let mut set = RelativeLockset::default();
    set.apply(&named_here, Change::RELEASE);
    set.apply(&named_here, Change::RELEASE);
    assert_eq!(set.get(&named_here).map(|c| (c.released, c.level)), Some((true, 0)));
    assert_eq!(after(&[(1, Change::RELEASE)]).get(&lock(1)).map(|c| c.level), Some(-1));
}

#[test]
fn a_lock_given_back_far_away_may_be_any_at_its_offset() {
    let behind = |steps: usize, offset: i64| {
        let mut path = Path::of(Root::Formal(0));
        (1..steps).for_each(|_| path = path.load().unwrap());
        path.plus(offset)
    };
    let released = |lock: &Path| {
        let mut set = RelativeLockset::default();
        set.apply(lock, Change::RELEASE);
        set.summarise();
        set
    };
    let (near, far) = (released(&behind(2, 8)), released(&behind(3, 8)));
    assert_eq!((near.len(), far.len()), (1, 0));
    assert!(!far.is_empty() && far.holds_the_same(&RelativeLockset::default()));
    // What the caller holds at that offset it holds no longer, unless that is a variable.
    let after = |held: &Path, callee: &RelativeLockset| {
        let mut set = RelativeLockset::default();
        set.apply(held, ACQUIRE);
        set.update(callee);
        set.acquired().count()
    };
    assert_eq!((after(&behind(1, 8), &near), after(&behind(1, 8), &far)), (1, 0));
    assert_eq!((after(&behind(5, 8), &far), after(&behind(5, 16), &far)), (0, 1));
    assert_eq!(after(&lock(1).plus(8), &far), 1);
    // Whoever calls the caller is told, too; what was taken before it was given back is nobody's matter.
    let mut caller = RelativeLockset::default();
    caller.update(&far);
    assert_eq!(caller, far);
    let mut balanced = RelativeLockset::default();
    balanced.apply(&behind(4, 8), ACQUIRE);
    balanced.apply(&behind(4, 8), Change::RELEASE);
    balanced.summarise();
    balanced.drop_given_back(|_| true);
    assert!(balanced.is_empty());
}
