//! `cargo xtask figures`: the paper's figures 1 and 2 over 100 seeds, at three optimisation levels.
//!
//! The programs are built here with the installation in `./dist`; the measuring is an example of the
//! campaign crate, which runs them.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, layout, process};

const LEVELS: [&str; 3] = ["O0", "O1", "O2"];
const FIGURES: [&str; 2] = ["figure1", "figure2"];

/// Builds the figures and prints the table; fails if a number is not what the paper says.
pub fn run(arguments: &[String]) -> Outcome {
    let dist = match arguments {
        [] => layout::dist(),
        [option, directory] if option == "--dist" => std::path::absolute(directory)?,
        _ => return Err("usage: cargo xtask figures [--dist DIR]".into()),
    };
    let built = layout::target().join("figures");
    std::fs::create_dir_all(&built)?;
    let mut programs = Vec::new();
    for figure in FIGURES {
        for level in LEVELS {
            let program = built.join(format!("{figure}-{level}"));
            build(&dist, figure, level, &program)?;
            programs.push(program);
        }
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(layout::root());
    command.args([
        "run",
        "--quiet",
        "-p",
        "deadheat-campaign",
        "--example",
        "figures",
        "--",
    ]);
    process::run(command.args(&programs))?;
    Ok(())
}

fn build(dist: &Path, figure: &str, level: &str, program: &Path) -> Result<(), String> {
    let source = layout::root().join(format!("cases/c/paper/{figure}.c"));
    let mut compiler = Command::new(dist.join("bin/deadheat"));
    compiler
        .args(["cc", "-g", &format!("-{level}"), "-pthread"])
        .arg(source);
    process::run(compiler.arg("-o").arg(program))
}
