//! What `deadheat build` says at the end: what was compiled with sites, what was linked from which objects, what has
//! no sites, by name, and what to do where that is not what was wanted.
//!
//! The compilers' log says what was compiled and linked; what a linked file is made of is read from its own link
//! record. Files that are gone by then were tried by a configure step.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;

use object::{Object, ObjectSection};

use super::link_record::{self, InputKind, LinkRecord};
use super::log::Entry;

/// Names of one kind that are printed.
const SHOWN: usize = 12;

/// A program or library that was linked.
struct Linked<'a> {
    path: &'a str,
    program: bool,
    with_sites: u32,
    without: BTreeSet<String>,
}

impl Linked<'_> {
    /// Reads what it was linked from, and what went into that.
    fn of(path: &str, program: bool) -> Linked<'_> {
        let mut linked = Linked {
            path,
            program,
            with_sites: 0,
            without: BTreeSet::new(),
        };
        for record in records(Path::new(path)) {
            let inputs = record.inputs.iter().filter(|i| i.kind != InputKind::SharedLibrary);
            for input in inputs {
                linked.with_sites += input.watched;
                let names = input.unwatched_names.iter();
                linked.without.extend(names.map(|name| file_name(name).to_owned()));
            }
        }
        linked
    }

    fn told(&self, directory: &Path) -> String {
        let kind = if self.program { "program" } else { "library" };
        let path = Path::new(self.path);
        let path = path.strip_prefix(directory).unwrap_or(path).display();
        let with = match self.with_sites {
            0 => String::new(),
            1 => ": 1 object with sites".to_owned(),
            n => format!(": {n} objects with sites"),
        };
        let without = match self.without.len() {
            0 => String::new(),
            n => format!(", {n} without ({})", names(self.without.iter().map(String::as_str), n)),
        };
        format!("  {kind} {path}{with}{without}")
    }
}

fn records(path: &Path) -> Vec<LinkRecord> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else {
        return Vec::new();
    };
    let section = file.section_by_name(link_record::SECTION);
    link_record::parse(section.and_then(|s| s.data().ok()).unwrap_or_default())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The first few, in one line.
fn names<'n>(names: impl Iterator<Item = &'n str>, count: usize) -> String {
    let shown: Vec<&str> = names.take(SHOWN).collect();
    let more = count.saturating_sub(SHOWN);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", shown.join(", "))
}

/// Paths that are still there, each once.
fn present<'e>(paths: impl Iterator<Item = &'e String>) -> BTreeSet<&'e str> {
    paths
        .map(String::as_str)
        .filter(|path| Path::new(path).exists())
        .collect()
}

/// The summary of a build command that ended with this status, a line each. With `only_bitcode` nothing has sites.
pub fn told(entries: &[Entry], command: &OsStr, status: ExitStatus, only_bitcode: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let directory = std::env::current_dir().unwrap_or_default();
    let watched = present(entries.iter().flat_map(|e| &e.watched));
    let unwatched = present(entries.iter().flat_map(|e| &e.unwatched));
    let linked: Vec<Linked<'_>> = [true, false]
        .iter()
        .flat_map(|program| {
            let of_kind = entries.iter().filter(|e| e.runtime == *program);
            let paths = present(of_kind.filter_map(|e| e.linked.as_ref()));
            paths
                .into_iter()
                .map(|path| Linked::of(path, *program))
                .collect::<Vec<_>>()
        })
        .collect();
    if !status.success() {
        lines.push(format!(
            "the command failed ({status}); what follows is what it did until then"
        ));
    }
    if !watched.is_empty() || !linked.is_empty() {
        lines.push(match only_bitcode {
            true => format!(
                "{} source files compiled with their bitcode kept, without sites",
                watched.len()
            ),
            false => count(&watched, &linked),
        });
        lines.extend(linked.iter().take(SHOWN).map(|l| l.told(&directory)));
        let more = linked.len().saturating_sub(SHOWN);
        lines.extend((more > 0).then(|| format!("  and {more} more")));
    }
    if !unwatched.is_empty() {
        let shown = names(unwatched.iter().copied().map(file_name), unwatched.len());
        lines.push(format!(
            "without sites (assembly and the like): {shown}; their accesses are not seen, and `unordered` proves nothing in a program that they are linked into"
        ));
    }
    let mut notes: Vec<&str> = entries
        .iter()
        .flat_map(|e| e.notes.iter().chain(&e.refused))
        .map(String::as_str)
        .collect();
    notes.sort_unstable();
    for same in notes.chunk_by(|a, b| a == b) {
        lines.push(match same.len() {
            1 => same[0].to_owned(),
            n => format!("{} ({n} times)", same[0]),
        });
    }
    if !only_bitcode || watched.is_empty() {
        lines.extend(advice(entries, &watched, &linked, command, status));
    }
    lines
}

fn count(watched: &BTreeSet<&str>, linked: &[Linked<'_>]) -> String {
    let (programs, libraries): (Vec<_>, Vec<_>) = linked.iter().partition(|l| l.program);
    let shared = match libraries.len() {
        0 => String::new(),
        n => format!(", {n} shared libraries"),
    };
    format!(
        "{} source files compiled with sites, {} programs linked with the runtime{shared}",
        watched.len(),
        programs.len()
    )
}

/// What to do next, where this build gave nothing to hunt in.
fn advice(
    entries: &[Entry],
    watched: &BTreeSet<&str>,
    linked: &[Linked<'_>],
    command: &OsStr,
    status: ExitStatus,
) -> Option<String> {
    let command = Path::new(command).display();
    let compiled = entries.iter().any(|e| !e.watched.is_empty());
    let program = linked.iter().find(|l| l.program);
    let refused = entries.iter().any(|e| e.refused.is_some());
    Some(match () {
        () if !status.success() && refused => {
            "a compiler command was refused, see above: leave that option out (CFLAGS, configure options) and build again".into()
        }
        () if !status.success() => {
            "look at the first error above; if the same command works without `deadheat build`, `deadheat doctor` says what is missing, and DEADHEAT_NOTES=1 what was changed on each command line".into()
        }
        () if !watched.is_empty() && program.is_some() => return None,
        () if !watched.is_empty() && linked.is_empty() => {
            "nothing was linked: link the objects with `deadheat cc` or `deadheat c++` too, since the runtime is linked in there".into()
        }
        () if !watched.is_empty() => {
            "only libraries were linked: a program that uses them must be linked by deadheat too".into()
        }
        () if program.is_some() => {
            "nothing was compiled: objects of an earlier build were linked; where they have no sites, clean and build again".into()
        }
        () if compiled => format!(
            "only tests of the compiler were made, as configure steps do: {command} has noted deadheat's compilers, now build: deadheat build -- make"
        ),
        () => format!(
            "nothing was compiled: everything is up to date (then clean first), or {command} names its own compiler: pass CC=\"$CC\" CXX=\"$CXX\" on its command line"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn summary(entries: &[Entry], status: i32) -> Vec<String> {
        told(entries, OsStr::new("make"), ExitStatus::from_raw(status << 8), false)
    }

    /// A file that is there.
    fn here() -> String {
        std::env::current_exe().expect("a path").to_string_lossy().into_owned()
    }

    #[test]
    fn a_build_that_compiled_nothing_says_what_to_do() {
        assert!(summary(&[], 0)[0].starts_with("nothing was compiled"));
    }

    #[test]
    fn configure_steps_are_told_from_builds() {
        let gone = Entry {
            watched: vec!["/nowhere/conftest.c".into()],
            ..Entry::default()
        };
        let lines = summary(&[gone], 0);
        assert!(lines[0].contains("deadheat build -- make"), "{lines:?}");
    }

    #[test]
    fn files_are_counted_once_and_named() {
        let entry = Entry {
            watched: vec![here()],
            unwatched: vec![here()],
            notes: vec!["-flto left out".into()],
            ..Entry::default()
        };
        let lines = summary(&[entry.clone(), entry], 0);
        assert!(lines[0].starts_with("1 source files"), "{lines:?}");
        assert!(lines.iter().any(|l| l == "-flto left out (2 times)"), "{lines:?}");
        assert!(lines.iter().any(|l| l.starts_with("without sites")), "{lines:?}");
        assert!(
            lines.last().is_some_and(|l| l.starts_with("nothing was linked")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_failed_command_is_told_first() {
        let entry = Entry {
            watched: vec![here()],
            ..Entry::default()
        };
        let lines = summary(&[entry], 2);
        assert!(lines[0].starts_with("the command failed"), "{lines:?}");
        assert!(
            lines.last().is_some_and(|l| l.starts_with("look at the first error")),
            "{lines:?}"
        );
    }
}
