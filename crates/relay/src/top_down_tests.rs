use super::contexts::CONTEXTS;
use super::*;
use crate::execution::Summaries;
use crate::points_to::Pointers;
use crate::scan::{Options, Remembered, Scan, scan, scan_again};
use crate::summary::Summary;
use crate::{Models, subject::Subject};
use deadheat_ir::{Program, parse};
use deadheat_points_to::{Limits, PointsTo};
use proptest::prelude::*;

/// A program of these functions, with `locks` locks and two variables.
fn program(locks: usize, functions: &str) -> Program {
    let mut text = "module \"t.c\"\nglobal @data internal 8\nglobal @other internal 8\n".to_owned();
    (0..locks).for_each(|n| text += &format!("global @l{n} internal 40\n"));
    text += "declare @pthread_mutex_lock (ptr) i32\ndeclare @pthread_mutex_unlock (ptr) i32\ndeclare @choice () i32\n";
    Program::link(vec![parse(&(text + functions)).unwrap()])
}

fn function(name: &str, lines: &[String]) -> String {
    format!("define @{name} () void at \"t.c\":1 {{\nentry:\n{}}}\n", lines.concat())
}

fn lock(n: usize) -> String {
    format!("  call @pthread_mutex_lock(@l{n}) at 2:1\n")
}

fn unlock(n: usize) -> String {
    format!("  call @pthread_mutex_unlock(@l{n}) at 3:1\n")
}

fn call(name: &str) -> String {
    format!("  call @{name}() at 4:1\n")
}

fn write(name: &str) -> String {
    format!("  store i64 8 7i64 to @{name} at 5:1\n")
}

fn end() -> String {
    "  return\n".to_owned()
}

/// What is found where any thread may call the functions whose names begin so.
fn scanned(program: &Program, entry: &str) -> Scan {
    scanned_with(program, entry, false)
}

fn scanned_with(program: &Program, entry: &str, views: bool) -> Scan {
    let models = Models::built_in().unwrap();
    let points_to = PointsTo::analyse(program, &models, &Limits::default());
    let options = Options {
        entries: vec![entry.to_owned()],
        views,
        ..Options::default()
    };
    scan(&program.module, &models, &Pointers(&points_to), &options).unwrap()
}

fn summary(program: &Program, name: &str) -> Summary {
    let models = Models::built_in().unwrap();
    let points_to = PointsTo::analyse(program, &models, &Limits::default());
    let pointers = Pointers(&points_to);
    let subject = Subject::new(&program.module, &models, &pointers);
    let function = program.module.find(name).and_then(|s| program.module[s].body());
    let summaries = BottomUp::run(&subject);
    summaries.summary(function.unwrap()).unwrap().clone()
}

/// Variables about which something is warned, in the order of their names.
fn warned(program: &Program, scan: &Scan) -> Vec<&'static str> {
    let named = |name: &str| {
        let symbol = program.module.find(name).unwrap();
        let is_it = |path: &Option<Arc<Path>>| {
            path.as_ref()
                .is_some_and(|p| p.root == Root::Global(symbol.index() as u32))
        };
        let mut warnings = scan.warnings.warnings.iter();
        warnings.any(|w| w.sides.iter().any(|side| is_it(&side.class.path)))
    };
    ["data", "other"].into_iter().filter(|name| named(name)).collect()
}

#[test]
fn further_roots_are_one_that_runs_at_any_time() {
    let count = ROOTS + 5;
    let each = |n: usize| {
        let body = match n + 1 == count {
            true => [lock(0), write("data"), unlock(0), write("other"), end()].concat(),
            false => [lock(0), write("data"), unlock(0), end()].concat(),
        };
        function(&format!("thread_{n:02}"), &[body])
    };
    let start = |n: usize| format!("  call @pthread_create(@h, 0i64, @thread_{n:02}, 0i64) at 6:1\n");
    let text = "global @h internal 8\ndeclare @pthread_create () i32\n".to_owned()
        + &(0..count).map(each).collect::<String>()
        + &function("entry_one", &[(0..count).map(start).collect(), end()]);
    let program = program(1, &text);
    let scan = scanned(&program, "entry_*");
    assert_eq!(scan.found.roots.len(), ROOTS + 1);
    assert_eq!(scan.found.cut.roots, 6);
    assert_eq!(scan.figures.reached, count + 1);
    assert_eq!(warned(&program, &scan), ["other"]);
}

#[test]
fn what_may_be_called_at_any_time_is_one_root() {
    let count = ROOTS + 6;
    let each = |n: usize| {
        let call = if n < 2 { call("shared") } else { String::new() };
        let body = [lock(0), write("data"), call, unlock(0), end()];
        function(&format!("entry_{n:02}"), &[body.concat()])
    };
    let shared = function("shared", &[unlock(0), write("other"), lock(0), end()]);
    let program = program(1, &((0..count).map(each).collect::<String>() + &shared));
    let scan = scanned(&program, "entry_*");
    let found = &scan.found;
    assert_eq!((found.roots.len(), found.roots[0].others), (1, count - 1));
    assert_eq!((found.contexts.len(), found.cut.roots), (count + 1, 0));
    assert_eq!(warned(&program, &scan), ["other"]);
    // A way to it goes from a function that calls it.
    let shared = found.contexts.len() as u32 - 1;
    assert!(program.module.function_name(found.start(shared)).starts_with("entry_0"));
    assert_eq!(found.upwards(shared).count(), 2);
}

#[test]
fn what_the_kernel_runs_later_runs_beside_what_registers_it() {
    let registered = [
        ("call_rcu", "@other, @later"),
        ("init_timer_key", "@other, @later"),
        ("tasklet_setup", "@other, @later"),
        ("open_softirq", "@other, @later"),
        ("kthread_create_on_node", "@later, @other"),
        ("request_threaded_irq", "@other, @later"),
        ("queue_work_on", "@other, @other, @work"),
    ];
    for (name, arguments) in registered {
        let text = format!("declare @{name} () i32\nglobal @work internal constant 32 = {{24: @later}}\n")
            + &function("later", &[write("data"), end()])
            + &function(
                "entry_one",
                &[format!("  call @{name}({arguments}) at 6:1\n"), write("data"), end()],
            );
        let program = program(0, &text);
        let scan = scanned(&program, "entry_*");
        assert_eq!(scan.found.roots.len(), 2, "{name}");
        assert_eq!(warned(&program, &scan), ["data"], "{name}");
    }
}

#[test]
fn what_is_run_later_is_one_root_of_each_kind_without_the_programs_start() {
    let count = 5;
    let later = |n: usize| function(&format!("later_{n}"), &[write("data"), end()]);
    let register = |n: usize| format!("  call @call_rcu(@other, @later_{n}) at 6:{n}\n");
    let text = "declare @call_rcu () i32\ndeclare @tasklet_setup () i32\n".to_owned()
        + &(0..=count).map(later).collect::<String>()
        + &function(
            "entry_one",
            &[
                (0..count).map(register).collect(),
                format!("  call @tasklet_setup(@other, @later_{count}) at 7:1\n"),
                end(),
            ],
        );
    let program = program(0, &text);
    let found = scanned(&program, "entry_*").found;
    let kinds: BTreeSet<_> = found.roots.iter().map(|r| (r.kind, r.others)).collect();
    assert_eq!(found.roots.len(), kinds.len());
    assert_eq!(found.created.len(), count + 1);
    assert_eq!(found.contexts.len(), count + 2);
    assert!(found.created.values().all(Option::is_some));
    assert_eq!(warned(&program, &scanned(&program, "entry_*")), ["data"]);
}

#[test]
fn what_any_of_several_functions_does_is_told_apart_by_locks() {
    let text = function("takes", &[lock(0), write("data"), end()])
        + &function("takes_too", &[lock(0), write("other"), end()])
        + &function("does_not", &[write("data"), end()]);
    let program = program(1, &text);
    let of = |names: &[&str]| {
        let all: Vec<Summary> = names.iter().map(|name| summary(&program, name)).collect();
        Summary::any_of(all.iter())
    };
    let both = of(&["takes", "takes_too"]);
    assert_eq!((both.cases.len(), both.cases[0].locks.acquired().count()), (1, 1));
    assert_eq!(both.cases[0].memory.len(), 2);
    assert_eq!(of(&["takes", "does_not", "takes_too"]).cases.len(), 2);
}

#[test]
fn a_name_that_nothing_begins_with_is_no_entry() {
    let program = program(0, &function("entry_one", &[end()]));
    let models = Models::built_in().unwrap();
    let points_to = PointsTo::analyse(&program, &models, &Limits::default());
    let options = Options {
        entries: vec!["exit_*".to_owned()],
        ..Options::default()
    };
    assert!(scan(&program.module, &models, &Pointers(&points_to), &options).is_err());
}

/// A function that is called with more different locks than it is executed for: which variables are warned about, what was
/// cut, and from which roots it is executed without a lock.
fn called_with(locks: impl Fn(usize) -> Vec<usize>) -> (Vec<&'static str>, Cut, BTreeSet<usize>) {
    let count = CONTEXTS + 8;
    let each = |n: usize| {
        let held = locks(n);
        let mut lines: Vec<String> = held.iter().map(|l| lock(*l)).collect();
        lines.push(call("change"));
        lines.extend(held.iter().rev().map(|l| unlock(*l)));
        lines.push(end());
        function(&format!("entry_{n:02}"), &lines)
    };
    let mut text = function("change", &[write("data"), end()]);
    text += &(0..count).map(each).collect::<String>();
    let program = program(count + 1, &text);
    let scan = scanned(&program, "entry_*");
    let free = scan.found.classes.keys().filter(|class| class.guards.is_empty());
    let free = free.map(|class| class.root).collect();
    (warned(&program, &scan), scan.found.cut, free)
}

#[test]
fn joined_contexts_hold_what_all_their_callers_hold() {
    let (warned, cut, _) = called_with(|n| vec![0, n + 1]);
    assert!(cut.contexts > 0 && cut.functions == 1, "{cut:?}");
    assert_eq!(warned, [""; 0]);
    let (warned, cut, _) = called_with(|n| vec![n + 1]);
    assert!(cut.contexts > 0 && cut.calls == 0, "{cut:?}");
    assert_eq!(warned, ["data"]);
}

#[test]
fn a_caller_without_locks_takes_no_others_theirs() {
    let (warned, _, free) = called_with(|n| if n == 0 { vec![] } else { vec![0, n + 1] });
    assert_eq!(warned, ["data"]);
    assert_eq!(free, BTreeSet::from([0]));
}

#[test]
fn what_is_taken_and_given_back_is_left_out_of_summaries() {
    let text = function("both", &[lock(0), unlock(0), end()])
        + &function("give", &[unlock(0), end()])
        + &function("entry_one", &[lock(1), call("both"), write("data"), unlock(1), end()])
        + &function("entry_two", &[lock(0), call("give"), write("other"), end()]);
    let program = program(2, &text);
    assert!(summary(&program, "both").cases.iter().all(|c| c.locks.is_empty()));
    assert!(summary(&program, "give").cases.iter().all(|c| !c.locks.is_empty()));
    assert_eq!(warned(&program, &scanned(&program, "entry_*")), ["other"]);
}

#[test]
fn a_lock_given_back_deep_in_recursion_is_given_back() {
    let count = 70;
    let each = |n: usize, last: String| {
        let next = match n + 1 == count {
            true => format!(
                "{last}  %c = call @choice() at 6:1\n  %z = eq %c, 0i32\n  branch %z, out, again\nagain:\n  call @f00() at 7:1\n  jump out\nout:\n"
            ),
            false => call(&format!("f{:02}", n + 1)),
        };
        function(&format!("f{n:02}"), &[next, end()])
    };
    let all = |last: String| (0..count).map(|n| each(n, last.clone())).collect::<String>();
    let body = [lock(0), call("f00"), write("data"), unlock(0), end()];
    for (last, expected) in [(unlock(0), vec!["data"]), (String::new(), vec![])] {
        let program = program(1, &(all(last) + &function("entry_one", &body)));
        assert_eq!(warned(&program, &scanned(&program, "entry_*")), expected);
    }
}

#[test]
fn ways_that_are_joined_early_still_warn() {
    // A callee that stores much, called on ways that differ in the locks that they hold.
    let places: String = (0..40).map(|n| format!("global @place{n} internal 8\n")).collect();
    let stores = (0..40)
        .map(|n| format!("  store i64 8 7i64 to @place{n} at 5:1\n"))
        .collect::<String>();
    let mut body = lock(0) + "  jump head\nhead:\n";
    for n in 1..6 {
        body += &format!("  %c{n} = call @choice() at 6:1\n  %z{n} = eq %c{n}, 0i32\n  branch %z{n}, b{n}, a{n}\n");
        body += &format!("a{n}:\n{}  jump b{n}\nb{n}:\n", lock(n));
    }
    body += &call("fill").repeat(80);
    body += &(write("data") + &unlock(0) + &write("other"));
    body += "  %c = call @choice() at 6:1\n  %z = eq %c, 0i32\n  branch %z, out, again\nagain:\n";
    body += &(lock(0) + "  jump head\nout:\n  return\n");
    // In a large program less effort is spent on each function.
    let large: String = (0..100_000).map(|n| format!("  %n{n} = add 1i64, 2i64\n")).collect();
    let text = places
        + &function("large", &[large, end()])
        + &function("fill", &[stores, end()])
        + &function("entry_one", &[body]);
    let program = program(6, &text);
    let scan = scanned(&program, "entry_*");
    assert!(scan.figures.widened > 0);
    assert!(warned(&program, &scan).contains(&"other"));
    assert!(!warned(&program, &scan).contains(&"data"));
}

/// What each class of accesses is to, does, and is guarded by.
fn accessed(scan: &Scan) -> BTreeSet<(Option<Arc<Path>>, bool, Vec<crate::guard::Guard>)> {
    let classes = scan.found.classes.keys();
    classes
        .map(|c| {
            let writes = c.kind == crate::execution::AccessKind::Write;
            (c.path.clone(), writes, (*c.guards).clone())
        })
        .collect()
}

/// Functions that lock, unlock, write and call each other, those with a lower number those with a higher one; two are entries.
fn random(bodies: &[Vec<(usize, usize)>], before: &str) -> Program {
    let body = |(number, steps): (usize, &Vec<(usize, usize)>)| {
        let step = |(what, n): &(usize, usize)| match what {
            0 => lock(n % 3),
            1 => unlock(n % 3),
            2 => write(["data", "other"][n % 2]),
            _ if *n > number => call(&format!("f{}", n.max(&2))),
            // Recursion.
            _ if *n == 3 => call("f4"),
            _ => write("data"),
        };
        let lines: String = steps.iter().map(step).collect();
        let name = if number < 2 {
            format!("entry_{number}")
        } else {
            format!("f{number}")
        };
        function(&name, &[lines, end()])
    };
    let all: String = bodies.iter().enumerate().map(body).collect();
    program(3, &(before.to_owned() + &all))
}

fn bodies() -> impl Strategy<Value = Vec<Vec<(usize, usize)>>> {
    proptest::collection::vec(proptest::collection::vec((0_usize..4, 0_usize..6), 1..8), 6)
}

/// What is found with what an earlier analysis remembered, what this one does, and how many executions were.
fn scanned_again(program: &Program, kept: Vec<u8>) -> (String, Vec<u8>, [usize; 2]) {
    let models = Models::built_in().unwrap();
    let points_to = PointsTo::analyse(program, &models, &Limits::default());
    let options = Options {
        entries: vec!["entry_*".to_owned()],
        views: true,
        ..Options::default()
    };
    let mut remembered = Remembered {
        kept: Some(kept),
        ..Remembered::default()
    };
    let scan = scan_again(
        &program.module,
        &models,
        &Pointers(&points_to),
        &options,
        &mut remembered,
    );
    (shown(&scan.unwrap()), remembered.kept.unwrap(), remembered.executions)
}

fn shown(scan: &Scan) -> String {
    let found = &scan.found;
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        scan.warnings, scan.figures, found.classes, found.orders, found.exits, found.cut
    )
}

proptest! {
    // Each case is a dozen programs.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn views_show_in_each_context_what_executions_there_show(bodies in bodies()) {
        let program = random(&bodies, "");
        let (one, other) = (scanned_with(&program, "entry_*", false), scanned_with(&program, "entry_*", true));
        prop_assert_eq!(accessed(&one), accessed(&other));
        prop_assert_eq!(warned(&program, &one), warned(&program, &other));
        prop_assert_eq!(one.found.contexts.len(), other.found.contexts.len());
    }

    #[test]
    fn what_is_remembered_changes_nothing(
        bodies in bodies(),
        changed in 0_usize..6,
        body in proptest::collection::vec((0_usize..4, 0_usize..6), 1..8),
        damage in 0_usize..4_000,
    ) {
        let program = random(&bodies, "");
        let plain = shown(&scanned_with(&program, "entry_*", true));
        let (first, kept, [found, made]) = scanned_again(&program, vec![]);
        prop_assert_eq!(&first, &plain);
        prop_assert!(found == 0 && made > 0);
        let (again, rekept, [_, made]) = scanned_again(&program, kept.clone());
        prop_assert_eq!(&again, &plain);
        prop_assert_eq!((made, rekept.len()), (0, kept.len()));
        // Another function, or one more, before all others.
        let mut other = bodies.clone();
        other[changed] = body;
        let before = "global @before internal 8\n".to_owned() + &function("before_all", &[write("before"), end()]);
        for program in [random(&other, ""), random(&other, &before)] {
            let plain = shown(&scanned_with(&program, "entry_*", true));
            prop_assert_eq!(&scanned_again(&program, kept.clone()).0, &plain);
            // Cut short.
            let cut = kept[..damage.min(kept.len())].to_vec();
            prop_assert_eq!(&scanned_again(&program, cut).0, &plain);
        }
    }
}
