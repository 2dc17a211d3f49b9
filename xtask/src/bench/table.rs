//! The table and how it stands against the targets.

use std::fmt::Write;
use std::process::Command;

use super::measure::Sample;
use super::starts::{Rate, Rates};
use super::{Measured, Mode, Role};

/// Sites off, of native CPU.
const OFF: f64 = 1.20;
/// Phase 2, of native CPU.
const PHASE_2: f64 = 1.35;
/// Run 1, of TSan's CPU, on each kernel.
const RUN_1: f64 = 0.7;
/// Run 1, of TSan's CPU, median of the kernels.
const RUN_1_MEDIAN: f64 = 0.35;
/// Runs 1 and 2 together, of TSan's CPU.
const BOTH: f64 = 1.3;
/// A lock that nobody wants, taken and given back in a plain run, of native CPU.
const LOCK: f64 = 1.5;
/// Runs of a small program in a second, on one core.
const RUNS: f64 = 800.0;
/// Processor time of a switch in user space, µs.
const SWITCH: f64 = 0.5;

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

impl Measured {
    fn median(&self, mode: Mode, of: impl Fn(&Sample) -> f64) -> f64 {
        median(self.samples[mode as usize].iter().map(of).collect())
    }

    /// Median over the rounds of what these modes took together, as a ratio to what another took in the same round:
    /// a busy host slows all runs of a round alike.
    fn ratio(&self, modes: &[Mode], to: Mode, of: impl Fn(&Sample) -> f64) -> f64 {
        let rounds = self.samples[to as usize].iter().enumerate();
        let ratios = rounds.map(|(round, base)| {
            let taken: f64 = modes.iter().map(|&mode| of(&self.samples[mode as usize][round])).sum();
            taken / of(base)
        });
        median(ratios.collect())
    }

    fn cpu(&self, modes: &[Mode], to: Mode) -> f64 {
        self.ratio(modes, to, |s| s.cpu)
    }

    fn memory(&self, mode: Mode) -> f64 {
        self.median(mode, |s| s.memory)
    }
}

/// Today, as the machine's clock has it.
pub fn date() -> String {
    said("date", &["+%F"]).unwrap_or_else(|| "undated".into())
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next()?.to_owned())
}

/// The record: three tables, the targets and the runs a second, in markdown.
pub fn text(results: &[Measured], starts: Option<&Rates>, runs: usize) -> String {
    let mut text = String::new();
    let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let compiler = said("clang-22", &["--version"]).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let _ = writeln!(text, "# Benchmarks, {}\n", date());
    let _ = writeln!(
        text,
        "Commit {commit}, {compiler}, {cores} cores, -O2, medians of {runs} rounds; ratios are of runs of the same round.\n"
    );
    table(&mut text, "CPU time, ratio to native", results, |m, mode| match mode {
        Mode::Native => format!("{:.3} s", m.median(mode, |s| s.cpu)),
        _ => format!("{:.2}", m.cpu(&[mode], Mode::Native)),
    });
    table(&mut text, "Wall time, ratio to native", results, |m, mode| match mode {
        Mode::Native => format!("{:.3} s", m.median(mode, |s| s.wall)),
        _ => format!("{:.2}", m.ratio(&[mode], Mode::Native, |s| s.wall)),
    });
    table(&mut text, "Peak memory, MB", results, |m, mode| {
        format!("{:.1}", m.memory(mode))
    });
    targets(&mut text, results);
    if let Some(rates) = starts {
        throughput(&mut text, rates);
    }
    text
}

fn throughput(text: &mut String, rates: &Rates) {
    let middle = |rounds: &Vec<Rate>, which: usize| median(rounds.iter().map(|rate| rate[which]).collect());
    let cells = rates
        .runs
        .each_ref()
        .map(|rounds| format!("{:.0} ({:.0})", middle(rounds, 0), middle(rounds, 1)));
    let under = if middle(&rates.runs[3], 0) >= RUNS {
        ""
    } else {
        " **under**"
    };
    let _ = writeln!(
        text,
        "\n## Runs of a small program in a second, on one core\n\nIn brackets: in a second of processor time.\n\n| native, by itself \
         | started one by one | forked by a server | and switching in user space | at least |\n|---|---|---|---|---|\n\
         | {}{under} | {RUNS:.0} |",
        cells.join(" | ")
    );
    let [kernel, user] = rates.switches.each_ref().map(|rounds| middle(rounds, 2));
    let over = if user <= SWITCH { "" } else { " **over**" };
    let _ = writeln!(
        text,
        "\n## Processor time of a switch, µs, the scheduler's part and the program's included\n\n| by the kernel | in user space \
         | at most |\n|---|---|---|\n| {kernel:.2} | {user:.2}{over} | {SWITCH} |"
    );
}

fn table(text: &mut String, title: &str, results: &[Measured], cell: impl Fn(&Measured, Mode) -> String) {
    let _ = writeln!(
        text,
        "## {title}\n\n| kernel | {} |",
        Mode::ALL.map(Mode::name).join(" | ")
    );
    let _ = writeln!(text, "|---|{}", "---|".repeat(Mode::ALL.len()));
    for measured in results {
        let cells = Mode::ALL.map(|mode| cell(measured, mode)).join(" | ");
        let _ = writeln!(text, "| {} | {cells} |", measured.kernel);
    }
    text.push('\n');
}

fn targets(text: &mut String, results: &[Measured]) {
    let _ = writeln!(
        text,
        "## Targets\n\n| kernel | sites off / native | phase 2 / native | run 1 / TSan | runs 1 + 2 / TSan | memory / TSan's | granules |"
    );
    let _ = writeln!(text, "|---|---|---|---|---|---|---|");
    let of_checks = || results.iter().filter(|m| m.role != Role::Lock);
    for m in of_checks() {
        let most = |ratio: f64, limit: f64| format!("{ratio:.2}{}", if ratio <= limit { "" } else { " **over**" });
        let of_native = |mode, limit| match m.role {
            Role::Compute => most(m.cpu(&[mode], Mode::Native), limit),
            _ => format!("({:.2})", m.cpu(&[mode], Mode::Native)),
        };
        let memory = m.memory(Mode::Run1).max(m.memory(Mode::Run2)) / m.memory(Mode::Tsan);
        let cells = [
            of_native(Mode::Off, OFF),
            of_native(Mode::Phase2, PHASE_2),
            most(m.cpu(&[Mode::Run1], Mode::Tsan), RUN_1),
            most(m.cpu(&[Mode::Run1, Mode::Run2], Mode::Tsan), BOTH),
            most(memory, 1.0),
            m.granules.to_string(),
        ];
        let _ = writeln!(text, "| {} | {} |", m.kernel, cells.join(" | "));
    }
    let middle = median(of_checks().map(|m| m.cpu(&[Mode::Run1], Mode::Tsan)).collect());
    let _ = writeln!(
        text,
        "| at most | {OFF:.2} | {PHASE_2:.2} | {RUN_1:.2} | {BOTH:.2} | 1.00 | |"
    );
    let over = if middle <= RUN_1_MEDIAN { "" } else { " **over**" };
    let _ = writeln!(
        text,
        "\nMedian of run 1 / TSan: {middle:.2}{over} (at most {RUN_1_MEDIAN:.2})."
    );
    for m in results.iter().filter(|m| m.role == Role::Lock) {
        let ratio = m.cpu(&[Mode::Off], Mode::Native);
        let over = if ratio <= LOCK { "" } else { " **over**" };
        let _ = writeln!(
            text,
            "\nA lock that nobody else wants, taken and given back in a plain run, of native: {ratio:.2}{over} (at most \
             {LOCK:.2})."
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_medians_against_the_targets() {
        let sample = |cpu| Sample {
            cpu,
            wall: cpu,
            memory: 10.0 * cpu,
        };
        let of = |cpu: f64| vec![sample(cpu), sample(9.0 * cpu), sample(cpu / 2.0)];
        let samples = [1.0, 4.0, 1.1, 1.5, 2.0, 1.0].map(of);
        let measured = Measured {
            kernel: "matmul",
            role: Role::Compute,
            samples,
            granules: 3,
        };
        let rates = Rates {
            runs: [1200.0, 200.0, 900.0, 799.0].map(|rate| vec![[rate, 2.0 * rate, 0.0]]),
            switches: [2.0, 0.6].map(|each| vec![[100.0, 100.0, each]]),
        };
        let text = text(&[measured], Some(&rates), 3);
        assert!(
            text.contains("| matmul | 1.000 s | 4.00 | 1.10 | 1.50 | 2.00 | 1.00 |"),
            "{text}"
        );
        assert!(
            text.contains("| matmul | 1.10 | 1.50 **over** | 0.50 | 0.75 | 0.50 | 3 |"),
            "{text}"
        );
        assert!(
            text.contains("| 1200 (2400) | 200 (400) | 900 (1800) | 799 (1598) **under** | 800 |"),
            "{text}"
        );
        assert!(text.contains("| 2.00 | 0.60 **over** | 0.5 |"), "{text}");
        assert!(text.contains("Median of run 1 / TSan: 0.50 **over**"), "{text}");
    }
}
