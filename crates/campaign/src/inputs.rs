//! Many inputs of one program: `--inputs FILE`, the same for `select`, `hunt` and `detect`.
//!
//! FILE is a list of command lines, a directory of files, a store, `ctest:DIR` (the tests of a CTest build directory that
//! run the program) or `cargo` (the tests of a Rust test program). In a list each line is one input: shell words
//! that are added to the program's arguments, and before them `stdin=FILE`, `env=NAME=VALUE`, `cwd=DIR`, or
//! `files=DIR`, which makes an input of each file of a directory. `#` begins a comment. A file of a directory takes the
//! place of `@@` in the arguments, else it is the standard input. Of a store, the inputs that it keeps of the program.
//! Relative names in a list are relative to its own directory.

pub mod ctest;
pub mod libtest;

use crate::hash::Fnv;
use crate::input::Input;
use crate::store::Store;
use deadheat_confirm::Program;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most inputs of one list.
const MOST: usize = 10_000;
/// A file whose contents are part of an input's name is at most so large.
const LARGEST: u64 = 64 << 20;
/// What a file's name takes the place of.
const PLACE: &[u8] = b"@@";

/// Why inputs cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// A file or directory.
    #[error("{0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// A line.
    #[error("{0}:{1}: {2}")]
    Line(PathBuf, usize, String),
    /// Nothing there.
    #[error("{0}: there is no input in it")]
    Empty(PathBuf),
    /// No program there.
    #[error("{0}: there is no program in it")]
    NoProgram(PathBuf),
    /// Too many.
    #[error("{0}: more than {MOST} inputs")]
    TooMany(PathBuf),
    /// A store.
    #[error("{0}")]
    Store(String),
    /// A build directory with tests.
    #[error("{0}: {1}")]
    Tests(PathBuf, String),
    /// A program that lists no tests.
    #[error("{0} lists no tests when asked to (--list --format terse): `cargo` is for what cargo builds of tests")]
    NoTests(PathBuf),
}

/// What was read.
#[derive(Debug, Default)]
pub struct List {
    /// The program with each input, in order.
    pub programs: Vec<Program>,
    /// What was left out.
    pub notices: Vec<String>,
}

impl From<Vec<Program>> for List {
    fn from(programs: Vec<Program>) -> List {
        List {
            programs,
            notices: Vec::new(),
        }
    }
}

/// What says that inputs are the tests of a CTest build directory.
const CTEST: &[u8] = b"ctest:";
/// What says that inputs are the program's own tests.
const CARGO: &str = "cargo";

/// The inputs that `from` names for this program.
pub fn read(from: &Path, program: &Program) -> Result<List, InputsError> {
    let io = |e| InputsError::Read(from.into(), e);
    let list = if let Some(directory) = from.as_os_str().as_bytes().strip_prefix(CTEST) {
        ctest::read(&std::path::absolute(OsStr::from_bytes(directory)).map_err(io)?, program)?
    } else if from == Path::new(CARGO) {
        libtest::read(program)?
    } else {
        named(&std::path::absolute(from).map_err(io)?, program)?.into()
    };
    match list.programs.len() {
        0 => Err(InputsError::Empty(from.into())),
        n if n > MOST => Err(InputsError::TooMany(from.into())),
        _ => Ok(list),
    }
}

/// The inputs of a store, directory or list.
fn named(from: &Path, program: &Program) -> Result<Vec<Program>, InputsError> {
    let io = |e| InputsError::Read(from.into(), e);
    Ok(if from.join("store.sqlite").exists() {
        stored(from, program)?
    } else if from.is_dir() {
        let files = files(from).map_err(io)?;
        files
            .iter()
            .map(|f| with_file(program, f).map_err(|e| InputsError::Read(f.clone(), e)))
            .collect::<Result<_, _>>()?
    } else {
        let text = std::fs::read_to_string(from).map_err(io)?;
        let here = from.parent().unwrap_or(Path::new("/"));
        let mut inputs = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let at = |why: String| InputsError::Line(from.into(), n + 1, why);
            inputs.extend(of_line(line, here, program).map_err(at)?);
        }
        inputs
    })
}

/// A program of a list that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// As the list names it.
    pub name: String,
    /// The line, and why.
    pub why: String,
}

/// The programs of a list: each line is one, its name and arguments as shell words, after any of `stdin=FILE`,
/// `env=NAME=VALUE`, `cwd=DIR`. A name with a slash is relative to the list's own directory. A program that is not there
/// is an entry that says so.
pub fn programs(list: &Path) -> Result<Vec<Result<Program, Missing>>, InputsError> {
    let io = |e| InputsError::Read(list.into(), e);
    let text = std::fs::read_to_string(list).map_err(io)?;
    let list = std::path::absolute(list).map_err(io)?;
    let here = list.parent().unwrap_or(Path::new("/"));
    let mut programs = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let at = |why: String| InputsError::Line(list.clone(), n + 1, why);
        // A name that exists stands for the program until the line's own is known.
        let nobody = Program::find(OsStr::new("/bin/sh"), Vec::new()).map_err(|e| at(e.to_string()))?;
        for line in of_line(line, here, &nobody).map_err(at)? {
            let Some((name, args)) = line.args.split_first() else {
                return Err(at("name the program to run".into()));
            };
            let path = if name.as_bytes().contains(&b'/') {
                here.join(name).into_os_string()
            } else {
                name.clone()
            };
            let found = Program::find(&path, args.to_vec());
            programs.push(match found {
                Ok(found) => Ok(Program {
                    file: found.file,
                    name: name.clone(),
                    args: args.to_vec(),
                    ..line
                }),
                Err(error) => Err(Missing {
                    name: name.to_string_lossy().into_owned(),
                    why: format!("line {}: {error}", n + 1),
                }),
            });
        }
    }
    match programs.len() {
        0 => Err(InputsError::NoProgram(list)),
        n if n > MOST => Err(InputsError::TooMany(list)),
        _ => Ok(programs),
    }
}

fn stored(directory: &Path, program: &Program) -> Result<Vec<Program>, InputsError> {
    let error = |e: crate::store::StoreError| InputsError::Store(e.to_string());
    let all = Store::read(directory).and_then(|s| s.inputs()).map_err(error)?;
    let mut own: Vec<Program> = all
        .iter()
        .map(Input::program)
        .filter(|p| p.file == program.file)
        .collect();
    own.reverse();
    Ok(own)
}

/// The files of a directory, by name.
fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The program with a file as its input.
fn with_file(program: &Program, file: &Path) -> std::io::Result<Program> {
    let mut program = program.clone();
    let mut placed = false;
    for argument in &mut program.args {
        if let Some(replaced) = replaced(argument, file) {
            *argument = replaced;
            placed = true;
        }
    }
    if !placed {
        program.stdin = std::fs::read(file)?;
    }
    Ok(program)
}

fn replaced(argument: &OsStr, file: &Path) -> Option<OsString> {
    let bytes = argument.as_bytes();
    let at = bytes.windows(PLACE.len()).position(|w| w == PLACE)?;
    let mut with = OsString::from(OsStr::from_bytes(&bytes[..at]));
    with.push(file);
    with.push(OsStr::from_bytes(&bytes[at + PLACE.len()..]));
    Some(with)
}

/// The inputs of a line: none if it is empty, several with `files=`.
fn of_line(line: &str, here: &Path, program: &Program) -> Result<Vec<Program>, String> {
    let words = words(line)?;
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut program = program.clone();
    let mut directory = None;
    let mut words = words.into_iter().peekable();
    while let Some((key, value)) = words.peek().and_then(|w| w.split_once('=')) {
        let path = here.join(value);
        match key {
            "stdin" => program.stdin = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?,
            "cwd" if path.is_dir() => program.directory = path,
            "cwd" => return Err(format!("{} is no directory", path.display())),
            "files" => directory = Some(path),
            "env" => {
                let (name, value) = value.split_once('=').ok_or("write env=NAME=VALUE")?;
                program.environment.retain(|(n, _)| n != name);
                program.environment.push((name.into(), value.into()));
            }
            _ => break,
        }
        words.next();
    }
    program.args.extend(words.map(OsString::from));
    let Some(directory) = directory else {
        return Ok(vec![program]);
    };
    let told = |e: std::io::Error| format!("{}: {e}", directory.display());
    let files = files(&directory).map_err(told)?;
    files.iter().map(|f| with_file(&program, f).map_err(told)).collect()
}

/// Splits a line as a shell does, without expanding anything.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            '#' if word.is_none() => break,
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("a quote is not closed".into()),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => match characters.next() {
                            Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                            Some(c) => word.extend(['\\', c]),
                            None => return Err("a quote is not closed".into()),
                        },
                        Some(c) => word.push(c),
                        None => return Err("a quote is not closed".into()),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// A name for all that an input consists of: beside what [`Input::hash`] covers, its working directory, its
/// environment as far as a list sets it, and the contents of files that arguments name.
pub fn name(input: &Input, base: &Program) -> u64 {
    let program = input.program();
    let mut hash = Fnv::default();
    hash.bytes(&input.hash().to_le_bytes()).bytes(&input.directory);
    for (name, value) in program.environment.iter().filter(|v| !base.environment.contains(v)) {
        hash.bytes(name.as_bytes())
            .bytes(&[0xff])
            .bytes(value.as_bytes())
            .bytes(&[0xff]);
    }
    for argument in &program.args {
        let path = program.directory.join(argument);
        let small = path.metadata().is_ok_and(|m| m.is_file() && m.len() <= LARGEST);
        if let Some(contents) = small.then(|| std::fs::read(&path).ok()).flatten() {
            hash.bytes(&contents).bytes(&[0xff]);
        }
    }
    hash.number()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_confirm::Chosen;

    fn program(args: &[&str]) -> Program {
        Program {
            file: "/p".into(),
            name: "p".into(),
            args: args.iter().map(OsString::from).collect(),
            directory: "/".into(),
            environment: vec![("A".into(), "1".into())],
            stdin: Vec::new(),
            chosen: Chosen::default(),
        }
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let split = |line| words(line).unwrap();
        assert_eq!(split(r#"a 'b c' "d\"e" f\ g '' # h"#), ["a", "b c", "d\"e", "f g", ""]);
        assert!(words("'a").is_err());
        assert!(split("  # nothing").is_empty());
    }

    #[test]
    fn a_line_adds_to_the_program() {
        let one = &of_line("env=B=x=y -n 3 env=C=1", Path::new("/"), &program(&["first"])).unwrap()[0];
        assert_eq!(one.args, ["first", "-n", "3", "env=C=1"]);
        assert_eq!(one.environment.last(), Some(&("B".into(), "x=y".into())));
        assert!(of_line("cwd=/no/such/place", Path::new("/"), &program(&[])).is_err());
    }

    #[test]
    fn a_file_takes_its_place() {
        let file = Path::new("/dev/null");
        assert_eq!(with_file(&program(&["-i=@@"]), file).unwrap().args, ["-i=/dev/null"]);
        assert_eq!(with_file(&program(&["-i"]), file).unwrap().args, ["-i"]);
    }
}
