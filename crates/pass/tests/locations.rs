//! Statements that the optimiser left without a line get the nearest one.

mod support;

use support::{Language, build};

#[test]
fn accesses_moved_out_of_a_loop_have_a_place() {
    let source = "long x;\nvoid f(int n) {\nfor (int i = 0; i < n; i++)\nx += i;\n}\nstatic void g(void) {\nx++;\n}\n\
        void h(int n) {\nwhile (n--)\ng(); }";
    for level in ["-O0", "-O1", "-O2"] {
        for site in build(Language::C, &[level], source).sites() {
            let place = site.location.as_ref().expect("a place");
            assert!(place.line > 0 && place.file.ends_with("t.c"), "{level}: {site:?}");
        }
    }
}
