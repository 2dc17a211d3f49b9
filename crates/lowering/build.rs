//! Compiles the C++ side against the headers of the LLVM that is linked.

use std::process::Command;

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
        .flag("-isystem")
        .flag(&include)
        .file("cpp/debug_information.cc")
        .compile("deadheat_lowering_shim");
}
