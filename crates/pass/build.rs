//! Compiles the C++ side of the plugin against the headers of the LLVM that will load it.

use std::process::Command;

const SOURCES: [&str; 7] = [
    "cpp/registration.cc",
    "cpp/function_clone.cc",
    "cpp/debug_location.cc",
    "cpp/own_memory.cc",
    "cpp/loops.cc",
    "cpp/instructions.cc",
    "cpp/concolic.cc",
];

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-env-changed=LLVM_CONFIG");
    let config = std::env::var("LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-22".into());
    let include = match Command::new(&config).arg("--includedir").output() {
        Ok(out) if out.status.success() => String::from_utf8_lossy(&out.stdout).trim().to_string(),
        _ => {
            println!("cargo:error={config} not found: install llvm-22-dev or set LLVM_CONFIG");
            return;
        }
    };
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility=hidden")
        .flag("-isystem")
        .flag(&include)
        .files(SOURCES)
        .compile("deadheat_pass_shim");
}
