//! Small limits of the system: each is told as such, or worked with.

mod programs;

use programs::{Place, text};
use std::process::Command;

const RACE: &str = "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); return 0; }\n";

/// Hunts in `./race` under a limit that the shell sets.
fn limited(place: &Place, limit: &str) -> (i32, String) {
    let tool = place.tool(&[]);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!(
        "{limit} && exec \"$0\" hunt --runs 3 --store \"{}\" -- ./race",
        limit.replace(' ', "")
    ));
    shell.arg(tool.get_program());
    shell.current_dir(place.join(""));
    for (key, value) in tool.get_envs() {
        if let Some(value) = value {
            shell.env(key, value);
        }
    }
    let output = shell.output().expect("a shell");
    (output.status.code().unwrap_or(-1), text(&output))
}

#[test]
fn limits_that_leave_no_room_are_named() {
    let place = Place::new("no-room");
    place.build("race", RACE);
    for (limit, named) in [
        ("ulimit -f 0", "ulimit -f"),
        ("ulimit -f 1000", "ulimit -f"),
        ("ulimit -v 2000000", "ulimit -v"),
        ("ulimit -d 100000", "ulimit -d"),
        ("ulimit -n 9", "Too many open files"),
    ] {
        let (status, told) = limited(&place, limit);
        assert!(status == 3 && told.contains(named), "{limit}: {status} {told}");
    }
}

#[test]
fn limits_that_leave_enough_change_nothing() {
    let place = Place::new("enough");
    place.build("race", RACE);
    for limit in [
        "ulimit -f 20000",
        "ulimit -s unlimited",
        "ulimit -s 256",
        "ulimit -n 64",
    ] {
        let (status, told) = limited(&place, limit);
        assert!(
            status == 1 && told.contains("F1 real data race on global `x`"),
            "{limit}: {told}"
        );
        assert!(!told.contains("unusual addresses"), "{limit}: {told}");
    }
}
