//! The paper's figures 1 and 2 (Sen, PLDI 2008, section 3) over 100 seeds: which pairs phase 1 predicts,
//! how often each is created, how often ERROR is reached, and whether each run repeats by its seed.
//!
//! Called by `cargo xtask figures` with the programs built from `cases/c/paper`. Exit status 1 if a number
//! is not what the paper says.

use deadheat_campaign::candidate::Candidate;
use deadheat_campaign::confirm::candidate::Rules;
use deadheat_campaign::confirm::replay::by_policy;
use deadheat_campaign::confirm::{Program, RunError, Stage, StageOptions};
use deadheat_campaign::phase_one::PhaseOne;
use deadheat_campaign::statement::Statement;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;

const SEEDS: u32 = 100;

/// What the paper says of a pair: program, statements, times created, times that output is seen.
const EXPECTED: [(&str, &str, RangeInclusive<u32>, RangeInclusive<u32>); 3] = [
    ("figure1", "(1,10)", 0..=0, 0..=SEEDS),
    ("figure1", "(5,7)", 99..=SEEDS, 0..=SEEDS),
    ("figure2", "(8,10)", SEEDS..=SEEDS, 35..=65),
];

/// What 100 seeds showed of a pair.
struct Row {
    program: String,
    pair: String,
    created: u32,
    error: u32,
    repeated: u32,
}

fn main() -> ExitCode {
    let mut rows = Vec::new();
    for program in std::env::args_os().skip(1) {
        match measure(&program) {
            Ok(more) => rows.extend(more),
            Err(error) => {
                eprintln!("{}: {error}", Path::new(&program).display());
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{:22} {:8} {:>9} {:>9} {:>9}",
        "program", "pair", "created", "ERROR", "repeated"
    );
    let mut sound = !rows.is_empty();
    for row in &rows {
        let told = if right(row) { "" } else { "  not as in the paper" };
        sound &= told.is_empty();
        let Row {
            program,
            pair,
            created,
            error,
            repeated,
        } = row;
        println!("{program:22} {pair:8} {created:>5}/{SEEDS} {error:>5}/{SEEDS} {repeated:>5}/{SEEDS}{told}");
    }
    sound &= complete(&rows);
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn right(row: &Row) -> bool {
    let expected = EXPECTED
        .iter()
        .find(|(p, pair, ..)| row.program.starts_with(p) && row.pair == *pair);
    let Some((_, _, created, error)) = expected else {
        return false;
    };
    created.contains(&row.created) && error.contains(&row.error) && row.repeated == SEEDS
}

/// Whether each program shows each of its pairs.
fn complete(rows: &[Row]) -> bool {
    let mut programs: Vec<&str> = rows.iter().map(|r| r.program.as_str()).collect();
    programs.dedup();
    programs.iter().all(|program| {
        let wanted = EXPECTED.iter().filter(|(p, ..)| program.starts_with(p));
        wanted.clone().all(|(_, pair, ..)| {
            let there = rows.iter().any(|r| r.program == *program && r.pair == *pair);
            if !there {
                println!("{program}: {pair} is not predicted");
            }
            there
        })
    })
}

fn measure(name: &std::ffi::OsStr) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let stage = Stage::new(Program::find(name, Vec::new())?, StageOptions::default())?;
    let rules = Rules::new(0);
    let mut phase = PhaseOne::default();
    while !phase.done(false) {
        phase.look(&stage, rules.seed, rules.switch, rules.plan.hang_yields)?;
    }
    let shown = Path::new(name)
        .file_name()
        .unwrap_or(name)
        .to_string_lossy()
        .into_owned();
    let candidates = std::mem::take(&mut phase.candidates).in_order();
    let row = |c: &Candidate| try_seeds(&stage, &rules, c, &shown);
    let mut rows = candidates.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    rows.sort_by(|a, b| a.pair.cmp(&b.pair));
    Ok(rows)
}

fn try_seeds(stage: &Stage, rules: &Rules, candidate: &Candidate, program: &str) -> Result<Row, RunError> {
    let mut numbers = [&candidate.first, &candidate.second].map(number);
    numbers.sort_unstable();
    let pair = format!("({},{})", numbers[0], numbers[1]);
    let mut row = Row {
        program: program.into(),
        pair,
        created: 0,
        error: 0,
        repeated: 0,
    };
    for seed in 0..SEEDS {
        let plan = rules.directed(&candidate.targets, seed);
        let run = stage.run(&plan)?;
        row.created += u32::from(!run.records.meetings.is_empty());
        row.error += u32::from(run.stdout.text().contains("ERROR"));
        if let Some(hash) = run.records.schedule_hash() {
            row.repeated += u32::from(by_policy(stage, &plan, hash)?.same());
        }
    }
    Ok(row)
}

/// The paper's number of a statement, which the source has in a comment; else its line.
fn number(statement: &Statement) -> u32 {
    let path = Path::new(&statement.directory).join(&statement.file);
    let source = std::fs::read_to_string(path).unwrap_or_default();
    let line = source
        .lines()
        .nth((statement.line as usize).saturating_sub(1))
        .unwrap_or_default();
    let digits = line.split("statement ").nth(1).unwrap_or_default();
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(statement.line)
}
