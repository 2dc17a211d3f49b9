use super::*;

fn formal(n: u16) -> Path {
    Path::of(Root::Formal(n))
}

fn global(n: u32) -> Path {
    Path::of(Root::Global(n))
}

#[test]
fn an_index_keeps_its_value_and_moves_its_constant() {
    let element = |value| {
        let mut path = global(1);
        add_value_index(path.last_mut(), value, 40);
        path
    };
    assert_eq!(element(Some(formal(2).plus(1))), element(Some(formal(2))).plus(40));
    assert!(!element(None).is_definite() && element(Some(formal(0))).is_definite());
    // An index that is itself an element has no name.
    assert_eq!(element(element(Some(formal(0))).load()), element(None));
}

#[test]
fn depth_is_bounded() {
    let mut path = formal(0);
    let mut steps = 1;
    while let Some(next) = path.load() {
        path = next;
        steps += 1;
    }
    assert_eq!(steps, DEPTH);
}

#[test]
fn elements_overlap_by_stride() {
    let any = |offset| Step {
        offset,
        index: Some(Index {
            symbol: Symbol::Any,
            stride: 16,
        }),
    };
    assert!(may_overlap(&any(0), 4, &Step::at(32), 4));
    assert!(!may_overlap(&any(0), 4, &Step::at(36), 4));
    assert!(may_overlap(&any(0), 8, &any(4), 4));
    assert!(!may_overlap(&any(0), 4, &any(8), 8));
    assert!(!may_overlap(&Step::at(0), 4, &Step::at(4), 4));
    assert!(may_overlap(&Step::at(0), 8, &Step::at(4), 4));
    let unknown = Step {
        offset: 0,
        index: Some(Index {
            symbol: Symbol::Any,
            stride: 0,
        }),
    };
    assert!(may_overlap(&unknown, 1, &Step::at(99), 1));
}

#[test]
fn a_store_changes_what_goes_through_it() {
    let head = global(3);
    assert!(head.load().unwrap().plus(8).goes_through(&head));
    assert!(!head.clone().plus(8).goes_through(&head));
    let next = head.load().unwrap();
    assert!(!next.goes_through(&next));
    let mut element = global(4);
    add_value_index(element.last_mut(), head.load(), 8);
    assert!(element.goes_through(&head));
}
