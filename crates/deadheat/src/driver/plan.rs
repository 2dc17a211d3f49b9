//! From a command line to clang's: what deadheat adds, drops and refuses. Pure: no files, no environment.
//!
//! - Code gets the pass plugin, debug information unless the user chose its level, frame pointers (stacks
//!   are read by them), and is position-independent.
//! - An executable gets the runtime object, the module object and the list of names to export; a shared
//!   library, and what does without the C library, the module object alone; what is linked again, nothing.
//! - Ours stands in front: before any `-x`, `--` or linker mode switch that would change its meaning, and
//!   where the user's later word wins. What must not win is dropped, and said under `-v`.
//! - Trials of configuration tools see clang's own verdict on options that only gcc knows.

use std::ffi::OsString;
use std::path::Path;

use super::command_line::{Argument, CommandLine, Content, Input, Stage};
use super::frontend::{Frontend, asks_for_libtsan};
use super::gcc_only::is_gcc_only;
use super::installation::Parts;
use super::{DriverError, Language, sanitizers, target};

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Arguments that deadheat adds, to stand in front.
    pub ours: Vec<OsString>,
    /// The user's arguments, less what was dropped.
    pub theirs: Vec<OsString>,
    /// What was dropped or left alone, for `-v` and the build's summary.
    pub notes: Vec<String>,
    /// What the user should see even without `-v`.
    pub warnings: Vec<String>,
    /// What is linked, if something is.
    pub links: Option<Output>,
    /// Whether code gets sites.
    pub instruments: bool,
    /// Whether the command line is gcc's.
    pub gcc: bool,
}

/// What a link makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A program that deadheat can run.
    Executable,
    /// A shared library.
    SharedLibrary,
    /// A relocatable object: linked again later.
    Relocatable,
    /// An executable without the C library: the runtime cannot live there.
    Freestanding,
}

/// Decides what clang is to do. `probe`: a configuration tool is trying out the compiler.
pub fn plan(line: &CommandLine, parts: &Parts, probe: bool) -> Result<Plan, DriverError> {
    let mut plan = Plan {
        ours: Vec::new(),
        theirs: Vec::new(),
        notes: Vec::new(),
        warnings: Vec::new(),
        links: None,
        instruments: false,
        gcc: line.frontend.is_gcc(),
    };
    if !line.has_work() || line.has("-cc1") || line.has("-cc1as") {
        plan.theirs = words(line, |_| true);
        return Ok(plan);
    }
    if line.stage >= Stage::Assembly {
        refuse(line)?;
    }
    plan.links = (line.stage == Stage::Link).then(|| output(line));
    let keep_positions = leaves_positions_alone(line, plan.links);
    plan.instruments = instruments(line, &mut plan.notes);
    plan.theirs = words(line, |argument| {
        keep(line, argument, keep_positions, probe, parts, &mut plan.notes)
    });
    if plan.links == Some(Output::Executable) && !probe && line.options().any(is_lto) {
        plan.warnings
            .push("-flto is left out: sites are made per object; the program works the same".to_owned());
    }
    if plan.links == Some(Output::Executable) && !probe && line.options().any(is_fixed_position) {
        plan.warnings.push(
            "-no-pie is left out: the program is position-independent, so that its memory has a shadow. Where code \
             needs fixed addresses (assembly, say), the linker will name it; build that part anew or with clang"
                .to_owned(),
        );
    }
    if plan.links == Some(Output::Executable) {
        drop_version_scripts(&mut plan);
    }
    add_for_code(line, parts, keep_positions, probe, &mut plan);
    add_for_link(parts, &mut plan);
    Ok(plan)
}

/// The environment variable by which `deadheat build --bitcode-only` tells the drivers.
pub const BITCODE_ONLY: &str = "DEADHEAT_BITCODE_ONLY";

/// Decides what clang is to do where only bitcode is wanted: no sites, no runtime, the code as it would be without
/// deadheat. Kernels and programs for other machines can be built so.
pub fn bitcode_only(line: &CommandLine, parts: &Parts, probe: bool) -> Plan {
    let mut plan = Plan {
        ours: Vec::new(),
        theirs: Vec::new(),
        notes: Vec::new(),
        warnings: Vec::new(),
        links: None,
        instruments: false,
        gcc: line.frontend.is_gcc(),
    };
    if !line.has_work() || line.has("-cc1") || line.has("-cc1as") {
        plan.theirs = words(line, |_| true);
        return plan;
    }
    let notes = &mut plan.notes;
    plan.theirs = words(line, |argument| {
        let Some(option) = argument.option() else { return true };
        let reason = if is_lto(option) {
            "bitcode is kept per object"
        } else if !probe && is_gcc_only(option) {
            "only gcc knows it"
        } else {
            return true;
        };
        notes.push(format!("{option} left out: {reason}"));
        false
    });
    let compiles = line.has_content(Content::Source) || line.has_content(Content::Ir);
    if !compiles || line.stage < Stage::Assembly {
        return plan;
    }
    if !probe {
        plan.ours
            .extend(GCC_ONLY_WARNS.iter().map(|name| format!("-Wno-error={name}").into()));
    }
    if debug_level(line).is_none() {
        plan.ours.push("-g".into());
    }
    if line.has_content(Content::Foreign) || line.has("-emit-llvm") {
        return plan;
    }
    // Options for the compiler proper are read after -load, and before pass plugins are loaded.
    for word in ["-Xclang", "-load", "-Xclang"] {
        plan.ours.push(word.into());
    }
    plan.ours.push(parts.pass.clone().into());
    plan.ours
        .extend(["-mllvm", "-deadheat-bitcode-only"].map(OsString::from));
    let mut plugin = OsString::from("-fpass-plugin=");
    plugin.push(&parts.pass);
    plan.ours.push(plugin);
    plan.instruments = true;
    plan
}

/// Errors out on what cannot work, with the way out.
fn refuse(line: &CommandLine) -> Result<(), DriverError> {
    let refused = |text: String| Err(DriverError::Refused(text));
    if let Some(machine) = target::foreign(line) {
        return refused(format!(
            "{machine}: deadheat watches x86-64 Linux programs only; build this part with clang"
        ));
    }
    let mut sanitizers = sanitizers::in_the_way(line);
    if takes_libtsans_place(line) {
        sanitizers.retain(|name| name != "thread");
    }
    if !sanitizers.is_empty() {
        return refused(format!(
            "-fsanitize={} cannot be combined with deadheat: both would watch or replace the same memory and thread \
             calls. Leave it out of CFLAGS, CXXFLAGS and LDFLAGS (or switch it off in configure), and keep a second \
             build with clang for it; -fsanitize=undefined may stay{}",
            sanitizers.join(","),
            if sanitizers == ["thread"] {
                ". Or have the compiler's own instrumentation used, with deadheat's runtime instead of libtsan: \
                 --frontend=clang or --frontend=gcc"
            } else {
                ""
            }
        ));
    }
    let fixed = line
        .options()
        .find(|o| matches!(*o, "-static" | "--static" | "-static-pie"));
    if let (Stage::Link, Some(fixed)) = (line.stage, fixed) {
        return refused(format!(
            "{fixed}: in a static program the thread calls cannot be taken over. Leave {fixed} out (static archives and \
             -static-libgcc may stay)"
        ));
    }
    Ok(())
}

/// Whether the runtime stands in for that of ThreadSanitizer: the code is compiled for it, or was and is linked here.
fn takes_libtsans_place(line: &CommandLine) -> bool {
    let compiles = line.has_content(Content::Source) || line.has_content(Content::Ir);
    line.frontend != Frontend::Pass || line.stage == Stage::Link && !compiles
}

/// What the link makes.
fn output(line: &CommandLine) -> Output {
    let relocatable = |o: &str| matches!(o, "-r" | "-i" | "-Ur" | "--relocatable");
    if line.options().any(|o| matches!(o, "-r" | "--relocatable")) || line.linker_options().any(relocatable) {
        Output::Relocatable
    } else if line.options().any(|o| matches!(o, "-shared" | "--shared"))
        || line
            .linker_options()
            .any(|o| matches!(o, "-shared" | "--shared" | "-Bshareable"))
    {
        Output::SharedLibrary
    } else if freestanding(line) {
        Output::Freestanding
    } else {
        Output::Executable
    }
}

/// Whether the program does without the C library. Naming it after `-nostdlib` brings it back.
fn freestanding(line: &CommandLine) -> bool {
    let without = |o: &str| {
        matches!(
            o,
            "-nostdlib" | "--no-standard-libraries" | "-nodefaultlibs" | "-nolibc" | "-nostartfiles" | "-ffreestanding"
        )
    };
    line.options().any(without) && !line.has("-lc")
}

/// Code for kernels and boot loaders keeps its own ideas of where it may be loaded.
fn leaves_positions_alone(line: &CommandLine, links: Option<Output>) -> bool {
    let model = line.last_value("-mcmodel=").and_then(|m| m.to_str());
    matches!(model, Some("kernel" | "large"))
        || line.has("-ffreestanding")
        || matches!(links, Some(Output::Freestanding | Output::Relocatable))
}

/// Whether code that this command makes gets sites.
fn instruments(line: &CommandLine, notes: &mut Vec<String>) -> bool {
    if line.stage < Stage::Assembly || !(line.has_content(Content::Source) || line.has_content(Content::Ir)) {
        return false;
    }
    let model = line.last_value("-mcmodel=").and_then(|m| m.to_str());
    if matches!(model, Some("kernel" | "large")) {
        notes.push("-mcmodel: no sites in code that is not an ordinary program's".to_owned());
    } else if line.has_content(Content::Foreign) {
        notes.push("no sites in code with parts for another device or language".to_owned());
    } else if line.has("-emit-llvm") {
        notes.push("-emit-llvm: IR gets its sites when it is compiled to an object".to_owned());
    } else {
        return true;
    }
    false
}

/// Whether one of the user's arguments stays.
fn keep(
    line: &CommandLine,
    argument: &Argument,
    keep_positions: bool,
    probe: bool,
    parts: &Parts,
    notes: &mut Vec<String>,
) -> bool {
    if let Argument::Input(index) = argument {
        // libtool reads the objects that a trial link added from `-v` and repeats them in later links.
        let Input { path, .. } = &line.inputs[*index];
        return Path::new(path) != parts.runtime && Path::new(path) != parts.module;
    }
    let Some(option) = argument.option() else { return true };
    let reason = if is_lto(option) {
        "sites are made per object"
    } else if option == "-gsplit-dwarf" || option.starts_with("-gsplit-dwarf=") {
        "debug information stays in the object"
    } else if matches!(option, "-fomit-frame-pointer" | "-momit-leaf-frame-pointer") {
        "stacks are read by frame pointers"
    } else if option == "-static-libstdc++" {
        "what libstdc++ does inside is known of the shared library only"
    } else if !keep_positions && is_fixed_position(option) {
        "programs are position-independent"
    } else if !keep_positions && matches!(option, "-fno-pie" | "-fno-PIE" | "-fno-pic" | "-fno-PIC") {
        "code is position-independent"
    } else if !probe && !line.frontend.is_gcc() && is_gcc_only(option) {
        "only gcc knows it"
    } else if asks_for_libtsan(argument) && takes_libtsans_place(line) {
        "deadheat's runtime stands in for it"
    } else {
        return true;
    };
    notes.push(format!("{option} left out: {reason}"));
    false
}

/// Whether an option asks for a program at a fixed address.
fn is_fixed_position(option: &str) -> bool {
    matches!(option, "-no-pie" | "-no-PIE" | "-nopie")
}

/// A version script that makes a program's names local would hide the runtime's from libraries. In a program,
/// unlike in a library, it decides nothing else.
fn drop_version_scripts(plan: &mut Plan) {
    for word in plan.theirs.iter_mut() {
        let Some(list) = word.to_str().and_then(|w| w.strip_prefix("-Wl,")) else {
            continue;
        };
        let mut value_follows = false;
        let kept: Vec<&str> = list
            .split(',')
            .filter(|option| {
                let value = std::mem::replace(&mut value_follows, *option == "--version-script");
                !(value || value_follows || option.starts_with("--version-script="))
            })
            .collect();
        let shorter = format!("-Wl,{}", kept.join(","));
        if *word != *shorter {
            plan.notes
                .push(format!("{} left out: libraries must see the runtime", word.display()));
            *word = shorter.into();
        }
    }
    plan.theirs.retain(|word| word != "-Wl,");
}

/// Link-time optimisation and what only goes with it.
fn is_lto(option: &str) -> bool {
    matches!(
        option,
        "-flto"
            | "-ffat-lto-objects"
            | "-fwhole-program-vtables"
            | "-fsplit-lto-unit"
            | "-fvirtual-function-elimination"
            | "-funified-lto"
            | "-fuse-linker-plugin"
    ) || ["-flto=", "-flto-jobs=", "-flto-partition=", "-fthinlto-index="]
        .iter()
        .any(|o| option.starts_with(o))
}

/// Where gcc warns and clang by itself, or under `-Werror`, gives up. A build that gcc takes is to go on; the
/// warnings stay, and an explicit `-Werror=NAME` of the user's comes later and wins.
const GCC_ONLY_WARNS: &[&str] = &[
    "c++11-narrowing",
    "ignored-optimization-argument",
    "implicit-function-declaration",
    "implicit-int",
    "incompatible-function-pointer-types",
    "int-conversion",
    "register",
    "reserved-user-defined-literal",
    "return-mismatch",
    "unknown-warning-option",
    "unused-command-line-argument",
];

/// What the compiler proper is told.
fn add_for_code(line: &CommandLine, parts: &Parts, keep_positions: bool, probe: bool, plan: &mut Plan) {
    // A precompiled header must be made with the options of the code that uses it.
    let compiles = [Content::Source, Content::Header, Content::Ir]
        .into_iter()
        .any(|c| line.has_content(c));
    if compiles && !keep_positions && !line.options().any(is_position_independent) {
        plan.ours.push("-fPIE".into());
    }
    if compiles {
        // `deadheat.h`, behind whatever the user names.
        let mut include = OsString::from("-idirafter");
        include.push(&parts.include);
        plan.ours.extend(["-D__DEADHEAT__=1".into(), include]);
    }
    if !probe && !line.frontend.is_gcc() && (compiles || plan.links.is_some()) {
        plan.ours
            .extend(GCC_ONLY_WARNS.iter().map(|name| format!("-Wno-error={name}").into()));
    }
    if line.stage < Stage::Assembly || !compiles {
        return;
    }
    match debug_level(line) {
        None => plan.ours.push("-g".into()),
        Some("-g0") => plan.notes.push("-g0: findings will have no source lines".to_owned()),
        Some(_) => {}
    }
    plan.ours
        .extend(["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"].map(OsString::from));
    if plan.instruments && line.frontend != Frontend::Pass {
        plan.ours.extend(line.frontend.options(parts));
    } else if plan.instruments {
        let mut plugin = OsString::from("-fpass-plugin=");
        plugin.push(&parts.pass);
        plan.ours.push(plugin);
        // A frame in every path, or a stack lacks the caller of a function that leaves early.
        plan.ours
            .extend(["-mllvm", "-enable-shrink-wrap=false"].map(OsString::from));
    }
}

fn is_position_independent(option: &str) -> bool {
    matches!(option, "-fPIC" | "-fpic" | "-fPIE" | "-fpie")
}

/// The option that last chose how much debug information there is.
fn debug_level(line: &CommandLine) -> Option<&str> {
    line.options().rfind(|o| {
        let rest = o.strip_prefix("-g").unwrap_or("-");
        rest.is_empty()
            || rest == "mlt"
            || rest.starts_with("gdb")
            || rest.starts_with("line-")
            || rest.starts_with(|c: char| c.is_ascii_digit())
            || (rest.starts_with("dwarf")
                && rest != "dwarf64"
                && rest != "dwarf32"
                && !rest.starts_with("dwarf-aranges"))
    })
}

/// What the linker is told.
fn add_for_link(parts: &Parts, plan: &mut Plan) {
    match plan.links {
        Some(Output::Executable) => {
            let mut list = OsString::from("-Wl,--dynamic-list=");
            list.push(&parts.exports);
            plan.ours.extend([
                "-pie".into(),
                list,
                parts.runtime.clone().into(),
                parts.module.clone().into(),
            ]);
        }
        // Detecting bodies name the module object's words wherever they are linked.
        Some(Output::SharedLibrary) => plan.ours.push(parts.module.clone().into()),
        Some(Output::Freestanding) => {
            plan.ours.push(parts.module.clone().into());
            plan.notes.push("no C library: linked without the runtime".to_owned());
        }
        Some(Output::Relocatable) | None => {}
    }
}

/// The arguments that `keep` keeps, as words.
fn words(line: &CommandLine, mut keep: impl FnMut(&Argument) -> bool) -> Vec<OsString> {
    let mut words = Vec::with_capacity(line.arguments.len() + 8);
    for argument in line.arguments.iter().filter(|a| keep(a)) {
        match argument {
            Argument::Option(word) => words.push(word.clone()),
            Argument::WithValue(word, value) => words.extend([word.clone(), value.clone()]),
            Argument::Input(index) => words.push(line.inputs[*index].path.clone()),
            Argument::EndOfOptions => words.push("--".into()),
        }
    }
    words
}

impl Plan {
    /// The whole command line for clang, with further inputs of ours. `--driver-mode` is what makes one
    /// clang program be both compilers.
    pub fn command_line(&self, language: Language, extra: Option<OsString>) -> Vec<OsString> {
        let mut all = Vec::with_capacity(self.ours.len() + self.theirs.len() + 4);
        if self.gcc {
            all.extend(self.ours.iter().chain(&extra).chain(&self.theirs).cloned());
            return all;
        }
        if language == Language::Cxx {
            all.push("--driver-mode=g++".into());
        }
        if !self.ours.is_empty() {
            // Some of these have nothing to do in some commands; that is not the user's concern.
            all.push("--start-no-unused-arguments".into());
            all.extend(self.ours.iter().cloned().chain(extra));
            all.push("--end-no-unused-arguments".into());
        }
        all.extend(self.theirs.iter().cloned());
        all
    }

    /// Whether clang gets exactly what the user wrote.
    pub fn changes_nothing(&self, line: &CommandLine) -> bool {
        self.ours.is_empty() && self.theirs == words(line, |_| true)
    }
}
