//! Runs that a server forks are the very runs that are started one by one: same schedules, same records, same
//! addresses, same outputs and ends, whatever the program does.
//!
//! Needs an installation in `dist` (`cargo xtask build`).

use deadheat_confirm::{End, Program, Records, Run, Stage, StageOptions, StopReason};
use deadheat_wire::plan::{Mode, Plan, Policy, Targets};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program finds of itself: addresses, mappings, descriptors, signals, its place among processes, its input.
const ITSELF: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
extern char **environ;
static int data;
static void *thread(void *a) { int here; data++; printf("thread's stack %p\n", (void *)&here); return a; }
int main(int argc, char **argv) {
    int here; char line[4096]; sigset_t mask; struct sigaction action; struct rlimit limit;
    while (fgets(line, sizeof line, stdin)) printf("input %s", line);
    printf("%p %p %p %p %p %s %s\n", (void *)&here, malloc(10), (void *)&data, (void *)printf, (void *)argv, argv[0], argv[1]);
    for (int fd = 0; fd < 64; fd++) printf("%d", fcntl(fd, F_GETFL));
    for (int fd = 0; fd < 3; fd++) printf(" %d %d", fcntl(fd, F_GETFD), (int)lseek(fd, 0, SEEK_CUR) >= 0);
    printf("\nnext descriptor %d\n", open("/dev/null", O_RDONLY));
    sigprocmask(SIG_BLOCK, 0, &mask);
    for (int s = 1; s < 65; s++) {
        int known = sigaction(s, 0, &action);
        printf("%d%d%d ", known, sigismember(&mask, s), action.sa_handler == SIG_IGN);
    }
    printf("\n%d %d %d %d\n", getpid() == getpgrp(), getppid() == getpgrp(), getpid() == gettid(), setsid() == getpid());
    for (int r = 0; r < RLIM_NLIMITS; r++) getrlimit(r, &limit) || printf("%lx %lx\n", limit.rlim_cur, limit.rlim_max);
    for (char **e = environ; *e; e++) printf("%p %zu\n", (void *)*e, strlen(*e));
    pthread_t t, u;
    for (int round = 0; round < 2; round++) {
        FILE *maps = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, maps)) printf("%.*s\n", (int)strcspn(line, " ") + 5, line);
        fclose(maps);
        pthread_create(&t, 0, thread, 0); pthread_create(&u, 0, thread, 0);
        pthread_join(t, 0); pthread_join(u, 0);
    }
    printf("%s %d\n", getcwd(line, sizeof line), data);
    return argc;
}
"#;

/// Ends in many ways, by the schedule.
const ENDS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int x, *p;
static void *f(void *v) {
    for (int i = 0; i < 3; i++) { x++; pthread_mutex_lock(&a); pthread_mutex_lock(&b); x++; pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); }
    p = malloc(8); return v;
}
static void *g(void *v) {
    for (int i = 0; i < 3; i++) { x++; pthread_mutex_lock(&b); x++; pthread_mutex_unlock(&b); }
    if (x == 6) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); }
    if (x == 7) exit(7);
    if (x == 8) kill(0, SIGKILL);
    if (x == 9) kill(0, SIGTERM);
    *p = x; free(p); return v;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    printf("%d\n", x); assert(x != 11); return x == 12 ? 0 : 1;
}
"#;

/// Fails if it finds what a run before it left; some schedules leave it.
const WRITES: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int x;
static void *f(void *v) {
    for (int i = 0; i < 3; i++) { int was = x; pthread_mutex_lock(&m); pthread_mutex_unlock(&m); x = was + 1; }
    return v;
}
int main(void) {
    pthread_t t, u; struct stat s;
    if (!access("made", F_OK) || access("kept", F_OK) || access("below/kept", F_OK)) return 9;
    if (stat("kept", &s) || s.st_size != 1 || s.st_mode & 1) return 8;
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    if (x == 5) close(open("made", O_CREAT | O_WRONLY, 0600));
    if (x == 4) unlink("below/kept");
    if (x == 3) chmod("kept", 0777);
    if (x == 2) truncate("kept", 0);
    return x;
}
"#;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("dh-serving-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("below")).expect("a directory");
        for file in ["kept", "below/kept"] {
            std::fs::write(path.join(file), "k").expect("a file");
        }
        Place(path)
    }

    fn stage(&self, source: &str, stdin: &[u8]) -> Stage {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let dist = std::env::var_os("DEADHEAT_DIST").map_or_else(|| root.join("dist"), PathBuf::from);
        let tool = dist.join("bin/deadheat");
        assert!(tool.exists(), "run `cargo xtask build` first");
        std::fs::write(self.0.join("program.c"), source).expect("a source");
        let mut compiler = Command::new(tool);
        compiler.args(["cc", "-g", "-O1", "-pthread", "-w", "program.c", "-o", "program"]);
        assert!(compiler.current_dir(&self.0).status().expect("a compiler").success());
        let name = self.0.join("program").into_os_string();
        let mut program = Program::find(&name, vec![OsString::from("word")]).expect("a program");
        program.directory.clone_from(&self.0);
        program.stdin = stdin.to_vec();
        Stage::new(program, StageOptions::default()).expect("a stage")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// All that is known of a run, but for process ids and what it took.
fn shown(run: Run) -> String {
    let mut records: Records = run.records;
    let named = records.processes.iter_mut().flat_map(|process| process.objects.drain());
    let mut objects: Vec<String> = named.map(|object| format!("{object:?}")).collect();
    objects.sort();
    let ends = records.ended.iter_mut().chain(&mut records.children);
    ends.for_each(|ended| ended.record.pid = 0);
    if let Some(started) = &mut records.started {
        started.pid = 0;
    }
    format!(
        "{:?}\n{objects:?}\n{:?}\n{:?}\n{records:#?}",
        run.end,
        run.stdout.text(),
        run.stderr.text()
    )
}

/// Makes the same runs twice, once by servers; how they ended.
fn compared(name: &str, source: &str, stdin: &[u8], seeds: u64) -> (Vec<End>, u64) {
    let place = Place::new(name);
    let mut one_by_one = place.stage(source, stdin);
    let mut by_servers = place.stage(source, stdin);
    let ordinary = one_by_one.run(&Plan::new(Mode::Schedule, Policy::Fifo)).expect("a run");
    for stage in [&mut one_by_one, &mut by_servers] {
        stage.leave_network(&ordinary.records);
    }
    by_servers.serve(&ordinary.records);
    let lock_order = Targets {
        lock_order: true,
        atomics: true,
        ..Targets::default()
    };
    let mut ends = Vec::new();
    for seed in 1..=seeds {
        let (mode, policy) = match seed % 4 {
            0 => (Mode::Granules { per_signature: 16 }, Policy::Fifo),
            1 => (Mode::Schedule, Policy::Random { seed, switch: 300 }),
            2 => (Mode::Confirm(lock_order.clone()), Policy::Pos { seed }),
            _ => (
                Mode::Schedule,
                Policy::Pct {
                    seed,
                    depth: 3,
                    steps: 60,
                },
            ),
        };
        let plan = Plan::new(mode, policy);
        let [alone, served] = [&one_by_one, &by_servers].map(|stage| stage.run(&plan).expect("a run"));
        ends.push(alone.end);
        assert_eq!(shown(alone), shown(served), "{name}, seed {seed}");
    }
    (ends, by_servers.served())
}

#[test]
fn a_forked_run_finds_itself_as_one_that_was_started_alone() {
    let (ends, served) = compared("itself", ITSELF, b"first\nsecond\n", 12);
    assert!(ends.iter().all(|end| *end == End::Exit(2)), "{ends:?}");
    assert_eq!(served, 12);
}

#[test]
fn a_forked_run_ends_as_one_that_was_started_alone() {
    let (ends, served) = compared("ends", ENDS, b"", 48);
    let kinds = [
        End::Exit(0),
        End::Exit(1),
        End::Exit(7),
        End::Signal(libc_signal::SEGV),
        End::Signal(libc_signal::TERM),
        End::Stopped(StopReason::Killed),
    ];
    let seen: Vec<&End> = kinds.iter().filter(|end| ends.contains(end)).collect();
    assert!(seen.len() >= 4, "{seen:?}");
    assert!(served >= 36, "{served}");
}

#[test]
fn what_a_run_writes_is_not_there_for_the_next_one() {
    let (ends, served) = compared("writes", WRITES, b"", 32);
    assert!(
        !ends.contains(&End::Exit(9)) && !ends.contains(&End::Exit(8)),
        "{ends:?}"
    );
    assert!(ends.iter().any(|end| *end != End::Exit(6)), "{ends:?}");
    assert!(served > 0, "{served}");
}

mod libc_signal {
    pub const SEGV: i32 = 11;
    pub const TERM: i32 = 15;
}
