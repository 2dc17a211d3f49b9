//! `cargo xtask bench`: what deadheat costs on the kernels in `benches/`, beside native and ThreadSanitizer.
//!
//! All modes of a kernel run in turn, round after round, so that a machine that grows slower meanwhile slows
//! all of them; ratios are of runs of the same round, and medians of those. The first round warms up and is
//! not counted. `cargo xtask bench select` compares detection over many inputs with and without a selection.

mod kernel;
mod measure;
mod select;
mod starts;
mod table;

use std::fs;
use std::path::Path;

use crate::{Outcome, layout};
use kernel::Kernel;
use measure::Sample;

/// What a kernel is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One of the four compute kernels.
    Compute,
    /// Phase 1 against TSan only.
    Checks,
    /// The cost of a lock, run plainly.
    Lock,
}

/// Kernels and their roles.
const KERNELS: [(&str, Role); 7] = [
    ("matmul", Role::Compute),
    ("sor", Role::Compute),
    ("hash", Role::Compute),
    ("queue", Role::Compute),
    ("tree", Role::Checks),
    ("bytes", Role::Checks),
    ("lock", Role::Lock),
];

/// How a kernel is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Built by clang.
    Native,
    /// Built by clang with ThreadSanitizer.
    Tsan,
    /// Built by deadheat, run by itself.
    Off,
    /// The pair and all atomics on.
    Phase2,
    /// All accesses checked.
    Run1,
    /// Statements at flagged granules.
    Run2,
}

impl Mode {
    /// All modes, in the order of the table. Run 2 needs what run 1 of the same round found.
    pub const ALL: [Mode; 6] = [
        Mode::Native,
        Mode::Tsan,
        Mode::Off,
        Mode::Phase2,
        Mode::Run1,
        Mode::Run2,
    ];

    /// Name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Native => "native",
            Mode::Tsan => "TSan",
            Mode::Off => "sites off",
            Mode::Phase2 => "phase 2",
            Mode::Run1 => "run 1",
            Mode::Run2 => "run 2",
        }
    }
}

/// What was measured of one kernel.
pub struct Measured {
    /// Name.
    pub kernel: &'static str,
    /// What it is measured for.
    pub role: Role,
    /// Samples of each mode, in the order of [`Mode::ALL`].
    pub samples: [Vec<Sample>; 6],
    /// Granules that run 1 flagged.
    pub granules: usize,
}

/// Parses the arguments and measures.
pub fn run(arguments: &[String]) -> Outcome {
    if let [flag, output, program, arguments @ ..] = arguments
        && flag == measure::FLAG
    {
        return measure::child(Path::new(output), Path::new(program), arguments);
    }
    if let [name, arguments @ ..] = arguments
        && name == select::NAME
    {
        return select::run(arguments);
    }
    if let [flag, program] = arguments
        && flag == starts::FLAG
    {
        return starts::child(Path::new(program));
    }
    let usage = "usage: cargo xtask bench [--runs N] [--kernels A,B]";
    let (mut runs, mut chosen) = (7, None);
    for option in arguments.chunks(2) {
        match option {
            [name, value] if name == "--runs" => runs = value.parse::<usize>().map_err(|_| usage)?.max(1),
            [name, value] if name == "--kernels" => chosen = Some(value.split(',').collect::<Vec<_>>()),
            _ => return Err(usage.into()),
        }
    }
    let directory = layout::target().join("bench");
    fs::create_dir_all(&directory)?;
    let mut results = Vec::new();
    for (name, role) in KERNELS {
        if chosen.as_ref().is_none_or(|list| list.contains(&name)) {
            let kernel = Kernel::build(name, &directory)?;
            results.push(measure_kernel(name, role, &kernel, runs)?);
        }
    }
    let starts = match &chosen {
        Some(list) if !list.contains(&starts::NAME) => None,
        _ => Some(starts::measure(&directory, runs)?),
    };
    let text = table::text(&results, starts.as_ref(), runs);
    println!("{text}");
    if chosen.is_none() {
        let records = layout::root().join("benches/records");
        fs::create_dir_all(&records)?;
        let file = records.join(format!("{}.md", table::date()));
        fs::write(&file, text)?;
        eprintln!("written: {}", file.display());
    }
    Ok(())
}

fn measure_kernel(
    name: &'static str,
    role: Role,
    kernel: &Kernel,
    runs: usize,
) -> Result<Measured, Box<dyn std::error::Error>> {
    let mut measured = Measured {
        kernel: name,
        role,
        samples: Default::default(),
        granules: 0,
    };
    let mut expected = None;
    for round in 0..=runs {
        eprintln!("{name}: round {round} of {runs}");
        let mut flagged = Default::default();
        for mode in Mode::ALL {
            let (sample, printed) = kernel.run(mode, &mut flagged)?;
            if *expected.get_or_insert_with(|| printed.clone()) != printed {
                return Err(format!("{name}: {} prints {printed:?}, native {expected:?}", mode.name()).into());
            }
            if round > 0 {
                measured.samples[mode as usize].push(sample);
            }
        }
        measured.granules = flagged.addresses.len();
    }
    Ok(measured)
}
