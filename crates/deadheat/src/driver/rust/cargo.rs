//! cargo with deadheat's compiler: the environment and the arguments under which it builds with sites.
//!
//! - A `--target` is named even if it is the host: cargo then keeps what it builds for itself (build scripts,
//!   procedural macros) apart from the program, and the wrapper knows one from the other by it.
//! - The build lies in a directory of its own, `target/deadheat`, so the ordinary build stays as it is.
//! - C and C++ that build scripts compile go through deadheat's drivers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command_line::TARGET;
use super::toolchain::Toolchain;
use super::{own_name, standard_library};
use crate::driver::DriverError;
use crate::driver::installation::{self, Parts};

/// A cargo that builds with deadheat.
#[derive(Clone, Debug)]
pub struct Cargo {
    program: PathBuf,
    target: PathBuf,
}

impl Cargo {
    /// Finds cargo and the workspace, checks the toolchain, and makes the standard library's objects.
    pub fn prepare(arguments: &[OsString]) -> Result<Cargo, DriverError> {
        let program = program();
        let parts = Parts::find()?;
        installation::clang()?;
        let toolchain = Toolchain::of(&super::rustc()?)?;
        toolchain.check()?;
        standard_library::prepare(&toolchain, &parts)?;
        let target = target_directory(&program, arguments)?;
        Ok(Cargo { program, target })
    }

    /// Where findings of this workspace are kept.
    pub fn store(&self) -> PathBuf {
        self.target.join("store")
    }

    /// `cargo COMMAND` with deadheat as the compiler and, if there is one, as the runner of what is built.
    pub fn command(
        &self,
        name: &str,
        arguments: &[OsString],
        runner: Option<&[OsString]>,
    ) -> Result<Command, DriverError> {
        let mut command = Command::new(&self.program);
        command.arg(name);
        if !names(before_dashes(arguments), "--target") {
            command.args(["--target", TARGET]);
        }
        if let Some(runner) = runner {
            command.arg("--config").arg(runner_setting(runner));
        }
        command.args(arguments);
        command.env("CARGO_TARGET_DIR", &self.target);
        command.env("RUSTC_WRAPPER", own_name("deadheat-rustc")?);
        command.env_remove("RUSTC_WORKSPACE_WRAPPER");
        for (variable, driver) in [("CC", "deadheat-cc"), ("CXX", "deadheat-c++")] {
            let variable = format!("{variable}_{}", TARGET.replace('-', "_"));
            command.env(variable, own_name(driver)?);
        }
        Ok(command)
    }
}

/// The cargo that called us, else the one on the path.
fn program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// The arguments that are cargo's, not the program's.
pub fn before_dashes(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|a| a == "--").unwrap_or(arguments.len());
    &arguments[..end]
}

/// Whether an option is among the arguments, with its value joined or not.
pub fn names(arguments: &[OsString], option: &str) -> bool {
    arguments.iter().any(|argument| {
        let argument = argument.to_string_lossy();
        argument
            .strip_prefix(option)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

/// Where deadheat builds in this workspace.
fn target_directory(cargo: &Path, arguments: &[OsString]) -> Result<PathBuf, DriverError> {
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    for option in ["--manifest-path", "--config"] {
        for value in values(before_dashes(arguments), option) {
            command.arg(option).arg(value);
        }
    }
    let output = command.output().map_err(|source| DriverError::Start {
        program: cargo.to_owned(),
        source,
    })?;
    let found = serde_json::from_slice::<Metadata>(&output.stdout).ok();
    match found.filter(|_| output.status.success()) {
        Some(metadata) => Ok(metadata.target_directory.join("deadheat")),
        None => Err(DriverError::Refused(
            String::from_utf8_lossy(&output.stderr)
                .trim()
                .trim_start_matches("error: ")
                .to_owned(),
        )),
    }
}

/// What is read of `cargo metadata`.
#[derive(serde::Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

/// The values of an option, joined or not.
fn values<'a>(arguments: &'a [OsString], option: &'a str) -> impl Iterator<Item = OsString> + 'a {
    arguments.iter().enumerate().filter_map(move |(n, argument)| {
        let text = argument.to_string_lossy();
        match text.strip_prefix(option)? {
            "" => arguments.get(n + 1).cloned(),
            rest => rest.strip_prefix('=').map(OsString::from),
        }
    })
}

/// Cargo's setting that names a runner; a list, since words may hold blanks.
fn runner_setting(words: &[OsString]) -> OsString {
    let quoted = |word: &OsString| serde_json::Value::from(word.to_string_lossy()).to_string();
    let list: Vec<String> = words.iter().map(quoted).collect();
    format!("target.{TARGET}.runner=[{}]", list.join(",")).into()
}

/// Whether the arguments choose what `cargo test` builds; else documentation tests would be among it, which
/// rustdoc compiles and links by itself.
pub fn chooses_tests(arguments: &[OsString]) -> bool {
    [
        "--lib",
        "--bin",
        "--bins",
        "--test",
        "--tests",
        "--example",
        "--examples",
        "--bench",
        "--benches",
        "--all-targets",
    ]
    .iter()
    .any(|option| names(before_dashes(arguments), option))
}

/// This program under one of its names, for runners.
pub fn runner(name: &'static str) -> Result<OsString, DriverError> {
    own_name(name).map(PathBuf::into_os_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn options_are_cargos_only_before_the_dashes() {
        let all = words("--lib --manifest-path=a/Cargo.toml --config x=1 -- --target y");
        assert!(names(before_dashes(&all), "--lib") && !names(before_dashes(&all), "--target"));
        assert_eq!(
            values(before_dashes(&all), "--manifest-path").collect::<Vec<_>>(),
            ["a/Cargo.toml"]
        );
        assert_eq!(values(&all, "--config").collect::<Vec<_>>(), ["x=1"]);
        assert!(chooses_tests(&all) && !chooses_tests(&words("-p x -- --lib")));
    }

    #[test]
    fn a_runners_words_survive_blanks_and_quotes() {
        let setting = runner_setting(&[OsString::from("/a b/deadheat"), OsString::from("say \"x\"")]);
        let expected = r#"target.x86_64-unknown-linux-gnu.runner=["/a b/deadheat","say \"x\""]"#;
        assert_eq!(setting, OsStr::new(expected));
    }
}
