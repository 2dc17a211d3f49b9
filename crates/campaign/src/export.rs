//! Stored inputs as plain files, to be run without deadheat.
//!
//! | file | what |
//! |---|---|
//! | `inputs.txt` | a shell line for each input, with what is different about it |
//! | `ID/run.sh` | runs the program with the input; `PROGRAM=FILE` in the environment names another one |
//! | `ID/argv` | the arguments, each ended by a zero byte |
//! | `ID/env` | variables that were set (`NAME=VALUE`) or taken away (`NAME`), each ended by a zero byte |
//! | `ID/stdin` | standard input |
//! | `ID/files/NAME` | files in the working directory with their changed contents; others lie at `ID/elsewhere/NAME` |

use crate::explored_input::told;
use crate::input::Input;
use deadheat_confirm::Program;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why inputs could not be exported.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub struct ExportError(PathBuf, std::io::Error);

/// Writes the inputs into a directory, which is made; files of earlier exports are overwritten. `given` is what
/// differences are told against.
pub fn export(inputs: &[Input], given: &Program, directory: &Path) -> Result<(), ExportError> {
    let mut list = String::new();
    for input in inputs {
        let (id, program) = (input.id(), input.program());
        let own = directory.join(&id);
        let differences = told(id.clone(), given, &program).differences.join("; ");
        let elsewhere = |name: &[u8]| name.starts_with(b"/");
        let beyond = !program.chosen.values.is_empty() || program.chosen.files.iter().any(|f| elsewhere(&f.0));
        write(&own, "stdin", &program.stdin)?;
        let arguments: Vec<&[u8]> = program.args.iter().map(|a| a.as_bytes()).collect();
        write(&own, "argv", &zero_ended(arguments.iter().map(|a| a.to_vec())))?;
        for (name, contents) in &program.chosen.files {
            let place = if elsewhere(name) { "elsewhere" } else { "files" };
            let name = String::from_utf8_lossy(name);
            write(&own, &format!("{place}/{}", name.trim_start_matches('/')), contents)?;
        }
        let variables = program.chosen.variables.iter().map(variable);
        write(&own, "env", &zero_ended(variables))?;
        write(
            &own,
            "run.sh",
            &script(&program, input.setup.as_deref(), &differences, beyond),
        )?;
        let mark = match (differences.is_empty(), beyond) {
            (true, _) => "as given",
            (_, true) => "not all of it can be given by a shell: ",
            _ => "",
        };
        list += &format!("sh {id}/run.sh  # {mark}{differences}\n");
    }
    write(directory, "inputs.txt", list.as_bytes())
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
    let path = directory.join(name);
    let written =
        std::fs::create_dir_all(path.parent().unwrap_or(directory)).and_then(|()| std::fs::write(&path, bytes));
    written.map_err(|error| ExportError(path, error))
}

fn zero_ended(words: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    words.flat_map(|word| [word, vec![0]].concat()).collect()
}

fn variable((name, value): &(Vec<u8>, Option<Vec<u8>>)) -> Vec<u8> {
    match value {
        Some(value) => [name.as_slice(), b"=", value].concat(),
        None => name.clone(),
    }
}

/// A POSIX shell script. Bytes stand in it as they are, between single quotes.
fn script(program: &Program, setup: Option<&str>, differences: &str, beyond: bool) -> Vec<u8> {
    let mut text = format!("#!/bin/sh\n# {differences}\n").into_bytes();
    if beyond {
        text.extend(b"# Random numbers, the time and marked bytes are not given here: they are as they come. Files outside the\n");
        text.extend(b"# working directory, if there are any in `elsewhere`, have to be put there by hand.\n");
    }
    let mut line = |words: &[&[u8]]| {
        text.extend(words.concat());
        text.push(b'\n');
    };
    line(&[b"here=$(cd \"$(dirname \"$0\")\" && pwd)"]);
    line(&[
        b"[ \"$PROGRAM\" ] || PROGRAM=",
        &quoted(program.file.as_os_str().as_bytes()),
    ]);
    let directory = quoted(program.directory.as_os_str().as_bytes());
    if program.chosen.files.iter().any(|(name, _)| !name.starts_with(b"/")) {
        // The files that are there stay as they are.
        line(&[
            b"work=$(mktemp -d) && cp -R ",
            &directory,
            b"/. \"$work\" && cp -R \"$here/files/.\" \"$work\" || exit",
        ]);
        line(&[b"cd \"$work\" || exit"]);
    } else {
        line(&[b"cd ", &directory, b" || exit"]);
    }
    if let Some(setup) = setup {
        line(&[b"sh -c ", &quoted(setup.as_bytes()), b" || exit"]);
    }
    let mut run = b"exec env".to_vec();
    // Options come first.
    for (name, value) in &program.chosen.variables {
        if value.is_none() {
            run.extend([b" -u ", quoted(name).as_slice()].concat());
        }
    }
    for both in program.chosen.variables.iter().filter(|(_, value)| value.is_some()) {
        run.extend([b" ", quoted(&variable(both)).as_slice()].concat());
    }
    run.extend(b" \"$PROGRAM\"");
    for argument in &program.args {
        run.extend([b" ", quoted(argument.as_bytes()).as_slice()].concat());
    }
    line(&[&run, b" < \"$here/stdin\""]);
    text
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            other => text.push(*other),
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_confirm::Chosen;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    /// Whatever the bytes, the program gets them.
    #[test]
    fn a_script_gives_the_program_its_input() {
        let directory = std::env::temp_dir().join(format!("dh-export-{}", std::process::id()));
        let argument = b"it's\n\xff$(x) \\ \"q\"".to_vec();
        let given = Program {
            file: "/bin/sh".into(),
            name: "sh".into(),
            args: Vec::new(),
            directory: "/".into(),
            environment: Vec::new(),
            stdin: Vec::new(),
            chosen: Chosen::default(),
        };
        let text = "printf '%s|%s|%s|' \"$1\" \"$MODE\" \"${GONE-none}\"; cat";
        let program = Program {
            args: vec![
                "-c".into(),
                text.into(),
                "sh".into(),
                OsString::from_vec(argument.clone()),
            ],
            stdin: b"in\0put".to_vec(),
            chosen: Chosen {
                variables: vec![(b"MODE".to_vec(), Some(b"a 'b'".to_vec())), (b"GONE".to_vec(), None)],
                values: Vec::new(),
                files: Vec::new(),
            },
            ..given.clone()
        };
        let input = Input::of(&program, None).unwrap();
        export(std::slice::from_ref(&input), &given, &directory).unwrap();
        let ran = Command::new("sh")
            .arg(directory.join(input.id()).join("run.sh"))
            .env("GONE", "there")
            .output()
            .unwrap();
        let wanted = [argument.as_slice(), b"|a 'b'|none|in\0put"].concat();
        assert_eq!(ran.stdout, wanted, "{}", String::from_utf8_lossy(&ran.stderr));
        let list = std::fs::read_to_string(directory.join("inputs.txt")).unwrap();
        assert!(
            list.starts_with(&format!("sh {}/run.sh  # arguments", input.id())),
            "{list}"
        );
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
