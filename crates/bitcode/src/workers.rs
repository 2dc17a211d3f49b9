//! Worker processes: each thread keeps one and hands it a module at a time. A worker that dies takes one module with
//! it; the next module gets a new one.

use crate::cache::{self, Cache, Key};
use crate::compile_database;
use crate::pieces::Piece;
use crate::{Options, ReadError};
use deadheat_ir::Module;
use deadheat_wire::lowering::{Reply, Request, Settings};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What became of a module.
#[derive(Debug)]
pub struct Outcome {
    /// The module, or why there is none.
    pub module: Result<Module, String>,
    /// The key of its bitcode, if that could be read.
    pub key: Option<Key>,
    /// It was in the cache.
    pub cached: bool,
    /// The worker died over it.
    pub died: bool,
    /// Its stored size.
    pub bytes: u64,
}

/// Lowers all pieces; outcomes come in their order.
///
/// # Errors
/// If a worker cannot be started.
pub fn run(pieces: &[&Piece], cache: &Cache, options: &Options) -> Result<Vec<Outcome>, ReadError> {
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(pieces.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<io::Error>> = Mutex::new(None);
    let jobs = options.jobs.clamp(1, pieces.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut lane = Lane {
                    worker: None,
                    cache,
                    options,
                };
                while let Some((n, piece)) = claim(pieces, &next) {
                    match lane.piece(piece) {
                        Ok(outcome) => outcomes.lock().unwrap_or_else(PoisonError::into_inner)[n] = Some(outcome),
                        Err(error) => {
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            // The others stop too.
                            next.store(pieces.len(), Ordering::Relaxed);
                        }
                    }
                }
                if let Some(worker) = lane.worker {
                    worker.end();
                }
            });
        }
    });
    if let Some(source) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(ReadError::Worker {
            path: options.worker.clone(),
            source,
        });
    }
    Ok(outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .flatten()
        .collect())
}

fn claim<'a>(pieces: &[&'a Piece], next: &AtomicUsize) -> Option<(usize, &'a Piece)> {
    let n = next.fetch_add(1, Ordering::Relaxed);
    pieces.get(n).map(|piece| (n, *piece))
}

/// One thread's worker.
struct Lane<'a> {
    worker: Option<Worker>,
    cache: &'a Cache,
    options: &'a Options,
}

impl Lane<'_> {
    fn piece(&mut self, piece: &Piece) -> io::Result<Outcome> {
        let mut outcome = Outcome {
            module: Err(String::new()),
            key: None,
            cached: false,
            died: false,
            bytes: 0,
        };
        let bitcode = match piece.command() {
            Some(command) => {
                if let Some((key, module)) = compile_database::unchanged(command, self.cache) {
                    outcome.module = Ok(at_origin(module, piece));
                    (outcome.key, outcome.cached) = (Some(key), true);
                    return Ok(outcome);
                }
                compile_database::compile(command, &self.options.clang, self.cache)
            }
            None => piece.bytes(self.options.largest).map_err(|error| error.to_string()),
        };
        let bitcode = match bitcode {
            Ok(bitcode) => bitcode,
            Err(reason) => {
                outcome.module = Err(reason);
                return Ok(outcome);
            }
        };
        outcome.bytes = bitcode.len() as u64;
        let key = self.cache.key(&bitcode);
        outcome.key = Some(key);
        if let Some(module) = self.cache.module(&key) {
            outcome.module = Ok(at_origin(module, piece));
            outcome.cached = true;
            return Ok(outcome);
        }
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(&self.options.worker, &self.options.settings)?,
        };
        let request = Request {
            origin: piece.origin.clone(),
            bitcode,
        };
        match worker.lower(&request) {
            Ok((worker, Reply::Module(bytes))) => {
                self.worker = Some(worker);
                outcome.module = cache::decode(&bytes).ok_or_else(|| "the worker's answer makes no sense".to_owned());
                if outcome.module.is_ok() {
                    self.cache.keep_module(&key, &bytes);
                }
            }
            Ok((worker, Reply::Refused(reason))) => {
                self.worker = Some(worker);
                outcome.module = Err(reason);
            }
            Err(reason) => {
                outcome.died = true;
                outcome.module = Err(reason);
            }
        }
        Ok(outcome)
    }
}

/// A module from the cache may have been found elsewhere the last time.
fn at_origin(mut module: Module, piece: &Piece) -> Module {
    for unit in &mut module.units {
        unit.origin.clone_from(&piece.origin);
    }
    module
}

/// A running worker.
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Its standard error: a file, so that a long trace cannot fill a pipe that nobody reads.
    said: File,
}

impl Worker {
    fn start(path: &Path, settings: &Settings) -> io::Result<Worker> {
        let mut command = Command::new(path);
        let said = tempfile::tempfile()?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said.try_clone()?);
        let mut child = command.spawn()?;
        let pipe = || io::Error::other("no pipe");
        let input = child.stdin.take().ok_or_else(pipe)?;
        let output = child.stdout.take().ok_or_else(pipe)?;
        let mut worker = Worker {
            child,
            input,
            output,
            said,
        };
        // A worker that ends at once (no libLLVM) is told by the first module's answer.
        let _ = send(&mut worker.input, settings);
        Ok(worker)
    }

    /// Has a module lowered; says how the worker died, if it did.
    fn lower(mut self, request: &Request) -> Result<(Worker, Reply), String> {
        let answer = send(&mut self.input, request).and_then(|()| receive(&mut self.output));
        match answer {
            Ok(reply) => Ok((self, reply)),
            Err(error) => Err(self.died(&error)),
        }
    }

    fn died(mut self, error: &io::Error) -> String {
        drop(self.input);
        let status = self.child.wait();
        let mut said = Vec::new();
        let start = self.said.seek(SeekFrom::Start(0));
        // The first lines tell; a stack trace may follow.
        let _ = start.and_then(|_| (&self.said).take(1 << 16).read_to_end(&mut said));
        let said = String::from_utf8_lossy(&said);
        let first = said
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .trim()
            .to_owned();
        let how = match status.map(|status| (status.signal(), status.code())) {
            Ok((Some(signal), _)) => format!("LLVM ended on it with signal {signal}"),
            Ok((_, Some(code))) if code != 0 => format!("the worker ended on it with status {code}"),
            _ => format!("the worker gave no answer ({error})"),
        };
        if first.is_empty() {
            how
        } else {
            format!("{how}: {first}")
        }
    }

    fn end(mut self) {
        drop(self.input);
        let _ = self.child.wait();
    }
}

fn send<T: serde::Serialize>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let bytes = postcard::to_stdvec(value).map_err(io::Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

fn receive(from: &mut impl Read) -> io::Result<Reply> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    from.take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}
