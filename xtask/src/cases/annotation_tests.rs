use super::*;

fn parse(text: &str) -> Result<Case, AnnotationError> {
    Case::parse(Path::new("cases/c/t/x.c"), "c/t/x.c", text)
}

fn refused(text: &str) -> String {
    parse(text).expect_err("must be refused").to_string()
}

#[test]
fn reads_directives_and_marks() {
    let case = parse(
        "//@ expect: harmful(segv)\n//@ args: 1 two\n//@ stdin: a\\nb\n//@ file: data a b\\n\n//@ flags: -std=c++20\n\
         //@ levels: O0 O1 the store is merged\n// about\nx = 1; // RACE!(a) RACE!(b)\ny = x; // RACE!(a)\n\
         z = 2; // WARN(hunt:c) MAY(hunt:d) ordered\n",
    )
    .unwrap();
    assert_eq!(case.args, ["1", "two"]);
    assert_eq!(case.stdin, "a\nb");
    assert_eq!(case.files, [("data".into(), "a b\n".into())]);
    assert_eq!(case.flags, ["-std=c++20"]);
    assert_eq!(case.levels, [Level::O0, Level::O1]);
    assert_eq!(case.stages, [Stage::Hunt]);
    assert!(matches!(&case.expect[..], [Expect::Harmful(h)] if h.kind == "signal"));
    assert_eq!(
        case.labels["a"],
        Label {
            ask: Ask::Real,
            lines: [8, 9].into()
        }
    );
    assert_eq!(case.labels["b"].lines, [8].into());
    assert_eq!(case.labels["c"].ask, Ask::Suspected(Stage::Hunt));
    assert_eq!(case.labels["d"].ask, Ask::Tolerated(Stage::Hunt));
}

#[test]
fn errors_name_file_and_line() {
    assert_eq!(
        refused("//@ expect: real\nx; // RACE!\n"),
        "cases/c/t/x.c:2: `RACE!` is `RACE!(label)`"
    );
    assert_eq!(refused("//@ expect: often\n"), "cases/c/t/x.c:1: cannot expect `often`");
    assert_eq!(
        refused("//@ frontends: gcc tcc\n"),
        "cases/c/t/x.c:1: unknown front end `tcc`"
    );
    assert_eq!(refused("//@ wish: real\n"), "cases/c/t/x.c:1: unknown directive `wish`");
}

#[test]
fn refuses_contradictions() {
    assert!(refused("x;\n").contains("`//@ expect: …` is missing"));
    assert!(refused("//@ expect: none\nx; // RACE!(a)\n").contains("marked as racing"));
    assert!(refused("//@ expect: real\nx;\n").contains("no line is marked"));
    assert!(refused("//@ expect: none real\nx; // RACE!(a)\n").contains("stands alone"));
    assert!(refused("//@ expect: real\nx; // RACE!(a)\ny; // WARN(hunt:a) no\n").contains("two kinds"));
    assert!(refused("//@ expect: none\ny; // WARN(hunt:a)\n").contains("needs its reason"));
    assert!(refused("//@ expect: none\ny; // WARN(a) why\n").contains("(stage:label)"));
    assert!(refused("//@ expect: none\ny; // WARN(guess:a) why\n").contains("guess"));
    assert!(refused("//@ expect: real\nx; // RACE!(a b)\n").contains("no label"));
    assert!(refused("//@ expect: real\na; // RACE!(a)\nb; // RACE!(a)\nc; // RACE!(a)\n").contains("more than a pair"));
    assert!(refused("//@ levels: O0\n").contains("reason"));
    assert!(refused("//@ expect: harmful(fire)\n").contains("unknown harm"));
    assert!(refused("int x;\n//@ expect: none\n").contains("at the top"));
    assert!(refused(&format!("//@ expect: none\n{}", "\n".repeat(60))).contains("fewer than 60"));
}

#[test]
fn prose_is_no_mark() {
    let case = parse("//@ expect: none\n// MAY be anything, even WARN.\nx = \"RACE!(a)\";\n").unwrap();
    assert!(case.labels.is_empty());
}
