//! Running programs: shown as they start, an error if they fail.

use std::process::{Command, Stdio};

/// Runs a command to its end; an error names the command and how it ended.
pub fn run(command: &mut Command) -> Result<(), String> {
    let text = shown(command);
    eprintln!("+ {text}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{text}: {status}")),
        Err(error) => Err(format!("{text}: {error}")),
    }
}

/// Runs a command and returns what it printed.
pub fn output(command: &mut Command) -> Result<String, String> {
    let text = shown(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{text}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{text}: {}", output.status)),
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
