//! Explorations: every path, findings with their inputs, stored inputs used again, coverage.

mod programs;

use programs::Place;

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
