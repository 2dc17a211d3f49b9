//! `deadheat scan`.

use super::arguments::Scan;
use super::failed;
use crate::driver::installation;
use deadheat_campaign::baseline::Baseline;
use deadheat_campaign::report::{Finding, exit};
use deadheat_campaign::scan::{self, Linked, Models, ReadOptions, Size, worker_in};
use deadheat_campaign::scan_memory::ScanMemory;
use deadheat_campaign::static_findings;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Reads, joins, analyses; says what there is.
pub fn scan(mut scan: Scan) -> ExitCode {
    if scan.inputs.is_empty() && scan.compile_commands.is_empty() {
        return super::misused(&"name programs, objects, archives or bitcode files, or --compile-commands FILE");
    }
    let clang = match installation::clang() {
        Ok(clang) => clang,
        Err(error) if !scan.compile_commands.is_empty() => return failed(&error),
        Err(_) => "clang-22".into(),
    };
    let models = match models(&scan.models) {
        Ok(models) => models,
        Err(error) => return super::misused(&error),
    };
    let baseline = match scan.baseline.as_deref().map(baseline) {
        Some(Err(error)) => return super::misused(&error),
        Some(Ok(known)) => Some(known),
        None => None,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = ReadOptions {
        worker: worker_in(&installation::directory()),
        jobs: scan.jobs.map_or(cores, |jobs| jobs as usize),
        settings: scan::ReadSettings {
            keep: models.names(),
            ..Default::default()
        },
        cache: if scan.no_cache {
            None
        } else {
            Some(scan.cache.clone().unwrap_or_else(|| ".deadheat/modules".into()))
        },
        clang,
        largest: LARGEST,
    };
    // All that this stage finds is a suspicion.
    scan.output.suspected = true;
    match scan::read(&scan.inputs, &scan.compile_commands, &options) {
        Ok(linked) if scan.print_ir => print(&linked),
        Ok(linked) if scan.sizes => tell(&linked),
        Ok(linked) => analyse(&linked, &models, &scan, &memory(&scan, &options), baseline.as_ref()),
        Err(error) => failed(&error),
    }
}

/// What the static stage warns of in a program, for a hunt; modules are kept in the hunt's store.
pub fn warnings(program: &Path, store: &Path, hunt: &deadheat_campaign::Options) -> Result<Arc<[Finding]>, String> {
    if !hunt.quiet {
        anstream::eprintln!("deadheat: scanning {}", program.display());
    }
    let models = models(&[])?;
    let options = ReadOptions {
        worker: worker_in(&installation::directory()),
        jobs: hunt.jobs,
        settings: scan::ReadSettings {
            keep: models.names(),
            ..Default::default()
        },
        cache: Some(store.join("modules")),
        clang: "clang-22".into(),
        largest: LARGEST,
    };
    let linked = scan::read(&[program.to_path_buf()], &[], &options).map_err(|error| error.to_string())?;
    for skipped in &linked.skipped {
        anstream::eprintln!("deadheat: skipped {}: {}", skipped.origin, skipped.reason);
    }
    let Some(scanned) = linked.programs.first() else {
        return Err(format!(
            "{} has no bitcode to scan; build it with deadheat",
            program.display()
        ));
    };
    let options = scan::Options::default();
    let report = static_findings::analyse(scanned, &models, &options, &mut scan::Remembered::default())
        .map_err(|error| error.to_string())?;
    Ok(report.findings.into())
}

/// The models that come with the tool, and the user's.
fn models(files: &[PathBuf]) -> Result<Models, String> {
    let mut models = Models::built_in().map_err(|error| error.to_string())?;
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        models
            .add(&file.display().to_string(), &text)
            .map_err(|error| error.to_string())?;
    }
    Ok(models)
}

/// What scans with these models of what is named remember.
fn memory(scan: &Scan, options: &ReadOptions) -> ScanMemory {
    let tool = std::env::current_exe().into_iter().chain(scan.models.iter().cloned());
    let tool: Vec<Vec<u8>> = tool.map(|file| std::fs::read(file).unwrap_or_default()).collect();
    let named: Vec<PathBuf> = scan.inputs.iter().chain(&scan.compile_commands).cloned().collect();
    ScanMemory::open(options, &tool, &named)
}

/// What an earlier scan reported.
fn baseline(file: &Path) -> Result<Baseline, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Baseline::read(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Analyses each program and reports.
fn analyse(
    linked: &Linked,
    models: &Models,
    scan: &Scan,
    memory: &ScanMemory,
    baseline: Option<&Baseline>,
) -> ExitCode {
    for skipped in &linked.skipped {
        anstream::eprintln!("deadheat: skipped {}: {}", skipped.origin, skipped.reason);
    }
    let options = scan::Options {
        entries: scan.entry.clone(),
        always_parallel: scan.always_parallel,
        relay_filters: scan.relay_filters,
        ..scan::Options::default()
    };
    let output = &scan.output;
    let mut reports = Vec::new();
    for program in &linked.programs {
        let name = program.path.as_deref().map_or("objects".into(), Path::to_string_lossy);
        match memory.analyse(program, models, &options) {
            Ok((mut report, notes)) => {
                notes.iter().for_each(|note| anstream::eprintln!("deadheat: {note}"));
                report
                    .notices
                    .extend(scan::link_notes(&program.program.report, &program.program.module));
                if let Some(known) = baseline {
                    known.leave_out(&mut report);
                }
                reports.push((name.into_owned(), report));
            }
            Err(error) => return failed(&format!("{name}: {error}")),
        }
    }
    match &reports[..] {
        [] => failed(&"no module could be read"),
        [(_, report)] => super::output::finish(report, output, None, false, None),
        several => super::output::several(several, output, Path::new(".deadheat")),
    }
}

/// Bytes of one stored module: far above any compiler's output.
const LARGEST: u64 = 1 << 30;

fn print(linked: &Linked) -> ExitCode {
    let mut out = std::io::stdout().lock();
    for program in &linked.programs {
        if let Err(error) = write!(out, "{}", program.program.module) {
            return failed(&error);
        }
    }
    ExitCode::from(exit::NOTHING)
}

fn tell(linked: &Linked) -> ExitCode {
    for skipped in &linked.skipped {
        anstream::eprintln!("deadheat: skipped {}: {}", skipped.origin, skipped.reason);
    }
    let counts = linked.counts;
    anstream::println!(
        "{} modules ({:.1} MB): {} lowered, {} from the cache, {} repeated, {} skipped",
        counts.found,
        counts.bytes as f64 / 1e6,
        counts.lowered,
        counts.cached,
        counts.repeated,
        linked.skipped.len()
    );
    for program in &linked.programs {
        let size = Size::of(&program.program.module);
        let name = program.path.as_deref().map_or("objects".into(), Path::to_string_lossy);
        anstream::println!(
            "{name}: {} units, {} functions, {} lines, {} instructions, {} accesses ({} with their field), {} calls, {} through pointers, {} assembly",
            size.units,
            size.functions,
            size.lines,
            size.instructions,
            size.accesses,
            size.tagged,
            size.calls,
            size.indirect,
            size.assembly
        );
        for note in scan::link_notes(&program.program.report, &program.program.module) {
            anstream::println!("  {note}");
        }
    }
    if linked.programs.is_empty() {
        return failed(&"no module could be read");
    }
    ExitCode::from(exit::NOTHING)
}
