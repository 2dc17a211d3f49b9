//! The installed drivers under many forms of command line, each compared with what clang does.
//!
//! They need `./dist` (`cargo xtask build`; `make test` builds it first), or another by `DEADHEAT_DIST`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use deadheat::driver::link_record::{self, LinkRecord};
use object::{Object, ObjectSection};

/// A directory with a small program, and the drivers.
struct Place {
    directory: tempfile::TempDir,
    bin: PathBuf,
}

const FILES: &[(&str, &str)] = &[
    (
        "main.c",
        "#include <stdio.h>\n#include \"add.h\"\nint main(void) { printf(\"%d\\n\", add(40, 2)); return total != 42; }\n",
    ),
    (
        "add.c",
        "#include \"add.h\"\nint total;\nint add(int a, int b) { total += a + b; return a + b; }\n",
    ),
    ("add.h", "extern int total;\nint add(int a, int b);\n"),
    (
        "main.cc",
        "#include <iostream>\n#include <stdexcept>\n#include <vector>\nextern \"C\" {\n#include \"add.h\"\n}\n\
         int main() { std::vector<int> v; v.push_back(add(40, 2)); try { v.at(1); } catch (const std::out_of_range &) \
         { std::cout << v[0] << std::endl; } }\n",
    ),
    (
        "three.s",
        ".globl three\n.type three,@function\nthree: movl $3, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    ),
    (
        "four.S",
        "#define VALUE 4\n.globl four\nfour: movl $VALUE, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    ),
    (
        "asm.c",
        "int three(void); int four(void);\nint main(void) { return three() + four() == 7 ? 0 : 1; }\n",
    ),
    (
        "threads.c",
        "#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int n;\n\
         static void *f(void *x) { for (int i = 0; i < 1000; i++) { pthread_mutex_lock(&m); n++; \
         pthread_mutex_unlock(&m); } return x; }\nint main(void) { pthread_t t[2]; \
         for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);\nfor (int i = 0; i < 2; i++) \
         pthread_join(t[i], 0); return n != 2000; }\n",
    ),
    ("broken.c", "int main(void) { return nothing; }\n"),
];

impl Place {
    fn new() -> Place {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let dist = std::env::var_os("DEADHEAT_DIST").map_or(root.join("dist"), |dist| root.join(dist));
        let bin = dist.join("bin");
        assert!(
            bin.join("deadheat-cc").exists(),
            "{} is not built: run `cargo xtask build` first",
            dist.display()
        );
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in FILES {
            fs::write(directory.path().join(name), text).unwrap();
        }
        Place {
            directory,
            bin: bin.canonicalize().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a shell command with `$CC` and `$CXX`.
    fn shell(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).current_dir(self.directory.path());
        command
            .env("CC", self.bin.join("deadheat-cc"))
            .env("CXX", self.bin.join("deadheat-c++"));
        command.env("DEADHEAT", self.bin.join("deadheat"));
        command.output().unwrap()
    }

    /// Runs a command that must succeed without a word on standard error; returns what it printed.
    fn quiet(&self, script: &str) -> String {
        let output = self.shell(script);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success() && stderr.is_empty(),
            "{script}: {}\n{stdout}{stderr}",
            output.status
        );
        stdout
    }

    /// Runs a command that must fail with status 1; returns what it said.
    fn fails(&self, script: &str) -> String {
        let output = self.shell(script);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{script}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stderr)
    }

    fn section(&self, file: &str, name: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path(file)).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        object
            .section_by_name(name)
            .map(|section| section.data().unwrap().to_vec())
    }

    fn has_sites(&self, file: &str) -> bool {
        self.section(file, "dh_units").is_some()
    }

    fn link_record(&self, file: &str) -> LinkRecord {
        link_record::parse(&self.section(file, link_record::SECTION).expect("a link record")).remove(0)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn programs_from_sources_at_once() {
    let place = Place::new();
    assert_eq!(place.quiet("$CC main.c add.c -o x && ./x"), "42\n");
    assert_eq!(
        place.quiet("$CC -O2 -Wall -Wextra -Werror main.c add.c && ./a.out"),
        "42\n"
    );
    assert_eq!(place.quiet("$DEADHEAT cc -g3 -O1 main.c add.c -o x && ./x"), "42\n");
    assert_eq!(place.quiet("$CXX -O1 main.cc -x c add.c -o y && ./y"), "42\n");
    assert_eq!(
        place.quiet("$CC -c add.c && $DEADHEAT c++ -std=c++20 main.cc add.o -o y && ./y"),
        "42\n"
    );
    place.quiet("$CC -pthread threads.c -o t && ./t");
    assert!(place.has_sites("x") && place.has_sites("y"));
    for symbol in ["x", "y"] {
        let bytes = fs::read(place.path(symbol)).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        assert!(
            file.dynamic_symbols()
                .any(|s| object::ObjectSymbol::name(&s) == Ok("dh_register_module"))
        );
    }
}

#[test]
fn objects_and_archives() {
    let place = Place::new();
    place.quiet("$CC -c main.c add.c");
    assert!(place.has_sites("main.o") && place.has_sites("add.o"));
    assert_eq!(
        place.quiet("ar rcs libadd.a add.o && $CC main.o -L. -ladd -o x && ./x"),
        "42\n"
    );
    let record = place.link_record("x");
    let library = record
        .inputs
        .iter()
        .find(|input| input.path.ends_with("libadd.a"))
        .unwrap();
    assert_eq!((library.watched, library.unwatched), (1, 0));
    assert_eq!(
        place.quiet("$CC -c -o obj.o add.c && $CC -c main.c -o m.o && $CC -o y m.o obj.o && ./y"),
        "42\n"
    );
    assert_eq!(
        place.quiet("$CC -r main.o add.o -o both.o && $CC both.o -o z && ./z"),
        "42\n"
    );
    assert_eq!(
        place.quiet("ar rcT thin.a add.o && $CC main.o thin.a -o w && ./w"),
        "42\n"
    );
    assert_eq!(place.quiet("strip x && ./x"), "42\n");
}

#[test]
fn shared_libraries() {
    let place = Place::new();
    let script = "$CC -shared -fPIC add.c -o libadd.so && $CC main.c -L. -ladd -Wl,-rpath,$PWD -o x && ./x";
    assert_eq!(place.quiet(script), "42\n");
    assert!(place.has_sites("libadd.so") && place.has_sites("x"));
    // A library with sites works in a program that knows nothing of deadheat.
    assert_eq!(
        place.quiet("clang-22 main.c -L. -ladd -Wl,-rpath,$PWD -o plain && ./plain"),
        "42\n"
    );
    place.quiet("$CC -shared -fPIC -Wl,-z,defs -Wl,-soname,libadd.so add.c -o libadd.so && ./x");
    place.quiet("$CC -c -fPIC add.c && $CC -shared -nostdlib add.o -lc -o libadd.so && ./x");
}

#[test]
fn assembly_is_assembled_and_counted() {
    let place = Place::new();
    place
        .quiet("$CC asm.c three.s four.S -o x && ./x && $CC -c three.s four.S && $CC asm.c three.o four.o -o y && ./y");
    assert!(!place.has_sites("three.o"));
    for program in ["x", "y"] {
        let unwatched: u32 = place
            .link_record(program)
            .inputs
            .iter()
            .map(|input| input.unwatched)
            .sum();
        assert_eq!(unwatched, 2);
    }
    // Assembly that the driver made itself carries its sites along.
    assert_eq!(
        place.quiet("$CC -S -O1 add.c main.c && $CC add.s main.s -o z && ./z"),
        "42\n"
    );
    assert!(place.has_sites("z"));
    place.quiet("$CC -x assembler-with-cpp -c four.S -o f.o && $CC -c -xassembler three.s -o t.o");
}

#[test]
fn preprocessing_and_dependencies() {
    let place = Place::new();
    assert!(place.quiet("$CC -E add.c").contains("total += a + b"));
    assert_eq!(
        place.quiet("$CC -dM -E -x c /dev/null | grep -v __DEADHEAT__ | sort"),
        place.quiet("clang-22 -dM -E -x c /dev/null | sort")
    );
    assert_eq!(
        place.quiet("$CC -dM -E -x c /dev/null | grep __DEADHEAT__"),
        "#define __DEADHEAT__ 1\n"
    );
    assert_eq!(place.quiet("$CC -M add.c"), "add.o: add.c add.h\n");
    place.quiet("$CC -MMD -MF add.d -MT target.o -c add.c -o t.o");
    assert!(
        fs::read_to_string(place.path("add.d"))
            .unwrap()
            .starts_with("target.o:")
    );
    place.quiet("$CC -Wp,-MD,wp.d -c add.c && test -s wp.d && $CC -MD -MP -c add.c && test -s add.d");
    place.quiet("$CC -fsyntax-only main.c add.c && $CC -MM -MG -MQ 'a b' add.c");
    assert_eq!(
        place.quiet("echo 'int main(void){return 0;}' | $CC -x c - -o s && ./s && echo ok"),
        "ok\n"
    );
    assert!(place.quiet("echo 'X y' | $CC -DX=z -E -").contains("z y"));
}

#[test]
fn response_files_and_odd_words() {
    let place = Place::new();
    fs::write(place.path("args"), "-O1 'main.c' \"add.c\"\n-DNAME=\\\"q\\\" -o\nx").unwrap();
    assert_eq!(place.quiet("$CC @args && ./x"), "42\n");
    fs::write(place.path("nested"), "@args").unwrap();
    assert_eq!(place.quiet("rm x; $CC @nested && ./x"), "42\n");
    let long: String = (0..20_000)
        .map(|i| format!("-DLONG_MACRO_NUMBER_{i}=\"a b\"\n"))
        .collect();
    fs::write(place.path("long"), long).unwrap();
    assert_eq!(place.quiet("$CC @long main.c add.c -o long.out && ./long.out"), "42\n");
    assert_eq!(
        place.quiet("$CXX @long -x c++ main.cc -x c add.c -o long.out && ./long.out"),
        "42\n"
    );
    assert_eq!(
        place.quiet("mkdir 'd i r' && cp *.c *.h 'd i r' && $CC 'd i r/main.c' 'd i r/add.c' -o 'x y' && './x y'"),
        "42\n"
    );
    assert_eq!(place.quiet("$CC main.c -o x -- add.c && ./x"), "42\n");
    assert_eq!(place.quiet("$CC -xc++ -xnone main.c add.c -o x && ./x"), "42\n");
    assert_eq!(
        place.quiet("$CC -Xclang -disable-llvm-verifier -Xlinker --gc-sections main.c add.c -o x && ./x"),
        "42\n"
    );
}

#[test]
fn questions_are_clangs() {
    let place = Place::new();
    for question in [
        "--version",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
        "-print-file-name=libc.so.6",
        "--help",
        "-print-prog-name=ld",
        "-print-libgcc-file-name",
        "-print-resource-dir",
    ] {
        assert_eq!(
            place.quiet(&format!("$CC {question}")),
            place.quiet(&format!("clang-22 {question}"))
        );
    }
    assert!(text(&place.shell("$CC -v").stderr).contains("clang version"));
    let shown = text(&place.shell("$CC -### main.c add.c").stderr);
    assert!(
        shown.contains("deadheat_rt.o") && shown.contains("-fpass-plugin"),
        "{shown}"
    );
    assert!(!place.path("a.out").exists());
    let linker = place.shell("$CC -Wl,--version");
    let plain = place.shell("clang-22 -Wl,--version");
    assert_eq!(linker.status.code(), plain.status.code());
}

#[test]
fn positions_optimisation_and_linkers() {
    let place = Place::new();
    for flags in [
        "-O0",
        "-O1",
        "-O2",
        "-O3",
        "-Os",
        "-Og",
        "-Ofast -Wno-deprecated",
        "-fno-pie",
        "-fPIC",
        "-fPIE -pie",
        "-g0",
        "-g1",
        "-gdwarf-4",
        "-gsplit-dwarf",
        "-fomit-frame-pointer",
        "-fcf-protection",
        "-fstack-protector-strong",
        "-ffunction-sections -fdata-sections -Wl,--gc-sections",
        "-fuse-ld=lld",
        "-fuse-ld=bfd",
        "-s",
        "-march=x86-64-v3",
        "-fsanitize=undefined",
        "-static-libgcc",
        "-D_FORTIFY_SOURCE=2 -O2",
        "-fvisibility=hidden",
        "-rdynamic",
        "-pipe",
        "-fuse-ld=lld -Wl,--icf=all",
        "-Wl,--as-needed -Wl,-z,relro,-z,now",
        "-coverage",
        "-std=gnu89",
    ] {
        assert_eq!(
            place.quiet(&format!("$CC {flags} main.c add.c -o x && ./x")),
            "42\n",
            "{flags}"
        );
        assert!(place.has_sites("x"), "{flags}");
    }
    assert_eq!(
        text(&place.shell("$CC -save-temps main.c add.c -o x && ./x").stdout),
        "42\n"
    );
    let lto = place.shell("$CC -flto -c main.c add.c && $CC -flto main.o add.o -o x && ./x");
    assert_eq!(text(&lto.stdout), "42\n");
    assert_eq!(text(&lto.stderr).matches("-flto").count(), 1, "{}", text(&lto.stderr));
    let fixed = place.shell("$CC -no-pie main.c add.c -o x && ./x");
    assert_eq!(text(&fixed.stdout), "42\n");
    assert_eq!(
        text(&fixed.stderr).matches("-no-pie").count(),
        1,
        "{}",
        text(&fixed.stderr)
    );
    assert_eq!(
        place.quiet("$CC -O2 -fno-ipa-icf -fno-tree-sra -fdump-tree-all main.c add.c -o x && ./x"),
        "42\n"
    );
    let warned = place.shell("$CC -Werror -Wno-maybe-uninitialized -fgcse main.c add.c -o x && ./x");
    assert!(warned.status.success() && text(&warned.stderr).contains("unknown-warning-option"));
    fs::write(
        place.path("old.cc"),
        "#include <inttypes.h>\n#include <stdio.h>\nint main() { printf(\"%\"PRIuMAX\"\\n\", (uintmax_t)42); }\n",
    )
    .unwrap();
    assert_eq!(text(&place.shell("$CXX old.cc -o old && ./old").stdout), "42\n");
}

#[test]
fn intermediate_forms() {
    let place = Place::new();
    place.quiet("$CC -O1 -emit-llvm -c add.c -o add.bc && $CC -S -emit-llvm main.c -o main.ll");
    assert!(!fs::read_to_string(place.path("main.ll")).unwrap().contains("dh_units"));
    assert_eq!(place.quiet("$CC add.bc main.ll -o x && ./x"), "42\n");
    assert!(place.has_sites("x"));
    place.quiet("$CC -x c-header add.h -o add.h.pch && $CC -include-pch add.h.pch -c main.c");
    place.quiet("$CC add.h && $CC -O2 -c add.h -o other.pch && $CC -O2 -fPIC -x c-header add.h -o pic.pch");
    place.quiet("$CC -nostdlib -r main.c add.c -o r.o && $CC -ffreestanding -c add.c -o f.o");
    assert!(place.has_sites("f.o"));
    fs::write(
        place.path("start.c"),
        "void _start(void) { for (;;) __asm__ volatile(\"syscall\" :: \"a\"(231), \"D\"(7)); }",
    )
    .unwrap();
    let bare = place.shell("$CC -nostdlib -ffreestanding start.c -o bare && ./bare");
    assert_eq!(bare.status.code(), Some(7), "{}", text(&bare.stderr));
}

#[test]
fn code_instrumented_for_thread_sanitizer_links_with_the_runtime() {
    let place = Place::new();
    // Objects of a build that knew nothing of deadheat, in C and C++, beside one of ours; the option stays in the link.
    place
        .quiet("gcc -g -O1 -fsanitize=thread -c threads.c && $CC -fsanitize=thread threads.o -pthread -o one && ./one");
    place.quiet("clang-22 -g -O1 -fsanitize=thread -c add.c && $CXX main.cc add.o -o two && ./two");
    let bytes = fs::read(place.path("two")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    assert!(
        file.dynamic_symbols()
            .any(|s| object::ObjectSymbol::name(&s) == Ok("__tsan_write4")),
        "the runtime stands behind the interface"
    );
    assert!(
        !bytes.windows(10).any(|w| w == b"libtsan.so"),
        "and not ThreadSanitizer's"
    );
    for frontend in ["gcc", "clang"] {
        place.quiet(&format!("$CC --frontend={frontend} -O1 main.c add.c -o x && ./x && $CXX --frontend={frontend} main.cc add.o -o y && ./y"));
        place.quiet(&format!(
            "DEADHEAT_FRONTEND={frontend} $CC -fsanitize=thread -O2 -c threads.c -o t.o && $CC t.o -o z && ./z"
        ));
    }
    assert!(
        place
            .fails("$CC --frontend=tcc main.c add.c")
            .contains("pass, clang or gcc")
    );
}

#[test]
fn what_cannot_work_is_refused_with_a_way_out() {
    let place = Place::new();
    for flag in ["-fsanitize=thread", "-fsanitize=address", "-static", "-m32"] {
        let said = place.fails(&format!("$CC {flag} main.c add.c -o x"));
        assert!(said.starts_with("deadheat: error: ") && said.contains(flag), "{said}");
        assert!(!place.path("x").exists());
    }
    // Clang's own errors, with its own status.
    assert!(
        place
            .fails("$CC broken.c -o x")
            .contains("use of undeclared identifier 'nothing'")
    );
    assert!(place.fails("$CC missing.c").contains("no such file"));
    assert!(place.fails("$CC main.c -o x").contains("add"), "undefined reference");
    assert!(place.fails("$CC -fno-such-thing -c add.c").contains("unknown argument"));
    assert!(
        place
            .fails("$CC -fno-ipa-icf -x c -c /dev/null -o /dev/null")
            .contains("unknown argument"),
        "a trial"
    );
    assert!(
        place
            .fails("DEADHEAT_CLANG=/nowhere $CC -c add.c")
            .contains("DEADHEAT_CLANG")
    );
    assert!(place.fails("DEADHEAT_LIB=/nowhere $CC -c add.c").contains("/nowhere"));
}

#[test]
fn status_and_signals_pass_through() {
    let place = Place::new();
    let fake = place.path("fake-clang");
    fs::write(&fake, "#!/bin/sh\nkill -TERM $$\n").unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(place.bin.join("deadheat-cc"))
        .args(["-c", "add.c"])
        .env("DEADHEAT_CLANG", &fake)
        .output();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&output.unwrap().status),
        Some(15)
    );
    fs::write(&fake, "#!/bin/sh\nexit 77\n").unwrap();
    let output = Command::new(place.bin.join("deadheat-cc"))
        .args(["-c", "add.c"])
        .env("DEADHEAT_CLANG", &fake)
        .output();
    assert_eq!(output.unwrap().status.code(), Some(77));
}

#[test]
fn libtool_may_repeat_our_objects() {
    let place = Place::new();
    // libtool takes the objects that `-v` shows and names them itself, with -nostdlib, in later links.
    let script = "$CC -fPIC -c add.c && seen=$($CC -shared -v add.o -o t.so 2>&1 | tr ' ' '\\n' | grep '\\.o$' | grep -v add.o) \
                  && $CC -shared -nostdlib $seen add.o -lc -o libadd.so && $CC main.c libadd.so -Wl,-rpath,$PWD -o x && ./x";
    assert_eq!(place.quiet(script), "42\n");
}

#[test]
fn builds_with_makefiles() {
    let place = Place::new();
    fs::write(
        place.path("Makefile"),
        "x: main.o add.o\n\t$(CC) $(LDFLAGS) $^ -o $@\nhard: main.c add.c\n\tgcc -no-pie $^ -o $@\n",
    )
    .unwrap();
    let build = |script: &str| text(&place.shell(script).stderr);
    let said = build("$DEADHEAT build -- make x && ./x");
    assert!(
        said.contains("2 source files compiled with sites, 1 programs linked"),
        "{said}"
    );
    assert!(place.has_sites("x"));
    let said = build("$DEADHEAT build make hard && ./hard");
    assert!(said.contains("1 programs linked") && place.has_sites("hard"), "{said}");
    assert!(build("$DEADHEAT build -- make x").contains("nothing was compiled"));
    assert_eq!(place.shell("$DEADHEAT build -- sh -c 'exit 9'").status.code(), Some(9));
    assert_eq!(place.shell("$DEADHEAT build -- ./not-there").status.code(), Some(127));
    assert_eq!(
        place.quiet("$DEADHEAT build -- sh -c '$CC_FOR_BUILD main.c add.c -o native' 2>/dev/null && ./native"),
        "42\n"
    );
    assert!(!place.has_sites("native"));
}
