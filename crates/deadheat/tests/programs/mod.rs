//! Programs built with the installation in `./dist` (or `$DEADHEAT_DIST`), and the tool run on them.
// Each test program uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of one test, removed at its end.
pub struct Place(PathBuf);

impl Place {
    /// A fresh directory.
    pub fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("dh-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory");
        Place(path)
    }

    /// A file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Builds a C program at `-O1`.
    pub fn build(&self, name: &str, source: &str) -> PathBuf {
        self.build_with("cc", &format!("{name}.c"), source, &["-O1"])
    }

    /// Builds a program with one of deadheat's compilers; its name is that of the source without its ending.
    pub fn build_with(&self, compiler: &str, file: &str, source: &str, flags: &[&str]) -> PathBuf {
        self.write(file, source);
        let name = file.split('.').next().unwrap_or(file);
        let mut compiler = self.tool(&[compiler, "-g", "-pthread", file, "-o", name]);
        compiler.args(flags);
        let output = compiler.output().expect("the compiler driver starts");
        assert!(output.status.success(), "{}", text(&output));
        self.join(name)
    }

    /// The tool, to be run in this directory, with an empty standard input.
    pub fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.env("DEADHEAT_LIB", dist().join("lib/deadheat"));
        command
    }

    /// Runs the tool: its exit status, and all that it wrote.
    pub fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.tool(arguments).output().expect("the tool starts");
        (output.status.code().unwrap_or(-1), text(&output))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Standard output, then standard error.
pub fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The installation that programs are built with.
pub fn dist() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dist = std::env::var_os("DEADHEAT_DIST").map_or_else(|| root.join("dist"), PathBuf::from);
    assert!(
        dist.join("lib/deadheat").is_dir(),
        "{} is missing: `cargo xtask build` makes it",
        dist.display()
    );
    dist
}
