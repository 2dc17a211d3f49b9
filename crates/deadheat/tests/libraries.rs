//! Shared libraries: races in them are found; what is of another version of deadheat is said to be, and not watched.

mod programs;

use object::{Object, ObjectSection};
use programs::Place;
use std::path::Path;

const LIBRARY: &str = "int counter;\nvoid bump(void) { counter++; }\n";
const PROGRAM: &str = "#include <pthread.h>\nvoid bump(void);\nstatic void *f(void *a) { bump(); return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); bump(); pthread_join(t, 0); return 0; }\n";
/// Loads the library at run time; races by itself too.
const LOADER: &str = "#include <dlfcn.h>\n#include <pthread.h>\nstatic void (*bump)(void);\nint own;\n\
    static void *f(void *a) { bump(); own++; return a; }\n\
    int main(void) {\n void *h = dlopen(\"./liblib.so\", RTLD_NOW);\n if (!h) return 2;\n\
    bump = (void (*)(void))dlsym(h, \"bump\");\n\
    pthread_t t; pthread_create(&t, 0, f, 0); bump(); own++; pthread_join(t, 0); return 0; }\n";

/// A place with `liblib.so` and, linked with it, `program`.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.build_with(
        "cc",
        "liblib.c",
        LIBRARY,
        &["-O1", "-shared", "-fPIC", "-o", "liblib.so"],
    );
    place.build_with(
        "cc",
        "program.c",
        PROGRAM,
        &["-O1", "-L.", "-llib", "-Wl,-rpath,$ORIGIN"],
    );
    place
}

/// Makes the file one that an earlier version of the compiler made, as far as it says.
fn age(file: &Path) {
    let mut bytes = std::fs::read(file).expect("a file");
    let elf = object::File::parse(&*bytes).expect("an ELF file");
    let units = elf
        .section_by_name("dh_units")
        .and_then(|s| s.file_range())
        .expect("units");
    bytes[units.0 as usize] -= 1;
    std::fs::remove_file(file).expect("removed");
    std::fs::write(file, bytes).expect("written");
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
}

#[test]
fn a_race_in_a_library_is_found_linked_or_loaded() {
    let place = place("library");
    let (status, told) = place.run(&["hunt", "--runs", "3", "--", "./program"]);
    assert!(
        status == 1 && told.contains("global `counter`") && told.contains("lib.c:2"),
        "{told}"
    );
    place.build("loader", LOADER);
    let (status, told) = place.run(&["hunt", "--runs", "3", "--store", "s", "--", "./loader"]);
    assert!(
        status == 1 && told.contains("global `counter`") && told.contains("global `own`"),
        "{told}"
    );
}

#[test]
fn a_library_of_another_version_is_named_and_counted() {
    let place = place("old-library");
    age(&place.join("liblib.so"));
    let (status, told) = place.run(&["hunt", "--runs", "3", "--", "./program"]);
    let why = "1 of its 1 source files were compiled by another version of deadheat";
    assert!(
        status == 0 && told.contains("liblib.so is not watched") && told.contains(why),
        "{told}"
    );
    assert!(told.contains("build it again"), "{told}");
    // Loaded late; nothing is called unordered beside it, since it may synchronise unseen.
    place.build("loader", LOADER);
    let (status, told) = place.run(&["hunt", "--runs", "3", "--store", "s", "--", "./loader"]);
    assert!(
        status == 1 && told.contains("global `own`") && told.contains(why),
        "{told}"
    );
    assert!(!told.contains("global `counter`"), "{told}");
}

#[test]
fn a_program_of_another_version_is_refused_with_the_way_out() {
    let place = place("old-program");
    age(&place.join("program"));
    let (status, told) = place.run(&["hunt", "--", "./program"]);
    assert!(status == 3 && told.contains("of the 1 source files in"), "{told}");
    assert!(
        told.contains("another version of deadheat") && told.contains("Build it again"),
        "{told}"
    );
}

/// Loads one library, then another in its place.
const RELOADER: &str = "#include <dlfcn.h>\n#include <pthread.h>\nstatic void (*step)(void);\n\
    static void *f(void *a) { step(); return a; }\n\
    static int use(const char *file) {\n void *h = dlopen(file, RTLD_NOW); if (!h) return 1;\n\
    step = (void (*)(void))dlsym(h, \"step\");\n\
    pthread_t t; pthread_create(&t, 0, f, 0); step(); pthread_join(t, 0); return dlclose(h); }\n\
    int main(void) { return use(\"./libone.so\") || use(\"./libtwo.so\"); }\n";

#[test]
fn what_was_unloaded_gives_no_names_to_what_comes_after() {
    let place = Place::new("reload");
    let library = |name: &str, source: &str| {
        let (file, out) = (format!("{name}.c"), format!("{name}.so"));
        place.build_with("cc", &file, source, &["-O1", "-shared", "-fPIC", "-o", &out]);
    };
    library("libone", "int early;\nvoid step(void) { early++; }\n");
    library("libtwo", "int late;\nvoid step(void) {\n late--; }\n");
    place.build("reloader", RELOADER);
    let (status, told) = place.run(&["hunt", "--runs", "3", "--", "./reloader"]);
    assert_eq!(status, 1, "{told}");
    for (object, line) in [("global `early`", "libone.c:2"), ("global `late`", "libtwo.c:3")] {
        let of_it = told.lines().find(|l| l.contains("  F") && l.contains(object));
        assert!(of_it.is_some_and(|l| l.matches(line).count() == 2), "{told}");
    }
}
