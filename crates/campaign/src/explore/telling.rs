//! What an exploration came to, in words.

use super::Explorer;
use crate::input::Input;
use deadheat_explore::search::{BARREN, Tally};

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
        count(losses.wrong, "expressions did not have the value that they claimed");
        count(asked.wrong_models, "models of the solver did not hold");
        count(self.failures, "inputs could not be run");
        told
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
