//! Changes that the solver asks for, applied to a program's input; and an input told in words.

use deadheat_confirm::{Chosen, Program};
use deadheat_explore::{Assignment, Path, Symbol};
use deadheat_report::finding::ChosenInput;
use deadheat_wire::trace::source;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What an input is filled up with where it grows.
pub const FILLER: u8 = b'\n';
/// Most bytes of standard input.
const LONGEST: usize = 1 << 20;
/// Most arguments.
const MOST_ARGUMENTS: usize = 200;

/// The parent's program with these changes; `path` is the parent's. Changes that cannot be made (a byte 0 in
/// the middle of an argument ends it) are made as far as they can.
pub fn changed(parent: &Program, path: &Path, changes: &Assignment) -> Program {
    let mut program = parent.clone();
    let word = |kind: u8, low: u32| {
        let symbol = |offset| Symbol {
            source: source::number(kind, low),
            offset,
        };
        let byte = |n| {
            changes
                .get(&symbol(n))
                .or(path.values.get(&symbol(n)))
                .copied()
                .unwrap_or(0)
        };
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    };
    let mut texts: BTreeMap<u32, Vec<(usize, u8)>> = BTreeMap::new();
    let mut lengths = Vec::new();
    for (symbol, value) in changes {
        let (kind, low) = source::split(symbol.source);
        let at = symbol.offset as usize;
        match kind {
            source::STDIN => {
                if at < LONGEST {
                    if program.stdin.len() <= at {
                        program.stdin.resize(at + 1, FILLER);
                    }
                    program.stdin[at] = *value;
                }
            }
            source::STDIN_LENGTH | source::FILE_LENGTH => lengths.push((kind, low)),
            source::FILE => {
                if let Some(bytes) = file(&mut program, path, low).filter(|_| at < LONGEST) {
                    if bytes.len() <= at {
                        bytes.resize(at + 1, FILLER);
                    }
                    bytes[at] = *value;
                }
            }
            source::ARGUMENT_COUNT => {
                let count = usize::from(*value).clamp(1, MOST_ARGUMENTS) - 1;
                program.args.resize(count, OsString::new());
            }
            source::ARGUMENT | source::VARIABLE => texts.entry(symbol.source).or_default().push((at, *value)),
            source::VARIABLE_SET => {
                if let Some(name) = path.names.get(&source::number(source::VARIABLE, low)) {
                    set(&mut program, name, (*value != 0).then(Vec::new));
                }
            }
            _ => {
                let values = &mut program.chosen.values;
                let known = match values.iter().position(|v| v.0 == symbol.source) {
                    Some(known) => known,
                    None => {
                        values.push((symbol.source, Vec::new()));
                        values.len() - 1
                    }
                };
                let bytes = &mut values[known].1;
                if bytes.len() <= at {
                    bytes.resize(at + 1, None);
                }
                bytes[at] = Some(*value);
            }
        }
    }
    for (kind, low) in lengths {
        let length = (word(kind, low) as usize).min(LONGEST);
        match kind {
            source::STDIN_LENGTH => program.stdin.resize(length, FILLER),
            _ => {
                if let Some(bytes) = file(&mut program, path, low) {
                    bytes.resize(length, FILLER);
                }
            }
        }
    }
    for (number, bytes) in texts {
        let (kind, low) = source::split(number);
        if kind == source::ARGUMENT {
            if let Some(argument) = program.args.get_mut((low as usize).wrapping_sub(1)) {
                *argument = OsString::from_vec(text(argument.as_bytes(), &bytes));
            }
        } else if let Some(name) = path.names.get(&number) {
            let current = variable(&program, name).unwrap_or_default();
            let changed = text(&current, &bytes);
            set(&mut program, name, Some(changed));
        }
    }
    program.chosen.values.sort();
    program.chosen.variables.sort();
    program.chosen.files.sort();
    program
}

/// The contents of a file that is input, to be changed; none if it is gone.
fn file<'a>(program: &'a mut Program, path: &Path, low: u32) -> Option<&'a mut Vec<u8>> {
    let name = path.names.get(&source::number(source::FILE, low))?;
    let files = &mut program.chosen.files;
    let known = match files.iter().position(|(known, _)| known == name) {
        Some(known) => known,
        None => {
            let contents = std::fs::read(program.directory.join(OsStr::from_bytes(name))).ok()?;
            files.push((name.clone(), contents));
            files.len() - 1
        }
    };
    Some(&mut files[known].1)
}

/// A C string with some bytes changed, up to its new end.
fn text(before: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = before.to_vec();
    for (at, value) in changes {
        if bytes.len() <= *at {
            bytes.resize(at + 1, 0);
        }
        bytes[*at] = *value;
    }
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

/// The program with what was chosen, whose variables its environment gets.
pub fn with_variables(mut program: Program, chosen: Chosen) -> Program {
    for (name, value) in &chosen.variables {
        set(&mut program, name, value.clone());
    }
    program.chosen = chosen;
    program
}

fn variable(program: &Program, name: &[u8]) -> Option<Vec<u8>> {
    let found = program.environment.iter().find(|(key, _)| key.as_bytes() == name);
    found.map(|(_, value)| value.as_bytes().to_vec())
}

fn set(program: &mut Program, name: &[u8], value: Option<Vec<u8>>) {
    let key = OsStr::from_bytes(name);
    let place = program.environment.iter().position(|(k, _)| k == key);
    match (place, &value) {
        (Some(n), Some(value)) => program.environment[n].1 = OsString::from_vec(value.clone()),
        (Some(n), None) => {
            program.environment.remove(n);
        }
        (None, Some(value)) => program
            .environment
            .push((key.into(), OsString::from_vec(value.clone()))),
        (None, None) => {}
    }
    let chosen = &mut program.chosen.variables;
    chosen.retain(|(k, _)| k != name);
    chosen.push((name.to_vec(), value));
}

/// An input in words, against the one that the user gave.
pub fn told(id: String, given: &Program, own: &Program) -> ChosenInput {
    let mut differences = Vec::new();
    if own.args != given.args {
        let words: Vec<String> = own.args.iter().map(|a| shown(a.as_bytes())).collect();
        differences.push(format!("arguments {}", words.join(" ")));
    }
    if own.stdin != given.stdin {
        differences.push(format!("standard input {}", shown(&own.stdin)));
    }
    differences.extend(chosen(&own.chosen));
    ChosenInput { id, differences }
}

fn chosen(chosen: &Chosen) -> Vec<String> {
    let variables = chosen.variables.iter().map(|(name, value)| {
        let name = String::from_utf8_lossy(name);
        match value {
            Some(value) => format!("{name}={}", shown(value)),
            None => format!("{name} not set"),
        }
    });
    let values = chosen.values.iter().map(|(number, bytes)| {
        let words: Vec<u32> = bytes
            .chunks(4)
            .map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u32::from(b.unwrap_or(0))))
            .collect();
        match source::split(*number).0 {
            source::RAND => {
                let words: Vec<String> = words.iter().map(|w| (w & 0x7fff_ffff).to_string()).collect();
                format!("rand() giving {}", words.join(", "))
            }
            source::TIME => format!("time {} (seconds since 1970)", words.first().copied().unwrap_or(0)),
            source::RANDOM => format!("random bytes {}", hex(bytes)),
            _ => format!("marked bytes {}", hex(bytes)),
        }
    });
    let files = chosen.files.iter();
    let files = files.map(|(name, contents)| format!("file {} {}", String::from_utf8_lossy(name), shown(contents)));
    variables.chain(files).chain(values).collect()
}

fn hex(bytes: &[Option<u8>]) -> String {
    const MOST: usize = 32;
    let mut text: String = bytes
        .iter()
        .take(MOST)
        .map(|b| b.map_or("..".to_owned(), |b| format!("{b:02x}")))
        .collect();
    if bytes.len() > MOST {
        text.push('…');
    }
    text
}

/// Bytes as a C string literal, cut.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 80;
    let cut = if bytes.len() > MOST { "…" } else { "" };
    let text: String = bytes
        .iter()
        .take(MOST)
        .flat_map(|b| b.escape_ascii().map(char::from))
        .collect();
    format!("\"{text}\"{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            file: "/bin/true".into(),
            name: "true".into(),
            args: vec!["abc".into()],
            directory: "/".into(),
            environment: vec![("MODE".into(), "x".into())],
            stdin: b"12".to_vec(),
            chosen: Chosen::default(),
        }
    }

    fn symbol(kind: u8, low: u32, offset: u32) -> Symbol {
        Symbol {
            source: source::number(kind, low),
            offset,
        }
    }

    #[test]
    fn each_source_is_changed_where_it_is() {
        let mode = source::number(source::VARIABLE, source::hash(b"MODE"));
        let path = Path {
            names: BTreeMap::from([(mode, b"MODE".to_vec())]),
            ..Path::default()
        };
        let changes = Assignment::from([
            (symbol(source::ARGUMENT, 1, 1), b'X'),
            (symbol(source::ARGUMENT, 1, 3), b'd'),
            (symbol(source::ARGUMENT, 1, 5), b'f'),
            (symbol(source::ARGUMENT, 2, 0), b'q'),
            (symbol(source::ARGUMENT_COUNT, 0, 0), 3),
            (symbol(source::STDIN_LENGTH, 0, 0), 4),
            (symbol(source::STDIN, 0, 0), b'9'),
            (symbol(source::RAND, 0, 4), 7),
            (
                Symbol {
                    source: mode,
                    offset: 0,
                },
                b'y',
            ),
        ]);
        let changed = changed(&program(), &path, &changes);
        assert_eq!(changed.args, ["aXcd", "q"]);
        assert_eq!(changed.stdin, b"92\n\n");
        assert_eq!(changed.environment, [("MODE".into(), "y".into())]);
        assert_eq!(
            changed.chosen.values,
            [(source::number(source::RAND, 0), vec![None, None, None, None, Some(7)])]
        );
        let told = told("i1".into(), &program(), &changed);
        let expected = [
            r#"arguments "aXcd" "q""#,
            r#"standard input "92\n\n""#,
            r#"MODE="y""#,
            "rand() giving 0, 7",
        ];
        assert_eq!(told.differences, expected);
    }

    #[test]
    fn a_file_is_changed_beside_the_one_that_is_there() {
        let directory = std::env::temp_dir().join(format!("dh-changed-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("data"), "abc").unwrap();
        let given = Program {
            directory: directory.clone(),
            ..program()
        };
        let low = source::hash(b"data");
        let path = Path {
            names: BTreeMap::from([(source::number(source::FILE, low), b"data".to_vec())]),
            ..Path::default()
        };
        let changes = Assignment::from([
            (symbol(source::FILE, low, 1), b'X'),
            (symbol(source::FILE_LENGTH, low, 0), 4),
        ]);
        let own = changed(&given, &path, &changes);
        assert_eq!(own.chosen.files, [(b"data".to_vec(), b"aXc\n".to_vec())]);
        assert_eq!(told("i1".into(), &given, &own).differences, [r#"file data "aXc\n""#]);
        assert_eq!(std::fs::read(directory.join("data")).unwrap(), b"abc");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
