//! `deadheat scan`: what it reads, what it makes of it, what it does with what it cannot read.

mod programs;

use programs::Place;
use std::process::Command;

const LIST: &str = "#include <pthread.h>\n\
    struct node { int first; int second; };\n\
    struct list { pthread_mutex_t lock; struct node head; struct list *next; int (*run)(void *); };\n\
    static int hello(void *p) { return p != 0; }\n\
    struct list fixed = { .run = hello };\n\
    int set(struct list *l) { struct node *n = &l->head; n->first = 1; n->second = 2; return l->run(l); }\n\
    int main(void) { return set(&fixed) - 1; }\n";

fn clang() -> Command {
    Command::new(std::env::var_os("DEADHEAT_CLANG").unwrap_or("clang-22".into()))
}

/// The numbers in the line that tells of modules: found, lowered, cached, repeated, skipped.
fn modules(told: &str) -> [usize; 5] {
    let line = told
        .lines()
        .find(|line| line.contains("modules ("))
        .unwrap_or_else(|| panic!("{told}"));
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let before = |word: &str| {
        let at = words
            .iter()
            .position(|w| *w == word)
            .unwrap_or_else(|| panic!("{line}"));
        words[at - 1].parse().unwrap_or_else(|_| panic!("{line}"))
    };
    [
        before("modules"),
        before("lowered"),
        before("from"),
        before("repeated"),
        before("skipped"),
    ]
}

#[test]
fn fields_are_named_at_every_level() {
    for level in ["-O0", "-O1", "-O2"] {
        let place = Place::new(&format!("scan{level}"));
        place.build_with("cc", "list.c", LIST, &[level]);
        let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "--print-ir", "list"]);
        assert_eq!(status, 0, "{told}");
        for expected in [
            "tag node+0",
            "tag node+4",
            "tag list+56",
            "56: @hello tag list+56",
            "\"second\"",
            "%pthread_mutex_t",
        ] {
            assert!(told.contains(expected), "{level}: no {expected} in\n{told}");
        }
    }
}

#[test]
fn programs_archives_and_libraries_are_joined() {
    let place = Place::new("scan-joined");
    let sources = [
        (
            "one.c",
            "extern int two(void); int shared; __attribute__((weak)) int pick(void) { return 1; }\nint one(void) { return two() + pick(); }\n",
        ),
        (
            "two.c",
            "extern int shared; int pick(void) { return 2; }\nint two(void) { return shared++; }\n",
        ),
        ("lib.c", "static int own; int in_library(void) { return own++; }\n"),
        (
            "main.c",
            "extern int one(void); extern int in_library(void); static int own; int main(void) { return one() + in_library() + own++; }\n",
        ),
    ];
    for (name, text) in sources {
        place.write(name, text);
        let output = place.tool(&["cc", "-O1", "-fPIC", "-c", name]).output().unwrap();
        assert!(output.status.success(), "{}", programs::text(&output));
    }
    let archive = Command::new("ar")
        .current_dir(place.join("."))
        .args(["rcs", "libx.a", "one.o", "two.o"])
        .status();
    assert!(archive.unwrap().success());
    for line in [
        &["cc", "-shared", "lib.o", "-o", "liby.so"][..],
        &["cc", "main.o", "libx.a", "./liby.so", "-o", "main"],
    ] {
        assert_eq!(place.run(line).0, 0);
    }
    // An archive's members that are needed lie in the program; the library lies by itself.
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "main", "liby.so"]);
    assert_eq!(status, 0, "{told}");
    assert_eq!(modules(&told), [4, 4, 0, 0, 0], "{told}");
    assert!(told.contains("main: 4 units"), "{told}");
    let (_, told) = place.run(&["scan", "--sizes", "--no-cache", "libx.a", "liby.so", "main.o", "lib.o"]);
    assert_eq!(modules(&told), [5, 4, 0, 1, 0], "{told}");
    assert!(told.contains("objects: 4 units"), "{told}");
    // The strong definition stands.
    let (_, told) = place.run(&["scan", "--sizes", "--no-cache", "--print-ir", "one.o", "two.o"]);
    let pick = told
        .lines()
        .find(|line| line.starts_with("define @pick "))
        .unwrap_or_else(|| panic!("{told}"));
    assert!(pick.contains("two.c"), "{pick}");
}

#[test]
fn a_second_definition_is_told() {
    let place = Place::new("scan-twice");
    for name in ["a", "b"] {
        place.write(&format!("{name}.c"), "int twice(void) { return 0; }\n");
        assert_eq!(place.run(&["cc", "-c", &format!("{name}.c")]).0, 0);
    }
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "a.o", "b.o"]);
    assert_eq!(status, 0, "{told}");
    // The two modules differ in nothing but their source's name.
    assert!(
        told.contains("twice is defined twice: that of a.c stands, that of b.c is left out"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_analysed() {
    let place = Place::new("scan-damaged");
    place.write("good.c", LIST);
    let compiled = clang()
        .current_dir(place.join("."))
        .args(["-g", "-O1", "-c", "-emit-llvm", "good.c"])
        .status();
    assert!(compiled.expect("clang").success());
    let good = std::fs::read(place.join("good.bc")).unwrap();
    std::fs::create_dir(place.join("tree")).unwrap();
    std::fs::write(place.join("tree/cut.bc"), &good[..good.len() / 2]).unwrap();
    std::fs::write(place.join("tree/text.o"), "no object").unwrap();
    std::fs::write(place.join("tree/empty.bc"), "").unwrap();
    // Bytes turned over in many places: LLVM refuses some, dies of some, and reads some.
    for n in 0..40 {
        let mut bytes = good.clone();
        let at = 64 + n * (good.len() - 64) / 40;
        bytes[at] ^= 0x5a;
        std::fs::write(place.join(&format!("tree/turned{n:02}.bc")), bytes).unwrap();
    }
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "good.bc", "tree"]);
    assert_eq!(status, 0, "{told}");
    let [found, lowered, _, _, skipped] = modules(&told);
    // Neither a text nor an empty file holds a module.
    assert_eq!((found, lowered + skipped), (42, 44), "{told}");
    for name in ["cut.bc", "text.o", "empty.bc"] {
        assert!(told.contains(&format!("skipped tree/{name}: ")), "{told}");
    }
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "tree/text.o"]);
    assert_eq!(status, 3, "{told}");
    assert!(told.contains("no module could be read"), "{told}");
    assert_eq!(place.run(&["scan"]).0, 2);
}

#[test]
fn a_damaged_module_in_a_program_costs_only_itself() {
    let place = Place::new("scan-section");
    place.write("a.c", "int a(void) { return 1; }\n");
    place.write("b.c", "extern int a(void); int main(void) { return a() - 1; }\n");
    assert_eq!(place.run(&["cc", "a.c", "b.c", "-o", "program"]).0, 0);
    let path = place.join("program");
    let mut bytes = std::fs::read(&path).unwrap();
    let magic = b"DHBC\x01\0\0\0";
    let starts: Vec<usize> = (0..bytes.len() - 8)
        .filter(|at| bytes[*at..].starts_with(magic))
        .collect();
    // The last two are those of the section; the tool's own strings are not in programs.
    let first = starts[starts.len() - 2];
    bytes[first + 40..first + 60].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "program"]);
    assert_eq!(status, 0, "{told}");
    assert_eq!(modules(&told), [2, 1, 0, 0, 1], "{told}");
    assert!(told.contains("skipped program#1: "), "{told}");
}

#[test]
fn modules_that_did_not_change_are_not_read_again() {
    let place = Place::new("scan-cache");
    place.write("shared.h", "static inline int two(void) { return 2; }\n");
    place.write("a.c", "#include \"shared.h\"\nint a(void) { return two(); }\n");
    place.write("b.c", "int b(void) { return 1; }\n");
    let directory = place.join(".").canonicalize().unwrap();
    let entry = |file: &str| {
        format!(
            "{{\"directory\": {directory:?}, \"file\": \"{file}\", \"command\": \"cc -O1 -DX='1 2' -c {file} -o {file}.o\"}}"
        )
    };
    place.write(
        "compile_commands.json",
        &format!("[{}, {}]", entry("a.c"), entry("b.c")),
    );
    let scan = ["scan", "--sizes", "--compile-commands", "compile_commands.json"];
    let told = place.run(&scan).1;
    assert_eq!(modules(&told), [2, 2, 0, 0, 0], "{told}");
    let told = place.run(&scan).1;
    assert_eq!(modules(&told), [2, 0, 2, 0, 0], "{told}");
    place.write("shared.h", "static inline int two(void) { return 3; }\n");
    let told = place.run(&scan).1;
    assert_eq!(modules(&told), [2, 1, 1, 0, 0], "{told}");
    place.write("b.c", "int b(void) { return missing; }\n");
    let (status, told) = place.run(&scan);
    assert_eq!(status, 0, "{told}");
    assert!(
        told.contains("skipped b.c: clang: b.c:1:") && told.contains("missing"),
        "{told}"
    );
    place.write("compile_commands.json", "{}");
    assert_eq!(place.run(&scan).0, 3);
}

#[test]
fn rust_s_bitcode_is_read() {
    let place = Place::new("scan-rust");
    place.write(
        "counter.rs",
        "use std::sync::atomic::{AtomicU32, Ordering};\npub static COUNT: AtomicU32 = AtomicU32::new(0);\n\
         pub fn count() -> u32 { COUNT.fetch_add(1, Ordering::SeqCst) }\npub trait Shape { fn area(&self) -> u64; }\n\
         pub fn total(shapes: &[Box<dyn Shape>]) -> u64 { shapes.iter().map(|s| s.area()).sum() }\n",
    );
    let mut rustc = Command::new("rustc");
    rustc.current_dir(place.join(".")).args([
        "--crate-type=lib",
        "--emit=llvm-bc",
        "-g",
        "-Cno-prepopulate-passes",
        "counter.rs",
    ]);
    assert!(rustc.status().expect("rustc").success());
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "--print-ir", "counter.bc"]);
    assert_eq!(status, 0, "{told}");
    assert!(
        told.contains("rmw add i32 4") && told.contains("atomic seq_cst"),
        "{told}"
    );
    assert!(told.contains("\"counter.rs\""), "{told}");
}

#[test]
fn bitcode_alone_can_be_kept() {
    let place = Place::new("scan-only");
    let watched = std::fs::read(place.build("watched", LIST)).unwrap();
    place.write("list.c", LIST);
    let mut compiler = place.tool(&["cc", "-O2", "list.c", "-o", "list"]);
    // What `deadheat build --bitcode-only` tells the drivers.
    let output = compiler.env("DEADHEAT_BITCODE_ONLY", "1").output().unwrap();
    assert!(output.status.success(), "{}", programs::text(&output));
    let bytes = std::fs::read(place.join("list")).unwrap();
    let holds = |bytes: &[u8], name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    for (name, kept) in [(&b".dh.bc\0"[..], true), (b"dh_sites\0", false), (b"dh_check_", false)] {
        assert!(
            holds(&watched, name) && holds(&bytes, name) == kept,
            "{}",
            String::from_utf8_lossy(name)
        );
    }
    assert!(Command::new(place.join("list")).status().unwrap().success());
    let (status, told) = place.run(&["scan", "--sizes", "--no-cache", "list"]);
    assert_eq!(status, 0, "{told}");
    assert_eq!(modules(&told), [1, 1, 0, 0, 0], "{told}");
}

#[test]
fn only_what_is_new_since_the_baseline_is_listed() {
    let place = Place::new("scan-baseline");
    let compile = |text: &str| {
        place.write("race.c", text);
        let mut clang = clang();
        clang.current_dir(place.join("."));
        let made = clang
            .args(["-g", "-emit-llvm", "-c", "race.c", "-o", "race.bc"])
            .status();
        assert!(made.expect("clang").success());
    };
    let program = |above: &str, more: &str| {
        format!(
            "#include <pthread.h>\n{above}int known, fresh;\n\
             static void *work(void *p) {{\n  known++;\n{more}  return p;\n}}\n\
             int main(void) {{\n  pthread_t t;\n  pthread_create(&t, 0, work, 0);\n  known++;\n  fresh++;\n  \
             return pthread_join(t, 0);\n}}\n"
        )
    };
    let against = |rest: &[&str]| place.run(&[&["scan", "--no-cache", "--baseline", "known.json"], rest].concat());
    compile(&program("", ""));
    let (status, told) = place.run(&["scan", "--no-cache", "--format", "json", "-o", "known.json", "race.bc"]);
    assert_eq!(status, 0, "{told}");
    // Lines move: nothing is new.
    compile(&program("/* more\n   lines */\n", ""));
    let (status, told) = against(&["--fail-on", "suspected", "race.bc"]);
    assert!(status == 0 && told.contains("0 new"), "{told}");
    compile(&program("", "  fresh++;\n"));
    let (status, told) = against(&["--fail-on", "suspected", "race.bc"]);
    assert!(
        status == 1 && told.contains("`fresh`") && !told.contains("`known`"),
        "{told}"
    );
    let (status, told) = against(&["--format", "sarif", "race.bc"]);
    assert!(
        status == 0 && told.contains("\"race.c\"") && told.contains("fresh"),
        "{told}"
    );
    place.write("known.json", "no report");
    assert_eq!(against(&["race.bc"]).0, 2);
}

const BOOKING: &str = "#include <pthread.h>\n\
    volatile int places = 1, refunds;\n\
    static int returned;\n\
    static void *book(void *arg) {\n\
    if (places > 0)\n\
    places--;\n\
    if (returned)\n\
    refunds++;\n\
    return arg;\n\
    }\n\
    int main(int argc, char **argv) {\n\
    pthread_t t, u;\n\
    returned = argc > 1;\n\
    pthread_create(&t, 0, book, 0);\n\
    pthread_create(&u, 0, book, 0);\n\
    pthread_join(t, 0);\n\
    pthread_join(u, 0);\n\
    return 0;\n\
    }\n";

#[test]
fn a_hunt_tries_what_the_scan_warns_of_beyond_what_runs_predict() {
    let place = Place::new("scan-and-hunt");
    place.build_with("cc", "booking.c", BOOKING, &["-O1"]);
    let (status, told) = place.run(&["hunt", "--scan", "--suspected", "--runs", "8", "--", "./booking"]);
    assert_eq!(status, 1, "{told}");
    // No schedule of phase 1 gets both threads past the test.
    let both =
        "real       data race on global `places`: read-write at booking.c:6:7 in book, read-write at booking.c:6:7";
    assert!(told.contains(both), "{told}");
    let unreached = "suspected  data race on global `refunds`: write at booking.c:8:8 in book, write at booking.c:8:8";
    assert!(
        told.contains(unreached) && told.contains("none of its statements was executed"),
        "{told}"
    );
    let stage = "1 predicted by runs too, 1 shown beyond them; 0 tried and not shown, 1 not reached with this input";
    assert!(told.contains(stage), "{told}");
    let (_, told) = place.run(&["hunt", "--scan", "--runs", "8", "--", "./booking", "again"]);
    assert!(told.contains(" 0 not reached with this input"), "{told}");
}
