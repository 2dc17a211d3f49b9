//! A program's symbolic flavour: its kept bitcode compiled again with concolic instrumentation, and linked as
//! the program was.
//!
//! The section `.dh.bc` holds the front end's bitcode of every module that was linked, the section `.dh.link`
//! how. Objects without bitcode (assembly, other compilers) and libraries go in as they are, their code
//! concrete. A flavour is kept in the store's directory under the hash of its program.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use deadheat_campaign::hash::Fnv;
use object::{Object, ObjectSection};

use super::command_line::{Argument, CommandLine, Content};
use super::installation::{self, Parts};
use super::link_record::{self, InputKind, LinkRecord};
use super::{DriverError, Language};

/// Name of the section with bitcode, and what each piece begins with (`deadheat_wire::object`).
const BITCODE: &str = ".dh.bc";
const MAGIC: [u8; 8] = *b"DHBC\x01\0\0\0";

/// Why there is no flavour.
#[derive(Debug, thiserror::Error)]
pub enum FlavourError {
    /// The parts or clang.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Reading or writing.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// Not a program that can be read.
    #[error("{0} cannot be read as a program: {1}")]
    Program(PathBuf, String),
    /// No bitcode.
    #[error(
        "{0} holds no bitcode: it was linked with symbols stripped by a tool that drops unknown sections, or built without `deadheat cc`"
    )]
    NoBitcode(PathBuf),
    /// No link record.
    #[error("{0} does not say how it was linked")]
    NoRecord(PathBuf),
    /// The compiler.
    #[error("the symbolic flavour could not be made:\n{0}")]
    Compiler(String),
}

/// The symbolic flavour of a program, made if it is not there yet. `store` is the store's directory; `touches` says
/// whether it is to tell of accesses.
pub fn symbolic(program: &Path, store: &Path, jobs: usize, touches: bool) -> Result<PathBuf, FlavourError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |error| FlavourError::File(path, error)
    };
    let bytes = fs::read(program).map_err(file(program))?;
    let parts = Parts::find()?;
    // A flavour is as good as the plugin and the runtime that it was made with.
    let mut hash = Fnv::default();
    hash.bytes(&bytes);
    for part in [&parts.pass, &parts.runtime, &models(touches)] {
        stamp(part, &mut hash).map_err(file(part))?;
    }
    hash.bytes(&[touches.into()]);
    let directory = store.join("symbolic").join(format!("{:016x}", hash.number()));
    let made = directory.join("program");
    if made.is_file() {
        return Ok(made);
    }
    let elf = object::File::parse(&*bytes).map_err(|e| FlavourError::Program(program.into(), e.to_string()))?;
    let section = |name: &str| {
        elf.section_by_name(name)
            .and_then(|s| s.data().ok())
            .unwrap_or_default()
    };
    let pieces = pieces(section(BITCODE));
    if pieces.is_empty() {
        return Err(FlavourError::NoBitcode(program.into()));
    }
    let records = link_record::parse(section(link_record::SECTION));
    // Relocatable links that went in carry records, too; the program's own names it as its output.
    let own = |r: &&LinkRecord| Path::new(&r.output).file_name() == program.file_name();
    let record = records.iter().rev().find(own).or(records.last());
    let record = record.ok_or_else(|| FlavourError::NoRecord(program.into()))?;
    fs::create_dir_all(&directory).map_err(file(&directory))?;
    let work = tempfile::tempdir_in(&directory).map_err(file(&directory))?;
    let objects = compile(&pieces, work.path(), &parts, jobs, touches)?;
    let near = work.path().join("program");
    link(record, &objects, &parts, &models(touches), &near)?;
    fs::rename(&near, &made).map_err(file(&made))?;
    Ok(made)
}

/// Mixes in which file a part is: its length and when it was written. Reading tens of megabytes each time would cost more
/// than a whole exploration of a small program.
fn stamp(part: &Path, hash: &mut Fnv) -> std::io::Result<()> {
    let about = fs::metadata(part)?;
    for number in [about.size(), about.mtime() as u64, about.mtime_nsec() as u64] {
        hash.bytes(&number.to_le_bytes());
    }
    Ok(())
}

/// The models of library functions, beside the other parts.
fn models(touches: bool) -> PathBuf {
    let name = if touches {
        "deadheat_models_touches.o"
    } else {
        "deadheat_models.o"
    };
    installation::directory().join(name)
}

/// The pieces of bitcode in a section; a damaged rest is left out.
fn pieces(mut section: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(start) = section.windows(MAGIC.len()).position(|w| w == MAGIC) {
        let rest = &section[start + MAGIC.len()..];
        let Some((length, rest)) = rest.split_first_chunk::<8>() else {
            break;
        };
        let Some((frame, rest)) = usize::try_from(u64::from_le_bytes(*length))
            .ok()
            .and_then(|n| rest.split_at_checked(n))
        else {
            break;
        };
        let mut bitcode = Vec::new();
        let read =
            ruzstd::decoding::StreamingDecoder::new(frame).map(|mut decoder| decoder.read_to_end(&mut bitcode).is_ok());
        if matches!(read, Ok(true)) {
            all.push(bitcode);
        }
        section = rest;
    }
    all
}

/// Compiles every piece, several at a time.
fn compile(
    pieces: &[Vec<u8>],
    work: &Path,
    parts: &Parts,
    jobs: usize,
    touches: bool,
) -> Result<Vec<PathBuf>, FlavourError> {
    let clang = installation::clang()?;
    let next = Mutex::new(0..pieces.len());
    let failed: Mutex<Option<FlavourError>> = Mutex::new(None);
    let one = |n: usize| {
        let (source, object) = (work.join(format!("{n}.bc")), work.join(format!("{n}.o")));
        fs::write(&source, &pieces[n]).map_err(|e| FlavourError::File(source.clone(), e))?;
        let mut plugin = OsString::from("-fpass-plugin=");
        plugin.push(&parts.pass);
        let mut command = Command::new(&clang);
        command
            .arg(plugin)
            .args(["-Xclang", "-load", "-Xclang"])
            .arg(&parts.pass);
        command.args(["-mllvm", "-deadheat-symbolic", "-mllvm", "-enable-shrink-wrap=false"]);
        if touches {
            command.args(["-mllvm", "-deadheat-touches"]);
        }
        command.args([
            "-O1",
            "-fPIC",
            "-fno-omit-frame-pointer",
            "-mno-omit-leaf-frame-pointer",
            "-Wno-everything",
        ]);
        command.args(["-c", "-x", "ir"]).arg(&source).arg("-o").arg(&object);
        run(&mut command)
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, pieces.len()) {
            scope.spawn(|| {
                while let Some(n) = next.lock().ok().and_then(|mut range| range.next()) {
                    if let (Err(error), Ok(mut slot)) = (one(n), failed.lock()) {
                        slot.get_or_insert(error);
                        return;
                    }
                }
            });
        }
    });
    match failed.into_inner().ok().flatten() {
        Some(error) => Err(error),
        None => Ok((0..pieces.len()).map(|n| work.join(format!("{n}.o"))).collect()),
    }
}

/// Links as the program was linked, with these objects in the place of what they were made from: with the linker that is
/// twice as fast, unless the program needs its own.
fn link(
    record: &LinkRecord,
    objects: &[PathBuf],
    parts: &Parts,
    models: &Path,
    output: &Path,
) -> Result<(), FlavourError> {
    let own = || run(&mut link_command(record, objects, parts, models, output)?);
    let mut fast = link_command(record, objects, parts, models, output)?;
    fast.arg("-fuse-ld=lld");
    run(&mut fast).or_else(|_| own())
}

fn link_command(
    record: &LinkRecord,
    objects: &[PathBuf],
    parts: &Parts,
    models: &Path,
    output: &Path,
) -> Result<Command, FlavourError> {
    let language = if record.driver == "c++" {
        Language::Cxx
    } else {
        Language::C
    };
    let words: Vec<OsString> = record.arguments.iter().map(OsString::from).collect();
    let line = CommandLine::parse(language, &words);
    let mut command = Command::new(installation::clang()?);
    command.current_dir(&record.directory);
    if language == Language::Cxx {
        command.arg("--driver-mode=g++");
    }
    let mut list = OsString::from("-Wl,--dynamic-list=");
    list.push(&parts.exports);
    command.arg("--start-no-unused-arguments").arg("-pie").arg(list);
    command.args(objects).arg(&parts.runtime).arg(&parts.module).arg(models);
    for argument in &line.arguments {
        match argument {
            Argument::Input(n) => {
                let input = &line.inputs[*n];
                let has_bitcode = |path: &str| {
                    record
                        .inputs
                        .iter()
                        .any(|i| i.path == path && i.kind == InputKind::Object && i.watched > 0)
                };
                let gone = matches!(input.content, Content::Source | Content::Header | Content::Ir)
                    || has_bitcode(&input.path.to_string_lossy());
                if !gone {
                    command.arg(&input.path);
                }
            }
            Argument::Option(word) => {
                if belongs(&word.to_string_lossy()) {
                    command.arg(word);
                }
            }
            Argument::WithValue(word, value) => {
                let name = word.to_string_lossy();
                if belongs(&name) && !matches!(&*name, "-o" | "-x" | "-MF" | "-MT" | "-MQ" | "-include") {
                    command.arg(word).arg(value);
                }
            }
            Argument::EndOfOptions => {}
        }
    }
    command.arg("--end-no-unused-arguments").arg("-o").arg(output);
    Ok(command)
}

/// Whether an option of the old link has a place in this one.
fn belongs(option: &str) -> bool {
    let reads_archives_whole = option.contains("whole-archive");
    let other = option.starts_with("-x")
        || option.starts_with("-M")
        || option.starts_with("-o")
        || option.starts_with("-W") && !option.starts_with("-Wl,")
        || option.starts_with("-flto")
        || matches!(option, "-no-pie" | "-nopie" | "-static-pie" | "-v" | "-s" | "-c")
        || option.contains("--version-script");
    !(reads_archives_whole || other)
}

fn run(command: &mut Command) -> Result<(), FlavourError> {
    let name = command.get_program().to_owned();
    let output = command.output().map_err(|e| FlavourError::File(name.into(), e))?;
    if output.status.success() {
        return Ok(());
    }
    const MOST: usize = 4_000;
    let text = String::from_utf8_lossy(&output.stderr);
    Err(FlavourError::Compiler(text.chars().take(MOST).collect()))
}
