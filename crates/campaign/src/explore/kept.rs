//! An exploration as it is kept, so that the next one goes on where it stopped: what the search knows, and the inputs
//! whose branches were not all turned. Their paths are traced again; nothing else is run twice.

use super::input_files::{Hashes, hashes};
use super::{Exploration, Explorer, Order, Prune};
use crate::explored_input::with_variables;
use crate::store::{Store, StoreError};
use deadheat_confirm::{Chosen, Program, RunError};
use deadheat_explore::search::State;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Inputs that are traced again; what those beyond had left is not asked for.
const MOST: usize = 4_000;

/// Inputs whose traces are in memory at the same time.
pub(super) const AT_ONCE: usize = 16;

/// What is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptExploration {
    terms: Terms,
    search: State,
    /// Bytes by which texts and files might grow by then.
    room: u32,
    /// The given one first.
    inputs: Vec<Recipe>,
    /// Of these, by place: those whose branches were not all turned, ascending.
    open: Vec<u32>,
    /// Those that brought suspicions.
    hunted: Vec<u32>,
    /// Those that are to be looked at again: for their bad ends, or since detection did not come to them.
    looked_at: Vec<u32>,
    suspected: Vec<String>,
    /// Files that were input, as they were.
    files: Hashes,
    /// Branch sides, in the order of the flavour's rows.
    seen: Vec<[bool; 2]>,
}

/// What must be the same for an exploration to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Terms {
    /// Path of the flavour, which holds the hashes of the program and of what instrumented it.
    flavour: Vec<u8>,
    depth_first: bool,
    per_side: u32,
    per_path: u32,
    room: u32,
    conflicts: u64,
    prune: Prune,
    /// Whether the given input is as it was.
    given: Recipe,
}

/// What is different about an input of one program in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recipe {
    args: Vec<Vec<u8>>,
    stdin: Vec<u8>,
    chosen: Chosen,
}

impl Recipe {
    fn of(program: &Program) -> Recipe {
        Recipe {
            args: program.args.iter().map(|a| a.as_bytes().to_vec()).collect(),
            stdin: program.stdin.clone(),
            chosen: program.chosen.clone(),
        }
    }

    fn program(&self, given: &Program) -> Program {
        let program = Program {
            args: self.args.iter().map(|a| OsString::from_vec(a.clone())).collect(),
            stdin: self.stdin.clone(),
            ..given.clone()
        };
        with_variables(program, self.chosen.clone())
    }
}

impl Terms {
    fn of(how: &Exploration, given: &Program) -> Terms {
        Terms {
            flavour: how
                .flavour
                .parent()
                .and_then(|d| d.file_name())
                .map_or(Vec::new(), |n: &OsStr| n.as_bytes().to_vec()),
            depth_first: how.order == Order::DepthFirst,
            per_side: how.bounds.per_side,
            per_path: how.bounds.per_path,
            room: how.room,
            conflicts: how.conflicts,
            prune: how.prune,
            given: Recipe::of(given),
        }
    }
}

impl Explorer<'_> {
    /// The exploration of this program and input that the store has, if it went by the same terms.
    pub(super) fn kept(&self, store: &Store, given: &Program) -> Result<Option<KeptExploration>, StoreError> {
        let Ok(input) = self.options.input(given) else {
            return Ok(None);
        };
        let kept = store.exploration(input.program, input.hash())?;
        let is_same = |files: &Hashes| *files == hashes(files.iter().map(|f| &f.0), &given.directory);
        Ok(kept.filter(|kept| kept.terms == Terms::of(self.how, given) && is_same(&kept.files)))
    }

    /// Takes over what an earlier exploration came to.
    pub(super) fn resume(&mut self, kept: KeptExploration, given: &Program) -> Result<(), RunError> {
        self.before = kept.search.runs();
        self.room = kept.room;
        self.search.resume(kept.search);
        self.suspected.extend(kept.suspected);
        for (branch, seen) in self.coverage.branches.iter_mut().zip(&kept.seen) {
            branch.seen = *seen;
        }
        self.progress.phase("going on: tracing earlier inputs", self.runs);
        let is_open = |n: usize| n == 0 || kept.open.binary_search(&(n as u32)).is_ok();
        let left_out = (MOST + 1..kept.inputs.len()).filter(|n| is_open(*n)).count();
        for (n, recipes) in kept.inputs.chunks(AT_ONCE).enumerate() {
            let from = n * AT_ONCE;
            let earlier = recipes.iter().zip(from..);
            let earlier = earlier.map(|(recipe, n)| (recipe.program(given), is_open(n) && n <= MOST));
            self.again(earlier.collect())?;
            if n == 0 {
                // What its run has to do with networks and other processes says how all further ones are made.
                self.look_at(&[0]);
            }
        }
        self.hunted.extend(kept.hunted.iter().map(|n| *n as usize));
        let looked_at: Vec<usize> = kept.looked_at.iter().map(|n| *n as usize).collect();
        let (_, errors) = self.look_at(&looked_at);
        self.failures += errors.len() as u64;
        self.notices.push(format!(
            "went on from an earlier exploration of {} inputs (--anew begins anew)",
            self.before
        ));
        if left_out > 0 {
            self.notices.push(format!(
                "what {left_out} earlier inputs had left to turn was not taken over"
            ));
        }
        Ok(())
    }

    /// Keeps the exploration, unless there is too much of it.
    pub(super) fn keep_exploration(&self, store: &Store, given: &Program) -> Result<bool, StoreError> {
        let Ok(input) = self.options.input(given) else {
            return Ok(false);
        };
        let Some(search) = self.search.state(&self.given_up) else {
            return Ok(false);
        };
        let parents = self.search.parents(&self.given_up);
        let bad = self.bad.iter().map(|(number, ..)| *number);
        let looked_at: Vec<usize> = bad.chain(self.undetected.iter().copied()).collect();
        let mut numbers: Vec<usize> = parents.iter().map(|p| *p as usize).collect();
        numbers.extend(self.hunted.iter().chain(&looked_at));
        numbers.push(0);
        numbers.sort_unstable();
        numbers.dedup();
        let places = |of: &[usize]| -> Vec<u32> {
            let place = |n: &usize| numbers.binary_search(n).ok().map(|p| p as u32);
            of.iter().filter_map(place).collect()
        };
        let open: Vec<usize> = parents.iter().map(|p| *p as usize).collect();
        let kept = KeptExploration {
            terms: Terms::of(self.how, given),
            search,
            room: self.room,
            inputs: numbers.iter().map(|n| Recipe::of(&self.inputs[*n].program)).collect(),
            open: places(&open),
            hunted: places(&self.hunted),
            looked_at: places(&looked_at),
            suspected: self.suspected.iter().cloned().collect(),
            files: hashes(self.files_read().into_iter(), &given.directory),
            seen: self.coverage.branches.iter().map(|b| b.seen).collect(),
        };
        store.save_exploration(input.program, input.hash(), &kept)?;
        Ok(true)
    }
}
