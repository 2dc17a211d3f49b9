//! Many inputs: what is measured, what is chosen, what is found where, and what is known the next time.

mod programs;

use programs::Place;

/// Each letter of the argument is a function that two threads run; `l` runs under a lock throughout, `x` and `y` race.
const LETTERS: &str = "#include <pthread.h>\n#include <string.h>\n\
    int shared, other, locked; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; const char *letters;\n\
    __attribute__((noinline)) void plain_x(void) { shared++; }\n\
    __attribute__((noinline)) void plain_y(void) { other++; }\n\
    __attribute__((noinline)) void under_lock(void) { locked++; }\n\
    __attribute__((noinline)) void alone(void) { locked = 1; }\n\
    static void *work(void *a) { for (const char *c = letters; *c; c++) {\n\
    if (*c == 'x') plain_x(); if (*c == 'y') plain_y();\n\
    if (*c == 'l') { pthread_mutex_lock(&m); under_lock(); pthread_mutex_unlock(&m); } } return a; }\n\
    int main(int argc, char **argv) { pthread_t t, u; letters = argc > 1 ? argv[1] : \"\"; alone();\n\
    pthread_create(&t, 0, work, 0); pthread_create(&u, 0, work, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); alone(); return 0; }\n";

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

fn names(report: &serde_json::Value, numbers: &serde_json::Value) -> Vec<String> {
    let all = numbers.as_array().unwrap().iter();
    let name = |n: &serde_json::Value| {
        report["functions"][n.as_u64().unwrap() as usize]["name"]
            .as_str()
            .unwrap()
            .to_string()
    };
    let mut names: Vec<String> = all.map(name).collect();
    names.sort();
    names
}

#[test]
fn inputs_that_add_nothing_are_left_out_and_the_rest_finds_all() {
    let place = Place::new("select");
    place.build("letters", LETTERS);
    std::fs::write(place.join("inputs.txt"), "x\nxl  # a comment\n\nly\nl\n").unwrap();
    let (status, told) = place.run(&[
        "select",
        "--inputs",
        "inputs.txt",
        "--format",
        "json",
        "--",
        "./letters",
    ]);
    assert_eq!(status, 0, "{told}");
    let report = json(&told);
    let pairs: Vec<Vec<String>> = report["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| names(&report, p))
        .collect();
    let has = |a: &str, b: &str| pairs.contains(&vec![a.to_string(), b.to_string()]);
    assert!(
        has("plain_x", "plain_x") && has("plain_y", "under_lock") && has("main", "work"),
        "{told}"
    );
    assert!(!has("under_lock", "under_lock") && !has("plain_x", "plain_y"), "{told}");
    assert!(!pairs.iter().flatten().any(|name| name == "alone"), "{told}");
    let inputs = report["inputs"].as_array().unwrap();
    let chosen: Vec<bool> = inputs.iter().map(|i| !i["chosen"].is_null()).collect();
    assert_eq!(chosen, [false, true, true, false], "{told}");
    let watched = names(&report, &inputs[2]["watched"]);
    assert!(!watched.contains(&"plain_x".to_string()), "{told}");

    // Everything is known now.
    let (_, again) = place.run(&[
        "select",
        "--inputs",
        "inputs.txt",
        "--format",
        "json",
        "--",
        "./letters",
    ]);
    let again = json(&again);
    assert_eq!((&again["runs"], &again["pairs"]), (&0.into(), &report["pairs"]));

    let fingerprints = |arguments: &[&str]| {
        let (_, told) = place.run(arguments);
        let report = json(&told);
        let mut all: Vec<String> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["fingerprint"].as_str().unwrap().to_string())
            .collect();
        all.sort();
        (all, report)
    };
    let detect = ["detect", "--inputs", "inputs.txt", "--format", "json"];
    let (full, _) = fingerprints(&[&detect[..], &["--no-select", "--store", "full", "--", "./letters"]].concat());
    let (guided, _) = fingerprints(&[&detect[..], &["--", "./letters"]].concat());
    assert_eq!(guided, full);
    assert!(guided.len() >= 2, "{guided:?}");
}

/// Two threads run one function, in it the statement that the first argument names, as often as the second says.
const PARTS: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
    int shared, other; static int mode, times;\n\
    __attribute__((noinline)) static void part(void) { for (int i = 0; i < times; i++) {\n\
    if (mode == 1) shared++;\n\
    else if (mode == 2) other++; } }\n\
    static void *work(void *a) { part(); return a; }\n\
    int main(int argc, char **argv) { pthread_t t, u; mode = atoi(argv[1]); times = atoi(argv[2]);\n\
    pthread_create(&t, 0, work, 0); pthread_create(&u, 0, work, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

#[test]
fn inputs_that_come_to_other_parts_of_the_same_functions_are_looked_at() {
    let place = Place::new("parts");
    place.build("parts", PARTS);
    std::fs::write(place.join("inputs.txt"), "0 9\n1 0\n1 2\n1 1\n2 3\n").unwrap();
    let chosen = |options: &[&str]| {
        let mut arguments = vec!["select", "--inputs", "inputs.txt", "--format", "json"];
        arguments.extend(options);
        arguments.extend(["--", "./parts"]);
        let report = json(&place.run(&arguments).1);
        let inputs = report["inputs"].as_array().unwrap().clone();
        let place = |i: &serde_json::Value| i["chosen"].as_u64();
        inputs.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&[]), [None, None, Some(1), None, Some(2)]);
    assert_eq!(chosen(&["--pairs-only"]).iter().flatten().count(), 1);
    let (status, told) = place.run(&["hunt", "--runs", "5", "--inputs", "inputs.txt", "--", "./parts"]);
    assert!(
        status == 1 && told.contains("`shared`") && told.contains("`other`"),
        "{told}"
    );
}

#[test]
fn a_finding_names_its_input() {
    let place = Place::new("select-hunt");
    place.build("letters", LETTERS);
    std::fs::write(place.join("inputs.txt"), "l\ny\n").unwrap();
    let hunt = [
        "hunt",
        "--inputs",
        "inputs.txt",
        "--runs",
        "3",
        "--format",
        "json",
        "--",
        "./letters",
    ];
    let (status, told) = place.run(&hunt);
    assert_eq!(status, 1, "{told}");
    let report = json(&told);
    let real = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["verdict"] != "suspected");
    let inputs: Vec<String> = real.map(|f| f["input"]["differences"].to_string()).collect();
    assert!(
        !inputs.is_empty() && inputs.iter().all(|i| i.contains("arguments \\\"y\\\"")),
        "{told}"
    );
}

#[test]
fn a_list_with_mistakes_is_told_by_line() {
    let place = Place::new("select-mistakes");
    place.build("letters", LETTERS);
    std::fs::write(place.join("inputs.txt"), "x\n'y\n").unwrap();
    let (status, told) = place.run(&["select", "--inputs", "inputs.txt", "--", "./letters"]);
    assert_eq!(status, 3, "{told}");
    let (status, told) = place.run(&["select", "--inputs", "nowhere", "--", "./letters"]);
    assert_eq!(status, 3, "{told}");
}

/// `before` comes before what the waiting thread does; a shared counter orders nothing.
const WAITING: &str = "#include <pthread.h>\n#include <stdatomic.h>\n\
    int shared; atomic_int ready, count;\n\
    __attribute__((noinline)) void before(void) { shared = 1; }\n\
    __attribute__((noinline)) void afterwards(void) { shared = 2; }\n\
    __attribute__((noinline)) void first(void) { shared++; }\n\
    __attribute__((noinline)) void second(void) { shared++; }\n\
    static void *waits(void *a) { while (!atomic_load(&ready)) {} afterwards();\n\
    atomic_fetch_add(&count, 1); second(); return a; }\n\
    static void *sets(void *a) { before(); atomic_store(&ready, 1); first(); atomic_fetch_add(&count, 1); return a; }\n\
    int main(void) { pthread_t t, u; pthread_create(&t, 0, waits, 0); pthread_create(&u, 0, sets, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

#[test]
fn what_a_thread_waited_for_orders() {
    let place = Place::new("select-waits");
    place.build("waiting", WAITING);
    std::fs::write(place.join("inputs.txt"), "none\n").unwrap();
    let select = [
        "select",
        "--inputs",
        "inputs.txt",
        "--format",
        "json",
        "--",
        "./waiting",
    ];
    let report = json(&place.run(&select).1);
    let pairs: Vec<Vec<String>> = report["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| names(&report, p))
        .collect();
    let has = |a: &str, b: &str| pairs.contains(&vec![a.to_string(), b.to_string()]);
    assert!(!has("afterwards", "before") && !has("before", "second"), "{pairs:?}");
    assert!(has("afterwards", "first") && has("first", "second"), "{pairs:?}");
}

/// `daxpy` has what is concurrent with `lu0`; `setup` runs before the first thread, `after` beside it, `last` alone again.
const KERNEL: &str = "#include <pthread.h>\n\
    double a[2][64], factor; int config, rounds; pthread_barrier_t b;\n\
    __attribute__((noinline)) static void daxpy(double *x, int k) { for (int i = 0; i < k; i++) x[i] += 2 * x[i + 1]; }\n\
    __attribute__((noinline)) static void lu0(double *x, int k) { x[0] = factor; for (int i = 1; i < k; i++) daxpy(x, k - i); }\n\
    __attribute__((noinline)) static void setup(int v) { config = v; factor = v; }\n\
    __attribute__((noinline)) static void after(int v) { config += v; }\n\
    __attribute__((noinline)) static void last(int v) { config -= v; }\n\
    static void *work(void *p) { double *x = p; lu0(x, 60); rounds++; pthread_barrier_wait(&b); lu0(a[0], 8); return 0; }\n\
    int main(int argc, char **argv) { setup(argc); pthread_barrier_init(&b, 0, 2); pthread_t t, u;\n\
    pthread_create(&t, 0, work, a[0]); pthread_create(&u, 0, work, a[1]); after(1);\n\
    pthread_join(t, 0); pthread_join(u, 0); last(2); return argc > 9 && argv; }\n";

#[test]
fn what_need_not_be_measured_is_told_and_changes_no_pair() {
    let place = Place::new("select-unmeasured");
    place.build("kernel", KERNEL);
    std::fs::write(place.join("inputs.txt"), "one\n").unwrap();
    let select = |more: &[&str]| {
        let words = ["select", "--inputs", "inputs.txt", "--format", "json"];
        let (status, told) = place.run(&[&words[..], more, &["--", "./kernel"]].concat());
        assert_eq!(status, 0, "{told}");
        json(&told)
    };
    let pairs = |report: &serde_json::Value| {
        let all = report["pairs"].as_array().unwrap().iter();
        let mut pairs: Vec<Vec<String>> = all.map(|p| names(report, p)).collect();
        pairs.sort();
        pairs
    };
    let unmeasured = |report: &serde_json::Value| {
        let all = report["unmeasured"]["functions"].as_array().unwrap().iter();
        let mut told: Vec<String> = all
            .map(|f| format!("{} {}", f["function"]["name"], f["reason"]).replace('"', ""))
            .collect();
        told.sort();
        told
    };
    let default = select(&[]);
    assert_eq!(
        unmeasured(&default),
        ["daxpy inherits", "last one-thread", "setup one-thread"]
    );
    let functions = default["unmeasured"]["functions"].as_array().unwrap();
    let daxpy = functions.iter().find(|f| f["function"]["name"] == "daxpy").unwrap();
    assert_eq!(daxpy["from"][0]["name"], "lu0");
    let strict = select(&["--no-loop-assumption", "--store", "strict"]);
    assert_eq!(unmeasured(&strict), ["last one-thread", "setup one-thread"]);
    let all = select(&["--measure-all", "--store", "all"]);
    assert_eq!(unmeasured(&all), [""; 0]);
    assert_eq!(pairs(&default), pairs(&all));
    assert_eq!(pairs(&strict), pairs(&all));
    let (_, text) = place.run(&["select", "--inputs", "inputs.txt", "--", "./kernel"]);
    assert!(text.contains("3 of 7 functions need no measuring"), "{text}");
    assert!(text.contains("loops go round at least once"), "{text}");
}

#[test]
fn a_program_that_forks_is_measured_once() {
    let place = Place::new("select-forks");
    let forks = KERNEL.replace("argv) { setup", "argv) { if (!fork()) _exit(0); wait(0); setup");
    place.build("forks", &format!("#include <sys/wait.h>\n#include <unistd.h>\n{forks}"));
    std::fs::write(place.join("inputs.txt"), "one\n").unwrap();
    let (_, told) = place.run(&["select", "--inputs", "inputs.txt", "--format", "json", "--", "./forks"]);
    let report = json(&told);
    assert_eq!(
        (&report["runs"], &report["inputs"][0]["left_out"]),
        (&1.into(), &1.into()),
        "{told}"
    );
}

#[test]
fn tests_of_a_ctest_directory_are_inputs() {
    let place = Place::new("select-ctest");
    let program = place.build("letters", LETTERS);
    let tests: Vec<String> = ["x", "ly"]
        .iter()
        .map(|letters| format!(r#"{{"name":"t{letters}","command":[{program:?},"{letters}"],"properties":[]}}"#))
        .collect();
    let shown = format!(
        r#"{{"kind":"ctestInfo","version":{{"major":1,"minor":0}},"tests":[{},{{"name":"o","command":["/bin/true"]}}]}}"#,
        tests.join(",")
    );
    // A CTest that says so.
    place.write("shown.json", &shown);
    let ctest = place.write(
        "ctest",
        "#!/bin/sh\ntest \"$1\" = --show-only=json-v1 && cat shown.json\n",
    );
    std::fs::set_permissions(&ctest, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.join("").display(), std::env::var("PATH").unwrap());
    let mut select = place.tool(&["select", "--inputs", "ctest:.", "--format", "json", "--", "./letters"]);
    let output = select.env("PATH", path).output().unwrap();
    let report = json(&String::from_utf8_lossy(&output.stdout));
    let arguments: Vec<&serde_json::Value> = report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["args"])
        .collect();
    assert_eq!(
        arguments,
        [&serde_json::json!(["x"]), &serde_json::json!(["ly"])],
        "{report}"
    );
    let notices = report["notices"].to_string();
    assert!(
        notices.contains("of 3 tests 1 run other programs (/bin/true)"),
        "{notices}"
    );
    let (status, told) = place.run(&["select", "--inputs", "ctest:nowhere", "--", "./letters"]);
    assert_eq!(status, 3, "{told}");
    assert!(told.contains("nowhere"), "{told}");
    let (status, told) = place.run(&["select", "--inputs", "cargo", "--", "./letters"]);
    assert_eq!(status, 3, "{told}");
    assert!(told.contains("lists no tests"), "{told}");
}

/// `work` always calls all of them; only `plain` and `inner` are called in no other way than that. `outer` is inlined.
const CALLS: &str = "#include <pthread.h>\n\
    int shared, depth; struct s { void (*call)(void); };\n\
    #define F __attribute__((noinline))\n\
    F static void plain(void) { shared++; }\n\
    F static void pointed(void) { shared++; }\n\
    F void exported(void) { shared++; }\n\
    F static int tail(int x) { return shared += x; }\n\
    F static int jumps(int x) { shared--; __attribute__((musttail)) return tail(x); }\n\
    F static void again(int x) { shared++; if (x) again(x - 1); }\n\
    F static void inner(void) { shared++; }\n\
    F static void seldom(void) { shared++; }\n\
    __attribute__((always_inline)) static inline void outer(int x) { shared++; inner(); if (x) seldom(); }\n\
    struct s table = { pointed };\n\
    static void *work(void *p) { shared++; plain(); pointed(); exported(); tail(1); jumps(2); again(3); outer(p != 0); return 0; }\n\
    int main(int argc, char **argv) { pthread_t t, u; pthread_create(&t, 0, work, 0); pthread_create(&u, 0, work, argv);\n\
    if (argc > 5) table.call(); pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

#[test]
fn what_is_called_in_unknown_ways_is_measured() {
    let place = Place::new("select-calls");
    std::fs::write(place.join("inputs.txt"), "one\n").unwrap();
    for (name, flags) in [("plainly", &["-O2"][..]), ("rdynamic", &["-O1", "-rdynamic"])] {
        place.build_with("cc", &format!("{name}.c"), CALLS, flags);
        let file = format!("./{name}");
        let words = ["select", "--inputs", "inputs.txt", "--format", "json", "--", &file];
        let (status, told) = place.run(&words);
        assert_eq!(status, 0, "{told}");
        let report = json(&told);
        let functions = report["unmeasured"]["functions"].as_array().unwrap();
        let mut left_out: Vec<&str> = functions
            .iter()
            .map(|f| f["function"]["name"].as_str().unwrap())
            .collect();
        left_out.sort_unstable();
        // With -rdynamic other files may call what is not static.
        let right: &[&str] = match name {
            "plainly" => &["exported", "inner", "jumps", "plain"],
            _ => &["inner", "jumps", "plain"],
        };
        assert_eq!(left_out, right, "{told}");
        assert!(functions.iter().all(|f| f["from"][0]["name"] == "work"), "{told}");
    }
}

#[test]
fn a_program_of_which_too_little_is_known_is_measured_whole() {
    let place = Place::new("select-stripped");
    let program = place.build_with("cc", "kernel.c", KERNEL, &["-O1", "-Wl,--strip-all"]);
    assert!(program.is_file());
    std::fs::write(place.join("inputs.txt"), "one\n").unwrap();
    let (status, told) = place.run(&["select", "--inputs", "inputs.txt", "--", "./kernel"]);
    assert_eq!(status, 0, "{told}");
    assert!(
        told.contains("every function is measured: the program's file: its symbols were stripped"),
        "{told}"
    );
}

/// Two threads; the second statement runs in those whose argument is 2.
const STEPS: &str = "#include <pthread.h>\n\
    volatile int first, second; __attribute__((noinline)) static void step(int k) { first += 0; if (k > 1) second++; }\n\
    static void *work(void *a) { step(*(char *)a - '0'); return a; }\n\
    int main(int argc, char **argv) { pthread_t t, u; (void)argc; pthread_create(&t, 0, work, argv[1]);\n\
    pthread_create(&u, 0, work, argv[2]); pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

#[test]
fn a_statement_that_two_threads_run_is_more_than_one_that_one_runs() {
    let place = Place::new("select-twice");
    place.build("steps", STEPS);
    std::fs::write(place.join("inputs.txt"), "1 2\n1 1\n2 2\n").unwrap();
    let arguments = ["select", "--inputs", "inputs.txt", "--format", "json", "--", "./steps"];
    let inputs = json(&place.run(&arguments).1)["inputs"]
        .as_array()
        .expect("inputs")
        .clone();
    let chosen: Vec<bool> = inputs.iter().map(|i| !i["chosen"].is_null()).collect();
    assert_eq!(chosen, [false, false, true]);
}

/// Each argument is what a thread does; the functions of the letters are inlined into one.
const INLINED: &str = "#include <pthread.h>\n\
    volatile int first, second;\n\
    static inline __attribute__((always_inline)) void one(void) { first++; }\n\
    static inline __attribute__((always_inline)) void two(void) { second++; }\n\
    static void *work(void *a) { for (const char *c = a; *c; c++) { if (*c == 'a') one(); if (*c == 'b') two(); } return a; }\n\
    int main(int argc, char **argv) { pthread_t t[4]; for (int i = 1; i < argc; i++)\n\
    pthread_create(&t[i], 0, work, argv[i]);\n\
    for (int i = 1; i < argc; i++) pthread_join(t[i], 0); return 0; }\n";

#[test]
fn functions_that_were_inlined_are_told_apart_by_the_threads_that_run_them() {
    let place = Place::new("select-inlined");
    place.build("chains", INLINED);
    // The first comes to every statement, and to none of them in two threads.
    std::fs::write(place.join("inputs.txt"), "a b\nb b\naa aaa\na a b b\n").unwrap();
    let chosen = |more: &[&str]| -> Vec<bool> {
        let arguments = [&["select", "--inputs", "inputs.txt", "--format", "json"], more];
        let (_, told) = place.run(&[&arguments.concat()[..], &["--", "./chains"]].concat());
        let inputs = json(&told)["inputs"].as_array().expect("inputs").clone();
        inputs.iter().map(|i| !i["chosen"].is_null()).collect()
    };
    assert_eq!(chosen(&[]), [false, false, false, true]);
    std::fs::write(place.join("inputs.txt"), "a b\nb b\naa aaa\n").unwrap();
    assert_eq!(chosen(&[]), [true, true, true]);
    assert_eq!(chosen(&["--pairs-only"]).iter().filter(|c| **c).count(), 1);
}

/// Loads a library twice, under another number each time; only then it races.
const RELOADED: &str = "#include <dlfcn.h>\n#include <pthread.h>\nstatic void (*step)(int);\nstatic int round_of;\n\
    static void *work(void *a) { step(round_of); return a; }\n\
    static void use(void) { void *library = dlopen(\"./libstep.so\", RTLD_NOW); pthread_t t; round_of++;\n\
    step = (void (*)(int))dlsym(library, \"step\"); pthread_create(&t, 0, work, 0); step(round_of);\n\
    pthread_join(t, 0); dlclose(library); }\n\
    int main(void) { use(); use(); return 0; }\n";
const STEP: &str = "int late;\nvoid step(int round) { if (round > 1) late++; }\n";

#[test]
fn functions_of_a_library_that_is_loaded_again_are_watched() {
    let place = Place::new("select-reloaded");
    let flags = ["-O1", "-shared", "-fPIC", "-o", "libstep.so"];
    place.build_with("cc", "libstep.c", STEP, &flags);
    place.build("reloaded", RELOADED);
    std::fs::write(place.join("inputs.txt"), "a\n").unwrap();
    let (_, told) = place.run(&[
        "detect",
        "--inputs",
        "inputs.txt",
        "--format",
        "json",
        "--",
        "./reloaded",
    ]);
    assert_eq!(json(&told)["findings"][0]["object"]["name"], "late", "{told}");
}
