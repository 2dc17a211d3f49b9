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
