//! What an exploration came to, in words.

use super::{Explorer, Prune};
use crate::input::Input;
use deadheat_explore::search::{BARREN, Tally};
use deadheat_report::finding;

impl Explorer<'_> {
    /// What the exploration came to, in words.
    pub(super) fn told(&self) -> Vec<String> {
        let Tally {
            runs,
            paths,
            diverged,
            cut,
            infeasible,
            losses,
            ..
        } = self.search.tally;
        let asked = self.search.prover.asked;
        let (covered, sides) = self.coverage.sides();
        let waiting = match (self.search.waiting(), self.search.only_repeats()) {
            (0, _) => "nothing waits".into(),
            (n, true) => {
                format!("{n} wait, which repeat what is known: the last {BARREN} of their kind brought nothing")
            }
            (n, false) => format!("{n} waiting"),
        };
        let mut told = vec![format!(
            "explored {runs} inputs on {paths} paths: {covered} of {} branch sides taken, {} of them decided by input; {infeasible} turns infeasible, {} undecided, {waiting}",
            sides,
            self.search.sides(),
            asked.unknown,
        )];
        if self.room > self.how.room {
            let (room, at_first) = (self.room, self.how.room);
            told.push(format!(
                "inputs may become {room} bytes longer by now ({at_first} at first): lengthening had paid"
            ));
        }
        if self.mutating.made > 0 {
            let (made, kept) = (self.mutating.made, self.mutating.kept);
            told.push(format!(
                "{made} inputs were made by changing others by chance; {kept} of them showed something new"
            ));
        }
        told.extend(self.pruning_told());
        let mut count = |n: u64, what: &str| {
            if n > 0 {
                told.push(format!("{n} {what}"));
            }
        };
        count(diverged, "runs left the path that they were made for");
        count(cut, "turns left out: their branch side or path had its share");
        count(losses.pinned, "symbolic addresses or lengths were fixed to their value");
        count(
            losses.concretised,
            "values became concrete in operations that are not modelled",
        );
        count(
            losses.stale,
            "expressions were dropped: code without instrumentation had changed the value",
        );
        count(
            losses.cut_nodes + losses.cut_constraints,
            "expressions and constraints did not fit the trace",
        );
        count(
            losses.files,
            "times a run read a file that is no input: it lies elsewhere, is too large, or runs share their files",
        );
        count(losses.wrong, "expressions did not have the value that they claimed");
        count(asked.wrong_models, "models of the solver did not hold");
        count(self.mutating.stopped, "inputs made by chance took too long");
        count(self.failures, "inputs could not be run");
        told
    }

    /// What was pruned, in words.
    fn pruning_told(&self) -> Option<String> {
        let pruned = self.search.pruned;
        let loss = match self.how.prune {
            Prune::Off => return None,
            Prune::Branch => "; races behind them may be missed (--prune race-safe)",
            Prune::RaceSafe => "",
        };
        let mut told = format!(
            "pruned: {} turns of {} paths were not asked for, since other paths stand for them; that took {} questions to the solver{loss}",
            pruned.turns,
            pruned.paths,
            self.spent_on_pruning(),
        );
        if pruned.taken_back > 0 {
            told += &format!("; {} paths that had been pruned were taken up again", pruned.taken_back);
        }
        if pruned.too_large > 0 {
            told += &format!("; {} runs accessed too much to take part", pruned.too_large);
        }
        Some(told)
    }

    fn spent_on_pruning(&self) -> u64 {
        self.search.pruned.implications + self.search.prover.asked.shrinking
    }

    /// The figures of the exploration for machines.
    pub(super) fn figures(&self) -> finding::Exploration {
        let (tally, asked, pruned) = (self.search.tally, self.search.prover.asked, self.search.pruned);
        finding::Exploration {
            inputs: tally.runs,
            paths: tally.paths,
            infeasible: tally.infeasible,
            undecided: asked.unknown,
            queries: asked.queries,
            conflicts: asked.conflicts,
            made_by_chance: self.mutating.made,
            pruning: finding::Pruning {
                mode: match self.how.prune {
                    Prune::Off => "off",
                    Prune::Branch => "branch",
                    Prune::RaceSafe => "race-safe",
                }
                .into(),
                turns: pruned.turns,
                paths: pruned.paths,
                taken_back: pruned.taken_back,
                too_large: pruned.too_large,
                queries: self.spent_on_pruning(),
            },
        }
    }
}

/// Names of inputs, cut.
pub(super) fn ids(inputs: &[Input]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = inputs.iter().take(MOST).map(Input::id).collect();
    if inputs.len() > MOST {
        names.push("…".into());
    }
    names.join(" ")
}
