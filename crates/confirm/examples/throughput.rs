//! How many runs a second: `throughput RUNS alone|served|exchanged PROGRAM ARGS` makes runs of a program under random schedules,
//! with locks watched, one after the other, and prints runs in a second of time and in a second of processor time (the
//! tool's, the program's and the kernel's for both), and the microseconds of that for each switch. `alone` starts each run by itself, `served` has a server fork them,
//! `exchanged` has the runs switch in user space, too.

use deadheat_confirm::{Program, Stage, StageOptions};
use deadheat_wire::plan::{Mode, Plan, Policy, Targets};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let usage = "usage: throughput RUNS alone|served|exchanged PROGRAM ARGS";
    let runs: u64 = words.next().and_then(|n| n.to_str()?.parse().ok()).ok_or(usage)?;
    let way = words.next().ok_or(usage)?;
    let served = way != "alone";
    let program = Program::find(&words.next().ok_or(usage)?, words.collect())?;
    let mut stage = Stage::new(program, StageOptions::default())?;
    let ordinary = stage.run(&Plan::new(Mode::Schedule, Policy::Fifo))?.records;
    stage.leave_network(&ordinary);
    if served {
        stage.serve(&ordinary);
    }
    if way == "exchanged" {
        let program = ordinary.modules.first().ok_or("the program tells of no module")?;
        stage.exchange_threads(program.path.clone());
    }
    let mut switches = 0;
    let (begun, used) = (Instant::now(), processor_time()?);
    for seed in 1..=runs {
        let targets = Targets {
            lock_order: true,
            ..Targets::default()
        };
        let run = stage.run(&Plan::new(Mode::Confirm(targets), Policy::Random { seed, switch: 205 }))?;
        switches += run.records.ended.map_or(0, |ended| ended.switches);
    }
    if served && stage.served() < runs {
        return Err("not all runs were served".into());
    }
    // A server's time counts once it has ended.
    drop(stage);
    let rate = |seconds: f64| runs as f64 / seconds;
    let (elapsed, used) = (begun.elapsed().as_secs_f64(), processor_time()? - used);
    let each = used * 1e6 / switches as f64;
    println!("{:.1} {:.1} {each:.3}", rate(elapsed), rate(used));
    Ok(())
}

/// Seconds of processor time of this process and of its children that have ended.
fn processor_time() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(") ").ok_or("the kernel's table has another form")?;
    let ticks: Result<Vec<u64>, _> = fields.split(' ').skip(11).take(4).map(str::parse).collect();
    Ok(ticks?.iter().sum::<u64>() as f64 / 100.0)
}
