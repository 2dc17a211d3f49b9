//! The linker that clang calls: the one that it would have called, which is asked what it read.
//!
//! Only the linker knows what goes into a program. It writes the files that it read as a dependency file, as bfd, gold,
//! lld and mold do; each is looked at ([`unseen_code`]), and what has code without sites is noted in the block that the
//! driver had linked in ([`linked_files`]). If anything fails there the block stays as it was, which says so.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use deadheat_campaign::linked_files;
use object::{Object, ObjectSection, ReadCache};

use super::command_line::CommandLine;
use super::installation::{self, Parts};
use super::invoke::{memory_file, path_of};
use super::link_record::{self, LinkRecord};
use super::{response_file, unseen_code};

/// The variable that names the linker to call.
pub const REAL: &str = "DEADHEAT_LINKER";

/// The linker that clang would call for this command line; none if there is none.
pub fn real(line: &CommandLine, clang: &Path) -> Option<PathBuf> {
    if let Some(named) = line.last_value("--ld-path=") {
        return installation::which(named);
    }
    let chosen = line.last_value("-fuse-ld=").unwrap_or_default();
    let name = match chosen.to_str()? {
        "" | "ld" => "ld".to_owned(),
        path if path.starts_with('/') => return installation::which(chosen),
        flavour => format!("ld.{flavour}"),
    };
    let mut question = Command::new(clang);
    for option in line.options().filter(|o| o.starts_with("-B")) {
        question.arg(option);
    }
    question.arg(format!("-print-prog-name={name}")).stdin(Stdio::null());
    let answer = question.output().ok()?.stdout;
    installation::which(OsStr::from_bytes(answer.trim_ascii()))
}

/// Links, with this process in the place of the linker.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let Some(real) = std::env::var_os(REAL) else {
        eprintln!("deadheat: error: {REAL} does not name a linker");
        return ExitCode::FAILURE;
    };
    let words = response_file::expand(arguments);
    let mut command = Command::new(&real);
    command.args(arguments).env_remove(REAL);
    let theirs = option(&words, "--dependency-file");
    let ours = theirs.is_none().then(|| memory_file("deadheat-read", b"")).flatten();
    let read = theirs.or_else(|| ours.as_ref().map(path_of));
    if let Some(file) = &ours {
        let mut word = OsString::from("--dependency-file=");
        word.push(path_of(file));
        command.arg(word);
    }
    let status = match command.status() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("deadheat: error: cannot run {}: {error}", real.display());
            return ExitCode::FAILURE;
        }
    };
    if let Some(list) = read.filter(|_| status.success()) {
        let output = option(&words, "--output").unwrap_or("a.out".into());
        // A block that could not be written says that nothing is known.
        let _ = std::fs::read(list).map(|list| note(Path::new(&output), &files(&list)));
    }
    ended(status)
}

/// The last value of `--NAME`, in the forms that linkers take; that of `--output` also as `-o`.
fn option(words: &[OsString], name: &str) -> Option<OsString> {
    let mut found = None;
    let mut words = words.iter().map(|word| word.as_bytes());
    while let Some(word) = words.next() {
        let long = word
            .strip_prefix(name.as_bytes())
            .or_else(|| word.strip_prefix(&name.as_bytes()[1..]));
        let short = word
            .strip_prefix(b"-o")
            .filter(|_| name == "--output" && !word.starts_with(b"-output"));
        match (long, short) {
            (Some(b""), _) | (_, Some(b"")) => found = words.next(),
            (Some([b'=', value @ ..]), _) => found = Some(value),
            (None, Some(value)) => found = Some(value),
            _ => {}
        }
    }
    found.map(|value| OsStr::from_bytes(value).to_owned())
}

/// The files that a dependency file's first rule names, a line each.
fn files(list: &[u8]) -> Vec<PathBuf> {
    let lines = list.split(|b| *b == b'\n').skip(1);
    let lines = lines.map(|line| line.strip_suffix(b"\\").unwrap_or(line).trim_ascii());
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| PathBuf::from(OsString::from_vec(unescaped(line))))
        .collect()
}

/// As make reads a name: `$$` is a dollar sign, a backslash takes a space, `#` or backslash as it is.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let next = bytes.peek().copied();
        match (byte, next) {
            (b'$', Some(b'$')) | (b'\\', Some(b' ' | b'#' | b'\\')) => plain.extend(bytes.next()),
            _ => plain.push(byte),
        }
    }
    plain
}

/// Notes in the linked file which of the files that were read have code without sites.
fn note(output: &Path, files: &[PathBuf]) -> std::io::Result<()> {
    let parts = Parts::under(&installation::directory());
    let own = [&parts.runtime, &parts.module].map(|part| part.canonicalize().ok());
    let mut file = OpenOptions::new().read(true).write(true).open(output)?;
    let Some((start, section)) = section(&file, linked_files::SECTION) else {
        return Ok(());
    };
    let mut unseen = Vec::new();
    for path in files {
        if !own.contains(&path.canonicalize().ok()) {
            unseen.extend(unseen_code::in_file(path));
        }
    }
    let record = self::section(&file, link_record::SECTION).map(|(_, bytes)| link_record::parse(&bytes));
    let record = record.and_then(|records| records.into_iter().next_back());
    let named: Vec<String> = unseen
        .into_iter()
        .map(|name| match &record {
            Some(record) => as_written(&name, record).unwrap_or(name),
            None => name,
        })
        .collect();
    let block = linked_files::filled(&named);
    for range in linked_files::unfilled(&section) {
        file.seek(SeekFrom::Start(start + range.start as u64))?;
        file.write_all(&block[..range.len()])?;
    }
    Ok(())
}

/// Where a section lies in a file, and its bytes.
fn section(file: &File, name: &str) -> Option<(u64, Vec<u8>)> {
    let data = ReadCache::new(file);
    let object = object::File::parse(&data).ok()?;
    let section = object.section_by_name(name)?;
    Some((section.file_range()?.0, section.data().ok()?.to_vec()))
}

/// The source that clang made a temporary object of: its name is the source's without ending, a dash, six digits.
fn as_written(name: &str, record: &LinkRecord) -> Option<String> {
    if record.arguments.iter().any(|word| word == name) {
        return None;
    }
    let stem = Path::new(name).file_stem()?.to_str()?.rsplit_once('-')?.0;
    let source = |path: &&String| Path::new(path.as_str()).file_stem().is_some_and(|s| s == stem);
    record.inputs.iter().map(|input| &input.path).find(source).cloned()
}

/// Ends as the linker did.
fn ended(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal().and_then(rustix::process::Signal::from_named_raw) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_names_what_was_read() {
        let list = b"out: \\\n  /lib/crt1.o \\\n a\\ b$$.o \\\n  c.a\n\n/lib/crt1.o:\n";
        assert_eq!(files(list), ["/lib/crt1.o", "a b$.o", "c.a"].map(PathBuf::from));
        assert_eq!(files(b""), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn the_last_value_counts() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(option(&words("-o a x.o -ob"), "--output"), Some("b".into()));
        assert_eq!(option(&words("--output=c x.o"), "--output"), Some("c".into()));
        let long = words("-dependency-file d --dependency-file=e");
        assert_eq!(option(&long, "--dependency-file"), Some("e".into()));
        assert_eq!(option(&words("x.o"), "--output"), None);
    }
}
