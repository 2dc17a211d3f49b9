//! What a run depends on besides the schedule, kept so that a stored execution can be run again.

use crate::hash::Fnv;
use deadheat_confirm::{Chosen, Client, Program};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

/// A program with its input, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The executable.
    pub file: Vec<u8>,
    /// Hash of its contents.
    pub program: u64,
    /// `argv[0]`.
    pub name: Vec<u8>,
    /// Arguments.
    pub args: Vec<Vec<u8>>,
    /// Working directory.
    pub directory: Vec<u8>,
    /// Environment.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Standard input.
    pub stdin: Vec<u8>,
    /// The setup command.
    pub setup: Option<String>,
    /// Who talks to the program.
    pub client: Option<Client>,
    /// Whether child processes are followed.
    pub follow: bool,
    /// What an exploration chose.
    pub chosen: Chosen,
}

impl Input {
    /// Whether the executable is another one by now, or is gone.
    pub fn is_outdated(&self) -> bool {
        hash_file(&PathBuf::from(text(&self.file))).ok() != Some(self.program)
    }

    /// The program and its arguments, as a shell takes them.
    pub fn command(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
        let word = |bytes: &Vec<u8>| {
            let text = String::from_utf8_lossy(bytes);
            match text.chars().all(plain) && !text.is_empty() {
                true => text.into_owned(),
                false => format!("'{}'", text.replace('\'', "'\\''")),
            }
        };
        let words: Vec<String> = [&self.name].into_iter().chain(&self.args).map(word).collect();
        words.join(" ")
    }
}

fn bytes(text: &OsStr) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn text(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

impl Input {
    /// The input of a program that is about to be run.
    pub fn of(program: &Program, setup: Option<String>) -> std::io::Result<Input> {
        Ok(Input {
            file: bytes(program.file.as_os_str()),
            program: hash_file(&program.file)?,
            name: bytes(&program.name),
            args: program.args.iter().map(|a| bytes(a)).collect(),
            directory: bytes(program.directory.as_os_str()),
            environment: program.environment.iter().map(|(k, v)| (bytes(k), bytes(v))).collect(),
            stdin: program.stdin.clone(),
            setup,
            client: None,
            follow: true,
            chosen: program.chosen.clone(),
        })
    }

    /// The same with a client, and with or without child processes.
    pub fn served(self, client: Option<Client>, follow: bool) -> Input {
        Input { client, follow, ..self }
    }

    /// The program to run again.
    pub fn program(&self) -> Program {
        Program {
            file: PathBuf::from(text(&self.file)),
            name: text(&self.name),
            args: self.args.iter().map(|a| text(a)).collect(),
            directory: PathBuf::from(text(&self.directory)),
            environment: self.environment.iter().map(|(k, v)| (text(k), text(v))).collect(),
            stdin: self.stdin.clone(),
            chosen: self.chosen.clone(),
        }
    }

    /// Its name in a store, as `--input` takes it.
    pub fn id(&self) -> String {
        format!("i{:08x}", self.hash() as u32)
    }

    /// The program and its arguments, as a person writes them.
    pub fn told(&self) -> String {
        let words = [&self.file].into_iter().chain(&self.args);
        words.map(|w| String::from_utf8_lossy(w)).collect::<Vec<_>>().join(" ")
    }

    /// Hash of what the user gives: arguments, standard input, setup. Not of the environment, which
    /// differs a little from shell to shell.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv::default();
        for part in self.args.iter().chain([&self.stdin]) {
            hash.bytes(part).bytes(&[0xff]);
        }
        hash.text(self.setup.as_deref().unwrap_or_default());
        if self.client.is_some() || !self.follow {
            hash.bytes(&postcard::to_allocvec(&(&self.client, self.follow)).unwrap_or_default());
        }
        if !self.chosen.is_empty() {
            hash.bytes(&postcard::to_allocvec(&self.chosen).unwrap_or_default());
        }
        hash.number()
    }
}

/// A file as it was at some time: device, number, length, and when it was last changed.
type Version = (u64, u64, u64, i64, i64);

/// Hashes of files, by version: a program is asked for again with each of its inputs.
static HASHED: Mutex<BTreeMap<Version, u64>> = Mutex::new(BTreeMap::new());

/// Files whose hashes are kept.
const MOST_HASHED: usize = 64;

/// Changes nearer together than this may have the same time.
const TICK: Duration = Duration::from_millis(100);

/// Hash of a file's contents.
pub fn hash_file(path: &std::path::Path) -> std::io::Result<u64> {
    let about = std::fs::metadata(path)?;
    let version = (about.dev(), about.ino(), about.len(), about.ctime(), about.ctime_nsec());
    let known = |hashed: &BTreeMap<_, _>| hashed.get(&version).copied();
    if let Some(hash) = HASHED.lock().ok().and_then(|hashed| known(&hashed)) {
        return Ok(hash);
    }
    let hash = Fnv::default().bytes(&std::fs::read(path)?).number();
    let changed = UNIX_EPOCH + Duration::new(about.ctime() as u64, about.ctime_nsec() as u32);
    let is_settled = changed.elapsed().is_ok_and(|age| age > TICK);
    if let Ok(mut hashed) = HASHED.lock()
        && is_settled
        && hashed.len() < MOST_HASHED
    {
        hashed.insert(version, hash);
    }
    Ok(hash)
}
