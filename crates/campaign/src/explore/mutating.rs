//! Inputs by chance, by turns with those of the solver: what is far from every known path, such as a longer text or a word
//! of the program, takes the solver many turns. The symbolic flavour runs them without expressions, which costs little,
//! and tells how often each branch went which way. One that takes a new side, or comes to a new bad end, is traced and
//! looked at as the solver's are; one that takes a branch more often than any before is changed further.
//!
//! A round has so many inputs whatever comes of them, and whose turn it is goes by counts of work, so an exploration comes
//! to the same whatever else the machine does.

use super::running::{Runner, side_by_side};
use super::{Explorer, Order, Prune};
use deadheat_confirm::{BadEnd, End, Outcome, Program, RunError};
use deadheat_explore::{Mutator, Path as RunPath};
use deadheat_schedule::Rng;
use deadheat_wire::trace::{Trace, source};
use object::{Object, ObjectSection};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Inputs of the solver before the first round.
const FIRST: u64 = 64;
/// Inputs of a round, and of one whose runs are started one by one.
const ROUND: (usize, usize) = (128, 32);
/// What a round counts as work, beside that of the search.
const WORK: u64 = 32_000;
/// After a round that showed nothing the search gets twice as much work before the next one, up to so many times a round's.
const MOST_WAIT: u64 = 16;
/// Rounds in a row that show nothing before an exploration ends whose search has nothing left.
const LAST: u32 = 4;
/// Inputs that are made of one at a time.
const OF_ONE: usize = 16;
/// How often the room for growth is doubled for them at once.
const DOUBLED: u32 = 4;
/// A run may take this long.
const LIMIT: Duration = Duration::from_secs(1);
/// Words of the program.
const MOST_WORDS: usize = 4_000;
/// Bad ends that are told apart.
const MOST_ENDS: usize = 64;

/// What is known of inputs that are changed by chance.
#[derive(Debug)]
pub(super) struct Mutating {
    mutator: Mutator,
    random: Rng,
    entries: Vec<Entry>,
    /// Classes of counts that each branch side has had, a bit each.
    classes: Vec<u8>,
    ends: Vec<BadEnd>,
    /// The work of the search at which the next round is due, and how many rounds' work it waits from one to the next.
    due: u64,
    wait: u64,
    /// Inputs that were made.
    pub made: u64,
    /// Those that were traced since they showed something new.
    pub kept: u64,
    /// Those whose runs were stopped for their time.
    pub stopped: u64,
}

/// An input that took some branch as often as none before.
#[derive(Debug)]
struct Entry {
    program: Program,
    texts: Vec<Text>,
    picked: u32,
}

/// What of an input is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    Stdin,
    /// A file, by its name.
    File(Vec<u8>),
}

/// The run of an input.
struct Ran {
    hits: Vec<u8>,
    end: Option<BadEnd>,
}

impl Mutating {
    pub(super) fn new(flavour: &Path, seed: u64) -> Mutating {
        Mutating {
            mutator: Mutator { words: words(flavour) },
            random: Rng::new(seed),
            entries: Vec::new(),
            classes: Vec::new(),
            ends: Vec::new(),
            due: 0,
            wait: 1,
            made: 0,
            kept: 0,
            stopped: 0,
        }
    }

    /// An input of the solver was run.
    pub(super) fn solved(&mut self, program: &Program, path: &RunPath, hits: &[u8]) {
        if self.sees(hits) {
            self.take(program, texts(path));
        }
    }

    /// Whether some branch was taken as often as never before.
    fn sees(&mut self, hits: &[u8]) -> bool {
        self.classes.resize(hits.len(), 0);
        let mut new = false;
        for (known, hits) in self.classes.iter_mut().zip(hits) {
            let class = class(*hits);
            new |= class & !*known != 0;
            *known |= class;
        }
        new
    }

    fn take(&mut self, program: &Program, texts: Vec<Text>) {
        if !texts.is_empty() {
            let (program, picked) = (program.clone(), 0);
            self.entries.push(Entry { program, texts, picked });
        }
    }

    /// The inputs of a round, each with the texts that can be changed in it; `room` is how much longer than the `given` ones
    /// they may be.
    fn round(&mut self, given: &Program, room: usize, count: usize) -> Vec<(Program, Vec<Text>)> {
        let mut made = Vec::with_capacity(count);
        while made.len() < count {
            let chosen = self.pick();
            self.entries[chosen].picked += 1;
            let entry = &self.entries[chosen];
            let text = &entry.texts[self.random.below(entry.texts.len() as u64) as usize];
            let (bytes, longest) = (contents(&entry.program, text), contents(given, text).len() + room);
            for _ in 0..OF_ONE {
                let other = &self.entries[self.random.below(self.entries.len() as u64) as usize];
                let other = contents(&other.program, text);
                let mut random = || self.random.bits();
                let changed = self.mutator.mutate(&bytes, &other, longest, &mut random);
                made.push((replaced(&entry.program, text, changed), entry.texts.clone()));
            }
        }
        made
    }

    /// The one of which the fewest were made, the last of them, or any.
    fn pick(&mut self) -> usize {
        if self.random.coin() {
            return self.random.below(self.entries.len() as u64) as usize;
        }
        let numbered = self.entries.iter().enumerate();
        let least = numbered.min_by_key(|(n, entry)| (entry.picked, std::cmp::Reverse(*n)));
        least.map_or(0, |(n, _)| n)
    }

    /// Whether a run ended badly as none before did.
    fn ends_anew(&mut self, end: Option<BadEnd>) -> bool {
        match end {
            Some(end) if self.ends.len() < MOST_ENDS && !self.ends.iter().any(|known| known.same(&end)) => {
                self.ends.push(end);
                true
            }
            _ => false,
        }
    }
}

impl Explorer<'_> {
    /// Inputs by chance, if it is their turn, or the search has nothing `left` and sides are open; whether one showed something
    /// new. Pruned paths, and a search that takes every path, are about the solver's alone.
    pub(super) fn mutate(&mut self, given: &Program, left: bool) -> bool {
        let may = self.how.mutate && self.how.prune == Prune::Off && self.how.order == Order::Generational;
        let due = if left {
            self.search.tally.runs >= FIRST && self.search.work() >= self.mutating.due
        } else {
            let (seen, sides) = self.coverage.sides();
            seen < sides
        };
        if !may || !due || self.mutating.entries.is_empty() {
            return false;
        }
        let most = if left { 1 } else { LAST };
        let (mut any, mut barren) = (false, 0);
        while !self.stop() && barren < most {
            let found = self.round(given);
            barren = if found { 0 } else { barren + 1 };
            any |= found;
        }
        self.mutating.wait = if any {
            1
        } else {
            (2 * self.mutating.wait).min(MOST_WAIT)
        };
        self.mutating.due = self.search.work() + self.mutating.wait * WORK;
        any
    }

    /// A round; whether it showed something new.
    fn round(&mut self, given: &Program) -> bool {
        let room = (self.how.room << DOUBLED) as usize;
        let count = if self.symbolic.serves() { ROUND.0 } else { ROUND.1 };
        let made = self.mutating.round(given, room, count);
        let runner = self.runner();
        let stop = self.late();
        let ran = side_by_side(&made, runner.jobs(), |(program, _)| {
            if stop() { Ok(None) } else { runner.ran(program) }
        });
        let mut new = Vec::new();
        for ((program, texts), ran) in made.into_iter().zip(ran) {
            let ran = match ran {
                Ok(Some(ran)) => ran,
                Ok(None) => {
                    self.mutating.stopped += u64::from(!self.stop());
                    continue;
                }
                Err(_) => {
                    self.failures += 1;
                    continue;
                }
            };
            self.runs += 1;
            self.mutating.made += 1;
            if self.mutating.sees(&ran.hits) {
                self.mutating.take(&program, texts);
            }
            let ends_anew = self.mutating.ends_anew(ran.end);
            if !self.plain.stopped() && (ends_anew || self.coverage.would_see(&ran.hits)) {
                new.extend(self.trace_made(program, &ran.hits));
            }
        }
        self.mutating.kept += new.len() as u64;
        let (found, errors) = self.look_at(&new);
        self.failures += errors.len() as u64;
        if found {
            self.search.discovered();
        }
        !new.is_empty()
    }

    /// Takes in an input that showed something new; its number.
    fn trace_made(&mut self, program: Program, hits: &[u8]) -> Option<usize> {
        let traced = self.runner().trace(&program);
        self.runs += 1;
        let number = self.inputs.len();
        if self.add(program, traced, None).is_err() {
            self.failures += 1;
        }
        if self.inputs.len() == number {
            return None;
        }
        if self.coverage.see(hits) {
            self.kept.push(number);
        }
        Some(number)
    }
}

impl Runner<'_> {
    /// Runs the symbolic flavour without expressions; none if the run was stopped.
    fn ran(&self, program: &Program) -> Result<Option<Ran>, RunError> {
        let Some(run) = self.flavoured(program, true, Some(LIMIT))? else {
            return Ok(None);
        };
        if matches!(run.end, End::Stopped(_)) {
            return Ok(None);
        }
        let outcome = Outcome::of(&run);
        let is_bad = !matches!(outcome, Outcome::Exit(_)) && outcome.as_harm().is_some();
        let trace = run.trace.as_deref().and_then(Trace::new);
        Ok(Some(Ran {
            hits: trace.map_or(Vec::new(), |trace| trace.hits().to_vec()),
            end: is_bad.then(|| BadEnd::of(&run)),
        }))
    }
}

/// The class of a count, a bit; no bit for none.
fn class(hits: u8) -> u8 {
    match hits {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128.. => 128,
    }
}

/// What of an input its run has read.
fn texts(path: &RunPath) -> Vec<Text> {
    let kind = |number: u32| source::split(number).0;
    let reads_stdin = |number: u32| matches!(kind(number), source::STDIN | source::STDIN_LENGTH);
    let stdin = path.values.keys().any(|symbol| reads_stdin(symbol.source));
    let files = path.names.iter().filter(|(number, _)| kind(**number) == source::FILE);
    let files = files.map(|(_, name)| Text::File(name.clone()));
    stdin.then_some(Text::Stdin).into_iter().chain(files).collect()
}

fn contents(program: &Program, text: &Text) -> Vec<u8> {
    match text {
        Text::Stdin => program.stdin.clone(),
        Text::File(name) => match program.chosen.files.iter().find(|(known, _)| known == name) {
            Some((_, bytes)) => bytes.clone(),
            None => std::fs::read(program.directory.join(OsStr::from_bytes(name))).unwrap_or_default(),
        },
    }
}

fn replaced(program: &Program, text: &Text, bytes: Vec<u8>) -> Program {
    let mut program = program.clone();
    match text {
        Text::Stdin => program.stdin = bytes,
        Text::File(name) => {
            let files = &mut program.chosen.files;
            match files.iter_mut().find(|(known, _)| known == name) {
                Some(known) => known.1 = bytes,
                None => files.push((name.clone(), bytes)),
            }
            files.sort();
        }
    }
    program
}

/// The program's words, as its symbolic flavour lists them (`pass`, `concolic/words.rs`).
fn words(flavour: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(flavour).unwrap_or_default();
    let Ok(elf) = object::File::parse(&*bytes) else {
        return Vec::new();
    };
    let section = elf.section_by_name("dh_words");
    let data = section.and_then(|section| section.data().ok()).unwrap_or_default();
    let words: BTreeSet<&[u8]> = data.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    words.into_iter().take(MOST_WORDS).map(<[u8]>::to_vec).collect()
}
