//! Two bodies per function, groups of checks, and the kept bitcode.

mod support;

use deadheat_model::SiteKind;
use deadheat_wire::object::{BITCODE, BITCODE_MAGIC};
use object::{Object, ObjectSection};
use support::{Built, Language, build};

const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];

fn check_variants(built: &Built, count: usize) {
    let variants = built.variants();
    assert_eq!(variants.len(), count);
    for (plain, detecting) in variants {
        assert_eq!(built.bytes_at(plain, 5), NOP);
        assert_ne!(plain, detecting);
    }
}

#[test]
fn a_watching_function_has_two_bodies() {
    let source =
        "int x; void f(void) { x = 1; } int g(int a) { return a; } static void h(void) { x = 2; } void (*p)(void) = h;";
    for level in ["-O0", "-O2"] {
        let built = build(Language::C, &[level], source);
        check_variants(&built, 2);
        let symbols = built.symbols();
        assert!(
            symbols.contains(&"f.dh".into()) && symbols.contains(&"h.dh".into()) && !symbols.contains(&"g.dh".into())
        );
        let f = built.symbol("f").expect("f");
        assert!(built.variants().contains(&(f, built.symbol("f.dh").expect("f.dh"))));
    }
}

#[test]
fn entries_and_exits_have_sites() {
    let built = build(Language::C, &["-O1"], "int x;\nvoid f(void) {\nx = 1;\n}");
    let kinds: Vec<_> = built.sites().iter().map(|s| (s.desc.kind, s.desc.ordinal)).collect();
    assert_eq!(kinds, [(SiteKind::Entry, 0), (SiteKind::Write, 1), (SiteKind::Exit, 2)]);
    assert_eq!(built.sites()[0].location.as_ref().expect("a location").line, 2);
}

#[test]
fn comdat_weak_and_exceptional_functions() {
    let source = "int x; inline int *a() { static int s = x; return &s; } template <class T> struct V { ~V() { x++; } };\n\
        __attribute__((weak)) void w() { x = 3; } void m(int); int t() { V<int> v; try { m(*a()); } catch (int k) { return k + x; } return 0; }";
    for level in ["-O0", "-O2"] {
        let built = build(Language::Cpp, &[level, "-ffunction-sections"], source);
        let count = built.variants().len();
        check_variants(&built, count);
        assert!(count >= 2);
        built.patched();
    }
}

#[test]
fn computed_goto_is_cloned_with_its_table() {
    let source = "int f(char *p) { static void *t[] = {&&a, &&b}; int s = 0; goto *t[*p++ & 1]; a: s++; goto *t[*p++ & 1]; b: return s; }";
    let built = build(Language::C, &["-O1"], source);
    check_variants(&built, 1);
    let escaping =
        "void *out[2]; int f(char *p) { out[0] = &&a; out[1] = &&b; goto *out[*p & 1]; a: return 1; b: return *p; }";
    check_variants(&build(Language::C, &["-O1"], escaping), 1);
}

#[test]
fn repeated_checks_name_every_statement() {
    let source = "struct s { int a, b; }; int f(struct s *p, int *q) {\nint k = *q;\np->a = 1;\nk += p->a & *q;\np->a = k;\nreturn k; }";
    let built = build(
        Language::C,
        &["-O0"],
        "int x, y; void f(void) {\ny = x;\nx = 1;\ny = x; }",
    );
    let sites = built.sites();
    let groups: Vec<Vec<String>> = (0..sites.len() as u32)
        .filter(|n| sites[*n as usize].desc.kind == SiteKind::Group)
        .map(|n| {
            built
                .group(n)
                .iter()
                .map(|(d, ..)| support::describe(&sites[*d as usize]))
                .collect()
        })
        .collect();
    assert!(
        groups.contains(&vec!["2 Read 4".into(), "3 Write 4".into(), "4 Read 4".into()]),
        "{groups:?}"
    );
    assert!(
        groups.contains(&vec!["2 Write 4".into(), "4 Write 4".into()]),
        "{groups:?}"
    );
    build(Language::C, &["-O2"], source);
}

#[test]
fn loops_are_checked_by_range() {
    let source = "void f(int *restrict a, long n) {\nfor (long i = 0; i < n; i++)\na[i] = a[i + 1] * 3; }";
    let built = build(Language::C, &["-O1"], source);
    let sites = built.sites();
    let mut strides: Vec<_> = (0..sites.len() as u32)
        .filter(|n| sites[*n as usize].desc.kind == SiteKind::Group)
        .flat_map(|n| built.group(n))
        .map(|(desc, offset, size, stride)| (sites[desc as usize].desc.kind, offset, size, stride))
        .collect();
    strides.sort();
    assert_eq!(strides, [(SiteKind::Read, 0, 4, 4), (SiteKind::Write, 0, 4, 4)]);
}

#[test]
fn front_end_bitcode_is_kept() {
    let built = build(
        Language::C,
        &["-O2"],
        "int x; static int unused(void) { return x; } int f(void) { return unused(); }",
    );
    let parsed = object::File::parse(&*built.object).expect("an object");
    let section = parsed.section_by_name(BITCODE).expect("kept bitcode");
    let bytes = section.data().expect("its bytes");
    assert_eq!(bytes[..8], BITCODE_MAGIC);
    let length = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
    assert_eq!(length as usize, bytes.len() - 16);
    assert_eq!(bytes[16..20], [0x28, 0xb5, 0x2f, 0xfd]); // zstd
    let (address, bytes) = built.section(BITCODE);
    // Not loaded: it has no address.
    assert!(address == 0 && bytes.starts_with(&BITCODE_MAGIC));
}

#[test]
fn builds_repeat() {
    let source = "#include <string.h>\nint a[99]; void f(char *p, long n) { for (long i = 0; i < n; i++) a[i] += p[i]; memset(p, 0, n); }";
    let build = || build(Language::C, &["-O2", "-fdebug-compilation-dir=."], source).object;
    assert!(build() == build());
}
