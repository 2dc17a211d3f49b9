//! Atomics, fences, loops, frees, library calls and inline assembly.

mod support;

use deadheat_wire::object::UNIT_OPAQUE_ASSEMBLY;
use support::{Language, build, expect};

const ALL: [&str; 2] = ["-O0", "-O1"];

#[test]
fn atomics_with_their_orders() {
    let source = "long a; int f(void) {\nreturn __atomic_load_n(&a, 2); }\nvoid g(void) {\n__atomic_store_n(&a, 1, 3);\n\
        __atomic_fetch_add(&a, 1, 0);\n__atomic_fetch_max(&a, 1, 4);\n__atomic_fetch_nand(&a, 1, 5); }";
    let expected = [
        "2 AtomicLoad 8 Acquire",
        "4 AtomicStore 8 Release",
        "5 AtomicUpdate 8 Relaxed",
        "6 AtomicUpdate 8 AcquireRelease",
        "7 AtomicUpdate 8 SequentiallyConsistent",
    ];
    expect(&ALL, &[], source, &expected);
}

#[test]
fn compare_exchange_has_a_result() {
    let source = "int a; int f(int e) {\nreturn __atomic_compare_exchange_n(&a, &e, 1, 0, 4, 2); }";
    let expected = [
        "2 AtomicCompareExchange 4 AcquireRelease/Acquire",
        "2 CompareExchangeResult",
    ];
    expect(&ALL, &[], source, &expected);
}

#[test]
fn calls_of_libatomic() {
    let source =
        "_Atomic struct s { char c[7]; long x; } a; struct s f(void) {\nreturn a; }\nvoid g(struct s v) {\na = v; }";
    let built = build(Language::C, &["-O1"], source);
    let found: Vec<_> = support::statements(&built)
        .into_iter()
        .filter(|s| s.contains("Atomic"))
        .collect();
    assert_eq!(
        found,
        [
            "2 AtomicLoad 16 SequentiallyConsistent",
            "4 AtomicStore 16 SequentiallyConsistent"
        ]
    );
}

#[test]
fn fences_but_not_of_signals() {
    let source = "void f(void) {\n__atomic_thread_fence(5);\n__atomic_signal_fence(5); }";
    expect(&ALL, &[], source, &["2 Fence SequentiallyConsistent"]);
}

#[test]
fn back_edges_of_uncounted_loops_only() {
    let source = "extern int go; int f(int *p, int n) { int s = 0;\nfor (int i = 0; i < n; i++) s += i * s;\n\
        while (!__atomic_load_n(&go, 0));\nreturn s; }";
    expect(&["-O1", "-O2"], &[], source, &["3 AtomicLoad 4 Relaxed", "3 BackEdge"]);
}

#[test]
fn no_back_edges_of_scans_that_run_off_their_data() {
    let source = "long scan(int *a, long i, int p) {\nwhile (a[i] < p) i++;\nwhile (a[i] > p) i--;\nreturn i; }";
    expect(&["-O1", "-O2"], &[], source, &["2 Read 4", "3 Read 4"]);
}

#[test]
fn back_edges_of_bounded_waits() {
    let source = "extern volatile int go; int f(int n) {\nfor (int i = 0; i < n; i++)\nif (go) return 1;\nreturn 0; }";
    expect(&["-O1", "-O2"], &[], source, &["2 BackEdge", "3 Read 4 volatile"]);
}

#[test]
fn frees() {
    let source = "void free(void *); void *realloc(void *, unsigned long);\nvoid f(void *p) {\nfree(p);\n}\n\
        void *g(void *p) {\nreturn realloc(p, 9); }";
    expect(&ALL, &[], source, &["3 Free", "6 Free"]);
    let built = build(
        Language::Cpp,
        &["-O1"],
        "struct s { int x; };\nvoid f(s *p) {\ndelete p; }",
    );
    assert_eq!(support::statements(&built), ["3 Free"]);
}

#[test]
fn memory_functions_are_ranges() {
    let source = "#include <string.h>\nvoid f(char *d, char *s, long n) {\nmemcpy(d, s, n);\nmemset(d, 0, n);\n\
        memmove(d, s, 100);\n}\nint g(char *d, char *s, long n) {\nreturn memcmp(d, s, n); }\n\
        void *h(char *d, long n) {\nreturn memchr(d, 3, n); }";
    let expected = [
        "3 Read dynamic",
        "3 Write dynamic",
        "4 Write dynamic",
        "5 Read 100",
        "5 Write 100",
        "8 Read dynamic",
        "8 Read dynamic",
        "10 Read dynamic inexact",
    ];
    expect(&ALL, &[], source, &expected);
}

#[test]
fn string_functions() {
    let source = "#include <string.h>\nlong f(char *d, char *s) {\nreturn strlen(s)\n+ strcmp(d, s)\n\
        + (long)strrchr(s, 1)\n+ (long)strchr(s, 2); }\nvoid g(char *d, char *s) {\nstrcpy(d, s);\nstrcat(d, s);\n\
        strncpy(d, s, 9);\n}\nchar *h(char *s) {\nreturn strdup(s); }";
    let expected = [
        "3 Read string",
        "4 Read string inexact",
        "4 Read string inexact",
        "5 Read string",
        "6 Read string inexact",
        "8 Read string",
        "8 Write dynamic",
        "9 Read string",
        "9 Read string",
        "9 Write dynamic",
        "10 Read dynamic inexact",
        "10 Write 9",
        "13 Read string",
    ];
    expect(&["-O0"], &[], source, &expected);
}

#[test]
fn the_programs_own_function_of_that_name_is_no_library_function() {
    let source = "int x; __attribute__((noinline)) unsigned long strlen(const char *s) {\nreturn x; }\n\
        unsigned long f(char *s) {\nreturn strlen(s); }";
    expect(&["-O0"], &["-fno-builtin"], source, &["2 Read 4"]);
}

#[test]
fn inline_assembly() {
    let source = "int x; void f(void) {\n__asm__ volatile(\"lock; incl %0\" : \"+m\"(x) : : \"memory\");\n}";
    let built = build(Language::C, &["-O1"], source);
    // The operand is both output and input: two operands of the assembly, one place.
    let found = support::statements(&built);
    assert!(
        !found.is_empty() && found.iter().all(|s| s == "2 Assembly 4 SequentiallyConsistent"),
        "{found:?}"
    );
    assert_eq!(built.unit().assembly, 1);
    assert_ne!(built.unit().flags & UNIT_OPAQUE_ASSEMBLY, 0);
}

#[test]
fn operands_of_assembly() {
    for (text, wanted) in [
        (r#""movl %0, %%eax" : : "m"(x) : "eax""#, &["AtomicLoad"][..]),
        (r#""movl $1, %0" : "=m"(x)"#, &["AtomicStore"]),
        (r#""incl %0" : "+m"(x)"#, &["Assembly"]),
        (r#""lock; orl $1, %0" : : "m"(x) : "memory""#, &["Assembly"]),
        (r#""prefetcht0 %0" : : "m"(x)"#, &[]),
        (r#""leaq %0, %%rax" : : "m"(x) : "rax""#, &[]),
        (
            r#""lock; cmpxchgl %%ecx, %0" : "+m"(x) : : "eax""#,
            &["AtomicCompareExchange", "CompareExchangeResult"],
        ),
    ] {
        let source = format!("int x; void f(void) {{ __asm__ volatile({text}); }}");
        let found = support::statements(&build(Language::C, &["-O1"], &source));
        let kinds: Vec<&str> = found.iter().filter_map(|s| s.split(' ').nth(1)).collect();
        assert_eq!(kinds, wanted, "{text}");
    }
}

#[test]
fn fences_and_hints_in_assembly_are_harmless() {
    for text in [
        "",
        "pause",
        "rep; nop",
        "mfence",
        "lock; addl $0,0(%%rsp)",
        "lock addl $0, (%%rsp)",
    ] {
        let source =
            format!("int x; void f(void) {{ x = 1; __asm__ volatile(\"{text}\" : \"+m\"(x) : : \"memory\"); }}");
        let built = build(Language::C, &["-O1"], &source);
        assert_eq!(support::statements(&built), ["1 Write 4"], "{text}");
        assert_eq!(built.unit().flags, 0, "{text}");
    }
    for text in ["xchgl %%eax,%0", "rep movsb", "rep; stosq", "syscall"] {
        let source =
            format!("int x; void f(void) {{ x = 1; __asm__ volatile(\"{text} # %0\" : \"+m\"(x) : : \"memory\"); }}");
        let source = source.replace("xchgl %%eax,%0 # %0", "xchgl %%eax,%0");
        let built = build(Language::C, &["-O1"], &source);
        assert_eq!(built.unit().flags, UNIT_OPAQUE_ASSEMBLY, "{text}");
    }
}

#[test]
fn functions_left_alone_are_counted() {
    let source = "int x;\n__attribute__((naked)) void n(void) { __asm__(\"ret\"); }\n\
        __attribute__((disable_sanitizer_instrumentation)) void s(void) { x = 1; }\nvoid f(void) { x = 2; }\nint g(int a) { return a; }";
    let unit = build(Language::C, &["-O1"], source).unit();
    assert_eq!((unit.functions, unit.naked, unit.no_sanitize), (1, 1, 1));
    assert_eq!(unit.name, "t.c");
}
