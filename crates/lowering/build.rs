//! Compiles the C++ side against LLVM's headers, and links LLVM's shared library.
//!
//! Linking is not left to `llvm-sys`: the pass must not link LLVM, and in a build of the whole workspace that crate
//! would have the features of both.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-env-changed=LLVM_CONFIG");
    let config = std::env::var("LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-22".into());
    let Some(include) = ask(&config, &["--includedir"]) else {
        println!("cargo:error={config} not found: install llvm-22-dev or set LLVM_CONFIG");
        return;
    };
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-isystem")
        .flag(&include)
        .file("cpp/debug_information.cc")
        .compile("deadheat_lowering_shim");
    let libraries = ask(&config, &["--link-shared", "--libs"]).unwrap_or_default();
    let directory = ask(&config, &["--libdir"]).unwrap_or_default();
    println!("cargo:rustc-link-search=native={directory}");
    for library in libraries.split_whitespace().filter_map(|word| word.strip_prefix("-l")) {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}

/// What `llvm-config` answers.
fn ask(config: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(config).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
