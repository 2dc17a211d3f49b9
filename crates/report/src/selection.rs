//! What `select` tells: concurrent function pairs over many inputs, and which inputs and functions cover them.

use crate::finding::Program;
use crate::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt::Write;

/// Version of the JSON format.
pub const VERSION: u32 = 1;

/// A selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectionReport {
    /// Version of this format.
    pub version: u32,
    /// The program, with the arguments that all inputs share.
    pub program: Program,
    /// Functions that ran under some input and have statements to watch.
    pub functions: Vec<FunctionName>,
    /// Functions that need not be measured.
    #[serde(default)]
    pub unmeasured: NotMeasured,
    /// All concurrent pairs, by places in `functions`, ascending.
    pub pairs: Vec<(u32, u32)>,
    /// The inputs, in the order of the list.
    pub inputs: Vec<SelectedInput>,
    /// How many different pairs the first 1, 2, … inputs of the list have together.
    pub growth: Vec<u64>,
    /// Runs made now; what the store knew is not measured again.
    pub runs: u64,
    /// Seconds.
    pub seconds: f64,
    /// The difference to an earlier selection, if one was given.
    pub against: Option<Difference>,
    /// What limits the result.
    pub notices: Vec<String>,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FunctionName {
    /// Its name, demangled.
    pub name: String,
    /// Source file as the compiler was given it; empty if unknown.
    pub file: String,
    /// Line, from 1; 0 unknown.
    pub line: u32,
}

/// Functions of the program's file that need not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// Of so many that could be.
    pub of: u32,
    /// Whether loops are taken to go round at least once: where one does not, pairs of those that inherit may be claimed
    /// that are not concurrent.
    pub loop_assumption: bool,
    /// Which.
    pub functions: Vec<Unmeasured>,
}

/// A function that need not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmeasured {
    /// It.
    pub function: FunctionName,
    /// `own-stack`: it touches its own stack only; `one-thread`: it runs before the first thread or after the last join; `inherits`: it has
    /// the pairs of its callers.
    pub reason: String,
    /// Whose pairs it has.
    pub from: Vec<FunctionName>,
}

/// An input of a selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedInput {
    /// Its name in the store, for `--input`.
    pub id: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Seconds of the measuring run.
    pub seconds: f64,
    /// Functions that ran.
    pub functions: u32,
    /// Concurrent pairs.
    pub pairs: u64,
    /// Of these, those that no input before it in the list has.
    pub new: u64,
    /// Pairs that no other input has.
    pub alone: u64,
    /// Its place among the chosen inputs, from 1; none if it is not chosen.
    pub chosen: Option<u32>,
    /// Pairs that it was chosen for.
    pub covers: u64,
    /// Statements that ran beside other threads, those that ran in two threads once more, and pairs of inlined functions.
    #[serde(default)]
    pub statements: u64,
    /// Of these, those that it was chosen for.
    #[serde(default)]
    pub covers_statements: u64,
    /// Functions that detection looks into, by places in `functions`.
    pub watched: Vec<u32>,
    /// Whether it could be measured.
    pub measured: bool,
    /// Whether the measurement was in the store.
    pub known: bool,
    /// Functions that its run did not measure.
    #[serde(default)]
    pub left_out: u32,
    /// What limits it.
    pub notices: Vec<String>,
}

/// The difference to an earlier selection; functions are the same if name and file are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Pairs that were not there.
    pub new: Vec<(FunctionName, FunctionName)>,
    /// Pairs that are no more.
    pub gone: Vec<(FunctionName, FunctionName)>,
}

impl SelectionReport {
    /// Reads one.
    pub fn from_json(text: &str) -> Result<SelectionReport, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    /// As JSON text.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The schema of [`SelectionReport::json`], as it stands in `docs/schema/selection-1.json`.
    pub fn schema() -> String {
        let schema = schemars::schema_for!(SelectionReport);
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }

    /// Names in pairs that last from version to version.
    fn names(&self) -> HashSet<(FunctionName, FunctionName)> {
        let name = |n: u32| {
            let function = self.functions.get(n as usize).cloned().unwrap_or_default();
            FunctionName { line: 0, ..function }
        };
        let pair = |(a, b): &(u32, u32)| {
            let (a, b) = (name(*a), name(*b));
            if (&a.name, &a.file) <= (&b.name, &b.file) {
                (a, b)
            } else {
                (b, a)
            }
        };
        self.pairs.iter().map(pair).collect()
    }

    /// Notes what is new and what is gone since an earlier selection.
    pub fn compare(&mut self, earlier: &SelectionReport) {
        let (now, then) = (self.names(), earlier.names());
        let sorted = |a: &HashSet<_>, b: &HashSet<_>| {
            let mut rest: Vec<(FunctionName, FunctionName)> = a.difference(b).cloned().collect();
            rest.sort_by(|x, y| {
                (&x.0.name, &x.1.name, &x.0.file, &x.1.file).cmp(&(&y.0.name, &y.1.name, &y.0.file, &y.1.file))
            });
            rest
        };
        self.against = Some(Difference {
            new: sorted(&now, &then),
            gone: sorted(&then, &now),
        });
    }

    /// How much there is, and how much of it detection looks into.
    pub fn summary(&self) -> String {
        let chosen = self.inputs.iter().filter(|i| i.chosen.is_some());
        let (ran, watched) = self.functions_in_all();
        format!(
            "{} concurrent function pairs of {} functions over {} inputs {}\n\
             detection: {} of {} inputs, {watched} of {ran} functions in all inputs together{}\n{}",
            self.pairs.len(),
            self.functions.len(),
            self.inputs.len(),
            sparkline(&self.growth),
            chosen.count(),
            self.inputs.len(),
            match ran {
                0 => String::new(),
                _ => format!(" ({} % left out)", (ran - watched) * 100 / ran),
            },
            self.unmeasured.text()
        )
    }

    /// As a page.
    pub fn html(&self) -> String {
        crate::selection_page::text(self)
    }

    /// For a person.
    pub fn text(&self, all: bool) -> String {
        let mut text = self.summary() + "\n";
        for one in self.unmeasured.functions.iter().filter(|_| all) {
            let _ = writeln!(text, "      {}", one.told());
        }
        let _ = writeln!(text, "  input      pairs    new  alone  seconds  detection in");
        for input in &self.inputs {
            let detection = input.detection();
            let _ = writeln!(
                text,
                "  {} {:>6} {:>6} {:>6} {:>8.3}  {detection}  {}",
                input.id,
                input.pairs,
                input.new,
                input.alone,
                input.seconds,
                input.args.join(" ")
            );
            if let Some(place) = input.chosen.filter(|_| all) {
                let names = input.watched.iter().filter_map(|f| self.functions.get(*f as usize));
                let names: Vec<&str> = names.map(|f| f.name.as_str()).collect();
                let _ = writeln!(text, "      {place}. {}", names.join(", "));
            }
            for notice in &input.notices {
                let _ = writeln!(text, "      note: {notice}");
            }
        }
        if all {
            let _ = writeln!(text, "\npairs:");
            for (a, b) in &self.pairs {
                let name = |n: &u32| self.functions.get(*n as usize).map_or("?", |f| &f.name);
                let _ = writeln!(text, "  {} | {}", name(a), name(b));
            }
        }
        if let Some(difference) = &self.against {
            let _ = writeln!(
                text,
                "\nagainst the earlier selection: {} pairs new, {} gone",
                difference.new.len(),
                difference.gone.len()
            );
            for (sign, pairs) in [("+", &difference.new), ("-", &difference.gone)] {
                for (a, b) in pairs.iter().take(if all { usize::MAX } else { 20 }) {
                    let _ = writeln!(text, "  {sign} {} | {}", a.name, b.name);
                }
            }
        }
        for notice in &self.notices {
            let _ = writeln!(text, "note: {notice}");
        }
        let _ = writeln!(text, "\n{} runs, {:.1} s", self.runs, self.seconds);
        text
    }

    /// Functions that ran, and those that detection looks into, summed over the inputs.
    pub fn functions_in_all(&self) -> (u64, u64) {
        let ran = self.inputs.iter().map(|i| u64::from(i.functions)).sum();
        let watched = self.inputs.iter().map(|i| i.watched.len() as u64).sum();
        (ran, watched)
    }
}

impl SelectedInput {
    /// Where detection looks under it.
    pub fn detection(&self) -> String {
        match self.chosen {
            Some(place) if self.covers == 0 => format!(
                "{} of {} functions ({place}., for {})",
                self.watched.len(),
                self.functions,
                words::count(self.covers_statements, "part")
            ),
            Some(place) => format!("{} of {} functions ({place}.)", self.watched.len(), self.functions),
            None if !self.measured => "not measured".into(),
            None => "nothing: others cover it".into(),
        }
    }
}

impl NotMeasured {
    /// How many there are, and why; nothing if there is none.
    fn text(&self) -> String {
        let because = |reason: &str| self.functions.iter().filter(|f| f.reason == reason).count();
        if self.functions.is_empty() {
            return String::new();
        }
        format!(
            "{} of {} functions need no measuring: {} touch their own stack only, {} run while there is one thread, {} have the pairs of their callers{}\n",
            self.functions.len(),
            self.of,
            because("own-stack"),
            because("one-thread"),
            because("inherits"),
            match self.loop_assumption {
                true => " (taking it that loops go round at least once; --no-loop-assumption)",
                false => "",
            }
        )
    }
}

impl Unmeasured {
    /// It and why.
    pub fn told(&self) -> String {
        let from: Vec<&str> = self.from.iter().map(|f| f.name.as_str()).collect();
        match self.reason.as_str() {
            "own-stack" => format!("{}: its own stack only", self.function.name),
            "one-thread" => format!("{}: while there is one thread", self.function.name),
            _ => format!("{}: as {}", self.function.name, from.join(", ")),
        }
    }
}

/// A curve in one line of at most 40 characters.
fn sparkline(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const WIDTH: usize = 40;
    let top = values.iter().copied().max().unwrap_or(0).max(1);
    let step = values.len().div_ceil(WIDTH).max(1);
    let bar = |part: &[u64]| BARS[(part.last().copied().unwrap_or(0) * 7 / top) as usize];
    values.chunks(step).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str], pairs: &[(u32, u32)]) -> SelectionReport {
        let function = |name: &&str| FunctionName {
            name: (*name).into(),
            ..FunctionName::default()
        };
        SelectionReport {
            functions: names.iter().map(function).collect(),
            pairs: pairs.to_vec(),
            ..SelectionReport::default()
        }
    }

    #[test]
    fn a_difference_goes_by_names() {
        let mut now = named(&["b", "a", "c"], &[(0, 1), (1, 2)]);
        now.compare(&named(&["a", "b", "d"], &[(0, 1), (1, 2)]));
        let difference = now.against.unwrap();
        let names = |pairs: &[(FunctionName, FunctionName)]| -> Vec<(String, String)> {
            pairs.iter().map(|(a, b)| (a.name.clone(), b.name.clone())).collect()
        };
        assert_eq!(names(&difference.new), [("a".into(), "c".into())]);
        assert_eq!(names(&difference.gone), [("b".into(), "d".into())]);
    }

    #[test]
    fn a_curve_grows_to_its_top() {
        assert_eq!(sparkline(&[0, 4, 8]), "▁▄█");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn json_is_read_back() {
        let report = named(&["a"], &[(0, 0)]);
        assert_eq!(SelectionReport::from_json(&report.json()), Ok(report));
    }
}
