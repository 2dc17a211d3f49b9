//! A Rust toolchain: which it is, where its libraries are, whether the plugin fits it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::command_line::TARGET;
use crate::driver::DriverError;

/// The LLVM that the plugin is made for.
const LLVM: &str = "22.1";

/// A toolchain, from what its rustc says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Release, for example `1.95.0`.
    pub release: String,
    /// The machine that it runs on.
    pub host: String,
    /// Version of its LLVM.
    pub llvm: String,
    /// Directory of its target libraries.
    pub libraries: PathBuf,
}

impl Toolchain {
    /// Asks a rustc.
    pub fn of(rustc: &Path) -> Result<Toolchain, DriverError> {
        let ask = |arguments: &[&str]| -> Result<String, DriverError> {
            let output = Command::new(rustc).args(arguments).output();
            let output = output.map_err(|source| DriverError::Start {
                program: rustc.to_owned(),
                source,
            })?;
            match output.status.success() {
                true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
                false => Err(DriverError::NoRustc(format!(
                    "{} does not answer: {}",
                    rustc.display(),
                    String::from_utf8_lossy(&output.stderr).trim()
                ))),
            }
        };
        let mut toolchain = parse(&ask(&["-vV"])?);
        let sysroot = ask(&["--print", "sysroot"])?;
        toolchain.libraries = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib");
        Ok(toolchain)
    }

    /// Whether the plugin can be loaded.
    pub fn check(&self) -> Result<(), DriverError> {
        if self.host != TARGET {
            return Err(DriverError::NoRustc(format!(
                "this rustc runs on {}; deadheat needs one for {TARGET}",
                self.host
            )));
        }
        let fits = self
            .llvm
            .strip_prefix(LLVM)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        match fits {
            true => Ok(()),
            false => Err(DriverError::NoRustc(format!(
                "rustc {} has LLVM {}, and deadheat's plugin is for LLVM {LLVM}. Take a toolchain with that, \
                 for example: rustup toolchain install 1.95.0; cargo +1.95.0 deadheat …",
                self.release, self.llvm
            ))),
        }
    }
}

fn parse(text: &str) -> Toolchain {
    let field = |name: &str| {
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
        values.next().unwrap_or_default().trim().to_owned()
    };
    Toolchain {
        release: field("release:"),
        host: field("host:"),
        llvm: field("LLVM version:"),
        libraries: PathBuf::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_with_another_llvm_is_refused_by_name() {
        let text = |llvm: &str| format!("rustc 1.95.0\nhost: {TARGET}\nrelease: 1.95.0\nLLVM version: {llvm}\n");
        assert!(parse(&text("22.1.2")).check().is_ok());
        for other in ["21.1.8", "22.10.0", ""] {
            let told = parse(&text(other)).check().unwrap_err().to_string();
            assert!(told.contains("1.95.0") && told.contains("LLVM 22.1"), "{told}");
        }
    }
}
