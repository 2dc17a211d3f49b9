//! What the user says of a good run: harm that no crash shows.

mod programs;

use programs::Place;

/// Ends well whatever happens; what it prints is wrong if an update is lost, which the pause keeps an ordinary run from.
const COUNTER: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\nvolatile int sum;\n\
    static void *f(void *a) { int seen = sum;\n sum = seen + 1; return a; }\n\
    int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); usleep(20000);\n\
    pthread_create(&u, 0, f, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); puts(\"sum\"); printf(\"%d\\n\", sum); return 0; }\n";

fn harms(place: &Place, options: &[&str]) -> (i32, String) {
    let mut arguments = vec!["hunt", "--runs", "6"];
    arguments.extend(options);
    arguments.extend(["--", "./counter"]);
    place.run(&arguments)
}

#[test]
fn without_an_oracle_a_lost_update_harms_nobody_and_with_one_it_does() {
    let place = Place::new("oracles");
    place.build("counter", COUNTER);
    let (status, told) = harms(&place, &[]);
    assert!(status == 1 && !told.contains("harmful"), "{told}");
    let (status, told) = harms(&place, &["--expect-output", "same"]);
    assert!(
        status == 1 && told.contains("harmful data race on global `sum`"),
        "{told}"
    );
    assert!(told.contains("line 2 of the output is `1` instead of `2`"), "{told}");
    assert_eq!(place.run(&["replay", "F1"]).0, 0);
    let (status, told) = harms(&place, &[]);
    assert!(status == 1 && !told.contains("harmful data race"), "{told}");
}

#[test]
fn a_check_reads_the_output_and_says_what_is_wrong() {
    let place = Place::new("check");
    place.build("counter", COUNTER);
    let check = "test $DEADHEAT_STATUS = 0 && grep -q '^2$' || { echo 'an update is lost'; exit 4; }";
    let (status, told) = harms(&place, &["--check", check]);
    assert!(
        status == 1 && told.contains("harmful data race on global `sum`"),
        "{told}"
    );
    assert!(told.contains("ended with status 4: an update is lost"), "{told}");
}

#[test]
fn an_oracle_that_ordinary_runs_do_not_satisfy_harms_nowhere_and_is_told() {
    let place = Place::new("unsatisfied");
    place.build("counter", COUNTER);
    let (status, told) = harms(&place, &["--check", "grep -q '^3$'"]);
    assert!(status == 1 && !told.contains("harmful"), "{told}");
    assert!(told.contains("ordinary runs already end badly (failed check"), "{told}");
}

#[test]
fn a_check_that_cannot_be_run_is_no_harm() {
    let place = Place::new("uncheckable");
    place.build("counter", COUNTER);
    let (status, told) = harms(&place, &["--check", "./no-such-check"]);
    assert!(status == 3 && told.contains("the check cannot be run"), "{told}");
}
