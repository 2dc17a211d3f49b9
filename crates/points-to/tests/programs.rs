//! Small programs, each with what must and what must not be one.

use deadheat_ir::{FunctionId, Operation, Program, Value, parse};
use deadheat_points_to::{Callback, Cell, Effect, Library, Limits, Object, Passed, PointsTo, Returns};

/// malloc, pthread_create, qsort.
struct Libc;

impl Library for Libc {
    fn effect(&self, name: &str) -> Option<Effect> {
        let function = |number, arguments, now| Callback {
            function: (number, Vec::new()),
            arguments,
            now,
        };
        Some(match name {
            "malloc" => Effect {
                returns: Returns::Fresh,
                ..Effect::default()
            },
            "free" | "puts" => Effect::default(),
            "pthread_create" => Effect {
                calls: vec![function(2, vec![Passed::Argument(3)], false)],
                ..Effect::default()
            },
            "qsort" => Effect {
                calls: vec![function(3, vec![Passed::Argument(0), Passed::Argument(0)], true)],
                ..Effect::default()
            },
            "start" => Effect {
                calls: vec![Callback {
                    function: (0, vec![0, 16]),
                    arguments: vec![Passed::Behind(0)],
                    now: false,
                }],
                ..Effect::default()
            },
            _ => return None,
        })
    }
}

struct Analysed {
    program: Program,
    points_to: PointsTo,
}

fn analyse(text: &str) -> Analysed {
    let program = Program::link(vec![parse(text).unwrap_or_else(|error| panic!("{error}"))]);
    let points_to = PointsTo::analyse(&program, &Libc, &Limits::default());
    Analysed { program, points_to }
}

impl Analysed {
    fn function(&self, name: &str) -> FunctionId {
        self.program.module[self.program.module.find(name).unwrap()]
            .body()
            .unwrap()
    }

    /// The cell of the address that load or store `n` of a function uses, loads and stores counted from 0.
    fn accessed(&self, function: &str, n: usize) -> Cell {
        let id = self.function(function);
        let address = |operation: &Operation| match operation {
            Operation::Load { address, .. } | Operation::Store { address, .. } => Some(*address),
            _ => None,
        };
        let instructions = &self.program.module[id].instructions;
        let address = instructions
            .iter()
            .filter_map(|i| address(&i.operation))
            .nth(n)
            .unwrap();
        self.points_to.pointee(id, address).unwrap()
    }

    /// Names of the targets of call `n` of a function, calls counted from 0.
    fn targets(&self, function: &str, n: usize) -> Vec<&str> {
        let id = self.function(function);
        let instructions = self.program.module[id].instructions.iter().enumerate();
        let mut calls = instructions.filter(|(_, i)| matches!(i.operation, Operation::Call { .. }));
        let (at, _) = calls.nth(n).unwrap();
        let targets = self.points_to.call_graph().targets(id, at);
        targets
            .iter()
            .map(|target| self.program.module.function_name(*target))
            .collect()
    }

    fn names(&self, functions: &[FunctionId]) -> Vec<&str> {
        functions
            .iter()
            .map(|f| self.program.module.function_name(*f))
            .collect()
    }
}

#[test]
fn fields_and_objects_stay_apart() {
    let analysed = analyse(
        "global @a 16\nglobal @b 16\ndefine @main () void {\nb0:\n  store i32 4 1i32 to @a\n  store i32 4 1i32 to @a+8\n  store i32 4 1i32 to @b\n  %p = offset @a + 8\n  store i32 4 2i32 to %p\n  return\n}\n",
    );
    let cells: Vec<Cell> = (0..4).map(|n| analysed.accessed("main", n)).collect();
    assert_eq!(cells[1], cells[3]);
    assert!(cells[0] != cells[1] && cells[0] != cells[2] && cells[1] != cells[2]);
}

#[test]
fn what_is_passed_is_what_arrives() {
    let analysed = analyse(
        "global @a 8\nglobal @b 8\nglobal @c 8\ndefine @set (ptr) void {\nb0:\n  store i32 4 1i32 to %0\n  return\n}\ndefine @main () void {\nb0:\n  call @set(@a)\n  call @set(@b)\n  store i32 4 1i32 to @a\n  store i32 4 1i32 to @c\n  return\n}\n",
    );
    assert_eq!(analysed.accessed("set", 0), analysed.accessed("main", 0));
    assert_ne!(analysed.accessed("set", 0), analysed.accessed("main", 1));
}

#[test]
fn heap_objects_are_named_by_call_through_wrappers() {
    let analysed = analyse(
        "declare @malloc (i64) ptr\ndeclare @keep (ptr) void\nglobal @last 8\n\
         define @wrapper (i64) ptr {\nb0:\n  %n = add %0, 8i64\n  %p = call @malloc(%n)\n  store i64 8 %0 to %p\n  %q = offset %p + 8\n  return %q\n}\n\
         define @outer (i64) ptr {\nb0:\n  %p = call @wrapper(%0)\n  %z i1 = eq %p, null\n  branch %z, no, yes\nno:\n  return null\nyes:\n  return %p\n}\n\
         define @leaky (i64) ptr {\nb0:\n  %p = call @malloc(%0)\n  store ptr 8 %p to @last\n  return %p\n}\n\
         define @main () void {\nb0:\n  %a = call @outer(8i64)\n  %b = call @outer(8i64)\n  %c = call @leaky(8i64)\n  %d = call @leaky(8i64)\n  store i32 4 1i32 to %a\n  store i32 4 1i32 to %b\n  store i32 4 1i32 to %c\n  store i32 4 1i32 to %d\n  return\n}\n",
    );
    let fresh = |name| analysed.points_to.summaries().returns_fresh(analysed.function(name));
    assert_eq!(
        ["wrapper", "outer", "leaky", "main"].map(fresh),
        [true, true, false, false]
    );
    let cells: Vec<Cell> = (0..4).map(|n| analysed.accessed("main", n)).collect();
    assert_ne!(cells[0], cells[1]);
    assert_eq!(cells[2], cells[3]);
    assert!(!analysed.points_to.escapes(cells[0]) && analysed.points_to.escapes(cells[2]));
    let objects = analysed.points_to.objects(cells[0].node);
    assert!(matches!(objects[0].1, Object::Heap(function, _) if function == analysed.function("main")));
}

#[test]
fn contents_that_a_wrapper_gives_arrive() {
    let analysed = analyse(
        "declare @malloc (i64) ptr\ndefine @hello () void {\nb0:\n  return\n}\n\
         define @make () ptr {\nb0:\n  %p = call @malloc(16i64)\n  %f = offset %p + 8\n  store ptr 8 @hello to %f\n  return %p\n}\n\
         define @main () void {\nb0:\n  %p = call @make()\n  %f = offset %p + 8\n  %h = load ptr 8 %f\n  call () void *%h()\n  return\n}\n",
    );
    assert_eq!(analysed.targets("main", 1), ["hello"]);
}

const TABLES: &str = "struct %ops 16 { 0 ptr 8 \"open\", 8 ptr 8 \"close\" }\n\
    define @open_a (ptr) i32 {\nb0:\n  return 0i32\n}\ndefine @open_b (ptr) i32 {\nb0:\n  return 0i32\n}\n\
    define @close_both (ptr) i32 {\nb0:\n  return 0i32\n}\ndefine @other (i64, i64) i32 {\nb0:\n  return 0i32\n}\n\
    global @a 16 %ops = {0: @open_a tag ops+0, 8: @close_both tag ops+8}\n\
    global @b 16 %ops = {0: @open_b tag ops+0, 8: @close_both tag ops+8}\n";

#[test]
fn a_closed_field_names_its_functions() {
    let analysed = analyse(&format!(
        "{TABLES}declare @unknown () ptr\ndefine @main () void {{\nb0:\n  %o = call @unknown()\n  %f = load ptr 8 %o tag ops+0\n  call (ptr) i32 *%f(%o)\n  return\n}}\n"
    ));
    assert_eq!(analysed.targets("main", 1), ["open_a", "open_b"]);
    assert_eq!(analysed.points_to.statistics().by_field, 1);
}

#[test]
fn an_open_field_is_followed_where_its_object_points() {
    let analysed = analyse(&format!(
        "{TABLES}define @register (ptr, ptr) void {{\nb0:\n  store ptr 8 %1 to %0 tag ops+0\n  return\n}}\n\
         global @mine 16 %ops\ndefine @own (ptr) i32 {{\nb0:\n  return 0i32\n}}\n\
         define @main () void {{\nb0:\n  call @register(@mine, @own)\n  %f = load ptr 8 @mine tag ops+0\n  call (ptr) i32 *%f(@mine)\n  return\n}}\n"
    ));
    assert_eq!(analysed.targets("main", 1), ["own"]);
}

#[test]
fn tables_that_share_a_function_stay_apart_without_tags() {
    let analysed = analyse(
        "define @f () void {\nb0:\n  return\n}\ndefine @g () void {\nb0:\n  return\n}\ndefine @shared () void {\nb0:\n  return\n}\n\
         global @a 16 = {0: @f, 8: @shared}\nglobal @b 16 = {0: @g, 8: @shared}\n\
         define @main () void {\nb0:\n  %f = load ptr 8 @a\n  call () void *%f()\n  %s = load ptr 8 @b+8\n  call () void *%s()\n  return\n}\n",
    );
    assert_eq!(analysed.targets("main", 0), ["f"]);
    assert_eq!(analysed.targets("main", 1), ["shared"]);
}

#[test]
fn an_indexed_table_gives_all_its_functions() {
    let analysed = analyse(
        "define @f () void {\nb0:\n  return\n}\ndefine @g () void {\nb0:\n  return\n}\nglobal @table 16 = {0: @f, 8: @g}\n\
         define @main (i64) void {\nb0:\n  %p = offset @table + 0 + %0 x 8\n  %f = load ptr 8 %p\n  call () void *%f()\n  return\n}\n",
    );
    assert_eq!(analysed.targets("main", 0), ["f", "g"]);
}

#[test]
fn elements_of_a_table_of_structs_are_one() {
    let analysed = analyse(
        "struct %entry 16 { 0 ptr 8, 8 ptr 8 }\ndefine @f () void {\nb0:\n  return\n}\ndefine @g () void {\nb0:\n  return\n}\n\
         global @table 32 %entry = {8: @f, 24: @g}\n\
         define @main (i64) void {\nb0:\n  %e = offset @table + 8 + %0 x 16\n  %f = load ptr 8 %e\n  call () void *%f()\n  return\n}\n",
    );
    assert_eq!(analysed.targets("main", 0), ["f", "g"]);
}

#[test]
fn virtual_functions_are_found_by_slot() {
    let analysed = analyse(
        "define @base_run (ptr) void {\nb0:\n  return\n}\ndefine @derived_run (ptr) void {\nb0:\n  return\n}\n\
         define @stop (ptr) void {\nb0:\n  return\n}\ndefine @unrelated (ptr) void {\nb0:\n  return\n}\n\
         global @_ZTV4Base constant 32 = {16: @base_run, 24: @stop}\n\
         global @_ZTV7Derived constant 32 = {16: @derived_run, 24: @stop}\n\
         global @_ZTV5Other constant 32 = {16: @unrelated, 24: @stop}\n\
         declare @malloc (i64) ptr\n\
         define @make_base (ptr) void {\nb0:\n  store ptr 8 @_ZTV4Base+16 to %0\n  return\n}\n\
         define @make_derived (ptr) void {\nb0:\n  call @make_base(%0)\n  store ptr 8 @_ZTV7Derived+16 to %0\n  return\n}\n\
         define @main () void {\nb0:\n  %o = call @malloc(8i64)\n  call @make_derived(%o)\n  %x = call @malloc(8i64)\n  store ptr 8 @_ZTV5Other+16 to %x\n  %v = load ptr 8 %o\n  %f = load ptr 8 %v\n  call (ptr) void *%f(%o)\n  return\n}\n",
    );
    assert_eq!(analysed.targets("main", 3), ["base_run", "derived_run"]);
}

#[test]
fn threads_get_their_arguments_and_are_handed_over() {
    let analysed = analyse(
        "declare @pthread_create (ptr, ptr, ptr, ptr) i32\ndeclare @qsort (ptr, i64, i64, ptr) void\nglobal @job 8\nglobal @list 8\n\
         define @run (ptr) ptr {\nb0:\n  store i32 4 1i32 to %0\n  return null\n}\n\
         define @compare (ptr, ptr) i32 {\nb0:\n  store i32 4 1i32 to %1\n  return 0i32\n}\n\
         define @main () void {\nb0:\n  %t = alloca 8\n  call @pthread_create(%t, null, @run, @job)\n  call @qsort(@list, 4i64, 2i64, @compare)\n  store i32 4 1i32 to @job\n  store i32 4 1i32 to @list\n  return\n}\n",
    );
    assert_eq!(analysed.accessed("run", 0), analysed.accessed("main", 0));
    assert_eq!(analysed.accessed("compare", 0), analysed.accessed("main", 1));
    let graph = analysed.points_to.call_graph();
    assert_eq!(analysed.names(&graph.handed_over()), ["run"]);
    assert_eq!(analysed.names(&graph.callees(analysed.function("main"))), ["compare"]);
}

#[test]
fn a_callback_may_lie_behind_an_argument() {
    // A pointer to an object, whose virtual table's third entry is called with the object.
    let analysed = analyse(
        "declare @start (ptr) void\ndeclare @malloc (i64) ptr\ndefine @run (ptr) void {\nb0:\n  store i32 4 1i32 to %0\n  return\n}\n\
         global @table constant 24 = {16: @run}\n\
         define @main () void {\nb0:\n  %slot = alloca 8\n  %o = call @malloc(16i64)\n  store ptr 8 @table to %o\n  store ptr 8 %o to %slot\n  call @start(%o)\n  store i32 4 1i32 to %o\n  return\n}\n",
    );
    assert_eq!(analysed.names(&analysed.points_to.call_graph().handed_over()), ["run"]);
}

#[test]
fn types_must_agree_and_targets_are_capped() {
    let mut text = String::from("global @slot 8\ndefine @main () void {\nb0:\n");
    for n in 0..70 {
        text += &format!("  store ptr 8 @f{n} to @slot\n");
    }
    text += "  store ptr 8 @other to @slot\n  %f = load ptr 8 @slot\n  call () void *%f()\n  return\n}\ndefine @other (i32) void {\nb0:\n  return\n}\n";
    for n in 0..70 {
        text += &format!("define @f{n} () void {{\nb0:\n  return\n}}\n");
    }
    let analysed = analyse(&text);
    assert_eq!(analysed.targets("main", 0).len(), 64);
    let statistics = analysed.points_to.statistics();
    assert_eq!((statistics.cut, statistics.mistyped), (6, 1));
}

#[test]
fn copies_go_field_by_field() {
    let analysed = analyse(
        "global @x 4\nglobal @y 4\nglobal @from 16 = {0: @x, 8: @y}\nglobal @to 16\n\
         define @main () void {\nb0:\n  memcpy @to, @from, 16i64\n  %p = load ptr 8 @to\n  %q = load ptr 8 @to+8\n  store i32 4 1i32 to %p\n  store i32 4 1i32 to %q\n  store i32 4 1i32 to @x\n  store i32 4 1i32 to @to\n  store i32 4 1i32 to @from\n  return\n}\n",
    );
    assert_eq!(analysed.accessed("main", 2), analysed.accessed("main", 4));
    assert_ne!(analysed.accessed("main", 2), analysed.accessed("main", 3));
    assert_ne!(analysed.accessed("main", 5), analysed.accessed("main", 6));
}

#[test]
fn what_only_the_frame_knows_does_not_escape() {
    let analysed = analyse(
        "global @shared 8\ndeclare @unknown (ptr) void\n\
         define @main () void {\nb0:\n  %a = alloca 8\n  %b = alloca 8\n  %c = alloca 8\n  store ptr 8 %b to @shared\n  call @unknown(%c)\n  store i32 4 1i32 to %a\n  store i32 4 1i32 to %b\n  store i32 4 1i32 to %c\n  return\n}\n",
    );
    let escapes: Vec<bool> = (1..4)
        .map(|n| analysed.points_to.escapes(analysed.accessed("main", n)))
        .collect();
    assert_eq!(escapes, [false, true, true]);
}

#[test]
fn addresses_survive_integers() {
    let analysed = analyse(
        "global @a 64\nglobal @b 8\ndefine @main () void {\nb0:\n  %i = ptrtoint @a\n  %m = and %i, -8i64\n  %p = inttoptr %m\n  store i32 4 1i32 to %p\n  store i32 4 1i32 to @a\n  return\n}\n",
    );
    assert_eq!(analysed.accessed("main", 0), analysed.accessed("main", 1));
}

#[test]
fn a_value_that_is_no_address_points_nowhere() {
    let analysed = analyse("define @f (i32) i32 {\nb0:\n  %x i32 = add %0, 1i32\n  return %x\n}\n");
    let id = analysed.function("f");
    let local = analysed.program.module[id].local_of(0);
    assert_eq!(analysed.points_to.pointee(id, Value::Local(local)), None);
}

#[test]
fn what_unseen_code_gives_is_shared_and_known_by_its_type_alone() {
    let analysed = analyse(
        "global @own 8\ndeclare @give () ptr\ndeclare @take () ptr\ndeclare @malloc (i64) ptr\n\
         define @main () void {\nb0:\n  %a ptr = call @give()\n  %b ptr = call @give()\n  %c ptr = call @take()\n  %d ptr = call @malloc(8i64)\n  store i32 4 1i32 to %a\n  store i32 4 1i32 to %b\n  store i32 4 1i32 to %c\n  store i32 4 1i32 to %d\n  store i32 4 1i32 to @own\n  return\n}\n",
    );
    let cells: Vec<Cell> = (0..5).map(|n| analysed.accessed("main", n)).collect();
    assert!(cells[0] == cells[1] && cells[0] != cells[2]);
    let outside: Vec<bool> = cells.iter().map(|c| analysed.points_to.is_outside(*c)).collect();
    assert_eq!(outside, [true, true, true, false, false]);
    assert!(analysed.points_to.escapes(cells[0]) && !analysed.points_to.escapes(cells[3]));
}
