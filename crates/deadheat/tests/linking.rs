//! Code without sites is known by what the linker read, however it came in: what it orders is not called a race, and a
//! race beside it is still brought about.

mod programs;

use programs::{Place, text};
use std::process::Command;

/// What orders two threads, seen only where it was built with deadheat.
const FLAG: &str = "void publish(int *l) { __atomic_store_n(l, 1, __ATOMIC_RELEASE); }\n\
    int ready(int *l) { return __atomic_load_n(l, __ATOMIC_ACQUIRE); }\n";
const OTHER: &str = "int other(int a) { return a * 3; }\n";
/// `x` is ordered by the flag, `y` by nothing.
const PROGRAM: &str = "#include <pthread.h>\n#include <sched.h>\nvoid publish(int *); int ready(int *);\nint l, x, y;\n\
    static void *f(void *a) { x = 1; publish(&l); y++; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);\n\
    for (int i = 0; i < 50; i++) { if (ready(&l)) { x++; break; } sched_yield(); }\n\
    y++; pthread_join(t, 0); return 0; }\n";

/// A place with the flag in the forms that another compiler, assembler or linker makes.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("flag.c", FLAG);
    place.write("other.c", OTHER);
    place.write("script.ld", "INPUT(flag.o)\n");
    place.write("words", "flag.o\n");
    place.write("included.c", "__asm__(\".include \\\"flag.inc\\\"\");\nint besides;\n");
    let seen = place
        .tool(&["cc", "-O1", "-c", "other.c", "-o", "other.o"])
        .output()
        .expect("a compiler");
    assert!(seen.status.success(), "{}", text(&seen));
    let seen = place
        .tool(&["cc", "-O1", "-c", "flag.c", "-o", "seen.o"])
        .output()
        .expect("a compiler");
    assert!(seen.status.success(), "{}", text(&seen));
    shell(
        &place,
        "gcc -O1 -c flag.c && ar rc libflag.a flag.o && gcc -O1 -S flag.c && cp flag.s flag.txt && \
         grep -v 'GNU-stack\\|[.]ident\\|[.]file' flag.s > flag.inc && \
         ld -r other.o flag.o -o partial.o && ld.lld-22 -r flag.o other.o -o partial2.o && ld -r other.o seen.o -o whole.o && \
         mkdir own && for n in libutil.so libm.so.6 libstdc++.so; do gcc -O1 -shared -fPIC flag.c -o own/$n; done && \
         cp libflag.a own/libgcc.a",
    );
    place
}

fn shell(place: &Place, script: &str) {
    let output = Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(place.join(""))
        .output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{script}: {}", text(&output));
}

/// Whether a race on the variable was shown.
fn real(told: &str, variable: &str) -> bool {
    let named = format!("global `{variable}`");
    told.lines().any(|l| l.contains(" real ") && l.contains(&named))
}

/// Links with these words and hunts; `x` must not be called a race, `y` must.
fn holds(place: &Place, words: &str) -> String {
    let flags: Vec<&str> = ["-O1"].into_iter().chain(words.split(' ')).collect();
    place.build_with("cc", "program.c", PROGRAM, &flags);
    let _ = std::fs::remove_dir_all(place.join("s"));
    let (_, told) = place.run(&["hunt", "--runs", "5", "--store", "s", "--", "./program"]);
    assert!(!real(&told, "x") && real(&told, "y"), "{words}: {told}");
    told
}

#[test]
fn what_was_linked_is_asked_of_the_linker() {
    let place = place("linked");
    for (words, named) in [
        ("flag.o", "flag.o"),
        ("-L. -lflag", "libflag.a(flag.o)"),
        ("-L. -l:libflag.a -fuse-ld=lld", "libflag.a(flag.o)"),
        ("script.ld -fuse-ld=gold", "flag.o"),
        ("-Wl,flag.o", "flag.o"),
        ("@words", "flag.o"),
        ("-x assembler flag.txt", "flag.txt"),
        ("own/libgcc.a", "own/libgcc.a"),
    ] {
        let told = holds(&place, words);
        assert!(
            told.contains("code without sites (") && told.contains(named),
            "{words}: {told}"
        );
    }
}

#[test]
fn objects_of_several_compilers_are_told_from_whole_ones() {
    let place = place("partial");
    for words in ["partial.o", "partial2.o", "included.c"] {
        let told = holds(&place, words);
        assert!(told.contains("code without sites ("), "{words}: {told}");
    }
    let told = holds(&place, "whole.o");
    assert!(!told.contains("code without sites"), "{told}");
}

#[test]
fn libraries_that_are_named_like_the_systems_are_not_taken_for_them() {
    let place = place("names");
    for library in ["libutil.so", "libm.so.6", "libstdc++.so"] {
        let told = holds(&place, &format!("own/{library} -Wl,-rpath,$ORIGIN/own"));
        assert!(told.contains(&format!("own/{library}")), "{told}");
    }
}

#[test]
fn a_program_whose_link_is_not_known_proves_by_meetings_alone() {
    let place = place("stripped");
    place.build_with("cc", "program.c", PROGRAM, &["-O1", "flag.o"]);
    shell(&place, "llvm-strip-22 program");
    let (_, told) = place.run(&["hunt", "--runs", "5", "--store", "s", "--", "./program"]);
    assert!(!told.contains("proven") || !real(&told, "x"), "{told}");
    assert!(told.contains("is not known"), "{told}");
}

/// A lock of the C library that the program finds by itself.
const BESIDE: &str = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n\
    static int (*take)(pthread_mutex_t *), (*give)(pthread_mutex_t *);\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nint x, y;\n\
    static void *f(void *a) { take(&m); x++; give(&m); y++; return a; }\n\
    int main(void) { take = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, \"pthread_mutex_lock\");\n\
    give = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, \"pthread_mutex_unlock\");\n\
    pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); return 0; }\n";

#[test]
fn locks_that_the_program_finds_behind_the_runtime_order_unseen() {
    let place = Place::new("beside");
    place.build("beside", BESIDE);
    let (_, told) = place.run(&["hunt", "--runs", "5", "--", "./beside"]);
    assert!(!real(&told, "x") && real(&told, "y"), "{told}");
}

const SETS_GS: &str = "#include <pthread.h>\n#include <sys/syscall.h>\n#include <unistd.h>\nint x; long own[8];\n\
    static void *f(void *a) { x++; return a; }\n\
    int main(void) { syscall(SYS_arch_prctl, 0x1001, own);\n\
    pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }\n";

#[test]
fn a_program_that_sets_gs_is_refused_by_name() {
    let place = Place::new("gs");
    place.build("gs", SETS_GS);
    let (status, told) = place.run(&["hunt", "--runs", "3", "--", "./gs"]);
    assert!(status == 3 && told.contains("sets the register GS"), "{status} {told}");
}
