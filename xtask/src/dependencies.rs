//! `cargo xtask deps`: the compiler and tools that deadheat is built with and works with.
//!
//! Debian's package names; as root on a Debian system they are installed, else the command is printed.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, process};

/// Where Debian's packages put LLVM 22.
pub const LLVM: &str = "/usr/lib/llvm-22";

/// A Debian package, a file that shows that it is there, and what it is for.
struct Package {
    name: &'static str,
    shows: &'static str,
    purpose: &'static str,
}

const PACKAGES: &[Package] = &[
    Package {
        name: "clang-22",
        shows: "/usr/bin/clang-22",
        purpose: "the compiler that the drivers call",
    },
    Package {
        name: "llvm-22-dev",
        shows: "/usr/lib/llvm-22/include/llvm/IR/Module.h",
        purpose: "headers for the pass plugin",
    },
    Package {
        name: "llvm-22",
        shows: "/usr/bin/llvm-objcopy-22",
        purpose: "objcopy and nm for the runtime object",
    },
    Package {
        name: "lld-22",
        shows: "/usr/bin/ld.lld-22",
        purpose: "links the runtime into one object",
    },
    Package {
        name: "libclang-rt-22-dev",
        shows: "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.builtins-x86_64.a",
        purpose: "compiler runtime, and TSan to compare with in the benchmarks",
    },
    Package {
        name: "g++",
        shows: "/usr/bin/g++",
        purpose: "C++ standard library, and the C++ part of the pass",
    },
    Package {
        name: "libc6-dev",
        shows: "/usr/include/pthread.h",
        purpose: "C library headers",
    },
    Package {
        name: "make",
        shows: "/usr/bin/make",
        purpose: "the demo and the tests",
    },
    Package {
        name: "gdb",
        shows: "/usr/bin/gdb",
        purpose: "`deadheat replay --gdb`",
    },
];

/// Says what is missing and installs it where it may.
pub fn run(arguments: &[String]) -> Outcome {
    let only_check = match arguments {
        [] => false,
        [option] if option == "--check" => true,
        _ => return Err("usage: cargo xtask deps [--check]".into()),
    };
    let missing: Vec<&Package> = PACKAGES
        .iter()
        .filter(|package| !Path::new(package.shows).exists())
        .collect();
    if missing.is_empty() {
        eprintln!("deps: all {} packages are there", PACKAGES.len());
        return Ok(());
    }
    for package in &missing {
        eprintln!("deps: missing {}: {}", package.name, package.purpose);
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    let by_hand = format!("apt-get install {}", names.join(" "));
    if only_check {
        return Err(format!("as root: {by_hand}").into());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("this is no Debian system; install clang, LLVM and lld 22 by its own means".into());
    }
    if process::output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err(format!("not root: run as root: {by_hand}").into());
    }
    install(&names)
}

fn install(names: &[&str]) -> Outcome {
    // A fresh container has no lists; old ones name packages that are gone.
    process::run(Command::new("apt-get").args(["-q", "update"]))?;
    let unknown: Vec<&str> = names.iter().copied().filter(|name| !is_offered(name)).collect();
    if !unknown.is_empty() {
        return Err(format!(
            "this release ({}) does not offer {}: add the repository of https://apt.llvm.org for LLVM 22 and run again",
            release(),
            unknown.join(", ")
        )
        .into());
    }
    let mut install = Command::new("apt-get");
    install
        .args(["-q", "-y", "--no-install-recommends", "install"])
        .args(names);
    process::run(install.env("DEBIAN_FRONTEND", "noninteractive"))?;
    Ok(())
}

/// Whether apt knows a version of this package that can be installed.
fn is_offered(name: &str) -> bool {
    let policy = process::output(Command::new("apt-cache").args(["policy", name])).unwrap_or_default();
    policy.lines().any(|line| {
        line.trim()
            .strip_prefix("Candidate:")
            .is_some_and(|version| version.trim() != "(none)")
    })
}

/// The system's name for itself.
fn release() -> String {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches('"').to_owned()
}
