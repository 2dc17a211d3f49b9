//! Explorations: every path, findings with their inputs, stored inputs used again, coverage.

mod programs;

use programs::Place;
use std::collections::BTreeSet;

/// The shape of the example in Ibing's paper: two independent choices by `rand`, in a good function and a bad one.
const TWO_CHOICES: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
    volatile int n; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *bad(void *a) { n = n + 1; return a; }\n\
    static void *good(void *a) { pthread_mutex_lock(&m); n = n + 1; pthread_mutex_unlock(&m); return a; }\n\
    static void two(void *(*f)(void *)) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); }\n\
    int main(void) { if (rand() % 2) two(good); else two(good); n = 0;\n\
    if (rand() % 2) two(bad); else two(good); return 0; }\n";

const CRASH: &str = "#include <stdlib.h>\n\
    int main(int argc, char **argv) { if (argc > 1 && atoi(argv[1]) == 4321) abort(); return 0; }\n";

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_papers_example_has_four_paths() {
    let place = Place::new("paths");
    place.build("choices", TWO_CHOICES);
    for order in ["generational", "depth-first"] {
        let (status, told) = place.run(&[
            "hunt",
            "--explore",
            "--search",
            order,
            "--runs",
            "4",
            "--format",
            "json",
            "--",
            "./choices",
        ]);
        assert_eq!(status, 1, "{told}");
        let report = json(&told);
        let real = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|f| f["verdict"] != "suspected");
        assert_eq!(real.count(), 1, "{told}");
        let notes = report["notices"].to_string();
        assert!(notes.contains("explored 4 inputs on 4 paths"), "{notes}");
        assert!(!notes.contains("left the path"), "{notes}");
    }
}

/// Explores a program in a way of pruning: how many inputs, suspicions and cancelled turns there were.
fn pruned(place: &Place, program: &str, mode: &str, more: &[&str]) -> (u64, BTreeSet<String>, u64) {
    let arguments = ["explore", "--anew", "--prune", mode, "--quiet", "--format", "json"];
    let (_, told) = place.run(&[&arguments, more, &["--", program]].concat());
    let report = json(&told);
    let exploration = &report["stats"]["exploration"];
    assert_eq!(exploration["pruning"]["mode"], mode, "{told}");
    let warned = report["notices"]
        .to_string()
        .contains("races behind them may be missed");
    assert_eq!(warned, mode == "branch", "{told}");
    let findings = report["findings"].as_array().unwrap().iter();
    let fingerprints = findings.map(|f| f["fingerprint"].as_str().unwrap().to_owned());
    let turns = exploration["pruning"]["turns"].as_u64().unwrap();
    (exploration["inputs"].as_u64().unwrap(), fingerprints.collect(), turns)
}

/// The second choice where the first went the other way is what the paper prunes.
#[test]
fn the_papers_example_is_pruned_as_in_the_paper() {
    let place = Place::new("paper");
    place.build("choices", TWO_CHOICES);
    for order in ["generational", "depth-first"] {
        let more = ["--search", order];
        let off = pruned(&place, "./choices", "off", &more);
        assert_eq!((off.0, off.1.len(), off.2), (4, 1, 0));
        let branch = pruned(&place, "./choices", "branch", &more);
        assert_eq!((branch.0, branch.1.len(), branch.2), (3, 1, 1));
        // A race waits behind the second choice.
        let safe = pruned(&place, "./choices", "race-safe", &more);
        assert_eq!((safe.0, safe.1.len(), safe.2), (4, 1, 0));
    }
}

#[test]
fn only_branch_pruning_loses_the_race_behind_a_mode_that_is_read_later() {
    let place = Place::new("mode");
    place.build("mode", include_str!("../../../cases/c/inputs/mode_read_later.c"));
    for order in ["generational", "depth-first"] {
        let races =
            ["off", "branch", "race-safe"].map(|mode| pruned(&place, "./mode", mode, &["--search", order]).1.len());
        assert_eq!(races, [1, 0, 1], "{order}");
    }
}

/// Input that only decides what nobody reads any more, in a loop, with output, beside a lock.
const IDLE_CHOICES: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    static int seen[8], count; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void add(void) { pthread_mutex_lock(&m); count++; pthread_mutex_unlock(&m); }\n\
    static void *other(void *a) { add(); return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, other, 0);\n\
    for (int i = 0; i < 8; i++) { if (rand() % 5 == 3) { seen[i] = 1; puts(\"three\"); } add(); }\n\
    pthread_join(t, 0); return 0; }\n";

#[test]
fn choices_that_nothing_hangs_on_are_taken_one_by_one() {
    let place = Place::new("idle");
    place.build("idle", IDLE_CHOICES);
    let safe = pruned(&place, "./idle", "race-safe", &[]);
    assert_eq!((safe.0, safe.1.len()), (9, 0));
    // Seven of the eight paths that differ from the first one are cut behind what they differ in.
    assert_eq!(safe.2, 28);
}

/// Random programs of two threads, all in one file, chosen by the program's name.
mod random {
    pub struct Random(pub u64);

    impl Random {
        pub fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % n
        }

        fn value(&mut self) -> String {
            match self.below(3) {
                0 => self.below(4).to_string(),
                1 => format!("in[{}]", self.below(6)),
                _ => format!("v[{}]", self.below(4)),
            }
        }

        pub fn block(&mut self, depth: u64) -> String {
            let count = 1 + self.below(if depth == 0 { 1 } else { 3 });
            (0..count).map(|_| self.statement(depth)).collect()
        }

        fn statement(&mut self, depth: u64) -> String {
            match self.below(if depth == 0 { 7 } else { 14 }) {
                0 | 1 => format!("v[{}] = {};\n", self.below(4), self.value()),
                2 => format!("v[{}] += {};\n", self.below(4), self.value()),
                3 => format!("s[{}] = 1;\n", self.below(3)),
                4 => format!("lock();\ns[{}]++;\nunlock();\n", self.below(3)),
                5 => "puts(\"here\");\n".into(),
                6 => format!("w = s[{}];\n", self.below(3)),
                7 if depth < 2 => format!("for (int i = 0; i < 2; i++) {{\n{}}}\n", self.block(depth - 1)),
                _ => {
                    let of = if self.below(4) == 0 {
                        self.value()
                    } else {
                        format!("in[{}]", self.below(6))
                    };
                    let test = ["==", "!=", "<"][self.below(3) as usize];
                    let (then, otherwise) = (self.block(depth - 1), self.block(depth - 1));
                    format!(
                        "if ({of} {test} {})\n{{\n{then}}} else {{\n{otherwise}}}\n",
                        1 + self.below(3)
                    )
                }
            }
        }
    }
}

#[test]
fn findings_of_random_programs_are_the_same_with_pruning() {
    const PROGRAMS: u64 = 10;
    let mut text = String::from(
        "#include <deadheat.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         static unsigned char in[6], v[4];\nint s[3];\nvolatile int w;\n\
         static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static void lock(void) { pthread_mutex_lock(&m); }\nstatic void unlock(void) { pthread_mutex_unlock(&m); }\n",
    );
    let mut choice = String::new();
    for n in 0..PROGRAMS {
        let mut random = random::Random(0x9e37_79b9 * (n + 1));
        let (before, first, second) = (random.block(1), random.block(2), random.block(2));
        text += &format!("static void before{n}(void)\n{{\n{before}}}\nstatic void first{n}(void)\n{{\n{first}}}\n");
        text += &format!("static void *second{n}(void *a)\n{{\n{second}return a;\n}}\n");
        choice += &format!(
            "case {n}: before{n}(); pthread_create(&t, 0, second{n}, 0); first{n}(); pthread_join(t, 0); break;\n"
        );
    }
    text += &format!(
        "int main(int argc, char **argv)\n{{\n(void)argc; pthread_t t;\ndeadheat_symbolic(in, sizeof in, \"in\");\n\
         switch (strrchr(argv[0], '_')[1] - '0') {{\n{choice}}}\nreturn 0;\n}}\n"
    );
    let place = Place::new("random");
    place.build("program_0", &text);
    let (mut inputs, mut turns) = ([0, 0], 0);
    for n in 0..PROGRAMS {
        let name = format!("program_{n}");
        if n > 0 {
            std::fs::hard_link(place.join("program_0"), place.join(&name)).unwrap();
        }
        let name = format!("./{name}");
        let [off, safe] = ["off", "race-safe"].map(|mode| pruned(&place, &name, mode, &["--search", "depth-first"]));
        assert_eq!(off.1, safe.1, "{name}:\n{text}");
        inputs[0] += off.0;
        inputs[1] += safe.0;
        turns += safe.2;
    }
    println!(
        "{} inputs without pruning, {} with it; {turns} turns cancelled",
        inputs[0], inputs[1]
    );
    assert!(inputs[1] <= inputs[0]);
}

#[test]
fn an_input_that_crashes_is_a_finding_and_runs_again() {
    let place = Place::new("crash");
    place.build("crash", CRASH);
    let (lcov, inputs) = (place.join("cover.info"), place.join("inputs"));
    let lcov = lcov.to_str().unwrap();
    let (status, told) = place.run(&[
        "explore",
        "--runs",
        "1",
        "--most-inputs",
        "60",
        "--lcov",
        lcov,
        "--export",
        inputs.to_str().unwrap(),
        "--quiet",
        "--format",
        "json",
        "--",
        "./crash",
        "5",
    ]);
    assert_eq!(status, 1, "{told}");
    let report = json(&told);
    let finding = &report["findings"][0];
    assert_eq!(
        (finding["kind"].as_str(), finding["verdict"].as_str()),
        (Some("crash"), Some("harmful")),
        "{told}"
    );
    assert_eq!(finding["input"]["differences"][0], "arguments \"4321\"", "{told}");
    let id = finding["id"].as_str().unwrap();
    let (status, told) = place.run(&["replay", id]);
    assert_eq!(status, 0, "{told}");
    let input = finding["input"]["id"].as_str().unwrap();
    let (_, told) = place.run(&["detect", "--input", input, "--", "./crash"]);
    assert!(told.contains("end badly"), "{told}");
    let (status, told) = place.run(&["detect", "--input", "i00000000", "--", "./crash"]);
    assert!(status == 3 && told.contains("there is no input"), "{told}");
    // The exported input does it without deadheat, too.
    let script = inputs.join(input).join("run.sh");
    let status = std::process::Command::new("sh").arg(script).output().unwrap().status;
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(6),
        "{status}"
    );
    let argv = std::fs::read(inputs.join(input).join("argv")).unwrap();
    assert_eq!(argv, b"4321\0");
    let cover = std::fs::read_to_string(lcov).unwrap();
    // Both sides of both conditions of line 2.
    assert!(cover.contains("SF:") && cover.contains("BRF:4\nBRH:4"), "{cover}");
}

/// Nothing is left to find: it ends by itself, and says what the program's branches came to.
#[test]
fn an_exploration_ends_when_paths_repeat_and_tells_infeasible_sides() {
    let place = Place::new("ends");
    place.build(
        "ends",
        "#include <stdlib.h>\nint main(int argc, char **argv) { int n = argc > 1 ? atoi(argv[1]) & 0xff : 0;\n\
         if (n * n % 4 == 3)\n abort();\n return n == 77; }\n",
    );
    let page = place.join("page.html");
    let (status, told) = place.run(&[
        "explore",
        "--budget",
        "10m",
        "--format",
        "html",
        "-o",
        page.to_str().unwrap(),
        "--",
        "./ends",
        "1",
    ]);
    assert_eq!(status, 0, "{told}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("which repeat what is known"), "{page}");
    let row = page.lines().find(|l| l.starts_with("<tr><td>3:")).expect("line 3");
    assert!(row.contains("infeasible") && row.contains("covered"), "{row}");
}

/// A second exploration goes on where the first stopped; what the first found is told again.
#[test]
fn an_exploration_goes_on() {
    let place = Place::new("goes-on");
    place.build("crash", CRASH);
    let explore = |more: &[&str]| {
        let fixed = ["explore", "--runs", "1", "--format", "json", "--quiet"];
        let (status, told) = place.run(&[&fixed, more, &["--", "./crash", "5"]].concat());
        (status, json(&told))
    };
    let explored = |report: &serde_json::Value| -> u64 {
        let notices = report["notices"].to_string();
        let count = notices
            .split("explored ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        count.expect("how many").parse().expect("a number")
    };
    let (status, first) = explore(&["--most-inputs", "3"]);
    assert_eq!((status, explored(&first)), (0, 3), "{first}");
    let (status, second) = explore(&["--most-inputs", "60"]);
    assert_eq!((status, explored(&second)), (1, 63), "{second}");
    assert!(
        second["notices"]
            .to_string()
            .contains("went on from an earlier exploration of 3 inputs")
    );
    let (_, ended) = explore(&[]);
    let (status, again) = explore(&[]);
    assert_eq!(explored(&ended), explored(&again));
    assert_eq!(status, 1, "{again}");
    assert_eq!(
        again["findings"][0]["input"]["differences"][0], "arguments \"4321\"",
        "{again}"
    );
    let (_, anew) = explore(&["--anew", "--most-inputs", "3"]);
    assert_eq!(explored(&anew), 3);
}

/// A bad end that was met is told when the budget ends the exploration, too.
#[test]
fn the_end_of_the_budget_loses_no_bad_end() {
    let place = Place::new("budget-ends");
    let source = "#include <stdlib.h>\n\
        int main(int argc, char **argv) { for (volatile int i = 0; i < 3000000; i++) {}\n\
        if (argc > 1 && argv[1][0] == 'Q') abort();\n\
        return argc > 1 && (atoi(argv[1]) == 4321 || atoi(argv[1]) == 987654); }\n";
    place.build("slow", source);
    let arguments = ["explore", "--quiet", "--format", "json", "--budget", "4s", "-j", "1"];
    let (status, told) = place.run(&[&arguments[..], &["--", "./slow", "5"]].concat());
    let told = json(&told);
    assert_eq!((status, &told["findings"][0]["kind"]), (1, &"crash".into()), "{told}");
}

/// How many runs go on at a time is no matter to what comes out.
#[test]
fn side_by_side_is_one_by_one() {
    let place = Place::new("side-by-side");
    place.build("crash", CRASH);
    let explore = |jobs: &str| {
        let (_, told) = place.run(&[
            "explore",
            "--anew",
            "--runs",
            "1",
            "-j",
            jobs,
            "--most-inputs",
            "70",
            "--format",
            "json",
            "--quiet",
            "--",
            "./crash",
            "5",
        ]);
        let report = json(&told);
        (report["notices"].to_string(), report["findings"].to_string())
    };
    assert_eq!(explore("1"), explore("3"));
}
