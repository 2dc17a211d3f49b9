//! Which functions of small programs need not be measured, and why.

use deadheat_ir::{Callee, Operation, Program, parse};
use deadheat_pairs::{Assumptions, LinkedFunction, Reason, unmeasured};

const LIBRARY: &str = "module \"m.c\"\nglobal @shared 8\ndeclare @pthread_create (ptr, ptr, ptr, ptr) i32\n\
    declare @pthread_mutex_lock (ptr) i32\ndeclare @strlen (ptr) i64\n";

/// A program and its linked code, where every function has an entry and nothing is inlined.
struct Example {
    program: Program,
    linked: Vec<LinkedFunction>,
}

impl Example {
    fn new(text: &str) -> Example {
        let module = parse(&format!("{LIBRARY}{text}")).unwrap_or_else(|e| panic!("{e}"));
        let program = Program::link(vec![module]);
        let module = &program.module;
        let mut linked: Vec<LinkedFunction> = module
            .functions()
            .map(|(id, function)| LinkedFunction {
                names: vec![module.function_name(id).into()],
                measurable: true,
                callers: Vec::new(),
                referred: module[function.symbol].address_taken,
                sources: Some(vec![module.function_name(id).into()]),
            })
            .collect();
        for (id, function) in module.functions() {
            for instruction in &function.instructions {
                if let Operation::Call {
                    callee: Callee::Direct(symbol),
                    ..
                } = instruction.operation
                    && let Some(callee) = module[symbol].body()
                {
                    linked[callee.index()].callers.push(id.number());
                }
            }
        }
        Example { program, linked }
    }

    fn place(&self, name: &str) -> usize {
        self.linked.iter().position(|f| f.names == [name]).unwrap()
    }

    /// In the linked code `name` is inlined into its callers.
    fn inline(mut self, name: &str) -> Example {
        let at = self.place(name) as u32;
        let into = std::mem::take(&mut self.linked[at as usize].callers);
        for function in &mut self.linked {
            if function.callers.contains(&at) {
                function.callers.retain(|c| *c != at);
                function.callers.extend(&into);
            }
        }
        self.linked[at as usize].names = vec!["gone".into()];
        self.linked[at as usize].measurable = false;
        self
    }

    fn because(&self, name: &str, loops: bool) -> Option<String> {
        let all = unmeasured(&self.program, &self.linked, Assumptions { loops });
        all[self.place(name)].as_ref().map(|reason| match reason {
            Reason::OwnStack => "own stack".into(),
            Reason::OneThread => "one thread".into(),
            Reason::Inherits(from) => {
                let mut names: Vec<&str> = from
                    .iter()
                    .map(|f| self.linked[*f as usize].names[0].as_str())
                    .collect();
                names.sort_unstable();
                names.join(" ")
            }
        })
    }

    fn reason(&self, name: &str) -> Option<String> {
        self.because(name, true)
    }
}

/// `work` is a thread's function.
fn threaded(rest: &str) -> Example {
    Example::new(&format!(
        "define @main () i32 {{\nentry:\n%t = alloca 8\n\
         %r = call @pthread_create(%t, null, @work, null)\nreturn 0i32\n}}\n{rest}"
    ))
}

const TOUCH: &str = "define @touch (i64) void {\nentry:\nstore i64 8 %0 to @shared\nreturn\n}\n";

#[test]
fn a_callee_has_the_pairs_of_callers_that_always_call_it() {
    let example = threaded(&format!(
        "define @work address_taken (ptr) ptr {{\nentry:\njump h\nh:\nbranch 1i1, body, out\nbody:\ncall @touch(1i64)\njump h\nout:\nreturn null\n}}\n{TOUCH}"
    ));
    assert_eq!(example.reason("touch").as_deref(), Some("work"));
    assert_eq!(example.because("touch", false), None, "the loop may not go round");
    assert_eq!(example.reason("work"), None, "a thread's function has no caller");
    assert_eq!(example.reason("main"), None);
}

#[test]
fn a_caller_that_synchronises_passes_nothing_on() {
    let work = |what: &str| {
        threaded(&format!(
            "define @work address_taken (ptr) ptr {{\nentry:\n{what}\ncall @touch(1i64)\nreturn null\n}}\n{TOUCH}\
             define @locks (ptr) void {{\nentry:\n%r = call @pthread_mutex_lock(%0)\nreturn\n}}\n"
        ))
    };
    assert_eq!(work("%n = call @strlen(%0)").reason("touch").as_deref(), Some("work"));
    for what in [
        "%r = call @pthread_mutex_lock(%0)",
        "call @locks(%0)",
        "%r = call () i32 *%0()",
        "%r = load i64 8 @shared atomic seq_cst",
    ] {
        assert_eq!(work(what).reason("touch"), None, "{what}");
    }
}

#[test]
fn each_caller_counts_by_itself() {
    let rest = |second: &str| {
        format!(
            "define @work address_taken (ptr) ptr {{\nentry:\ncall @touch(1i64)\n%r = call @other(1i1)\nreturn null\n}}\n{TOUCH}\
             define @other (i1) i1 {{\nentry:\n{second}\nreturn %0\n}}\n"
        )
    };
    let both = threaded(&rest("call @touch(2i64)"));
    assert_eq!(both.reason("touch").as_deref(), Some("other work"));
    // One that need not call it.
    let sometimes = threaded(&rest("branch %0, a, b\na:\ncall @touch(2i64)\njump b\nb:"));
    assert_eq!(sometimes.reason("touch"), None);
    // One that runs before any thread brings nothing.
    let before = Example::new(&format!(
        "define @main (i1) i32 {{\nentry:\n%t = alloca 8\n%x = call @other(%0)\n\
         %r = call @pthread_create(%t, null, @work, null)\nreturn 0i32\n}}\n\
         define @work address_taken (ptr) ptr {{\nentry:\ncall @touch(1i64)\nreturn null\n}}\n{TOUCH}\
         define @other (i1) i1 {{\nentry:\nbranch %0, a, b\na:\ncall @touch(2i64)\njump b\nb:\nreturn %0\n}}\n"
    ));
    assert_eq!(before.reason("touch").as_deref(), Some("work"));
    assert_eq!(before.reason("other").as_deref(), Some("one thread"));
}

#[test]
fn what_is_called_in_ways_that_are_not_known_stays_measured() {
    let rest = format!("define @work address_taken (ptr) ptr {{\nentry:\ncall @touch(1i64)\nreturn null\n}}\n{TOUCH}");
    let mut jumped_to = threaded(&rest);
    let touch = jumped_to.place("touch");
    jumped_to.linked[touch].referred = true;
    assert_eq!(jumped_to.reason("touch"), None);
    let taken = threaded(&rest.replace("define @touch (", "define @touch address_taken ("));
    assert_eq!(taken.reason("touch"), None);
    // Called from code without bitcode.
    let mut foreign = threaded(&rest);
    foreign.linked.push(LinkedFunction {
        names: vec!["assembly".into()],
        ..LinkedFunction::default()
    });
    let last = foreign.linked.len() as u32 - 1;
    foreign.linked[touch].callers.push(last);
    assert_eq!(foreign.reason("touch"), None);
    let recursive = threaded(
        "define @work address_taken (ptr) ptr {\nentry:\ncall @touch(1i64)\nreturn null\n}\n\
         define @touch (i64) void {\nentry:\nstore i64 8 %0 to @shared\ncall @touch(%0)\nreturn\n}\n",
    );
    assert_eq!(recursive.reason("touch"), None);
}

#[test]
fn inlined_callers_and_those_without_an_entry_stand_for_theirs() {
    let rest = |outer: &str| {
        format!(
            "define @work address_taken (ptr) ptr {{\nentry:\n{outer}\nreturn null\n}}\n\
             define @between (i64) void {{\nentry:\ncall @touch(%0)\nreturn\n}}\n{TOUCH}"
        )
    };
    let always = "call @between(1i64)";
    assert_eq!(threaded(&rest(always)).reason("touch").as_deref(), Some("between"));
    assert_eq!(
        threaded(&rest(always)).inline("between").reason("touch").as_deref(),
        Some("work")
    );
    let mut unwatched = threaded(&rest(always));
    let between = unwatched.place("between");
    unwatched.linked[between].measurable = false;
    assert_eq!(unwatched.reason("touch").as_deref(), Some("work"));
    let sometimes = "branch 1i1, a, b\na:\ncall @between(1i64)\njump b\nb:";
    assert_eq!(threaded(&rest(sometimes)).reason("touch").as_deref(), Some("between"));
    assert_eq!(threaded(&rest(sometimes)).inline("between").reason("touch"), None);
}

#[test]
fn what_comes_before_the_first_thread_runs_alone() {
    let example = Example::new(&format!(
        "define @main () i32 {{\nentry:\n%t = alloca 8\ncall @setup(1i64)\ncall @start(%t)\ncall @touch(3i64)\nreturn 0i32\n}}\n\
         define @setup (i64) void {{\nentry:\ncall @inner(%0)\nreturn\n}}\n\
         define @inner (i64) void {{\nentry:\nstore i64 8 %0 to @shared\nreturn\n}}\n\
         define @start (ptr) void {{\nentry:\ncall @early(1i64)\n%r = call @pthread_create(%0, null, @work, null)\nreturn\n}}\n\
         define @early (i64) void {{\nentry:\nstore i64 8 %0 to @shared\nreturn\n}}\n\
         define @work address_taken (ptr) ptr {{\nentry:\nreturn null\n}}\n{TOUCH}"
    ));
    for alone in ["setup", "inner", "early"] {
        assert_eq!(example.reason(alone).as_deref(), Some("one thread"), "{alone}");
    }
    for beside in ["main", "start", "touch", "work"] {
        assert_ne!(example.reason(beside).as_deref(), Some("one thread"), "{beside}");
    }
}

#[test]
fn a_loop_comes_after_what_it_creates() {
    let example = Example::new(&format!(
        "define @main () i32 {{\nentry:\n%t = alloca 8\njump h\nh:\nbranch 1i1, body, out\nbody:\ncall @touch(1i64)\n\
         %r = call @pthread_create(%t, null, @work, null)\njump h\nout:\nreturn 0i32\n}}\n\
         define @work address_taken (ptr) ptr {{\nentry:\nreturn null\n}}\n{TOUCH}"
    ));
    assert_eq!(example.reason("touch"), None);
}

#[test]
fn what_touches_its_own_stack_only_is_in_no_race() {
    let callee = |body: &str| {
        threaded(&format!(
            "define @work address_taken (ptr) ptr {{\nentry:\n%v = call @local()\nreturn null\n}}\n\
             define @fill (ptr) void {{\nentry:\n{body}\nreturn\n}}\n\
             define @local () i64 {{\nentry:\n%x = alloca 8\nbranch 1i1, a, b\na:\ncall @fill(%x)\njump b\nb:\n%v = load i64 8 %x\nreturn %v\n}}\n"
        ))
    };
    assert_eq!(
        callee("store i64 8 1i64 to %0").reason("local").as_deref(),
        Some("own stack")
    );
    // Its address is let out.
    assert_ne!(
        callee("store ptr 8 %0 to @shared").reason("local").as_deref(),
        Some("own stack")
    );
    let shared = callee("%r = call @pthread_create(%0, null, @work, %0)");
    assert_ne!(shared.reason("local").as_deref(), Some("own stack"));
    // What it is given is not its own.
    assert_ne!(
        callee("store i64 8 1i64 to %0").reason("fill").as_deref(),
        Some("own stack")
    );
}

/// `main` makes and joins threads as `middle` says, then calls `touch`.
fn joining(middle: &str) -> Option<String> {
    let example = Example::new(&format!(
        "declare @pthread_join (i64, ptr) i32\n\
         define @main (i64, i64) i32 {{\nentry:\n%t = alloca 64\n{middle}\ncall @touch(1i64)\nreturn 0i32\n}}\n\
         define @work address_taken (ptr) ptr {{\nentry:\nreturn null\n}}\n{TOUCH}"
    ));
    example.reason("touch")
}

/// A loop from 0 to `bound` with this call in its body, at these labels.
fn counting(name: &str, bound: &str, body: &str) -> String {
    format!(
        "jump {name}h\n{name}h:\n%{name} i64 = phi [{{before}} 0i64, {name}b %{name}n]\n%{name}c = slt %{name}, {bound}\n\
         branch %{name}c, {name}b, {name}o\n{name}b:\n%{name}p = offset %t + 0 + %{name} x 8\n{body}\n\
         %{name}n = add %{name}, 1i64\njump {name}h\n{name}o:"
    )
}

#[test]
fn what_comes_after_the_last_join_runs_alone() {
    let create = |at: &str| format!("%r{} = call @pthread_create({at}, null, @work, null)", at.len());
    let one = |more: &str| format!("{}\n{more}", create("%t"));
    let join = "%h = load i64 8 %t\n%j = call @pthread_join(%h, null)";
    assert_eq!(joining(&one(join)).as_deref(), Some("one thread"));
    assert_eq!(joining(&one("")), None);
    // Joined on one of two ways.
    let sometimes = format!("branch 1i1, a, b\na:\n{join}\njump b\nb:");
    assert_eq!(joining(&one(&sometimes)), None);
    // Another thread under the same handle.
    let again = "%s = call @pthread_create(%t, null, @work, null)";
    assert_eq!(joining(&one(&format!("{again}\n{join}"))), None);
    // The handle is known elsewhere.
    assert_eq!(joining(&one(&format!("store ptr 8 %t to @shared\n{join}"))), None);

    let loops = |bounds: [&str; 2], between: &str| {
        let make = counting("a", bounds[0], "%ar = call @pthread_create(%ap, null, @work, null)");
        let join = counting(
            "b",
            bounds[1],
            "%bh = load i64 8 %bp\n%br = call @pthread_join(%bh, null)",
        );
        let (make, join) = (make.replace("{before}", "entry"), join.replace("{before}", "ao"));
        format!("{make}\n{between}\n{join}")
    };
    assert_eq!(joining(&loops(["%0", "%0"], "")).as_deref(), Some("one thread"));
    assert_eq!(joining(&loops(["%0", "%1"], "")), None);
    assert_eq!(joining(&loops(["%0", "%0"], "call @touch(2i64)")), None);
}
