//! `deadheat scan`.

use super::arguments::Scan;
use super::failed;
use crate::driver::installation;
use deadheat_campaign::report::exit;
use deadheat_campaign::scan::{self, Linked, ReadOptions, Size, worker_in};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Reads, joins, analyses; says what there is.
pub fn scan(scan: Scan) -> ExitCode {
    if scan.inputs.is_empty() && scan.compile_commands.is_empty() {
        return super::misused(&"name programs, objects, archives or bitcode files, or --compile-commands FILE");
    }
    let clang = match installation::clang() {
        Ok(clang) => clang,
        Err(error) if !scan.compile_commands.is_empty() => return failed(&error),
        Err(_) => "clang-22".into(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = ReadOptions {
        worker: worker_in(&installation::directory()),
        jobs: scan.jobs.map_or(cores, |jobs| jobs as usize),
        settings: Default::default(),
        cache: if scan.no_cache {
            None
        } else {
            Some(scan.cache.unwrap_or_else(|| ".deadheat/modules".into()))
        },
        clang,
        largest: LARGEST,
    };
    match scan::read(&scan.inputs, &scan.compile_commands, &options) {
        Ok(linked) if scan.print_ir => print(&linked),
        Ok(linked) => tell(&linked),
        Err(error) => failed(&error),
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
