//! `replay --gdb`: gdb stops at what the finding is about, and both threads' stacks show the program's lines.
//!
//! Needs gdb (`cargo xtask deps` installs it); without it the tests say so and check nothing.

mod programs;

use programs::{Place, text};
use std::io::Write;
use std::process::{Command, Stdio};

/// The line of a source that holds a mark.
fn line(source: &str, mark: &str) -> usize {
    source.lines().position(|l| l.contains(mark)).expect("the mark") + 1
}

fn gdb() -> bool {
    let there = Command::new("gdb")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("SKIPPED: gdb is not installed (cargo xtask deps)");
    }
    there
}

/// Replays F1 of a store in gdb with commands on its standard input; all that is written.
fn debug(place: &Place, store: &str, commands: &str) -> String {
    let mut tool = place.tool(&["replay", "--gdb", "--store", store, "F1"]);
    let mut child = tool
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("HOME", place.join(""))
        .spawn()
        .expect("the tool starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(commands.as_bytes()).expect("gdb reads commands");
    drop(stdin);
    text(&child.wait_with_output().expect("gdb ends"))
}

/// The part of gdb's output that is the backtrace of this gdb thread.
fn backtrace(told: &str, thread: usize) -> &str {
    let start = told
        .rfind(&format!("\nThread {thread} ("))
        .unwrap_or_else(|| panic!("no such thread: {told}"));
    let end = told[start + 1..].find("\n\n").map_or(told.len(), |at| start + 1 + at);
    &told[start..end]
}

const BACKTRACES: &str = "thread apply all backtrace\nquit\n";

const HEAP: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int *slot;
static void *writer(void *a)
{
    *slot = 7; // WRITE
    return a;
}
__attribute__((noinline)) static int look(int *const *from)
{
    return **from; // READ
}
static int outer(void)
{
    int seen = look(&slot); // CALL
    return seen + 1;
}
int main(void)
{
    slot = calloc(1, sizeof *slot);
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    printf("%d\n", outer()); // OUTER
    pthread_join(t, 0);
    return 0;
}
"#;

#[test]
fn both_threads_stand_at_the_race() {
    if !gdb() {
        return;
    }
    let place = Place::new("gdb-race");
    for level in ["O0", "O1", "O2"] {
        place.build_with("cc", "race.c", HEAP, &[&format!("-{level}")]);
        let (status, told) = place.run(&["hunt", "--runs", "4", "--store", level, "--", "./race"]);
        assert_eq!(status, 1, "{told}");
        let told = debug(&place, level, BACKTRACES);
        let (write, read) = (line(HEAP, "WRITE"), line(HEAP, "READ"));
        for (number, line, function) in [(0, read, "look"), (1, write, "writer")] {
            let what = format!(
                "T{number} (gdb thread {}) about to access memory at race.c:{line} in {function}",
                number + 1
            );
            assert!(told.contains(&what), "{level}: no `{what}` in {told}");
        }
        assert!(
            backtrace(&told, 2).contains(&format!("at race.c:{write}")),
            "{level}: {told}"
        );
        for line in [read, line(HEAP, "CALL"), line(HEAP, "OUTER")] {
            assert!(
                backtrace(&told, 1).contains(&format!("at race.c:{line}")),
                "{level}: {told}"
            );
        }
    }
}

/// The write comes before the flag and the read after it, so the two never meet; but nothing orders them.
const UNORDERED: &str = r#"#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int ready;
static void *giver(void *a)
{
    data = 7; // WRITE
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return a;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, giver, 0);
    while (!atomic_load_explicit(&ready, memory_order_relaxed))
        ;
    int seen = data; // READ
    pthread_join(t, 0);
    return seen != 7;
}
"#;

#[test]
fn an_unordered_pair_stops_at_its_second_access() {
    if !gdb() {
        return;
    }
    let place = Place::new("gdb-unordered");
    place.build("flag", UNORDERED);
    let (status, told) = place.run(&["hunt", "--runs", "4", "--store", "s", "--", "./flag"]);
    assert!(status == 1 && told.contains("nothing ordered them"), "{told}");
    let told = debug(&place, "s", BACKTRACES);
    let (write, read) = (line(UNORDERED, "WRITE"), line(UNORDERED, "READ"));
    let before = format!("thread T1 has made its access at flag.c:{write}:");
    assert!(told.contains(&before), "{told}");
    let what = format!("T0 (gdb thread 1) about to access memory at flag.c:{read} in main");
    assert!(told.contains(&what), "no `{what}` in {told}");
    assert!(backtrace(&told, 1).contains(&format!("at flag.c:{read}")), "{told}");
}

const DEADLOCK: &str = r#"#include <mutex>
#include <thread>
std::mutex a, b;
int both;
static void forth()
{
    std::lock_guard first(a);
    std::lock_guard second(b); // FORTH
    both++;
}
static void back()
{
    std::lock_guard first(b);
    std::lock_guard second(a); // BACK
    both--;
}
int main()
{
    std::thread t(forth), u(back);
    t.join(); // JOIN
    u.join();
    return both;
}
"#;

#[test]
fn a_deadlock_stops_with_its_threads_waiting() {
    if !gdb() {
        return;
    }
    let place = Place::new("gdb-deadlock");
    for level in ["O0", "O2"] {
        place.build_with("c++", "locks.cpp", DEADLOCK, &["-std=c++17", &format!("-{level}")]);
        let (status, told) = place.run(&["hunt", "--store", level, "--", "./locks"]);
        assert!(status == 1 && told.contains("F1 harmful deadlock"), "{told}");
        let told = debug(&place, level, BACKTRACES);
        for (thread, mark) in [(1, "JOIN"), (2, "FORTH"), (3, "BACK")] {
            let at = format!("at locks.cpp:{}", line(DEADLOCK, mark));
            assert!(backtrace(&told, thread).contains(&at), "{level}: no `{at}` in {told}");
        }
    }
}

/// The second thread may use what the first has not made yet; by itself it comes late enough.
const CRASH: &str = r#"#include <pthread.h>
#include <unistd.h>
int cell = 3, *pointer;
static void *maker(void *a)
{
    pointer = &cell;
    return a;
}
static void *user(void *a)
{
    usleep(50000);
    int *seen = pointer;
    *(int *)a = *seen; // CRASH
    return a;
}
int main(void)
{
    int value;
    pthread_t t, u;
    pthread_create(&t, 0, maker, 0);
    pthread_create(&u, 0, user, &value);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return value - 3;
}
"#;

#[test]
fn going_on_from_the_race_comes_to_the_harm() {
    if !gdb() {
        return;
    }
    let place = Place::new("gdb-harm");
    place.build("early", CRASH);
    let (status, told) = place.run(&["hunt", "--store", "s", "--", "./early"]);
    assert!(status == 1 && told.contains("F1 harmful data race"), "{told}");
    let told = debug(&place, "s", "continue\nbacktrace\nquit\n");
    let crash = line(CRASH, "CRASH");
    assert!(
        told.contains("SIGSEGV") && told.contains(&format!("at early.c:{crash}")),
        "{told}"
    );
}

/// The race is in a child; one child before it and one after it end as usual.
const CHILDREN: &str = r#"#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int x;
static void *f(void *a)
{
    x = 1; // WRITE
    return a;
}
static int in_child(int racy)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t t;
        pthread_create(&t, 0, f, 0);
        if (racy)
            x = 2; // OTHER
        pthread_join(t, 0);
        _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}
int main(void)
{
    system("exit 0");
    in_child(0);
    int racy = in_child(1);
    in_child(0);
    return WEXITSTATUS(racy) != 7;
}
"#;

#[test]
fn a_race_in_a_child_stops_the_child() {
    if !gdb() {
        return;
    }
    let place = Place::new("gdb-child");
    place.build("children", CHILDREN);
    let (status, told) = place.run(&["hunt", "--runs", "4", "--store", "s", "--", "./children"]);
    assert!(status == 1 && told.contains("F1 real data race"), "{told}");
    let told = debug(&place, "s", BACKTRACES);
    for (number, mark, function) in [(0, "OTHER", "in_child"), (1, "WRITE", "f")] {
        let line = line(CHILDREN, mark);
        let what = format!("about to access memory at children.c:{line} in {function}");
        assert!(
            told.contains(&format!("deadheat: T{number}")) && told.contains(&what),
            "no `{what}` in {told}"
        );
    }
}

const TWICE: &str = "#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock); // TWICE
    return 0;
}
";

#[test]
fn a_misuse_stops_at_its_call() {
    if !gdb() {
        return;
    }
    let place = Place::new("gdb-misuse");
    place.build_with("cc", "twice.c", TWICE, &["-O1"]);
    let (status, told) = place.run(&["hunt", "--runs", "1", "--store", "kept", "--", "./twice"]);
    assert_eq!(status, 1, "{told}");
    let told = debug(&place, "kept", BACKTRACES);
    let what = format!("T0 (gdb thread 1) at twice.c:{} in main", line(TWICE, "TWICE"));
    assert!(
        told.contains("SIGTRAP") && told.contains(&what),
        "no `{what}` in {told}"
    );
    let (status, told) = place.run(&["replay", "--store", "kept", "F1"]);
    assert_eq!(status, 0, "{told}");
    assert!(told.contains("unlocks mutex `lock`, which nobody holds"), "{told}");
}
