//! Runs of several programs and processes: each statement, thread and address is its own program's.

mod programs;

use programs::Place;

/// Counts under a mutex, and starts the other program.
const STARTS: &str = "#include <pthread.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    static int count;\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *adds(void *a) { pthread_mutex_lock(&m);\n\
    count++; // guarded\n\
    pthread_mutex_unlock(&m); return a; }\n\
    int main(void) { pthread_t t, u; pid_t child = fork();\n\
    if (!child) { execl(\"./other\", \"other\", (char *)0); _exit(9); }\n\
    pthread_create(&t, 0, adds, 0); pthread_create(&u, 0, adds, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0);\n\
    int status; waitpid(child, &status, 0); return WEXITSTATUS(status) == 9; }\n";

/// As many sites, at the same addresses; nothing is guarded.
const OTHER: &str = "#include <pthread.h>\n#include <unistd.h>\n\
    static int sum;\n\
    static void *races(void *a) { usleep(1000);\n\
    sum++; // bare\n\
    return a; }\n\
    int main(void) { pthread_t t, u;\n\
    pthread_create(&t, 0, races, 0); pthread_create(&u, 0, races, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

/// The child's first thread has the number that the parent's has.
const FORKS: &str = "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    static int sum;\n\
    static void *quiet(void *a) { return a; }\n\
    static void *loud(void *a) { int seen = sum; sum = seen + 1; return a; }\n\
    static void two(void *(*f)(void *)) { pthread_t t, u;\n\
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); }\n\
    int main(void) { pid_t child = fork();\n\
    two(child ? quiet : loud);\n\
    if (child) waitpid(child, 0, 0); return 0; }\n";

#[test]
fn a_program_that_another_starts_is_hunted_in_under_its_own_names() {
    let place = Place::new("starts");
    place.build("starts", STARTS);
    place.build("other", OTHER);
    let (status, told) = place.run(&["hunt", "--runs", "6", "--format", "json", "--", "./starts"]);
    assert_eq!(status, 1, "{told}");
    let report: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let real: Vec<_> = report["findings"].as_array().expect("findings").iter().collect();
    let functions: Vec<_> = real
        .iter()
        .filter(|f| f["verdict"] != "suspected")
        .flat_map(|f| f["accesses"].as_array().into_iter().flatten())
        .map(|a| (a["function"].as_str(), a["line"].as_u64()))
        .collect();
    assert_eq!(functions, [(Some("races"), Some(5)); 2], "{told}");
    let (status, told) = place.run(&["replay", "F1"]);
    assert_eq!(status, 0, "{told}");
}

#[test]
fn threads_are_told_by_the_process_that_they_are_in() {
    let place = Place::new("forks");
    place.build("forks", FORKS);
    let (status, told) = place.run(&["hunt", "--runs", "6", "--", "./forks"]);
    assert_eq!(status, 1, "{told}");
    assert!(told.contains("(runs loud)") && !told.contains("(runs quiet)"), "{told}");
}
