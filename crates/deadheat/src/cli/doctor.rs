//! `doctor`: what this machine has of what deadheat needs, and how to get the rest.

use crate::driver::installation;
use crate::driver::rust::command_line::TARGET;
use crate::driver::rust::toolchain::Toolchain;
use deadheat_campaign::confirm::isolation::Isolation;
use deadheat_campaign::confirm::{Program, Stage, StageOptions};
use deadheat_campaign::report::exit;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How much a missing thing matters.
#[derive(Clone, Copy, PartialEq)]
enum Weight {
    Needed,
    Useful,
}

/// `deadheat doctor`.
pub fn doctor() -> ExitCode {
    let mut sound = true;
    let mut tell = |name: &str, weight: Weight, found: Result<String, String>| match found {
        Ok(what) => anstream::println!("ok       {name}: {what}"),
        Err(what) if weight == Weight::Useful => anstream::println!("limited  {name}: {what}"),
        Err(what) => {
            sound = false;
            anstream::println!("MISSING  {name}: {what}");
        }
    };
    tell("processor", Weight::Needed, processor());
    tell("clang 22", Weight::Needed, clang());
    tell("deadheat's parts", Weight::Needed, parts());
    tell("rustc (for Rust programs)", Weight::Useful, rustc());
    tell("shared memory", Weight::Useful, shared_memory());
    tell("fixed addresses", Weight::Useful, fixed_addresses());
    tell("isolation of runs", Weight::Useful, isolation());
    tell(
        "gdb (for replay --gdb)",
        Weight::Useful,
        version("gdb", "apt-get install gdb"),
    );
    if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::FAILED)
    }
}

fn processor() -> Result<String, String> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("x86-64".into()),
        other => Err(format!("{other}; deadheat works on x86-64 Linux only")),
    }
}

fn version(program: &str, advice: &str) -> Result<String, String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|_| format!("not found; {advice}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or_default().to_string())
}

fn clang() -> Result<String, String> {
    let path = installation::clang().map_err(|e| e.to_string())?;
    version(&path.to_string_lossy(), "apt-get install clang-22 lld-22")
}

/// Whether there is a Rust compiler, and one that the plugin fits.
fn rustc() -> Result<String, String> {
    let name = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let path = installation::which(&name).ok_or("not found; install Rust 1.95 (https://rustup.rs)")?;
    let toolchain = Toolchain::of(&path).map_err(|e| e.to_string())?;
    toolchain.check().map_err(|e| e.to_string())?;
    if !toolchain.libraries.is_dir() {
        return Err(format!(
            "{} is missing; rustup target add {TARGET}",
            toolchain.libraries.display()
        ));
    }
    Ok(format!("{} with LLVM {}", toolchain.release, toolchain.llvm))
}

fn parts() -> Result<String, String> {
    installation::Parts::find().map_err(|e| e.to_string())?;
    Ok(installation::directory().display().to_string())
}

fn shared_memory() -> Result<String, String> {
    let stat =
        rustix::fs::statvfs("/dev/shm").map_err(|e| format!("/dev/shm: {e}; the temporary directory is used"))?;
    let free = (stat.f_bavail * stat.f_frsize) >> 20;
    if free < 512 {
        Err(format!(
            "{free} MiB free in /dev/shm; the temporary directory is used instead"
        ))
    } else {
        Ok(format!("{free} MiB free"))
    }
}

fn fixed_addresses() -> Result<String, String> {
    let works = Command::new("setarch")
        .args(["-R", "true"])
        .status()
        .is_ok_and(|s| s.success());
    if works {
        Ok("address randomisation can be switched off".into())
    } else {
        Err("personality() is refused: replays may depend on addresses".into())
    }
}

fn isolation() -> Result<String, String> {
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let program = Program {
        file: PathBuf::from("/bin/true"),
        name: "true".into(),
        args: vec![],
        directory,
        environment: vec![],
        stdin: vec![],
        chosen: Default::default(),
    };
    let stage = Stage::new(program, StageOptions::default()).map_err(|e| e.to_string())?;
    match (&stage.isolation, stage.isolation.limits()) {
        (_, Some(limits)) => Err(limits),
        (Isolation::Overlay { directories, .. }, None) => {
            let shown = directories
                .iter()
                .map(|d| Path::new(d).display().to_string())
                .collect::<Vec<_>>()
                .join(", ");
            Ok(format!("private overlays of {shown}; own network"))
        }
        (_, None) => Ok(String::new()),
    }
}
