//! What reports say of a finding: the locks that were held, the object's name, where threads were created.

mod programs;

use programs::Place;

/// Hunts in a program and returns what is told.
fn hunt(place: &Place, program: &str) -> String {
    let store = format!("s-{program}");
    let program = format!("./{program}");
    let (status, told) = place.run(&["hunt", "--runs", "4", "--suspected", "--store", &store, "--", &program]);
    assert_eq!(status, 1, "{told}");
    told
}

/// Two locks in opposite orders: one in a local variable, one in a heap block.
const OPPOSITE: &str = r#"#include <memory>
#include <mutex>
#include <thread>
struct Account { long balance = 0; std::mutex m; };
static void transfer(Account &from, Account &to)
{
    std::lock_guard<std::mutex> a(from.m);
    std::lock_guard<std::mutex> b(to.m);
    from.balance--, to.balance++;
}
int main()
{
    Account local;
    auto other = std::make_unique<Account>();
    std::thread t([&] { transfer(local, *other); }), u([&] { transfer(*other, local); });
    t.join(), u.join();
}
"#;

#[test]
fn locks_are_told_by_what_they_are_in() {
    let place = Place::new("opposite");
    place.build_with("c++", "opposite.cpp", OPPOSITE, &["-O1"]);
    let told = hunt(&place, "opposite");
    assert!(told.contains("waits for mutex `local.m`"), "{told}");
    assert!(
        told.contains("(offset 8 of a block of 48 bytes allocated at "),
        "{told}"
    );
    assert!(told.contains("takes mutex `local.m`"), "{told}");
    // The user's own line is quoted, not the library's that locks.
    assert!(
        told.contains("| ") && told.contains("std::lock_guard<std::mutex> b(to.m);"),
        "{told}"
    );
    assert!(!told.contains("__gthrw_"), "{told}");
}

/// The flag is claimed once and never given back; the counter goes up and down again. Neither is a lock.
const CLAIM: &str = r#"#include <pthread.h>
#include <stdatomic.h>
atomic_int claimed, users;
int x;
static void *first(void *a)
{
    if (!atomic_exchange(&claimed, 1)) {
        atomic_fetch_add(&users, 1);
        x = 1;
        atomic_fetch_sub(&users, 1);
    }
    return a;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, first, 0);
    int seen = x;
    pthread_join(t, 0);
    return seen > 1;
}
"#;

#[test]
fn a_claimed_flag_is_no_lock_held() {
    let place = Place::new("claim");
    for level in ["-O0", "-O2"] {
        place.build_with("cc", "claim.c", CLAIM, &[level]);
        let told = hunt(&place, "claim");
        assert!(told.contains("F1 real data race on global `x`"), "{told}");
        assert!(!told.contains("hand-made lock"), "{told}");
        assert_eq!(told.matches("holding no lock").count(), 2, "{told}");
        let _ = std::fs::remove_dir_all(place.join("s-claim"));
    }
}

/// One side takes the spin lock, the other does not; it is known as a lock though it is held for the first time.
const SPIN: &str = r#"#include <pthread.h>
#include <stdatomic.h>
atomic_flag busy = ATOMIC_FLAG_INIT;
int x;
static void *careful(void *a)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        ;
    x = 1;
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return a;
}
static void *careless(void *a)
{
    x = 2;
    return a;
}
int main(void)
{
    pthread_t t, u, v;
    pthread_create(&t, 0, careful, 0);
    pthread_create(&u, 0, careful, 0);
    pthread_create(&v, 0, careless, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    pthread_join(v, 0);
    return 0;
}
"#;

#[test]
fn a_hand_made_lock_is_held_by_name() {
    let place = Place::new("spin");
    place.build("spin", SPIN);
    let told = hunt(&place, "spin");
    assert!(told.contains("holding hand-made lock `busy"), "{told}");
    assert!(told.contains("holding no lock, in careless"), "{told}");
}

/// The main thread's variable, in a frame that it has left for `pthread_join`.
const JOBS: &str = r#"#include <pthread.h>
struct job { int id; int total[4]; };
static void *work(void *a)
{
    struct job *job = a;
    job->total[2] += 1;
    return a;
}
static int run(int n)
{
    struct job jobs[2] = {{n, {0}}, {n, {0}}};
    pthread_t t, u;
    pthread_create(&t, 0, work, &jobs[1]); // FIRST
    pthread_create(&u, 0, work, &jobs[1]);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return jobs[1].total[2];
}
int main(int argc, char **argv)
{
    (void)argv;
    return run(argc) != 2;
}
"#;

/// The main thread's variable, while it is in libstdc++; aligned variables are addressed by the stack pointer.
const CAPTURED: &str = r#"#include <thread>
#include <vector>
int main()
{
    alignas(64) int sums[20] = {};
    std::vector<std::thread> all;
    for (int i = 0; i < 2; i++)
        all.emplace_back([&sums] { sums[7] += 1; }); // CREATE
    for (auto &t : all)
        t.join();
    return sums[7] != 2;
}
"#;

/// Two variables of which only one exists at a time may share a place.
const SHARED_PLACE: &str = r#"#include <pthread.h>
#include <string.h>
static void *work(void *a)
{
    *(volatile char *)a += 1;
    return a;
}
static void with(char *p)
{
    pthread_t t;
    pthread_create(&t, 0, work, p);
    *(volatile char *)p += 1;
    pthread_join(t, 0);
}
int main(int argc, char **argv)
{
    (void)argv;
    {
        char early[200];
        memset(early, argc, sizeof early);
        __asm__ volatile("" : : "r"(early) : "memory");
    }
    {
        char late[200];
        memset(late, 0, sizeof late);
        with(&late[150]);
    }
    return 0;
}
"#;

#[test]
fn stack_variables_have_names() {
    let place = Place::new("stack");
    for level in ["-O0", "-O1", "-O2"] {
        place.build_with("cc", "jobs.c", JOBS, &[level]);
        let told = hunt(&place, "jobs");
        assert!(told.contains("on local variable `jobs[1].total[2]`"), "{level}: {told}");
        place.build_with("c++", "captured.cpp", CAPTURED, &["-std=c++17", level]);
        let told = hunt(&place, "captured");
        assert!(told.contains("on local variable `sums[7]`"), "{level}: {told}");
        place.build_with("cc", "place.c", SHARED_PLACE, &[level]);
        let told = hunt(&place, "place");
        assert!(told.contains("on local variable `late[150]`"), "{level}: {told}");
        for program in ["jobs", "captured", "place"] {
            let _ = std::fs::remove_dir_all(place.join(&format!("s-{program}")));
        }
    }
}

/// Both threads of the race are made by libstdc++; the block is made inside it.
const CREATED: &str = r#"#include <string>
#include <thread>
std::string *text;
static void writer()
{
    (*text)[20] = 'x';
}
int main()
{
    text = new std::string(100, 'a'); // ALLOCATED
    std::thread a(writer); // CREATED
    (*text)[20] = 'y';
    a.join();
    return 0;
}
"#;

#[test]
fn creation_and_allocation_inside_libstdcxx_are_traced_to_the_program() {
    let place = Place::new("created");
    let line = |mark: &str| CREATED.lines().position(|l| l.contains(mark)).expect("the mark") + 1;
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        place.build_with("c++", "created.cpp", CREATED, &["-std=c++17", level]);
        let told = hunt(&place, "created");
        for (after, mark) in [
            ("was created by the main thread", "CREATED"),
            ("was allocated by", "ALLOCATED"),
        ] {
            let place = format!("created.cpp:{}:", line(mark));
            let part = told.split(after).nth(1).unwrap_or_default();
            let lines: String = part.lines().skip(1).take_while(|l| l.starts_with("    ")).collect();
            assert!(lines.contains(&place), "{level}: {after}: no {place} in {told}");
        }
        let _ = std::fs::remove_dir_all(place.join("s-created"));
    }
}

#[test]
fn a_report_says_that_the_program_changed_and_needs_a_place_to_be_written_to() {
    let place = Place::new("report-changed");
    let source = |ends: i32| {
        format!(
            "#include <pthread.h>\n\
             static int x;\n\
             static void *add(void *p) {{ x++; return p; }}\n\
             int main(void) {{\n\
             pthread_t t;\n\
             pthread_create(&t, 0, add, 0);\n\
             x++;\n\
             pthread_join(t, 0);\n\
             return x == {ends};\n\
             }}\n"
        )
    };
    place.build_with("cc", "race.c", &source(0), &["-O1"]);
    let (status, told) = place.run(&["hunt", "--runs", "2", "-o", "missing/report", "--", "./race"]);
    assert!(status == 2 && told.contains("there is no directory missing"), "{told}");
    let (status, told) = place.run(&["hunt", "--runs", "2", "--", "./race"]);
    assert_eq!(status, 1, "{told}");
    let (_, told) = place.run(&["report"]);
    assert!(!told.contains("has changed since"), "{told}");
    place.build_with("cc", "race.c", &source(9), &["-O1"]);
    let (_, told) = place.run(&["report"]);
    assert!(told.contains("has changed since"), "{told}");
}
