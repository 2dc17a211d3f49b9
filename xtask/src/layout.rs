//! Where things are: the repository, the build directory, and the parts of an installation.

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the repository")
        .to_owned()
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

/// The development installation.
pub fn dist() -> PathBuf {
    match std::env::var_os("DEADHEAT_DIST") {
        Some(directory) => root().join(directory),
        None => root().join("dist"),
    }
}

/// The parts of an installation, below its prefix.
pub mod part {
    /// The tool.
    pub const TOOL: &str = "bin/deadheat";
    /// The tool's names as a compiler, beside it.
    pub const DRIVERS: [&str; 5] = [
        "bin/deadheat-cc",
        "bin/deadheat-c++",
        "bin/deadheat-rustc",
        "bin/deadheat-rust-linker",
        "bin/cargo-deadheat",
    ];
    /// What compiled programs need.
    pub const LIB: &str = "lib/deadheat";
    /// Compilers' names for makefiles that do not ask `CC`: in front of `PATH` in `deadheat build`.
    pub const COMPILERS: &str = "lib/deadheat/compilers";
    /// The names there; each leads to the tool.
    pub const COMPILER_NAMES: [&str; 6] = ["cc", "gcc", "clang", "c++", "g++", "clang++"];
    /// The tool by a linker's name, for clang to call.
    pub const LINKER: &str = "lib/deadheat/linker/ld";
    /// The pass plugin.
    pub const PASS: &str = "lib/deadheat/libdeadheat_pass.so";
    /// The worker that lowers bitcode.
    pub const LOWERING: &str = "lib/deadheat/deadheat-lowering";
    /// The runtime as one relocatable object.
    pub const RUNTIME: &str = "lib/deadheat/deadheat_rt.o";
    /// The linker's list of what executables export for it.
    pub const EXPORTS: &str = "lib/deadheat/deadheat_rt.list";
    /// The models of library functions, for symbolic flavours.
    pub const MODELS: &str = "lib/deadheat/deadheat_models.o";
    /// The same, for flavours that tell of accesses.
    pub const MODELS_WITH_TOUCHES: &str = "lib/deadheat/deadheat_models_touches.o";
    /// Where the header lies.
    pub const INCLUDE: &str = "include";
    /// What programs may call.
    pub const HEADER: &str = "include/deadheat.h";
    /// What gcc reads first under `--frontend=gcc`.
    pub const GCC_HEADER: &str = "include/deadheat_gcc.h";
    /// The object of each linked module.
    pub const MODULE: &str = "lib/deadheat/deadheat_module.o";
}
