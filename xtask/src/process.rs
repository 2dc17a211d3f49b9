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

/// Words of a command that are shown from its beginning and from its end.
const SHOWN: usize = 12;

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    match words.len().checked_sub(2 * SHOWN) {
        None | Some(0) => words.join(" "),
        Some(more) => {
            let (first, last) = (&words[..SHOWN], &words[words.len() - SHOWN..]);
            format!("{} … ({more} words) … {}", first.join(" "), last.join(" "))
        }
    }
}
