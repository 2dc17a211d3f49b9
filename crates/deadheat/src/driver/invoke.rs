//! One compiler command, carried out: this process becomes clang.
//!
//! The link record and overlong command lines are handed over as memory files that clang and the linker
//! inherit and open under `/proc/self/fd`, so that nothing is left behind and no process has to wait.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};

use super::command_line::{CommandLine, Content, Stage};
use super::frontend::{Frontend, SPECS};
use super::installation::{self, Parts};
use super::link_record::LinkRecord;
use super::linker;
use super::log::{self, Entry};
use super::plan::{self, Output, Plan};
use super::{DriverError, Language, response_file};

/// Bytes of arguments from which on they are handed over in a response file. The kernel takes more, but
/// clang's own children get as much again.
const LONG: usize = 256 * 1024;

/// Becomes clang. Returns only if that fails.
pub fn run(language: Language, arguments: &[OsString]) -> Result<Infallible, DriverError> {
    let mut words = response_file::expand(arguments);
    let frontend = Frontend::take(&mut words)?;
    let mut line = CommandLine::parse(language, &words);
    line.frontend = frontend;
    let directory = std::env::current_dir().unwrap_or_default();
    let compiler = frontend.compiler(language)?;
    let probe = line.is_probe(&directory);
    // What only asks or preprocesses works without our parts.
    let needs_parts = line.has_work() && line.stage >= Stage::Assembly;
    let parts = if needs_parts {
        Parts::find()?
    } else {
        Parts::under(&installation::directory())
    };
    let only_bitcode = std::env::var_os(plan::BITCODE_ONLY).is_some();
    let planned = if only_bitcode {
        Ok(plan::bitcode_only(&line, &parts, probe))
    } else {
        plan::plan(&line, &parts, probe)
    };
    let mut plan = match planned {
        Ok(plan) => plan,
        Err(error) => {
            if !probe {
                log::append(&Entry {
                    refused: Some(error.to_string()),
                    ..Entry::default()
                });
            }
            return Err(error);
        }
    };
    if !probe {
        tell(&line, &plan, &directory);
    }
    let linker = if probe {
        None
    } else {
        stand_before_linker(&line, &mut plan, &parts, &compiler)
    };
    let record = record(&line, &words, &plan, &directory);
    let inputs = record.as_ref().map(path_of);
    let mut all = plan.command_line(language, inputs);
    let specs = if frontend.is_gcc() && plan.instruments {
        memory_file("deadheat-specs", SPECS.as_bytes())
    } else {
        None
    };
    if let Some(file) = &specs {
        let mut option = OsString::from("-specs=");
        option.push(path_of(file));
        all.insert(0, option);
    }
    let as_written = plan.changes_nothing(&line) && words.len() == arguments.len();
    let long = if as_written { None } else { shorten(&mut all) };
    let mut command = Command::new(&compiler);
    command.args(&all);
    if let Some(real) = linker {
        command.env(linker::REAL, real);
    }
    let error = command.exec();
    drop((record, long, specs));
    Err(DriverError::Start {
        program: compiler,
        source: error,
    })
}

/// Says what was changed, and notes it for the build's summary.
fn tell(line: &CommandLine, plan: &Plan, directory: &Path) {
    for warning in &plan.warnings {
        eprintln!("deadheat: note: {warning}");
    }
    if line.has("-v") || std::env::var_os("DEADHEAT_NOTES").is_some() {
        plan.notes.iter().for_each(|note| eprintln!("deadheat: note: {note}"));
    }
    if std::env::var_os(log::VARIABLE).is_none() || line.stage < Stage::Object || line.has("-###") {
        return;
    }
    let mut entry = Entry {
        notes: plan.notes.clone(),
        ..Entry::default()
    };
    for input in line
        .inputs
        .iter()
        .filter(|i| !matches!(i.content, Content::Linkable | Content::Header))
    {
        let watched = plan.instruments && matches!(input.content, Content::Source | Content::Ir);
        let list = if watched {
            &mut entry.watched
        } else {
            &mut entry.unwatched
        };
        list.push(directory.join(&input.path).to_string_lossy().into_owned());
    }
    if let Some(made) = plan.links.filter(|made| *made != Output::Relocatable) {
        let output = line.last_value("-o").unwrap_or("a.out".as_ref());
        entry.linked = Some(directory.join(output).to_string_lossy().into_owned());
        entry.runtime = made == Output::Executable;
    }
    log::append(&entry);
}

/// The link record as an open file, if something is linked for good.
fn record(line: &CommandLine, words: &[OsString], plan: &Plan, directory: &Path) -> Option<OwnedFd> {
    let linked = matches!(plan.links, Some(Output::Executable | Output::SharedLibrary));
    if !linked || line.has("-###") {
        return None;
    }
    memory_file(
        "deadheat-link",
        &LinkRecord::describe(line, words, directory).to_object()?,
    )
}

/// Has clang call us in the place of the linker, where something is linked for good; returns the linker.
fn stand_before_linker(line: &CommandLine, plan: &mut Plan, parts: &Parts, clang: &Path) -> Option<PathBuf> {
    let linked = matches!(plan.links, Some(Output::Executable | Output::SharedLibrary));
    if !linked || plan.gcc || line.has("-###") {
        return None;
    }
    let real = linker::real(line, clang)?;
    plan.theirs.retain(|word| !word.as_bytes().starts_with(b"--ld-path="));
    let mut option = OsString::from("--ld-path=");
    option.push(&parts.linker);
    plan.ours.push(option);
    Some(real)
}

/// Puts arguments that are too long for a command line into a response file.
fn shorten(words: &mut Vec<OsString>) -> Option<OwnedFd> {
    if words.iter().map(|word| word.len() + 9).sum::<usize>() < LONG {
        return None;
    }
    // The driver mode is looked for on the command line itself.
    let mode = words
        .first()
        .filter(|word| word.to_string_lossy().starts_with("--driver-mode="))
        .cloned();
    let file = memory_file(
        "deadheat-arguments",
        &response_file::join(&words[mode.is_some() as usize..]),
    )?;
    let mut argument = OsString::from("@");
    argument.push(path_of(&file));
    *words = mode.into_iter().chain([argument]).collect();
    Some(file)
}

/// A file in memory that child processes inherit; none where there is no `/proc` to open it by.
pub fn memory_file(name: &str, contents: &[u8]) -> Option<OwnedFd> {
    let file = memfd_create(name, MemfdFlags::empty()).ok()?;
    let mut file = File::from(file);
    file.write_all(contents).ok()?;
    let file = OwnedFd::from(file);
    Path::new(&path_of(&file)).exists().then_some(file)
}

pub fn path_of(file: &OwnedFd) -> OsString {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
