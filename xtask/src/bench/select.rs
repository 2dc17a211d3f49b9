//! `cargo xtask bench select`: what detection over a test suite costs and finds where `select` says, against detection
//! under every input and in all functions.
//!
//! Of each program: its inputs run plainly, measured, detected in as `select` says, and detected in fully, in turn, round
//! after round; processor time of the whole commands, medians, and the time of phase 1 alone as the reports have it.

mod subjects;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::measure;
use super::table::median;
use crate::Outcome;
use crate::layout::{self, part};
use crate::real::sources;
use crate::real::steps::{self, Bench};
use subjects::Subject;

/// First argument.
pub const NAME: &str = "select";
const USAGE: &str = "usage: cargo xtask bench select [--runs N] [--programs A,B] [--keep]";

/// What a report says.
#[derive(Deserialize)]
struct Report {
    findings: Vec<Finding>,
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    detecting_seconds: f64,
}

#[derive(Deserialize)]
struct Finding {
    fingerprint: String,
    accesses: Vec<serde::de::IgnoredAny>,
    #[serde(default)]
    inputs: Vec<String>,
}

/// What a selection says.
#[derive(Deserialize)]
struct Selection {
    functions: Vec<serde::de::IgnoredAny>,
    pairs: Vec<serde::de::IgnoredAny>,
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    functions: u64,
    chosen: Option<u32>,
    watched: Vec<u32>,
}

/// Seconds, one of each round.
#[derive(Default)]
struct Times {
    plain: Vec<f64>,
    measuring: Vec<f64>,
    guided: Vec<f64>,
    full: Vec<f64>,
    /// Phase 1 alone.
    guided_phase: Vec<f64>,
    full_phase: Vec<f64>,
}

/// What detection predicts: each pair with the number of inputs under which it is reported.
type Predicted = BTreeMap<String, usize>;

struct Measured {
    name: &'static str,
    times: Times,
    selection: Selection,
    guided: Predicted,
    full: Predicted,
}

/// Parses the arguments and measures.
pub fn run(arguments: &[String]) -> Outcome {
    let (mut runs, mut chosen, mut keep) = (5, None, false);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--keep" => keep = true,
            "--runs" => {
                runs = arguments
                    .next()
                    .and_then(|n| n.parse().ok())
                    .filter(|n| *n > 0)
                    .ok_or(USAGE)?
            }
            "--programs" => chosen = Some(arguments.next().ok_or(USAGE)?.split(',').collect::<Vec<_>>()),
            _ => return Err(USAGE.into()),
        }
    }
    let place = layout::target().join("bench/select");
    fs::create_dir_all(&place)?;
    let input = place.join("input.bin");
    fs::write(&input, steps::input(1_000_000))?;
    let mut results = Vec::new();
    for subject in subjects::all() {
        let name = subject.program.name;
        if chosen.as_ref().is_none_or(|list| list.contains(&name)) {
            let lacking = sources::lacking(subject.program.needs);
            if lacking.is_empty() {
                results.push(measure_subject(&subject, &place.join(name), &input, runs, keep)?);
            } else {
                eprintln!("{name} is left out; as root: apt-get install {}", lacking.join(" "));
            }
        }
    }
    println!("{}", text(&results));
    Ok(())
}

fn measure_subject(
    subject: &Subject,
    directory: &Path,
    input: &Path,
    runs: usize,
    keep: bool,
) -> Result<Measured, Box<dyn Error>> {
    let (program, tool) = (subject.program, layout::dist().join(part::TOOL));
    eprintln!("{}: built", program.name);
    fs::create_dir_all(directory)?;
    let bench = Bench {
        program,
        tool: &tool,
        input,
        directory,
        budget: "",
        keep,
    };
    let source = if program.package.is_empty() {
        let empty = directory.join("source");
        fs::create_dir_all(&empty)?;
        empty
    } else {
        sources::unpacked(program.package, directory)?
    };
    steps::run(&source, &bench.environment(), program.prepare, "prepare")?;
    bench.build(&source)?;
    let file = directory.join("built").join(program.file);
    let work = directory.join("work");
    for tree in [&work, &directory.join("plain")] {
        let _ = fs::remove_dir_all(tree);
        fs::create_dir_all(tree)?;
        let mut environment = bench.environment();
        environment.extend([("INPUT", input.to_owned()), ("PROGRAM", file.clone())]);
        steps::run(tree, &environment, subject.setup, "setup")?;
    }
    let list = directory.join("inputs.txt");
    fs::write(&list, subject.inputs.join("\n") + "\n")?;
    let mut measured = Measured {
        name: program.name,
        times: Times::default(),
        selection: Selection {
            functions: vec![],
            pairs: vec![],
            inputs: vec![],
        },
        guided: Predicted::new(),
        full: Predicted::new(),
    };
    for round in 0..=runs {
        eprintln!("{}: round {round} of {runs}", program.name);
        let round_of = Round {
            tool: &tool,
            file: &file,
            list: &list,
            directory,
        };
        let times = round_of.all(subject, &mut measured)?;
        if round > 0 {
            let all = &mut measured.times;
            let columns = [
                &mut all.plain,
                &mut all.measuring,
                &mut all.guided,
                &mut all.full,
                &mut all.guided_phase,
                &mut all.full_phase,
            ];
            columns
                .into_iter()
                .zip(times)
                .for_each(|(column, time)| column.push(time));
        }
    }
    Ok(measured)
}

/// One round of a program.
struct Round<'a> {
    tool: &'a Path,
    file: &'a Path,
    list: &'a Path,
    directory: &'a Path,
}

impl Round<'_> {
    /// Seconds in the order of [`Times`]; what was found goes to `measured`.
    fn all(&self, subject: &Subject, measured: &mut Measured) -> Result<[f64; 6], Box<dyn Error>> {
        let output = self.directory.join("output");
        let lines = subject.inputs.iter().map(|i| format!("\"$0\" {i} > /dev/null\n"));
        let mut plain = Command::new("sh");
        plain.arg("-c").arg(lines.collect::<String>()).arg(self.file);
        let plain = measure::run(plain.current_dir(self.directory.join("plain")), &output)?.cpu;
        let stores = ["selected", "full"].map(|name| self.directory.join(name));
        for store in &stores {
            let _ = fs::remove_dir_all(store);
        }
        let (measuring, selection) = self.tool(&["select"], &stores[0], &output)?;
        let (guided, told) = self.tool(&["detect", "--fail-on", "harmful"], &stores[0], &output)?;
        measured.selection = serde_json::from_str(&selection)?;
        let report: Report = serde_json::from_str(&told)?;
        let guided_phase = report.stats.detecting_seconds;
        measured.guided = predicted(report);
        let (full, told) = self.tool(&["detect", "--fail-on", "harmful", "--no-select"], &stores[1], &output)?;
        let report: Report = serde_json::from_str(&told)?;
        let full_phase = report.stats.detecting_seconds;
        measured.full = predicted(report);
        Ok([plain, measuring, guided, full, guided_phase, full_phase])
    }

    /// Processor time of a command of the tool over all inputs, and what it reports.
    fn tool(&self, arguments: &[&str], store: &Path, output: &Path) -> Result<(f64, String), Box<dyn Error>> {
        let report = self.directory.join("report.json");
        let mut command = Command::new(self.tool);
        command
            .args(arguments)
            .args(["-q", "--format", "json", "-o"])
            .arg(&report);
        command.arg("--inputs").arg(self.list).arg("--store").arg(store);
        command
            .arg("--")
            .arg(self.file)
            .current_dir(self.directory.join("work"));
        let sample = measure::run(&command, output)?;
        Ok((sample.cpu, fs::read_to_string(report)?))
    }
}

fn predicted(report: Report) -> Predicted {
    let races = report.findings.into_iter().filter(|f| !f.accesses.is_empty());
    races.map(|f| (f.fingerprint, 1 + f.inputs.len())).collect()
}

/// The tables: what it costs, and what it finds.
fn text(results: &[Measured]) -> String {
    let mut text = "| program | inputs | plain s | measuring | full | selected | full / selected | with measuring | phase 1 | full / measuring |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut ratios: [Vec<f64>; 4] = Default::default();
    for m in results {
        let t = &m.times;
        let [plain, measuring, guided, full] = [&t.plain, &t.measuring, &t.guided, &t.full].map(|s| median(s.clone()));
        let phase = median(t.full_phase.clone()) / median(t.guided_phase.clone());
        let row = [measuring / plain, full / guided, full / (guided + measuring), phase];
        ratios.iter_mut().zip(row).for_each(|(all, ratio)| all.push(ratio));
        text += &format!(
            "| {} | {} | {plain:.2} | {:.2} | {full:.2} | {guided:.2} | {:.2} | {:.2} | {:.2} | {:.2} |\n",
            m.name,
            m.selection.inputs.len(),
            row[0],
            row[1],
            row[2],
            row[3],
            full / measuring,
        );
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let means = ratios.map(|r| mean(&r));
    text += &format!(
        "| average | | | {:.2} | | | {:.2} | {:.2} | {:.2} | |\n\n",
        means[0], means[1], means[2], means[3]
    );
    text += "| program | functions | pairs | inputs chosen | functions watched, of those that ran | candidates, full | selected | missed | \
             inputs for each, full | selected |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for m in results {
        let s = &m.selection;
        let chosen = s.inputs.iter().filter(|i| i.chosen.is_some()).count();
        let watched: usize = s.inputs.iter().map(|i| i.watched.len()).sum();
        let ran: u64 = s.inputs.iter().map(|i| i.functions).sum();
        let missed = m.full.keys().filter(|f| !m.guided.contains_key(*f)).count();
        let each = |p: &Predicted| p.values().sum::<usize>() as f64 / p.len().max(1) as f64;
        text += &format!(
            "| {} | {} | {} | {chosen} of {} | {watched} of {ran} | {} | {} | {missed} | {:.2} | {:.2} |\n",
            m.name,
            s.functions.len(),
            s.pairs.len(),
            s.inputs.len(),
            m.full.len(),
            m.guided.len(),
            each(&m.full),
            each(&m.guided),
        );
    }
    text
}
