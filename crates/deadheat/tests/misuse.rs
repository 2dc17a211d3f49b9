//! Broken use is answered clearly: what is wrong, what to do, and the right exit status.

mod programs;

use programs::Place;
use std::os::unix::fs::PermissionsExt;

const RACE: &str = "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x++; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }\n";

#[test]
fn wrong_usage_is_status_2() {
    let place = Place::new("usage");
    for arguments in [
        vec!["hunt"],
        vec!["hunt", "--budget", "5", "--", "/bin/true"],
        vec!["hunt", "--budget", "0s", "--", "/bin/true"],
        vec!["hunt", "--runs", "0", "--", "/bin/true"],
        vec!["hunt", "--switch", "2", "--", "/bin/true"],
        vec!["hunt", "--format", "xml", "--", "/bin/true"],
        vec!["replay", "dh1.AAAA"],
        vec!["nonsense"],
    ] {
        let (status, told) = place.run(&arguments);
        assert_eq!(status, 2, "{arguments:?}: {told}");
    }
    assert!(
        place
            .run(&["hunt", "--budget", "0s", "--", "/bin/true"])
            .1
            .contains("leaves no time")
    );
}

#[test]
fn programs_that_cannot_be_hunted_are_status_3_and_say_why() {
    let place = Place::new("programs");
    place.write("script", "#!/bin/sh\n");
    place.write("text", "text");
    std::fs::set_permissions(place.join("script"), PermissionsExt::from_mode(0o755)).expect("chmod");
    for (program, why) in [
        ("/bin/true", "was not built with deadheat"),
        ("./missing", "there is no program"),
        ("no-such-command", "there is no program"),
        ("./text", "not executable"),
        ("./script", "is a script"),
        ("/tmp", "is a directory"),
    ] {
        let (status, told) = place.run(&["hunt", "--", program]);
        assert_eq!(status, 3, "{told}");
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn replay_without_a_store_or_of_a_changed_program_is_refused() {
    let place = Place::new("changed");
    assert!(place.run(&["replay", "F1"]).1.contains("there is no store"));
    place.build("race", RACE);
    assert_eq!(place.run(&["hunt", "--runs", "3", "--", "./race"]).0, 1);
    assert!(place.run(&["replay", "F9"]).1.contains("there is no F9 in .deadheat"));
    place.build("race", &RACE.replace("x++", "x += 2"));
    let (status, told) = place.run(&["replay", "F1"]);
    assert!(status == 3 && told.contains("race` has changed since"), "{told}");
}

#[test]
fn stripped_programs_work_and_say_what_is_lost() {
    let place = Place::new("stripped");
    let program = place.build("race", RACE);
    assert!(
        std::process::Command::new("strip")
            .arg(&program)
            .status()
            .expect("strip")
            .success()
    );
    let (status, told) = place.run(&["hunt", "--runs", "3", "--", "./race"]);
    assert!(
        status == 1 && told.contains("no debug information") && told.contains("race.c:3"),
        "{told}"
    );
}

#[test]
fn a_crash_in_every_run_is_a_finding_of_its_own() {
    let place = Place::new("crash");
    place.build("crash", "int main(void) { *(volatile int *)0 = 1; return 0; }\n");
    let (status, told) = place.run(&["hunt", "--", "./crash"]);
    assert!(
        status == 1 && told.contains("harmful crash") && told.contains("the program does it by itself"),
        "{told}"
    );
    assert!(told.contains("crash.c:1:"), "{told}");
}

#[test]
fn a_program_that_does_not_end_is_named() {
    let place = Place::new("endless");
    place.build(
        "endless",
        "#include <unistd.h>\nint main(void) { for (;;) getppid(); }\n",
    );
    let (status, told) = place.run(&["hunt", "--timeout", "300ms", "--", "./endless"]);
    assert!(status == 3 && told.contains("did not end within"), "{told}");
}

#[test]
fn a_failing_setup_command_is_named() {
    let place = Place::new("setup");
    place.build("race", RACE);
    let (status, told) = place.run(&["hunt", "--setup", "exit 7", "--", "./race"]);
    assert!(
        status == 3 && told.contains("the setup command failed: `exit 7`"),
        "{told}"
    );
}

#[test]
fn a_damaged_store_and_one_that_cannot_be_written_do_not_stop_a_hunt() {
    let place = Place::new("store");
    place.build("race", RACE);
    std::fs::create_dir(place.join("damaged")).expect("a directory");
    place.write("damaged/store.sqlite", &"rubbish".repeat(2000));
    let hunt = |store: &str| place.run(&["hunt", "--runs", "3", "--store", store, "--", "./race"]);
    let (status, told) = hunt("damaged");
    assert!(status == 1 && told.contains("set aside"), "{told}");
    // A file where the directory should be cannot be written to, even by root.
    place.write("file", "");
    let (status, told) = hunt("file");
    assert!(
        status == 1 && told.contains("kept in memory only") && told.contains("replay dh1."),
        "{told}"
    );
}

#[test]
fn a_report_that_cannot_be_written_is_status_3() {
    let place = Place::new("full");
    place.build("race", RACE);
    let (status, told) = place.run(&[
        "hunt",
        "--runs",
        "3",
        "--format",
        "json",
        "--output",
        "/dev/full",
        "--",
        "./race",
    ]);
    assert!(
        status == 3 && told.contains("the report could not be written"),
        "{told}"
    );
}
