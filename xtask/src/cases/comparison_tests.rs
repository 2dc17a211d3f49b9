use super::*;
use std::path::Path;

const RACE: &str = "//@ expect: real\nx = 1; // RACE!(a) RACE!(b)\ny = x; // RACE!(a)\nz; // WARN(hunt:w) why\n\
                    w; // MAY(hunt:m) why\nv; // MISS(hunt:o) why\n";

fn case(text: &str) -> Case {
    Case::parse(Path::new("x.c"), "x.c", text).unwrap()
}

fn pair(real: bool, first: u32, second: u32) -> Reported {
    Reported {
        kind: "data-race".into(),
        real,
        harm: None,
        lines: vec![Some(first), Some(second)],
        waiting: vec![],
    }
}

fn texts(case: &Case, reported: &[Reported]) -> Vec<String> {
    compare(case, Stage::Hunt, reported)
        .iter()
        .map(|d| d.to_string())
        .collect()
}

#[test]
fn all_as_wanted() {
    let wanted = [pair(true, 2, 3), pair(true, 2, 2), pair(false, 4, 4)];
    assert!(texts(&case(RACE), &wanted).is_empty());
    let tolerated = [wanted.as_slice(), &[pair(false, 5, 5), pair(false, 6, 6)]].concat();
    assert!(texts(&case(RACE), &tolerated).is_empty());
}

#[test]
fn what_some_schedules_show_is_neither_wanted_nor_surplus() {
    let case = case("//@ expect: none\nx; // CAN(hunt:a) late\ny; // CAN(hunt:a) late\n");
    assert!(texts(&case, &[]).is_empty());
    assert!(texts(&case, &[pair(false, 2, 3)]).is_empty());
    assert!(texts(&case, &[pair(true, 2, 3)]).is_empty());
    assert_eq!(texts(&case, &[pair(true, 2, 2)]).len(), 1);
}

#[test]
fn missing_and_surplus_are_told() {
    assert_eq!(
        texts(
            &case(RACE),
            &[
                pair(false, 2, 2),
                pair(true, 3, 3),
                pair(true, 4, 4),
                pair(true, 5, 5),
                pair(true, 6, 6)
            ]
        ),
        [
            "surplus: data-race real, lines 3 and 3",
            "surplus: data-race real, lines 4 and 4",
            "surplus: data-race real, lines 5 and 5",
            "surplus: data-race real, lines 6 and 6",
            "missing: pair (a), lines 2 and 3, wanted real",
            "missing: pair (b), lines 2 with itself is only suspected, wanted real",
            "missing: pair (w), lines 4 with itself, wanted suspected",
        ]
    );
}

#[test]
fn harm_must_come_and_be_wanted() {
    let harmful = Reported {
        harm: Some(("signal".into(), "SIGSEGV".into())),
        ..pair(true, 2, 2)
    };
    let quiet = case("//@ expect: real\nx; // RACE!(a)\n");
    assert_eq!(texts(&quiet, std::slice::from_ref(&harmful)).len(), 1);
    let loud = case("//@ expect: harmful(segv)\nx; // RACE!(a)\n");
    assert!(texts(&loud, std::slice::from_ref(&harmful)).is_empty());
    assert_eq!(texts(&loud, &[pair(true, 2, 2)]), ["missing: harm of kind signal"]);
    let crash = Reported {
        kind: "crash".into(),
        lines: vec![],
        ..harmful.clone()
    };
    assert!(texts(&loud, &[harmful, crash.clone()]).is_empty());
    assert_eq!(texts(&quiet, &[pair(true, 2, 2), crash]).len(), 1);
}

#[test]
fn a_deadlock_waits_at_its_marks() {
    let case = case("//@ expect: deadlock\nlock(b); // RACE!(d)\nlock(a); // RACE!(d)\n");
    let dead = |waiting: &[u32]| Reported {
        kind: "deadlock".into(),
        real: true,
        harm: Some(("deadlock".into(), String::new())),
        lines: vec![],
        waiting: waiting.to_vec(),
    };
    assert!(texts(&case, &[dead(&[9, 2, 3])]).is_empty());
    assert_eq!(texts(&case, &[dead(&[9, 2])]).len(), 1);
    assert_eq!(texts(&case, &[]).len(), 2);
}

#[test]
fn the_static_stage_suspects() {
    let case = case(
        "//@ expect: harmful(assert)\n//@ stages: hunt scan\nx = 1; // RACE!(a)\ny = x; // RACE!(a)\n\
         z; // RACE!(b) MISS(scan:n) why\nw; // WARN(scan:w) why\n",
    );
    let scan = |reported: &[Reported]| compare(&case, Stage::Scan, reported).len();
    assert_eq!(scan(&[pair(false, 3, 4), pair(false, 6, 6)]), 0);
    // Not suspected; suspected though marked as missed; not marked.
    assert_eq!(scan(&[pair(false, 6, 6)]), 1);
    assert_eq!(scan(&[pair(false, 3, 4), pair(false, 6, 6), pair(false, 5, 5)]), 1);
    assert_eq!(scan(&[pair(false, 3, 4), pair(false, 6, 6), pair(false, 3, 6)]), 1);
}
