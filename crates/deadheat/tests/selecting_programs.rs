//! Thirty random programs, written out in C and measured: their concurrent pairs are those that brute force finds in the
//! complete log of an execution, run after run, whatever was left out of measuring.

#[path = "../../pairs/tests/log/mod.rs"]
mod log;
mod programs;

use deadheat_model::LockMode;
use log::program::{FUNCTIONS, LOCKS, Program, Statement, program};
use log::{Event, THREADS, brute_force};
use programs::Place;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A function's body. It touches something that is shared, or it would have nothing to be measured for.
fn body(f: u32, statements: &[Statement], out: &mut String) -> std::fmt::Result {
    for statement in statements {
        match statement {
            Statement::Call(g) if *g > f => write!(out, "f{g}(); ")?,
            Statement::Maybe(g) if *g > f => {
                write!(out, "{{ static __thread int turn; if (turn++ % 2 == 0) f{g}(); }} ")?;
            }
            Statement::Call(_) | Statement::Maybe(_) => {}
            Statement::Locked(lock, mode, inner) => {
                let how = if *mode == LockMode::Read { "rd" } else { "wr" };
                write!(out, "pthread_rwlock_{how}lock(&l{lock}); ")?;
                body(f, inner, out)?;
                write!(out, "pthread_rwlock_unlock(&l{lock}); ")?;
            }
            Statement::Create(t) => write!(out, "create({t}); ")?,
            Statement::Join(t) => write!(out, "join({t}); ")?,
            Statement::Post(_) | Statement::Wait(_) => {}
        }
    }
    Ok(())
}

/// The program in C. `main` waits for the threads that nobody waited for.
fn c(program: &Program) -> Result<String, std::fmt::Error> {
    let mut out = String::from("#include <pthread.h>\nint shared[16], state[16]; pthread_t threads[16];\n");
    for lock in 0..LOCKS {
        writeln!(out, "pthread_rwlock_t l{lock} = PTHREAD_RWLOCK_INITIALIZER;")?;
    }
    for f in 0..FUNCTIONS {
        writeln!(out, "__attribute__((noinline)) void f{f}(void);")?;
    }
    for t in 1..THREADS {
        writeln!(out, "static void *run{t}(void *a) {{ f{t}(); return a; }}")?;
    }
    let runs: Vec<String> = (1..THREADS).map(|t| format!("run{t}")).collect();
    writeln!(
        out,
        "static void *(*const runs[])(void *) = {{ 0, {} }};",
        runs.join(", ")
    )?;
    writeln!(
        out,
        "static void create(int t) {{ if (!state[t]++) pthread_create(&threads[t], 0, runs[t], 0); }}"
    )?;
    writeln!(
        out,
        "static void join(int t) {{ if (state[t] > 0) {{ pthread_join(threads[t], 0); state[t] = -99; }} }}"
    )?;
    for f in (0..FUNCTIONS).rev() {
        let mut text = String::new();
        body(f, &program.0[f as usize], &mut text)?;
        writeln!(out, "void f{f}(void) {{ shared[{f}]++; {text}}}")?;
    }
    writeln!(
        out,
        "int main(void) {{ f0(); for (int t = 1; t < {THREADS}; t++) join(t); return 0; }}"
    )?;
    Ok(out)
}

/// Whether some thread takes a lock that it holds.
fn re_entrant(events: &[(u32, Event)]) -> bool {
    let mut held = BTreeSet::new();
    events.iter().any(|(thread, event)| match event {
        Event::Lock(lock, _) => !held.insert((*thread, *lock)),
        Event::Unlock(lock, _) => !held.remove(&(*thread, *lock)),
        _ => false,
    })
}

/// Programs that end in every schedule that is tried, in which something is concurrent.
fn programs(count: usize) -> Vec<(Program, BTreeSet<(u32, u32)>)> {
    let mut runner = TestRunner::deterministic();
    let strategy = program(false);
    let mut found = Vec::new();
    while found.len() < count {
        let program = strategy.new_tree(&mut runner).expect("a program").current();
        let runs: Vec<_> = (0..20u8).map(|n| program.execution(&[n, n / 3, 7, n * 5])).collect();
        let (log, _) = &runs[0];
        let short = (0..THREADS).all(|t| program.events(t).len() < 200);
        if !short || re_entrant(log) || !runs.iter().all(|(_, ended)| *ended) {
            continue;
        }
        let pairs: BTreeSet<(u32, u32)> = brute_force(log).iter().collect();
        if pairs.len() > 4 {
            found.push((program, pairs));
        }
    }
    found
}

#[test]
fn measured_pairs_are_those_of_complete_logs() {
    let place = Place::new("select-programs");
    place.write("inputs.txt", "a\nb\n");
    let mut left_out = 0;
    for (n, (program, right)) in programs(30).iter().enumerate() {
        let (name, source) = (format!("p{n}"), c(program).expect("a string has room"));
        place.build(&name, &source);
        let file = format!("./{name}");
        let words = ["select", "--inputs", "inputs.txt", "--format", "json", "--", &file];
        let (status, told) = place.run(&words);
        assert_eq!(status, 0, "{told}\n{source}");
        let report: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        let number = |n: &serde_json::Value| {
            let name = report["functions"][n.as_u64()? as usize]["name"].as_str()?;
            name.strip_prefix('f')?.parse::<u32>().ok()
        };
        let pairs = report["pairs"].as_array().expect("pairs").iter();
        let found: BTreeSet<(u32, u32)> = pairs
            .filter_map(|pair| {
                let (a, b) = (number(&pair[0])?, number(&pair[1])?);
                Some((a.min(b), a.max(b)))
            })
            .collect();
        assert_eq!(&found, right, "{told}\n{source}");
        let inputs = report["inputs"].as_array().expect("inputs");
        assert_eq!(
            (&inputs[1]["new"], &inputs[1]["pairs"]),
            (&0.into(), &inputs[0]["pairs"]),
            "{told}"
        );
        left_out += report["unmeasured"]["functions"].as_array().map_or(0, Vec::len);
    }
    assert!(left_out > 10, "{left_out}");
}
