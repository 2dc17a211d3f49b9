//! Whole hunts: find, prove, replay, go on, stay out of the user's files.

mod programs;

use programs::{Place, text};
use std::process::Stdio;

const BANK: &str = include_str!("../../../examples/bank.c");

const READER: &str = "#include <pthread.h>\n#include <stdio.h>\nint sum;\n\
    static void *f(void *a) { sum += *(int *)a; return a; }\n\
    int main(void) { int n; pthread_t t, u; if (scanf(\"%d\", &n) != 1) return 9;\n\
    pthread_create(&t, 0, f, &n); pthread_create(&u, 0, f, &n);\n\
    pthread_join(t, 0); pthread_join(u, 0); printf(\"%d\\n\", sum); return sum != 2 * n; }\n";

const DEADLOCK: &str = "#include <pthread.h>\n\
    pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *f(void *p) { pthread_mutex_lock(&a); pthread_mutex_lock(&b);\n\
    pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return p; }\n\
    static void *g(void *p) { pthread_mutex_lock(&b); pthread_mutex_lock(&a);\n\
    pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); return p; }\n\
    int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

/// Forks, writes a lot, and removes its input as it ends.
const UNTIDY: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    int x;\nstatic void *f(void *a) { x++; return a; }\n\
    int main(void) { if (access(\"input\", R_OK)) return 5;\n\
    pid_t child = fork(); if (!child) _exit(3);\n\
    int status; waitpid(child, &status, 0); if (WEXITSTATUS(status) != 3) return 6;\n\
    static char block[1 << 20]; for (int i = 0; i < 64; i++) fwrite(block, 1, sizeof block, stdout);\n\
    pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0);\n\
    FILE *log = fopen(\"log\", \"a\"); fputs(\"ran\\n\", log); fclose(log); return unlink(\"input\"); }\n";

/// Waits for descriptors of its own, with limits.
const LOOP: &str = "#include <poll.h>\n#include <pthread.h>\n#include <sys/eventfd.h>\n#include <unistd.h>\n\
    static int bell, tube[2];\n\
    static void *f(void *a) { struct pollfd end = {tube[0], POLLIN, 0}; poll(&end, 1, 30);\n\
    eventfd_write(bell, 1); return a; }\n\
    int main(void) { bell = eventfd(0, 0); if (pipe(tube)) return 1;\n\
    pthread_t t; pthread_create(&t, 0, f, 0);\n\
    struct pollfd own = {bell, POLLIN, 0}; while (poll(&own, 1, 20) == 0) {}\n\
    pthread_join(t, 0); return 0; }\n";

#[test]
fn a_loop_that_waits_for_itself_repeats() {
    let place = Place::new("loop");
    place.build("loop", LOOP);
    let (status, told) = place.run(&["hunt", "--runs", "4", "--format", "json", "--", "./loop"]);
    assert_eq!(status, 0, "{told}");
    let report: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(report["notices"], serde_json::json!([]), "{told}");
}

/// The thread has the promise for itself: the library gives the state up as the thread ends, and may destroy it.
const PROMISE: &str = "#include <future>\n#include <thread>\n\
    int main() { std::promise<int> promise; auto future = promise.get_future();\n\
    std::thread thread([](std::promise<int> own) { own.set_value_at_thread_exit(4); }, std::move(promise));\n\
    int got = future.get(); thread.join(); return got - 4; }\n";

#[test]
fn what_the_library_destroys_as_a_thread_ends_proves_nothing() {
    let place = Place::new("promise");
    place.build_with("c++", "promise.cpp", PROMISE, &["-O1"]);
    for seed in ["1", "2"] {
        let (status, told) = place.run(&["hunt", "--runs", "6", "--seed", seed, "--", "./promise"]);
        assert_eq!(status, 0, "{told}");
    }
}

#[test]
fn the_bank_is_harmed_and_the_run_replays() {
    let place = Place::new("bank");
    place.build("bank", BANK);
    let (status, told) = place.run(&["hunt", "--runs", "6", "--", "./bank"]);
    assert_eq!(status, 1, "{told}");
    assert!(told.contains("F1 harmful data race on global `entries`"), "{told}");
    assert!(
        told.contains("Assertion `books[i] == accounts[i].balance' failed"),
        "{told}"
    );
    let (status, told) = place.run(&["replay", "F1"]);
    assert_eq!(status, 0, "{told}");
    assert_eq!(told.matches("the same schedule").count(), 2, "{told}");
    let report = place.run(&["report", "--format", "json"]).1;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let token = report["findings"][0]["replay"].as_str().expect("a token").to_string();
    let (status, told) = place.run(&["replay", &token, "--", "./bank"]);
    assert_eq!(status, 0, "{told}");
    let (status, told) = place.run(&["replay", &token, "--", "./bank", "another", "input"]);
    assert!(status == 3 && told.contains("other arguments"), "{told}");
}

#[test]
fn a_second_hunt_goes_on_from_the_first() {
    let place = Place::new("again");
    place.build("bank", BANK);
    let first = place
        .run(&["hunt", "--runs", "4", "--format", "json", "--", "./bank"])
        .1;
    let second = place
        .run(&["hunt", "--runs", "4", "--format", "json", "--", "./bank"])
        .1;
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let (first, second) = (read(&first), read(&second));
    assert_eq!(first["findings"], second["findings"]);
    assert!(
        second["stats"]["runs"].as_u64() < first["stats"]["runs"].as_u64(),
        "{second}"
    );
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let place = Place::new("jobs");
    place.build("bank", BANK);
    let hunt = |jobs: &str| {
        let arguments = [
            "hunt", "--runs", "4", "-j", jobs, "--store", jobs, "--format", "json", "--", "./bank",
        ];
        let told = place.run(&arguments).1;
        serde_json::from_str::<serde_json::Value>(&told).expect("JSON")["findings"].take()
    };
    assert_eq!(hunt("1"), hunt("4"));
}

#[test]
fn standard_input_is_the_same_in_every_run() {
    let place = Place::new("stdin");
    place.build("reader", READER);
    let input = place.write("five", "5\n");
    let mut hunt = place.tool(&["hunt", "--runs", "6", "--", "./reader"]);
    let output = hunt
        .stdin(std::fs::File::open(input).expect("the input"))
        .output()
        .expect("a hunt");
    assert!(
        output.status.code() == Some(1) && text(&output).contains("global `sum`"),
        "{}",
        text(&output)
    );
    let (status, told) = place.run(&["replay", "F1"]);
    assert!(
        status == 0 && told.lines().next().is_some_and(|l| l == "5" || l == "10"),
        "{told}"
    );
}

#[test]
fn a_deadlock_is_shown_with_its_threads() {
    let place = Place::new("deadlock");
    place.build("deadlock", DEADLOCK);
    let (status, told) = place.run(&["hunt", "--", "./deadlock"]);
    assert!(status == 1 && told.contains("harmful deadlock"), "{told}");
    assert!(
        told.contains("waits for mutex `b`, which thread T2 holds; holding mutex `a`"),
        "{told}"
    );
    assert_eq!(place.run(&["replay", "F1"]).0, 0);
}

#[test]
fn crashes_at_two_places_are_two_findings() {
    let place = Place::new("two-crashes");
    place.build("two", include_str!("../../../cases/c/order/two_crashes.c"));
    let (status, told) = place.run(&["hunt", "--format", "json", "--", "./two"]);
    assert_eq!(status, 1, "{told}");
    let report: serde_json::Value =
        serde_json::from_str(told.split_inclusive("\n}\n").next().expect("text")).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let mut places: Vec<&str> = findings
        .iter()
        .filter_map(|f| f["ended_at"]["stack"][0]["function"].as_str())
        .collect();
    places.sort_unstable();
    assert_eq!(places, ["read_index", "read_table"], "{told}");
}

#[test]
fn the_users_files_stay_as_they_are() {
    let place = Place::new("files");
    place.build("untidy", UNTIDY);
    place.write("input", "precious");
    let (status, told) = place.run(&["hunt", "--runs", "4", "--", "./untidy"]);
    assert_eq!(status, 1, "{told}");
    assert_eq!(
        std::fs::read_to_string(place.join("input")).expect("the input is there"),
        "precious"
    );
    assert!(!place.join("log").exists());
}

#[test]
fn an_interrupted_hunt_tells_what_it_found() {
    let place = Place::new("interrupt");
    place.build("reader", READER);
    place.write("five", "5\n");
    let mut hunt = place.tool(&["hunt", "--runs", "1000000", "--stdin", "five", "--", "./reader"]);
    let mut child = hunt
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a hunt");
    // It can be interrupted from the moment it has the store; whatever it has by then is told.
    let lock = place.join(".deadheat/lock");
    while std::fs::read_to_string(&lock).unwrap_or_default().is_empty() {
        assert!(child.try_wait().expect("a child").is_none(), "the hunt ended by itself");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("an interrupt");
    let status = child.wait().expect("an end").code();
    let output = child.wait_with_output().expect("its output");
    let told = text(&output);
    assert!(told.contains("interrupted"), "{told}");
    assert!(matches!(status, Some(1 | 3)), "{status:?} {told}");
}
