//! A kernel: its three builds, its pair of statements, and how each mode runs it.

use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadheat_model::SiteId;
use deadheat_wire::channel;
use deadheat_wire::object::{DESCS, META, UNITS};
use deadheat_wire::plan::{self, PLAN_VARIABLE, Plan, Policy, RECORD_VARIABLE, Targets};
use deadheat_wire::record::{Granules, Record};
use deadheat_wire::sites::{Section, Tables};
use object::{Object, ObjectSection};

use super::Mode;
use super::measure::{self, Sample};
use crate::layout::{self, part};
use crate::process;

/// Marks the lines of a kernel's pair.
const MARK: &str = "/* PAIR */";
/// Size of the (sparse) record file.
const RECORD_SIZE: u64 = 256 << 20;
/// Flagged granules of one signature, as `hunt` asks for.
const PER_SIGNATURE: u32 = 256;

/// A built kernel.
pub struct Kernel {
    native: PathBuf,
    tsan: PathBuf,
    deadheat: PathBuf,
    targets: Targets,
    plan: PathBuf,
    record: PathBuf,
    output: PathBuf,
}

impl Kernel {
    /// Builds the kernel three ways into a directory.
    pub fn build(name: &str, directory: &Path) -> Result<Kernel, Box<dyn Error>> {
        let source = layout::root().join(format!("benches/kernels/{name}.c"));
        let build = |suffix: &str, mut compiler: Command, flags: &[&str]| -> Result<PathBuf, String> {
            let file = directory.join(format!("{name}.{suffix}"));
            compiler
                .args(["-O2", "-g", "-pthread"])
                .args(flags)
                .arg(&source)
                .arg("-o")
                .arg(&file);
            process::run(&mut compiler)?;
            Ok(file)
        };
        let clang = || Command::new("clang-22");
        let mut tool = Command::new(layout::dist().join(part::TOOL));
        tool.arg("cc");
        let native = build("native", clang(), &[])?;
        let tsan = build("tsan", clang(), &["-fsanitize=thread"])?;
        let deadheat = build("deadheat", tool, &[])?;
        let targets = targets(&source, &deadheat)?;
        let [plan, record, output] = ["plan", "record", "output"].map(|file| directory.join(file));
        Ok(Kernel {
            native,
            tsan,
            deadheat,
            targets,
            plan,
            record,
            output,
        })
    }

    /// Runs the kernel in a mode; what it took, and what it printed. `flagged` goes from run 1 to run 2.
    pub fn run(&self, mode: Mode, flagged: &mut Granules) -> Result<(Sample, String), Box<dyn Error>> {
        let watch = match mode {
            Mode::Native | Mode::Tsan | Mode::Off => None,
            Mode::Phase2 => Some(plan::Mode::Confirm(self.targets.clone())),
            Mode::Run1 => Some(plan::Mode::Granules {
                per_signature: PER_SIGNATURE,
            }),
            Mode::Run2 => Some(plan::Mode::Statements {
                granules: flagged.addresses.clone(),
                lock_words: flagged.lock_words.clone(),
            }),
        };
        let program = match mode {
            Mode::Native => &self.native,
            Mode::Tsan => &self.tsan,
            _ => &self.deadheat,
        };
        let variables: &[(&str, &Path)] = match watch {
            Some(watch) => {
                fs::write(&self.plan, Plan::new(watch, Policy::Fifo).encode())?;
                fs::copy(
                    &self.plan,
                    self.deadheat
                        .with_extension(format!("{}.plan", mode.name().replace(' ', "-"))),
                )?;
                let record = File::create(&self.record)?;
                record.set_len(RECORD_SIZE)?;
                record.write_all_at(&channel::MAGIC, 0)?;
                &[(PLAN_VARIABLE, &self.plan), (RECORD_VARIABLE, &self.record)]
            }
            None => &[],
        };
        let mut command = Command::new(program);
        command.envs(variables.iter().copied());
        let sample = measure::run(&command, &self.output)?;
        if !variables.is_empty() {
            self.read_records(mode, flagged)?;
        }
        Ok((sample, fs::read_to_string(&self.output)?))
    }

    /// A run that the runtime did not control measures nothing.
    fn read_records(&self, mode: Mode, flagged: &mut Granules) -> Result<(), Box<dyn Error>> {
        let mut header = vec![0; channel::HEADER_SIZE];
        let file = File::open(&self.record)?;
        file.read_exact_at(&mut header, 0)?;
        let committed = header[channel::COMMITTED_AT..][..8]
            .try_into()
            .map(u64::from_le_bytes)?;
        let mut bytes = header;
        bytes.resize(channel::HEADER_SIZE + usize::try_from(committed)?, 0);
        file.read_exact_at(&mut bytes, 0)?;
        let (records, damage) = channel::read(&bytes);
        if let Some(damage) = damage {
            return Err(format!("{}: damaged records: {damage:?}", mode.name()).into());
        }
        if !records.iter().any(|(_, r)| matches!(r, Record::Ended(_))) {
            return Err(format!("{}: the runtime did not see the run's end", mode.name()).into());
        }
        for (_, record) in records {
            match record {
                Record::Granules(granules) if mode == Mode::Run1 => *flagged = granules,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The sites on the marked lines.
fn targets(source: &Path, program: &Path) -> Result<Targets, Box<dyn Error>> {
    let text = fs::read_to_string(source)?;
    let marked: Vec<u32> = (1..)
        .zip(text.lines())
        .filter(|(_, l)| l.contains(MARK))
        .map(|(n, _)| n)
        .collect();
    let (Some(&first), Some(&last)) = (marked.first(), marked.last()) else {
        return Err(format!("{}: no line has {MARK}", source.display()).into());
    };
    let bytes = fs::read(program)?;
    let file = object::File::parse(&*bytes)?;
    let section = |name: &str| -> Result<Section<'_>, Box<dyn Error>> {
        let section = file
            .section_by_name(name)
            .ok_or_else(|| format!("{}: no {name}", program.display()))?;
        Ok(Section {
            address: section.address(),
            bytes: section.data()?,
        })
    };
    let tables = Tables {
        descs: section(DESCS)?,
        units: section(UNITS)?,
        meta: section(META)?,
    };
    let on_line = |line: u32| -> Vec<SiteId> {
        let here = |&index: &u32| {
            tables
                .site(index)
                .is_some_and(|s| s.desc.kind.is_access() && s.location.is_some_and(|l| l.line == line))
        };
        (0..tables.len() as u32)
            .filter(here)
            .map(|index| SiteId { module: 0, index })
            .collect()
    };
    let (first, second) = (on_line(first), on_line(last));
    if first.is_empty() || second.is_empty() {
        return Err(format!("{}: no site on a line with {MARK}", source.display()).into());
    }
    Ok(Targets {
        first,
        second,
        atomics: true,
        ..Targets::default()
    })
}
