//! `cargo xtask build`: everything that an installation holds, into `./dist`.
//!
//! The runtime is made one relocatable object whose only global names are its interface, so that it links
//! into C, C++ and Rust programs without a clash: the archive is linked with `ld.lld -r` from the names in
//! `crates/runtime/exports.txt` on, then all other names become local. The libc calls among them become
//! weak, so that a program that defines one itself (an allocator, say) still links and gets its own.
//! Files are put in place by renaming, so that a compiler that runs meanwhile sees the old or the new one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::layout::{self, part};
use crate::{Outcome, dependencies, process};

/// Parses the arguments and builds.
pub fn run(arguments: &[String]) -> Outcome {
    let dist = match arguments {
        [] => layout::dist(),
        [option, directory] if option == "--dist" => std::path::absolute(directory)?,
        _ => return Err("usage: cargo xtask build [--dist DIR]".into()),
    };
    // One by one: together, cargo would build the crates they share once, with the features of all, and the
    // runtime has no room for the standard library.
    cargo("build", &["-p", "deadheat-pass"])?;
    // Stacks are followed by frame pointers, from the runtime's own frames on.
    cargo("rustc", &["-p", "deadheat-runtime", "--", "-Cforce-frame-pointers=yes"])?;
    cargo("build", &["-p", "deadheat-lowering"])?;
    cargo("build", &["-p", "deadheat"])?;
    let release = layout::target().join("release");
    for directory in ["bin", part::LIB, part::COMPILERS] {
        fs::create_dir_all(dist.join(directory))?;
    }
    place(&release.join("libdeadheat_pass.so"), &dist.join(part::PASS))?;
    place(&release.join("deadheat-lowering"), &dist.join(part::LOWERING))?;
    module(&dist)?;
    models(&dist, part::MODELS, &[])?;
    models(&dist, part::MODELS_WITH_TOUCHES, &["-mllvm", "-deadheat-touches"])?;
    fs::create_dir_all(dist.join(part::INCLUDE))?;
    for header in [part::HEADER, part::GCC_HEADER] {
        place(&layout::root().join("crates/runtime").join(header), &dist.join(header))?;
    }
    runtime(&release, &dist)?;
    place(&release.join("deadheat"), &dist.join(part::TOOL))?;
    links(&dist)?;
    eprintln!("built: {}", dist.display());
    Ok(())
}

fn cargo(job: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command
        .current_dir(layout::root())
        .args([job, "--release"])
        .args(arguments);
    process::run(command.env("LLVM_SYS_221_PREFIX", dependencies::LLVM))
}

/// Puts a file where it belongs in one step.
fn place(from: &Path, to: &Path) -> Outcome {
    let near = beside(to);
    fs::copy(from, &near).map_err(|error| format!("{}: {error}", from.display()))?;
    fs::rename(&near, to)?;
    Ok(())
}

/// A name for a file in the making, beside its place.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// The object that each linked module gets.
fn module(dist: &Path) -> Outcome {
    let object = beside(&dist.join(part::MODULE));
    let mut clang = Command::new("clang-22");
    // Nothing that would pull in a library or a run-time check.
    clang.args([
        "-c",
        "-O2",
        "-fPIC",
        "-ffreestanding",
        "-fno-stack-protector",
        "-fno-asynchronous-unwind-tables",
    ]);
    clang.args(["-Wall", "-Wextra", "-Werror"]);
    clang
        .arg(format!("-DDEADHEAT_OBJECT_VERSION={}", deadheat_wire::object::VERSION))
        .arg(layout::root().join("crates/runtime/module/module.c"))
        .arg("-o")
        .arg(&object);
    process::run(&mut clang)?;
    fs::rename(&object, dist.join(part::MODULE))?;
    Ok(())
}

/// The models of library functions, instrumented as a program's symbolic flavour is.
fn models(dist: &Path, name: &str, more: &[&str]) -> Outcome {
    let object = beside(&dist.join(name));
    let pass = dist.join(part::PASS);
    let mut clang = Command::new("clang-22");
    clang.arg(format!("-fpass-plugin={}", pass.display()));
    clang.args(["-Xclang", "-load", "-Xclang"]).arg(&pass);
    clang.args(["-mllvm", "-deadheat-symbolic"]).args(more);
    clang.args(["-c", "-O1", "-fPIC", "-fno-builtin", "-fno-omit-frame-pointer"]);
    clang.args(["-U_FORTIFY_SOURCE", "-Wall", "-Wextra", "-Werror"]);
    // What the C library's macros make of these names must not get between.
    clang.args(["-D__NO_CTYPE", "-fno-stack-protector", "-Wno-missing-prototypes"]);
    clang
        .arg(layout::root().join("crates/runtime/models/models.c"))
        .arg("-o")
        .arg(&object);
    process::run(&mut clang)?;
    fs::rename(&object, dist.join(name))?;
    Ok(())
}

/// The runtime's interface, one name a line, `#` for remarks.
fn exports() -> Result<Vec<String>, String> {
    let path = layout::root().join("crates/runtime/exports.txt");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let names = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The runtime object and the list of what executables export for it.
fn runtime(release: &Path, dist: &Path) -> Outcome {
    let names = exports()?;
    let (whole, object) = (release.join("deadheat_rt.whole.o"), beside(&dist.join(part::RUNTIME)));
    let mut link = Command::new("ld.lld-22");
    link.args(["-r", "--force-group-allocation"]);
    for name in &names {
        link.args(["-u", name]);
    }
    link.arg(release.join("libdeadheat_rt.a")).arg("-o").arg(&whole);
    process::run(&mut link)?;
    let (kept, weak) = (release.join("deadheat_rt.kept"), release.join("deadheat_rt.weak"));
    fs::write(&kept, names.join("\n"))?;
    let libc: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with("dh_"))
        .collect();
    fs::write(&weak, libc.join("\n"))?;
    let mut localise = Command::new("llvm-objcopy-22");
    localise.arg(format!("--keep-global-symbols={}", kept.display()));
    localise.arg(format!("--weaken-symbols={}", weak.display()));
    // Its debug information would be ten times the rest in every program; the whole object keeps it.
    localise.arg("--strip-debug");
    process::run(localise.arg(&whole).arg(&object))?;
    check(&object, &names)?;
    fs::rename(&object, dist.join(part::RUNTIME))?;
    let list: Vec<String> = names.iter().map(|name| format!("{name};")).collect();
    let near = beside(&dist.join(part::EXPORTS));
    fs::write(&near, format!("{{ {} }};\n", list.join(" ")))?;
    fs::rename(&near, dist.join(part::EXPORTS))?;
    Ok(())
}

/// All names of the interface are defined, and nothing else is global.
fn check(object: &Path, names: &[String]) -> Outcome {
    let symbols = process::output(
        Command::new("llvm-nm-22")
            .args(["--defined-only", "--extern-only", "-j"])
            .arg(object),
    )?;
    let defined: Vec<&str> = symbols.lines().map(str::trim).collect();
    let missing: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !defined.contains(name))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "exports.txt names what the runtime does not define: {}",
            missing.join(" ")
        )
        .into());
    }
    Ok(())
}

/// The tool's names as a compiler.
fn links(dist: &Path) -> Outcome {
    for driver in part::DRIVERS {
        link(Path::new("deadheat"), &dist.join(driver))?;
    }
    if let Some(directory) = Path::new(part::LINKER).parent() {
        fs::create_dir_all(dist.join(directory))?;
    }
    link(Path::new("../../../bin/deadheat"), &dist.join(part::LINKER))?;
    for name in part::COMPILER_NAMES {
        link(
            Path::new("../../../bin/deadheat"),
            &dist.join(part::COMPILERS).join(name),
        )?;
    }
    Ok(())
}

fn link(to: &Path, at: &Path) -> Outcome {
    let near = beside(at);
    symlink(to, &near)?;
    fs::rename(&near, at)?;
    Ok(())
}
