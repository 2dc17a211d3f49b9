//! Suppression files and the user's own exit status.

mod programs;

use programs::Place;

/// A race in `counts`, called by two threads, and a mutex that is given back twice by `main`.
const PROGRAM: &str = "#include <pthread.h>\n\
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nint requests;\n\
    __attribute__((noinline)) static void counts(void) { requests++; }\n\
    static void *serves(void *a) { counts(); return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, serves, 0); counts(); pthread_join(t, 0);\n\
    pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); return pthread_mutex_unlock(&lock); }\n";

/// Its consumer aborts unless the producer, who is started before, was there.
const SLOT: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
    int *slot;\n\
    static void *producer(void *a) { slot = malloc(4); return a; }\n\
    static void *consumer(void *a) { if (!slot) abort(); return a; }\n\
    int main(void) { pthread_t t, u; pthread_create(&t, 0, producer, 0); \
    pthread_create(&u, 0, consumer, 0); pthread_join(t, 0); return pthread_join(u, 0); }\n";

#[test]
fn what_is_suppressed_is_not_tried_not_reported_and_counted() {
    let place = Place::new("suppressed");
    place.build("server", PROGRAM);
    let hunt = |more: &[&str]| {
        let arguments = [&["hunt", "--runs", "4", "--exit-code", "66"], more, &["--", "./server"]].concat();
        place.run(&arguments)
    };
    let (status, told) = hunt(&[]);
    assert_eq!(status, 66, "{told}");
    assert!(told.contains("data race on global `requests`"), "{told}");
    assert!(told.contains("unlocks mutex `lock`, which nobody holds"), "{told}");
    // The store knows both: a later hunt leaves them out all the same.
    place.write("race.supp", "# a statistic\nrace:^counts$\n");
    let (status, told) = hunt(&["--suppressions", "race.supp"]);
    assert_eq!(status, 66, "{told}");
    assert!(!told.contains("data race"), "{told}");
    assert!(told.contains("suppressed by race:^counts$ (race.supp:2): 1"), "{told}");
    assert!(told.contains("0 candidates"), "{told}");
    place.write("both.supp", "race:requests\nmutex:server\nsignal:*\n");
    let (status, told) = hunt(&["--suppressions", "both.supp"]);
    assert_eq!(status, 0, "{told}");
    assert!(
        told.contains("nothing real found") && told.contains("2 suppressed"),
        "{told}"
    );
}

#[test]
fn a_wrong_line_is_named() {
    let place = Place::new("wrong-suppression");
    place.build("server", PROGRAM);
    place.write("wrong.supp", "race:f\nleak:g\n");
    for command in ["hunt", "detect", "confirm"] {
        let (status, told) = place.run(&[command, "--suppressions", "wrong.supp", "--", "./server"]);
        assert_eq!(status, 2, "{told}");
        assert!(told.contains("wrong.supp:2: unknown type `leak`"), "{told}");
    }
    let (status, told) = place.run(&["hunt", "--suppressions", "none.supp", "--", "./server"]);
    assert!(status == 2 && told.contains("none.supp"), "{told}");
}

#[test]
fn an_end_that_one_hunt_told_by_itself_is_not_told_again_beside_the_race_that_leads_to_it() {
    let place = Place::new("laid");
    place.write("race.supp", "race:consumer\n");
    place.build("slot", SLOT);
    let kinds = |more: &[&str]| {
        let told = place
            .run(&[&["hunt", "--format", "json"], more, &["--", "./slot"]].concat())
            .1;
        let report: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").clone();
        findings.iter().map(|f| f["kind"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&["--suppressions", "race.supp"]), ["crash"]);
    assert_eq!(kinds(&[]), ["data-race"]);
    let (_, told) = place.run(&["report", "--format", "json"]);
    assert!(told.contains("data-race") && !told.contains("\"crash\""), "{told}");
}
