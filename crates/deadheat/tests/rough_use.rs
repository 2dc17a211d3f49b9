//! Rough use: a hunt that is killed, limits of the shell, programs that go their own ways. What was found is not lost,
//! nothing is left behind, and the answer says what to do.

mod programs;

use programs::{Place, text};
use std::path::PathBuf;

/// Two races and, while there is a file `linger`, a process that leaves parent and session until somebody ends it.
const ORPHAN: &str = "#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\nint x, y;\n\
    static void *f(void *a) { x++; y++; return a; }\n\
    int main(void) {\n\
    if (access(\"linger\", F_OK) == 0 && fork() == 0) { setsid(); if (fork() == 0) for (;;) pause(); exit(0); }\n\
    pthread_t t; pthread_create(&t, 0, f, 0); x++; y++; pthread_join(t, 0); return 0; }\n";
const RACE: &str = "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x++; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }\n";

/// Processes of this name that have not ended.
fn running(name: &str) -> usize {
    let of = |process: std::fs::DirEntry| std::fs::read_to_string(process.path().join("stat")).ok();
    let all = std::fs::read_dir("/proc").expect("/proc").flatten().filter_map(of);
    let (is, ended) = (format!("({name}) "), format!("({name}) Z"));
    all.filter(|stat| stat.contains(&is) && !stat.contains(&ended)).count()
}

/// Lets others work.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(2));
}

/// Scratch directories of a deadheat process.
fn scratch(pid: u32) -> Vec<PathBuf> {
    let bases = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let entries = bases
        .iter()
        .filter_map(|b| std::fs::read_dir(b).ok())
        .flatten()
        .flatten();
    let ours = format!("dh-{pid:08x}");
    entries
        .map(|e| e.path())
        .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&ours)))
        .collect()
}

#[test]
fn a_killed_hunt_leaves_nothing_behind_and_the_next_one_goes_on() {
    let place = Place::new("killed");
    place.build("dh_orphan", ORPHAN);
    place.write("linger", "");
    let mut hunt = place.tool(&["hunt", "--budget", "10m", "--store", "s", "--", "./dh_orphan"]);
    let null = std::process::Stdio::null;
    let mut hunt = hunt.stdout(null()).stderr(null()).spawn().expect("the tool starts");
    // Somewhere in the middle: the program runs.
    while running("dh_orphan") == 0 && hunt.try_wait().expect("a child").is_none() {
        pause();
    }
    hunt.kill().expect("killed");
    hunt.wait().expect("ended");
    // The kernel ends them one after another.
    while running("dh_orphan") > 0 {
        pause();
    }
    std::fs::remove_file(place.join("linger")).expect("removed");
    let told = place.run(&["report", "--store", "s"]);
    assert!(
        told.0 == 1 || told.1.contains("holds nothing yet") || told.1.contains("there is no store"),
        "{}",
        told.1
    );
    let (status, told) = place.run(&["hunt", "--store", "s", "--", "./dh_orphan"]);
    assert!(status == 1 && told.contains("2 real"), "{told}");
    assert!(scratch(hunt.id()).is_empty(), "{:?}", scratch(hunt.id()));
    let told = place.run(&["replay", "--store", "s", "F1"]).1;
    assert!(told.contains("repeated exactly"), "{told}");
}

#[test]
fn a_signal_to_the_process_group_reaches_the_program_alone() {
    let place = Place::new("group");
    place.build(
        "group",
        &RACE.replace("#include", "#include <signal.h>\n#include").replace(
            "{ pthread_t t;",
            "{ signal(SIGTERM, SIG_IGN); kill(0, SIGTERM); pthread_t t;",
        ),
    );
    let (status, told) = place.run(&["hunt", "--runs", "3", "--", "./group"]);
    assert!(status == 1 && !told.contains("already end badly"), "{told}");
}

#[test]
fn limits_of_the_shell_are_named_with_the_way_out() {
    let place = Place::new("limits");
    place.build("race", RACE);
    let tool = place.tool(&[]).get_program().to_string_lossy().into_owned();
    for (limit, told) in [
        ("-v 2000000", "ulimit -v"),
        ("-f 1000", "ulimit -f"),
        ("-n 8", "ulimit -n"),
    ] {
        let mut shell = std::process::Command::new("sh");
        let command = format!("ulimit {limit}; exec {tool} hunt --runs 2 -- ./race");
        shell.args(["-c", &command]).current_dir(place.join(""));
        let output = shell.stdin(std::process::Stdio::null()).output().expect("a shell");
        let answer = text(&output);
        assert!(
            output.status.code() == Some(3) && answer.contains(told),
            "{limit}: {answer}"
        );
    }
}

#[test]
fn a_budget_that_is_too_short_is_named_as_that() {
    let place = Place::new("short");
    place.build("race", RACE);
    let (status, told) = place.run(&["hunt", "--budget", "1ms", "--", "./race"]);
    assert!(status == 3 && told.contains("the budget was used up"), "{told}");
    assert_eq!(place.run(&["hunt", "--timeout", "0s", "--", "./race"]).0, 2);
    let (status, told) = place.run(&["report"]);
    assert!(status == 3 && told.contains("holds nothing yet"), "{told}");
}

/// Aborts unless it, its thread, its child and a program that it starts are told of so many processors.
const PROCESSORS: &str = "#define _GNU_SOURCE\n#include <pthread.h>\n#include <sched.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    #include <sys/syscall.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    static int wanted;\n\
    static void see(int n) { if (n != wanted) abort(); }\n\
    static int own(void) { cpu_set_t s; return sched_getaffinity(0, sizeof s, &s) ? -1 : CPU_COUNT(&s); }\n\
    static void *narrow(void *a) { see(own()); return a; }\n\
    static void *work(void *a) { cpu_set_t s; see(own());\n\
    if (pthread_getaffinity_np(pthread_self(), sizeof s, &s)) abort(); see(CPU_COUNT(&s));\n\
    int first = 0; while (!CPU_ISSET(first, &s)) first++; CPU_ZERO(&s); CPU_SET(first, &s);\n\
    if (sched_setaffinity(0, sizeof s, &s)) abort(); if (own() != 1) abort(); return a; }\n\
    int main(int argc, char **argv) { cpu_set_t s; CPU_ZERO(&s); if (argc != 2) return 9; wanted = atoi(argv[1]); see(own());\n\
    if (syscall(SYS_sched_getaffinity, 0, sizeof s, &s) < 0) abort(); see(CPU_COUNT(&s));\n\
    FILE *p = popen(\"nproc\", \"r\"); int n = 0; if (fscanf(p, \"%d\", &n) != 1) abort(); pclose(p); see(n);\n\
    pid_t child = fork(); if (!child) { see(own()); _exit(0); } int status; waitpid(child, &status, 0); if (status) abort();\n\
    pthread_attr_t now; pthread_getattr_np(pthread_self(), &now); pthread_attr_getaffinity_np(&now, sizeof s, &s); see(CPU_COUNT(&s));\n\
    pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); see(own());\n\
    int first = 0; while (!CPU_ISSET(first, &s)) first++; CPU_ZERO(&s); CPU_SET(first, &s); wanted = 1;\n\
    pthread_attr_t given; pthread_attr_init(&given); pthread_attr_setaffinity_np(&given, sizeof s, &s);\n\
    pthread_create(&t, &given, narrow, 0); pthread_join(t, 0); if (sched_setaffinity(0, sizeof s, &s)) abort();\n\
    child = fork(); if (!child) { see(own()); _exit(0); } waitpid(child, &status, 0); if (status) abort(); return 0; }\n";

#[test]
fn a_program_sees_the_processors_that_it_was_started_with() {
    let place = Place::new("processors");
    place.build("processors", PROCESSORS);
    let number = std::thread::available_parallelism().expect("a number").to_string();
    let (status, told) = place.run(&["hunt", "--runs", "2", "--", "./processors", &number]);
    assert!(status == 0 && !told.contains("badly"), "{told}");
}
