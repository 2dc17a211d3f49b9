//! The drivers as a function: a command line in, clang's command line out.

use std::ffi::OsString;
use std::path::Path;

use deadheat::driver::command_line::{CommandLine, Content, Stage};
use deadheat::driver::installation::Parts;
use deadheat::driver::plan::{Output, Plan, plan};
use deadheat::driver::{DriverError, Language};

fn parts() -> Parts {
    Parts::under(Path::new("/dh"))
}

fn parse(text: &str) -> CommandLine {
    let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
    CommandLine::parse(Language::C, &words)
}

fn planned(text: &str) -> Plan {
    plan(&parse(text), &parts(), false).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    match plan(&parse(text), &parts(), false) {
        Err(DriverError::Refused(why)) => why,
        other => panic!("{text}: {other:?}"),
    }
}

/// Our additions, less those for warnings, and the user's rest, as text.
fn split(text: &str) -> (String, String) {
    let mut plan = planned(text);
    plan.ours
        .retain(|word| !word.to_string_lossy().starts_with("-Wno-error="));
    let join = |words: &[OsString]| words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ");
    (join(&plan.ours), join(&plan.theirs))
}

const CODE: &str = "-fPIE -D__DEADHEAT__=1 -idirafter/dh/include -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fpass-plugin=/dh/libdeadheat_pass.so \
     -mllvm -enable-shrink-wrap=false";
/// Where `deadheat.h` is.
const HEADER: &str = "-D__DEADHEAT__=1 -idirafter/dh/include";
const PROGRAM: &str = "-pie -Wl,--dynamic-list=/dh/deadheat_rt.list /dh/deadheat_rt.o /dh/deadheat_module.o";

#[test]
fn compiling_adds_what_code_needs() {
    for text in [
        "-c a.c",
        "-c a.c -o b.o",
        "-O2 -S a.cc",
        "-c -x c -",
        "-c -MMD -MF d -MT t a.c",
        "-c a.ll",
    ] {
        assert_eq!(split(text), (CODE.to_owned(), text.to_owned()), "{text}");
    }
}

#[test]
fn linking_adds_the_runtime() {
    assert_eq!(
        split("a.o b.a -lm -o x"),
        (PROGRAM.to_owned(), "a.o b.a -lm -o x".to_owned())
    );
    assert_eq!(split("-lfoo").0, PROGRAM);
    assert_eq!(split("a.c b.c -o x").0, format!("{CODE} {PROGRAM}"));
    assert_eq!(
        split("a.o /dh/deadheat_module.o /dh/deadheat_rt.o").1,
        "a.o",
        "ours, repeated by libtool"
    );
}

#[test]
fn shared_libraries_get_the_module_object_alone() {
    let module = "/dh/deadheat_module.o";
    for text in [
        "-shared a.o -o a.so",
        "-shared -nostdlib crti.o a.o -lc -o a.so",
        "-Wl,-shared a.o",
        "-Xlinker -shared a.o",
    ] {
        assert_eq!(split(text), (module.to_owned(), text.to_owned()));
    }
    assert_eq!(split("-shared -fPIC a.c").0, format!("{} {module}", &CODE[6..]));
}

#[test]
fn what_has_no_libc_gets_no_runtime() {
    for text in [
        "-nostdlib a.o",
        "-nostartfiles a.o",
        "-ffreestanding a.o",
        "-nodefaultlibs a.o",
    ] {
        assert_eq!(
            split(text),
            ("/dh/deadheat_module.o".to_owned(), text.to_owned()),
            "{text}"
        );
    }
    for text in ["-r a.o b.o", "-Wl,-r a.o", "-nostdlib -r a.o"] {
        assert_eq!(split(text), (String::new(), text.to_owned()), "{text}");
    }
    assert_eq!(planned("-nostdlib crt1.o a.o -lc").links, Some(Output::Executable));
    assert_eq!(planned("-nostdlib a.o").links, Some(Output::Freestanding));
    assert_eq!(
        split("-ffreestanding -fno-pic -c a.c").1,
        "-ffreestanding -fno-pic -c a.c"
    );
}

#[test]
fn programs_go_without_version_scripts() {
    let theirs = |text: &str| split(text).1;
    assert_eq!(theirs("a.o -Wl,--version-script=v.map -o x"), "a.o -o x");
    assert_eq!(
        theirs("a.o -Wl,-z,now,--version-script,v.map,-O1"),
        "a.o -Wl,-z,now,-O1"
    );
    let library = "-shared a.o -Wl,--version-script=v.map";
    assert_eq!(theirs(library), library);
}

#[test]
fn questions_pass_untouched() {
    for text in [
        "--version",
        "-v",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
        "-print-file-name=libc.so",
        "--help",
        "",
        "--print-prog-name=ld",
        "-m32 --version",
        "-Wl,--version",
        "-print-resource-dir a.c",
    ] {
        assert_eq!(split(text), (String::new(), text.to_owned()), "{text}");
    }
}

#[test]
fn preprocessing_and_checking_get_no_sites() {
    for text in [
        "-E a.c",
        "-M a.c",
        "-MM a.c -MF x",
        "-fsyntax-only a.c",
        "-E -",
        "-E -dM -x c /dev/null",
    ] {
        assert_eq!(split(text), (format!("-fPIE {HEADER}"), text.to_owned()), "{text}");
    }
    // The macros __PIE__ and __PIC__ must be those of the compilation.
    assert_eq!(split("-E -fPIC a.c"), (HEADER.to_owned(), "-E -fPIC a.c".to_owned()));
    assert_eq!(
        split("-E -fno-pie a.c"),
        (format!("-fPIE {HEADER}"), "-E a.c".to_owned())
    );
}

#[test]
fn assembly_is_left_alone() {
    assert_eq!(split("-c a.s b.S"), (String::new(), "-c a.s b.S".to_owned()));
    assert_eq!(split("-c -x assembler-with-cpp a.c").0, "");
    assert!(planned("-c a.s").notes.is_empty());
    assert_eq!(parse("a.S").inputs[0].content, Content::Assembly);
    assert!(planned("-c a.c b.S").instruments);
}

#[test]
fn positions_become_independent() {
    assert_eq!(
        split("-c -fno-pie -fno-PIC a.c"),
        (CODE.to_owned(), "-c a.c".to_owned())
    );
    assert_eq!(split("-no-pie a.o"), (PROGRAM.to_owned(), "a.o".to_owned()));
    assert_eq!(split("-nostdlib -no-pie a.o").1, "-nostdlib -no-pie a.o");
    assert!(planned("-no-pie a.o").notes[0].contains("-no-pie"));
    assert!(!split("-c -fPIC a.c").0.contains("PIE"));
}

#[test]
fn debug_levels_are_respected() {
    for option in [
        "-g",
        "-g1",
        "-g3",
        "-ggdb",
        "-ggdb3",
        "-gdwarf-4",
        "-gline-tables-only",
        "-gmlt",
    ] {
        assert!(!split(&format!("{option} -c a.c")).0.contains("-g "), "{option}");
    }
    for option in [
        "-gz",
        "-gcolumn-info",
        "-grecord-gcc-switches",
        "-gdwarf64",
        "-gno-pubnames",
        "-ggnu-pubnames",
    ] {
        assert!(split(&format!("{option} -c a.c")).0.contains("-g "), "{option}");
    }
    let zero = planned("-g0 -c a.c");
    assert!(!zero.ours.contains(&"-g".into()) && zero.notes[0].starts_with("-g0"));
    assert_eq!(split("-gsplit-dwarf -c a.c"), (CODE.to_owned(), "-c a.c".to_owned()));
}

#[test]
fn lto_is_left_out() {
    assert_eq!(split("-flto=thin -ffat-lto-objects -c a.c").1, "-c a.c");
    let link = planned("-flto a.o -o x");
    assert_eq!(link.theirs, ["a.o", "-o", "x"].map(OsString::from));
    assert!(link.warnings[0].contains("-flto"));
    assert!(planned("-flto -c a.c").warnings.is_empty(), "told once, at the link");
    assert_eq!(split("-fno-lto -c a.c").1, "-fno-lto -c a.c");
}

#[test]
fn frame_pointers_stay() {
    assert_eq!(split("-fomit-frame-pointer -c a.c").1, "-c a.c");
}

#[test]
fn emitted_ir_is_clangs_own() {
    for text in ["-emit-llvm -c a.c", "-S -emit-llvm a.c -o -"] {
        let plan = planned(text);
        assert!(!plan.instruments && plan.notes[0].contains("-emit-llvm"), "{text}");
    }
}

#[test]
fn sanitizers_are_told_apart() {
    for name in [
        "address",
        "thread",
        "memory",
        "leak",
        "hwaddress",
        "undefined,address",
        "cfi-icall",
    ] {
        let why = refused(&format!("-fsanitize={name} -c a.c"));
        assert!(why.contains("Leave it out"), "{why}");
    }
    for text in [
        "-fsanitize=undefined -c a.c",
        "-fsanitize=undefined a.o -o x",
        "-fsanitize=address -fno-sanitize=address -c a.c",
        "-fsanitize=thread -fno-sanitize=all -c a.c",
        "-fsanitize=address -E a.c",
        "-fsanitize=fuzzer-no-link -c a.c",
    ] {
        planned(text);
    }
}

#[test]
fn other_machines_and_static_programs_are_refused() {
    for text in [
        "-m32 -c a.c",
        "-mx32 a.o",
        "--target=aarch64-linux-gnu -c a.c",
        "-target i386-linux-gnu -c a.c",
    ] {
        assert!(refused(text).contains("x86-64"), "{text}");
    }
    for text in [
        "-m32 -m64 -c a.c",
        "--target=x86_64-linux-gnu -c a.c",
        "-target x86_64-pc-linux-gnu -c a.c",
    ] {
        planned(text);
    }
    assert!(refused("-static a.o").contains("Leave -static out"));
    refused("-static-pie a.o");
    for text in [
        "-static -c a.c",
        "-static-libgcc a.o",
        "-static-libstdc++ a.o",
        "-Wl,-Bstatic -lfoo -Wl,-Bdynamic a.o",
    ] {
        planned(text);
    }
}

#[test]
fn gcc_options_are_left_out_but_not_in_trials() {
    let text = "-fno-ipa-icf -O2 -fno-tree-sra -c a.c";
    assert_eq!(split(text).1, "-O2 -c a.c");
    let trial = parse("-fno-ipa-icf -c conftest.c");
    assert!(trial.is_probe(Path::new("/build")));
    let plan = plan(&trial, &parts(), true).unwrap();
    assert_eq!(plan.theirs, ["-fno-ipa-icf", "-c", "conftest.c"].map(OsString::from));
}

#[test]
fn what_gcc_only_warns_about_is_no_error() {
    let plan_of = |text: &str| {
        planned(text)
            .ours
            .iter()
            .any(|o| o == "-Wno-error=unknown-warning-option")
    };
    assert!(plan_of("-Werror -Wno-maybe-uninitialized -c a.c") && plan_of("-c a.cc") && plan_of("a.o"));
    assert!(!plan_of("-c a.s"));
    let trial = plan(&parse("-Werror -c conftest.c"), &parts(), true).unwrap();
    assert!(!trial.ours.iter().any(|o| o.to_string_lossy().contains("-Wno-error")));
}

#[test]
fn trials_are_known() {
    for (text, directory) in [
        ("-c conftest.c", "/b"),
        ("-x c -c -", "/b"),
        ("-c a.c", "/b/CMakeFiles/CMakeTmp"),
        ("-c a.c", "/b/CMakeFiles/CMakeScratch/TryCompile-x1"),
        ("/b/meson-private/tmpx/testfile.c", "/b"),
        ("-x c /dev/null -c", "/b"),
    ] {
        assert!(parse(text).is_probe(Path::new(directory)), "{text}");
    }
    assert!(!parse("-c a.c").is_probe(Path::new("/b")));
}

#[test]
fn values_are_not_inputs() {
    let line = parse(
        "-o x.c -include y.c -Xclang z.c -I a.c -isystem b.c -MF c.c -MT d.c -D e.c -Xlinker f.c -T g.c -z now real.c",
    );
    assert_eq!(line.inputs.len(), 1);
    assert_eq!(line.inputs[0].path, "real.c");
    assert_eq!(line.stage, Stage::Link);
}

#[test]
fn languages_switch_and_switch_back() {
    let line = parse("-x c++ a.weird -x none b.o -xassembler c.c --language=ir d -- -e.c");
    let contents: Vec<Content> = line.inputs.iter().map(|input| input.content).collect();
    assert_eq!(
        contents,
        [
            Content::Source,
            Content::Linkable,
            Content::Assembly,
            Content::Ir,
            Content::Ir
        ]
    );
    assert_eq!(line.inputs[4].path, "-e.c");
}

#[test]
fn the_earliest_stage_wins() {
    assert_eq!(parse("-c -E a.c").stage, Stage::Preprocess);
    assert_eq!(parse("-c -S a.c").stage, Stage::Assembly);
    assert_eq!(parse("-MMD -c a.c").stage, Stage::Object);
    assert_eq!(parse("-M -c a.c").stage, Stage::Preprocess);
    assert_eq!(parse("-c -fsyntax-only a.c").stage, Stage::Check);
}

#[test]
fn the_whole_line_keeps_ours_in_front_and_quiet() {
    let words = planned("a.c -- b.c").command_line(Language::Cxx, Some("/proc/self/fd/3".into()));
    let words: Vec<_> = words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
    assert_eq!(words[..2], ["--driver-mode=g++", "--start-no-unused-arguments"]);
    let end = words.iter().position(|w| w == "--end-no-unused-arguments").unwrap();
    assert_eq!(words[end - 1], "/proc/self/fd/3");
    assert_eq!(words[end + 1..], ["a.c", "--", "b.c"]);
    // With nothing to add, clang's line is the user's.
    let line = parse("-c a.s");
    assert!(plan(&line, &parts(), false).unwrap().changes_nothing(&line));
}

#[test]
fn bitcode_alone_changes_nothing_else() {
    let ours = |text: &str| {
        let plan = deadheat::driver::plan::bitcode_only(&parse(text), &parts(), false);
        let words = |list: &[OsString]| {
            list.iter()
                .map(|w| w.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        (words(&plan.ours), words(&plan.theirs), plan.links)
    };
    let (added, kept, links) = ours("-m32 -mcmodel=kernel -fno-pie -flto -O2 -c a.c -o a.o");
    assert!(added.iter().any(|word| word == "-deadheat-bitcode-only"), "{added:?}");
    assert!(added.iter().any(|word| word.starts_with("-fpass-plugin=")) && added.iter().any(|word| word == "-g"));
    assert!(
        !added
            .iter()
            .any(|word| word.contains("fPIE") || word.contains("frame-pointer")),
        "{added:?}"
    );
    assert_eq!(kept.join(" "), "-m32 -mcmodel=kernel -fno-pie -O2 -c a.c -o a.o");
    assert_eq!(links, None);
    // Links, preprocessing and queries are clang's own.
    for text in ["a.o b.o -o program", "-E a.c", "-v"] {
        assert_eq!(ours(text).0, [""; 0], "{text}");
    }
}
