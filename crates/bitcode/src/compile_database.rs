//! Compile databases (`compile_commands.json`): each command once more with clang, for the front end's bitcode.
//!
//! What a command read is noted with the hashes of its contents; while none of it changes the module comes from the
//! cache and nothing is compiled.

use crate::ReadError;
use crate::cache::{Cache, Key};
use deadheat_ir::Module;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileCommand {
    /// Where it runs.
    pub directory: PathBuf,
    /// What it compiles.
    pub file: PathBuf,
    /// The compiler's arguments, its own name left out.
    pub arguments: Vec<String>,
    /// It is C++ where the file's name does not say so: the compiler was called as a C++ compiler.
    pub cxx: bool,
}

#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    arguments: Option<Vec<String>>,
    command: Option<String>,
}

/// Reads a database. Assembly sources are left out.
///
/// # Errors
/// If it is none.
pub fn parse(path: &Path) -> Result<Vec<CompileCommand>, ReadError> {
    let refused = |reason: String| ReadError::Database {
        path: path.to_owned(),
        reason,
    };
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    let entries: Vec<Entry> =
        serde_json::from_str(&text).map_err(|error| refused(format!("not a compile database: {error}")))?;
    let mut commands = Vec::new();
    for entry in entries {
        if entry
            .file
            .extension()
            .is_some_and(|e| e == "S" || e == "s" || e == "asm")
        {
            continue;
        }
        let words = match (entry.arguments, entry.command) {
            (Some(words), _) => words,
            (None, Some(command)) => words(&command),
            (None, None) => {
                return Err(refused(format!(
                    "{} has neither command nor arguments",
                    entry.file.display()
                )));
            }
        };
        let Some((compiler, arguments)) = words.split_first() else {
            continue;
        };
        commands.push(CompileCommand {
            directory: entry.directory,
            file: entry.file,
            arguments: front_end(arguments),
            cxx: compiler.ends_with("++") || compiler.contains("++-"),
        });
    }
    Ok(commands)
}

/// The arguments less those that say what is made and where.
fn front_end(arguments: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "-MF" | "-MT" | "-MQ" => {
                words.next();
            }
            "-c" | "-S" | "-E" | "-MD" | "-MMD" | "-MP" | "-M" | "-MM" | "-Werror" => {}
            word if word.starts_with("-flto") || word.starts_with("-Wp,-M") || word.starts_with("-Werror=") => {}
            word if word.starts_with("-fplugin") || word.starts_with("-fpass-plugin") => {}
            word => kept.push(word.to_owned()),
        }
    }
    kept
}

/// A command's words, as a shell takes them apart.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), close) if open == close => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What a command read the last time, and the module that came of it.
#[derive(Serialize, Deserialize)]
struct Manifest {
    read: Vec<(PathBuf, [u8; 32])>,
    module: Key,
}

/// What a command's manifest is kept under.
fn manifest_key(command: &CompileCommand, cache: &Cache) -> Key {
    let mut text = format!(
        "{}\0{}\0{}",
        command.directory.display(),
        command.file.display(),
        command.cxx
    );
    command.arguments.iter().for_each(|word| {
        text.push('\0');
        text += word;
    });
    cache.key(text.as_bytes())
}

fn hash(path: &Path) -> Option<[u8; 32]> {
    Some(*blake3::hash(&std::fs::read(path).ok()?).as_bytes())
}

/// The module of a command all of whose files are as they were.
pub fn unchanged(command: &CompileCommand, cache: &Cache) -> Option<(Key, Module)> {
    let manifest = cache.entry(&manifest_key(command, cache), "read")?;
    let manifest: Manifest = postcard::from_bytes(&manifest).ok()?;
    let same = |(path, old): &(PathBuf, [u8; 32])| hash(path) == Some(*old);
    manifest.read.iter().all(same).then_some(())?;
    Some((manifest.module, cache.module(&manifest.module)?))
}

/// Compiles, for the front end's bitcode; says what clang said if it fails.
pub fn compile(command: &CompileCommand, clang: &Path, cache: &Cache) -> Result<Vec<u8>, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (output, dependencies) = (scratch.path().join("module.bc"), scratch.path().join("module.d"));
    let mut compiler = Command::new(clang);
    compiler.current_dir(&command.directory).stdin(Stdio::null());
    if command.cxx {
        compiler.arg("--driver-mode=g++");
    }
    compiler
        .args(["-w", "-Wno-unknown-warning-option", "-Qunused-arguments"])
        .args(&command.arguments);
    compiler
        .args([
            "-g",
            "-c",
            "-emit-llvm",
            "-Xclang",
            "-disable-llvm-passes",
            "-MD",
            "-MF",
        ])
        .arg(&dependencies);
    let result = compiler
        .arg("-o")
        .arg(&output)
        .output()
        .map_err(|error| format!("{}: {error}", clang.display()))?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        let line = said
            .lines()
            .find(|line| line.contains("error"))
            .or(said.lines().next())
            .unwrap_or_default();
        return Err(format!("clang: {line}"));
    }
    let bitcode = std::fs::read(&output).map_err(|error| error.to_string())?;
    let rule = std::fs::read_to_string(&dependencies).unwrap_or_default();
    let read: Option<Vec<(PathBuf, [u8; 32])>> = prerequisites(&rule)
        .into_iter()
        .map(|path| {
            let path = command.directory.join(path);
            Some((path.clone(), hash(&path)?))
        })
        .collect();
    if let Some(read) = read.filter(|read| !read.is_empty()) {
        let manifest = Manifest {
            read,
            module: cache.key(&bitcode),
        };
        if let Ok(manifest) = postcard::to_stdvec(&manifest) {
            cache.keep(&manifest_key(command, cache), "read", &manifest);
        }
    }
    Ok(bitcode)
}

/// The prerequisites of a make rule.
fn prerequisites(rule: &str) -> Vec<String> {
    let rule = rule.replace("\\\n", " ");
    let Some((_, list)) = rule.split_once(": ") else {
        return Vec::new();
    };
    let mut files = vec![String::new()];
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        let last = files.last_mut();
        match c {
            '\\' if chars.peek() == Some(&' ') || chars.peek() == Some(&'#') => {
                let escaped = chars.next();
                last.into_iter().for_each(|file| file.extend(escaped));
            }
            '$' if chars.peek() == Some(&'$') => last.into_iter().for_each(|file| file.extend(chars.next())),
            c if c.is_whitespace() => files.push(String::new()),
            c => last.into_iter().for_each(|file| file.push(c)),
        }
    }
    files.retain(|file| !file.is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_apart_as_in_a_shell() {
        assert_eq!(
            words(r#"cc -DA="b c" -D'x y' a\ b.c  -I."#),
            ["cc", "-DA=b c", "-Dx y", "a b.c", "-I."]
        );
        assert_eq!(words(r#"cc -DN=\"q\" """#), ["cc", "-DN=\"q\"", ""]);
    }

    #[test]
    fn what_is_made_is_left_out() {
        let given = [
            "-c",
            "-O2",
            "-o",
            "a.o",
            "-MD",
            "-MF",
            "a.d",
            "-Wp,-MMD,x.d",
            "-flto=thin",
            "a.c",
        ];
        assert_eq!(front_end(&given.map(String::from)), ["-O2", "a.c"]);
    }

    #[test]
    fn rules_tell_what_was_read() {
        assert_eq!(
            prerequisites("a.o: a.c b\\ c.h \\\n  d$$.h\n"),
            ["a.c", "b c.h", "d$.h"]
        );
        assert_eq!(prerequisites(""), Vec::<String>::new());
    }
}
