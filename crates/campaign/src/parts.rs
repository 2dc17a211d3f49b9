//! What the chosen inputs must cover besides pairs of functions: statements, statements in two threads whose function is
//! concurrent with itself, and pairs of functions of the source that the compiler inlined into functions that run at the
//! same time.
//!
//! Optimised code has few functions left: one that many were inlined into is concurrent with itself under every input
//! with two threads, whatever they do in it. So two functions of the source, one of them inlined, count as a pair where
//! statements of theirs were seen in two threads, in functions that are concurrent. Locks and order within those functions
//! are not looked at: such pairs are rather too many, which may cost a run and loses nothing.

use crate::site_index::SiteIndex;
use deadheat_model::SiteId;
use deadheat_pairs::PairSet;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, HashMap};

/// Most pairs of inlined functions of an input.
const MOST: usize = 1 << 18;

/// What is covered, alike for all inputs.
#[derive(PartialEq, Eq, Hash)]
enum Part {
    /// A statement, by its module and site.
    Statement(String, u32),
    /// A statement in two threads, by its number.
    Twice(u32),
    /// Two functions of the source.
    Pair(u32, u32),
}

/// The parts of all inputs, by their numbers.
#[derive(Default)]
pub struct Parts {
    numbers: FxHashMap<Part, u32>,
    /// Functions of the source, by file and name.
    sources: HashMap<(String, String), u32>,
    /// Statements, by module and site.
    statements: HashMap<(String, u32), Statement>,
}

/// A statement.
#[derive(Clone, Copy)]
struct Statement {
    part: u32,
    /// Its function in the source, and whether that was inlined; none without debug information.
    source: Option<(u32, bool)>,
}

/// A statement that ran under an input.
#[derive(Clone, Copy)]
pub struct Ran {
    statement: Statement,
    /// The function whose code it is in, as inputs number it.
    function: u32,
    /// See `Reached`.
    threads: u64,
}

impl Parts {
    fn number(&mut self, part: Part) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(part).or_insert(next)
    }

    /// A statement of a module that ran in a function, in these threads.
    pub fn ran(&mut self, module: &str, site: SiteId, function: u32, threads: u64, index: &SiteIndex) -> Ran {
        let key = (module.to_owned(), site.index);
        let statement = match self.statements.get(&key) {
            Some(known) => *known,
            None => {
                let location = index.site(site).and_then(|s| s.location);
                let source = location.map(|l| {
                    let next = self.sources.len() as u32;
                    let number = *self.sources.entry((l.file, l.function)).or_insert(next);
                    (number, l.inlined_at.is_some())
                });
                let part = self.number(Part::Statement(module.into(), site.index));
                *self.statements.entry(key).or_insert(Statement { part, source })
            }
        };
        Ran {
            statement,
            function,
            threads,
        }
    }

    /// The parts of an input under which these statements ran and these functions are concurrent, each with its function;
    /// and how many pairs were left out.
    pub fn of_input(&mut self, ran: &[Ran], concurrent: &PairSet) -> (Vec<(u32, u32)>, usize) {
        let mut parts: Vec<(u32, u32)> = ran.iter().map(|r| (r.statement.part, r.function)).collect();
        for r in ran {
            if r.threads.count_ones() > 1 && concurrent.contains(r.function, r.function) {
                parts.push((self.number(Part::Twice(r.statement.part)), r.function));
            }
        }
        // Of each function those of the source in it: whether inlined, and the threads.
        let mut within: BTreeMap<u32, BTreeMap<u32, (bool, u64)>> = BTreeMap::new();
        for r in ran {
            if let Some((source, inlined)) = r.statement.source {
                let known = within.entry(r.function).or_default().entry(source).or_default();
                *known = (known.0 || inlined, known.1 | r.threads);
            }
        }
        let (mut pairs, mut cut) = (0, 0);
        for (a, b) in concurrent.iter() {
            let (Some(first), Some(second)) = (within.get(&a), within.get(&b)) else {
                continue;
            };
            if ![first, second]
                .iter()
                .any(|all| all.values().any(|(inlined, _)| *inlined))
            {
                continue;
            }
            if pairs + first.len() * second.len() > MOST {
                cut += first.len() * second.len();
                continue;
            }
            for (f, (f_inlined, f_threads)) in first {
                for (g, (g_inlined, g_threads)) in second {
                    // Of one thread alone, both.
                    if (*f_inlined || *g_inlined) && (f_threads | g_threads).count_ones() > 1 {
                        parts.push((self.number(Part::Pair(*f.min(g), *f.max(g))), a));
                        pairs += 1;
                    }
                }
            }
        }
        parts.sort_unstable();
        parts.dedup();
        (parts, cut)
    }
}
