//! The runtime by itself: small C and C++ programs, built plainly and linked with the runtime object, run
//! under control. What they print, how they end and their schedule hashes must repeat.
//!
//! Needs an installation in `dist` (`cargo xtask build`) and clang-22.

use deadheat_wire::channel;
use deadheat_wire::plan::{Mode, PLAN_VARIABLE, Plan, Policy, RECORD_VARIABLE, Switch, Symbolic};
use deadheat_wire::record::{EndKind, Ended, Record};
use deadheat_wire::trace::{self, Constraint, Node, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// What is known of one run.
struct Run {
    output: String,
    records: Vec<Record>,
}

impl Run {
    fn ended(&self) -> Option<&Ended> {
        self.records.iter().rev().find_map(|r| match r {
            Record::Ended(ended) => Some(ended),
            _ => None,
        })
    }

    fn how(&self) -> Option<EndKind> {
        self.ended().map(|e| e.how)
    }

    fn hash(&self) -> Option<u64> {
        self.ended().map(|e| e.schedule_hash)
    }

    fn switches(&self) -> Vec<Switch> {
        let chunks = self.records.iter().filter_map(|r| match r {
            Record::Switches(switches) => Some(switches.as_slice()),
            _ => None,
        });
        chunks.flatten().copied().collect()
    }
}

fn dist() -> PathBuf {
    std::env::var_os("DEADHEAT_DIST").map_or_else(|| root().join("dist"), |d| root().join(d))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds a program of `tests/runtime`.
fn build(name: &str) -> PathBuf {
    build_with(name, &[])
}

/// The same with further words for the compiler. Once for all tests: one may be running what another asks for.
fn build_with(name: &str, words: &[&OsStr]) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().expect("a build did not fail");
    if let Some(program) = built.get(name) {
        return program.clone();
    }
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let library = dist().join("lib/deadheat");
    assert!(library.join("deadheat_rt.o").exists(), "run `cargo xtask build` first");
    let program = scratch.join(name.replace('.', "_"));
    let compiler = if name.ends_with(".cc") {
        "clang++-22"
    } else {
        "clang-22"
    };
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "-fuse-ld=lld-22"]);
    if name.ends_with(".cc") {
        command.arg("-std=c++20");
    }
    command.arg(root().join("xtask/tests/runtime").join(name));
    command.args([library.join("deadheat_rt.o"), library.join("deadheat_module.o")]);
    command.args(words);
    command.arg("-Wl,--export-dynamic-symbol=dh_*").arg("-o").arg(&program);
    assert!(
        command.status().expect("clang-22 is installed").success(),
        "{name} does not build"
    );
    built.insert(name.into(), program.clone());
    program
}

/// Runs a program under a policy; `tag` keeps runs of different tests apart.
fn run(program: &Path, argument: &str, policy: Policy, tag: &str) -> Run {
    run_under(program, argument, &Plan::new(Mode::Schedule, policy), tag)
}

/// The same under a plan.
fn run_under(program: &Path, argument: &str, own: &Plan, tag: &str) -> Run {
    let stem = format!("{}-{tag}", program.file_name().unwrap_or_default().to_string_lossy());
    let at = |kind: &str| program.with_file_name(format!("{stem}.{kind}"));
    let (plan, record, output) = (at("plan"), at("record"), at("output"));
    std::fs::write(&plan, own.encode()).expect("plan");
    let file = std::fs::File::create(&record).expect("record file");
    file.set_len(16 << 20).expect("record file's size");
    file.write_all_at(&channel::MAGIC, 0).expect("record file's header");
    let out = std::fs::File::create(&output).expect("output file");
    let mut command = Command::new("timeout");
    // Without address randomisation, as the tool runs programs.
    command
        .args(["-s", "KILL", "60", "setarch", "-R"])
        .arg(program)
        .arg(argument);
    command.env(PLAN_VARIABLE, &plan).env(RECORD_VARIABLE, &record);
    command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
    command.status().expect("timeout is installed");
    let (records, damage) = channel::read(&std::fs::read(&record).expect("record file"));
    assert_eq!(damage, None, "{stem}: damaged records");
    Run {
        output: std::fs::read_to_string(&output).expect("output"),
        records: records.into_iter().map(|(_, record)| record).collect(),
    }
}

fn random(seed: u64) -> Policy {
    Policy::Random { seed, switch: 300 }
}

/// Ten runs under each of two policies repeat, and a replay follows its record.
fn repeats(program: &Path, argument: &str, output: &str, end: EndKind) {
    for (name, policy) in [("fifo", Policy::Fifo), ("random", random(7))] {
        let tag = format!("{argument}-{name}");
        let first = run(program, argument, policy.clone(), &tag);
        assert_eq!(first.output, output, "{program:?} {argument} {name}");
        assert_eq!(first.how(), Some(end), "{program:?} {argument} {name}");
        for _ in 0..9 {
            let again = run(program, argument, policy.clone(), &tag);
            assert_eq!(
                again.hash(),
                first.hash(),
                "{program:?} {argument} {name}: another schedule"
            );
            assert_eq!(again.output, first.output, "{program:?} {argument} {name}");
        }
        let replay = run(
            program,
            argument,
            Policy::Replay {
                switches: first.switches(),
            },
            &tag,
        );
        assert!(
            !replay.records.iter().any(|r| matches!(r, Record::Diverged { .. })),
            "{program:?} {argument} {name}"
        );
        assert_eq!(
            replay.hash(),
            first.hash(),
            "{program:?} {argument} {name}: the replay is another schedule"
        );
    }
}

/// Exchanging threads in user space changes neither schedule nor output. (Of a program with child processes the
/// schedule does not repeat anyway.)
fn exchanges(program: &Path, argument: &str) {
    for (name, policy) in [
        ("fifo", Policy::Fifo),
        ("random", random(7)),
        ("often", Policy::Random { seed: 11, switch: 1024 }),
    ] {
        let tag = format!("exchange-{argument}-{name}");
        let by_kernel = Plan::new(Mode::Schedule, policy);
        let path = program.canonicalize().expect("the program");
        let in_user_space = Plan {
            exchanges: Some(path.to_string_lossy().into_owned()),
            ..by_kernel.clone()
        };
        let kernel = run_under(program, argument, &by_kernel, &tag);
        for _ in 0..3 {
            let user = run_under(program, argument, &in_user_space, &tag);
            assert_eq!(user.output, kernel.output, "{program:?} {argument} {name}");
            assert_eq!(user.how(), kernel.how(), "{program:?} {argument} {name}");
            assert!(user.how().is_some(), "{program:?} {argument} {name}");
            let processes = user.records.iter().filter(|r| matches!(r, Record::Ended(_))).count();
            if processes == 1 {
                assert_eq!(user.hash(), kernel.hash(), "{program:?} {argument} {name}");
            }
        }
    }
}

#[test]
fn switches_in_user_space_are_the_same() {
    exchanges(&build("primitives.c"), "");
    exchanges(&build("library.cc"), "");
    let endings = build("endings.c");
    for argument in [
        "segv",
        "abort",
        "assert",
        "overflow",
        "exit",
        "_exit",
        "quick_exit",
        "lock-order",
        "self-deadlock",
        "lost-wakeup",
        "hang",
        "main-leaves",
    ] {
        exchanges(&endings, argument);
    }
    let outside = build("outside.c");
    for argument in ["signals", "cancel", "sockets", "fork"] {
        exchanges(&outside, argument);
    }
    exchanges(&build("addresses.c"), "");
    exchanges(&build("many.c"), "500");
    let state = build("thread_state.c");
    exchanges(&state, "");
    exchanges(&state, "fork");
    exchanges(&state, "end");
}

/// At a site a thread may be in the midst of whatever registers there are.
#[test]
fn registers_are_kept_at_sites() {
    let mut plugin = OsString::from("-fpass-plugin=");
    plugin.push(dist().join("lib/deadheat/libdeadheat_pass.so"));
    let program = build_with("registers.c", &["-mavx2".as_ref(), &plugin]);
    exchanges(&program, "");
    assert_eq!(run(&program, "", random(3), "registers").output, "1\n");
}

#[test]
fn primitives() {
    let program = build("primitives.c");
    repeats(&program, "", "n=400 sum=6 serial=1 once=1 slept=1\n", EndKind::Exit(3));
}

#[test]
fn standard_library() {
    let program = build("library.cc");
    repeats(
        &program,
        "",
        "phases 50 done 4 timeout 0 destructors 4 shared 0 tries 3\n",
        EndKind::Exit(0),
    );
}

#[test]
fn endings() {
    let program = build("endings.c");
    let cases = [
        ("segv", EndKind::Signal(libc_signal::SEGV)),
        ("abort", EndKind::Signal(libc_signal::ABRT)),
        ("assert", EndKind::Signal(libc_signal::ABRT)),
        ("overflow", EndKind::Signal(libc_signal::SEGV)),
        ("exit", EndKind::Exit(9)),
        ("_exit", EndKind::Exit(10)),
        ("quick_exit", EndKind::Exit(11)),
        ("lock-order", EndKind::Deadlock),
        ("self-deadlock", EndKind::Deadlock),
        ("lost-wakeup", EndKind::Deadlock),
        ("hang", EndKind::Hang),
        ("main-leaves", EndKind::Exit(0)),
    ];
    for (argument, end) in cases {
        let result = run(&program, argument, Policy::Fifo, argument);
        assert_eq!(result.how(), Some(end), "{argument}");
        let again = run(&program, argument, Policy::Fifo, argument);
        assert_eq!(result.hash(), again.hash(), "{argument}");
    }
    let failed = run(&program, "assert", Policy::Fifo, "assert");
    let message = failed.ended().and_then(|e| e.assertion.clone()).unwrap_or_default();
    assert!(message.contains("Assertion `nothing' failed"), "{message}");
}

/// The signals' numbers on Linux.
mod libc_signal {
    pub const ABRT: i32 = 6;
    pub const SEGV: i32 = 11;
}

#[test]
fn deadlock_names_holders() {
    let program = build("endings.c");
    let result = run(&program, "lock-order", Policy::Fifo, "holders");
    let deadlock = result.records.iter().find_map(|r| match r {
        Record::Deadlock(deadlock) => Some(deadlock),
        _ => None,
    });
    let threads = &deadlock.expect("a deadlock").threads;
    let waiting: Vec<_> = threads
        .iter()
        .map(|w| (w.thread.0, w.holder.map(|h| h.0), w.held.len()))
        .collect();
    assert_eq!(waiting, [(0, Some(1), 1), (1, Some(0), 1)]);
    assert!(threads.iter().all(|w| !w.stack.is_empty()));
}

#[test]
fn own_lock_is_refused() {
    let refused = run(&build("own_lock.c"), "", Policy::Fifo, "fifo");
    assert_eq!(refused.how(), Some(EndKind::Refused));
}

#[test]
fn outside() {
    let program = build("outside.c");
    repeats(
        &program,
        "signals",
        "interrupted 1 waited 12 alarms 1 handled 1\n",
        EndKind::Exit(0),
    );
    repeats(&program, "cancel", "cleanup\n1 1\n", EndKind::Exit(0));
    repeats(&program, "sockets", "echoed 300\n", EndKind::Exit(0));
    for seed in 0..4 {
        let result = run(&program, "fork", random(seed), "fork");
        assert_eq!(result.output, "read 500000\nchild 7 count 4000\n");
        let ends = result.records.iter().filter(|r| matches!(r, Record::Ended(_))).count();
        assert_eq!(ends, 2, "parent and child each end");
    }
}

#[test]
fn addresses_repeat() {
    let program = build("addresses.c");
    let first = run(&program, "", random(3), "addresses");
    for _ in 0..9 {
        assert_eq!(run(&program, "", random(3), "addresses").output, first.output);
    }
}

#[test]
fn many_threads() {
    let program = build("many.c");
    let first = run(&program, "500", Policy::Fifo, "many");
    assert_eq!(
        (first.output.as_str(), first.how()),
        ("10000\n", Some(EndKind::Exit(0)))
    );
    assert_eq!(run(&program, "500", Policy::Fifo, "many").hash(), first.hash());
}

/// One run of a symbolic flavour under `fifo`: its expressions and its path constraints.
fn trace(program: &Path, argument: &str) -> (Vec<Node>, Vec<Constraint>) {
    let file = program.with_extension("trace");
    let room = std::fs::File::create(&file).expect("trace file");
    room.set_len(trace::FILE_SIZE as u64).expect("trace file's size");
    room.write_all_at(&trace::MAGIC, 0).expect("trace file's header");
    let symbolic = Symbolic {
        touches: false,
        hits_alone: false,
        trace: file.to_string_lossy().into_owned(),
        room: 4,
        longest: 0,
        most_arguments: 3,
        largest_file: 0,
        files: Vec::new(),
    };
    let plan = Plan {
        symbolic: Some(symbolic),
        ..Plan::new(Mode::Schedule, Policy::Fifo)
    };
    let run = run_under(program, argument, &plan, "symbolic");
    assert_eq!(run.how(), Some(EndKind::Exit(0)));
    let bytes = std::fs::read(&file).expect("trace file");
    let trace = Trace::new(&bytes).expect("a trace");
    assert_eq!(trace.word(trace::STALE_AT), 0);
    (trace.nodes().collect(), trace.constraints().collect())
}

/// What threads do with input gives the same expressions and constraints whenever it is run again.
#[test]
fn symbolic_traces_repeat() {
    let library = dist().join("lib/deadheat");
    let (pass, models) = (library.join("libdeadheat_pass.so"), library.join("deadheat_models.o"));
    let mut plugin = OsString::from("-fpass-plugin=");
    plugin.push(&pass);
    let words: [&OsStr; 8] = [
        &plugin,
        "-Xclang".as_ref(),
        "-load".as_ref(),
        "-Xclang".as_ref(),
        pass.as_ref(),
        "-mllvm".as_ref(),
        "-deadheat-symbolic".as_ref(),
        models.as_ref(),
    ];
    let program = build_with("symbolic.c", &words);
    let (nodes, constraints) = trace(&program, "kqbzna");
    let threads: BTreeSet<u16> = constraints.iter().map(|c| c.thread).collect();
    assert_eq!(threads.len(), 4, "main and three consumers meet branches on input");
    for _ in 1..20 {
        let again = trace(&program, "kqbzna");
        assert!(again.0 == nodes && again.1 == constraints, "another trace");
    }
}

#[test]
fn plain_run_is_untouched() {
    let program = build("primitives.c");
    let output = Command::new(&program)
        .env_remove(PLAN_VARIABLE)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(3));
    // By the real clock a busy machine sleeps longer.
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let slept = told.strip_prefix("n=400 sum=6 serial=1 once=1 slept=");
    let seconds = slept.and_then(|s| s.trim_end().parse::<u64>().ok());
    assert!(seconds.is_some_and(|s| s >= 1), "{told}");
    assert!(output.stderr.is_empty());
}
