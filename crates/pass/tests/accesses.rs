//! Ordinary accesses: each width, read-modify-writes, flags, and what is left alone.

mod support;

use support::{Language, build, expect, statements};

const ALL: [&str; 3] = ["-O0", "-O1", "-O2"];
const OPTIMISED: [&str; 2] = ["-O1", "-O2"];

#[test]
fn integers_of_every_width() {
    expect(
        &ALL,
        &[],
        "char a; short b; int c; long d; __int128 e;\nvoid f(void) {\na = 1;\nb = 1;\nc = 1;\nd = 1;\ne = 1;\n}",
        &["3 Write 1", "4 Write 2", "5 Write 4", "6 Write 8", "7 Write 16"],
    );
    expect(
        &OPTIMISED,
        &[],
        "long f(char *a, short *b, int *c, long *d) {\nreturn *a\n+ *b\n+ *c\n+ *d; }",
        &["2 Read 1", "3 Read 2", "4 Read 4", "5 Read 8"],
    );
}

#[test]
fn odd_sizes_vectors_and_x87() {
    let source = "typedef float v8 __attribute__((vector_size(32))); typedef float v16 __attribute__((vector_size(64)));\n\
        v8 a; v16 b; long double c; _BitInt(24) d;\n\
        v8 fa(void) {\nreturn a; }\nv16 fb(void) {\nreturn b; }\nvoid fc(long double x) {\nc = x; }";
    expect(
        &OPTIMISED,
        &["-mavx512f"],
        source,
        &["4 Read 32", "6 Read 64", "8 Write 10"],
    );
}

#[test]
fn read_modify_write_is_one_statement() {
    let expected = ["2 ReadWrite 4", "3 ReadWrite 4", "4 Read 4", "4 ReadWrite 4"];
    expect(
        &["-O0"],
        &[],
        "int x, y, z, w; void f(void) {\nx++;\ny |= 4;\nz += w; }",
        &[expected[0], expected[1], expected[2], expected[3]],
    );
}

#[test]
fn a_call_between_load_and_store_keeps_them_apart() {
    let source = "int g(int); int x; void f(void) {\nx = g(x); }";
    expect(&ALL, &[], source, &["2 Read 4", "2 Write 4"]);
}

#[test]
fn bit_fields_are_their_storage_unit() {
    let source = "struct { unsigned a : 3, b : 20; } s; void f(int k) {\ns.b = k; }";
    expect(&OPTIMISED, &[], source, &["2 ReadWrite 4 bitfield"]);
}

#[test]
fn volatile_is_ordinary_but_marked() {
    expect(
        &ALL,
        &[],
        "volatile int x; void f(void) {\nx = 1;\n}",
        &["2 Write 4 volatile"],
    );
}

#[test]
fn virtual_table_pointers_are_marked() {
    let source = "struct A { virtual int f(); A(); int x; };\nint g(A *a) {\nreturn a->f(); }\nA::A() {}";
    for level in ALL {
        let found = statements(&build(Language::Cpp, &[level], source));
        assert!(found.contains(&"3 Read 8 vptr".to_string()), "{level} {found:?}");
        assert!(found.contains(&"4 Write 8 vptr".to_string()), "{level} {found:?}");
    }
}

#[test]
fn own_stack_constants_and_private_thread_locals_are_left_alone() {
    let source = "static const int t[] = {1, 2, 3}; static __thread int mine; int k;\n\
        int f(int i) {\nint a[4] = {0}; a[i & 3] += i;\nmine++;\nreturn a[i & 3] + t[i]; }";
    expect(&ALL, &[], source, &[]);
}

#[test]
fn a_captured_stack_slot_is_watched() {
    let source = "void g(int *); int f(void) {\nint a; g(&a);\nreturn a; }";
    expect(&ALL, &[], source, &["3 Read 4"]);
}

#[test]
fn memory_that_a_call_copies() {
    let source = "struct s { long x[9]; } a, b; void h(struct s);\nvoid f(void) {\na = b;\n}\nvoid g(void) {\nh(a); }";
    expect(&OPTIMISED, &[], source, &["3 Read 72", "3 Write 72", "6 Read 72"]);
}

#[test]
fn masked_vectors_are_inexact() {
    let source = "#include <immintrin.h>\nvoid f(float *p, __m256 v, __m256i m) {\n_mm256_maskstore_ps(p, m, v); }\n\
        void g(int *restrict a, int *restrict b, int n) {\nfor (int i = 0; i < n; i++) if (b[i]) a[i] = 1; }";
    let found = statements(&build(
        Language::C,
        &["-O3", "-mavx512f", "-mprefer-vector-width=512"],
        source,
    ));
    assert!(found.contains(&"5 Write 64 inexact".to_string()), "{found:?}");
}

#[test]
fn locations_name_the_inlined_function() {
    let source =
        "int x; static inline __attribute__((always_inline)) void set(int v) {\nx = v; }\nvoid f(void) {\nset(3); }";
    let built = build(Language::C, &["-O1"], source);
    let site = built.sites().into_iter().find(|s| s.desc.size == 4).expect("the store");
    let location = site.location.expect("a location");
    assert_eq!(
        (location.line, location.function.as_str(), location.file.as_str()),
        (2, "set", "t.c")
    );
    let outer = location.inlined_at.expect("where it was inlined");
    assert_eq!((outer.line, outer.function.as_str()), (4, "f"));
    assert_eq!(site.function, "f");
    assert!(!location.directory.is_empty());
}
